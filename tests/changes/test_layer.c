/* The snapshot: what a staged layer means, and what is refused. Each conflict and refusal has a control beside it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/path.h"
#include "tests/changes/stage.h"
#include "tests/tap.h"

static bool whiteouts;

static void test_operations(void)
{
	struct stage s;
	_cleanup_manifest_ struct manifest m = { 0 };

	stage_make(&s);
	stage_write(&s, "real/keep", "k\n");
	stage_write(&s, "real/edit", "one\n");
	stage_write(&s, "real/touched", "same\n");
	stage_write(&s, "real/run", "#!/bin/sh\n");
	stage_write(&s, "real/priv", "p\n");
	stage_chmod(&s, "real/priv", 0600);
	stage_write(&s, "real/swap", "file\n");
	stage_link(&s, "real/link", "keep");
	stage_link(&s, "real/samelink", "keep");
	stage_write(&s, "real/dir/in", "in\n");
	stage_birth(&s);

	stage_write(&s, "up/edit", "two\n");
	stage_write(&s, "up/touched", "same\n");
	stage_write(&s, "up/run", "#!/bin/sh\n");
	stage_chmod(&s, "up/run", 0755);
	stage_write(&s, "up/priv", "q\n");
	stage_link(&s, "up/swap", "keep");
	stage_link(&s, "up/link", "edit");
	stage_link(&s, "up/samelink", "keep");
	stage_write(&s, "up/new", "n\n");
	stage_chmod(&s, "up/new", 0666);
	stage_write(&s, "up/fresh/deep/file", "f\n");
	stage_mkdir(&s, "up/empty");
	stage_mkdir(&s, "up/dir");
	stage_write(&s, "up/zz/only", "");
	stage_snapshot(&s, &m);

	is_str(stage_change(&m, "edit"), "modify ok", "a file with other content is modified");
	is_str(stage_change(&m, "touched"), "absent", "a file that was only copied up is left out");
	is_str(stage_change(&m, "samelink"), "absent", "so is a symlink with the same target");
	is_str(stage_change(&m, "run"), "mode ok", "an execute bit is a mode change");
	is_int(manifest_find(&m, "run")->new.mode, 0100755, "its new mode");
	is_str(stage_change(&m, "priv"), "modify ok", "content of a private file");
	is_int(manifest_find(&m, "priv")->new.mode, 0100600, "keeps the mode of the real file");
	is_str(stage_change(&m, "swap"), "symlink ok", "a file becomes a symlink");
	is_str(stage_change(&m, "link"), "symlink ok", "a symlink gets another target");
	is_str(stage_change(&m, "new"), "add ok", "a new file");
	is_int(manifest_find(&m, "new")->new.mode, 0100664, "is not writable by others");
	is_str(stage_change(&m, "fresh/deep/file"), "add ok", "a new file in new folders");
	is_str(stage_change(&m, "empty"), "add ok", "a new empty folder");
	is_str(stage_change(&m, "dir"), "absent", "a folder that only was copied up is left out");
	is_str(stage_change(&m, "fresh"), "absent", "a folder that comes with its file is no change of its own");
	is_int(m.nfolders, 3, "but is known as a folder");
	is_int(m.n, 9, "nothing else");
	ok(m.change[0].old.has_digest && m.change[0].new.has_digest, "both sides have a digest");

	if (whiteouts) {
		_cleanup_manifest_ struct manifest d = { 0 };

		stage_write(&s, "real/gone/a", "a\n");
		stage_write(&s, "real/gone/sub/b", "b\n");
		stage_mkdir(&s, "real/gone/void");
		stage_write(&s, "real/opaque/old", "o\n");
		stage_write(&s, "real/opaque/stays", "s\n");
		stage_write(&s, "real/tofile/x", "x\n");
		stage_write(&s, "real/todir", "t\n");
		stage_write(&s, "real/toempty", "t\n");
		stage_mkdir(&s, "real/hollow");
		stage_birth(&s);
		stage_unlink(&s, "up/link");
		stage_whiteout(&s, "up/keep");
		stage_whiteout(&s, "up/link");
		stage_whiteout(&s, "up/gone");
		stage_whiteout(&s, "up/nothing-there");
		stage_whiteout(&s, "up/hollow");
		stage_mkdir(&s, "up/opaque");
		stage_xattr(&s, "up/opaque", "user.overlay.opaque", "y");
		stage_write(&s, "up/opaque/stays", "s\n");
		stage_write(&s, "up/opaque/added", "n\n");
		stage_write(&s, "up/tofile", "now a file\n");
		stage_write(&s, "up/todir/y", "y\n");
		stage_xattr(&s, "up/todir", "user.overlay.opaque", "y");
		stage_mkdir(&s, "up/toempty");
		stage_xattr(&s, "up/toempty", "user.overlay.opaque", "y");
		stage_snapshot(&s, &d);
		is_str(stage_change(&d, "keep"), "delete ok", "a whiteout deletes");
		is_str(stage_change(&d, "link"), "delete ok", "also a symlink");
		is_str(stage_change(&d, "gone/a"), "delete ok", "a removed folder is its files");
		is_str(stage_change(&d, "gone/sub/b"), "delete ok", "at any depth");
		is_str(stage_change(&d, "gone/void"), "delete ok", "and its empty folders");
		is_str(stage_change(&d, "gone"), "absent", "but not the folder itself");
		is_str(stage_change(&d, "hollow"), "delete ok", "an empty folder is deleted");
		is_str(stage_change(&d, "nothing-there"), "absent", "a whiteout over nothing is left out");
		is_str(stage_change(&d, "opaque/old"), "delete ok", "what an opaque folder hides is deleted");
		is_str(stage_change(&d, "opaque/stays"), "absent", "what is the same again is left out");
		is_str(stage_change(&d, "opaque/added"), "add ok", "what is new in it is added");
		is_str(stage_change(&d, "tofile"), "add ok", "a file in the place of a folder");
		is_str(stage_change(&d, "tofile/x"), "delete ok", "the folder's file goes");
		is_str(stage_change(&d, "todir"), "delete ok", "a folder in the place of a file: the file goes");
		is_str(stage_change(&d, "todir/y"), "add ok", "and the new one comes");
		is_str(stage_change(&d, "toempty"), "delete ok", "an empty folder in the place of a file");
	}
	stage_remove(&s);
}

static void test_refused(void)
{
	static const char escape[] = "up/e\033[31m";
	static const char invalid[] = "up/inv\xff\xfe";
	static const char bidi[] = "up/rlo\xe2\x80\xae";
	struct stage s;
	_cleanup_manifest_ struct manifest m = { 0 };
	char full[5000];

	stage_make(&s);
	stage_write(&s, "real/README", "r\n");
	stage_write(&s, "real/twice", "r\n");
	stage_mkdir(&s, "real/Src");
	stage_birth(&s);
	stage_write(&s, "up/setuid", "x");
	stage_chmod(&s, "up/setuid", 04755);
	stage_write(&s, "up/setgid", "x");
	stage_chmod(&s, "up/setgid", 02755);
	stage_mkdir(&s, "up/sticky/inner");
	stage_write(&s, "up/sticky/file", "x");
	stage_chmod(&s, "up/sticky", 01777);
	ok(mkfifo(stage_path(&s, "up/fifo", full), 0644) == 0, "a FIFO is staged");

	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%.90s/sock", s.upper);
	ok(bind(sock, (struct sockaddr *)&sun, sizeof(sun)) == 0, "a socket is staged");
	close(sock);
	stage_write(&s, "up/redirected", "x");
	stage_xattr(&s, "up/redirected", "user.overlay.redirect", "/etc");
	stage_write(&s, "up/meta", "x");
	stage_xattr(&s, "up/meta", "user.overlay.metacopy", "");
	stage_write(&s, "up/escaped", "x");
	stage_xattr(&s, "up/escaped", "user.overlay.overlay.opaque", "y");
	stage_write(&s, "up/white", "");
	stage_xattr(&s, "up/white", "user.overlay.whiteout", "");
	stage_write(&s, "up/xdir/file", "x");
	stage_xattr(&s, "up/xdir", "user.overlay.opaque", "x");
	stage_write(&s, "up/tagged", "x");
	stage_xattr(&s, "up/tagged", "user.mime", "text/plain");
	stage_write(&s, escape, "x");
	stage_write(&s, "up/line\nbreak/file", "x");
	stage_write(&s, invalid, "x");
	stage_write(&s, bidi, "x");
	stage_write(&s, "up/readme", "x");
	stage_write(&s, "up/One", "x");
	stage_write(&s, "up/one", "x");
	stage_write(&s,
		    "up/Stra\xc3\x9f"
		    "e",
		    "x");
	stage_write(&s, "up/STRASSE", "x");
	stage_write(&s, "up/alone", "x");
	stage_write(&s, "up/src/file", "x");
	stage_link(&s, "up/absolute", "/etc/passwd");
	stage_link(&s, "up/leaving", "../outside");
	stage_link(&s, "up/sub/leaving", "../../outside");
	stage_link(&s, "up/sub/inside", "../README");
	stage_link(&s, "up/behind", "sub/../README");
	stage_link(&s, "up/gitlink", ".git/config");
	stage_write(&s, "up/.gitmodules", "x");
	stage_write(&s, "up/huge", "x");
	ok(truncate(stage_path(&s, "up/huge", full), (off_t)4 << 30) == 0, "a sparse file of 4 GiB is staged");
	stage_snapshot(&s, &m);

	static const struct {
		const char *path, *want, *why;
	} cases[] = {
		{ "setuid", "add refused", "setuid" },
		{ "setgid", "add refused", "setuid, setgid" },
		{ "sticky/file", "add refused", "sticky" },
		{ "sticky/inner", "add refused", "sticky" },
		{ "fifo", "add refused", "a FIFO" },
		{ "sock", "add refused", "a socket" },
		{ "redirected", "add refused", "forged" },
		{ "meta", "add refused", "forged" },
		{ "escaped", "add refused", "forged" },
		{ "white", "add refused", "forged" },
		{ "xdir", "add refused", "forged" },
		{ "xdir/file", "absent", "" },
		{ "tagged", "add ok", "" },
		{ "e\033[31m", "add refused", "control bytes" },
		{ "line\nbreak/file", "add refused", "control bytes" },
		{ "inv\xff\xfe", "add ok", "" },
		{ "rlo\xe2\x80\xae", "add ok", "" },
		{ "readme", "add refused", "only by case" },
		{ "One", "add refused", "only by case" },
		{ "one", "add refused", "only by case" },
		{ "Stra\xc3\x9f"
		  "e",
		  "add refused", "only by case" },
		{ "STRASSE", "add refused", "only by case" },
		{ "src/file", "add refused", "only by case" },
		{ "alone", "add ok", "" },
		{ "absolute", "symlink refused", "absolute" },
		{ "leaving", "symlink refused", "leaves the workspace" },
		{ "sub/leaving", "symlink refused", "leaves the workspace" },
		{ "sub/inside", "symlink ok", "" },
		{ "behind", "symlink refused", "behind a name" },
		{ "gitlink", "symlink refused", "into a .git" },
		{ ".gitmodules", "add ok", "" },
		{ "huge", "add refused", "larger than 1 GiB" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		is_str(stage_change(&m, cases[i].path), cases[i].want, "%s", cases[i].path);
		ok(strstr(stage_why(&m, cases[i].path), cases[i].why), "%s: %s", cases[i].path,
		   stage_why(&m, cases[i].path));
	}
	ok(manifest_find(&m, ".gitmodules")->runs_later, ".gitmodules is obeyed later");
	ok(!manifest_find(&m, "alone")->runs_later, "an ordinary name is not");
	ok(strstr(manifest_find(&m, "rlo\xe2\x80\xae")->note, "do not show"), "a name with hidden characters is noted");

	_cleanup_buf_ struct buf json = BUF_INIT(1 << 20);
	_cleanup_json_ json_node *tree = NULL;
	struct err err;

	change_to_json(manifest_find(&m, "inv\xff\xfe"), &json);
	ok(strstr(buf_str(&json), "\"path\":{\"$b64\":\"aW52//4=\"}"), "a path that is not UTF-8: %s", buf_str(&json));
	buf_reset(&json);
	manifest_to_json(&m, 5, &json);
	ok(json_parse_object(json.data, json.len, &tree, &err) == 0, "the log's body is JSON");
	is_int(json_get_int(tree, "entries", -1), (long long)m.n, "with the number of entries");
	is_int(json_get_int(tree, "more", -1), (long long)m.n - 5, "of which five are listed");
	stage_remove(&s);
}

static void test_closed(void)
{
	struct stage s;
	_cleanup_manifest_ struct manifest m = { 0 };

	if (geteuid() == 0) {
		skip("root reads what has no permissions");
		return;
	}
	stage_make(&s);
	stage_birth(&s);
	stage_write(&s, "up/closed", "x");
	stage_chmod(&s, "up/closed", 0);
	stage_write(&s, "up/shut/file", "x");
	stage_chmod(&s, "up/shut", 0);
	stage_write(&s, "up/list/file", "x");
	stage_chmod(&s, "up/list", 0444);
	stage_write(&s, "up/open", "x");
	stage_birth(&s);
	stage_snapshot(&s, &m);
	is_str(stage_change(&m, "closed"), "add refused", "a file that nobody may read");
	is_str(stage_change(&m, "shut"), "add refused", "a folder that nobody may enter");
	is_str(stage_change(&m, "list"), "add refused", "a folder that can be listed only");
	is_str(stage_change(&m, "open"), "add ok", "the one beside them is fine");
	stage_chmod(&s, "up/shut", 0755);
	stage_chmod(&s, "up/list", 0755);
	stage_remove(&s);
}

/* Started by root a cell has ids of its own; nothing else can be of its making. */
static void test_owners(void)
{
	struct stage s;
	_cleanup_manifest_ struct manifest m = { 0 };
	char full[5000];

	if (geteuid() != 0) {
		skip("only root gives files away");
		return;
	}
	stage_make(&s);
	stage_birth(&s);
	s.layer.idmap_base = 100000;
	stage_write(&s, "up/ours", "x");
	stage_write(&s, "up/roots", "x");
	stage_write(&s, "up/above", "x");
	stage_write(&s, "up/folder/in", "x");
	ok(chown(stage_path(&s, "up/ours", full), 101000, 101000) == 0 &&
		   chown(stage_path(&s, "up/above", full), 165536, 101000) == 0,
	   "files of ids of a range, and above it");
	stage_snapshot(&s, &m);
	is_str(stage_change(&m, "ours"), "add ok", "an id of the range");
	is_str(stage_change(&m, "roots"), "add refused", "root's");
	is_str(stage_change(&m, "above"), "add refused", "one above the range");
	is_str(stage_change(&m, "folder"), "add refused", "a folder of root's");
	stage_remove(&s);
}

