/* The diff against git's own: the same bytes for curated trees, and patches that git applies for random ones. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/path.h"
#include "core/changes/diff.h"
#include "core/changes/diff_lines.h"
#include "tests/changes/stage.h"
#include "tests/tap.h"

#define GIT "GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_DIR=/nonexistent git"

#define REPO "GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 git -c user.name=t -c user.email=t@t "

static bool have_git, whiteouts;

static int to_buf(const char *data, size_t len, void *arg)
{
	buf_add(arg, data, len);
	return ((struct buf *)arg)->failed;
}

/* Snapshot and diff; the text also goes to top/patch. */
static void diff_of(const struct stage *s, struct buf *out)
{
	_cleanup_manifest_ struct manifest m = { 0 };
	struct err err;

	stage_snapshot(s, &m);
	if (diff_write(&s->layer, &m, to_buf, out, &err) < 0)
		ok(false, "diff_write: %s", err.text);
	stage_write_bytes(s, "top/patch", buf_str(out), out->len);
}

/* ---- the same bytes as git */

/* Writes a file of both trees that are compared: `old` into real and a, `new` into up and b. */
static void pair(const struct stage *s, const char *path, const char *old, const char *new, size_t new_len)
{
	char to[4200];

	if (old) {
		snprintf(to, sizeof(to), "real/%s", path);
		stage_write(s, to, old);
		snprintf(to, sizeof(to), "top/a/%s", path);
		stage_write(s, to, old);
	}
	if (new) {
		snprintf(to, sizeof(to), "up/%s", path);
		stage_write_bytes(s, to, new, new_len);
		snprintf(to, sizeof(to), "top/b/%s", path);
		stage_write_bytes(s, to, new, new_len);
	} else if (old) {
		snprintf(to, sizeof(to), "up/%s", path);
		stage_whiteout(s, to);
	}
}

static void pair_text(const struct stage *s, const char *path, const char *old, const char *new)
{
	pair(s, path, old, new, new ? strlen(new) : 0);
}

static const char program[] = "#include <stdio.h>\n\nstatic int first(void)\n{\n\treturn 1;\n}\n\nint second(int "
			      "x)\n{\n\tint y = x;\n\n\ty += 1;\n"
			      "\ty += 2;\n\ty += 3;\n\ty += 4;\n\ty += 5;\n\ty += 6;\n\ty += 7;\n\treturn "
			      "y;\n}\n\nstruct long_name_that_goes_on_and_on_"
			      "and_on_until_it_is_cut_because_80_bytes_are_the_\xc3\xa4nd *third(void);\n\n\n\nint "
			      "main(void)\n{\n\tfirst();\n\t"
			      "second(2);\n\treturn 0;\n}\n";
static const char edited[] = "#include <stdio.h>\n#include <string.h>\n\nstatic int first(void)\n{\n\treturn "
			     "1;\n}\n\nint second(int x)\n{\n\tint y = x;\n\n"
			     "\ty += 1;\n\ty += 2;\n\ty += 3;\n\ty += 4;\n\ty += 5;\n\ty += 6;\n\ty += 70;\n\treturn "
			     "y;\n}\n\nstruct long_name_that_goes_on_"
			     "and_on_and_on_until_it_is_cut_because_80_bytes_are_the_\xc3\xa4nd "
			     "*third(void);\n\n\n\nint fourth(void)\n{\n\treturn 4;\n}\n\n"
			     "int main(void)\n{\n\tfirst();\n\tsecond(2);\n\treturn 1;\n}\n";

