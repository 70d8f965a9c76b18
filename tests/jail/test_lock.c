/* The steps of the lock one by one, each with the attack that it stops and the same attack before the step. */
#include "jail/lock.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "jail/lock_internal.h"
#include "tests/jail/child.h"
#include "tests/tap.h"

static const bool yes = true; /* for children that ask only whether they have an argument */

/* An ordinary user from here on: the caller, or when that is root, somebody without a name. */
static bool become_ordinary(void)
{
	if (geteuid() == 0 && (setresgid(65533, 65533, 65533) < 0 || setresuid(65533, 65533, 65533) < 0))
		return false;
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0; /* changing the uid had taken it away */
}

/* ---- not dumpable */

/* What a process of the same user sees of another: errno of opening its memory. */
static int spy(const void *arg)
{
	bool lock = arg != NULL;
	int ready[2];
	char path[64], byte;

	if (!become_ordinary() || pipe(ready) < 0)
		return -1;
	pid_t victim = fork();
	if (victim == 0) {
		if ((lock && lock_undumpable(NULL) < 0) || write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	if (read(ready[0], &byte, 1) != 1)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)victim);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	kill(victim, SIGKILL);
	waitpid(victim, NULL, 0);
	return r;
}

static int core_limit(const void *arg)
{
	struct rlimit core = { 1, 1 };

	(void)arg;
	if (lock_undumpable(NULL) < 0 || getrlimit(RLIMIT_CORE, &core) < 0)
		return -1;
	return (int)core.rlim_max;
}

static void undumpable(void)
{
	int control = child_run(spy, NULL);

	if (control)
		skip("control: a process of the same user is not open to its like here (errno %d)", control);
	else
		ok(true, "control: a process of the same user opens another's memory");
	is_int(child_run(spy, &yes), EACCES, "after lock_undumpable it does not");
	is_int(child_run(core_limit, NULL), 0, "and there is no core file");
}

/* ---- keyring */

static int find_key(void)
{
	return err_of(syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", "warder-test", 0));
}

static int keyring(const void *arg)
{
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 ||
	    syscall(SYS_add_key, "user", "warder-test", "x", 1, KEY_SPEC_SESSION_KEYRING) < 0)
		return -errno;
	if (find_key())
		return -1;
	if (arg && lock_keyring(NULL) < 0)
		return -1;
	return find_key();
}

static void keyrings(void)
{
	int control = child_run(keyring, NULL);

	if (control) {
		skip("keyring: the kernel gives this user none (errno %d)", -control);
		return;
	}
	ok(true, "control: the session's key is found");
	is_int(child_run(keyring, &yes), ENOKEY, "after lock_keyring it is not");
}

/* ---- capabilities */

#define NO_CAPS "test $(grep -c '^Cap[PE][rf][mf]:.0000000000000000$' /proc/self/status) = 2"

/* Capabilities of a program started now. */
static bool exec_has_caps(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", NO_CAPS, NULL);
		_exit(99);
	}
	return waitpid(pid, &status, 0) != pid || status != 0;
}

enum { WITHOUT_LOCK = 1, IN_USERNS = 2, ORDINARY = 4 };

/* Bits of what was wrong; 0: nothing. */
static int capabilities(const void *arg)
{
	unsigned mode = *(const unsigned *)arg;
	int wrong = 0;

	if (mode & ORDINARY && !become_ordinary())
		return -1;
	if (mode & IN_USERNS) {
		char map[64];
		snprintf(map, sizeof(map), "0 %u 1", (unsigned)geteuid());
		if (unshare(CLONE_NEWUSER) < 0)
			return -errno;
		int fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, map, strlen(map)) < 0)
			return -errno;
		close(fd);
	}

	bool powerful = !lock_caps_empty();
	struct err err = { 0 };
	if (!(mode & WITHOUT_LOCK) && lock_capabilities(&err) < 0) {
		diag("%s", err.text);
		return -1;
	}
	wrong |= !lock_caps_empty() << 0;
	wrong |= (powerful && !lock_bounding_empty()) << 1;
	wrong |= (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) << 2;
	wrong |= (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, 1, 0, 0) > 0) << 3;
	wrong |= (powerful && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0) << 4; /* locked securebits */
	wrong |= (chroot("/") == 0) << 5;
	wrong |= exec_has_caps() << 6;
	return wrong;
}

static void drop_capabilities(void)
{
	int control = child_run(capabilities, &(unsigned){ WITHOUT_LOCK | IN_USERNS });

	is_int(child_run(capabilities, &(unsigned){ ORDINARY }), 0, "a process without capabilities locks");
	if (control < 0) {
		skip("capabilities in a user namespace: none to be had here (errno %d)", -control);
	} else {
		is_int(control & 0x73, 0x73, "control: in its user namespace a process has capabilities, by exec too");
		is_int(child_run(capabilities, &(unsigned){ IN_USERNS }), 0, "after lock_capabilities none at all");
	}
	if (geteuid() != 0) {
		skip("capabilities of root: this is an ordinary user");
		return;
	}
	control = child_run(capabilities, &(unsigned){ WITHOUT_LOCK });
	is_int(control & 0x61, 0x61, "control: root has capabilities, by exec too");
	is_int(child_run(capabilities, &(unsigned){ 0 }), 0, "after lock_capabilities root has none, by exec neither");
}

/* ---- seccomp */

static int load_as_ordinary(const void *arg)
{
	struct sock_filter deny_getppid[] = {
		{ BPF_LD | BPF_W | BPF_ABS, 0, 0, 0 },
		{ BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_getppid },
		{ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EDOM },
		{ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW },
	};

	if (!become_ordinary() || (arg && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0))
		return -1;
	int r = lock_seccomp(deny_getppid, sizeof(deny_getppid), NULL);
	return r < 0 ? r : err_of(syscall(SYS_getppid));
}

static int load_garbage(const void *arg)
{
	struct sock_filter garbage = { 0xffff, 0, 0, 0 };

	(void)arg;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -1 : lock_seccomp(&garbage, sizeof(garbage), NULL);
}

static void seccomp(void)
{
	static const char zeros[8 * (BPF_MAXINSNS + 1)];
	struct err err = { 0 };

	is_int(lock_seccomp(zeros, 0, &err), E_INVALID, "an empty program is refused");
	is_int(lock_seccomp(zeros, 7, &err), E_INVALID, "so is a piece of an instruction");
	is_int(lock_seccomp(zeros, sizeof(zeros), &err), E_INVALID, "so is one that is too long");
	is_int(child_run(load_garbage, NULL), E_MACHINE, "what the kernel refuses is an error");
	is_int(child_run(load_as_ordinary, NULL), E_MACHINE, "without no_new_privs it is an error");
	is_int(child_run(load_as_ordinary, &yes), EDOM, "with it the program holds");
}

int main(void)
{
	undumpable();
	keyrings();
	drop_capabilities();
	seccomp();
	return tap_end();
}
