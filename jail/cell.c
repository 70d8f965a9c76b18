#include "jail/cell.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "core/base/clock.h"
#include "core/base/path.h"
#include "jail/cell_internal.h"
#include "jail/filter.h"
#include "jail/idmap.h"
#include "jail/limits.h"
#include "jail/wire.h"

#define BUILD_MS 300000    /* the walk over a large tree on a slow disk */
#define BASELINE_MS 300000 /* two steps of git, see init_baseline.c */
#define FILTER_LEN_MAX (64u << 10)

static const char *const layer_folders[] = { "mask", "upper", "work" };

/* ---- what a start holds until the cell runs */

struct start {
	const struct cell_spec *spec;
	struct cell_report *report;
	struct setup setup;
	struct buf filter;
	struct setup_report found;
	struct cell_mounts mounts;
	bool has_mounts;
	int workspace, null;
	bool new_upper;
	char layer_path[PATH_MAX];
	char no_cgroup[160]; /* why the memory could not be bounded */
};

static void start_free(struct start *s)
{
	setup_free(&s->setup);
	buf_free(&s->filter);
	if (s->has_mounts)
		cell_mounts_close(&s->mounts);
	fd_close(&s->workspace);
	fd_close(&s->null);
}

static int check_spec(const struct cell_spec *spec, struct err *err)
{
	/* The host's root must not be somebody in a cell: sysctls and more follow the host's uid, whatever the
	 * capabilities. */
	if (geteuid() == 0 && spec->idmap_base <= 0)
		return err_set(err, E_MACHINE,
			       "cell: started as root without a range of ids of its own; root is never mapped to root");
	if (geteuid() != 0 && spec->idmap_base)
		return err_set(err, E_INVALID, "cell: only root has a range of ids to give");
	if (getegid() == 0 && geteuid() != 0)
		return err_set(err, E_MACHINE,
			       "cell: the group root would be mapped to itself; start as a group of your own");
	if (spec->cwd && spec->cwd[0] != '/')
		return err_set(err, E_USAGE, "folder %s: not an absolute path", spec->cwd);
	for (int i = 0; i < 3; i++) {
		struct stat st;

		/* By list.  A folder is a way out of the root; a socket of the host's network namespace can be
		 * connected anew from within; what else a descriptor can be (pidfd, epoll) is no stream. */
		if (spec->stdio[i] >= 0 && (fstat(spec->stdio[i], &st) < 0 ||
					    !(S_ISREG(st.st_mode) || S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode))))
			return err_set(err, E_INVALID,
				       "cell: standard stream %d is no file, pipe or terminal; redirect it", i);
	}
	return cell_check_paths(spec, err);
}

static int identify(int fd, struct setup_folder *ret, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_errno(err, E_IO, errno, "folder");
	ret->dev = st.st_dev;
	ret->ino = st.st_ino;
	return 0;
}

/* mask, upper and work, of the agent; what is there already is a session that goes on. */
static int make_layer_folders(struct start *s, struct err *err)
{
	int layer = s->spec->layer_fd;

	for (size_t i = 0; i < ARRAY_LEN(layer_folders); i++) {
		const char *name = layer_folders[i];
		struct stat st;
		bool fresh = mkdirat(layer, name, 0700) == 0;

		if (!fresh && errno != EEXIST)
			return err_errno(err, E_IO, errno, "layer/%s", name);
		if (fresh && strcmp(name, "upper") == 0)
			s->new_upper = true;
		/* The workspace itself, as an earlier command may have left it: no program would start in it again. */
		if (!fresh && fstatat(layer, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && (st.st_mode & 0700) != 0700 &&
		    fchmodat(layer, name, (st.st_mode & 07777) | 0700, AT_SYMLINK_NOFOLLOW) < 0)
			return err_errno(err, E_IO, errno, "layer/%s", name);
		if (fresh && s->spec->idmap_base &&
		    fchownat(layer, name, (uid_t)(s->spec->idmap_base + IDMAP_AGENT),
			     (gid_t)(s->spec->idmap_base + IDMAP_AGENT), AT_SYMLINK_NOFOLLOW) < 0)
			return err_errno(err, E_IO, errno, "layer/%s", name);
	}
	return 0;
}

/* An ordinary user's init opens the layer by name in its own mount namespace and compares. */
static int name_layer(struct start *s, struct err *err)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", s->spec->layer_fd);
	ssize_t len = readlink(link, s->layer_path, sizeof(s->layer_path) - 1);
	if (len <= 0)
		return err_errno(err, E_IO, errno, "layer folder");
	s->layer_path[len] = '\0';
	s->setup.layer.path = s->layer_path;
	return identify(s->spec->layer_fd, &s->setup.layer, err);
}

