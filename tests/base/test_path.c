#include <errno.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "core/base/path.h"
#include "tests/base/scratch.h"
#include "tests/tap.h"

static void test_beneath(void)
{
	struct scratch s;

	scratch_make(&s);
	scratch_dir(&s, "in");
	scratch_dir(&s, "in/sub");
	scratch_file(&s, "in/sub/file", "inside");
	scratch_file(&s, "outside", "canary");
	scratch_symlink(&s, "../outside", "in/link");
	scratch_symlink(&s, "sub", "in/dirlink");
	scratch_symlink(&s, "/etc", "in/abs");
	_cleanup_fd_ int in = openat(s.fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	_cleanup_fd_ int fd = path_open_beneath(in, "sub/file", O_RDONLY, 0);
	ok(fd >= 0, "a file below opens");
	ok(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC, "close-on-exec");
	_cleanup_fd_ int made = path_open_beneath(in, "sub/new", O_WRONLY | O_CREAT | O_EXCL, 0600);
	ok(made >= 0, "and can be made");

	static const struct {
		const char *path;
		int errnum;
	} refused[] = {
		{ "../outside", EXDEV },  { "sub/../../outside", EXDEV }, { "/etc/passwd", EXDEV }, { "link", ELOOP },
		{ "dirlink/file", ELOOP }, { "abs/passwd", ELOOP },	   { "missing", ENOENT },    { "", ENOENT },
	};
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		int r = path_open_beneath(in, refused[i].path, O_RDONLY, 0);

		ok(r < 0 && errno == refused[i].errnum, "refused: '%s' (%s)", refused[i].path, strerror(errno));
		fd_close(&r);
	}
	_cleanup_fd_ int control = openat(in, "link", O_RDONLY | O_CLOEXEC);
	ok(control >= 0, "control: plain openat follows the link");
	int proc = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc >= 0) {
		char name[16];

		snprintf(name, sizeof(name), "%d", in);
		ok(path_open_beneath(proc, name, O_RDONLY, 0) < 0, "refused: a magic link of /proc");
		close(proc);
	} else {
		skip("no /proc");
	}
	scratch_end(&s);
}

static void test_private(void)
{
	struct scratch s;
	struct err err;
	struct stat st;
	char path[256];
	int fd = -1;

	scratch_make(&s);
	snprintf(path, sizeof(path), "%s//a/./b/c/", s.path);
	mode_t old = umask(0777);
	is_int(path_make_private(path, &err), 0, "made under umask 0777");
	umask(0);
	is_int(path_make_private(path, &err), 0, "again: nothing to do");
	snprintf(path, sizeof(path), "%s/a/b/c/d", s.path);
	is_int(path_make_private(path, &err), 0, "made under umask 0");
	umask(old);
	ok(fstatat(s.fd, "a", &st, 0) == 0 && (st.st_mode & 0777) == 0700, "the first is 0700");
	ok(fstatat(s.fd, "a/b/c/d", &st, 0) == 0 && (st.st_mode & 0777) == 0700, "the last is 0700");

	is_int(path_open_private(path, &fd, &err), 0, "opens");
	ok(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC, "close-on-exec");
	fd_close(&fd);
	for (mode_t bit = 1; bit <= 040; bit <<= 1) {
		scratch_mode(&s, "a/b/c/d", 0700 | bit);
		ok(path_open_private(path, &fd, &err) == E_DENIED && fd == -1, "mode %04o is refused",
		   0700 | (unsigned)bit);
	}
	ok(strstr(err.text, "chmod 700") != NULL, "and the remedy named");

	scratch_file(&s, "file", "");
	snprintf(path, sizeof(path), "%s/file", s.path);
	is_int(path_open_private(path, &fd, &err), E_INVALID, "a file is refused");
	snprintf(path, sizeof(path), "%s/file/below", s.path);
	is_int(path_make_private(path, &err), E_INVALID, "a folder below a file too");
	snprintf(path, sizeof(path), "%s/none", s.path);
	is_int(path_open_private(path, &fd, &err), E_NOTFOUND, "a missing one too");
	is_int(path_make_private("relative/path", &err), E_INVALID, "a relative path too");

	if (geteuid() == 0) {
		mkdirat(s.fd, "theirs", 0700);
		(void)!fchownat(s.fd, "theirs", 65534, 65534, 0);
		snprintf(path, sizeof(path), "%s/theirs", s.path);
		is_int(path_open_private(path, &fd, &err), E_DENIED, "somebody else's folder is refused");
	} else {
		is_int(path_open_private("/root", &fd, &err), E_DENIED, "somebody else's folder is refused");
	}
	scratch_end(&s);
}

