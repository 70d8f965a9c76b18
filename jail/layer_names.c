#include "jail/layer_names.h"

#include <fnmatch.h>
#include <limits.h>
#include <sodium/crypto_shorthash.h>
#include <string.h>
#include <utf8proc.h>

#include "core/base/path.h"
#include "core/base/safe_text.h"

const char *layer_name_problem(const char *name)
{
	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		if (*p < 0x20 || *p == 0x7f)
			return "its name holds control bytes";
	return NULL;
}

const char *layer_name_note(const char *name)
{
	_cleanup_buf_ struct buf safe = BUF_INIT(16 * NAME_MAX);
	struct safe_stat stat = { 0 };

	safe_text(name, strlen(name), SAFE_LINE, &safe, &stat);
	return stat.hidden ? "its name holds characters that do not show" : "";
}

static size_t depth_of(const char *path)
{
	size_t depth = 0;

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

const char *layer_link_problem(const char *path, const char *target)
{
	size_t up = 0, len;
	bool named = false;

	if (target[0] == '/')
		return "it is a symlink to an absolute path";
	for (const char *p = target; *p; p += len) {
		p += strspn(p, "/");
		len = strcspn(p, "/");
		if (len == 2 && memcmp(p, "..", 2) == 0) {
			if (named)
				return "it is a symlink that goes up behind a name";
			up++;
		} else if (len && !(len == 1 && *p == '.')) {
			named = true;
		}
	}
	if (up > depth_of(path))
		return "it is a symlink that leaves the workspace";
	if (path_has_git(target))
		return "it is a symlink into a .git";
	return NULL;
}

uint64_t layer_name_fold(const char *name, const uint8_t key[16])
{
	utf8proc_uint8_t *folded = NULL;
	char lower[NAME_MAX + 1];
	uint64_t hash;

	_Static_assert(crypto_shorthash_KEYBYTES == 16, "key of SipHash");
	_Static_assert(crypto_shorthash_BYTES == sizeof(hash), "result of SipHash");
	utf8proc_ssize_t len = utf8proc_map((const utf8proc_uint8_t *)name, 0, &folded,
					    UTF8PROC_NULLTERM | UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD |
						    UTF8PROC_IGNORE);
	if (len >= 0) {
		crypto_shorthash((unsigned char *)&hash, folded, (unsigned long long)len, key);
		free(folded);
		return hash;
	}

	/* Not UTF-8: such a name has no case beyond ASCII. */
	size_t n = strnlen(name, NAME_MAX);
	for (size_t i = 0; i < n; i++)
		lower[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + ('a' - 'A')) : name[i];
	crypto_shorthash((unsigned char *)&hash, (const unsigned char *)lower, n, key);
	return hash;
}

/*
 * Patterns of the last component; with a '/' at the end: all below a folder of that name.  Letters match in either
 * case.
 */
static const char *const later[] = {
	/* hooks and checkers that start with a commit or a checkout */
	".gitmodules", ".gitattributes", ".gitconfig", ".mailmap", "CODEOWNERS", ".pre-commit-config.yaml",
	".husky/", "lefthook.y*ml", ".lefthook*", ".githooks/",
	/* CI */
	".github/", ".gitlab-ci.yml", ".gitlab/", ".circleci/", "Jenkinsfile", "azure-pipelines.y*ml", ".ci/",
	".travis.yml", ".woodpecker*", ".forgejo/", ".gitea/",
	/* shells, editors, tool versions */
	".envrc", ".env", ".tool-versions", "mise.toml", ".mise.toml", ".mise/", ".devcontainer/", ".vscode/",
	".idea/", ".zed/", "*.code-workspace", ".vimrc", ".exrc", ".nvim.lua", ".dir-locals.el", ".gdbinit",
	".lldbinit",
	/* agents */
	".claude/", ".mcp.json", ".cursor/", ".cursorrules", ".codex/", ".gemini/", ".agents/", "AGENTS.md",
	"CLAUDE*.md", "GEMINI.md", ".windsurf/", ".windsurfrules", ".clinerules", ".aider*", ".warder/",
	"*.policy",
	/* build: runs at the next make, install or test */
	"Makefile", "GNUmakefile", "Makefile.*", "*.mk", "configure", "configure.ac", "autogen.sh",
	"bootstrap", "CMakeLists.txt", "*.cmake", "meson.build", "build.ninja", "BUILD", "BUILD.bazel",
	"WORKSPACE", ".bazelrc", "SConstruct", "justfile", "Taskfile.y*ml", "package.json", ".npmrc",
	".yarnrc*", ".yarn/", ".pnpmfile.cjs", "binding.gyp", "setup.py", "setup.cfg", "pyproject.toml",
	"conftest.py", "tox.ini", "noxfile.py", "*.pth", "sitecustomize.py", "build.rs", "Cargo.toml",
	".cargo/", "Dockerfile*", "Containerfile*", "docker-compose*.y*ml", "compose.y*ml", "Gemfile",
	"Rakefile", "*.gemspec", "build.gradle*", "settings.gradle*", "gradle.properties", "gradle/",
	"gradlew*", "mvnw*", ".mvn/", "pom.xml", "composer.json", "mix.exs", "flake.nix", "default.nix",
	"shell.nix", "Vagrantfile", "Procfile",
	/* what pins the code that a build fetches */
	"*.lock", "*-lock.json", "*-lock.yaml", "npm-shrinkwrap.json", "go.mod", "go.sum", "go.work",
};

static bool is_below(const char *path, const char *folder, size_t len)
{
	for (const char *p = path, *slash; (slash = strchr(p, '/')); p = slash + 1)
		if ((size_t)(slash - p) == len && strncasecmp(p, folder, len) == 0)
			return true;
	return false;
}

bool layer_runs_later(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < ARRAY_LEN(later); i++) {
		size_t len = strlen(later[i]);

		if (later[i][len - 1] == '/' ? is_below(path, later[i], len - 1)
					     : fnmatch(later[i], name, FNM_CASEFOLD) == 0)
			return true;
	}
	return false;
}