static void test_same_bytes(void)
{
	static const char binary[] = "a\0b\n";
	struct stage s;
	_cleanup_buf_ struct buf ours = BUF_INIT(1 << 20), git = BUF_INIT(1 << 20);

	if (!have_git || !whiteouts) {
		skip("no git, or no whiteouts here");
		return;
	}
	stage_make(&s);
	pair_text(&s, "prog.c", program, edited);
	pair_text(&s, "reverse.c", edited, program);
	pair_text(&s, "empty-new", NULL, "");
	pair_text(&s, "empty-gone", "", NULL);
	pair_text(&s, "to-empty", "x\ny\n", "");
	pair_text(&s, "from-empty", "", "x\n");
	pair_text(&s, "new", NULL, "one\ntwo\n");
	pair_text(&s, "gone", "one\ntwo\n", NULL);
	pair_text(&s, "eol-lost", "a\nb\n", "a\nb");
	pair_text(&s, "eol-won", "a\nb", "a\nb\n");
	pair_text(&s, "eol-none", "a\nb", "a\nc");
	pair_text(&s, "eol-new", NULL, "x");
	pair_text(&s, "eol-middle", "1\n2\n3\n4\n5\n6\n7\n8\n9", "1\nX\n3\n4\n5\n6\n7\n8\n9");
	pair(&s, "bin", "text\n", binary, 4);
	pair(&s, "bin-new", NULL, binary, 4);
	pair_text(&s, "with space", "a\n", "b\n");
	pair_text(&s, "quote\"back\\slash", "a\n", "b\n");
	pair_text(&s, "dir/\xc3\xa4\xc3\xb6 \xff", "a\n", "b\n");
	pair_text(&s, "new \xe2\x82\xac", NULL, "b\n");
	pair_text(&s, "crlf", "a\r\nb\r\n", "a\r\nc\r\n");
	pair_text(&s, "near", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n",
		  "x\n2\n3\n4\n5\n6\n7\ny\n9\n10\n11\n12\n13\n14\nz\n16\n17\n");
	pair_text(&s, "apart", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n",
		  "x\n2\n3\n4\n5\n6\n7\n8\nw\n10\n11\n12\n13\n14\n15\n16\nz\n");
	pair_text(&s, "mode", "#!\n", "#!\n");
	pair_text(&s, "mode-and-text", "#!\n", "#!!\n");
	pair_text(&s, "mode-off", "#!\n", "#!\n");
	pair_text(&s, "new-exec", NULL, "#!\n");
	for (const char *const *p =
		     (const char *const[]){ "up/mode", "top/b/mode", "up/mode-and-text", "top/b/mode-and-text",
					    "real/mode-off", "top/a/mode-off", "up/new-exec", "top/b/new-exec", NULL };
	     *p; p++)
		stage_chmod(&s, *p, 0755);
	for (const char *const *p = (const char *const[]){ "real", "top/a", NULL }; *p; p++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/link", *p);
		stage_link(&s, path, "old-target");
		snprintf(path, sizeof(path), "%s/becomes-link", *p);
		stage_write(&s, path, "text\n");
		snprintf(path, sizeof(path), "%s/was-link", *p);
		stage_link(&s, path, "somewhere");
	}
	for (const char *const *p = (const char *const[]){ "up", "top/b", NULL }; *p; p++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/link", *p);
		stage_link(&s, path, "new-target");
		snprintf(path, sizeof(path), "%s/becomes-link", *p);
		stage_link(&s, path, "target");
		snprintf(path, sizeof(path), "%s/was-link", *p);
		stage_write(&s, path, "text\n");
		snprintf(path, sizeof(path), "%s/new-link", *p);
		stage_link(&s, path, "target");
	}
	stage_birth(&s);
	diff_of(&s, &ours);
	stage_run("cd %s && " REPO "init -q a && cd a && " REPO "add -A && " REPO
		  "commit -q -m a && rm -rf * && cp -a ../b/. . && " REPO "add -A && " REPO
		  "diff --cached --no-renames | sed '/^index [0-9a-f]*\\.\\.[0-9a-f]*/d' >../git-patch",
		  s.top);
	ok(path_read_file(s.session_fd, "git-patch", 1 << 20, &git, NULL) == 0 && git.len > 3000, "git printed a diff");
	if (!ok(git.len == ours.len && memcmp(git.data, ours.data, git.len) == 0, "ours is the same to the byte"))
		stage_run("cd %s && diff git-patch patch | sed 's/^/# /'", s.top);
	stage_remove(&s);
}

