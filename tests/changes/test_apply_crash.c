/*
 * Crashes and races of an apply.  The apply runs in a traced child that is killed, or behind whose back the operator
 * edits, at many of its system calls.  After each crash apply_recover must leave every path old or new, all of them the
 * same, and say which; whatever the operator wrote must still be there.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/changes/apply.h"
#include "tests/changes/stage.h"
#include "tests/changes/traced.h"
#include "tests/tap.h"

static bool whiteouts;

static struct buf old_list = BUF_INIT(1 << 20), new_list = BUF_INIT(1 << 20); /* the real tree before and after */

struct scene {
	struct stage s;
	struct manifest m;
	void (*edit)(const struct stage *s); /* what the operator does at the chosen moment */
};

/* Twenty changed files, besides new and removed ones, a mode and a folder that becomes a file. */
static void scene_make(struct scene *c)
{
	struct stage *s = &c->s;
	char path[64];

	*c = (struct scene){ 0 };
	stage_make(s);
	for (int i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), "real/d%d/file-%d", i % 4, i);
		stage_write(s, path, "old\n");
	}
	stage_write(s, "real/run.sh", "#!/bin/sh\n");
	stage_write(s, "real/gone/deep/a", "a\n");
	stage_write(s, "real/gone/b", "b\n");
	stage_write(s, "real/tofile/x", "x\n");
	stage_write(s, "real/delete", "d\n");
	stage_birth(s);
	for (int i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), "up/d%d/file-%d", i % 4, i);
		stage_write(s, path, "new\n");
	}
	stage_write(s, "up/run.sh", "#!/bin/sh\n");
	stage_chmod(s, "up/run.sh", 0755);
	stage_write(s, "up/fresh/deep/n", "n\n");
	stage_link(s, "up/fresh/link", "deep/n");
	stage_write(s, "up/added", "n\n");
	if (whiteouts) {
		stage_whiteout(s, "up/gone");
		stage_whiteout(s, "up/delete");
		stage_write(s, "up/tofile", "f\n");
	}
	stage_snapshot(s, &c->m);
}

static void scene_free(struct scene *c)
{
	manifest_free(&c->m);
	stage_remove(&c->s);
}
#define _cleanup_scene_ __attribute__((cleanup(scene_free)))

/* What the two trees look like. */
static void learn_lists(void)
{
	_cleanup_scene_ struct scene c;
	struct apply_result ret = APPLY_RESULT_INIT;
	struct err err;

	scene_make(&c);
	stage_list(&c.s, "real", &old_list);
	if (apply_changes(&c.s.layer, c.s.session_fd, &c.m, NULL, 0, &ret, &err) < 0)
		ok(false, "the scene: %s", err.text);
	stage_list(&c.s, "real", &new_list);
	apply_result_free(&ret);
}

static int do_apply(void *arg)
{
	struct scene *c = arg;
	struct apply_result ret = APPLY_RESULT_INIT;
	struct err err;

	int r = apply_changes(&c->s.layer, c->s.session_fd, &c->m, NULL, 0, &ret, &err);
	return r == 0 ? 0 : r == E_CONFLICT ? 1 : 2;
}

static int do_recover(void *arg)
{
	struct scene *c = arg;
	const char *state = "";
	struct err err;

	return apply_recover(&c->s.layer, c->s.session_fd, &state, &err) < 0;
}

static bool looks(const struct scene *c, const struct buf *want)
{
	struct buf now = BUF_INIT(1 << 20);

	stage_list(&c->s, "real", &now);
	bool same = strcmp(buf_str(&now), buf_str(want)) == 0;
	buf_free(&now);
	return same;
}

static bool settled(const struct scene *c)
{
	return !stage_exists(&c->s, "top/apply.journal") &&
	       stage_run("test -z \"$(find %s -name '.warder-*')\"", c->s.real) == 0;
}

