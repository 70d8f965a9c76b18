/* Machines that lack something: no cell, one clear line, nothing left behind.  Run with the word "start" it starts a
 * cell and tells what came of it; the test runs that on a machine made poorer by the program `fault`. */
#include "tests/jail/cell_fixture.h"

#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>

static int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = -2;

	for (; dir && readdir(dir); n++)
		;
	if (dir)
		closedir(dir);
	return n;
}

static _Noreturn void start_and_tell(enum cell_level floor)
{
	static const char *const argv[] = { "true", NULL };
	struct fixture f;
	char path[PATH_MAX];

	fixture_make(&f);
	struct cell_spec spec = fixture_spec(&f, -1);
	struct cell *c = NULL;
	spec.argv = argv;
	spec.floor = floor;
	int fds = count_entries("/proc/self/fd");
	int r = cell_start(&spec, &c, &report, &err);
	cell_end(&c);

	printf("%s: %s\n", r < 0 ? err_name(r) : "ok", r < 0 ? err.text : "");
	for (size_t i = 0; i < report.nlayers; i++)
		printf("layer %s %d\n", report.layer[i].name, report.layer[i].state);
	printf("level %s\n", cell_level_name(report.level));
	/* The program of init is kept for the next cell. */
	printf("descriptors %+d\n", count_entries("/proc/self/fd") - fds);
	printf("children %s\n", waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD ? "none" : "some");
	snprintf(path, sizeof(path), "%s/layer", f.dir);
	printf("layer holds %d\n", count_entries(path));
	const char *group = strstr(report.evidence_json, "\"cgroup\":\"");
	snprintf(path, sizeof(path), "%.*s", group ? (int)strcspn(group + 10, "\"") : 0, group ? group + 10 : "");
	printf("control group %s\n", group && access(path, F_OK) == 0 ? "left" : "gone");
	fixture_end(&f);
	/* Not the leak sanitizer, which would need what this machine lacks. */
	fflush(stdout);
	_exit(0);
}

static void run_faulty(const char *fault, const char *word)
{
	char command[PATH_MAX * 2], self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[len > 0 ? len : 0] = '\0';
	snprintf(command, sizeof(command), "\"$top_builddir\"/tests/jail/fault %s -- '%s' %s 2>&1", fault, self, word);
	FILE *p = popen(command, "re");
	size_t n = p ? fread(output, 1, sizeof(output) - 1, p) : 0;
	output[n] = '\0';
	if (p)
		pclose(p);
}

static int count_lines(const char *path)
{
	FILE *f = fopen(path, "re");
	int n = 0, c;

	while (f && (c = fgetc(f)) != EOF)
		n += c == '\n';
	if (f)
		fclose(f);
	return n;
}

static void test_lacking(void)
{
	static const struct {
		const char *fault, *layer, *title, *remedy;
	} cases[] = {
		{ "--no-userns", "userns", "user namespaces: ", "max_user_namespaces" },
		{ "clone=EPERM", "userns", "user namespaces: ", "apparmor_restrict_unprivileged_userns" },
		{ "clone=EINVAL", "userns", "user namespaces: ", "max_user_namespaces" },
		{ "mount=EPERM", "mounts", "mount namespace: ", "needs Linux" },
		{ "pivot_root=EPERM", "mounts", "mount namespace: ", "needs Linux" },
		{ "fsopen=ENOSYS", "mounts", "mount namespace: ", "needs Linux" },
		{ "move_mount=ENOSYS", "mounts", "mount namespace: ", "needs Linux" },
		{ "socket=EPERM", "network", "network namespace: ", "CONFIG_NET_NS" },
		{ "fsetxattr=EOPNOTSUPP", "overlay", "staged workspace: ", "user xattrs" },
		{ "keyctl=EDQUOT", "keyring", "session keyring: ", "CONFIG_KEYS" },
		{ "seccomp=EINVAL", "seccomp", "seccomp filter: ", "CONFIG_SECCOMP_FILTER" },
		{ "landlock_restrict_self=E2BIG", "landlock", "Landlock: ", "landlock" },
	};
	int mounts = count_lines("/proc/self/mountinfo");
	char line[64];

	run_faulty("", "start");
	if (!ok(has_line("ok: ") && has_line("descriptors +1") && has_line("children none"),
		"control: nothing lacks, the cell starts"))
		return;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		run_faulty(cases[i].fault, "start");
		ok(strncmp(output, "machine: ", 9) == 0 &&
			   strncmp(output + 9, cases[i].title, strlen(cases[i].title)) == 0,
		   "%s: refused: %.*s", cases[i].fault, (int)strcspn(output, "\n"), output);
		ok(strstr(output, cases[i].remedy) && strstr(output, "; "), "%s: with a remedy", cases[i].fault);
		snprintf(line, sizeof(line), "layer %s 2", cases[i].layer);
		ok(has_line(line) && has_line("level none"), "%s: the report names the layer", cases[i].fault);
		ok(has_line("children none") && has_line("layer holds 0") && (has_line("descriptors +1")),
		   "%s: no process, file or descriptor is left", cases[i].fault);
	}
	is_int(count_lines("/proc/self/mountinfo"), mounts, "no mount is left");
}