static void test_git(void)
{
	static const char hfs[] = "up/d/.g\xe2\x80\x8cit/config";
	struct stage s;
	_cleanup_manifest_ struct manifest m = { 0 };
	size_t listed = 0;

	stage_make(&s);
	stage_write(&s, "real/.git/config", "[core]\n");
	stage_write(&s, "real/sub/.git/HEAD", "ref\n");
	stage_write(&s, "real/sub/file", "f\n");
	stage_birth(&s);
	for (int i = 0; i < 20; i++) {
		char path[64];

		snprintf(path, sizeof(path), "up/.git/objects/%02d/x", i);
		stage_write(&s, path, "o");
	}
	stage_write(&s, "up/a/.GIT", "gitdir: /etc\n");
	stage_write(&s, "up/b/git~1/config", "x");
	stage_write(&s, "up/c/.git./config", "x");
	stage_write(&s, hfs, "x");
	stage_write(&s, "up/e/.gitignore", "x");
	stage_link(&s, "up/f/.git", "/etc");
	if (whiteouts)
		stage_whiteout(&s, "up/sub");
	stage_snapshot(&s, &m);
	is_str(stage_change(&m, ".git"), "modify withheld", "the top .git is withheld");
	is_str(stage_change(&m, "a/.GIT"), "add withheld", "in other case, and as a file");
	is_str(stage_change(&m, "b/git~1"), "add withheld", "as a short name");
	is_str(stage_change(&m, "c/.git."), "add withheld", "with a dot behind");
	is_str(stage_change(&m, hfs + 3), "absent", "no path below a .git is listed");
	is_str(stage_change(&m, "d/.g\xe2\x80\x8cit"), "add withheld", "with ignorable characters");
	is_str(stage_change(&m, "f/.git"), "add withheld", "as a symlink");
	is_str(stage_change(&m, "e/.gitignore"), "add ok", "a .gitignore is a file as others");
	for (size_t i = 0; i < m.n; i++)
		listed += m.change[i].status == CHANGE_WITHHELD;
	is_int(m.withheld, whiteouts ? 26 : 25, "files below are counted");
	is_int(listed, whiteouts ? 7 : 6, "one entry for each .git");
	if (whiteouts) {
		is_str(stage_change(&m, "sub/.git"), "delete withheld", "removing the folder around one spares it");
		is_str(stage_change(&m, "sub/file"), "delete ok", "its other files go");
		for (size_t i = 0; i < m.nfolders; i++)
			ok(!m.folder[i].gone, "the folder itself stays: %s", m.folder[i].path);
	}
	stage_remove(&s);
}

