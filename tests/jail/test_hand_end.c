/* The hand as a process: what it costs, what it inherits and passes on, and that nothing outlives it. */
#include <sys/resource.h>
#include <sys/sysmacros.h>

#include "tests/jail/hand_client.h"

#define GIGABYTE 1000000000

/* RSS and the peak after a gigabyte in one command; a sanitizer build gets less to chew and no judgement of memory. */
static void test_output(void)
{
	struct hand_client c;
	long long bytes = is_sanitized() ? GIGABYTE / 20 : GIGABYTE;
	char command[200];
	struct hand_reply r;

	hand_open_ready(&c, NULL);
	hand_bash(&c, "echo warm");
	long rss = status_kb(c.pid, "VmRSS:");
	diag("memory of an idle hand: %ld kB", rss);
	if (is_sanitized())
		skip("memory cannot be judged under a sanitizer");
	else
		ok(rss > 0 && rss <= 3072, "an idle hand needs %ld kB, at most 3 MB", rss);

	snprintf(command, sizeof(command), "echo HEAD; head -c %lld /dev/zero | tr '\\0' x; echo; echo TAIL", bytes);
	int64_t before = clock_mono_ms();
	r = hand_bash(&c, command);
	size_t len = r.text ? strlen(r.text) : 0;
	diag("%lld bytes in %lld ms", bytes, (long long)(clock_mono_ms() - before));
	ok(r.text && strncmp(r.text, "HEAD\nxxx", 8) == 0 && strcmp(r.text + len - 6, "\nTAIL\n") == 0,
	   "head and tail are kept");
	ok(len > 29900 && len < 30100, "%zu bytes reach the model", len);

	char note[80];
	snprintf(note, sizeof(note), "\n[\xe2\x80\xa6 %lld bytes left out \xe2\x80\xa6]\n", bytes + 5 + 6 - 30000);
	ok(r.text && strstr(r.text, note), "the middle is counted:%s", note);
	is_int(r.dropped, bytes + 11 - 30000, "in bytes_dropped too");
	if (is_sanitized())
		skip("memory cannot be judged under a sanitizer");
	else
		ok(status_kb(c.pid, "VmHWM:") <= 3072, "its peak afterwards is %ld kB", status_kb(c.pid, "VmHWM:"));

	r = hand_bash(&c, "head -c 1000000 /dev/urandom");
	len = r.text ? strlen(r.text) : 0;
	ok(len > 20000 && len < 30500, "noise: %zu bytes of valid text", len);
	r = hand_bash(&c, "yes \xe2\x82\xac | head -n 100000 | tr -d '\\n'");
	ok(r.text && r.dropped > 0 && r.dropped % 3 == 0, "no character is cut");
	is_int(hand_wait_end(&c), 0, "ends in order");
}

static void open_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY); /* no O_CLOEXEC */

	dup2(fd, 7);
	dup2(fd, 42);
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);

	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setenv("BASH_ENV", "/nowhere", 1);
	setenv("PWD", "/nowhere", 1);
}

static void close_all(void)
{
	close(2);
}

static void test_inheritance(void)
{
	struct hand_client c;
	struct stat st;
	char path[64], here[4096], want[4100];

	hand_open_ready(&c, open_descriptor);
	is_str(hand_bash(&c, "ls /proc/self/fd | tr '\\n' ' '").text, "0 1 198 2 3 ",
	       "stray descriptors end at the hand");
	is_str(hand_bash(&c, "grep -Ec " NO_SIGNALS " /proc/self/status").text, "3\n",
	       "ignored and blocked signals too");
	is_str(hand_bash(&c, "yes | head -n 1; echo ${PIPESTATUS[0]}").text, "y\n141\n", "SIGPIPE kills as usual");
	is_str(hand_bash(&c, "echo ${BASH_ENV-none}").text, "none\n", "BASH_ENV of the launcher is not used");
	if (!getcwd(here, sizeof(here)))
		die("getcwd");
	snprintf(want, sizeof(want), "%s\n", here);
	is_str(hand_bash(&c, "echo $PWD").text, want, "PWD is true");

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)c.pid);
	if (geteuid() == 0) {
		skip("root may look into any process");
	} else {
		ok(stat("/proc/self/environ", &st) == 0 && st.st_uid == geteuid(),
		   "control: /proc of a common process is its user's");
		ok(stat(path, &st) == 0 && st.st_uid == 0, "the hand is not dumpable");
		ok(open(path, O_RDONLY | O_CLOEXEC) < 0, "its environment cannot be read");
		is_str(hand_bash(&c, "cat /proc/$PPID/environ /proc/$PPID/maps 2>/dev/null | wc -c").text, "0\n",
		       "nor by its commands");
	}
	is_int(hand_wait_end(&c), 0, "ends in order");

	hand_open_ready(&c, close_all);
	is_str(hand_bash(&c, "echo out; echo err >&2").text, "out\nerr\n", "works without a standard error of its own");
	is_int(hand_wait_end(&c), 0, "ends in order");
}