static void test_read(void)
{
	struct scratch s;
	struct err err;
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 20);

	scratch_make(&s);
	scratch_file(&s, "ten", "0123456789");
	scratch_file(&s, "empty", "");
	scratch_symlink(&s, "ten", "link");
	scratch_dir(&s, "dir");
	mkfifoat(s.fd, "fifo", 0600);

	is_int(path_read_file(s.fd, "ten", 10, &out, &err), 0, "a file of just the limit");
	is_str(buf_str(&out), "0123456789", "is read whole");
	is_int(path_read_file(s.fd, "empty", 10, &out, &err), 0, "an empty one adds nothing");
	is_int(path_read_file(s.fd, "ten", 9, &out, &err), E_LIMIT, "one byte more than the limit is refused");
	is_str(buf_str(&out), "0123456789", "and the buffer is as it was");
	is_int(path_read_file(s.fd, "link", 100, &out, &err), E_INVALID, "a symbolic link is refused below a folder");
	is_int(path_read_file(s.fd, "dir", 100, &out, &err), E_INVALID, "a folder is refused");
	is_int(path_read_file(s.fd, "missing", 100, &out, &err), E_NOTFOUND, "a missing one is E_NOTFOUND");
	alarm(10); /* a hang would end the test here */
	is_int(path_read_file(s.fd, "fifo", 100, &out, &err), E_INVALID, "a FIFO without a writer is refused at once");
	is_int(path_read_file(AT_FDCWD, "/dev/zero", 100, &out, &err), E_INVALID, "a device too");
	alarm(0);

	char path[128];
	snprintf(path, sizeof(path), "%s/link", s.path);
	buf_reset(&out);
	is_int(path_read_file(AT_FDCWD, path, 100, &out, &err), 0, "the operator's own path may be a link");
	is_str(buf_str(&out), "0123456789", "and is read");

	/* A file whose size says 0 and that has content all the same. */
	buf_reset(&out);
	is_int(path_read_file(AT_FDCWD, "/proc/self/status", 1 << 16, &out, &err), 0, "a file of /proc");
	ok(out.len > 0, "has content");
	is_int(path_read_file(AT_FDCWD, "/proc/self/status", 10, &out, &err), E_LIMIT, "and the limit holds");

	_cleanup_buf_ struct buf small = BUF_INIT(5);
	is_int(path_read_file(s.fd, "ten", 100, &small, &err), E_LIMIT, "the buffer's own maximum holds too");

	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/sock", s.path);
	_cleanup_fd_ int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(sock, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		ok(path_read_file(s.fd, "sock", 100, &out, &err) < 0, "a socket is refused (%s)", err.text);
	scratch_end(&s);
}

static void test_write(void)
{
	struct scratch s;
	struct err err;
	struct stat st;
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 20);

	scratch_make(&s);
	scratch_file(&s, "canary", "untouched");
	scratch_symlink(&s, "canary", "link");
	mode_t old = umask(0);
	is_int(path_write_file(s.fd, "new", "text", 4, &err), 0, "a new file");
	umask(0777);
	is_int(path_write_file(s.fd, "new", "other", 5, &err), 0, "replaced, under umask 0777");
	umask(old);
	ok(fstatat(s.fd, "new", &st, 0) == 0 && (st.st_mode & 07777) == 0600, "mode 0600 whatever the umask");
	is_int(path_read_file(s.fd, "new", 100, &out, &err), 0, "reads back");
	is_str(buf_str(&out), "other", "the new text");

	is_int(path_write_file(s.fd, "link", "x", 1, &err), 0, "over a symbolic link");
	buf_reset(&out);
	is_int(path_read_file(s.fd, "canary", 100, &out, &err), 0, "the link is replaced");
	is_str(buf_str(&out), "untouched", "its target is not written");

	static const char *const names[] = { "", ".", "..", "a/b", "../x", "/tmp/x" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		is_int(path_write_file(s.fd, names[i], "x", 1, &err), E_INVALID, "not a file name: '%s'", names[i]);

	scratch_dir(&s, "dir");
	is_int(path_write_file(s.fd, "dir", "x", 1, &err), E_IO, "a folder stands there: refused");
	scratch_end(&s);

	/* Nothing but the old content is left after a failure. */
	scratch_make(&s);
	scratch_file(&s, "keep", "old");
	pid_t pid = fork();
	if (pid == 0) {
		struct rlimit limit = { 10, 10 };

		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &limit);
		_exit(path_write_file(s.fd, "keep", "0123456789abcdef", 16, NULL) < 0 ? 0 : 1);
	}
	int status;
	waitpid(pid, &status, 0);
	is_int(status, 0, "a write that fails half way is an error");
	buf_reset(&out);
	is_int(path_read_file(s.fd, "keep", 100, &out, &err), 0, "the old file is there");
	is_str(buf_str(&out), "old", "unchanged");
	is_int(unlinkat(s.fd, "keep", 0), 0, "removed");
	is_int(rmdir(s.path), 0, "and no temporary file is left");
	close(s.fd);
}

static void test_write_all(void)
{
	static char data[1 << 20];
	size_t len = sizeof(data);
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		exit(99);
	pid_t pid = fork();
	if (pid == 0) {
		close(fds[0]);
		_exit(path_write_all(fds[1], data, len) == 0 ? 0 : 1);
	}
	close(fds[1]);
	fcntl(fds[0], F_SETFL, 0);
	_cleanup_buf_ struct buf out = BUF_INIT(len);
	is_int(path_read_fd(fds[0], len, &out, NULL), 0, "read to the end of a pipe");
	is_int(out.len, len, "all of it came through a full non-blocking pipe");
	int status;
	waitpid(pid, &status, 0);
	is_int(status, 0, "and the writer was content");
	close(fds[0]);
	is_int(path_write_all(-1, "x", 1), -1, "a bad descriptor is -1");
}

/* Where the kernel cannot open beneath a folder, nothing is opened. */
static void test_without_openat2(void)
{
	struct scratch s;
	struct err err;
	_cleanup_buf_ struct buf out = BUF_INIT(100);

	scratch_make(&s);
	scratch_file(&s, "file", "text");
	is_int(path_read_file(s.fd, "file", 100, &out, &err), E_MACHINE, "without openat2 reading fails closed");
	is_int(out.len, 0, "and reads nothing");
	scratch_end(&s);
	skip("openat2 is missing here");
}

int main(void)
{
	if (scratch_has_openat2()) {
		test_beneath();
		test_read();
		test_write();
	} else {
		test_without_openat2();
	}
	test_private();
	test_write_all();
	return tap_end();
}