static void test_quote(void)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 10);

	diff_quote("a/", "plain name~", &out);
	is_str(buf_str(&out), "a/plain name~", "a plain name stays");
	buf_reset(&out);
	diff_quote("b/", "\a\b\t\n\v\f\r\x01\x1b\x7f\x80\"\\", &out);
	is_str(buf_str(&out), "\"b/\\a\\b\\t\\n\\v\\f\\r\\001\\033\\177\\200\\\"\\\\\"", "others are escaped as in C");
}

/* ---- patches that git applies */

static uint64_t seed = 88172645463325252u;

static uint32_t rnd(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)((seed >> 20) % below);
}

static void random_text(struct buf *b)
{
	uint32_t lines = rnd(60);

	for (uint32_t i = 0; i < lines; i++) {
		switch (rnd(6)) {
		case 0:
			buf_adds(b, "\n");
			break;
		case 1:
			buf_adds(b, "}\n");
			break;
		case 2:
			buf_addf(b, "int f%u(void)\n", rnd(9));
			break;
		default:
			buf_addf(b, "\tline %u\n", rnd(40));
		}
	}
	if (rnd(5) == 0)
		buf_adds(b, "no end of line");
}

static void random_edit(const struct buf *old, struct buf *new)
{
	for (size_t at = 0; at < old->len;) {
		const char *nl = memchr(old->data + at, '\n', old->len - at);
		size_t len = nl ? (size_t)(nl - old->data) - at + 1 : old->len - at;

		if (rnd(12) == 0)
			random_text(new);
		if (rnd(10) && (new->len == 0 || new->data[new->len - 1] == '\n'))
			buf_add(new, old->data + at, len);
		at += len;
	}
}

static void write_both(const struct stage *s, const char *a, const char *b, const char *path, const struct buf *text)
{
	char to[200];

	snprintf(to, sizeof(to), "%s/%s", a, path);
	stage_write_bytes(s, to, buf_str(text), text->len);
	snprintf(to, sizeof(to), "%s/%s", b, path);
	stage_write_bytes(s, to, buf_str(text), text->len);
}

static void random_tree(const struct stage *s)
{
	static const char *const names[] = { "a.c",     "d/b.c",        "d/e/c.c", "name with blank",
					     "q\"uote", "\xc3\xbc.txt", "z" };
	char path[200];

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		_cleanup_buf_ struct buf old = BUF_INIT(1 << 20), new = BUF_INIT(1 << 20);
		uint32_t what = rnd(8);

		random_text(&old);
		if (what) /* 0: a new file */
			write_both(s, "real", "top/git", names[i], &old);
		snprintf(path, sizeof(path), "up/%s", names[i]);
		if (what == 1)
			continue;
		if (what == 2) {
			stage_whiteout(s, path);
			continue;
		}
		if (what == 3) {
			stage_write(s, path, "x");
			stage_unlink(s, path);
			stage_link(s, path, "target");
			continue;
		}
		random_edit(&old, &new);
		stage_write_bytes(s, path, buf_str(&new), new.len);
		if (what == 4)
			stage_chmod(s, path, 0755);
	}
}

/* What the staged tree is: the real one with the upper laid over it. */
static void lay_over(const struct stage *s)
{
	stage_run("cd %s && cp -a real want && (cd layer/upper && find . -type c) | while IFS= read -r f; do rm -f "
		  "\"want/$f\"; done; "
		  "(cd layer/upper && find . ! -type c ! -type d) | while IFS= read -r f; do mkdir -p \"want/$(dirname "
		  "\"$f\")\"; "
		  "rm -f \"want/$f\"; cp -a \"layer/upper/$f\" \"want/$f\"; done; find want git -depth -type d -empty "
		  "-delete; "
		  "mkdir -p want git",
		  s->top);
}