static void test_hidden(void)
{
	struct stage s;
	_cleanup_manifest_ struct manifest m = { 0 };
	char full[5000];
	struct stat st;

	if (!whiteouts)
		return;
	stage_make(&s);
	stage_write(&s, "real/.env", "SECRET=1\n");
	stage_write(&s, "real/open", "x\n");
	stage_write(&s, "real/box/.env", "SECRET=2\n");
	stage_write(&s, "real/box/file", "x\n");
	stage_whiteout(&s, "mask/.env");
	stage_whiteout(&s, "mask/box/.env");
	stage_birth(&s);
	stage_write(&s, "up/.env", "SECRET=mine\n");
	stage_write(&s, "up/open", "y\n");
	stage_whiteout(&s, "up/box");
	stage_snapshot(&s, &m);
	is_str(stage_change(&m, ".env"), "modify refused", "what the cell was not shown is not replaced");
	ok(!manifest_find(&m, ".env")->old.has_digest, "and not read");
	is_str(stage_change(&m, "box/.env"), "delete refused", "nor deleted with its folder");
	is_str(stage_change(&m, "box/file"), "delete ok", "what was shown is");
	is_str(stage_change(&m, "open"), "modify ok", "control: the file beside it");

	uint8_t digest[DIGEST_LEN];
	char hex[DIGEST_HEX_LEN + 1];
	digest_of("SECRET=1\n", 9, digest);
	snprintf(full, sizeof(full), "%s/content/%s", s.top, digest_hex(digest, hex));
	ok(lstat(full, &st) < 0, "its content is not in the store");
	digest_of("x\n", 2, digest);
	snprintf(full, sizeof(full), "%s/content/%s", s.top, digest_hex(digest, hex));
	ok(lstat(full, &st) == 0 && (st.st_mode & 0777) == 0600, "control: the other one is, with mode 0600");
	stage_remove(&s);
}

