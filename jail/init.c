#include "jail/init.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/base/path.h"
#include "jail/init_internal.h"
#include "jail/lock.h"
#include "jail/wire.h"

/* What is built, in this order; a failure anywhere ends the cell before anything ran in it. */
static const struct {
	enum jail_layer layer;
	int (*run)(struct init *in, struct err *err);
	uint32_t only; /* with this flag of the setup */
} steps[] = {
	{ JAIL_NETWORK, init_network, 0 },     { JAIL_MOUNTS, init_root_begin, 0 },
	{ JAIL_MOUNTS, init_root_fill, 0 },    { JAIL_MOUNTS, init_devices, 0 },
	{ JAIL_PROC, init_proc, 0 },           { JAIL_MOUNTS, init_paths_outside, 0 },
	{ JAIL_OVERLAY, init_overlay, 0 },     { JAIL_OVERLAY, init_overlay_probe, SETUP_PROBE },
	{ JAIL_MOUNTS, init_paths_inside, 0 }, { JAIL_MOUNTS, init_enter, 0 },
	{ JAIL_MOUNTS, init_check_mounts, 0 }, { JAIL_LIMITS, init_limits, 0 },
	{ JAIL_KEYRING, init_keyring, 0 },     { JAIL_CAPS, init_capabilities, 0 },
	{ JAIL_LANDLOCK, init_landlock, 0 },   { JAIL_SECCOMP, init_seccomp, 0 },
	{ JAIL_SECCOMP, init_prove, 0 },
};

/* Leak reports need ptrace and an environment, and a cell has neither. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

void init_found(struct init *in, enum jail_layer layer, enum layer_state state, const char *fmt, ...)
{
	struct setup_finding *f = &in->report.finding[layer];
	va_list ap;

	if (f->set && f->state > state)
		return;
	va_start(ap, fmt);
	vsnprintf(f->evidence, sizeof(f->evidence), fmt, ap);
	va_end(ap);
	f->set = true;
	f->state = state;
}

static void tell(const struct init *in, enum setup_message type, const struct buf *b)
{
	if (frame_send(in->in.fd, type, buf_str(b), b->len, NULL) < 0)
		_exit(1); /* no parent, no cell */
}

static _Noreturn void fail(const struct init *in, enum jail_layer layer, const struct err *err)
{
	_cleanup_buf_ struct buf b = BUF_INIT(SETUP_ANSWER_MAX);
	_cleanup_buf_ struct buf report = BUF_INIT(SETUP_ANSWER_MAX / 2);
	/* Errors of the moment during the build are the machine's refusal; a full disk (which only the staged layer can
	 * meet, elsewhere ENOSPC is some other quota) or a wrong path are not. */
	int code = err->code == E_IO || (err->code == E_FULL && layer != JAIL_OVERLAY) ? E_MACHINE : err->code;

	wire_add_u32(&b, code == E_MACHINE ? layer : JAIL_NO_LAYER);
	wire_add_u32(&b, (uint32_t)-code);
	wire_add_str(&b, err->text);
	setup_encode_report(&in->report, &report);
	wire_add_bytes(&b, buf_str(&report), report.len);
	tell(in, SETUP_FAIL, &b);
	_exit(1);
}

/* ---- identity */

static int write_map(const char *path, const char *text, struct err *err)
{
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return err_errno(err, E_MACHINE, errno, "%s", path);
	return 0;
}

/* Started by an ordinary user: `ids` is the one id that maps to itself.  Done before anything else, since the files
 * below /proc/self belong to root once this process is not dumpable. */
static int map_self(const char *uid, const char *gid, struct err *err)
{
	char text[64];
	int r = write_map("/proc/self/setgroups", "deny", err);

	snprintf(text, sizeof(text), "%s %s 1", uid, uid);
	if (r >= 0)
		r = write_map("/proc/self/uid_map", text, err);
	snprintf(text, sizeof(text), "%s %s 1", gid, gid);
	if (r >= 0)
		r = write_map("/proc/self/gid_map", text, err);
	return r;
}

/* When the host runs out of memory the agent's programs go first.  Also before this process is not dumpable. */
static void be_first_victim(void)
{
	_cleanup_fd_ int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	(void)!write(fd, "1000", 4);
}

/* Started by root: the parent has mapped a private range; from here on this is the agent's id. */
static int become_agent(const struct init *in, struct err *err)
{
	uid_t uid = in->setup.uid;
	gid_t gid = in->setup.gid;

	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return err_errno(err, E_MACHINE, errno, "taking the agent's ids");
	return 0;
}

static int check_identity(const struct init *in, struct err *err)
{
	uid_t r, e, s;

	if (getresuid(&r, &e, &s) < 0 || r != in->setup.uid || e != r || s != r || r == 0)
		return err_set(err, E_MACHINE, "this process has uid %u, wanted %u", (unsigned)r,
			       (unsigned)in->setup.uid);
	return 0;
}

/* ---- set-up */

