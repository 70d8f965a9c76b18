#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/frame.h"
#include "tests/tap.h"

struct pair {
	int fd[2];
	struct frame_reader reader; /* of fd[1] */
};

static void pair_open(struct pair *p, uint32_t max)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->fd) < 0) {
		perror("socketpair");
		exit(99);
	}
	frame_reader_init(&p->reader, p->fd[1], max);
}

static void pair_close(struct pair *p)
{
	fd_close(&p->fd[0]);
	fd_close(&p->fd[1]);
	frame_reader_free(&p->reader);
}
#define _cleanup_pair_ _cleanup_(pair_close)

static bool is_frame(const struct frame *f, uint32_t type, const char *data, size_t len)
{
	return f->type == type && f->len == len && memcmp(f->data, data, len) == 0 && f->data[len] == '\0';
}

static void nonblock(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static void test_exchange(void)
{
	_cleanup_pair_ struct pair p;
	struct frame f;
	struct err err;

	pair_open(&p, 100);
	is_int(frame_send(p.fd[0], 7, "hello", 5, &err), 0, "send");
	is_int(frame_send(p.fd[0], 8, "", 0, &err), 0, "send an empty one");
	is_int(frame_send(p.fd[0], 0xfffffffe, "a\0b", 3, &err), 0, "send one with a NUL");
	is_int(frame_wait(&p.reader, 1000, &f, &err), 0, "wait");
	ok(is_frame(&f, 7, "hello", 5), "first frame, with its courtesy NUL");
	is_int(frame_next(&p.reader, &f, &err), 1, "the second is buffered already");
	ok(is_frame(&f, 8, "", 0), "second frame");
	is_int(frame_next(&p.reader, &f, &err), 1, "the third too");
	ok(is_frame(&f, 0xfffffffe, "a\0b", 3), "the courtesy NUL of the one before did not hurt the header");
	is_int(frame_next(&p.reader, &f, &err), 0, "no fourth");
	fd_close(&p.fd[0]);
	is_int(frame_wait(&p.reader, 1000, &f, &err), E_CLOSED, "end of file");
}

/* Three frames written in two pieces, cut at every byte. */
static void test_cut_everywhere(void)
{
	static const char wire[] = "\x03\0\0\0\x01\0\0\0abc"
				   "\0\0\0\0\x02\0\0\0"
				   "\x01\0\0\0\x03\0\0\0z";
	size_t len = sizeof(wire) - 1;
	bool whole = true, broken = true;

	for (size_t cut = 0; cut <= len; cut++) {
		_cleanup_pair_ struct pair p;
		struct frame f[3];
		struct err err;
		size_t n = 0;

		pair_open(&p, 3);
		for (int piece = 0; piece < 2; piece++) {
			size_t from = piece ? cut : 0, to = piece ? len : cut;

			if (from == to)
				continue;
			whole &= write(p.fd[0], wire + from, to - from) == (ssize_t)(to - from);
			whole &= frame_fill(&p.reader, &err) == 0;
			while (n < 3 && frame_next(&p.reader, &f[n], &err) == 1) {
				whole &= f[n].type == n + 1 && f[n].len == (size_t[]){ 3, 0, 1 }[n];
				whole &= n != 0 || is_frame(&f[n], 1, "abc", 3);
				whole &= n != 2 || is_frame(&f[n], 3, "z", 1);
				n++;
			}
		}
		whole &= n == 3;

		/* and the same when the peer goes away there */
		_cleanup_pair_ struct pair q;
		struct frame g;
		int r = 0;

		pair_open(&q, 3);
		broken &= write(q.fd[0], wire, cut) == (ssize_t)cut;
		fd_close(&q.fd[0]);
		while (r == 0)
			r = frame_wait(&q.reader, 1000, &g, &err);
		bool middle = cut != 0 && cut != 11 && cut != 19 && cut != len;
		broken &= r == E_CLOSED && (strstr(err.text, "middle") != NULL) == middle;
	}
	ok(whole, "cut at every byte: all frames arrive");
	ok(broken, "closed at every byte: E_CLOSED, and said when it was in the middle");
}

static void test_oversize(void)
{
	static const char *const headers[] = { "\x65\0\0\0\0\0\0\0", "\xff\xff\xff\xff\0\0\0\0", "\0\0\0\x80\0\0\0\0" };
	struct frame f;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
		_cleanup_pair_ struct pair p;

		pair_open(&p, 100);
		ok(write(p.fd[0], headers[i], 8) == 8, "header over the limit, %zu", i);
		is_int(frame_wait(&p.reader, 1000, &f, &err), E_PROTOCOL,
		       "refused at the header, nothing allocated for it");
		is_int(frame_next(&p.reader, &f, &err), E_PROTOCOL, "and stays refused");
		ok(p.reader.in.cap < 200000, "the buffer stayed small");
	}

	_cleanup_pair_ struct pair p;
	char data[101] = { 0 };
	pair_open(&p, 100);
	is_int(frame_send(p.fd[0], 1, data, 100, &err), 0, "just the limit");
	is_int(frame_wait(&p.reader, 1000, &f, &err), 0, "passes");
	is_int(frame_send(p.fd[0], 1, data, 101, &err), 0, "one byte more");
	is_int(frame_wait(&p.reader, 1000, &f, &err), E_PROTOCOL, "does not");
	is_int(frame_send(p.fd[0], 1, data, (size_t)FRAME_MAX + 1, &err), E_LIMIT, "more than FRAME_MAX is not sent");
}

