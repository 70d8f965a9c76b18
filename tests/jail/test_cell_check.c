/* Which folders can be a workspace, and which paths a cell may be given. */
#include "tests/jail/cell_fixture.h"

#include <sched.h>
#include <sys/mount.h>

static void test_workspaces(const struct fixture *f)
{
	static const struct {
		const char *path;
		int code;
		const char *says;
	} cases[] = {
		{ "/", E_USAGE, "whole machine" },
		{ "/proc", E_USAGE, "proc" },
		{ "/proc/self", E_USAGE, "" },
		{ "/sys", E_USAGE, "" },
		{ "/sys/kernel", E_USAGE, "sysfs" },
		{ "/run", E_USAGE, "lies in /run" },
		{ "/dev", E_USAGE, "lies in /dev" },
		{ "/dev/pts", E_USAGE, "" },
		{ "/dev/shm", E_USAGE, "lies in /dev" },
		{ "relative", E_USAGE, "absolute" },
		{ "", E_USAGE, "absolute" },
		{ "/usr/", E_USAGE, "real" },
		{ "/no/where", E_NOTFOUND, "" },
		{ "/etc/passwd", E_NOTFOUND, "" },
		{ "/usr/../proc", E_USAGE, "" },
	};
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int r = cell_check_workspace(cases[i].path, NULL, &err);

		ok(r == cases[i].code && strstr(err.text, cases[i].says), "%s: %s", cases[i].path, err.text);
	}
	ok(cell_check_workspace(f->ws, NULL, &err) == 0, "a project's folder");
	ok(cell_check_workspace("/tmp", NULL, &err) == 0, "/tmp");
	snprintf(path, sizeof(path), "%s/link", f->dir);
	run_sh("ln -s ws '%s'", path);
	ok(cell_check_workspace(path, NULL, &err) == E_USAGE && strstr(err.text, "symbolic link"),
	   "a symbolic link: %s", err.text);
	snprintf(path, sizeof(path), "%s/link/sub", f->dir);
	run_sh("mkdir '%s/sub'", f->ws);
	ok(cell_check_workspace(path, NULL, &err) == E_USAGE, "one on the way: %s", err.text);
}

static void test_forbidden(const struct fixture *f)
{
	static const struct {
		const char *workspace, *forbidden;
		bool good;
	} cases[] = {
		{ "a", "b", true },
		{ "a/b", "a/c", true },
		{ "a", "a", false },
		{ "a/b/c", "a", false },
		{ "a/b/c", "a/b", false },
		{ "a", "a/b/c", false },
		{ "a", "a/nowhere/at/all", false },
		{ "a/b", "a/nowhere", true },
		{ "ab", "a", true },
		{ "a", "ab", true },
		{ "a/b", "a/file", true },
		{ "a", "a/file", false },
		{ "a/b", "alias", false },
		{ "a/b/c", "alias", false },
	};
	char ws[PATH_MAX], other[PATH_MAX];
	const char *list[] = { "/nowhere-at-all", other, NULL };

	run_sh("cd '%s' && mkdir -p a/b/c a/c b ab && echo x > a/file && ln -s a/b alias", f->dir);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		snprintf(ws, sizeof(ws), "%s/%s", f->dir, cases[i].workspace);
		snprintf(other, sizeof(other), "%s/%s", f->dir, cases[i].forbidden);
		int r = cell_check_workspace(ws, list, &err);
		ok(r == (cases[i].good ? 0 : E_USAGE), "workspace %s, forbidden %s: %s", cases[i].workspace,
		   cases[i].forbidden, r < 0 ? err.text : "ok");
	}
	snprintf(ws, sizeof(ws), "%s/a/file", f->dir);
	snprintf(other, sizeof(other), "%s/a", f->dir);
	ok(cell_check_path(ws, NULL, &err) == 0, "a file can be a path");
	ok(cell_check_path(ws, list, &err) == E_USAGE, "not one in a forbidden folder: %s", err.text);
	snprintf(other, sizeof(other), "%s/a/file", f->dir);
	ok(cell_check_path(ws, list, &err) == E_USAGE, "nor a forbidden file: %s", err.text);
	ok(cell_check_path("/dev/null", NULL, &err) == E_USAGE && cell_check_path("/run", NULL, &err) == E_USAGE,
	   "nor /dev and /run");
}

/* By what folders are: another name of the forbidden one does not help. */
static void test_alias(const struct fixture *f)
{
	char ws[PATH_MAX], other[PATH_MAX], alias[PATH_MAX];
	const char *list[] = { other, NULL };

	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		skip("a bind mount can be made by root alone");
		return;
	}
	snprintf(other, sizeof(other), "%s/a", f->dir);
	snprintf(alias, sizeof(alias), "%s/bound", f->dir);
	snprintf(ws, sizeof(ws), "%s/bound/b", f->dir);
	mkdir(alias, 0755);
	ok(mount(other, alias, NULL, MS_BIND, NULL) == 0 && cell_check_workspace(ws, list, &err) == E_USAGE,
	   "a workspace in a bind mount of a forbidden folder: %s", err.text);
	umount(alias);
}

static void test_given_paths(const struct fixture *f)
{
	static const struct {
		const char *ro, *rw; /* below the fixture's folder unless absolute */
		bool good;
	} cases[] = {
		{ "cache", NULL, true },
		{ NULL, "plain", true },
		{ "", NULL, true },
		{ NULL, "", false },
		{ "ws", NULL, false },
		{ NULL, "ws", false },
		{ "ws/sub", NULL, true },
		{ NULL, "ws/sub", true },
		{ "ws/.git", NULL, false },
		{ NULL, "ws/.git/hooks", false },
		{ NULL, "cache/.git", false },
		{ NULL, "cache/.GIT", false },
		{ "cache/.git", NULL, true },
		{ "/proc/sys", NULL, false },
		{ NULL, "/dev/shm", false },
		{ "/sys", NULL, false },
		{ NULL, "/", false },
		{ "relative", NULL, true },
		{ NULL, "repo", false },
		{ NULL, "repo/sub", true },
		{ "repo", NULL, true },
	};
	static const char *const argv[] = { "true", NULL };
	struct cell_spec spec = fixture_spec(f, -1);
	struct cell *c = NULL;

	run_sh("cd '%s' && mkdir -p cache/.git cache/.GIT ws/.git/hooks ws/sub && mkdir -p relative plain repo/.git "
	       "repo/sub",
	       f->dir);
	spec.argv = argv;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *given = cases[i].ro ? cases[i].ro : cases[i].rw;
		char path[PATH_MAX];
		const char *list[] = { path, NULL };

		snprintf(path, sizeof(path), given[0] == '/' ? "%.0s%s" : given[0] ? "%s/%s" : "%s%s", f->dir, given);
		spec.ro = cases[i].ro ? list : NULL;
		spec.rw = cases[i].rw ? list : NULL;
		int r = cell_start(&spec, &c, NULL, &err);
		ok(r == (cases[i].good ? 0 : E_USAGE), "%s %s: %s", cases[i].ro ? "ro" : "rw", path,
		   r < 0 ? err.text : "ok");
		cell_end(&c);
	}
}

int main(void)
{
	struct fixture f;

	fixture_make(&f);
	test_workspaces(&f);
	test_forbidden(&f);
	test_given_paths(&f);
	test_alias(&f);
	fixture_end(&f);
	return tap_end();
}