static void close_made(struct init *in)
{
	size_t n = in->setup.ro.n + in->setup.rw.n;

	for (size_t i = 0; i < SETUP_FDS; i++)
		fd_close(&in->made[i]);
	for (size_t i = 0; in->extra && i < n; i++)
		fd_close(&in->extra[i]);
	free(in->extra);
	in->extra = NULL;
}

/* Descriptors may come with an earlier read than the message that they belong to: they wait in order. */
static int take_fds(struct init *in, int *fds, size_t want, struct err *err)
{
	if (in->npending < want)
		return err_set(err, E_PROTOCOL, "set-up of the cell: %zu descriptors, wanted %zu", in->npending, want);
	memcpy(fds, in->pending, want * sizeof(*fds));
	in->npending -= want;
	memmove(in->pending, in->pending + want, in->npending * sizeof(*in->pending));
	return 0;
}

/* The next message, which must be of this type. */
static int receive(struct init *in, uint32_t type, struct frame *ret, struct err *err)
{
	for (;;) {
		int got = frame_next(&in->in, ret, err);
		if (got < 0)
			return got;
		if (got && ret->type != type)
			return err_set(err, E_PROTOCOL, "set-up of the cell: message %u, wanted %u", ret->type, type);
		if (got)
			return 0;

		size_t n = 0;
		int r = frame_fill_fds(&in->in, in->pending + in->npending, ARRAY_LEN(in->pending) - in->npending, &n,
				       err);
		if (r < 0)
			return r;
		in->npending += n;
	}
}

static int receive_setup(struct init *in, bool with_mounts, struct err *err)
{
	struct frame f;
	int r = receive(in, SETUP_SETUP, &f, err);

	if (r < 0)
		return r;
	/* The set-up points into the message, and the reader's memory changes with the next one. */
	in->message = malloc(f.len + 1);
	if (!in->message)
		return err_set(err, E_NOMEM, "set-up of the cell: out of memory");
	memcpy(in->message, f.data, f.len + 1);
	r = setup_decode(in->message, f.len, &in->setup, err);
	if (r >= 0 && with_mounts != !!(in->setup.flags & SETUP_IDMAPPED))
		r = err_set(err, E_PROTOCOL, "set-up of the cell: mounts and ids do not fit");
	if (r < 0 || !with_mounts)
		return r;

	size_t n = in->setup.ro.n + in->setup.rw.n;
	in->extra = calloc(n + 1, sizeof(*in->extra));
	if (!in->extra)
		return err_set(err, E_NOMEM, "set-up of the cell: out of memory");
	memset(in->extra, 0xff, (n + 1) * sizeof(*in->extra));
	r = take_fds(in, in->made, in->setup.flags & SETUP_PRIVATE_LAYER ? 1 : SETUP_FDS, err);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		r = receive(in, SETUP_MOUNT, &f, err);
		if (r >= 0)
			r = take_fds(in, &in->extra[i], 1, err);
	}
	if (r >= 0 && in->npending)
		return err_set(err, E_PROTOCOL, "set-up of the cell: %zu descriptors too many", in->npending);
	return r;
}

static void note_namespaces(struct init *in)
{
	for (size_t i = 0; i < SETUP_NAMESPACES; i++) {
		char path[64];
		struct stat st;

		snprintf(path, sizeof(path), "/proc/self/ns/%s", setup_namespaces[i]);
		if (stat(path, &st) == 0)
			in->report.ns[i] = st.st_ino;
	}
	init_found(in, JAIL_USERNS, LAYER_OK, "clone with seven namespaces ok; uid %u; max_user_namespaces=0 inside",
		   (unsigned)in->setup.uid);
	if (in->setup.flags & SETUP_IDMAPPED)
		init_found(in, JAIL_IDMAP, LAYER_OK, "mount_setattr(MOUNT_ATTR_IDMAP) ok");
}

static void build(struct init *in)
{
	struct err err = { 0 };

	note_namespaces(in);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		if (steps[i].only && !(in->setup.flags & steps[i].only))
			continue;
		/* The mounts that the parent made are in place; nothing of the host stays open. */
		if (steps[i].run == init_enter)
			close_made(in);
		if (steps[i].run(in, &err) < 0)
			fail(in, in->blamed == JAIL_NO_LAYER ? steps[i].layer : in->blamed, &err);
	}
}

/* ---- the main program */

static pid_t start_main(struct init *in)
{
	_cleanup_buf_ struct buf b = BUF_INIT(4096);
	enum layer_state state;
	char evidence[160];
	char **env = run_environment(in);
	pid_t pid = -1;
	int why = ENOMEM;

	init_baseline(in, &state, evidence);
	if (env) {
		const struct run r = {
			.argv = in->setup.argv.n ? (const char *const *)in->setup.argv.item : NULL,
			.cwd = in->cwd,
			.env = env,
		};

		environ = env; /* execvpe looks for PATH there */
		pid = run_start(in, &r);
		why = pid < 0 ? errno : 0;
	}

	/* Its standard streams are its own now, so that who reads them sees the end. */
	for (int fd = 0; fd < 3; fd++)
		if (dup2(in->null, fd) < 0)
			_exit(1);
	fd_close(&in->cwd);
	close(SETUP_FD_HAND);

	wire_add_u32(&b, (uint32_t)why);
	wire_add_u32(&b, state);
	wire_add_str(&b, evidence);
	tell(in, SETUP_STARTED, &b);
	if (pid < 0)
		_exit(why == ENOENT || why == ENOTDIR ? 127 : 126);
	return pid;
}