/* A peer that pours without being drained: the buffer stays bounded. */
static void test_flood(void)
{
	_cleanup_pair_ struct pair p;
	struct frame f;
	struct err err;
	char junk[4096] = { 0 }; /* 512 empty frames */
	bool fine = true;
	size_t frames = 0;

	pair_open(&p, 10);
	nonblock(p.fd[0]);
	nonblock(p.fd[1]);
	for (int i = 0; i < 2000; i++) {
		(void)!write(p.fd[0], junk, sizeof(junk));
		fine &= frame_fill(&p.reader, &err) == 0;
	}
	ok(fine, "filled on and on");
	ok(p.reader.in.cap <= 10 + 8 + (64 << 10) + 1, "the buffer is bounded");
	while (frame_next(&p.reader, &f, &err) == 1)
		frames++;
	ok(frames > 0 && frames <= 8193, "what was buffered comes out (%zu frames)", frames);
	is_int(frame_fill(&p.reader, &err), 0, "and it goes on");
	is_int(frame_next(&p.reader, &f, &err), 1, "with more");
}

static void test_large(void)
{
	_cleanup_pair_ struct pair p;
	size_t len = 3u << 20;
	_cleanup_free_ char *data = malloc(len);
	struct frame f;
	struct err err;

	pair_open(&p, FRAME_MAX);
	for (size_t i = 0; i < len; i++)
		data[i] = (char)(i * 31 >> 3);
	pid_t pid = fork();
	if (pid == 0) {
		nonblock(p.fd[0]);
		bool sent = frame_send(p.fd[0], 5, data, len, NULL) == 0 && frame_send(p.fd[0], 6, "x", 1, NULL) == 0;

		_exit(sent ? 0 : 1);
	}
	is_int(frame_wait(&p.reader, 20000, &f, &err), 0, "3 MB arrive");
	ok(is_frame(&f, 5, data, len), "unchanged");
	is_int(frame_wait(&p.reader, 20000, &f, &err), 0, "and the one behind");
	ok(is_frame(&f, 6, "x", 1), "unchanged too");

	int status;
	waitpid(pid, &status, 0);
	is_int(status, 0, "the sender on a non-blocking socket was content");
	fd_close(&p.fd[0]);
	is_int(frame_fill(&p.reader, &err), E_CLOSED, "then nothing more comes");
	ok(p.reader.in.cap <= 1u << 20, "a large buffer is given back");
}