static void test_landlock_missing(void)
{
	run_faulty("landlock_create_ruleset=ENOSYS", "start");
	ok(has_line("ok: ") && has_line("level S2") && has_line("layer landlock 2"),
	   "without Landlock: S2, and it is said");
	run_faulty("landlock_create_ruleset=ENOSYS", "start-s3");
	ok(strncmp(output, "machine: jail level: this machine gives S2 and S3 is asked for", 60) == 0 &&
		   strstr(output, "landlock"),
	   "under the floor: refused: %.*s", (int)strcspn(output, "\n"), output);
	ok(has_line("children none") && has_line("layer holds 0"), "nothing is left");
}

static void test_idmap_refused(void)
{
	if (geteuid() != 0) {
		skip("only root has id-mapped mounts");
		return;
	}
	run_faulty("mount_setattr=EINVAL", "start");
	ok(strncmp(output, "machine: id-mapped mounts: ", 27) == 0 && has_line("layer idmap 2") &&
		   has_line("layer holds 0"),
	   "id-mapped mounts refused: %.*s", (int)strcspn(output, "\n"), output);

	/* A file system that has none: overlayfs itself. */
	pid_t pid = fork();
	if (pid == 0) {
		struct fixture f;
		struct cell *c = NULL;
		static const char *const argv[] = { "true", NULL };
		char options[PATH_MAX * 4];

		fixture_make(&f);
		run_sh("mkdir '%s/lower' '%s/upper' '%s/work'", f.dir, f.dir, f.dir);
		snprintf(options, sizeof(options), "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", f.dir, f.dir,
			 f.dir);
		if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("overlay", f.ws, "overlay", 0, options) < 0)
			_exit(2);
		struct cell_spec spec = fixture_spec(&f, -1);
		spec.argv = argv;
		int r = cell_start(&spec, &c, &report, &err);
		diag("%s", err.text);
		umount(f.ws);
		fixture_end(&f);
		_exit(r == E_MACHINE && strstr(err.text, "id-mapped mounts") ? 0 : 1);
	}
	int wstatus;
	ok(waitpid(pid, &wstatus, 0) == pid && wstatus == 0,
	   "a workspace on a file system without id-mapped mounts is refused");
}

static void test_wrong_ids(void)
{
	static const char *const argv[] = { "true", NULL };
	struct cell *c = NULL;
	struct fixture f;

	fixture_make(&f);
	struct cell_spec spec = fixture_spec(&f, -1);
	spec.argv = argv;
	spec.idmap_base = f.base ? 0 : 0x70000000;
	int r = cell_start(&spec, &c, &report, &err);
	ok(r < 0, f.base ? "root without a range is refused: %s" : "a range of an ordinary user's is refused: %s",
	   err.text);
	fixture_end(&f);
}

static void test_doctor(void)
{
	cell_probe(&report);
	ok(report.level >= CELL_S2, "the doctor's level: %s", cell_level_name(report.level));
	bool tried = false;
	for (size_t i = 0; i < report.nlayers; i++)
		tried = tried || strstr(report.layer[i].evidence, "rmdir+mkdir");
	ok(tried, "the overlay was tried");
	run_faulty("pivot_root=EPERM", "doctor");
	ok(has_line("level none") && has_line("layer mounts 2") && has_line("layer userns 0"),
	   "a machine that lacks something: told by layer");
	ok(run_sh("ls -d /tmp/warder-doctor-* 2>/dev/null | grep -q .") != 0, "no scratch folder is left");
}

static _Noreturn void doctor_tells(void)
{
	cell_probe(&report);
	for (size_t i = 0; i < report.nlayers; i++)
		printf("layer %s %d\n", report.layer[i].name, report.layer[i].state);
	printf("level %s\n", cell_level_name(report.level));
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "doctor") == 0)
		doctor_tells();
	if (argc > 1)
		start_and_tell(strcmp(argv[1], "start") == 0 ? CELL_S2 : CELL_S3);
	test_lacking();
	test_landlock_missing();
	test_idmap_refused();
	test_wrong_ids();
	test_doctor();
	return tap_end();
}
