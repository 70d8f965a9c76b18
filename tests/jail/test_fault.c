/* The tools of the jail's tests: `fault` makes the kernel lack what it is told to, `probe` says so by name; and probes
 * that are the control of an escape test do succeed on the outside. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/macro.h"
#include "tests/tap.h"

static char fault[4096], probe[4096];

/* Standard output of a command with FAULT and PROBE replaced by the programs; its status in *ret_status. */
static char *run(const char *command, char out[4096], int *ret_status)
{
	FILE *f;

	setenv("FAULT", fault, 1);
	setenv("PROBE", probe, 1);
	f = popen(command, "re");
	if (!f)
		return NULL;
	size_t n = fread(out, 1, 4095, f);
	out[n] = '\0';
	int status = pclose(f);
	*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
	return out;
}

static void gives(const char *command, const char *want, int want_status)
{
	char out[4096] = "";
	int status = -1;

	run(command, out, &status);
	is_str(out, want, "%s", command);
	if (status != want_status)
		is_int(status, want_status, "its status");
}

int main(void)
{
	const char *build = getenv("top_builddir");

	close_range(3, ~0U, 0); /* what the caller left open is not the probes' */
	snprintf(fault, sizeof(fault), "%s/tests/jail/fault", build ? build : ".");
	snprintf(probe, sizeof(probe), "%s/tests/jail/probe", build ? build : ".");
	if (access(fault, X_OK) < 0 || access(probe, X_OK) < 0) {
		ok(false, "%s and %s are built", fault, probe);
		return tap_end();
	}

	gives("$PROBE openat2 netlink-route memfd-exec tiocsti-high | sed 's/tiocsti-high: .*/tiocsti-high/'",
	      "openat2: ok\nnetlink-route: ok\nmemfd-exec: ok\ntiocsti-high\n", 0);
	gives("$FAULT openat2=EDOM,memfd_create=ENOLCK socket=ECHRNG -- $PROBE openat2 memfd-exec vsock-high",
	      "openat2: EDOM\nmemfd-exec: ENOLCK\nvsock-high: ECHRNG\n", 0);
	gives("$FAULT openat2=EDOM -- sh -c '$PROBE openat2'", "openat2: EDOM\n", 0);
	gives("$FAULT seccomp=EINVAL -- $FAULT openat2=EDOM -- $PROBE openat2 2>&1",
	      "fault: seccomp: the filter does not load\n", 99);
	gives("$FAULT openat2=EDOM -- $FAULT memfd_create=ENOLCK -- $PROBE openat2 memfd-exec",
	      "openat2: EDOM\nmemfd-exec: ENOLCK\n", 0);
	gives("$FAULT openat2=ENOSUCH -- true 2>&1", "fault: ENOSUCH: no such errno\n", 99);
	gives("$FAULT nosuch=EPERM -- true 2>&1", "fault: nosuch: no such system call\n", 99);
	gives("$FAULT openat2=EDOM -- sh -c 'exit 7'", "", 7);

	char out[4096] = "";
	int status = -1;
	run("$PROBE userns", out, &status);
	if (strcmp(out, "userns: ok\n")) {
		skip("--no-userns: there is no user namespace to begin with: %s", out);
	} else {
		gives("$FAULT --no-userns -- $PROBE userns", "userns: ENOSPC\n", 0);
		gives("a=$(id -u) b=$($FAULT --no-userns -- id -u); echo $((a - b))", "0\n", 0);
	}

	gives("$PROBE nosuch 2>&1", "probe: nosuch: no such probe\n", 2);
	gives("$PROBE read 2>&1", "probe: read: wants an argument\n", 2);
	gives("cd $(mktemp -d) && $PROBE create:a whiteout:b whiteout-rename:c setuid:d read:e && ls && rmdir $PWD",
	      "create:a: ok\nwhiteout:b: ok\nwhiteout-rename:c: ok\nsetuid:d: ok\nread:e: ENOENT\n", 0);
	gives("$PROBE fork:20 memory-mb:2 read:/proc/self/environ list:/proc/self/fd kill:1:0 | sed 's/kill:1.*/kill/'",
	      "fork:20: 20 ok\nmemory-mb:2: 2 ok\nread:/proc/self/environ: ok\nlist:/proc/self/fd: ok\nkill\n", 0);
	gives("env -i A=b $PROBE env fds </dev/null 2>/dev/null", "env: A=b\nfds: 0 1 2\n", 0);
	return tap_end();
}