static void settle(void)
{
	struct timespec wait = { .tv_nsec = 30000000 };

	nanosleep(&wait, NULL);
}

static void test_conflicts(void)
{
	struct stage s;
	_cleanup_manifest_ struct manifest m = { 0 }, again = { 0 };
	struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
	char full[5000];

	stage_make(&s);
	stage_write(&s, "real/quiet", "1\n");
	stage_write(&s, "real/edited", "1\n");
	stage_write(&s, "real/renamed", "1\n");
	stage_write(&s, "real/backdated", "1\n");
	stage_write(&s, "real/moded", "1\n");
	stage_write(&s, "real/removed", "1\n");
	stage_write(&s, "real/gone/still", "1\n");
	stage_write(&s, "real/gone/touched", "1\n");
	stage_write(&s, "real/parent/file", "1\n");
	stage_write(&s, "real/moved/file", "1\n");
	stage_write(&s, "real/spare/file", "0\n");
	stage_write(&s, "top/canary/file", "canary\n");
	stage_birth(&s);
	for (const char *const *p =
		     (const char *const[]){ "up/quiet", "up/edited", "up/renamed", "up/backdated", "up/moded",
					    "up/removed", "up/parent/file", "up/moved/file", NULL };
	     *p; p++) {
		stage_write(&s, *p, "agent\n");
		stage_xattr(&s, *p, "user.overlay.origin", "");
	}
	stage_write(&s, "up/appeared", "agent\n");
	stage_write(&s, "up/new", "agent\n");
	stage_xattr(&s, "up/parent", "user.overlay.origin", "");
	stage_xattr(&s, "up/moved", "user.overlay.origin", "");
	if (whiteouts)
		stage_whiteout(&s, "up/gone");
	settle();

	/* What the operator does meanwhile. */
	stage_write(&s, "real/edited", "operator\n");
	stage_write(&s, "real/tmp", "operator\n");
	stage_rename(&s, "real/tmp", "real/renamed");
	stage_write(&s, "real/backdated", "operator\n");
	ok(utimensat(AT_FDCWD, stage_path(&s, "real/backdated", full), old, 0) == 0, "a time is set back");
	stage_chmod(&s, "real/moded", 0600);
	stage_unlink(&s, "real/removed");
	stage_write(&s, "real/appeared", "operator\n");
	stage_write(&s, "real/gone/touched", "operator\n");
	stage_rename(&s, "real/parent", "real/parent.away");
	ok(symlink("../canary", stage_path(&s, "real/parent", full)) == 0, "a folder becomes a symlink to outside");
	stage_rename(&s, "real/moved", "real/moved.away");
	stage_rename(&s, "real/spare", "real/moved");
	stage_snapshot(&s, &m);

	is_str(stage_change(&m, "quiet"), "modify ok", "control: an untouched file");
	is_str(stage_change(&m, "new"), "add ok", "control: a new file");
	is_str(stage_change(&m, "edited"), "modify conflict", "edited in place");
	ok(strstr(stage_why(&m, "edited"), "changed by you since"), "%s", stage_why(&m, "edited"));
	is_str(stage_change(&m, "renamed"), "modify conflict", "replaced by rename");
	is_str(stage_change(&m, "backdated"), "modify conflict", "edited and its time set back");
	is_str(stage_change(&m, "moded"), "modify conflict", "given another mode");
	is_str(stage_change(&m, "removed"), whiteouts ? "add ok" : "add conflict",
	       "removed (a move when something is missing)");
	is_str(stage_change(&m, "appeared"), "modify conflict", "appeared");
	is_str(stage_change(&m, "parent/file"), "add conflict", "its folder became a symlink");
	is_str(stage_change(&m, "moved/file"), "modify conflict", "its folder was replaced by another");
	if (whiteouts) {
		is_str(stage_change(&m, "gone/still"), "delete ok", "control: an untouched file of a removed folder");
		is_str(stage_change(&m, "gone/touched"), "delete conflict", "a touched one");
		stage_unlink(&s, "up/gone");
		stage_unlink(&s, "up/appeared");
		stage_snapshot(&s, &again);
		is_str(stage_change(&again, "removed"), "add conflict", "removed, when nothing else is missing");
	}
	stage_remove(&s);
}

