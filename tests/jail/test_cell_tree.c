/* The workspace in a cell: staged changes, the hidden and the synthetic .git, dead sockets, owners, further paths. */
#include "tests/jail/cell_fixture.h"

#include <sched.h>
#include <sys/mount.h>

#define GIT "git -c user.name=op -c user.email=op@example.org -c init.defaultBranch=main "

static void test_staged(struct fixture *f)
{
	char before[DIGEST_HEX_LEN + 1], after[DIGEST_HEX_LEN + 1];

	run_sh("cd '%s' && mkdir -p d/e other && echo one > file && echo two > d/e/deep && echo three > gone && "
	       "ln -s file link && chmod 750 d && echo s > 'sp ace,:\\ x'",
	       f->ws);
	tree_digest(f->ws, before);
	ok(in_cell(f, "pwd; echo new > new && echo more >> file && rm gone && mv d/e/deep moved && rm -r other && "
		      "mkdir other && "
		      "chmod 600 file && ln -sf /etc/passwd link && cat 'sp ace,:\\ x' && stat -c %%a . d") == 0,
	   "every kind of change");
	ok(has_line(f->ws), "at its real path");
	ok(has_line("755") && has_line("750"), "with the real modes");
	is_str(tree_digest(f->ws, after), before,
	       "the real tree did not change: names, modes, times, inodes, contents");
	ok(in_cell(f, "cat new file moved; ls -A; ls -A other; readlink link; test ! -e gone") == 0,
	   "the next cell over the layer");
	is_str(output, "new\none\nmore\ntwo\nd\nfile\nlink\nmoved\nnew\nother\nsp ace,:\\ x\n/etc/passwd\n",
	       "goes on from there");

	struct cell_spec spec = fixture_spec(f, -1);
	static const char *const argv[] = { "sh", "-c",
					    "cat file; echo x >> file; mkdir z; rmdir z; rm -r d; mkdir d; cat file",
					    NULL };
	spec.layer_fd = -1;
	spec.argv = argv;
	ok(run_spec(&spec) == 0, "a layer of the cell's own");
	is_str(output, "one\none\nx\n", "starts from the real tree");
	is_str(tree_digest(f->ws, after), before, "and leaves it alone");
	run_sh("rm -rf '%s'/* && chmod -R u+rwX '%s/layer' && rm -rf '%s'/layer/*", f->ws, f->dir, f->dir);
}

static void test_no_repository(struct fixture *f)
{
	run_sh("echo x > '%s/file'", f->ws);
	ok(in_cell(f, "ls -A; git status 2>&1 | head -1") == 0, "a workspace that is no repository");
	ok(has_line("file") && !strstr(output, ".git\n") && strstr(output, "not a git repository"),
	   "has no .git in the cell");
	/* A repository above does not matter either. */
	run_sh("cd '%s' && " GIT "init -q . && rm -rf '%s'/layer/*", f->dir, f->dir);
	in_cell(f, "git status 2>&1 | head -1");
	ok(strstr(output, "not a git repository"), "nor that of a folder above");
	run_sh("rm -rf '%s/.git'", f->dir);
}

