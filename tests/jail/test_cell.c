/* What a program sees and can do in a cell. */
#include "tests/jail/cell_fixture.h"

#include "core/base/json.h"
#include "jail/layers.h"

static void test_report(struct fixture *f)
{
	static const char *const must[] = { "userns",  "mounts", "proc",    "overlay", "network",
					    "keyring", "caps",   "seccomp", "limits" };

	ok(in_cell(f, "true") == 0, "a cell runs");
	ok(report.level >= CELL_S2, "level %s", cell_level_name(report.level));
	for (size_t i = 0; i < ARRAY_LEN(must); i++) {
		bool found = false;

		for (size_t k = 0; k < report.nlayers; k++)
			if (strcmp(report.layer[k].name, must[i]) == 0)
				found = report.layer[k].evidence[0] &&
					(report.layer[k].state == LAYER_OK) == !report.layer[k].remedy[0];
		ok(found, "%s is reported with evidence, and with a remedy when it lacks something", must[i]);
	}
	ok(json_validate(report.evidence_json, strlen(report.evidence_json), NULL, NULL) == 0, "evidence is JSON");
	ok(strstr(report.evidence_json, "\"seccomp_sha256\":\"") && strstr(report.evidence_json, "\"uid_map\":\""),
	   "evidence names the filter and the map");
	diag("%s", report.evidence_json);
}

static void test_identity(struct fixture *f)
{
	char want[64];
	unsigned uid = f->base ? 1000 : geteuid(), gid = f->base ? 1000 : getegid();

	in_cell(f, "$T/probe ids caps fds; exec 5</dev/null; $T/probe fds; ulimit -c");
	snprintf(want, sizeof(want), "ids: uid=%u gid=%u groups=", uid, gid);
	ok(strstr(output, want) && uid != 0, "uid %u, not root", uid);
	if (f->base)
		has_line(want) ? ok(true, "no further group of root's") : ok(false, "no further group of root's");
	ok(has_line("caps: inh=0 prm=0 eff=0 bnd=0 amb=0 nnp=1 seccomp=2 dumpable=1"),
	   "no capability, no_new_privs, seccomp");
	ok(has_line("fds: 0 1 2"), "no descriptor but the three");
	ok(has_line("fds: 0 1 2 5"), "control: another one would be seen");
	ok(has_line("0"), "no core file");
	in_cell(f, "cat /proc/self/oom_score_adj");
	is_str(output, "1000\n", "first to go when memory is short");
	in_cell(f, "id -un; id -gn; echo $HOME; ls -A $HOME; hostname");
	is_str(output, "agent\nagent\n/home/agent\nwarder\n", "named agent, with an empty home, on a host of its own");
}

static void test_environment(struct fixture *f)
{
	static const char *const argv[] = { NULL, "env", NULL };
	static const char *const env[] = { "LANG=de_DE.UTF-8", "EXTRA=1", NULL };
	const char *all[3];
	char probe[PATH_MAX + 8];
	struct cell_spec spec = fixture_spec(f, -1);

	setenv("WARDER_TEST_SECRET", "x", 1);
	snprintf(probe, sizeof(probe), "%s/probe", f->tools);
	memcpy(all, argv, sizeof(argv));
	all[0] = probe;
	spec.argv = all;
	spec.env = env;
	ok(run_spec(&spec) == 0, "a program by path");
	is_str(output,
	       "env: HOME=/home/agent\nenv: PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin\nenv: "
	       "USER=agent\n"
	       "env: LOGNAME=agent\nenv: SHELL=/bin/bash\nenv: TMPDIR=/tmp\nenv: LANG=de_DE.UTF-8\nenv: EXTRA=1\n",
	       "environment by list; what was named wins");
}

