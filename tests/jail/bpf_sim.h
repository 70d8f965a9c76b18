/*
 * bpf_sim: runs a seccomp program in user space, so that a filter is judged over the whole table of numbers and
 * arguments without a kernel.  It knows the instructions that the kernel admits to seccomp and fails on any other.
 */
#ifndef WARDER_TESTS_JAIL_BPF_SIM_H
#define WARDER_TESTS_JAIL_BPF_SIM_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the kernel's checker demands: known instructions, jumps inside, a return at the end. */
bool bpf_sim_check(const struct sock_filter *program, size_t n);

/* The returned action; of a program that passed bpf_sim_check. */
uint32_t bpf_sim_run(const struct sock_filter *program, const struct seccomp_data *data);

#endif
