/*
 * mute_hand: a warder-hand whose init is the real one and whose hand ends at once: a cell that is never ready.
 */
#include <string.h>

#include "jail/init.h"

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--init") == 0)
		return init_main(argc, argv);
	return 1;
}
