/* What a program sees of itself, and how much it gets:
 *
 *	env: NAME=VALUE            a line each
 *	fds: 0 1 2
 *	ids: uid=1000 gid=1000 groups=
 *	caps: inh=0 prm=0 eff=0 bnd=0 amb=0 nnp=1 seccomp=2 dumpable=0
 *	fork:N: 38 EAGAIN          children alive at once, and what stopped it ("ok": nothing)
 *	memory-mb:N: 512 ENOMEM    megabytes written
 *	file-mb:PATH:N: 100 EFBIG
 */
#include "tests/jail/probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MB ((size_t)1 << 20)

static const char *error_name(int error)
{
	return error ? strerrorname_np(error) : "ok";
}

static void show_env(const char *arg)
{
	(void)arg;
	for (char **e = environ; *e; e++)
		printf("env: %s\n", *e);
}

static void show_fds(const char *arg)
{
	(void)arg;
	printf("fds:");
	for (int fd = 0; fd < 4096; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf(" %d", fd);
	putchar('\n');
}

static void show_ids(const char *arg)
{
	gid_t groups[64];
	int n = getgroups(64, groups);

	(void)arg;
	printf("ids: uid=%u gid=%u groups=", (unsigned)geteuid(), (unsigned)getegid());
	for (int i = 0; i < n; i++)
		printf("%s%u", i ? "," : "", (unsigned)groups[i]);
	putchar('\n');
}

/* A hexadecimal field of /proc/self/status. */
static unsigned long long status_field(const char *name)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long value = ~0ULL;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			value = strtoull(line + strlen(name), NULL, 16);
	if (f)
		fclose(f);
	return value;
}

static void show_caps(const char *arg)
{
	(void)arg;
	printf("caps: inh=%llx prm=%llx eff=%llx bnd=%llx amb=%llx nnp=%d seccomp=%d dumpable=%d\n",
	       status_field("CapInh:"), status_field("CapPrm:"), status_field("CapEff:"), status_field("CapBnd:"),
	       status_field("CapAmb:"), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_SECCOMP, 0, 0, 0, 0),
	       prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
}

/* The children wait for a pipe that ends with this process. */
static void show_fork(const char *arg)
{
	int want = atoi(arg), n = 0, error = 0, ends[2];
	char byte;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	for (; n < want; n++) {
		pid_t pid = fork();

		if (pid < 0) {
			error = errno;
			break;
		}
		if (pid == 0) {
			close(ends[1]);
			_exit(read(ends[0], &byte, 1) < 0);
		}
	}
	close(ends[1]);
	while (wait(NULL) > 0 || errno == EINTR)
		;
	close(ends[0]);
	printf("fork:%s: %d %s\n", arg, n, error_name(error));
}

static void show_memory(const char *arg)
{
	long want = atol(arg), n = 0;
	int error = 0;

	for (; n < want; n++) {
		char *p = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED) {
			error = errno;
			break;
		}
		memset(p, 1, MB);
	}
	printf("memory-mb:%s: %ld %s\n", arg, n, error_name(error));
}

static void show_file(const char *arg)
{
	static char block[MB];
	const char *colon = strrchr(arg, ':');
	char path[4096];
	long n = 0;
	int error = 0;

	if (!colon)
		return;
	snprintf(path, sizeof(path), "%.*s", (int)(colon - arg), arg);
	signal(SIGXFSZ, SIG_IGN);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	for (; fd >= 0 && n < atol(colon + 1); n++) {
		ssize_t wrote = write(fd, block, MB);

		if (wrote != (ssize_t)MB) {
			error = wrote < 0 ? errno : ENOSPC;
			break;
		}
	}
	if (fd < 0)
		error = errno;
	else
		close(fd);
	unlink(path);
	printf("file-mb:%s: %ld %s\n", arg, n, error_name(error));
}

const struct probe_show probe_shows[] = {
	{ "env", show_env },   { "fds", show_fds },          { "ids", show_ids },   { "caps", show_caps },
	{ "fork", show_fork }, { "memory-mb", show_memory }, { "file-mb", show_file }, { 0 },
};
