#include "core/keeper/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/socket.h>

#define FDS_MAX 4
#define FD_FIRST 3
#define FD_ABOVE 16 /* sources are moved above every target, so that no dup2 hits a source */

int spawn_pair(int *ret_ours, int *ret_theirs, struct err *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, E_IO, errno, "socketpair");
	*ret_ours = pair[0];
	*ret_theirs = pair[1];
	return 0;
}

static int add_files(posix_spawn_file_actions_t *files, const int *high, size_t n)
{
	int r = 0;

	for (int fd = 0; r == 0 && fd < 3; fd++)
		r = posix_spawn_file_actions_addopen(files, fd, "/dev/null", fd ? O_WRONLY : O_RDONLY, 0);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = posix_spawn_file_actions_adddup2(files, high[i], FD_FIRST + (int)i);
	/* What our caller left open without CLOEXEC (a shell's descriptor, a pipe that somebody waits on) ends here. */
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(files, FD_FIRST + (int)n);
	return r;
}

static int set_attributes(posix_spawnattr_t *attr, bool new_session)
{
	sigset_t none, all;
	short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
	int r;

	sigemptyset(&none);
	sigfillset(&all);
	if (new_session)
		flags |= POSIX_SPAWN_SETSID;
	r = posix_spawnattr_setflags(attr, flags);
	if (r == 0)
		r = posix_spawnattr_setsigmask(attr, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(attr, &all);
	return r;
}

int spawn_self(const struct spawn *s, pid_t *ret_pid, struct err *err)
{
	static char *const no_env[] = { NULL };
	int high[FDS_MAX] = { -1, -1, -1, -1 };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int r = 0;

	if (s->nfds > FDS_MAX)
		return err_set(err, E_LIMIT, "spawn: too many descriptors");
	for (size_t i = 0; r == 0 && i < s->nfds; i++)
		if ((high[i] = fcntl(s->fds[i], F_DUPFD_CLOEXEC, FD_ABOVE)) < 0)
			r = errno;

	if (r == 0 && (r = posix_spawn_file_actions_init(&files)) == 0) {
		if ((r = posix_spawnattr_init(&attr)) == 0) {
			r = add_files(&files, high, s->nfds);
			if (r == 0)
				r = set_attributes(&attr, s->new_session);
			if (r == 0)
				r = posix_spawn(ret_pid, "/proc/self/exe", &files, &attr,
						(char *const *)(uintptr_t)s->argv,
						s->env ? (char *const *)(uintptr_t)s->env : no_env);
			posix_spawnattr_destroy(&attr);
		}
		posix_spawn_file_actions_destroy(&files);
	}
	for (size_t i = 0; i < FDS_MAX; i++)
		fd_close(&high[i]);
	return r ? err_errno(err, E_IO, r, "%s: cannot start", s->argv[1]) : 0;
}