static void test_time(void)
{
	_cleanup_pair_ struct pair p;
	struct frame f;
	struct err err;

	pair_open(&p, 100);
	int64_t start = clock_mono_ms();
	is_int(frame_wait(&p.reader, 50, &f, &err), E_IO, "a silent peer: the wait ends");
	ok(strstr(err.text, strerror(ETIMEDOUT)) != NULL, "and says so: %s", err.text);
	ok(clock_mono_ms() - start >= 50, "not before its time");

	/* one byte of a header now and then does not prolong the wait */
	pid_t pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 6; i++) {
			struct timespec pause = { .tv_nsec = 40000000 };

			nanosleep(&pause, NULL);
			(void)!write(p.fd[0], "\0", 1);
		}
		_exit(0);
	}
	is_int(frame_wait(&p.reader, 120, &f, &err), E_IO, "nor does a peer that drips");
	waitpid(pid, NULL, 0);

	nonblock(p.fd[1]);
	(void)!frame_fill(&p.reader, &err);
	is_int(frame_fill(&p.reader, &err), 0, "nothing there on a non-blocking socket is no error");
}

static void test_gone(void)
{
	_cleanup_pair_ struct pair p;
	struct err err;

	pair_open(&p, 100);
	fd_close(&p.fd[1]);
	signal(SIGPIPE, SIG_DFL);
	is_int(frame_send(p.fd[0], 1, "x", 1, &err), E_CLOSED, "a peer that is gone: E_CLOSED, no SIGPIPE");

	_cleanup_pair_ struct pair q;
	pair_open(&q, 100);
	(void)!write(q.fd[1], "unread", 6);
	fd_close(&q.fd[0]);
	is_int(frame_fill(&q.reader, &err), E_CLOSED, "a peer that died with unread bytes (ECONNRESET): E_CLOSED");
}

/* Two peers that both speak before they listen: with a queue on each side neither waits for the other. */
static void test_queue(void)
{
	_cleanup_pair_ struct pair p;
	_cleanup_free_ char *data = calloc(1, FRAME_MAX);
	struct frame_writer w;
	struct frame f;
	struct err err;
	int got = 0;

	pair_open(&p, FRAME_MAX);
	frame_writer_init(&w, p.fd[0], 3 * (1u << 20) + 64);
	is_int(frame_queue(&w, 7, "small", 5, &err), 0, "a small frame goes at once");
	ok(!frame_waiting(&w), "and does not wait");
	for (uint32_t i = 0; i < 3; i++)
		is_int(frame_queue(&w, i, data, 1u << 20, &err), 0, "a large one is queued, read or not");
	ok(frame_waiting(&w), "it waits");
	int64_t start = clock_mono_ms();
	is_int(frame_drain(&w, 50, &err), E_CLOSED, "nobody reads: the wait ends");
	ok(clock_mono_ms() - start >= 50, "not before its time");
	nonblock(p.fd[1]);
	while (got < 4 && frame_flush(&w, &err) == 0 && frame_fill(&p.reader, &err) == 0)
		while (frame_next(&p.reader, &f, &err) == 1)
			got += got == 0 ? is_frame(&f, 7, "small", 5)
					: f.type == (uint32_t)got - 1 && f.len == 1u << 20;
	is_int(got, 4, "all come whole and in order");
	ok(!frame_waiting(&w), "nothing waits any more");

	while (frame_queue(&w, 1, data, 1u << 20, &err) == 0)
		continue;
	ok(strstr(err.text, "has not read") != NULL, "more than may wait is refused: %s", err.text);
	frame_writer_free(&w);

	_cleanup_pair_ struct pair q;
	pair_open(&q, 100);
	frame_writer_init(&w, q.fd[0], 100);
	fd_close(&q.fd[1]);
	is_int(frame_queue(&w, 1, "x", 1, &err), E_CLOSED, "a peer that is gone: E_CLOSED");
	frame_writer_free(&w);
}