/* What the recovery says is what stands there. */
static bool consistent(const struct scene *c, const char *state)
{
	if (strcmp(state, "completed") == 0)
		return looks(c, &new_list);
	if (strcmp(state, "undone") == 0)
		return looks(c, &old_list);
	return strcmp(state, "none") == 0 && (looks(c, &old_list) || looks(c, &new_list));
}

/* Stops of a whole run; of a recovery after an apply that was killed at `killed`. */
static int count_calls(int (*run)(void *arg), int killed)
{
	_cleanup_scene_ struct scene c;
	struct traced t;

	scene_make(&c);
	if (killed)
		traced_run(do_apply, &c, killed, NULL, &t);
	if (!traced_run(run, &c, 0, NULL, &t))
		return -1;
	return t.calls;
}

static void test_kill(int calls)
{
	const int moments = want_long() ? 400 : 50;
	int good = 0, clean = 0, completed = 0, undone = 0, none = 0;

	for (int i = 0; i < moments; i++) {
		_cleanup_scene_ struct scene c;
		const char *state = "?";
		struct traced t;
		struct err err = { 0 };
		int at = 1 + (int)((long)calls * i / moments);

		scene_make(&c);
		traced_run(do_apply, &c, at, NULL, &t);
		int r = apply_recover(&c.s.layer, c.s.session_fd, &state, &err);
		bool one = r == 0 && consistent(&c, state);
		good += one;
		clean += settled(&c);
		completed += strcmp(state, "completed") == 0;
		undone += strcmp(state, "undone") == 0;
		none += strcmp(state, "none") == 0;
		if (!one || !settled(&c)) {
			diag("killed at call %d: %s %s", at, state, err.text);
			stage_run("cd %s && find real top* -name '.warder-*' 2>/dev/null | sed 's/^/# /'; ls %s | sed "
				  "'s/^/# /'",
				  c.s.top, c.s.top);
		}
	}
	is_int(good, moments, "killed at %d moments: every path is old or new, and so told", moments);
	is_int(clean, moments, "nothing is left behind");
	diag("%d completed, %d undone, %d had nothing to settle", completed, undone, none);
	ok(undone > 0 && completed > 0, "both ways out were seen");
}

/* The recovery itself is killed, and another one settles it. */
static void test_kill_twice(int calls, int recover_calls)
{
	const int moments = want_long() ? 200 : 20;
	int good = 0;

	for (int i = 0; i < moments; i++) {
		_cleanup_scene_ struct scene c;
		const char *state = "?";
		struct traced t;
		struct err err = { 0 };

		scene_make(&c);
		traced_run(do_apply, &c, calls / 2 + (int)((long)calls / 2 * i / moments), NULL, &t);
		traced_run(do_recover, &c, 1 + (int)((long)recover_calls * ((i * 7) % moments) / moments), NULL, &t);
		int r = apply_recover(&c.s.layer, c.s.session_fd, &state, &err);
		bool one = r == 0 && consistent(&c, state) && settled(&c);
		good += one;
		if (!one)
			diag("round %d: %s %s", i, state, err.text);
	}
	is_int(good, moments, "killed again while settling: %d times", moments);
}

/* ---- the operator edits while an apply runs */

static void edit_in_place(const struct stage *s)
{
	stage_write(s, "real/d1/file-5", "operator\n");
}

static void edit_by_rename(const struct stage *s)
{
	stage_write(s, "top/tmp", "operator\n");
	stage_rename(s, "top/tmp", "real/d1/file-5");
}

static void add_to_gone(const struct stage *s)
{
	stage_write(s, "real/gone/deep/mine", "operator\n");
}

static void act(void *arg)
{
	struct scene *c = arg;

	c->edit(&c->s);
}

