/*
 * The program is a prologue of our own followed by what libseccomp exports.  The prologue says what libseccomp cannot:
 * ranges of call numbers, and "refused unless one of" (filter_table.h).  It ends by falling through, so whatever it
 * does not decide is decided by libseccomp's part, which begins by loading what it needs.
 */
#include "jail/filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "jail/compat_kernel.h"
#include "jail/filter_table.h"

/* Calls that libseccomp 2.5.4 has no name for. */
static const struct {
	const char *name;
	int nr;
} newer_calls[] = {
	{ "cachestat", __NR_cachestat },
	{ "fchmodat2", __NR_fchmodat2 },
	{ "map_shadow_stack", __NR_map_shadow_stack },
	{ "futex_wake", __NR_futex_wake },
	{ "futex_wait", __NR_futex_wait },
	{ "futex_requeue", __NR_futex_requeue },
	{ "statmount", __NR_statmount },
	{ "listmount", __NR_listmount },
	{ "lsm_get_self_attr", __NR_lsm_get_self_attr },
	{ "lsm_set_self_attr", __NR_lsm_set_self_attr },
	{ "lsm_list_modules", __NR_lsm_list_modules },
	{ "mseal", __NR_mseal },
	{ "setxattrat", __NR_setxattrat },
	{ "getxattrat", __NR_getxattrat },
	{ "listxattrat", __NR_listxattrat },
	{ "removexattrat", __NR_removexattrat },
	{ "open_tree_attr", __NR_open_tree_attr },
	{ "file_getattr", __NR_file_getattr },
	{ "file_setattr", __NR_file_setattr },
};

int filter_call_number(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(newer_calls); i++)
		if (!strcmp(newer_calls[i].name, name))
			return newer_calls[i].nr;

	int nr = seccomp_syscall_resolve_name(name);
	if (nr == __NR_SCMP_ERROR)
		return -2;
	return nr < 0 ? -1 : nr; /* below 0: libseccomp's stand-in for a call of other architectures */
}

/* ---- the prologue */

static void emit(struct buf *out, unsigned code, unsigned jt, unsigned jf, uint32_t k)
{
	struct sock_filter insn = { .code = (uint16_t)code, .jt = (uint8_t)jt, .jf = (uint8_t)jf, .k = k };

	buf_add(out, &insn, sizeof(insn));
}

