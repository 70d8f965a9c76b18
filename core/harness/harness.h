/*
 * harness: the loop that asks the brain, as a confined process of its own (`warder __harness`).  It holds no key, no
 * path and no authority: it sees the events that the keeper streams and asks the keeper to record.  Stateless: killed
 * at any moment, another is started from the log.
 */
#ifndef WARDER_HARNESS_HARNESS_H
#define WARDER_HARNESS_HARNESS_H

/* The process's main; returns its exit status. argv[1]: the id to change to as root, or 0. */
int harness_main(int argc, char **argv);

#endif
