/*
 * hand_main: one program, two shapes: `warder-hand --init` is PID 1 of a cell, `warder-hand` the MCP server in it.
 */
#include <string.h>

#include "jail/hand.h"
#include "jail/init.h"

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--init") == 0)
		return init_main(argc, argv);
	return hand_main(argc, argv);
}