static void test_git_applies(void)
{
	int rounds = want_long() ? 500 : 60, applied = 0, same = 0;

	if (!have_git || !whiteouts) {
		skip("no git, or no whiteouts here");
		return;
	}
	for (int i = 0; i < rounds; i++) {
		_cleanup_buf_ struct buf patch = BUF_INIT(16 << 20), got = BUF_INIT(1 << 20), want = BUF_INIT(1 << 20);
		struct stage s;

		stage_make(&s);
		stage_mkdir(&s, "top/git");
		random_tree(&s);
		stage_birth(&s);
		diff_of(&s, &patch);
		int status = patch.len ? stage_run("cd %s/git && " GIT " apply --check ../patch && " GIT
						   " apply ../patch 2>/dev/null",
						   s.top)
				       : 0;
		applied += status == 0;
		lay_over(&s);
		stage_run("cd %s && find git -depth -type d -empty -delete; mkdir -p git", s.top);
		stage_list(&s, "top/git", &got);
		stage_list(&s, "top/want", &want);
		bool equal = strcmp(buf_str(&got), buf_str(&want)) == 0;
		same += equal;
		if (status || !equal) {
			diag("round %d, status %d\ngot\n%swant\n%s", i, status, buf_str(&got), buf_str(&want));
			stage_run("sed 's/^/# /' %s/patch", s.top);
		}
		stage_remove(&s);
	}
	is_int(applied, rounds, "git applies the patches of %d random trees", rounds);
	is_int(same, rounds, "and reaches the staged tree");
}

/* ---- the algorithm by itself */

/* The edits turn old into new, in order, with equal lines between them. */
static bool is_sound(const struct diff_script *s)
{
	uint32_t x = 0, y = 0;

	for (size_t i = 0; i <= s->n; i++) {
		bool last = i == s->n;
		uint32_t to_x = last ? s->old.n : s->edit[i].old_start, to_y = last ? s->new.n : s->edit[i].new_start;

		if (to_x < x || to_y < y || to_x - x != to_y - y || to_x > s->old.n || to_y > s->new.n ||
		    (i && !last && to_x == x))
			return false;
		size_t a = s->old.start[x], b = s->new.start[y], len = s->old.start[to_x] - a;
		if (s->new.start[to_y] - b != len || memcmp(s->old.data + a, s->new.data + b, len) != 0)
			return false;
		if (!last && !s->edit[i].old_len && !s->edit[i].new_len)
			return false;
		x = to_x + (last ? 0 : s->edit[i].old_len);
		y = to_y + (last ? 0 : s->edit[i].new_len);
	}
	return true;
}

static uint32_t cost(const struct diff_script *s)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->edit[i].old_len + s->edit[i].new_len;
	return n;
}

/* Length of the shortest script, by the plain quadratic method. */
static uint32_t shortest(const char *a, size_t n, const char *b, size_t m)
{
	static uint32_t table[65][65];

	for (size_t i = 0; i <= n; i++)
		for (size_t j = 0; j <= m; j++) {
			if (!i || !j)
				table[i][j] = (uint32_t)(i + j);
			else if (a[2 * (i - 1)] == b[2 * (j - 1)])
				table[i][j] = table[i - 1][j - 1];
			else
				table[i][j] =
					1 + (table[i - 1][j] < table[i][j - 1] ? table[i - 1][j] : table[i][j - 1]);
		}
	return table[n][m];
}

static void test_lines(void)
{
	int sound = 0, best = 0, rounds = 20000;

	for (int i = 0; i < rounds; i++) {
		char a[128], b[128];
		uint32_t n = rnd(64), m = rnd(64), letters = 1 + rnd(6);
		struct diff_script s;

		for (uint32_t k = 0; k < n; k++)
			a[2 * k] = (char)('a' + rnd(letters)), a[2 * k + 1] = '\n';
		for (uint32_t k = 0; k < m; k++)
			b[2 * k] = (char)('a' + rnd(letters)), b[2 * k + 1] = '\n';
		if (diff_lines(a, 2 * n, b, 2 * m, &s, NULL) < 0)
			break;
		sound += is_sound(&s);
		best += cost(&s) == shortest(a, n, b, m);
		diff_script_free(&s);
	}
	is_int(sound, rounds, "the edits of %d random pairs turn one into the other", rounds);
	is_int(best, rounds, "with as few lines as possible");
}

