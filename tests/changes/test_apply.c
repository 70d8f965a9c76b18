/* The apply: what it writes, what it refuses, and that it is all or nothing. Crashes are in test_apply_crash. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/path.h"
#include "core/changes/apply.h"
#include "tests/changes/stage.h"
#include "tests/tap.h"

static bool whiteouts;

/* Applies and returns the code; `ret` must be fresh. */
static int apply(const struct stage *s, const struct manifest *m, const char *const *paths, struct apply_result *ret)
{
	struct err err = { 0 };
	size_t n = 0;

	while (paths && paths[n])
		n++;
	int r = apply_changes(&s->layer, s->session_fd, m, paths, n, ret, &err);
	if (r < 0)
		diag("%s", err.text);
	return r;
}

static int count_temps(const struct stage *s)
{
	char command[700];

	snprintf(command, sizeof(command), "find %s -name '.warder-*' | wc -l", s->real);
	FILE *f = popen(command, "r");
	int n = -1;
	if (f && fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		pclose(f);
	return n;
}

static void check_clean(const struct stage *s, const char *what)
{
	is_int(count_temps(s), 0, "%s: no temporary file is left", what);
	ok(!stage_exists(s, "top/apply.journal"), "%s: no journal is left", what);
}

/* One of everything. */
static void build_tree(const struct stage *s)
{
	stage_write(s, "real/keep", "keep\n");
	stage_write(s, "real/edit", "old\n");
	stage_write(s, "real/sub/edit", "old\n");
	stage_write(s, "real/sub/run.sh", "#!/bin/sh\n");
	stage_write(s, "real/delete", "gone\n");
	stage_write(s, "real/gone/a", "a\n");
	stage_write(s, "real/gone/deep/b", "b\n");
	stage_mkdir(s, "real/gone/void");
	stage_write(s, "real/tofile/x/y", "y\n");
	stage_write(s, "real/todir", "was a file\n");
	stage_write(s, "real/tolink", "was a file\n");
	stage_link(s, "real/link", "keep");
	stage_link(s, "real/fromlink", "keep");
	stage_mkdir(s, "real/hollow");
	stage_write(s, "real/opaque/old", "o\n");
	stage_write(s, "real/opaque/same", "s\n");
	stage_write(s, "real/toempty", "file\n");
	stage_write(s, "real/dirlink/x", "x\n");
	stage_birth(s);
	stage_write(s, "up/edit", "new\n");
	stage_write(s, "up/sub/edit", "new\n");
	stage_write(s, "up/sub/run.sh", "#!/bin/sh\n");
	stage_chmod(s, "up/sub/run.sh", 0755);
	stage_write(s, "up/new", "new\n");
	stage_write(s, "up/fresh/a/b", "b\n");
	stage_write(s, "up/fresh/c", "c\n");
	stage_mkdir(s, "up/fresh/empty");
	stage_chmod(s, "up/fresh/a", 0750);
	stage_mkdir(s, "up/lonely");
	stage_link(s, "up/newlink", "sub/edit");
	stage_link(s, "up/tolink", "keep");
	stage_link(s, "up/link", "edit");
	stage_write(s, "up/fromlink", "now a file\n");
	if (!whiteouts)
		return;
	stage_whiteout(s, "up/delete");
	stage_whiteout(s, "up/gone");
	stage_whiteout(s, "up/hollow");
	stage_write(s, "up/tofile", "now a file\n");
	stage_write(s, "up/todir/z", "z\n");
	stage_xattr(s, "up/todir", "user.overlay.opaque", "y");
	stage_write(s, "up/opaque/same", "s\n");
	stage_write(s, "up/opaque/new", "n\n");
	stage_xattr(s, "up/opaque", "user.overlay.opaque", "y");
	stage_link(s, "up/dirlink", "sub");
	stage_mkdir(s, "up/toempty");
	stage_xattr(s, "up/toempty", "user.overlay.opaque", "y");
}

static void test_everything(void)
{
	struct stage s;
	_cleanup_manifest_ struct manifest m = { 0 }, after = { 0 };
	_cleanup_apply_result_ struct apply_result ret = APPLY_RESULT_INIT;
	_cleanup_buf_ struct buf list = BUF_INIT(1 << 20);
	char text[5000];

	stage_make(&s);
	build_tree(&s);
	stage_snapshot(&s, &m);
	is_int(apply(&s, &m, NULL, &ret), 0, "everything is applied");
	is_int(ret.applied, (long long)m.n, "all changes are counted");

	static const struct {
		const char *path, *want;
	} files[] = {
		{ "keep", "keep\n" },
		{ "edit", "new\n" },
		{ "sub/edit", "new\n" },
		{ "new", "new\n" },
		{ "fresh/a/b", "b\n" },
		{ "fresh/c", "c\n" },
		{ "fresh/empty", "(folder)" },
		{ "lonely", "(folder)" },
		{ "newlink", "-> sub/edit" },
		{ "tolink", "-> keep" },
		{ "link", "-> edit" },
		{ "fromlink", "now a file\n" },
	}, removed[] = {
		{ "delete", "(absent)" },
		{ "gone", "(absent)" },
		{ "hollow", "(absent)" },
		{ "tofile", "now a file\n" },
		{ "todir/z", "z\n" },
		{ "opaque/old", "(absent)" },
		{ "opaque/same", "s\n" },
		{ "opaque/new", "n\n" },
		{ "toempty", "(folder)" },
		{ "dirlink", "-> sub" },
	};
	for (size_t i = 0; i < ARRAY_LEN(files) + (whiteouts ? ARRAY_LEN(removed) : 0); i++) {
		const char *path = i < ARRAY_LEN(files) ? files[i].path : removed[i - ARRAY_LEN(files)].path;
		const char *want = i < ARRAY_LEN(files) ? files[i].want : removed[i - ARRAY_LEN(files)].want;
		char full[200];

		snprintf(full, sizeof(full), "real/%s", path);
		is_str(stage_text(&s, full, text), want, "%s", path);
	}
	is_int(stage_mode(&s, "real/sub/run.sh"), 0755, "an execute bit");
	is_int(stage_mode(&s, "real/fresh/a"), 0750, "the mode of a new folder");
	check_clean(&s, "everything");

	struct err err;
	const char **paths = calloc(m.n, sizeof(*paths));
	for (size_t i = 0; i < m.n; i++)
		paths[i] = m.change[i].path;
	is_int(layer_drop(&s.layer, paths, m.n, &err), 0, "what was applied is dropped");
	free(paths);
	stage_list(&s, "up", &list);
	ok(!buf_str(&list)[0] || (strncmp(buf_str(&list), "opaque 40755\nopaque/same ", 25) == 0 && list.len < 110),
	   "only what was no change is left in the upper: %s", buf_str(&list));
	stage_snapshot(&s, &after);
	is_int(after.n, 0, "nothing is staged any more");
	stage_remove(&s);
}

static void test_selection(void)
{
	struct stage s;
	_cleanup_manifest_ struct manifest m = { 0 }, rest = { 0 };
	_cleanup_apply_result_ struct apply_result ret = APPLY_RESULT_INIT;
	char text[5000];
	struct err err;

	stage_make(&s);
	build_tree(&s);
	stage_write(&s, "real/.git/config", "host\n");
	stage_write(&s, "up/.git/config", "agent\n");
	stage_snapshot(&s, &m);

	is_int(apply(&s, &m, (const char *const[]){ "edit", "nowhere", NULL }, &ret), E_NOTFOUND,
	       "a path that is not staged");
	is_str(stage_text(&s, "real/edit", text), "old\n", "and nothing is written");
	is_int(apply(&s, &m, (const char *const[]){ "", NULL }, &ret), E_NOTFOUND, "an empty path");
	is_int(apply(&s, &m, (const char *const[]){ ".git", NULL }, &ret), 0, "a .git by name is no error");
	is_str(stage_text(&s, "real/.git/config", text), "host\n", "and not written");
	is_int(ret.applied, 0, "nor counted");
	is_int(apply(&s, &m, (const char *const[]){ "edit", "fresh/a", NULL }, &ret), 0, "a file and a folder");
	is_int(ret.applied, 2, "are two changes");
	is_str(stage_text(&s, "real/edit", text), "new\n", "the file is written");
	is_str(stage_text(&s, "real/fresh/a/b", text), "b\n", "what lies in the folder too");
	is_int(stage_mode(&s, "real/fresh/a"), 0750, "the folder has its mode");
	is_str(stage_text(&s, "real/fresh/c", text), "(absent)", "what was not named is not written");
	is_str(stage_text(&s, "real/sub/edit", text), "old\n", "nor what has the same name elsewhere");
	check_clean(&s, "selection");

	is_int(layer_drop(&s.layer, (const char *const[]){ "edit", "fresh/a/b" }, 2, &err), 0, "both are dropped");
	ok(!stage_exists(&s, "up/fresh/a"), "a spent folder goes");
	ok(stage_exists(&s, "up/fresh/c"), "what else is staged stays");
	stage_birth(&s);
	stage_snapshot(&s, &rest);
	is_str(stage_change(&rest, "edit"), "absent", "what was applied is no change any more");
	is_str(stage_change(&rest, "fresh/c"), "add ok", "the rest is");
	ret.applied = 0;
	is_int(apply(&s, &rest, NULL, &ret), 0, "the rest is applied");
	is_str(stage_text(&s, "real/fresh/c", text), "c\n", "into the folder that is there now");
	is_str(stage_text(&s, "real/.git/config", text), "host\n", "the .git is still the host's");

	if (whiteouts) {
		stage_write(&s, "real/part/a", "a\n");
		stage_write(&s, "real/part/b", "b\n");
		stage_write(&s, "real/part/sub/c", "c\n");
		stage_write(&s, "real/other/a", "a\n");
		stage_write(&s, "real/other/sub/b", "b\n");
		is_int(layer_drop(&s.layer, NULL, 0, &err), 0, "all is dropped");
		stage_birth(&s);
		stage_whiteout(&s, "up/part");
		stage_write(&s, "real/saved/a", "a\n");
		stage_write(&s, "real/saved/sub/b", "b\n");
		stage_write(&s, "real/saved/sub/c", "c\n");
		stage_birth(&s);
		stage_whiteout(&s, "up/saved");
		stage_write(&s, "up/other/a", "new\n");
		stage_xattr(&s, "up/other", "user.overlay.opaque", "y");
		manifest_free(&rest);
		stage_snapshot(&s, &rest);
		is_int(rest.n, 8, "removed folders and one made anew");
		ret.applied = 0;
		is_int(apply(&s, &rest, (const char *const[]){ "part/a", NULL }, &ret), 0,
		       "one file of a removed folder");
		is_str(stage_text(&s, "real/part/a", text), "(absent)", "is removed");
		is_str(stage_text(&s, "real/part/b", text), "b\n", "the other is not");
		is_int(layer_drop(&s.layer, (const char *const[]){ "part/a", "other/sub/b", "saved/sub/b" }, 3, &err),
		       0, "it is dropped, and deletions are discarded");
		stage_birth(&s);
		manifest_free(&rest);
		stage_snapshot(&s, &rest);
		is_str(stage_change(&rest, "part/b"), "delete ok", "the other deletion is still staged");
		is_str(stage_change(&rest, "part/sub/c"), "delete ok", "at any depth");
		is_str(stage_change(&rest, "other/sub/b"), "absent", "the discarded deletion is not");
		is_str(stage_change(&rest, "other/a"), "modify ok", "the rest of that folder is");
		is_str(stage_change(&rest, "saved/sub/b"), "absent", "nor is the one in a removed folder");
		is_str(stage_change(&rest, "saved/sub/c"), "delete ok", "the one beside it is");
		is_str(stage_change(&rest, "saved/a"), "delete ok", "and the one above");
		ret.applied = 0;
		is_int(apply(&s, &rest, NULL, &ret), 0, "the rest is applied");
		is_str(stage_text(&s, "real/part", text), "(absent)", "and the folder is gone");
		is_str(stage_text(&s, "real/other/sub/b", text), "b\n", "what was kept is there");
		is_str(stage_text(&s, "real/saved/sub/b", text), "b\n", "also in the removed folder");
		is_str(stage_text(&s, "real/saved/sub/c", text), "(absent)", "from which the rest is gone");
	}
	stage_remove(&s);
}

static void test_refused(void)
{
	struct stage s;
	_cleanup_manifest_ struct manifest m = { 0 };
	_cleanup_apply_result_ struct apply_result ret = APPLY_RESULT_INIT, good = APPLY_RESULT_INIT;
	char text[5000], full[5000];

	stage_make(&s);
	stage_write(&s, "real/edit", "old\n");
	stage_birth(&s);
	stage_write(&s, "up/edit", "new\n");
	stage_link(&s, "up/out", "/etc/passwd");
	ok(mkfifo(stage_path(&s, "up/li\nne", full), 0644) == 0, "a FIFO with a line break in its name");
	stage_snapshot(&s, &m);
	is_int(apply(&s, &m, NULL, &ret), E_CONFLICT, "a refused path among all");
	is_str(stage_text(&s, "real/edit", text), "old\n", "nothing is written");
	is_int(ret.nproblems, 2, "each is named");
	is_str(buf_str(&ret.problems), "\"li\\nne\": it is a FIFO\nout: it is a symlink to an absolute path\n",
	       "on a line each");
	is_int(apply(&s, &m, (const char *const[]){ "edit", NULL }, &good), 0, "control: the good one by name");
	is_str(stage_text(&s, "real/edit", text), "new\n", "is written");

	/* A manifest that says what no snapshot says. */
	m.change[0] = *manifest_find(&m, "edit");
	m.change[0].path = "sub/.Git/hooks/post-checkout";
	m.n = 1;
	is_int(apply(&s, &m, NULL, &ret), E_DENIED, "a .git is not written even when the manifest says so");
	ok(!stage_exists(&s, "real/sub"), "and nothing is made for it");
	check_clean(&s, "refused");
	stage_remove(&s);
}

/* What the operator does between the snapshot and the apply. */
static void edit_in_place(const struct stage *s)
{
	stage_write(s, "real/b", "operator\n");
}

static void edit_same_size(const struct stage *s)
{
	stage_write(s, "real/b", "dlo\n");
}

static void edit_by_rename(const struct stage *s)
{
	stage_write(s, "real/tmp", "operator\n");
	stage_rename(s, "real/tmp", "real/b");
}

static void remove_it(const struct stage *s)
{
	stage_unlink(s, "real/b");
}

static void change_mode(const struct stage *s)
{
	stage_chmod(s, "real/b", 0600);
}

static void make_folder(const struct stage *s)
{
	stage_unlink(s, "real/b");
	stage_write(s, "real/b/inside", "operator\n");
}

static void make_symlink(const struct stage *s)
{
	stage_unlink(s, "real/b");
	stage_link(s, "real/b", "../canary");
}

static void put_new(const struct stage *s)
{
	stage_write(s, "real/n", "operator\n");
}

static void swap_parent(const struct stage *s)
{
	stage_rename(s, "real/dir", "real/dir.away");
	stage_link(s, "real/dir", "../canary.d");
}

static void replace_parent(const struct stage *s)
{
	stage_rename(s, "real/dir", "real/dir.away");
	stage_write(s, "real/dir/f", "old\n");
}

static void remove_parent(const struct stage *s)
{
	stage_rename(s, "real/dir", "top/away");
}

static void add_to_gone(const struct stage *s)
{
	stage_write(s, "real/gone/extra", "operator\n");
}

static void edit_in_gone(const struct stage *s)
{
	stage_write(s, "real/gone/deep/y", "operator\n");
}

static void nothing(const struct stage *s)
{
	(void)s;
}

static void test_conflicts(void)
{
	static const struct {
		const char *what;
		void (*act)(const struct stage *s);
		int want;
		bool needs_whiteout;
		const char *named;
	} cases[] = {
		{ "control: nothing happens", nothing, 0, false, "" },
		{ "a file edited in place", edit_in_place, E_CONFLICT, false, "b: " },
		{ "a file edited to the same size", edit_same_size, E_CONFLICT, false, "b: " },
		{ "a file replaced by rename", edit_by_rename, E_CONFLICT, false, "b: " },
		{ "a file removed", remove_it, E_CONFLICT, false, "b: " },
		{ "a file given another mode", change_mode, E_CONFLICT, false, "b: " },
		{ "a file that became a folder", make_folder, E_CONFLICT, false, "b: " },
		{ "a file that became a symlink", make_symlink, E_CONFLICT, false, "b: " },
		{ "a new file where one is to come", put_new, E_CONFLICT, false, "n: " },
		{ "a folder that became a symlink to outside", swap_parent, E_CONFLICT, false, "dir/f: " },
		{ "a folder replaced by another", replace_parent, E_CONFLICT, false, "dir/f: " },
		{ "a folder moved away", remove_parent, E_CONFLICT, false, "dir/f: " },
		{ "a new file in a folder that is to go", add_to_gone, E_CONFLICT, true, "gone: " },
		{ "an edit in a folder that is to go", edit_in_gone, E_CONFLICT, true, "gone: " },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct stage s;
		_cleanup_manifest_ struct manifest m = { 0 };
		_cleanup_apply_result_ struct apply_result ret = APPLY_RESULT_INIT;
		_cleanup_buf_ struct buf before = BUF_INIT(1 << 20), after = BUF_INIT(1 << 20);
		char text[5000];

		if (cases[i].needs_whiteout && !whiteouts)
			continue;
		stage_make(&s);
		stage_write(&s, "top/canary", "canary\n");
		stage_write(&s, "top/canary.d/f", "canary\n");
		stage_write(&s, "real/a", "old\n");
		stage_write(&s, "real/b", "old\n");
		stage_write(&s, "real/c", "old\n");
		stage_write(&s, "real/dir/f", "old\n");
		stage_write(&s, "real/gone/x", "old\n");
		stage_write(&s, "real/gone/deep/y", "old\n");
		stage_birth(&s);
		stage_write(&s, "up/a", "new\n");
		stage_write(&s, "up/b", "new\n");
		stage_write(&s, "up/c", "new\n");
		stage_write(&s, "up/dir/f", "new\n");
		stage_write(&s, "up/n", "new\n");
		stage_write(&s, "up/z", "new\n");
		if (whiteouts)
			stage_whiteout(&s, "up/gone");
		stage_snapshot(&s, &m);
		cases[i].act(&s);
		stage_list(&s, "real", &before);
		is_int(apply(&s, &m, NULL, &ret), cases[i].want, "%s", cases[i].what);
		stage_list(&s, "real", &after);
		ok((strcmp(buf_str(&before), buf_str(&after)) == 0) == (cases[i].want != 0), "%s: %s", cases[i].what,
		   cases[i].want ? "the real tree is as it was" : "the real tree is changed");
		ok(strstr(buf_str(&ret.problems), cases[i].named), "%s: the path is named: %s", cases[i].what,
		   buf_str(&ret.problems));
		is_str(stage_text(&s, "top/canary.d/f", text), "canary\n", "%s: outside nothing is touched",
		       cases[i].what);
		check_clean(&s, cases[i].what);
		stage_remove(&s);
	}
}

static void test_failures(void)
{
	struct stage s;
	_cleanup_manifest_ struct manifest m = { 0 };
	_cleanup_apply_result_ struct apply_result ret = APPLY_RESULT_INIT;
	_cleanup_buf_ struct buf before = BUF_INIT(1 << 20), after = BUF_INIT(1 << 20);
	char hex[DIGEST_HEX_LEN + 1], path[128], text[5000];

	stage_make(&s);
	stage_write(&s, "real/a", "old\n");
	stage_write(&s, "real/shut/b", "old\n");
	stage_birth(&s);
	stage_write(&s, "up/a", "new\n");
	stage_write(&s, "up/shut/b", "NEW\n");
	stage_write(&s, "up/shut/c", "other\n");
	stage_snapshot(&s, &m);
	if (geteuid() != 0) {
		stage_chmod(&s, "real/shut", 0555);
		stage_list(&s, "real", &before);
		is_int(apply(&s, &m, NULL, &ret), E_IO, "a folder that may not be written");
		stage_list(&s, "real", &after);
		is_str(buf_str(&after), buf_str(&before), "everything is as it was");
		check_clean(&s, "closed folder");
		stage_chmod(&s, "real/shut", 0755);
	} else {
		skip("root may write every folder");
	}

	snprintf(path, sizeof(path), "top/content/%s", digest_hex(manifest_find(&m, "shut/c")->new.digest, hex));
	stage_write(&s, path, "OTHER\n");
	is_int(apply(&s, &m, NULL, &ret), E_CORRUPT, "altered content is not applied");
	is_str(stage_text(&s, "real/a", text), "old\n", "and nothing else either");
	check_clean(&s, "altered content");
	stage_write(&s, path, "other\n");

	stage_write(&s, "top/apply.journal", "torn");
	is_int(apply(&s, &m, NULL, &ret), E_BUSY, "an apply that is not settled stands in the way");
	struct err err;
	const char *state = "";
	is_int(apply_recover(&s.layer, s.session_fd, &state, &err), 0, "it is settled");
	is_str(state, "unknown", "as unknown: the journal cannot be read");
	ok(!stage_exists(&s, "top/apply.journal"), "its journal is set aside");
	is_int(apply(&s, &m, NULL, &ret), 0, "control: now it is applied");
	is_int(apply_recover(&s.layer, s.session_fd, &state, &err), 0, "recovery without a journal");
	is_str(state, "none", "has nothing to do");
	stage_remove(&s);
}

static void test_attributes(void)
{
	struct stage s;
	_cleanup_manifest_ struct manifest m = { 0 };
	_cleanup_apply_result_ struct apply_result ret = APPLY_RESULT_INIT;
	char full[5000], other[5000], value[64] = "";
	struct stat st;

	stage_make(&s);
	stage_write(&s, "real/private", "old\n");
	stage_chmod(&s, "real/private", 0600);
	stage_xattr(&s, "real/private", "user.mine", "kept");
	stage_write(&s, "real/tool", "old\n");
	stage_chmod(&s, "real/tool", 0664);
	stage_write(&s, "real/linked", "old\n");
	ok(link(stage_path(&s, "real/linked", full), stage_path(&s, "top/twin", other)) == 0,
	   "a file with a second name");
	if (geteuid() == 0) {
		ok(chown(s.real, 4242, 4243) == 0, "the workspace belongs to somebody");
		ok(chown(stage_path(&s, "real/private", full), 5151, 5152) == 0, "a file to somebody else");
	}
	stage_birth(&s);
	stage_write(&s, "up/private", "new\n");
	stage_write(&s, "up/linked", "new\n");
	stage_write(&s, "up/tool", "new\n");
	stage_chmod(&s, "up/tool", 0755);
	stage_write(&s, "up/fresh/file", "new\n");
	stage_write(&s, "up/secret", "new\n");
	stage_chmod(&s, "up/secret", 0600);
	umask(077);
	stage_snapshot(&s, &m);
	ok(strstr(manifest_find(&m, "linked")->note, "other names"), "the second name is noted");
	is_int(apply(&s, &m, NULL, &ret), 0, "applied under umask 077");
	umask(022);
	is_str(stage_text(&s, "real/linked", other), "new\n", "a file with two names is written");
	is_str(stage_text(&s, "top/twin", other), "old\n", "under the other name it is what it was");
	is_int(stage_mode(&s, "real/private"), 0600, "a modified file keeps its mode");
	is_int(stage_mode(&s, "real/tool"), 0775, "an execute bit follows the bits to read");
	is_int(stage_mode(&s, "real/fresh"), 0755, "a new folder has the staged mode");
	is_int(stage_mode(&s, "real/fresh/file"), 0644, "a new file too");
	is_int(stage_mode(&s, "real/secret"), 0600, "also a closed one");
	ssize_t len = getxattr(stage_path(&s, "real/private", full), "user.mine", value, sizeof(value));
	ok(len == 4 && memcmp(value, "kept", 4) == 0, "an attribute of the operator's is kept");
	if (geteuid() == 0) {
		ok(stat(stage_path(&s, "real/private", full), &st) == 0 && st.st_uid == 5151 && st.st_gid == 5152,
		   "a modified file keeps its owner");
		ok(stat(stage_path(&s, "real/fresh", full), &st) == 0 && st.st_uid == 4242 && st.st_gid == 4243,
		   "a new folder belongs to the owner of the workspace");
		ok(stat(stage_path(&s, "real/fresh/file", full), &st) == 0 && st.st_uid == 4242 && st.st_gid == 4243,
		   "a new file too");
	}
	stage_remove(&s);
}

static void test_speed(void)
{
	struct stage s;
	_cleanup_manifest_ struct manifest m = { 0 };
	_cleanup_apply_result_ struct apply_result ret = APPLY_RESULT_INIT;
	const int files = want_long() ? 10000 : 2000;
	struct err err;

	stage_make(&s);
	for (int i = 0; i < files; i++) {
		char path[64];

		snprintf(path, sizeof(path), "real/d%02d/file-%d", i % 100, i);
		stage_write(&s, path, path);
	}
	stage_birth(&s);
	for (int i = 0; i < files; i++) {
		char path[64];

		snprintf(path, sizeof(path), "up/d%02d/file-%d", i % 100, i);
		stage_write(&s, path, path);
	}
	int64_t start = clock_mono_ms();
	stage_snapshot(&s, &m);
	int64_t snap = clock_mono_ms();
	is_int(apply(&s, &m, NULL, &ret), 0, "%d changed files", files);
	int64_t applied = clock_mono_ms();
	is_int(ret.applied, files, "are applied");
	const char **paths = calloc(m.n, sizeof(*paths));
	for (size_t i = 0; i < m.n; i++)
		paths[i] = m.change[i].path;
	int64_t before = clock_mono_ms();
	is_int(layer_drop(&s.layer, paths, m.n, &err), 0, "and dropped");
	diag("%d files: snapshot %lld ms, apply %lld ms, drop %lld ms", files, (long long)(snap - start),
	     (long long)(applied - snap), (long long)(clock_mono_ms() - before));
	free(paths);
	stage_remove(&s);
}

int main(void)
{
	struct stage s;

	stage_make(&s);
	whiteouts = stage_whiteout(&s, "up/w");
	stage_remove(&s);
	if (!whiteouts)
		skip("mknod of a 0:0 device is refused here: no whiteouts");

	test_everything();
	test_selection();
	test_refused();
	test_conflicts();
	test_failures();
	test_attributes();
	test_speed();
	return tap_end();
}
