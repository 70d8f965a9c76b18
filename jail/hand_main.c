/*
 * hand_main: one program, two shapes: `warder-hand --init` is PID 1 of a cell, `warder-hand` the MCP server in it.
 */
#include <string.h>

#include "jail/hand.h"

int init_main(void);

/* Stands in until a file of the cell's defines it. */
__attribute__((weak)) int init_main(void)
{
	return 3;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--init") == 0)
		return init_main();
	return hand_main(argc, argv);
}
