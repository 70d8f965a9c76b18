/*
 * main: which of warder's processes this is.  The words with two underscores are how warder starts itself
 * (core/keeper/spawn.h); they are no commands.
 */
#include <string.h>

#include "core/adapter/adapter.h"
#include "core/cmd/cmd.h"
#include "core/harness/harness.h"
#include "core/keeper/keeper.h"

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "__keeper") == 0)
		return keeper_main();
	if (argc > 1 && strcmp(argv[1], "__harness") == 0)
		return harness_main(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "__adapter") == 0)
		return adapter_main(argc - 1, argv + 1);
	return cmd_main(argc, argv);
}
