/*
 * The same against layers that the kernel made: commands run in a real overlay mount (a user namespace of their own, as
 * in a cell), and after an apply of everything the real tree is what the commands saw.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/path.h"
#include "core/changes/apply.h"
#include "core/changes/diff.h"
#include "tests/changes/stage.h"
#include "tests/tap.h"

static void build_tree(const struct stage *s)
{
	stage_write(s, "real/a", "a\n");
	stage_write(s, "real/b", "b\n");
	stage_write(s, "real/moved", "m\n");
	stage_write(s, "real/saved.c", "original\n");
	stage_write(s, "real/dir/one", "1\n");
	stage_write(s, "real/dir/two", "2\n");
	stage_write(s, "real/dir/sub/three", "3\n");
	stage_write(s, "real/anew/old", "o\n");
	stage_write(s, "real/anew/again", "same\n");
	stage_write(s, "real/gone/x", "x\n");
	stage_write(s, "real/gone/deep/y", "y\n");
	stage_write(s, "real/renamed/x", "x\n");
	stage_write(s, "real/renamed/sub/y", "y\n");
	stage_write(s, "real/tofile/x", "x\n");
	stage_write(s, "real/todir", "t\n");
	stage_write(s, "real/run.sh", "#!/bin/sh\n");
	stage_link(s, "real/link", "a");
	stage_write(s, "real/.git/HEAD", "ref: refs/heads/main\n");
	stage_write(s, "real/gone2/.git", "gitdir: elsewhere\n");
	stage_write(s, "real/gone2/file", "x\n");
}

/* Runs `script` in a mount at top/merged and leaves what it saw in top/want (without the .git folders). */
static bool in_overlay(const struct stage *s, const char *script)
{
	stage_mkdir(s, "top/merged");
	stage_mkdir(s, "top/layer/work");
	stage_write(s, "top/script", script);
	return stage_run("cd %s && rm -rf want && unshare -Urm sh -c 'mount -t overlay overlay -o "
			 "lowerdir=layer/mask:real,upperdir=layer/upper,"
			 "workdir=layer/work,userxattr merged && (cd merged && sh -e ../script) && cp -a merged want' "
			 ">log 2>&1",
			 s->top) == 0;
}

static bool same_tree(const struct stage *s)
{
	_cleanup_buf_ struct buf got = BUF_INIT(1 << 20), want = BUF_INIT(1 << 20);

	stage_run("cd %s && rm -rf got && cp -a real got && find want got -name .git -prune -exec rm -rf {} +", s->top);
	stage_list(s, "top/got", &got);
	stage_list(s, "top/want", &want);
	if (strcmp(buf_str(&got), buf_str(&want)) == 0)
		return true;
	diag("got\n%swant\n%s", buf_str(&got), buf_str(&want));
	return false;
}

static int apply_all(const struct stage *s, struct manifest *m)
{
	_cleanup_apply_result_ struct apply_result ret = APPLY_RESULT_INIT;
	struct err err = { 0 };

	int r = apply_changes(&s->layer, s->session_fd, m, NULL, 0, &ret, &err);
	if (r < 0)
		diag("%s\n%s", err.text, buf_str(&ret.problems));
	return r;
}

static const char work[] =
	"echo more >>a\n"
	"rm b\n"
	"mv moved elsewhere\n"
	"sed -i.bak 's/original/changed/' saved.c\n"
	"touch dir/one\n"
	"echo 22 >tmp && mv tmp dir/two\n"
	"rm -r dir/sub\n"
	"rm -r anew && mkdir anew && echo same >anew/again && echo n >anew/new\n"
	"rm -r gone\n"
	"rm -rf gone2\n"
	"mv renamed renamed.to\n"
	"rm -r tofile && echo f >tofile\n"
	"rm todir && mkdir todir && echo y >todir/y\n"
	"chmod +x run.sh\n"
	"ln -sf b link\n"
	"mkdir -p new/deep/est && echo 1 >new/deep/est/file && ln -s ../file new/deep/link && rm new/deep/link\n"
	"mkdir empty\n"
	"ln a hard\n"
	"mkdir .git/hooks 2>/dev/null || true\n"
	"echo x >'name with \"quotes\"'\n";