static void emit_load(struct buf *out, size_t offset)
{
	emit(out, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

/* The low half of an argument, which comes first in its slot. */
static void emit_load_arg(struct buf *out, unsigned arg, uint32_t mask)
{
	emit_load(out, offsetof(struct seccomp_data, args) + arg * sizeof(uint64_t));
	emit(out, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
}

static void emit_fail(struct buf *out, int error)
{
	emit(out, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | (uint32_t)error);
}

/* Only the native architecture, without its x32 half, except -1, which names no call of either half and which tracers
 * use for "skip it".  Then ENOSYS for numbers that nobody has judged: those of kernels to come, and the hole. */
static void emit_numbers(struct buf *out)
{
	emit_load(out, offsetof(struct seccomp_data, arch));
	emit(out, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, COMPAT_AUDIT_ARCH);
	emit(out, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);

	emit_load(out, offsetof(struct seccomp_data, nr));
	emit(out, BPF_JMP | BPF_JGE | BPF_K, 0, 2, COMPAT_X32_BIT);
	emit(out, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, UINT32_MAX);
	emit(out, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
	emit(out, BPF_JMP | BPF_JGT | BPF_K, 2, 0, COMPAT_NR_NEWEST);
	emit(out, BPF_JMP | BPF_JGE | BPF_K, 0, 2, COMPAT_NR_HOLE_FIRST);
	emit(out, BPF_JMP | BPF_JGT | BPF_K, 1, 0, COMPAT_NR_HOLE_LAST);
	emit_fail(out, ENOSYS);
}

static void emit_set(struct buf *out, const struct filter_set *set, uint32_t nr)
{
	unsigned n = (unsigned)set->nvalues;
	unsigned test = 2 + n + 1; /* load and mask, a compare for each value, the refusal */

	emit_load(out, offsetof(struct seccomp_data, nr));
	emit(out, BPF_JMP | BPF_JEQ | BPF_K, 0, set->when.mask ? test + 3 : test, nr);
	if (set->when.mask) {
		emit_load_arg(out, set->when.arg, set->when.mask);
		emit(out, BPF_JMP | BPF_JEQ | BPF_K, 0, test, set->when.value);
	}
	emit_load_arg(out, set->arg, set->mask);
	for (unsigned i = 0; i < n; i++)
		emit(out, BPF_JMP | BPF_JEQ | BPF_K, n - i, 0, set->values[i]);
	emit_fail(out, set->error);
}

/* ---- libseccomp's part */

static uint32_t action_code(int action)
{
	if (action == FILTER_ALLOW)
		return SCMP_ACT_ALLOW;
	if (action == FILTER_KILL)
		return SCMP_ACT_KILL_PROCESS;
	return SCMP_ACT_ERRNO((uint16_t)action);
}

/* Adds the row from comparison `at` on, with the first `at` already in `done`.  FILTER_ANY becomes a rule for each of
 * its bits: libseccomp compares for equality. */
static int add_row(scmp_filter_ctx ctx, const struct filter_row *row, int nr, unsigned at, struct scmp_arg_cmp *done)
{
	if (at == ARRAY_LEN(row->cmp) || !row->cmp[at].mask)
		return seccomp_rule_add_array(ctx, action_code(row->action), nr, at, done);

	const struct filter_cmp *cmp = &row->cmp[at];
	if (cmp->op == FILTER_EQ) {
		done[at] = SCMP_CMP(cmp->arg, SCMP_CMP_MASKED_EQ, cmp->mask, cmp->value);
		return add_row(ctx, row, nr, at + 1, done);
	}
	for (uint64_t left = cmp->mask; left; left &= left - 1) {
		uint64_t bit = left & -left;
		int r;

		done[at] = SCMP_CMP(cmp->arg, SCMP_CMP_MASKED_EQ, bit, bit);
		r = add_row(ctx, row, nr, at + 1, done);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_call(scmp_filter_ctx ctx, const struct filter_spec *spec, const struct filter_row *row, struct err *err)
{
	struct scmp_arg_cmp done[ARRAY_LEN(row->cmp)];
	int nr = filter_call_number(row->call);
	int r;

	if (nr == -2)
		return err_set(err, E_INVALID, "seccomp filter: unknown system call %s; report it as a bug", row->call);
	if (nr < 0 || row->action == spec->otherwise)
		return 0; /* not on this architecture, or what happens anyhow */
	r = add_row(ctx, row, nr, 0, done);
	if (r < 0)
		return err_errno(err, E_MACHINE, -r, "seccomp filter: rule for %s", row->call);
	return 0;
}

static int add_part(scmp_filter_ctx ctx, const struct filter_spec *spec, const struct filter_part *part,
		    struct err *err)
{
	for (size_t i = 0; i < part->ngroups; i++) {
		for (const char *const *call = part->groups[i].calls; *call; call++) {
			struct filter_row row = { .call = *call, .action = part->groups[i].action };
			int r = add_call(ctx, spec, &row, err);

			if (r < 0)
				return r;
		}
	}
	for (size_t i = 0; i < part->nrows; i++) {
		int r = add_call(ctx, spec, &part->rows[i], err);

		if (r < 0)
			return r;
	}
	return 0;
}

static void release_ctx(scmp_filter_ctx *ctx)
{
	if (*ctx)
		seccomp_release(*ctx);
}

/* libseccomp 2.5 exports to a descriptor only. */
static int export(scmp_filter_ctx ctx, struct buf *out, struct err *err)
{
	_cleanup_fd_ int fd = memfd_create("filter", MFD_CLOEXEC);
	off_t len;
	int r;

	if (fd < 0)
		return err_errno(err, E_IO, errno, "seccomp filter: memfd_create");
	r = seccomp_export_bpf(ctx, fd);
	if (r < 0)
		return err_errno(err, E_MACHINE, -r, "seccomp filter: export");
	len = lseek(fd, 0, SEEK_END);
	if (len <= 0)
		return err_set(err, E_IO, "seccomp filter: libseccomp exported nothing");

	char *to = buf_reserve(out, (size_t)len);
	if (to && pread(fd, to, (size_t)len, 0) != len)
		return err_set(err, E_IO, "seccomp filter: short read of the export");
	if (to)
		out->len += (size_t)len;
	return buf_check(out, "seccomp filter", err);
}

int filter_build(enum filter_profile profile, struct buf *ret_program, struct err *err)
{
	_cleanup_buf_ struct buf program = BUF_INIT(BPF_MAXINSNS * sizeof(struct sock_filter));
	_cleanup_(release_ctx) scmp_filter_ctx ctx = NULL;
	const struct filter_spec *spec = filter_spec(profile);
	int r;

	if (!spec)
		return err_set(err, E_INVALID, "seccomp filter: no profile %d", (int)profile);

	emit_numbers(&program);
	for (size_t i = 0; i < spec->nsets; i++) {
		int nr = filter_call_number(spec->sets[i].call);

		if (nr < 0)
			return err_set(err, E_INVALID, "seccomp filter: unknown system call %s", spec->sets[i].call);
		emit_set(&program, &spec->sets[i], (uint32_t)nr);
	}

	ctx = seccomp_init(action_code(spec->otherwise));
	if (!ctx)
		return err_set(err, E_NOMEM, "seccomp filter: libseccomp gives no context");
	r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* binary tree */
	if (r < 0)
		return err_errno(err, E_MACHINE, -r, "seccomp filter: attributes");

	for (size_t i = 0; i < ARRAY_LEN(spec->parts) && spec->parts[i]; i++) {
		r = add_part(ctx, spec, spec->parts[i], err);
		if (r < 0)
			return r;
	}
	r = export(ctx, &program, err);
	if (r < 0)
		return r;

	buf_add(ret_program, program.data, program.len);
	return buf_check(ret_program, "seccomp filter", err);
}
