/* Landlock at every ABI that the kernel can be asked to play: what each must refuse, what each must let through, and
 * the gaps of the old ones, which are as well known. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "jail/compat_kernel.h"
#include "jail/lock_internal.h"
#include "tests/jail/child.h"
#include "tests/tap.h"

static char dir[4096];
static struct sockaddr_un abstract = { .sun_family = AF_UNIX };
static pid_t outside;

/* ---- attempts; all in `dir`, each gives errno or 0 */

static int open_it(const char *path, int flags)
{
	_cleanup_fd_ int fd = open(path, flags | O_CLOEXEC, 0600);

	return fd < 0 ? errno : 0;
}

static int read_ro(void) { return open_it("ro/file", O_RDONLY); }
static int list_ro(void) { return open_it("ro", O_RDONLY | O_DIRECTORY); }
static int write_ro(void) { return open_it("ro/file", O_WRONLY); }
static int create_ro(void) { return open_it("ro/new", O_WRONLY | O_CREAT); }
static int unlink_ro(void) { return err_of(unlink("ro/file")); }
static int mkdir_ro(void) { return err_of(mkdir("ro/d", 0700)); }
static int symlink_ro(void) { return err_of(symlink("x", "ro/l")); }
static int truncate_ro(void) { return err_of(truncate("ro/file", 1)); }
static int read_out(void) { return open_it("out/file", O_RDONLY); }
static int list_out(void) { return open_it("out", O_RDONLY | O_DIRECTORY); }
static int read_dots(void) { return open_it("rw/../out/file", O_RDONLY); }
static int read_by_link(void) { return open_it("rw/link", O_RDONLY); }
static int truncate_out(void) { return err_of(truncate("out/file", 1)); }
static int write_rw(void) { return open_it("rw/file", O_RDWR | O_TRUNC); }
static int create_rw(void) { return open_it("rw/new", O_WRONLY | O_CREAT | O_EXCL); }
static int mkdir_rw(void) { return err_of(mkdir("rw/d2", 0700)); }
static int fifo_rw(void) { return err_of(mkfifo("rw/fifo", 0600)); }
static int whiteout_rw(void) { return err_of(mknod("rw/white", S_IFCHR | 0600, 0)); }
static int refer_rw(void) { return err_of(rename("rw/move", "rw/d/move")); }
static int refer_ro(void) { return err_of(link("ro/file", "rw/hard")); }
static int write_file(void) { return open_it("single", O_WRONLY | O_TRUNC); }
static int exec_rw(void) { return err_of(execl("rw/true", "true", NULL)); }

static int exec_granted(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(errno);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}

static int ioctl_on(const char *path)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char termios[64];

	return fd < 0 ? errno : err_of(ioctl(fd, TCGETS, termios));
}

static int ioctl_null(void) { return ioctl_on("/dev/null"); }
static int ioctl_zero(void) { return ioctl_on("/dev/zero"); }

static int tcp(int (*call)(int, const struct sockaddr *, socklen_t), uint16_t port)
{
	struct sockaddr_in at = { AF_INET, htons(port), { htonl(INADDR_LOOPBACK) }, { 0 } };
	_cleanup_fd_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? errno : err_of(call(fd, (struct sockaddr *)&at, sizeof(at)));
}

static int tcp_bind(void) { return tcp(bind, 0); }
static int tcp_connect(void) { return tcp(connect, 1); }

static int connect_abstract(void)
{
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? errno : err_of(connect(fd, (struct sockaddr *)&abstract, sizeof(sa_family_t) + 20));
}

static int signal_outside(void) { return err_of(kill(outside, 0)); }
static int signal_self(void) { return err_of(kill(getpid(), 0)); }

/* What each attempt meets: `open` without Landlock, `shut` from ABI `since` on (0: it is never refused). */
static const struct {
	const char *what;
	int (*try)(void);
	int open, shut, since;
} attempts[] = {
	{ "read a read-only file", read_ro, 0, 0, 0 },
	{ "list a read-only folder", list_ro, 0, 0, 0 },
	{ "write a read-only file", write_ro, 0, EACCES, 1 },
	{ "create in a read-only folder", create_ro, 0, EACCES, 1 },
	{ "mkdir in a read-only folder", mkdir_ro, 0, EACCES, 1 },
	{ "symlink in a read-only folder", symlink_ro, 0, EACCES, 1 },
	{ "truncate a read-only file by path", truncate_ro, 0, EACCES, 3 },
	{ "unlink in a read-only folder", unlink_ro, 0, EACCES, 1 },
	{ "read outside", read_out, 0, EACCES, 1 },
	{ "list outside", list_out, 0, EACCES, 1 },
	{ "read outside through ..", read_dots, 0, EACCES, 1 },
	{ "read outside through a symbolic link", read_by_link, 0, EACCES, 1 },
	{ "truncate outside by path", truncate_out, 0, EACCES, 3 },
	{ "write a writable file", write_rw, 0, 0, 0 },
	{ "create in a writable folder", create_rw, 0, 0, 0 },
	{ "mkdir in a writable folder", mkdir_rw, 0, 0, 0 },
	{ "mkfifo in a writable folder", fifo_rw, 0, 0, 0 },
	{ "forge a whiteout in a writable folder", whiteout_rw, 0, EACCES, 1 },
	{ "write the one granted file", write_file, 0, 0, 0 },
	{ "execute what is granted", exec_granted, 0, 0, 0 },
	{ "ioctl on a writable device", ioctl_null, ENOTTY, ENOTTY, 0 },
	{ "ioctl on a read-only device", ioctl_zero, ENOTTY, EACCES, 5 },
	{ "bind tcp", tcp_bind, 0, EACCES, 4 },
	{ "connect tcp", tcp_connect, ECONNREFUSED, EACCES, 4 },
	{ "connect to an abstract socket outside", connect_abstract, 0, EPERM, 6 },
	{ "signal a process outside", signal_outside, 0, EPERM, 6 },
	{ "signal itself", signal_self, 0, 0, 0 },
};