static void test_work(void)
{
	struct stage s;
	_cleanup_manifest_ struct manifest m = { 0 }, after = { 0 };
	struct err err;

	stage_make(&s);
	build_tree(&s);
	stage_birth(&s);
	if (!in_overlay(&s, work)) {
		skip("no overlay mount in a user namespace here");
		stage_run("sed 's/^/# /' %s/log", s.top);
		stage_remove(&s);
		return;
	}
	stage_snapshot(&s, &m);
	is_str(stage_change(&m, "a"), "modify ok", "a file copied up and appended to");
	is_str(stage_change(&m, "dir/one"), "absent", "a file that was touched only");
	is_str(stage_change(&m, "dir/two"), "modify ok", "a file replaced by rename");
	is_str(stage_change(&m, "elsewhere"), "add ok", "a file moved: the new place");
	ok(strstr(manifest_find(&m, "elsewhere")->note, "moved"), "with a note");
	is_str(stage_change(&m, "moved"), "delete ok", "the old place");
	is_str(stage_change(&m, "renamed/sub/y"), "delete ok", "a folder moved: the old place");
	is_str(stage_change(&m, "renamed.to/sub/y"), "add ok", "the new place");
	is_str(stage_change(&m, "gone2/.git"), "delete withheld", "a removed folder with a .git in it");
	is_str(stage_change(&m, "hard"), "add ok", "a hard link made in the cell is a file");
	is_int(apply_all(&s, &m), 0, "everything is applied");
	/* The folder around the .git stays. */
	stage_mkdir(&s, "top/want/gone2");
	ok(same_tree(&s), "the real tree is what the commands saw");
	ok(stage_exists(&s, "real/gone2/.git") && stage_exists(&s, "real/.git/HEAD"), "no .git was touched");
	ok(!stage_exists(&s, "real/.git/hooks"), "nor added to");

	const char **paths = calloc(m.n, sizeof(*paths));
	for (size_t i = 0; i < m.n; i++)
		paths[i] = m.change[i].path;
	is_int(layer_drop(&s.layer, paths, m.n, &err), 0, "all of it is dropped");
	free(paths);
	stage_birth(&s);
	stage_snapshot(&s, &after);
	is_int(after.n, 0, "and nothing is staged");

	/* The next cell goes on from there. */
	ok(in_overlay(&s, "test ! -e b && grep -q more a && echo again >>a && test ! -e renamed && rm elsewhere"),
	   "the next mount shows the applied tree");
	manifest_free(&m);
	stage_snapshot(&s, &m);
	is_int(apply_all(&s, &m), 0, "and its changes are applied");
	ok(same_tree(&s), "the real tree is what they saw");
	stage_remove(&s);
}

/* Part of it, path by path; the rest stays staged and shows the same tree. */
static void test_parts(void)
{
	struct stage s;
	_cleanup_manifest_ struct manifest m = { 0 };
	int good = 0, rounds = 0;
	struct err err;

	stage_make(&s);
	build_tree(&s);
	stage_birth(&s);
	if (!in_overlay(&s, work)) {
		skip("no overlay mount in a user namespace here");
		stage_remove(&s);
		return;
	}
	stage_snapshot(&s, &m);
	stage_run("cp -a %s/want %s/first", s.top, s.top);
	while (m.n && rounds < 100) {
		_cleanup_apply_result_ struct apply_result ret = APPLY_RESULT_INIT;
		const struct change *c = NULL;
		const char *path[1];

		for (size_t i = 0; i < m.n && !c; i++)
			if (m.change[(i + (size_t)rounds * 7) % m.n].status == CHANGE_OK)
				c = &m.change[(i + (size_t)rounds * 7) % m.n];
		if (!c)
			break;
		path[0] = c->path;
		rounds++;
		int r = apply_changes(&s.layer, s.session_fd, &m, path, 1, &ret, &err);
		/* What needs another change first says so and is tried later. */
		if (r < 0 && r != E_CONFLICT)
			diag("%s: %s", path[0], err.text);
		if (r == 0 && layer_drop(&s.layer, path, 1, &err) < 0)
			diag("%s: %s", path[0], err.text);
		good += r == 0;
		stage_birth(&s);
		manifest_free(&m);
		stage_snapshot(&s, &m);
	}
	ok(good > 20, "%d changes applied one by one", good);
	ok(in_overlay(&s, "true"), "the layer still mounts");
	stage_run("cd %s && rm -rf want && mv first want && mkdir -p want/gone2", s.top);
	ok(same_tree(&s), "in the end the real tree is what the commands saw");
	stage_remove(&s);
}

/* What the cell tries to forge. */
static void test_forged(void)
{
	static const char script[] =
		"echo x >marked && python3 -c \"import os; os.setxattr('marked', 'user.overlay.redirect', b'/etc')\"\n"
		"mkdir covered && echo y >covered/y && python3 -c \"import os; os.setxattr('covered', "
		"'user.overlay.opaque', b'y')\"\n"
		"echo z >honest\n";
	struct stage s;
	_cleanup_manifest_ struct manifest m = { 0 };

	stage_make(&s);
	build_tree(&s);
	stage_birth(&s);
	if (stage_run("command -v python3 >/dev/null") != 0 || !in_overlay(&s, script)) {
		skip("no python3, no overlay mount, or a kernel that refuses such attributes");
	} else {
		stage_snapshot(&s, &m);
		is_str(stage_change(&m, "marked"), "add refused", "a forged redirect");
		is_str(stage_change(&m, "covered"), "add refused", "a forged opaque folder");
		is_str(stage_change(&m, "honest"), "add ok", "control: a file beside them");
		is_str(stage_change(&m, "gone/x"), "absent", "nothing is deleted by it");
	}
	stage_remove(&s);
}

int main(void)
{
	test_work();
	test_parts();
	test_forged();
	return tap_end();
}