static int prepare_layer(struct start *s, struct err *err)
{
	int r;

	if (s->spec->layer_fd < 0) {
		s->setup.flags |= SETUP_PRIVATE_LAYER;
		return 0;
	}
	r = make_layer_folders(s, err);
	if (r >= 0 && !s->spec->idmap_base)
		r = name_layer(s, err);
	if (s->new_upper)
		s->setup.flags |= SETUP_NEW_UPPER;
	return r;
}

static int list_of(const char *const *items, struct setup_list *ret, struct err *err)
{
	size_t n = 0;

	while (items && items[n])
		n++;
	ret->item = calloc(n + 1, sizeof(*ret->item));
	if (!ret->item)
		return err_set(err, E_NOMEM, "set-up of the cell: out of memory");
	for (size_t i = 0; i < n; i++)
		ret->item[i] = items[i];
	ret->n = n;
	return 0;
}

static int prepare_setup(struct start *s, struct err *err)
{
	const struct cell_spec *spec = s->spec;
	struct setup *u = &s->setup;
	int r = list_of(spec->ro, &u->ro, err);

	if (r >= 0)
		r = list_of(spec->rw, &u->rw, err);
	if (r >= 0)
		r = list_of(spec->env, &u->env, err);
	if (r >= 0)
		r = list_of(spec->argv, &u->argv, err);
	if (r >= 0)
		r = identify(s->workspace, &u->workspace, err);
	if (r < 0)
		return r;
	u->flags |= (spec->idmap_base ? SETUP_IDMAPPED : 0) | (spec->baseline ? SETUP_WITH_BASELINE : 0);
	u->uid = spec->idmap_base ? IDMAP_AGENT : geteuid();
	u->gid = spec->idmap_base ? IDMAP_AGENT : getegid();
	u->workspace.path = spec->workspace;
	u->cwd = spec->cwd ? spec->cwd : spec->workspace;
	u->limits = spec->limits;
	return 0;
}

/* ---- the conversation */

static int send_setup(struct cell *c, struct start *s, struct err *err)
{
	_cleanup_buf_ struct buf b = BUF_INIT(SETUP_MAX);
	size_t nfds = !s->has_mounts ? 0 : s->spec->layer_fd < 0 ? 1 : SETUP_FDS;

	setup_encode(&s->setup, &b);
	int r = buf_check(&b, "command and environment of the cell", err);
	if (r >= 0)
		r = frame_send_fds(c->control, SETUP_SETUP, b.data, b.len, s->mounts.fd, nfds, err);
	for (size_t i = 0; r >= 0 && s->has_mounts && i < s->mounts.nextra; i++)
		r = frame_send_fds(c->control, SETUP_MOUNT, NULL, 0, &s->mounts.extra[i], 1, err);
	return r;
}

/* init says why it gave up. */
static int take_failure(struct start *s, const struct frame *f, struct err *err)
{
	struct wire_reader r = { f->data, f->len, false };
	uint32_t layer = wire_u32(&r);
	int code = -(int)(wire_u32(&r) & 0xff);
	const char *why = wire_str(&r, sizeof(err->text));
	size_t len;
	const char *report = wire_bytes(&r, SETUP_ANSWER_MAX, &len);

	if (!wire_end(&r) || layer > JAIL_NO_LAYER || code == 0 ||
	    setup_decode_report(report, len, &s->found, NULL) < 0)
		return err_set(err, E_PROTOCOL, "cell: init gave up with a malformed reason");
	cell_report_fill(s->report, &s->found, &(struct cgroup){ 0 });
	s->report->level = CELL_NONE;
	if (layer == JAIL_NO_LAYER)
		return err_set(err, code, "cell: %s", why);
	return cell_refuse(s->report, layer, why, err);
}

/* Waits for one type of answer during the start. */
static int await(struct cell *c, struct start *s, uint32_t type, int timeout_ms, struct frame *ret, struct err *err)
{
	int r = frame_wait(&c->in, timeout_ms, ret, err);

	if (r == E_CLOSED)
		return err_set(err, E_MACHINE,
			       "cell: init ended while it was being built; see the kernel's log (out of memory?)");
	if (r < 0)
		return err_prefix(err, "cell: init");
	if (ret->type == SETUP_FAIL)
		return take_failure(s, ret, err);
	if (ret->type != type)
		return err_set(err, E_PROTOCOL, "cell: init answered %u, wanted %u", ret->type, type);
	return 0;
}