static void test_git(struct fixture *f)
{
	char before[DIGEST_HEX_LEN + 1], after[DIGEST_HEX_LEN + 1];
	static const char *const argv[] = {
		"sh", "-c",
		"git status --porcelain; git log --format=%s; echo changed >> tracked; git diff --stat; git add -A && "
		"git commit -qm 'by the agent' && git log --format=%s; git checkout -q -b topic; git status; git fsck "
		"--strict && "
		"echo fsck-ok",
		NULL
	};
	struct cell_spec spec = fixture_spec(f, -1);

	run_sh("cd '%s' && " GIT "init -q . && echo tracked > tracked && mkdir -p sub/deep/deeper/nested mod wt && "
	       "(cd sub/deep/deeper/nested && " GIT "init -q . && echo REALGIT > .git/marker && echo n > n) && "
	       "(cd mod && " GIT
	       "init -q . && echo m > m) && echo 'gitdir: ../.git/worktrees/REALGIT' > wt/.git && echo w > wt/w && " GIT
	       "add tracked wt/w && " GIT "commit -qm 'REALGIT first' && echo REALGIT > .git/description && "
	       "git config remote.origin.url https://REALGIT@example.org/x && echo '*.skip' > .git/info/exclude && "
	       "echo i > a.skip && "
	       "chmod 751 sub/deep",
	       f->ws);
	tree_digest(f->ws, before);

	in_cell(f, "find . -name .git");
	is_str(output, "./.git\n", "the top .git is another one; those below are gone, folders and files");
	in_cell(f, "grep -r REALGIT . ; ls -A sub/deep/deeper/nested mod wt; stat -c %%a sub/deep; "
		   "$T/probe list:sub/deep/deeper/nested/.git read:wt/.git read:.git/marker read:.git/description");
	ok(!strstr(output, "REALGIT"), "nothing of a real .git can be read");
	ok(has_line("n") && has_line("m") && has_line("w"), "what lies beside them is there");
	ok(has_line("751"), "with the mode of the real folder");
	ok(has_line("read:.git/description: ENOENT") && has_line("read:wt/.git: ENOENT"), "gone is ENOENT");

	spec.argv = argv;
	spec.baseline = true;
	ok(run_spec(&spec) == 0 && has_line("fsck-ok"), "git status, log, diff, add, commit, checkout, fsck");
	ok(strncmp(output, "state at the start of the session\n", 34) == 0, "clean at the start, with one commit");
	ok(has_line("by the agent") && has_line("On branch topic"), "the agent commits and branches");
	ok(!strstr(output, "a.skip"), "the operator's info/exclude holds");
	is_str(tree_digest(f->ws, after), before, "the real repositories did not change by a byte");

	ok(run_spec(&spec) == 0, "a second cell over the layer");
	ok(strstr(output, "by the agent\nstate at the start"), "has the agent's commits and no further first one");
	in_cell(f, "rm -rf .git && ls -A && git status 2>&1 | head -1");
	ok(!strstr(output, ".git\n") && strstr(output, "not a git repository"),
	   "the agent can do away with its repository");
	ok(run_spec(&spec) != 0 && !strstr(output, "fsck-ok"), "and stays without one");
	in_cell(f, "mv sub renamed && find . -name .git; mkdir mod/.git && echo mine > mod/.git/x && cat mod/.git/x; "
		   "ls mod/.git");
	ok(!strstr(output, "nested/.git") && strstr(output, "mine\nx\n"),
	   "a moved folder shows no real .git, nor one that is made anew");
	is_str(tree_digest(f->ws, after), before, "still not changed");
	run_sh("rm -rf '%s'/* '%s/.git' && chmod -R u+rwX '%s/layer' && rm -rf '%s'/layer/*", f->ws, f->ws, f->dir,
	       f->dir);
}

static void test_worktree(struct fixture *f)
{
	run_sh("mkdir '%s/repo' && cd '%s/repo' && " GIT "init -q . && echo x > x && " GIT "add x && " GIT
	       "commit -qm REALGIT && "
	       "rmdir '%s' && git worktree add -q '%s'",
	       f->dir, f->dir, f->ws, f->ws);
	struct cell_spec spec = fixture_spec(f, -1);
	static const char *const argv[] = {
		"sh", "-c", "git log --format=%s; git status --porcelain; test -d .git && cat .git/HEAD", NULL
	};
	spec.argv = argv;
	spec.baseline = true;
	ok(run_spec(&spec) == 0, "a workspace that is a linked worktree");
	is_str(output, "state at the start of the session\nref: refs/heads/main\n",
	       "has a repository of its own in the cell");
	run_sh("rm -rf '%s/repo' '%s' && mkdir '%s' && chmod -R u+rwX '%s/layer' && rm -rf '%s'/layer/*", f->dir, f->ws,
	       f->ws, f->dir, f->dir);
}

static int listen_at(const char *path, int type)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || (type == SOCK_STREAM && listen(fd, 4) < 0))
		diag("%s: %s", path, strerror(errno));
	return fd;
}