static void fill(struct buf *b, int kind, uint32_t lines)
{
	for (uint32_t i = 0; i < lines; i++) {
		switch (kind) {
		case 0:
			buf_addf(b, "%u\n", rnd(50));
			break;
		case 1:
			buf_adds(b, i & 1 ? "x\n" : "y\n");
			break;
		case 2:
			buf_adds(b, i % 3 ? "x\n" : "y\n");
			break;
		case 3:
			buf_addf(b, "%u\n", i);
			break;
		case 4:
			buf_addf(b, "%u\n", lines - i);
			break;
		default:
			buf_adds(b, "\n");
		}
	}
}

/* Texts that make a plain diff quadratic. */
static void test_hard_texts(void)
{
	static const struct {
		int a, b;
		const char *what;
	} cases[] = {
		{ 0, 0, "random lines of 50 words" },
		{ 1, 2, "two periods" },
		{ 3, 4, "a reversed text" },
		{ 5, 1, "blank lines" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_buf_ struct buf a = BUF_INIT(16 << 20), b = BUF_INIT(16 << 20);
		struct diff_script s;

		fill(&a, cases[i].a, 200000);
		fill(&b, cases[i].b, 190000);
		int64_t start = clock_mono_ms();
		int r = diff_lines(a.data, a.len, b.data, b.len, &s, NULL);
		int64_t took = clock_mono_ms() - start;
		diag("%s: %lld ms, %zu edits", cases[i].what, (long long)took, s.n);
		ok(r == 0 && is_sound(&s), "%s: sound", cases[i].what);
		ok(took < 60000, "%s: bounded", cases[i].what);
		diff_script_free(&s);
	}

	_cleanup_buf_ struct buf many = BUF_INIT(16 << 20);
	struct diff_script s;
	fill(&many, 5, DIFF_LINES_MAX + 1);
	is_int(diff_lines(many.data, many.len, "", 0, &s, NULL), E_LIMIT, "too many lines are refused");
}

static void test_large(void)
{
	struct stage s;
	_cleanup_buf_ struct buf a = BUF_INIT(16 << 20), patch = BUF_INIT(64 << 20);

	stage_make(&s);
	while (a.len <= DIFF_TEXT_MAX)
		buf_addf(&a, "line %zu of a text that is too large to be compared line by line\n", a.len);
	stage_write_bytes(&s, "real/large", a.data, a.len);
	stage_write_bytes(&s, "top/git/large", a.data, a.len);
	stage_birth(&s);
	buf_adds(&a, "one more\n");
	stage_write_bytes(&s, "up/large", a.data, a.len);
	diff_of(&s, &patch);
	ok(patch.len > 2 * a.len, "a large text is replaced as a whole");
	if (have_git)
		is_int(stage_run("cd %s/git && " GIT " apply ../patch && cmp large ../layer/upper/large", s.top), 0,
		       "and git applies that");
	stage_remove(&s);
}

static void test_damaged(void)
{
	struct stage s;
	_cleanup_manifest_ struct manifest m = { 0 };
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 20);
	char hex[DIGEST_HEX_LEN + 1], path[128];
	struct err err;

	stage_make(&s);
	stage_write(&s, "real/file", "old\n");
	stage_birth(&s);
	stage_write(&s, "up/file", "new\n");
	stage_snapshot(&s, &m);
	is_int(diff_write(&s.layer, &m, to_buf, &out, &err), 0, "control: a diff");
	size_t added, removed;
	is_int(diff_count(&s.layer, &m.change[0], &added, &removed, &err), 0, "and its counts");
	ok(added == 1 && removed == 1, "one line each");
	snprintf(path, sizeof(path), "top/content/%s", digest_hex(m.change[0].new.digest, hex));
	stage_write(&s, path, "NEW\n");
	is_int(diff_write(&s.layer, &m, to_buf, &out, &err), E_CORRUPT, "altered content is not shown");
	stage_remove(&s);
}

int main(void)
{
	struct stage s;

	stage_make(&s);
	whiteouts = stage_whiteout(&s, "up/w");
	stage_remove(&s);
	have_git = stage_run("git --version >/dev/null 2>&1") == 0;

	test_same_bytes();
	test_quote();
	test_git_applies();
	test_lines();
	test_hard_texts();
	test_large();
	test_damaged();
	return tap_end();
}