/* What the kernel says about init, not init itself. */
static int check_locked(const struct cell *c, struct err *err)
{
	static const char *const wanted[] = { "\nNoNewPrivs:\t1\n",
					      "\nSeccomp:\t2\n",
					      "\nCapEff:\t0000000000000000\n",
					      "\nCapPrm:\t0000000000000000\n",
					      "\nCapBnd:\t0000000000000000\n",
					      "\nCapAmb:\t0000000000000000\n" };
	_cleanup_buf_ struct buf status = BUF_INIT(16384);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)c->pid);
	int r = path_read_file(AT_FDCWD, path, 16384, &status, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		if (!strstr(buf_str(&status), wanted[i]))
			return err_set(err, E_MACHINE, "cell: init is not locked: %.*s is missing from its status",
				       (int)strcspn(wanted[i] + 1, "\n"), wanted[i] + 1);
	return 0;
}

static int check_level(const struct start *s, struct err *err)
{
	enum cell_level floor = s->spec->floor > CELL_S2 ? s->spec->floor : CELL_S2;
	const struct cell_report *r = s->report;
	size_t len = 0;
	char missing[400] = "";

	if (r->level >= floor)
		return 0;
	for (size_t i = 0; i < r->nlayers; i++)
		if (r->layer[i].state != LAYER_OK && len < sizeof(missing))
			len += (size_t)snprintf(missing + len, sizeof(missing) - len, "%s%s (%s)", len ? ", " : "",
						r->layer[i].name, r->layer[i].remedy);
	return err_set(err, E_MACHINE, "jail level: this machine gives %s and %s is asked for: %s; or lower jail.floor",
		       cell_level_name(r->level), cell_level_name(floor), missing);
}

static bool machine_lacks(int code)
{
	return code == E_MACHINE || code == E_IO;
}

static void bound(struct cell *c, struct start *s)
{
	const struct cell_limits *l = &s->spec->limits;

	cgroup_enter(&c->cgroup, c->pid, l->memory_bytes ? l->memory_bytes : LIMIT_MEMORY_BYTES,
		     l->processes ? l->processes : LIMIT_PROCESSES, s->no_cgroup);
	if (c->cgroup.memory)
		s->setup.flags |= SETUP_MEMORY_BOUND;
}

/* init knows its rlimits; whether they are all that there is, the parent knows. */
static void judge_limits(const struct cell *c, struct start *s)
{
	struct setup_finding *f = &s->found.finding[JAIL_LIMITS];

	if (!f->set || f->state != LAYER_OK)
		return;
	if (c->cgroup.memory && c->cgroup.pids) {
		snprintf(f->evidence, sizeof(f->evidence), "memory and processes by control group, the rest by rlimit");
		return;
	}
	f->state = LAYER_PARTIAL;
	snprintf(f->evidence, sizeof(f->evidence),
		 "processes, files, CPU time by rlimit; memory of the cell is not bounded: %.70s", s->no_cgroup);
}

/* What only root does, the control group and the filter: after the clone, so that it is done while init is being
 * loaded. */
static int complete_setup(struct cell *c, struct start *s, struct err *err)
{
	int64_t base = s->spec->idmap_base;
	int r = base ? idmap_write(c->pid, base, err) : 0;

	if (machine_lacks(r))
		return cell_refuse(s->report, JAIL_USERNS, err->text, err);
	if (r >= 0 && base) {
		r = cell_mounts_make(s->spec, s->workspace, s->spec->layer_fd, &s->mounts, err);
		s->has_mounts = r >= 0;
		if (machine_lacks(r))
			return cell_refuse(s->report, JAIL_IDMAP, err->text, err);
	}
	if (r >= 0) {
		bound(c, s);
		r = filter_build(FILTER_CELL, &s->filter, err);
		if (machine_lacks(r))
			return cell_refuse(s->report, JAIL_SECCOMP, err->text, err);
	}
	s->setup.filter = s->filter.data;
	s->setup.filter_len = s->filter.len;
	return r;
}

static int converse(struct cell *c, struct start *s, struct err *err)
{
	struct frame f;
	int r = complete_setup(c, s, err);

	if (r >= 0)
		r = send_setup(c, s, err);
	/* It may have given up before it read everything; then it said why. */
	if (r < 0 && r != E_CLOSED)
		return r;
	r = await(c, s, SETUP_REPORT, BUILD_MS, &f, err);
	if (r >= 0)
		r = setup_decode_report(f.data, f.len, &s->found, err);
	if (r >= 0)
		r = check_locked(c, err);
	if (r < 0)
		return r;

	judge_limits(c, s);
	cell_report_fill(s->report, &s->found, &c->cgroup);
	cell_report_evidence(s->report, c, s->spec, &s->found, s->filter.data, s->filter.len, s->setup.uid);
	return check_level(s, err);
}

