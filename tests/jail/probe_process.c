/* Attacks on other processes, namespaces and the terminal. */
#include "tests/jail/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a child, for what would change this process.  The child's answer is its exit status; a signal is 256 and more. */
static int in_child(int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return errno;
	if (pid == 0)
		_exit(fn());
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : PROBE_SIGNAL + WTERMSIG(status);
}

static int unshare_user(void)
{
	return unshare(CLONE_NEWUSER) < 0 ? errno : 0;
}

static int probe_userns(const char *arg)
{
	(void)arg;
	return in_child(unshare_user);
}

static int cloned(unsigned long flags)
{
	pid_t pid = (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);

	if (pid < 0)
		return errno;
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	return 0;
}

static int probe_userns_clone(const char *arg)
{
	(void)arg;
	return cloned(CLONE_NEWUSER);
}

static int probe_userns_clone_high(const char *arg)
{
	(void)arg;
	return cloned(CLONE_NEWUSER | 1UL << 32);
}

static int set_persona(void)
{
	return personality(0x0400000 /* READ_IMPLIES_EXEC */) < 0 ? errno : 0;
}

static int probe_personality(const char *arg)
{
	(void)arg;
	return in_child(set_persona);
}

static int probe_ptrace(const char *pid)
{
	return ptrace(PTRACE_SEIZE, atoi(pid), 0, 0) < 0 ? errno : 0; /* let go of at exit */
}

static int probe_kill(const char *arg)
{
	int pid = 0, sig = 0;

	if (sscanf(arg, "%d:%d", &pid, &sig) < 1)
		return EINVAL;
	return kill(pid, sig) < 0 ? errno : 0;
}

static int probe_memory(const char *pid)
{
	char byte;
	struct iovec to = { &byte, 1 }, from = { &byte, 1 };

	return syscall(SYS_process_vm_readv, atol(pid), &to, 1L, &from, 1L, 0L) < 0 ? errno : 0;
}

static int probe_steal_fd(const char *pid)
{
	int fd = (int)syscall(SYS_pidfd_open, atol(pid), 0);

	if (fd < 0)
		return errno;
	int r = probe_opened((int)syscall(SYS_pidfd_getfd, fd, 0, 0));
	close(fd);
	return r;
}

/* Runs this program again from a memfd; `probe` without arguments ends with 0. */
static int exec_memfd(void)
{
	char bytes[65536], name[] = "probe", *const argv[] = { name, NULL }, *const env[] = { NULL };
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd = memfd_create("probe", MFD_CLOEXEC);
	ssize_t n;

	if (self < 0 || fd < 0)
		return errno;
	while ((n = read(self, bytes, sizeof(bytes))) > 0)
		if (write(fd, bytes, (size_t)n) != n)
			return errno;
	fexecve(fd, argv, env);
	return errno;
}

static int probe_memfd_exec(const char *arg)
{
	(void)arg;
	return in_child(exec_memfd);
}

static int probe_daemon(const char *seconds)
{
	pid_t pid = fork();

	if (pid < 0)
		return errno;
	if (pid == 0) {
		setsid();
		signal(SIGHUP, SIG_IGN);
		if (fork() == 0) {
			close(0), close(1), close(2);
			sleep((unsigned)atoi(seconds));
		}
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return 0;
}

/* ---- a terminal: on one of its own, so that the control harms nobody */

static int tiocsti(unsigned long request)
{
	int zero = 0, master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

	signal(SIGHUP, SIG_IGN);
	setsid();
	if (master < 0 || ioctl(master, TIOCSPTLCK, &zero) < 0)
		return errno;
	int tty = ioctl(master, TIOCGPTPEER, O_RDWR);
	if (tty < 0 || ioctl(tty, TIOCSCTTY, 0) < 0)
		return errno;
	return syscall(SYS_ioctl, tty, request, "x") < 0 ? errno : 0;
}

static int tiocsti_plain(void)
{
	return tiocsti(TIOCSTI);
}

static int tiocsti_high(void)
{
	return tiocsti(TIOCSTI | 1UL << 32);
}

static int probe_tiocsti(const char *arg)
{
	(void)arg;
	return in_child(tiocsti_plain);
}

static int probe_tiocsti_high(const char *arg)
{
	(void)arg;
	return in_child(tiocsti_high);
}

/* ---- foreign ABIs */

static int x32_call(void)
{
	return syscall(0x40000000 + 39) < 0 ? errno : 0;
}

static int ia32_call(void)
{
	long r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20L) : "memory"); /* getpid */
	return r > 0 ? 0 : (int)-r;
}

static int probe_x32(const char *arg)
{
	(void)arg;
	return in_child(x32_call);
}

static int probe_ia32(const char *arg)
{
	(void)arg;
	return in_child(ia32_call);
}

const struct probe probe_processes[] = {
	{ "userns", probe_userns, false },
	{ "userns-clone", probe_userns_clone, false },
	{ "userns-clone-high", probe_userns_clone_high, false },
	{ "personality", probe_personality, false },
	{ "ptrace", probe_ptrace, true },
	{ "kill", probe_kill, true },
	{ "memory", probe_memory, true },
	{ "steal-fd", probe_steal_fd, true },
	{ "memfd-exec", probe_memfd_exec, false },
	{ "daemon", probe_daemon, true },
	{ "tiocsti", probe_tiocsti, false },
	{ "tiocsti-high", probe_tiocsti_high, false },
	{ "x32", probe_x32, false },
	{ "ia32", probe_ia32, false },
	{ 0 },
};
