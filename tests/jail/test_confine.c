/* A helper after confine_self: what it still can, what it no longer can, and what others no longer can do to it. */
#include "jail/confine.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "jail/lock_internal.h"
#include "tests/jail/child.h"
#include "tests/tap.h"

#define HELPER_UID 65532

static int confine(void)
{
	struct err err = { 0 };
	const char *missing = "?";
	int r = confine_self(geteuid() == 0 ? HELPER_UID : 0, &missing, &err);

	if (r < 0)
		fprintf(stderr, "# %s\n", err.text);
	return r;
}

/* ---- refused, each also tried before */

static int do_open(void) { return err_of(open("/dev/null", O_RDONLY | O_CLOEXEC)); }
static int do_openat(void) { return err_of(openat(AT_FDCWD, ".", O_PATH | O_CLOEXEC)); }
static int do_stat(void) { struct stat st; return err_of(stat("/", &st)); }
static int do_socket(void) { return err_of(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }
static int do_socketpair(void) { int p[2]; return err_of(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p)); }
static int do_pipe(void) { int p[2]; return err_of(pipe2(p, O_CLOEXEC)); }
static int do_kill(void) { return err_of(kill(getppid(), 0)); }
static int do_tgkill(void) { return err_of(syscall(SYS_tgkill, getpid(), getpid(), 0)); }
static int do_memfd(void) { return err_of(memfd_create("x", MFD_CLOEXEC)); }
static int do_prctl(void) { return err_of(prctl(PR_SET_DUMPABLE, 0)); }
static int do_ioctl(void) { return err_of(syscall(SYS_ioctl, 1, 0x5421 /* FIONBIO */, &(int){ 0 })); }
static int do_chdir(void) { return err_of(chdir("/")); }
static int do_setrlimit(void) { struct rlimit r = { 0, 0 }; return err_of(setrlimit(RLIMIT_CORE, &r)); }
static int do_unlink(void) { return unlink("/no/such/file") < 0 && errno == ENOENT ? 0 : errno; }

static int do_fork(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return err_of(pid);
}

static int map_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? errno : 0;
}

static int turn_into_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? -1 : err_of(mprotect(p, 4096, PROT_READ | PROT_EXEC));
}

static const struct {
	const char *what;
	int (*try)(void);
} refused[] = {
	{ "open", do_open }, { "openat", do_openat }, { "stat", do_stat }, { "socket", do_socket },
	{ "socketpair", do_socketpair }, { "pipe", do_pipe }, { "fork", do_fork }, { "kill of another", do_kill },
	{ "tgkill", do_tgkill }, { "memfd_create", do_memfd }, { "prctl", do_prctl }, { "ioctl", do_ioctl },
	{ "chdir", do_chdir }, { "setrlimit", do_setrlimit }, { "unlink", do_unlink }, { "mmap of code", map_code },
	{ "mprotect to code", turn_into_code },
};

static int attempt(const void *arg)
{
	int (*try)(void) = *(int (*const *)(void))arg;

	return confine() < 0 ? -1 : try();
}

static int control(const void *arg)
{
	return (*(int (*const *)(void))arg)();
}

static void refusals(void)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		is_int(child_run(control, &refused[i].try), 0, "control: %s works before", refused[i].what);
		is_int(child_run(attempt, &refused[i].try), EPERM, "%s is refused after", refused[i].what);
	}
}

/* ---- killed */

static int do_exec(const void *arg)
{
	if (arg && confine() < 0)
		return -1;
	execl("/bin/true", "true", NULL);
	return errno;
}

static int do_trace(const void *arg)
{
	if (arg && confine() < 0)
		return -1;
	return err_of(ptrace(PTRACE_TRACEME, 0, 0, 0));
}

static void kills(void)
{
	static const bool yes = true;

	is_int(child_run(do_exec, NULL), -1, "control: exec works before (nothing comes back)");
	is_int(child_run(do_exec, &yes), CHILD_SIGNAL + SIGSYS, "exec kills after");
	is_int(child_run(do_trace, NULL), 0, "control: ptrace works before");
	is_int(child_run(do_trace, &yes), CHILD_SIGNAL + SIGSYS, "ptrace kills after");
}