/* ---- */

static void fill_dir(void)
{
	if (system("rm -rf ro rw out single && mkdir -p ro rw/d out &&"
		   " echo x | tee ro/file rw/file rw/move out/file single >rw/tee &&"
		   " cp /bin/true rw/true && ln -s ../out/file rw/link && chmod -R a+rwX . && chmod a+x rw/true"))
		abort();
}

struct run {
	int abi; /* 0: without Landlock; -1: by lock_landlock */
	int (*try)(void);
	bool tcp, scope;
};

static int attempt(const void *arg)
{
	const struct run *run = arg;
	const struct lock_path paths[] = {
		{ .path = "ro" },
		{ .path = "rw", .write = true },
		{ .path = "single", .write = true },
		{ .path = "no/such/path", .write = true, .exec = true },
		{ .path = "/usr", .exec = true },
		{ .path = "/bin", .exec = true },
		{ .path = "/lib", .exec = true },
		{ .path = "/lib64", .exec = true },
		{ .path = "/dev/null", .write = true },
		{ .path = "/dev/zero" },
	};
	struct lock_landlock spec = { paths, ARRAY_LEN(paths), run->tcp, run->scope };
	struct err err = { 0 };
	int r = 0, abi = 99;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	if (run->abi > 0)
		r = lock_landlock_at(&spec, run->abi, &err);
	else if (run->abi < 0)
		r = lock_landlock(&spec, &abi, &err);
	if (r < 0) {
		diag("%s", err.text);
		return -1;
	}
	if (run->abi < 0 && abi != lock_landlock_abi())
		return -2;
	return run->try();
}

static int at_abi(int abi, int (*try)(void), bool tcp)
{
	return child_run(attempt, &(struct run){ abi, try, tcp, false });
}

static int without_nnp(const void *arg)
{
	int abi = 99;

	(void)arg;
	if (geteuid() == 0 && (setresgid(65533, 65533, 65533) < 0 || setresuid(65533, 65533, 65533) < 0))
		return -1;
	int r = lock_landlock(&(struct lock_landlock){ 0 }, &abi, NULL);
	return abi == 99 ? r : -99;
}

static void every_attempt(int abi)
{
	int wrong = 0;

	fill_dir();
	for (size_t i = 0; i < ARRAY_LEN(attempts); i++) {
		bool shut = attempts[i].since && (abi < 0 || abi >= attempts[i].since) && abi != 0;
		int want = shut ? attempts[i].shut : attempts[i].open;
		int got = child_run(attempt, &(struct run){ abi, attempts[i].try, false, true });

		if (abi < 0 && attempts[i].since > lock_landlock_abi())
			want = attempts[i].open;
		if (got == want)
			continue;
		wrong++;
		diag("%s: errno %d, want %d", attempts[i].what, got, want);
	}
	if (abi == 0)
		is_int(wrong, 0, "control: without Landlock nothing is refused (%zu attempts)", ARRAY_LEN(attempts));
	else if (abi < 0)
		is_int(wrong, 0, "lock_landlock, to what the kernel has (ABI %d)", lock_landlock_abi());
	else
		is_int(wrong, 0, "ABI %d refuses what it can, and no more (%zu attempts)", abi, ARRAY_LEN(attempts));
}

int main(void)
{
	int newest = lock_landlock_abi();
	_cleanup_fd_ int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (!newest) {
		skip("the kernel has no Landlock");
		return tap_end();
	}
	outside = getpid();
	snprintf(abstract.sun_path + 1, 20, "warder-test-%07d", (int)getpid());
	if (!fresh_folder(dir, "landlock") || chdir(dir) < 0 || listener < 0 ||
	    bind(listener, (struct sockaddr *)&abstract, sizeof(sa_family_t) + 20) < 0 || listen(listener, 100) < 0) {
		ok(false, "preparation: errno %d", errno);
		return tap_end();
	}

	for (int abi = 0; abi <= COMPAT_LANDLOCK_ABI_NEWEST; abi++) {
		if (abi <= newest)
			every_attempt(abi);
		else
			skip("ABI %d: the kernel has %d", abi, newest);
	}
	every_attempt(-1);

	fill_dir();
	int from_ro = at_abi(newest, refer_ro, false);
	ok(from_ro == EXDEV || from_ro == EACCES, "no hard link out of a read-only folder (errno %d)", from_ro);
	is_int(at_abi(newest, exec_rw, false), EACCES, "no exec where only write is granted");
	is_int(at_abi(1, refer_rw, false), EXDEV, "ABI 1 moves nothing between folders");
	if (newest >= 2)
		is_int(at_abi(newest, refer_rw, false), 0, "from ABI 2 what is writable moves");
	is_int(at_abi(newest, tcp_bind, true), 0, "tcp stays where it is wanted");
	is_int(at_abi(newest, connect_abstract, true), 0, "without scope, no scope");
	is_int(child_run(without_nnp, NULL), E_MACHINE, "without no_new_privs it is an error, and no ABI is given");

	char command[4200];
	snprintf(command, sizeof(command), "cd / && rm -rf %s", dir);
	is_int(system(command), 0, "nothing is left behind");
	return tap_end();
}
