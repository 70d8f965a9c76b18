/*
 * limits: the defaults of struct cell_limits and the sizes of a cell's private file systems.  It holds numbers only.
 */
#ifndef WARDER_JAIL_LIMITS_H
#define WARDER_JAIL_LIMITS_H

/* Memory is bounded by a control group only: an address-space limit breaks every runtime that reserves more than it
 * uses. */
#define LIMIT_MEMORY_BYTES (UINT64_C(8) << 30)
#define LIMIT_FILE_BYTES (UINT64_C(16) << 30) /* RLIMIT_FSIZE, which bounds memfds as well */
#define LIMIT_OPEN_FILES UINT64_C(16384)
#define LIMIT_PROCESSES UINT64_C(4096)    /* threads count */
#define LIMIT_CPU_SECONDS UINT64_C(86400) /* of one process */

/* Options of tmpfs: a share of the machine's memory, and of inodes. */
#define LIMIT_ROOT_TMPFS "size=16m,nr_inodes=4096,mode=0755"
#define LIMIT_TMP_TMPFS "size=25%,nr_inodes=400000,mode=1777"
#define LIMIT_HOME_TMPFS "size=10%,nr_inodes=200000,mode=0700"
#define LIMIT_SHM_TMPFS "size=10%,nr_inodes=20000,mode=1777"
#define LIMIT_LAYER_TMPFS "size=50%,nr_inodes=1000000,mode=0700"

#endif