static void answer_freeze(struct init *in)
{
	_cleanup_buf_ struct buf b = BUF_INIT(4096);
	struct err err = { 0 };
	uint32_t n = 0;

	if (init_freeze(in, &n, &err) >= 0)
		err.text[0] = '\0';
	wire_add_u32(&b, n);
	wire_add_str(&b, err.text);
	tell(in, SETUP_FROZEN, &b);
}

static void obey(struct init *in, const struct frame *f, pid_t main_pid)
{
	static const struct buf nothing;
	struct wire_reader r = { f->data, f->len, false };
	uint32_t sig;

	switch (f->type) {
	case SETUP_SIGNAL:
		sig = wire_u32(&r);
		if (!wire_end(&r) || sig == 0 || sig > (uint32_t)SIGRTMAX)
			break;
		/* The main program leads a session of its own, and a terminal would tell the whole group. */
		kill(-main_pid, (int)sig);
		return;
	case SETUP_FREEZE:
		answer_freeze(in);
		return;
	case SETUP_THAW:
		kill(-1, SIGCONT);
		tell(in, SETUP_THAWED, &nothing);
		return;
	default:
		break;
	}
	_exit(1); /* the parent speaks the same program's protocol, or is not our parent */
}

static void reap(struct init *in, pid_t main_pid)
{
	int wstatus;
	pid_t pid;

	while ((pid = waitpid(-1, &wstatus, WNOHANG)) > 0) {
		if (pid != main_pid)
			continue;

		_cleanup_buf_ struct buf b = BUF_INIT(64);
		wire_add_u32(&b, (uint32_t)wstatus);
		tell(in, SETUP_EXITED, &b);
		/* With us the kernel ends whatever is left. */
		_exit(WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : 128 + WTERMSIG(wstatus));
	}
}

static _Noreturn void serve(struct init *in, pid_t main_pid, int signals)
{
	for (;;) {
		struct pollfd p[] = { { .fd = in->in.fd, .events = POLLIN }, { .fd = signals, .events = POLLIN } };

		if (poll(p, ARRAY_LEN(p), -1) < 0 && errno != EINTR)
			_exit(1);
		if (p[1].revents) {
			struct signalfd_siginfo info;

			(void)!read(signals, &info, sizeof(info));
			reap(in, main_pid);
		}
		if (p[0].revents) {
			struct frame f;

			if (frame_fill(&in->in, NULL) < 0)
				_exit(1);
			for (int got; (got = frame_next(&in->in, &f, NULL)) != 0;) {
				if (got < 0)
					_exit(1);
				obey(in, &f, main_pid);
			}
		}
	}
}

int init_main(int argc, char **argv)
{
	struct init in = { .made = { -1, -1, -1, -1, -1 }, .root = -1, .null = -1, .proc = -1, .cwd = -1,
			   .blamed = JAIL_NO_LAYER };
	_cleanup_buf_ struct buf report = BUF_INIT(SETUP_ANSWER_MAX);
	bool mapped_by_parent = argc != 4;
	struct err err = { 0 };
	struct frame f;
	sigset_t all;
	int r;

	/* Only cell_start passes this descriptor, and only a socket can be it. */
	struct stat st;
	if (getpid() != 1 || fstat(SETUP_FD_CONTROL, &st) < 0 || !S_ISSOCK(st.st_mode))
		return 2;
	be_first_victim();
	r = mapped_by_parent ? 0 : map_self(argv[2], argv[3], &err);
	if (r >= 0)
		r = lock_undumpable(&err);

	frame_reader_init(&in.in, SETUP_FD_CONTROL, SETUP_MAX);
	if (fcntl(SETUP_FD_CONTROL, F_SETFD, FD_CLOEXEC) < 0 || fcntl(SETUP_FD_HAND, F_SETFD, FD_CLOEXEC) < 0)
		return 2;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	umask(022);

	if (r >= 0)
		r = receive_setup(&in, mapped_by_parent, &err);
	if (r >= 0 && mapped_by_parent)
		r = become_agent(&in, &err);
	if (r >= 0)
		r = check_identity(&in, &err);
	/* A change of ids takes both back. */
	if (r >= 0)
		r = lock_undumpable(&err);
	if (r >= 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		r = err_errno(&err, E_MACHINE, errno, "PR_SET_PDEATHSIG");
	if (r < 0)
		fail(&in, JAIL_USERNS, &err);

	build(&in);
	setup_encode_report(&in.report, &report);
	tell(&in, SETUP_REPORT, &report);
	if (receive(&in, SETUP_GO, &f, &err) < 0)
		_exit(1);

	sigset_t chld;
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	int signals = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		_exit(1);
	serve(&in, start_main(&in), signals);
}