static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Receives with its descriptors and takes the frames out. */
static int receive(struct pair *p, int *fds, size_t max, size_t *ret_n)
{
	struct frame f;
	int r = frame_fill_fds(&p->reader, fds, max, ret_n, NULL);

	while (frame_next(&p->reader, &f, NULL) == 1)
		continue;
	return r;
}

static void test_descriptors(void)
{
	_cleanup_pair_ struct pair p;
	int pass[FRAME_FDS_MAX + 1], got[FRAME_FDS_MAX] = { -1, -1, -1 };
	size_t n = 99;
	struct frame f;
	struct err err;

	pair_open(&p, 100);
	for (size_t i = 0; i < ARRAY_LEN(pass); i++)
		pass[i] = open(i % 2 ? "/dev/zero" : "/dev/null", O_RDONLY | O_CLOEXEC);
	int before = count_fds();

	is_int(frame_send_fds(p.fd[0], 1, "two", 3, pass, 2, &err), 0, "send two descriptors");
	is_int(frame_fill_fds(&p.reader, got, 8, &n, &err), 0, "receive");
	is_int(n, 2, "two came");
	ok(same_file(got[0], pass[0]) && same_file(got[1], pass[1]), "the right ones");
	ok(fcntl(got[0], F_GETFD) == FD_CLOEXEC && fcntl(got[1], F_GETFD) == FD_CLOEXEC, "close-on-exec");
	ok(frame_next(&p.reader, &f, &err) == 1 && is_frame(&f, 1, "two", 3), "with their frame");
	close(got[0]);
	close(got[1]);

	is_int(frame_send_fds(p.fd[0], 1, "all", 3, pass, FRAME_FDS_MAX, &err), 0, "send as many as may be");
	is_int(receive(&p, got, 1, &n), 0, "receive with room for one");
	is_int(n, 1, "one came");
	close(got[0]);
	is_int(count_fds(), before, "the others were closed");

	is_int(frame_send_fds(p.fd[0], 1, "x", 1, pass, FRAME_FDS_MAX + 1, &err), E_LIMIT, "one more is not sent");
	is_int(frame_send_fds(p.fd[0], 1, "x", 1, pass, 3, &err), 0, "send three to one who does not expect any");
	is_int(frame_wait(&p.reader, 1000, &f, &err), 0, "received by frame_wait");
	is_int(count_fds(), before, "and none stays open");

	/* a peer that is not ours: more than our control buffer holds */
	char control[CMSG_SPACE(20 * sizeof(int))] __attribute__((aligned(8))) = { 0 };
	struct iovec iov = { (char[]){ 0 }, 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(20 * sizeof(int));
	for (size_t i = 0; i < 20; i++)
		memcpy(CMSG_DATA(c) + i * sizeof(int), &pass[0], sizeof(int));
	ok(sendmsg(p.fd[0], &m, 0) == 1, "twenty descriptors by hand");
	is_int(frame_fill_fds(&p.reader, got, 2, &n, &err), 0, "received");
	is_int(n, 2, "two came");
	close(got[0]);
	close(got[1]);
	is_int(count_fds(), before, "and none else stays open");

	nonblock(p.fd[1]);
	is_int(frame_fill_fds(&p.reader, got, 2, &n, &err), 0, "nothing there");
	is_int(n, 0, "no descriptor");
	for (size_t i = 0; i < ARRAY_LEN(pass); i++)
		close(pass[i]);
}

int main(void)
{
	alarm(120); /* a wait that does not end, ends the test */
	test_exchange();
	test_cut_everywhere();
	test_oversize();
	test_flood();
	test_large();
	test_time();
	test_gone();
	test_queue();
	test_descriptors();
	return tap_end();
}
