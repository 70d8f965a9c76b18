/* Names that some file system takes for ".git", and names that none does. */
#include "core/base/path.h"
#include "tests/tap.h"

static const char *const git[] = {
	".git",
	".GIT",
	".Git",
	".gIt",
	/* NTFS, FAT: trailing dots and spaces, short names, streams, backslash */
	".git.",
	".git ",
	".git . .",
	".git...   ",
	"git~1",
	"GIT~1",
	"git~1.",
	"git~1 ",
	"git~2",
	"git~10",
	".git::$INDEX_ALLOCATION",
	".git:x",
	".git :x",
	".GIT.::$DATA",
	"git~1:$I30:$INDEX_ALLOCATION",
	".git\\hooks",
	"a\\.git",
	"a\\b\\.GiT\\c",
	"\\.git",
	"x\\git~1",
	/* HFS+ ignores these anywhere in a name */
	".g\xe2\x80\x8cit",
	".gi\xe2\x80\x8dt",
	"\xe2\x80\x8e.git",
	".git\xe2\x80\x8f",
	".\xe2\x80\xaagit",
	".g\xe2\x80\xabit",
	".gi\xe2\x80\xact",
	".git\xe2\x80\xad",
	"\xe2\x80\xae.git",
	".g\xe2\x81\xaait",
	".g\xe2\x81\xabit",
	".g\xe2\x81\xacit",
	".g\xe2\x81\xadit",
	".g\xe2\x81\xaeit",
	".g\xe2\x81\xafit",
	"\xef\xbb\xbf.git",
	".g\xef\xbb\xbfi\xe2\x80\x8ct",
	/* so do ext4 and f2fs folders with casefold: soft hyphen, joiner, fillers, variation selectors, tags */
	".g\xc2\xadit",
	".g\xcd\x8fit",
	".g\xe2\x80\x8bit",
	".g\xe2\x81\xa0it",
	".git\xef\xb8\x8f",
	".git\xf3\xa0\x80\xa0",
	/* together */
	"\xe2\x80\x8cG\xe2\x80\x8di\xe2\x80\x8et~1\xe2\x80\x8f. ",
	".G\xe2\x80\x8cIT::$INDEX_ALLOCATION",
};

static const char *const other[] = {
	"",
	".",
	"..",
	"git",
	".gi",
	".gitt",
	".gitignore",
	".gitmodules",
	".gitattributes",
	".github",
	".git-blame-ignore-revs",
	"x.git",
	"repo.git",
	" .git",
	"..git",
	".git.x",
	".git x",
	".git. x",
	"git~",
	"git~a",
	"git~1x",
	"git~1~",
	"agit~1",
	".g\xc3\xadt" /* i with acute */,
	".g\xc4\xb1t" /* dotless i */,
	".g\xff\x69t",
	".git\xff",
	".\xe2\x80it",
	".git_",
	".git;",
	"gitx\\y",
	"\\",
	"a\\",
	".gi\\t",
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(git); i++)
		ok(path_component_is_git(git[i], strlen(git[i])), "is git: %s", git[i]);
	for (size_t i = 0; i < ARRAY_LEN(other); i++)
		ok(!path_component_is_git(other[i], strlen(other[i])), "is not: %s", other[i]);
	ok(!path_component_is_git(".gitignore", 9), "only `len` bytes count: .gitignor");
	ok(path_component_is_git(".gitignore", 4), "only `len` bytes count: .git");

	ok(path_has_git(".git"), "path: alone");
	ok(path_has_git("a/b/.GIT/hooks/pre-commit"), "path: in the middle");
	ok(path_has_git("a/b/.git"), "path: at the end");
	ok(path_has_git("a//.git ::x//b"), "path: between double slashes");
	ok(path_has_git("sub/.g\xe2\x80\x8cit/config"), "path: with an ignorable");
	ok(!path_has_git("a/.gitignore"), "path: .gitignore is none");
	ok(!path_has_git("git/.github/x"), "path: nor .github");
	ok(!path_has_git(""), "path: nor nothing");
	return tap_end();
}