/* A path that was staged under an earlier cell is judged against that cell's birth. */
static void test_births(void)
{
	struct stage s;
	_cleanup_manifest_ struct manifest m = { 0 }, none = { 0 };
	struct err err;

	stage_make(&s);
	stage_write(&s, "real/first", "1\n");
	stage_write(&s, "real/second", "1\n");
	stage_write(&s, "up/first", "agent\n");
	stage_snapshot(&s, &none);
	is_str(stage_change(&none, "first"), "modify conflict", "without a noted birth everything is a conflict");
	ok(strstr(stage_why(&none, "first"), "not known"), "%s", stage_why(&none, "first"));
	stage_unlink(&s, "up/first");

	stage_birth(&s);
	stage_write(&s, "up/first", "agent\n");
	stage_write(&s, "up/odd\xff\nname", "agent\n");
	settle();
	stage_write(&s, "real/first", "operator\n");
	stage_write(&s, "real/second", "operator\n");
	stage_birth(&s);
	stage_write(&s, "up/second", "agent\n");
	stage_snapshot(&s, &m);
	is_str(stage_change(&m, "first"), "modify conflict", "edited between two cells, staged before");
	is_str(stage_change(&m, "second"), "modify ok", "control: staged after the edit");
	stage_birth(&s);
	manifest_free(&m);
	stage_snapshot(&s, &m);
	is_str(stage_change(&m, "first"), "modify conflict", "a third birth changes nothing for the first");
	is_str(stage_change(&m, "second"), "modify ok", "nor for the second");

	stage_write(&s, "top/layer/births", "warder-births 1\n12345678xxxx");
	int r = layer_snapshot(&s.layer, &none, &err);
	is_int(r, E_CORRUPT, "a broken file of births is an error");
	stage_remove(&s);
}

