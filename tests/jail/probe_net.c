/* Ways out by sockets. */
#include "tests/jail/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* `arg` is ADDRESS:PORT. */
static int connected(int type, const char *arg)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	char host[64];
	int port, error = 0;

	if (sscanf(arg, "%63[^:]:%d", host, &port) != 2 || inet_pton(AF_INET, host, &to.sin_addr) != 1)
		return EINVAL;
	to.sin_port = htons((uint16_t)port);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return errno;
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		error = errno;
	if (error == EINPROGRESS) {
		struct pollfd p = { .fd = fd, .events = POLLOUT };
		socklen_t len = sizeof(error);

		error = ETIMEDOUT;
		if (poll(&p, 1, 3000) == 1)
			getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	}
	if (!error && type == SOCK_DGRAM && send(fd, "x", 1, 0) < 0)
		error = errno;
	close(fd);
	return error;
}

static int probe_tcp(const char *arg)
{
	return connected(SOCK_STREAM, arg);
}

static int probe_udp(const char *arg)
{
	return connected(SOCK_DGRAM, arg);
}

/* `path` begins with '@' for an abstract name. */
static socklen_t unix_name(struct sockaddr_un *to, const char *path)
{
	*to = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(to->sun_path, sizeof(to->sun_path), "%s", path);
	if (path[0] != '@')
		return sizeof(*to);
	to->sun_path[0] = '\0';
	return (socklen_t)(sizeof(to->sun_family) + strlen(path));
}

static int probe_unix_stream(const char *path)
{
	struct sockaddr_un to;
	socklen_t len = unix_name(&to, path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = connect(fd, (struct sockaddr *)&to, len) < 0 ? errno : 0;

	close(fd);
	return r;
}

static int probe_unix_dgram(const char *path)
{
	struct sockaddr_un to;
	socklen_t len = unix_name(&to, path);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int r = sendto(fd, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&to, len) < 0 ? errno : 0;

	close(fd);
	return r;
}

const struct probe probe_nets[] = {
	{ "tcp", probe_tcp, true },
	{ "udp", probe_udp, true },
	{ "unix-stream", probe_unix_stream, true },
	{ "unix-dgram", probe_unix_dgram, true },
	{ 0 },
};