static void test_race(int calls, const char *what, void (*edit)(const struct stage *s), const char *path)
{
	const int moments = want_long() ? 200 : 16;
	int kept = 0, whole = 0, applied = 0, refused = 0;

	for (int i = 0; i < moments; i++) {
		_cleanup_scene_ struct scene c;
		struct traced t;
		char text[5000], other[5000];
		int at = 1 + (int)((long)calls * i / moments);

		scene_make(&c);
		c.edit = edit;
		traced_run(do_apply, &c, at, act, &t);
		bool mine = strcmp(stage_text(&c.s, path, text), "operator\n") == 0;
		kept += mine;
		applied += t.ended && t.status == 0;
		refused += t.ended && t.status == 1;
		/* All of the others are old, or all are new. */
		bool all_new = true, all_old = true;
		for (int k = 0; k < 20; k++) {
			char name[64];

			if (k == 5)
				continue;
			snprintf(name, sizeof(name), "real/d%d/file-%d", k % 4, k);
			stage_text(&c.s, name, other);
			all_new = all_new && strcmp(other, "new\n") == 0;
			all_old = all_old && strcmp(other, "old\n") == 0;
		}
		bool right = t.ended && ((t.status == 0 && all_new) || (t.status == 1 && all_old)) && settled(&c);
		whole += right;
		if (!mine || !right) {
			diag("%s at call %d: status %d, new %d, old %d, text %s", what, at, t.status, all_new, all_old,
			     text);
			stage_run("cd %s && find real -name '.warder-*' | sed 's/^/# /'", c.s.top);
		}
	}
	is_int(kept, moments, "%s at %d moments: what the operator wrote is there", what, moments);
	is_int(whole, moments, "%s: the rest is all old or all new, as told", what);
	diag("%s: %d applied, %d refused", what, applied, refused);
}

/* After a crash the operator edits a file that was written: recovery must not revert that. */
static void test_unknown(int calls)
{
	_cleanup_scene_ struct scene c;
	const char *state = "?";
	struct traced t;
	struct err err = { 0 };
	char text[5000];
	int at = calls * 7 / 10;

	scene_make(&c);
	traced_run(do_apply, &c, at, NULL, &t);
	if (!stage_exists(&c.s, "top/apply.journal") ||
	    strcmp(stage_text(&c.s, "real/d0/file-0", text), "new\n") != 0) {
		skip("the crash did not fall between the moves");
		return;
	}
	stage_write(&c.s, "real/d0/file-0", "operator\n");
	is_int(apply_recover(&c.s.layer, c.s.session_fd, &state, &err), 0, "recovery after an edit of the operator's");
	is_str(state, "unknown", "is an unknown outcome");
	ok(strstr(err.text, "d0/file-0"), "the path is named: %s", err.text);
	is_str(stage_text(&c.s, "real/d0/file-0", text), "operator\n", "the edit is not reverted");
	ok(!stage_exists(&c.s, "top/apply.journal"), "the journal no longer stands in the way");
	is_int(stage_run("ls %s | grep -q apply.unknown-", c.s.top), 0, "but is kept");
}

int main(void)
{
	struct stage s;

	stage_make(&s);
	whiteouts = stage_whiteout(&s, "up/w");
	stage_remove(&s);

	learn_lists();
	int calls = count_calls(do_apply, 0);
	if (calls < 0) {
		skip("tracing a child is not permitted here");
		return tap_end();
	}
	int recover_calls = count_calls(do_recover, calls * 7 / 10);
	diag("an apply of the scene: %d stops at system calls; a recovery: %d", calls, recover_calls);
	test_kill(calls);
	test_kill_twice(calls, recover_calls);
	test_race(calls, "edited in place", edit_in_place, "real/d1/file-5");
	test_race(calls, "replaced by rename", edit_by_rename, "real/d1/file-5");
	if (whiteouts)
		test_race(calls, "a file put into a removed folder", add_to_gone, "real/gone/deep/mine");
	test_unknown(calls);
	buf_free(&old_list);
	buf_free(&new_list);
	return tap_end();
}
