/*
 * filter_row: the words that the tables of the filter are written in.  Only the tables include it.
 */
#ifndef WARDER_JAIL_FILTER_ROW_H
#define WARDER_JAIL_FILTER_ROW_H

#include "jail/filter_table.h"

#define CALLS(...) ((const char *const[]){ __VA_ARGS__, NULL })

#define LOW32 0xffffffffU

/* Comparisons of argument `a`: an int with a value; some of its bits with a value; at least one of some bits; a
 * pointer with NULL. */
#define INT(a, v) { .arg = (a), .op = FILTER_EQ, .mask = LOW32, .value = (uint32_t)(v) }
#define BITS(a, m, v) { .arg = (a), .op = FILTER_EQ, .mask = (uint32_t)(m), .value = (uint32_t)(v) }
#define ANY(a, m) { .arg = (a), .op = FILTER_ANY, .mask = (uint32_t)(m) }
#define NIL(a) { .arg = (a), .op = FILTER_EQ, .mask = UINT64_MAX }

#define NEW_NAMESPACES \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80 /* of unshare alone: in clone these bits are the signal */
#endif

#define SET_ID (S_ISUID | S_ISGID)
#define SOCK_TYPE 0xf /* the rest of `type` is flags */
/* O_CREAT and the bit of O_TMPFILE that is not O_DIRECTORY. */
#define CREATES (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))

#endif