static void test_sockets(struct fixture *f)
{
	char was[PATH_MAX];

	/* Names of sockets are short: from the workspace itself. */
	if (!getcwd(was, sizeof(was)) || chdir(f->ws) < 0 || mkdir("in", 0755) < 0)
		return;
	int s = listen_at("in/stream", SOCK_STREAM), d = listen_at("dgram", SOCK_DGRAM);
	ok(mkfifo("fifo", 0666) == 0 &&
		   system("$top_builddir/tests/jail/probe unix-stream:in/stream unix-dgram:dgram | grep -c ok$ | "
			  "grep -qx 2") == 0,
	   "control: both sockets answer outside");
	static const char *argv[] = { "sh", "-c",
				      "ls -A . in; touch ready; while ! test -S later; do sleep 0.02; done; "
				      "$T/probe unix-stream:in/stream unix-dgram:dgram unix-stream:later; ls -la later",
				      NULL };
	static char tools[PATH_MAX + 8];
	static const char *const env[] = { tools, NULL };
	struct cell_spec spec = fixture_spec(f, -1);
	struct cell *c = NULL;
	int pipes[2], wstatus = -1, l;

	snprintf(tools, sizeof(tools), "T=%s", f->tools);
	spec.argv = argv;
	spec.env = env;
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return;
	spec.stdio[1] = spec.stdio[2] = pipes[1];
	ok(cell_start(&spec, &c, &report, &err) == 0, "a cell");
	l = listen_at("later", SOCK_STREAM); /* while it runs */
	if (c && cell_wait(c, &wstatus, &err) < 0)
		wstatus = -1;
	cell_end(&c);
	close(pipes[1]);
	ssize_t n = read(pipes[0], output, sizeof(output) - 1);
	output[n > 0 ? n : 0] = '\0';
	close(pipes[0]);
	ok(!strstr(output, "fifo\n") && has_line("unix-stream:in/stream: ENOENT") &&
		   has_line("unix-dgram:dgram: ENOENT"),
	   "sockets and FIFOs of the real tree are not there");
	ok(has_line("unix-stream:later: ECONNREFUSED"), "one that was made later is dead");
	close(s);
	close(d);
	close(l);
	if (chdir(was) < 0)
		abort();
	run_sh("rm -rf '%s'/* && chmod -R u+rwX '%s/layer' && rm -rf '%s'/layer/*", f->ws, f->dir, f->dir);
}

static void test_owners(struct fixture *f)
{
	if (geteuid() != 0) {
		skip("files of another owner can be made by root alone");
		return;
	}
	/* 70000 has no number in the cell. */
	run_sh("cd '%s' && echo a > mine && echo b > other && echo c > thousand && echo d > far && chmod 666 * && "
	       "chown 1 other && "
	       "chown 1000 thousand && chown 70000:70000 far",
	       f->ws);
	in_cell(f, "stat -c '%%n %%u' *; cat far; for i in *; do echo x 2>/dev/null >> $i || echo refused $i; done; "
		   "cat mine other thousand; "
		   "$T/probe write:far");
	ok(has_line("mine 1000") && has_line("thousand 0") && has_line("other 1") && has_line("far 65534"),
	   "the owner of the workspace is the agent, who had the agent's number has the owner's, others keep theirs");
	ok(strstr(output, "\nd\n") && has_line("refused far") && has_line("write:far: EACCES"),
	   "what belongs to a number beyond is readable and cannot be changed");
	ok(strstr(output, "a\nx\nb\nx\nc\nx\n"), "the others can");

	struct stat st;
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/layer/upper/mine", f->dir);
	ok(stat(path, &st) == 0 && st.st_uid == f->base + 1000, "in the layer the agent's files are of the range");
	snprintf(path, sizeof(path), "%s/layer/upper/thousand", f->dir);
	ok(stat(path, &st) == 0 && st.st_uid == f->base, "and so are the others'");
	ok(run_sh("cd '%s' && test \"$(cat far mine other thousand | tr -d '\\n')\" = dabc", f->ws) == 0,
	   "the real ones are as they were");
	run_sh("rm -rf '%s'/* && chmod -R u+rwX '%s/layer' && rm -rf '%s'/layer/*", f->ws, f->dir, f->dir);
}

static void test_paths(struct fixture *f)
{
	char ro[PATH_MAX], rw[PATH_MAX], file[PATH_MAX], command[PATH_MAX * 8], inside[PATH_MAX];
	const char *ros[] = { ro, file, inside, NULL }, *rws[] = { rw, NULL };
	const char *argv[] = { "sh", "-c", command, NULL };
	struct cell_spec spec = fixture_spec(f, -1);
	struct stat st;

	run_sh("cd '%s' && mkdir tool-chain cache ws/inside && echo t > tool-chain/t && echo f > file && chmod 600 "
	       "file && "
	       "echo i > ws/inside/i",
	       f->dir);
	snprintf(ro, sizeof(ro), "%s/tool-chain", f->dir);
	snprintf(rw, sizeof(rw), "%s/cache", f->dir);
	snprintf(file, sizeof(file), "%s/file", f->dir);
	snprintf(inside, sizeof(inside), "%s/inside", f->ws);
	snprintf(command, sizeof(command),
		 "cat '%s'/t '%s' inside/i; echo x > '%s/x' || echo refused; echo y > inside/y || echo refused; "
		 "echo kept > '%s/kept'; ls -A '%s'",
		 ro, file, ro, rw, f->dir);
	spec.ro = ros;
	spec.rw = rws;
	spec.argv = argv;
	ok(run_spec(&spec) == 0, "further paths");
	ok(strstr(output, "t\nf\ni\n"), "are readable, files and folders, beside and inside the workspace");
	ok(strstr(output, "refused\n") && strstr(strstr(output, "refused\n") + 8, "refused\n"),
	   "those named to be read are not writable");
	ok(has_line("cache") && !strstr(output, "layer\n") && !strstr(output, "run\n"),
	   "and what lies beside them is not there");
	snprintf(command, sizeof(command), "%s/cache/kept", f->dir);
	ok(stat(command, &st) == 0 && st.st_uid == geteuid(), "the one named to be written is, as its owner");
	snprintf(command, sizeof(command), "%s/inside/y", f->ws);
	ok(stat(command, &st) < 0, "a read-only folder in the workspace stays as it was");
}

