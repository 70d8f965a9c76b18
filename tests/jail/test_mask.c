/* What the mask hides of a real tree. */
#include "jail/mask.h"

#include "tests/jail/cell_fixture.h"

static int64_t build_us; /* of the last walk */

static int build(struct mask_result *ret)
{
	struct mask_result r = { 0 };

	run_sh("chmod -R u+rwX mask 2>/dev/null; rm -rf mask; mkdir mask");
	int lower = open("tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	    mask = open("mask", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int64_t start = clock_now_us();
	int code = mask_build(lower, mask, &r, &err);
	build_us = clock_now_us() - start;

	close(lower);
	close(mask);
	*ret = r;
	return code;
}

static bool hidden(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == 0;
}

static bool absent(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 && errno == ENOENT;
}

static void test_nothing(void)
{
	struct mask_result r = { 0 };

	run_sh("rm -rf tree; mkdir -p tree/a/b; touch tree/x tree/a/y; ln -s x tree/link; ln -s / tree/a/root");
	ok(build(&r) == 0 && !r.has_git && r.hidden == 0, "nothing to hide");
	is_int(r.seen, 6, "every name was seen, and links were not followed");
	ok(run_sh("test \"$(ls -A mask)\" = .git") == 0 && hidden("mask/.git"),
	   "the mask holds the place of a .git that may come");
}

static void test_git(void)
{
	struct mask_result r = { 0 };
	struct stat st, real;

	run_sh("rm -rf tree; mkdir -p tree/.git/info tree/a/b/c/.git tree/d/.git/sub/.git tree/e tree/f tree/g; echo s "
	       "> tree/.git/secret; "
	       "echo 'gitdir: x' > tree/e/.git; ln -s /etc tree/f/.git; mkdir tree/g/.GIT tree/g/.gitignore; chmod "
	       "2751 tree/a/b; "
	       "echo '*.o' > tree/.git/info/exclude; touch -d 2001-02-03 tree/a/b");
	ok(build(&r) == 0 && r.has_git, "a tree with repositories");
	is_int(r.hidden, 6, "all found");
	ok(hidden("mask/a/b/c/.git") && hidden("mask/d/.git") && hidden("mask/e/.git") && hidden("mask/f/.git"),
	   "folders, files and links called .git, at any depth");
	ok(hidden("mask/g/.GIT") && absent("mask/g/.gitignore"),
	   "and what some file system takes for it; nothing that only begins so");
	ok(stat("mask/a/b", &st) == 0 && stat("tree/a/b", &real) == 0 && st.st_mode == real.st_mode &&
		   st.st_uid == real.st_uid && st.st_mtime == real.st_mtime,
	   "folders of the mask look like the real ones");
	ok(run_sh("test \"$(getfattr -n user.overlay.opaque --only-values mask/.git 2>/dev/null)\" = y || ! command -v "
		  "getfattr >/dev/null") == 0,
	   "the top .git is opaque");
	ok(access("mask/.git/HEAD", R_OK) == 0 && access("mask/.git/objects/pack", R_OK) == 0 &&
		   absent("mask/.git/secret"),
	   "and an empty repository");
	ok(run_sh("git -C mask status --porcelain >/dev/null") == 0, "that git takes for one");
	ok(run_sh("cmp -s tree/.git/info/exclude mask/.git/info/exclude") == 0, "info/exclude is kept");
	run_sh("rm tree/.git/info/exclude; ln -s /etc/passwd tree/.git/info/exclude");
	ok(build(&r) == 0 && absent("mask/.git/info/exclude"), "not through a link");
	run_sh("rm tree/.git/info/exclude; head -c 100000 /dev/zero > tree/.git/info/exclude");
	ok(build(&r) == 0 && absent("mask/.git/info/exclude"), "nor a huge one");
	run_sh("rm -rf tree/.git; ln -s elsewhere tree/.git");
	ok(build(&r) == 0 && r.has_git && access("mask/.git/HEAD", R_OK) == 0, "a top .git that is a link");
}

static int bind_at(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	return bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ? -1 : fd;
}

static void test_special(void)
{
	struct mask_result r = { 0 };

	run_sh("rm -rf tree; mkdir -p tree/a/shut tree/b; mkfifo tree/fifo tree/a/fifo; touch tree/a/shut/x; chmod 0 "
	       "tree/a/shut");
	int s = bind_at("tree/b/socket");
	ok(s >= 0 && build(&r) == 0 && r.hidden == 3, "a socket and two FIFOs");
	ok(hidden("mask/fifo") && hidden("mask/a/fifo") && hidden("mask/b/socket"), "are hidden");
	ok(absent("mask/a/shut"), "a folder that cannot be listed is no obstacle");
	close(s);
	run_sh("chmod 700 tree/a/shut");
}

static void test_deep(void)
{
	struct mask_result r = { 0 };

	run_sh("rm -rf tree; mkdir tree; cd tree; i=0; while [ $i -lt 205 ]; do mkdir d; cd d; i=$((i+1)); done; mkdir "
	       ".git; echo x > .git/x");
	ok(build(&r) == 0 && r.hidden == 1, "a tree deeper than %d: what lies below is hidden as a whole",
	   MASK_DEPTH_MAX);
	is_int(r.seen, MASK_DEPTH_MAX, "and not walked");
}

static void test_speed(void)
{
	struct mask_result r = { 0 };

	run_sh("rm -rf tree; mkdir tree; cd tree; for d in 1 2 3 4; do mkdir $d; (cd $d; seq 1 500 | "
	       "xargs touch); done");
	ok(build(&r) == 0 && r.seen == 2004, "2004 entries");
	diag("%.2f us an entry", (double)build_us / (double)r.seen);
}

int main(void)
{
	test_nothing();
	test_git();
	test_special();
	test_deep();
	test_speed();
	return tap_end();
}
