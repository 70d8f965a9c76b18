/*
 * with_sockets: runs a command whose standard streams are sockets, as sshd and many programs that start others give
 * them, and carries the bytes between them and its own streams.  The status is the command's.
 *
 *	with_sockets CMD...
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int pair[3][2]; /* [stream][0] is ours */

static void write_all(int fd, const char *data, ssize_t len)
{
	for (ssize_t n; len > 0; data += n, len -= n)
		if ((n = write(fd, data, (size_t)len)) < 0)
			_exit(98);
}

static void feed(void)
{
	char data[4096];
	ssize_t n;

	while ((n = read(0, data, sizeof(data))) > 0)
		write_all(pair[0][0], data, n);
	_exit(0);
}

static void carry(void)
{
	struct pollfd fds[2] = { { pair[1][0], POLLIN, 0 }, { pair[2][0], POLLIN, 0 } };

	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return;
		for (int i = 0; i < 2; i++) {
			char data[65536];
			ssize_t n = fds[i].revents ? read(fds[i].fd, data, sizeof(data)) : -1;

			if (fds[i].revents && n <= 0)
				fds[i].fd = -1;
			write_all(i + 1, data, n);
		}
	}
}

int main(int argc, char **argv)
{
	int status;

	for (int i = 0; i < 3; i++)
		if (argc < 2 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair[i]) < 0)
			return 99;
	pid_t pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 3; i++)
			dup2(pair[i][1], i);
		execvp(argv[1], argv + 1);
		_exit(97);
	}
	for (int i = 0; i < 3; i++)
		close(pair[i][1]);
	pid_t feeder = fork();
	if (feeder == 0)
		feed();
	close(pair[0][0]);
	carry();
	if (pid < 0 || feeder < 0 || waitpid(feeder, NULL, 0) < 0 || waitpid(pid, &status, 0) < 0)
		return 99;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