/* Commands in every way to live on; their pids. */
static size_t start_all(struct hand_client *c, pid_t *ret, size_t max)
{
	static const char *const ways[] = {
		"sleep 500 & echo $!; setsid sleep 501 & echo $!; exit",
		"(setsid bash -c 'trap \"\" TERM HUP INT; echo $$; sleep 502 & echo $!; wait' &); sleep 0.3",
	};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		struct hand_reply r = hand_bash(c, ways[i]);

		for (const char *p = r.text ? r.text : ""; n < max && *p >= '0' && *p <= '9'; p = strchr(p, '\n') + 1)
			ret[n++] = (pid_t)atoi(p);
	}
	hand_bash_begin(c, "echo $$ > pid.new; mv pid.new pid; exec sleep 503", "");
	comes_to_exist("pid");

	FILE *f = fopen("pid", "re");
	int pid = 0;
	if (f && n < max && fscanf(f, "%d", &pid) == 1)
		ret[n++] = pid;
	if (f)
		fclose(f);
	unlink("pid");
	return n;
}

static void test_end(void)
{
	static const struct {
		int sig; /* 0: end of input */
		const char *what;
	} ways[] = {
		{ 0, "end of input" },
		{ SIGTERM, "SIGTERM" },
		{ SIGINT, "SIGINT" },
		{ SIGHUP, "SIGHUP" },
	};
	pid_t pids[8];
	struct hand_client c;

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		hand_open_ready(&c, NULL);
		size_t n = start_all(&c, pids, ARRAY_LEN(pids));

		is_int(n, 5, "%s: five processes", ways[i].what);
		for (size_t k = 0; k < n; k++)
			if (is_gone(pids[k]))
				diag("control: process %zu is gone already", k);
		if (ways[i].sig)
			kill(c.pid, ways[i].sig);
		else
			close(c.in), c.in = -1;
		is_int(hand_wait_end(&c), 0, "%s ends the hand", ways[i].what);
		for (size_t k = 0; k < n; k++)
			ok(is_gone(pids[k]), "%s: process %zu is gone when the hand is", ways[i].what, k);
	}

	hand_open_ready(&c, NULL);
	size_t n = start_all(&c, pids, ARRAY_LEN(pids));
	kill(c.pid, SIGKILL);
	ok(WIFSIGNALED(hand_wait_end(&c)), "a killed hand");
	ok(n == 5 && goes_away(pids[4]), "takes the shell that it runs along");
	for (size_t k = 0; k + 1 < n; k++)
		kill(pids[k], SIGKILL); /* in a cell these end with init */

	hand_open_ready(&c, NULL);
	hand_send(&c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"read\","
		      "\"arguments\":{\"file_path\":\"/etc/passwd\"}}}");
	close(c.in);
	c.in = -1;
	ok(hand_result(hand_reply(&c, WAIT_MS)).text, "what was answered before the end of input still comes");
	is_int(hand_wait_end(&c), 0, "then it ends");
}

/* A tree that forks faster than one round of killing. */
static void test_restless(void)
{
	struct hand_client c;
	struct hand_reply r;

	hand_open_ready(&c, NULL);
	r = hand_bash(
		&c,
		"f() { while :; do (sleep 0.01; exit) & sleep 0.005; done; }; "
		"for i in 1 2 3 4 5 6 7 8; do "
		"(setsid bash -c \"$(declare -f f); f\" >/dev/null 2>&1 &); done; echo ok");
	is_str(r.outcome, "ok", "a restless crowd");
	r = hand_call(&c, "bash", "{\"restart\":true}");
	is_str(r.outcome, "ok", "restart");
	is_str(hand_bash(&c, "pgrep -P $PPID | grep -vx $$ | wc -l").text, "0\n", "nobody of it is left");
	is_int(hand_wait_end(&c), 0, "ends in order");
}

static void few_descriptors(void)
{
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 100, 100 });
}

static void test_poor(void)
{
	struct hand_client c;
	struct hand_reply r;

	hand_open_ready(&c, few_descriptors);
	r = hand_bash(&c, "echo x");
	ok(r.is_error && r.text && strstr(r.text, "bash: not run: "), "too few descriptors: %s", r.text);
	is_str(hand_call(&c, "read", "{\"file_path\":\"/etc/passwd\",\"limit\":1}").outcome, "ok",
	       "the other tools work");
	is_int(hand_wait_end(&c), 0, "ends in order");
}

int main(void)
{
	test_output();
	test_inheritance();
	test_end();
	test_restless();
	test_poor();
	return tap_end();
}
