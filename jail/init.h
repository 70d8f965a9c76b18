/*
 * init: PID 1 of a cell.  It builds the cell's root, locks itself, proves the lock, reports, and then starts, reaps and
 * ends with one main program.  It decides nothing: whatever it cannot have it reports, and the parent says whether
 * the main program starts.
 */
#ifndef WARDER_JAIL_INIT_H
#define WARDER_JAIL_INIT_H

/* main() of `warder-hand --init`, which only cell_start runs. */
int init_main(int argc, char **argv);

#endif