static void test_deep(void)
{
	struct stage s;
	_cleanup_manifest_ struct manifest m = { 0 };
	size_t longest = 0, refused = 0;

	stage_make(&s);
	stage_birth(&s);
	int at = open(s.upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC), made = 0;
	for (; made < 3000; made++) {
		if (mkdirat(at, "dd", 0755) < 0)
			break;
		int next = openat(at, "dd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		int file = openat(next, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

		close(file);
		close(at);
		at = next;
	}
	close(at);
	is_int(made, 3000, "3000 folders one in the other");
	int64_t start = clock_mono_ms();
	stage_snapshot(&s, &m);
	diag("snapshot of them: %lld ms", (long long)(clock_mono_ms() - start));
	for (size_t i = 0; i < m.n; i++) {
		size_t len = strlen(m.change[i].path);

		longest = len > longest && m.change[i].status == CHANGE_OK ? len : longest;
		refused += m.change[i].status == CHANGE_REFUSED;
	}
	ok(longest > 4000 && longest < 4096, "paths up to PATH_MAX are taken (longest %zu)", longest);
	ok(refused >= 1 && refused <= 2, "the rest is refused as one");

	struct err err;
	ok(layer_drop(&s.layer, NULL, 0, &err) == 0, "and dropped");
	stage_remove(&s);
}

int main(void)
{
	struct stage s;

	stage_make(&s);
	whiteouts = stage_whiteout(&s, "up/w");
	if (!whiteouts)
		skip("mknod of a 0:0 device is refused here: no whiteouts");
	stage_remove(&s);

	test_operations();
	test_refused();
	test_closed();
	test_owners();
	test_git();
	test_hidden();
	test_conflicts();
	test_births();
	test_deep();
	return tap_end();
}
