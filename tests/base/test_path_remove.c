/* Trees that hostile code built. */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "core/base/path.h"
#include "tests/base/scratch.h"
#include "tests/tap.h"

static bool exists(const struct scratch *s, const char *name)
{
	struct stat st;

	return fstatat(s->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void test_plain(void)
{
	struct scratch s;
	struct err err;

	scratch_make(&s);
	scratch_dir(&s, "canary");
	scratch_file(&s, "canary/file", "untouched");
	scratch_dir(&s, "t");
	scratch_dir(&s, "t/a");
	scratch_dir(&s, "t/a/b");
	scratch_dir(&s, "t/a/b/c");
	scratch_dir(&s, "t/empty");
	scratch_file(&s, "t/f", "x");
	scratch_file(&s, "t/a/f", "x");
	scratch_file(&s, "t/a/b/f", "x");
	scratch_symlink(&s, "../canary", "t/out");
	scratch_symlink(&s, "../../../canary", "t/a/b/out");
	scratch_symlink(&s, "/", "t/a/root");
	mkfifoat(s.fd, "t/fifo", 0600);
	ok(linkat(s.fd, "canary/file", s.fd, "t/hardlink", 0) == 0, "a hard link to the canary");
	is_int(path_remove_tree(s.fd, "t", &err), 0, "a tree with links of every kind");
	ok(!exists(&s, "t"), "is gone");
	ok(exists(&s, "canary/file"), "and what the links point to is not");

	is_int(path_remove_tree(s.fd, "t", &err), 0, "a missing name is no error");
	is_int(path_remove_tree(s.fd, "none/t", &err), 0, "nor is a missing folder");
	scratch_symlink(&s, "canary", "link");
	is_int(path_remove_tree(s.fd, "link", &err), 0, "a symbolic link as the name");
	ok(!exists(&s, "link") && exists(&s, "canary/file"), "the link goes, not its target");
	scratch_symlink(&s, "canary", "link");
	ok(path_remove_tree(s.fd, "link/file", &err) < 0, "a path through a symbolic link is refused");
	ok(exists(&s, "canary/file"), "and nothing removed");
	ok(path_remove_tree(s.fd, "../etc", &err) < 0, "a path that leaves is refused");
	scratch_file(&s, "single", "x");
	is_int(path_remove_tree(s.fd, "single", &err), 0, "a single file");
	ok(!exists(&s, "single"), "is gone");
	scratch_dir(&s, "p");
	scratch_dir(&s, "p/q");
	scratch_file(&s, "p/q/f", "x");
	is_int(path_remove_tree(s.fd, "p/q", &err), 0, "a name in a folder below");
	ok(exists(&s, "p") && !exists(&s, "p/q"), "only that");

	static const char *const names[] = { "", ".", "..", "p/..", "p/", "/", "/p" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		is_int(path_remove_tree(s.fd, names[i], &err), E_INVALID, "not a name: '%s'", names[i]);
	scratch_end(&s);
}

/* A chain of folders far beyond PATH_MAX, removed with hardly a descriptor to spare. */
static void test_deep(void)
{
	enum { DEPTH = 5000 };
	struct scratch s;
	struct err err = { 0 };
	int made = 0;

	scratch_make(&s);
	scratch_dir(&s, "deep");
	int at = openat(s.fd, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (; made < DEPTH && mkdirat(at, "level", 0755) == 0; made++) {
		int file = openat(at, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		int next = openat(at, "level", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		fd_close(&file);
		close(at);
		at = next;
	}
	fd_close(&at);
	is_int(made, DEPTH, "%d levels made", DEPTH);

	struct rlimit old, few;
	getrlimit(RLIMIT_NOFILE, &old);
	few = old;
	few.rlim_cur = 12;
	setrlimit(RLIMIT_NOFILE, &few);
	is_int(path_remove_tree(s.fd, "deep", &err), 0, "removed with 12 descriptors allowed (%s)", err.text);
	setrlimit(RLIMIT_NOFILE, &old);
	ok(!exists(&s, "deep"), "and gone");
	scratch_end(&s);
}

/* The names that flattening itself uses, taken already: by files, empty folders and full ones. */
static void test_taken_names(void)
{
	struct scratch s;
	struct err err;
	char name[128];

	scratch_make(&s);
	scratch_dir(&s, "t");
	for (int i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "t/.warder-gone-%d", i);
		if (i % 3 == 0) {
			scratch_file(&s, name, "x");
			continue;
		}
		scratch_dir(&s, name);
		snprintf(name, sizeof(name), "t/.warder-gone-%d/sub", i);
		if (i % 3 == 1)
			continue;
		scratch_dir(&s, name);
		snprintf(name, sizeof(name), "t/.warder-gone-%d/sub/sub", i);
		scratch_dir(&s, name);
	}
	is_int(path_remove_tree(s.fd, "t", &err), 0, "names in the way do not stop it");
	ok(!exists(&s, "t"), "gone");
	scratch_end(&s);
}

static void test_wide(void)
{
	struct scratch s;
	struct err err;
	char name[300];

	scratch_make(&s);
	scratch_dir(&s, "t");
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "t/%d", i);
		if (i % 3)
			scratch_file(&s, name, "");
		else
			scratch_dir(&s, name);
		if (i % 6 == 0) {
			snprintf(name, sizeof(name), "t/%d/\x1b[2K\n%0200d", i, i);
			scratch_dir(&s, name);
		}
	}
	is_int(path_remove_tree(s.fd, "t", &err), 0, "3000 entries, names with control bytes");
	ok(!exists(&s, "t"), "gone");
	scratch_end(&s);
}

/* As an ordinary user, for whom permission bits count. */
static int remove_locked(struct scratch *s, struct err *err)
{
	static const char *const folders[] = { "t", "t/a", "t/a/b", "t/c", "t/c/d", "t/c/d/e" };

	if (geteuid() == 0 && (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0))
		return 2;
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		scratch_dir(s, folders[i]);
	scratch_file(s, "t/a/b/file", "x");
	scratch_file(s, "t/c/d/e/file", "x");
	scratch_mode(s, "t/a/b/file", 0);
	scratch_mode(s, "t/c/d/e", 0);
	scratch_mode(s, "t/c/d", 0500);
	scratch_mode(s, "t/c", 0300);
	scratch_mode(s, "t/a/b", 0);
	scratch_mode(s, "t/a", 0100);
	scratch_mode(s, "t", 0);
	/* control: it is locked indeed */
	if (openat(s->fd, "t/a", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0 || errno != EACCES)
		return 3;
	if (path_remove_tree(s->fd, "t", err) < 0)
		return 4;
	return exists(s, "t") ? 5 : 0;
}

static void test_locked(void)
{
	struct scratch s;
	int status;

	scratch_make(&s);
	if (geteuid() == 0)
		(void)!chown(s.path, 65534, 65534);
	pid_t pid = fork();
	if (pid == 0) {
		struct err err = { 0 };
		int r = remove_locked(&s, &err);

		if (r)
			diag("step %d: %s", r, err.text);
		_exit(r);
	}
	waitpid(pid, &status, 0);
	is_int(status, 0, "folders without permission bits are opened up and removed");
	scratch_end(&s);
}

/* In a mount namespace of its own, where the test may mount. */
static int remove_mount(struct scratch *s, const char *outside)
{
	char target[128], file[160];
	struct err err = { 0 };

	if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return 77;
	snprintf(target, sizeof(target), "%s/t/a/m", s->path);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mount(outside, target, NULL, MS_BIND, NULL) < 0)
		return 77;

	int r = path_remove_tree(s->fd, "t", &err);
	diag("%s", err.text);
	snprintf(file, sizeof(file), "%s/file", outside);
	if (access(file, F_OK) < 0)
		return 2;
	return r == E_BUSY ? 0 : 3;
}

static void test_mount(void)
{
	struct scratch s;
	struct err err;
	char outside[128];
	int status;

	scratch_make(&s);
	scratch_dir(&s, "outside");
	scratch_file(&s, "outside/file", "canary");
	scratch_dir(&s, "t");
	scratch_dir(&s, "t/a");
	scratch_dir(&s, "t/a/m");
	snprintf(outside, sizeof(outside), "%s/outside", s.path);
	pid_t pid = fork();
	if (pid == 0)
		_exit(remove_mount(&s, outside));
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip("this machine permits no mount here");
	else
		is_int(status, 0, "a bind mount in the tree is refused, and what it shows is untouched");
	is_int(path_remove_tree(s.fd, "t", &err), 0, "control: without the mount the tree goes");
	ok(exists(&s, "outside/file"), "and the canary lives");
	scratch_end(&s);
}

/* Where the kernel cannot open beneath a folder, none is entered. */
static int end_without_openat2(void)
{
	struct scratch s;
	struct err err;

	scratch_make(&s);
	scratch_dir(&s, "t");
	scratch_file(&s, "t/f", "x");
	is_int(path_remove_tree(s.fd, "t", &err), E_MACHINE, "without openat2 removing fails closed");
	is_int(path_remove_tree(s.fd, "t/f", &err), E_MACHINE, "a name in a folder below too");
	ok(exists(&s, "t/f"), "and removes nothing");
	scratch_end(&s);
	skip("openat2 is missing here");
	return tap_end();
}

int main(void)
{
	if (!scratch_has_openat2())
		return end_without_openat2();
	test_plain();
	test_deep();
	test_taken_names();
	test_wide();
	test_locked();
	test_mount();
	return tap_end();
}