/* ---- what stays */

#define LARGE ((size_t)64 << 20)

static int works(const void *arg)
{
	const int *fds = arg; /* a socket pair */
	char text[100], byte = 'x';
	struct pollfd poll_on = { .fd = fds[0], .events = POLLOUT };
	struct timespec t = { 0, 1000 };

	if (confine() < 0)
		return 1;
	if (poll(&poll_on, 1, 1000) != 1 || write(fds[0], &byte, 1) != 1 || read(fds[0], &byte, 1) != 1)
		return 2;
	if (send(fds[0], &byte, 1, MSG_NOSIGNAL) != 1 || recv(fds[0], &byte, 1, 0) != 1)
		return 3;
	int fl = fcntl(fds[0], F_GETFL);
	if (fl < 0 || fcntl(fds[0], F_SETFL, fl | O_NONBLOCK) < 0 || fcntl(fds[0], F_DUPFD_CLOEXEC, 3) < 0)
		return 4;

	char *large = malloc(LARGE);
	if (!large)
		return 5;
	memset(large, 1, LARGE);
	large = realloc(large, LARGE * 2);
	if (!large)
		return 6;
	free(large);
	for (size_t i = 1; i < 1000; i++) {
		void *p = calloc(i, 100);
		if (!p)
			return 7;
		free(p);
	}
	if (nanosleep(&t, NULL) < 0 || clock_gettime(CLOCK_REALTIME, &t) < 0 || getrandom(text, sizeof(text), 0) < 0)
		return 8;

	FILE *out = fdopen(fds[0], "w");
	if (!out || fprintf(out, "%d %s %f", 1, "two", 3.0) < 0 || fflush(out))
		return 9;
	char *line = NULL;
	size_t len = 0;
	FILE *mem = open_memstream(&line, &len);
	if (!mem || fprintf(mem, "%*d", 5000, 1) < 0 || fclose(mem) || len != 5000)
		return 10;
	free(line);
	return 0;
}

static int state(const void *arg)
{
	struct rlimit files, processes, size, core;

	(void)arg;
	if (confine() < 0)
		return 2;
	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || getrlimit(RLIMIT_NPROC, &processes) < 0 ||
	    getrlimit(RLIMIT_FSIZE, &size) < 0 || getrlimit(RLIMIT_CORE, &core) < 0)
		return 3;
	if (files.rlim_max > 64 || processes.rlim_max || size.rlim_max || core.rlim_max)
		return 4;
	return 0;
}

/* ---- seen from outside: /proc/PID/status of a confined helper, and who may open its memory */

static pid_t start_helper(bool confined, int *ret_in)
{
	int ready[2];
	char byte;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (geteuid() == 0 && setgroups(1, &(gid_t){ 7 }) < 0)
			_exit(1);
		if ((confined && confine() < 0) || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (int second = 0; second < 20; second++) /* long enough, and an end when the test goes wrong */
			poll(NULL, 0, 1000);
		_exit(0);
	}
	close(ready[1]);
	*ret_in = read(ready[0], &byte, 1) == 1;
	close(ready[0]);
	return pid;
}

/* Opens the memory of `pid` as its own user would; as root by becoming that user. */
struct spy {
	pid_t pid;
	bool confined;
};

static int spy(const void *arg)
{
	const struct spy *s = arg;
	char path[64];

	if (geteuid() == 0 && s->confined &&
	    (setresgid(HELPER_UID, HELPER_UID, HELPER_UID) < 0 || setresuid(HELPER_UID, HELPER_UID, HELPER_UID) < 0))
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)s->pid);
	int mem = err_of(open(path, O_RDONLY | O_CLOEXEC));
	int traced = err_of(ptrace(PTRACE_ATTACH, s->pid, 0, 0));
	if (!traced)
		ptrace(PTRACE_DETACH, s->pid, 0, 0);
	return mem && traced ? mem : 0;
}

