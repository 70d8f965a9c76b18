/* Ways out by sockets. */
#include "tests/jail/probe.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
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

/* Standard input as a socket that somebody left there: disconnected, then connected to ADDRESS:PORT. */
static int probe_reconnect(const char *arg)
{
	struct sockaddr_in to = { .sin_family = AF_UNSPEC };
	char host[64];
	int port;

	if (connect(0, (struct sockaddr *)&to, sizeof(to)) < 0)
		return errno;
	to.sin_family = AF_INET;
	if (sscanf(arg, "%63[^:]:%d", host, &port) != 2 || inet_pton(AF_INET, host, &to.sin_addr) != 1)
		return EINVAL;
	to.sin_port = htons((uint16_t)port);
	return connect(0, (struct sockaddr *)&to, sizeof(to)) < 0 ? errno : 0;
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

/* The other side of the controls: a datagram socket at `path`, a stream socket at `path`.s and a TCP port of the
 * loopback, whose number goes to `path`.port.  Ends with its parent. */
static int probe_serve(const char *path)
{
	struct sockaddr_in tcp = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int dgram = socket(AF_UNIX, SOCK_DGRAM, 0), stream = socket(AF_UNIX, SOCK_STREAM, 0),
	    port = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t tcp_len = sizeof(tcp);
	struct sockaddr_un at;
	char name[108];

	snprintf(name, sizeof(name), "%.90s.s", path);
	if (bind(dgram, (struct sockaddr *)&at, unix_name(&at, path)) < 0 ||
	    bind(stream, (struct sockaddr *)&at, unix_name(&at, name)) < 0 || listen(stream, 4) < 0 ||
	    bind(port, (struct sockaddr *)&tcp, sizeof(tcp)) < 0 || listen(port, 4) < 0 ||
	    getsockname(port, (struct sockaddr *)&tcp, &tcp_len) < 0)
		return errno;
	snprintf(name, sizeof(name), "%.90s.port", path);
	FILE *f = fopen(name, "w");
	if (!f)
		return errno;
	fprintf(f, "%d\n", ntohs(tcp.sin_port));
	fclose(f);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

const struct probe probe_nets[] = {
	{ "tcp", probe_tcp, true },
	{ "udp", probe_udp, true },
	{ "reconnect", probe_reconnect, true },
	{ "unix-stream", probe_unix_stream, true },
	{ "unix-dgram", probe_unix_dgram, true },
	{ "serve", probe_serve, true },
	{ 0 },
};
