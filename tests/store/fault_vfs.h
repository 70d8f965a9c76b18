/*
 * fault_vfs: a SQLite VFS over the real one that makes the disk fail, or remembers what a power cut would leave.  For
 * tests; it becomes the default VFS, so that the code under test needs no door for it.
 *
 * Power: of each file a durable image is kept, and the writes since its last sync.  A cut takes the image and applies
 * to it, sector by sector, a random part of those writes.  Nothing else is assumed to be on the disk.
 */
#ifndef WARDER_TESTS_FAULT_VFS_H
#define WARDER_TESTS_FAULT_VFS_H

#include <stdbool.h>

enum fault_kind {
	FAULT_NONE,
	FAULT_IO,   /* the operation fails and does nothing */
	FAULT_TORN, /* a write does half of it, then fails */
	FAULT_FULL, /* writes that would make the file longer: no space */
	FAULT_READ, /* reads fail instead */
};

void fault_install(void);

/* The nth operation of the kind from now fails, and all after it when `stays`.  n = 0: none. */
void fault_arm(enum fault_kind kind, int nth, bool stays);
/* How often it struck since it was armed. */
int fault_struck(void);

/* From now on what is written to log.db and log.db-wal in this process is remembered; what is there now is durable. */
void power_start(int dirfd);
/* Syncs that only pretend: the control that shows that the model would see a missing one. */
void power_lie(bool lie);
/* Cuts the power at the nth operation from now, or at once for 0, writing what is left to the folder `dirfd`. */
void power_cut(int nth, int dirfd);
bool power_is_cut(void);
void power_end(void);

#endif