static int run_main(struct cell *c, struct start *s, struct err *err)
{
	struct frame f;

	/* Born when the first program may look: later than everything that was written before the start was asked for,
	 * or a file saved just now would count as changed under the cell.  A private layer is never compared. */
	c->birth_us = s->spec->layer_fd < 0 ? clock_stamp_us() : clock_stamp_after(c->asked_us);
	int r = frame_send(c->control, SETUP_GO, NULL, 0, err);

	if (r >= 0)
		r = await(c, s, SETUP_STARTED, BASELINE_MS, &f, err);
	if (r < 0)
		return r;

	struct wire_reader in = { f.data, f.len, false };

	/* What could not be executed ends with 127 or 126, as from a shell: cell_wait and cell_main_errno tell. */
	uint32_t why = wire_u32(&in), state = wire_u32(&in);
	const char *evidence = wire_str(&in, 159);
	if (!wire_end(&in) || state > LAYER_MISSING)
		return err_set(err, E_PROTOCOL, "cell: init started the program with a malformed answer");
	c->main_errno = (int)why;
	if (s->spec->baseline)
		cell_report_set(s->report, JAIL_BASELINE, state, evidence);
	return 0;
}

/* ---- start */

static int make_cell(struct cell **ret, int *ret_control, struct err *err)
{
	struct cell *c = calloc(1, sizeof(*c));
	int pair[2];

	if (!c)
		return err_set(err, E_NOMEM, "cell: out of memory");
	c->pidfd = c->control = c->layer = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		free(c);
		return err_errno(err, E_IO, errno, "cell: socket");
	}
	c->control = pair[0];
	frame_reader_init(&c->in, c->control, SETUP_ANSWER_MAX);
	*ret_control = pair[1];
	*ret = c;
	return 0;
}

static int prepare(struct start *s, struct cell *c, struct err *err)
{
	const struct cell_spec *spec = s->spec;
	int r = cell_open_workspace(spec->workspace, &s->workspace, err);

	if (r < 0)
		return r;
	if (spec->layer_fd >= 0) {
		/* Opened anew, so that the lock is this cell's and not the caller's. */
		c->layer = openat(spec->layer_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (c->layer < 0)
			return err_errno(err, E_IO, errno, "layer folder");
		if (flock(c->layer, LOCK_EX | LOCK_NB) < 0) {
			fd_close(&c->layer); /* the other cell's folders are in it */
			return err_set(err, E_BUSY, "layer folder: another cell works in it; end that one first");
		}
	}
	c->asked_us = clock_now_us();
	r = prepare_layer(s, err);
	return r < 0 ? r : prepare_setup(s, err);
}

static int spawn(struct start *s, struct cell *c, int control, struct err *err)
{
	int stdio[3], hand, r;

	s->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (s->null < 0)
		return err_errno(err, E_IO, errno, "/dev/null");
	for (int i = 0; i < 3; i++)
		stdio[i] = s->spec->stdio[i] < 0 ? s->null : s->spec->stdio[i];
	r = cell_hand(&hand, err);
	if (r < 0)
		return r;
	r = cell_spawn(c, hand, control, stdio, s->spec->idmap_base != 0, err);
	return machine_lacks(r) ? cell_refuse(s->report, JAIL_USERNS, err->text, err) : r;
}

int cell_start_with(const struct cell_spec *spec, uint32_t flags, struct cell **ret, struct cell_report *report,
		    struct err *err)
{
	struct cell_report unwanted;
	struct err here = { 0 };
	_cleanup_(start_free) struct start s = {
		.spec = spec,
		.report = report ? report : &unwanted,
		.filter = BUF_INIT(FILTER_LEN_MAX),
		.workspace = -1,
		.null = -1,
	};
	_cleanup_cell_ struct cell *c = NULL;
	_cleanup_fd_ int control = -1;
	int r;

	if (!err)
		err = &here;
	cell_report_init(s.report);
	s.setup.flags = flags;
	r = check_spec(spec, err);
	if (r >= 0)
		r = make_cell(&c, &control, err);
	if (r >= 0)
		r = prepare(&s, c, err);
	if (r >= 0)
		r = spawn(&s, c, control, err);
	/* Only init has it now, so that its end is seen. */
	fd_close(&control);
	if (r >= 0)
		r = converse(c, &s, err);
	if (r >= 0)
		r = run_main(c, &s, err);
	if (r < 0) {
		bool fresh = s.new_upper;

		cell_end(&c);
		if (fresh)
			(void)!path_remove_tree(spec->layer_fd, "upper", NULL);
		return r;
	}
	*ret = steal_ptr(c);
	return 0;
}

int cell_start(const struct cell_spec *spec, struct cell **ret, struct cell_report *report, struct err *err)
{
	return cell_start_with(spec, 0, ret, report, err);
}

pid_t cell_pid(const struct cell *c)
{
	return c->pid;
}

int cell_pidfd(const struct cell *c)
{
	return c->pidfd;
}

int cell_main_errno(const struct cell *c)
{
	return c->main_errno;
}

int64_t cell_birth_us(const struct cell *c)
{
	return c->birth_us;
}