static void test_root(struct fixture *f)
{
	char secret[PATH_MAX];

	snprintf(secret, sizeof(secret), "%s/outside", f->dir);
	run_sh("echo secret > '%s'", secret);
	ok(access(secret, R_OK) == 0, "control: the file beside the workspace is readable outside");
	in_cell(f,
		"$T/probe read:%s read:/etc/shadow list:/sys list:/srv write:/usr/bin/env create:/usr/x create:/etc/x "
		"create:/x create:/var/x create:/run/x create:/tmp/x create:/home/agent/x create:/dev/shm/x "
		"create:/dev/x "
		"read:/dev/urandom write:/dev/null read:/dev/mem device:/tmp/mem whiteout:%s/w whiteout:/tmp/w",
		secret, f->ws);
	snprintf(secret, sizeof(secret), "read:%s/outside: ENOENT", f->dir);
	static const char *const lines[] = {
		"read:/etc/shadow: ENOENT",   "list:/sys: ENOENT",        "list:/srv: ENOENT",
		"write:/usr/bin/env: EACCES", "create:/usr/x: EROFS",     "create:/etc/x: EROFS",
		"create:/x: EROFS",           "create:/var/x: EROFS",     "create:/run/x: EROFS",
		"create:/tmp/x: ok",          "create:/home/agent/x: ok", "create:/dev/shm/x: ok",
		"create:/dev/x: EROFS",       "read:/dev/urandom: ok",    "write:/dev/null: ok",
		"read:/dev/mem: ENOENT",      "device:/tmp/mem: EPERM",   "whiteout:/tmp/w: EPERM",
	};
	ok(has_line(secret), "a file beside the workspace is not there");
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		ok(has_line(lines[i]), "%s", lines[i]);
	snprintf(secret, sizeof(secret), "whiteout:%s/w: EPERM", f->ws);
	ok(has_line(secret), "no forged deletion in the workspace");
	in_cell(f, "ls -A / | tr '\\n' ' '; ls -A /home /run /var /var/tmp");
	ok(strstr(output, " dev ") && !strstr(output, "sys ") && !strstr(output, "boot "), "root is a list: %.80s",
	   output);
	in_cell(f, "touch /tmp/of-the-cell /home/agent/of-the-cell && ls /tmp/of-the-cell");
	ok(access("/tmp/of-the-cell", F_OK) < 0, "/tmp is the cell's own");
	in_cell(f, "chmod u+s /bin/sh; cp /bin/true /tmp/t; chmod 4755 /tmp/t; $T/probe setuid:/tmp/new");
	ok(has_line("setuid:/tmp/new: EPERM"), "no set-id file");
}

static void test_proc(struct fixture *f)
{
	char marker[64], line[128];

	snprintf(marker, sizeof(marker), "marker-%d", (int)getpid());
	pid_t pid = fork();
	if (pid == 0) {
		execlp("sh", "sh", "-c", "sleep 60; true", marker, NULL);
		_exit(127);
	}
	ok(wait_processes(marker, 1, 5000) >= 0, "control: the host's process is seen outside");
	in_cell(f,
		"ls /proc | grep -c '^[0-9]'; $T/probe kill:%d ptrace:%d read:/proc/1/environ read:/proc/1/mem "
		"list:/proc/1/fd "
		"ptrace:1 steal-fd:1 write:/proc/sys/kernel/core_pattern; cat /proc/keys | wc -c",
		(int)pid, (int)pid);
	is_int(atoi(output), 4, "processes of the host are not seen: init, sh, ls and grep are all");
	snprintf(line, sizeof(line), "kill:%d: ESRCH", (int)pid);
	ok(has_line(line), "nor reached by number");
	static const char *const lines[] = {
		"read:/proc/1/environ: EACCES",
		"read:/proc/1/mem: EACCES",
		"list:/proc/1/fd: EACCES",
		"ptrace:1: EPERM",
		"steal-fd:1: EPERM",
		"write:/proc/sys/kernel/core_pattern: EACCES",
	};
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		ok(has_line(lines[i]), "%s", lines[i]);
	ok(has_line("0"), "no key of the host is listed");
	ok(kill(pid, 0) == 0, "the host's process lives");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);

	/* Not "write": a redirection would truncate what it could open. */
	in_cell(f, "find /proc/sys -type f | while read p; do $T/probe write:$p; done | grep -v -e ': EROFS$' -e ': "
		   "EACCES$' -e "
		   "': EPERM$'; find /proc/sys -type f | wc -l");
	ok(atoi(output) > 100, "no file of /proc/sys can be opened for writing (%d tried)", atoi(output));
	in_cell(f, "cat /proc/cpuinfo | head -1; cat /proc/self/mountinfo");
	ok(!strncmp(output, "processor", 9), "control: the rest of /proc is there");
	ok(!strstr(output, f->dir) || strstr(output, f->ws),
	   "no folder of the host in the list of mounts but the workspace");
}

