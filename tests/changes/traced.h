/*
 * traced: runs a function in a child process and stops it at a chosen system call, to kill it there or to change
 * something behind its back.  For the tests of what a crash or a race may leave.
 */
#ifndef WARDER_TESTS_TRACED_H
#define WARDER_TESTS_TRACED_H

#include <stdbool.h>

struct traced {
	int calls;  /* stops seen (an entry and an exit for each system call) */
	bool ended; /* it came to its end by itself */
	int status; /* then: what the function returned, 0..255 */
};

/* Runs `run(arg)` in a child.  At stop number `at` (from 1; 0: never) `act` is called if it is not NULL and the child
 * goes on; if it is NULL the child is killed.  False when tracing is not permitted here. */
bool traced_run(int (*run)(void *arg), void *arg, int at, void (*act)(void *arg), struct traced *ret);

#endif
