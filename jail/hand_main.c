#include <string.h>

#include "jail/init.h"

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--init") == 0)
		return init_main(argc, argv);
	return 2;
}