static void test_network(struct fixture *f)
{
	in_cell(f, "$T/probe tcp:192.0.2.1:80 udp:192.0.2.1:53 tcp:127.0.0.1:9 vsock packet raw netlink-audit; "
		   "cat /proc/net/dev | tail -n +3 | cut -d: -f1");
	ok(has_line("tcp:192.0.2.1:80: ENETUNREACH"), "no TCP out");
	ok(has_line("udp:192.0.2.1:53: ENETUNREACH"), "no UDP out");
	ok(has_line("tcp:127.0.0.1:9: ECONNREFUSED"), "a loopback of its own, up");
	ok(has_line("vsock: EAFNOSUPPORT") && has_line("packet: EAFNOSUPPORT") && has_line("raw: EPERM"),
	   "families by list");
	ok(has_line("    lo"), "only lo");
}

static void test_kernel(struct fixture *f)
{
	static const char *const lines[] = {
		"userns: EPERM",         "userns-clone: EPERM", "userns-clone-high: EPERM",
		"clone3: ENOSYS",        "fsopen: ENOSYS",      "open-tree: ENOSYS",
		"mount-setattr: ENOSYS", "chroot: EPERM",       "pivot: EPERM",
		"openat2: ENOSYS",       "keyctl: EPERM",       "add-key: EPERM",
		"request-key: EPERM",    "io-uring: ENOSYS",    "bpf: EPERM",
		"perf: EPERM",           "mount:/tmp: EPERM",   "remount:/usr: EPERM",
		"umount:/proc: EPERM",   "handle:/usr: EPERM",  "sethostname: EPERM",
		"tiocsti-high: EPERM",
	};

	in_cell(f, "$T/probe userns userns-clone userns-clone-high clone3 fsopen open-tree mount-setattr chroot pivot "
		   "openat2 keyctl "
		   "add-key request-key io-uring bpf perf mount:/tmp remount:/usr umount:/proc handle:/usr sethostname "
		   "tiocsti-high");
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		ok(has_line(lines[i]), "%s", lines[i]);
	/* The second belt, whatever the filter says. */
	in_cell(f, "cat /proc/sys/user/max_user_namespaces");
	is_str(output, "0\n", "no user namespace below this one");
}

static void test_limits(struct fixture *f)
{
	static const char *argv[] = { "sh", "-c", "$T/probe fork:5000", NULL };
	static char tools[PATH_MAX + 8];
	static const char *const env[] = { tools, NULL };
	struct cell_spec spec = fixture_spec(f, -1);
	int n = -1;

	snprintf(tools, sizeof(tools), "T=%s", f->tools);
	spec.argv = argv;
	spec.env = env;
	ok(run_spec(&spec) == 0 && sscanf(output, "fork:5000: %d EAGAIN", &n) == 1 && n > 1000,
	   "5000 processes: refused after %d", n);
	spec.limits.processes = 40;
	argv[2] = "$T/probe fork:100";
	ok(run_spec(&spec) == 0 && sscanf(output, "fork:100: %d EAGAIN", &n) == 1 && n < 40,
	   "a limit of 40: refused after %d", n);
	spec.limits = (struct cell_limits){ .file_bytes = 3 << 20 };
	argv[2] = "$T/probe file-mb:/tmp/f:10";
	ok(run_spec(&spec) == 0 && has_line("file-mb:/tmp/f:10: 3 EFBIG"), "a limit on files");
	spec.limits = (struct cell_limits){ .open_files = 20 };
	argv[2] = "ulimit -n";
	ok(run_spec(&spec) == 0 && has_line("20"), "a limit on open files");
	if (report.level < CELL_S3) {
		skip("memory of a cell is bounded only by a control group, which may not be made here");
		return;
	}
	if (getenv("WARDER_SANITIZED")) {
		skip("the address sanitizer takes more memory than the limit");
		return;
	}
	spec.limits = (struct cell_limits){ .memory_bytes = 64 << 20 };
	argv[2] = "$T/probe memory-mb:512; echo $?";
	run_spec(&spec);
	ok(!strstr(output, "512 ok"), "a limit on memory: %s", output);
}

int main(void)
{
	struct fixture f;

	fixture_make(&f);
	test_report(&f);
	test_identity(&f);
	test_environment(&f);
	test_root(&f);
	test_proc(&f);
	test_network(&f);
	test_kernel(&f);
	test_limits(&f);
	fixture_end(&f);
	return tap_end();
}