static const char *field(const char *status, const char *name, char value[100])
{
	const char *at = strstr(status, name);

	if (!at)
		return "(no such field)";
	at += strlen(name);
	at += strspn(at, " \t");
	snprintf(value, 100, "%.*s", (int)strcspn(at, "\n"), at);
	for (size_t len = strlen(value); len && value[len - 1] == ' '; len--)
		value[len - 1] = '\0';
	return value;
}

static void from_outside(void)
{
	char path[64], status[4096] = "", value[100];
	int up = 0;
	pid_t pid = start_helper(false, &up);

	int open_before = up ? child_run(spy, &(struct spy){ pid, false }) : -1;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	is_int(open_before, 0, "control: a helper that is not confined is open to its user");

	pid = start_helper(true, &up);
	ok(up, "a helper confines itself");
	is_int(child_run(spy, &(struct spy){ pid, true }), EACCES, "its user can neither open its memory nor trace it");

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ok(fd >= 0 && read(fd, status, sizeof(status) - 1) > 0, "its status is read");
	close(fd);
	is_str(field(status, "\nCapPrm:", value), "0000000000000000", "no permitted capability");
	is_str(field(status, "\nCapEff:", value), "0000000000000000", "no effective capability");
	is_str(field(status, "\nNoNewPrivs:", value), "1", "no_new_privs");
	is_str(field(status, "\nSeccomp:", value), "2", "a seccomp filter");
	if (geteuid() == 0) {
		is_str(field(status, "\nUid:", value), "65532\t65532\t65532\t65532", "no uid is 0");
		is_str(field(status, "\nGid:", value), "65532\t65532\t65532\t65532", "no gid is 0");
		is_str(field(status, "\nGroups:", value), "", "no group is left");
		is_str(field(status, "\nCapBnd:", value), "0000000000000000", "the bounding set is empty");
	} else {
		skip("leaving root: this is an ordinary user");
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Parent, child that confines itself, and the end of the parent: PR_SET_PDEATHSIG survived the change of uid. */
static void dies_with_parent(void)
{
	int alive[2];
	char byte;

	if (pipe2(alive, O_CLOEXEC) < 0)
		return;
	pid_t parent = fork();
	if (parent == 0) {
		int up;
		pid_t helper = start_helper(true, &up);
		_exit(helper > 0 && up ? 0 : 1); /* `alive` is now held by the helper alone */
	}
	int status;
	close(alive[1]);
	ok(waitpid(parent, &status, 0) == parent && status == 0, "a helper is left without its parent");
	struct pollfd p = { .fd = alive[0], .events = POLLIN };
	ok(poll(&p, 1, 5000) == 1 && read(alive[0], &byte, 1) == 0, "it dies with it");
	close(alive[0]);
}

static int stay_root(const void *arg)
{
	const char *missing = "?";

	return confine_self(*(const int64_t *)arg, &missing, NULL);
}

int main(void)
{
	int pair[2];

	refusals();
	kills();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return 1;
	ok(write(pair[1], "ab", 2) == 2, "bytes for the helper");
	is_int(child_run(works, pair), 0, "descriptors, memory, clocks, random bytes and stdio work on");
	is_int(child_run(state, NULL), 0, "limits: 64 descriptors, no process, no file that grows, no core");
	from_outside();
	dies_with_parent();
	if (geteuid() == 0) {
		is_int(child_run(stay_root, &(int64_t){ 0 }), E_DENIED, "root is not kept");
		is_int(child_run(stay_root, &(int64_t){ -1 }), E_DENIED, "nor a uid that is none");
		is_int(child_run(stay_root, &(int64_t){ UINT32_MAX }), E_DENIED, "nor the uid that means \"leave it\"");
	} else {
		skip("refusing to stay root: this is an ordinary user");
	}
	return tap_end();
}
