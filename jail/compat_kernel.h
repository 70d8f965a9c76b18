/*
 * compat_kernel: constants of kernels newer than the headers of Debian 12 (6.1).  It holds numbers, never a decision:
 * whether the running kernel has a thing is found by trying it, never by #ifdef.
 */
#ifndef WARDER_JAIL_COMPAT_KERNEL_H
#define WARDER_JAIL_COMPAT_KERNEL_H

#include <linux/audit.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/syscall.h>

/* ---- system calls */

#ifndef __NR_cachestat
#define __NR_cachestat 451 /* 6.5 */
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452 /* 6.6 */
#endif
#ifndef __NR_map_shadow_stack
#define __NR_map_shadow_stack 453 /* 6.6 */
#endif
#ifndef __NR_futex_wake
#define __NR_futex_wake 454 /* 6.7, as the next two */
#define __NR_futex_wait 455
#define __NR_futex_requeue 456
#endif
#ifndef __NR_statmount
#define __NR_statmount 457 /* 6.8, as the next four */
#define __NR_listmount 458
#define __NR_lsm_get_self_attr 459
#define __NR_lsm_set_self_attr 460
#define __NR_lsm_list_modules 461
#endif
#ifndef __NR_mseal
#define __NR_mseal 462 /* 6.10 */
#endif
#ifndef __NR_setxattrat
#define __NR_setxattrat 463 /* 6.13, as the next three */
#define __NR_getxattrat 464
#define __NR_listxattrat 465
#define __NR_removexattrat 466
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467 /* 6.15 */
#endif
#ifndef __NR_file_getattr
#define __NR_file_getattr 468 /* 6.17, as the next */
#define __NR_file_setattr 469
#endif

#if !defined(__x86_64__) || defined(__ILP32__)
#error "the seccomp filter is judged for x86-64 alone; another architecture wants its own numbers here and a test run"
#endif

/* The newest call that the filter's tables have judged, and the hole of numbers that no kernel has given away.
 * uretprobe and uprobe sit right below it: the kernel puts them into probed programs itself, and they do nothing for
 * others. */
#define COMPAT_NR_NEWEST 469
#define COMPAT_NR_HOLE_FIRST 337
#define COMPAT_NR_HOLE_LAST 423
#define COMPAT_X32_BIT 0x40000000U
#define COMPAT_AUDIT_ARCH AUDIT_ARCH_X86_64

/* ---- Landlock: rights and scopes by ABI (Documentation/userspace-api/landlock.rst) */

#define COMPAT_LANDLOCK_ABI_NEWEST 7

#define COMPAT_LANDLOCK_FS_TRUNCATE (UINT64_C(1) << 14)  /* ABI 3, 6.2 */
#define COMPAT_LANDLOCK_FS_IOCTL_DEV (UINT64_C(1) << 15) /* ABI 5, 6.10 */
#define COMPAT_LANDLOCK_NET_BIND_TCP (UINT64_C(1) << 0)  /* ABI 4, 6.7 */
#define COMPAT_LANDLOCK_NET_CONNECT_TCP (UINT64_C(1) << 1)
#define COMPAT_LANDLOCK_SCOPE_ABSTRACT_UNIX (UINT64_C(1) << 0) /* ABI 6, 6.12 */
#define COMPAT_LANDLOCK_SCOPE_SIGNAL (UINT64_C(1) << 1)

/* struct landlock_ruleset_attr as of ABI 6; older kernels are told a smaller size. */
struct compat_landlock_ruleset_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net; /* ABI 4 */
	uint64_t scoped;             /* ABI 6 */
};

#endif
