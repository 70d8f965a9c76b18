/*
 * adapter: the hands adapter, a confined process of its own for each cell (`warder __adapter`).  It speaks MCP with
 * what is in the cell, which is hostile, and bounded frames with the keeper.  It decides nothing.
 */
#ifndef WARDER_ADAPTER_ADAPTER_H
#define WARDER_ADAPTER_ADAPTER_H

/* The process's main; argv[1]: the id to change to as root, or 0. */
int adapter_main(int argc, char **argv);

#endif