/* No byte of a path means anything to the kernel's options or to our lists. */
static void test_odd_name(struct fixture *f)
{
	static const char *const argv[] = { "sh", "-c", "pwd; ls; echo new > made && cat made", NULL };
	struct cell_spec spec = fixture_spec(f, -1);
	char odd[PATH_MAX], want[PATH_MAX + 32];

	snprintf(odd, sizeof(odd), "%s/a ,lowerdir=:\\b\n\xff'", f->dir);
	ok(mkdir(odd, 0755) == 0, "a folder with every odd byte in its name");
	snprintf(want, sizeof(want), "%s/inner", odd);
	int fd = open(want, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	close(fd);
	spec.workspace = odd;
	spec.layer_fd = -1;
	spec.argv = argv;
	snprintf(want, sizeof(want), "%s\ninner\nnew\n", odd);
	ok(run_spec(&spec) == 0 && strcmp(output, want) == 0, "is a workspace like others");
	snprintf(want, sizeof(want), "%s/made", odd);
	ok(access(want, F_OK) < 0, "and staged");
}

/* What is mounted in the workspace is another file system's. */
static void test_mounts(struct fixture *f)
{
	static const char *const argv[] = { "sh", "-c", "ls -A m; echo end", NULL };
	int wstatus = 1;

	if (geteuid() != 0) {
		skip("a mount of the host can be made by root alone");
		return;
	}
	pid_t pid = fork();
	if (pid == 0) {
		struct cell_spec spec = fixture_spec(f, -1);
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/m", f->ws);
		spec.argv = argv;
		spec.layer_fd = -1;
		if (mkdir(path, 0755) < 0 || unshare(CLONE_NEWNS) < 0 ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("none", path, "tmpfs", 0, NULL) < 0 || run_sh("touch '%s/mounted'", path))
			_exit(2);
		_exit(run_spec(&spec) == 0 && strcmp(output, "end\n") == 0 ? 0 : 3);
	}
	ok(waitpid(pid, &wstatus, 0) == pid && wstatus == 0, "what is mounted in the workspace is not shown (%x)",
	   wstatus);
	run_sh("rmdir '%s/m'", f->ws);
}

static void test_folder(struct fixture *f)
{
	static const char *const argv[] = { "pwd", NULL };
	struct cell_spec spec = fixture_spec(f, -1);
	struct cell *c = NULL;
	char cwd[PATH_MAX];

	run_sh("mkdir -p '%s/a/b' && ln -s a '%s/alink'", f->ws, f->ws);
	spec.argv = argv;
	spec.cwd = cwd;
	snprintf(cwd, sizeof(cwd), "%s/a/b", f->ws);
	ok(run_spec(&spec) == 0 && strncmp(output, cwd, strlen(cwd)) == 0, "a folder to start in");
	spec.stdio[1] = spec.stdio[2] = -1;
	static const char *const bad[] = { "/nowhere", "/proc/1/cwd", "/proc/self/fd/3", "/etc/passwd" };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		spec.cwd = bad[i];
		is_int(cell_start(&spec, &c, NULL, &err), E_NOTFOUND, "%s is none: %s", bad[i], err.text);
	}
	spec.cwd = cwd;
	snprintf(cwd, sizeof(cwd), "%s/alink", f->ws);
	is_int(cell_start(&spec, &c, NULL, &err), E_NOTFOUND, "nor is a symbolic link");
	spec.cwd = "relative";
	is_int(cell_start(&spec, &c, NULL, &err), E_USAGE, "nor a relative path");
}

int main(void)
{
	struct fixture f;

	unsetenv("GIT_DIR");
	fixture_make(&f);
	test_staged(&f);
	test_no_repository(&f);
	test_git(&f);
	test_worktree(&f);
	test_sockets(&f);
	test_owners(&f);
	test_paths(&f);
	test_mounts(&f);
	test_odd_name(&f);
	test_folder(&f);
	fixture_end(&f);
	return tap_end();
}
