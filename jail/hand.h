/*
 * hand: `warder-hand`, the MCP server that works in a cell: one loop over standard input and output, the
 * children's ends and their output.  It decides nothing and trusts nobody: the cell is the boundary, and what it
 * says is a claim.
 *
 * It ends at the end of its input, or when nobody reads its output, and takes everything that it started along.
 */
#ifndef WARDER_JAIL_HAND_H
#define WARDER_JAIL_HAND_H

#include "core/base/jsonl.h"
#include "jail/hand_bash.h"
#include "jail/hand_rpc.h"

struct hand {
	struct jsonl in;
	struct hand_rpc rpc;
	struct hand_shell shell;
	int signal_fd;
	bool out_is_socket;
	bool over; /* end of input, a signal, nobody reads */
};

/* The program; returns its exit status: 0 at the end of input, 3 when this machine cannot. */
int hand_main(int argc, char **argv);

#endif
