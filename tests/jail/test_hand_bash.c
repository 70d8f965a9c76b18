/* The `bash` tool: results, folder, time, background, cancel and end, against the real program. */
#include <sys/resource.h>

#include "tests/jail/hand_client.h"

static void test_results(struct hand_client *c)
{
	static const struct {
		const char *command, *text, *outcome;
		int64_t exit_status;
	} cases[] = {
		{ "echo a; echo b >&2; echo c", "a\nb\nc\n", "ok", 0 },
		{ "printf 'no newline'", "no newline", "ok", 0 },
		{ "true", "[no output]", "ok", 0 },
		{ "exit 7", "[exit status 7]", "error", 7 },
		{ "echo a; false", "a\n[exit status 1]", "error", 1 },
		{ "printf a; exit 255", "a\n[exit status 255]", "error", 255 },
		{ "nonsense-command", "bash: line 1: nonsense-command: command not found\n[exit status 127]", "error",
		  127 },
		{ "\n\nnonsense-command", "bash: line 3: nonsense-command: command not found\n[exit status 127]",
		  "error", 127 },
		{ "--help", "bash: line 1: --help: command not found\n[exit status 127]", "error", 127 },
		{ "echo 'ü \"quoted\" \\ $x'", "ü \"quoted\" \\ $x\n", "ok", 0 },
		{ "cat <<E\nx\ny\nE", "x\ny\n", "ok", 0 },
		{ "# only a comment", "[no output]", "ok", 0 },
		{ "echo \"$0|$#|$-\"", "bash|0|hBc\n", "ok", 0 },
		{ "trap", "trap -- '{ set +x; builtin pwd -L >&198; } 2>/dev/null' EXIT\n", "ok", 0 },
		{ "bash -c trap; env | grep -c BASH_ENV", "0\n[exit status 1]", "error", 1 },
		{ "set -x; true", "+ true\n", "ok", 0 },
		{ "set -u; echo $nothing", "bash: line 1: nothing: unbound variable\n[exit status 127]", "error", 127 },
		{ "wc -c", "0\n", "ok", 0 },
		{ "(: </dev/tty) 2>&1 | grep -c 'No such device'", "1\n", "ok", 0 },
		{ "ls /proc/self/fd | tr '\\n' ' '", "0 1 198 2 3 ", "ok", 0 },
		{ "printf 'a\\0b'",
		  "a\xef\xbf\xbd"
		  "b\n[1 bytes that are not UTF-8 text were replaced with U+FFFD]",
		  "ok", 0 },
		{ "printf 'a\\377\\303b'; exit 3",
		  "a\xef\xbf\xbd\xef\xbf\xbd"
		  "b\n[2 bytes that are not UTF-8 text were replaced "
		  "with U+FFFD]\n[exit status 3]",
		  "error", 3 },
		{ "printf '\\303'; sleep 0.1; printf '\\251'", "\xc3\xa9", "ok", 0 },
		{ "exec echo x", "x\n", "ok", 0 },
		{ "grep -Ec " NO_SIGNALS " /proc/self/status", "3\n", "ok", 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct hand_reply r = hand_bash(c, cases[i].command);
		const char *note = r.text ? strstr(r.text, "[the shell ended without") : NULL;

		/* exec leaves the folder unknown, which is said last */
		if (note && strncmp(cases[i].command, "exec", 4) == 0)
			*(char *)note = '\0';
		is_str(r.text, cases[i].text, "bash: %s", cases[i].command);
		is_str(r.outcome, cases[i].outcome, "its outcome");
		is_int(r.exit_status, cases[i].exit_status, "its status");
		is_int(r.is_error, strcmp(cases[i].outcome, "ok") != 0, "isError agrees");
	}

	struct hand_reply r = hand_bash(c, "kill -9 $$");
	ok(r.text && strstr(r.text, "[killed by signal 9]"), "killed by a signal is said");
	is_int(r.exit_status, -1, "and has no exit status");
	hand_bash(c, "export KEPT=1; x=1");
	is_str(hand_bash(c, "echo ${KEPT:-none}${x:-none}").text, "nonenone\n", "variables are not kept");
	r = hand_call(c, "bash", "{}");
	ok(r.is_error && r.text && strstr(r.text, "command: missing"), "no command and no restart");
}

static void test_length(struct hand_client *c)
{
	char *command = malloc(120002);

	if (!command)
		die("malloc");
	memset(command, ' ', 120001);
	memcpy(command, "echo fits", 9);
	command[120000] = '\0';
	is_str(hand_bash(c, command).text, "fits\n", "a command of 120,000 bytes");
	memcpy(command + 120000, " ", 2);
	struct hand_reply r = hand_bash(c, command);
	ok(r.is_error && r.text && strncmp(r.text, "command: 120001 bytes", 21) == 0, "one byte more is refused: %.60s",
	   r.text);
	free(command);
}

/* The folder after each command, as the next one sees it. */
static void test_folder(struct hand_client *c)
{
	char here[4096], want[4200];
	static const struct {
		const char *command, *folder, *note; /* folder below the workspace */
	} cases[] = {
		{ "mkdir -p a/b 'new\nline' \xc3\xbc; ln -s a link; cd a", "/a", NULL },
		{ "true", "/a", NULL },
		{ "cd b; exit 3", "/a/b", NULL },
		{ "set -e; cd ..; false", "/a", NULL },
		{ "cd b\nbroken (\n", "/a/b", NULL },
		{ "(cd /); cd ..", "/a", NULL },
		{ "sh -c 'cd /'; bash -c 'cd /; exit'", "/a", NULL },
		{ "cd /; kill -9 $$", "/a", "ended without naming its folder" },
		{ "cd /; exec true", "/a", "ended without naming its folder" },
		{ "cd b; trap 'echo mine' EXIT", "/a", "ended without naming its folder" },
		{ "cd b; kill $$", "/a/b", NULL },
		{ "exec 198>&-; cd /", "/a/b", "ended without naming its folder" },
		{ "echo /etc >&198; exit 0", "", "the folder is gone" }, /* two reports are none */
		{ "cd link", "/link", NULL },
		{ "cd ..; cd 'new\nline'", "/new\nline", NULL },
		{ "cd ../\xc3\xbc", "/\xc3\xbc", NULL },
		{ "set -x; cd ..", "", NULL },
		{ "mkdir gone; cd gone; rmdir ../gone", "", "the folder is gone" },
		{ "cd a; pwd() { echo /; }; cd() { false; }", "/a", NULL },
		{ "cd ..", "", NULL },
	};

	if (!getcwd(here, sizeof(here)))
		die("getcwd");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct hand_reply r = hand_bash(c, cases[i].command);

		if (cases[i].note)
			ok(r.text && strstr(r.text, cases[i].note), "told: %s", cases[i].note);
		snprintf(want, sizeof(want), "%s%s\n", here, cases[i].folder);
		is_str(hand_bash(c, "pwd").text, want, "folder after: %s", cases[i].command);
	}
	hand_call(c, "bash", "{\"restart\":true}");

	struct hand_reply r = hand_bash(c, "mkdir later; cd later");
	rmdir("later");
	r = hand_bash(c, "echo ran");
	ok(r.is_error && r.text && strstr(r.text, "not run") && !strstr(r.text, "ran\n"),
	   "a folder that vanished later: not run");
	snprintf(want, sizeof(want), "%s\n", here);
	is_str(hand_bash(c, "pwd").text, want, "then in the workspace");

	hand_bash(
		c,
		"mkdir deep; cd deep; ulimit -f 0; "
		"for i in {1..40}; do d=$(printf %0200d 1); mkdir $d && cd $d || break; done");
	r = hand_bash(c, "echo still works");
	ok(r.text && strstr(r.text, "still works"), "a path longer than PATH_MAX does no harm: %.80s", r.text);
	hand_call(c, "bash", "{\"restart\":true}");
	hand_bash(c, "rm -rf deep");
	is_str(hand_call(c, "read", "{\"file_path\":\"nothing\"}").outcome, "error",
	       "and files count from the workspace");
}

/* A call whose folder the client names. */
static struct hand_reply bash_in(struct hand_client *c, const char *folder, const char *command)
{
	hand_send(c,
		  "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"method\":\"tools/call\",\"params\":{\"name\":\"bash\","
		  "\"arguments\":{\"command\":\"%s\"},\"_meta\":{\"warder\":{\"cwd\":%s}}}}",
		  (long long)++c->id, command, folder);
	return hand_await(c, c->id);
}

static void test_named_folder(struct hand_client *c)
{
	static const char *const wrong[] = { "5", "null", "\"\"", "\"relative\"", "{}" };
	char here[4096];
	struct hand_reply r;

	if (!getcwd(here, sizeof(here)))
		die("getcwd");
	is_str(hand_bash(c, "true").cwd, here, "a result names the folder of the next command");
	r = bash_in(c, "\"/usr\"", "pwd");
	is_str(r.text, "/usr\n", "a command runs in the folder that the client names");
	is_str(r.cwd, "/usr", "which is then the folder");
	is_str(hand_bash(c, "pwd").text, "/usr\n", "for the next one that names none as well");
	is_str(bash_in(c, "\"/usr\"", "cd /etc").cwd, "/etc", "cd is told");
	is_str(bash_in(c, "\"/usr\"", "cd /etc; exec true").cwd, "/usr",
	       "an end without a word leaves it where it began");
	r = bash_in(c, "\"/no/such\"", "echo ran");
	ok(r.is_error && r.text && strstr(r.text, "not run: /no/such"), "a folder that is none: not run");
	is_str(r.cwd, here, "and the workspace is next");
	is_str(hand_call(c, "bash", "{}").cwd, NULL, "a refused call says nothing");
	is_str(hand_call(c, "read", "{\"file_path\":\"/etc/passwd\"}").cwd, NULL, "nor does another tool");
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		is_int(bash_in(c, wrong[i], "echo ran").error, -32602, "folder %s is refused", wrong[i]);

	r = hand_bash(c, "d=$(printf 'x\\377'); mkdir $d; cd $d");
	ok(r.text && strstr(r.text, "without naming its folder"), "a name that is no UTF-8 cannot be told");
	is_str(r.cwd, here, "so the folder stays");
	r = hand_call(c, "bash", "{\"restart\":true}");
	is_str(r.cwd, here, "restart tells the workspace");
}

static pid_t pid_in(const struct hand_reply *r)
{
	return r->text ? (pid_t)atoi(r->text) : -1;
}

static void test_time(struct hand_client *c)
{
	int64_t before = clock_mono_ms();
	struct hand_reply r = hand_await(c, hand_bash_begin(c, "sleep 500 & echo $!; sleep 500", "\"timeout_ms\":200"));

	is_str(r.outcome, "timeout", "a command over its time");
	ok(r.text && strstr(r.text, "[timed out after 200 ms]") && r.is_error, "is told so");
	ok(goes_away(pid_in(&r)), "its group is gone");
	ok(clock_mono_ms() - before < 30000, "long before the command would have ended");

	r = hand_await(c, hand_bash_begin(c, "trap '' TERM; echo $BASHPID; sleep 500", "\"timeout_ms\":100"));
	is_str(r.outcome, "timeout", "SIGTERM ignored");
	ok(goes_away(pid_in(&r)), "SIGKILL is not");

	r = hand_await(c,
		       hand_bash_begin(c, "trap 'echo tidied; exit 3' TERM; sleep 500 & wait", "\"timeout_ms\":100"));
	ok(r.text && strstr(r.text, "tidied\n") && r.exit_status == 3, "a command may tidy up before it is killed");
	is_str(r.outcome, "timeout", "and has timed out all the same");

	/* the shell goes at once, its child tidies up: it gets its time too */
	r = hand_await(
		c, hand_bash_begin(c, "bash -c 'trap \"sleep 0.3; echo child tidied; exit\" TERM; sleep 500 & wait'",
				   "\"timeout_ms\":100"));
	ok(r.text && strstr(r.text, "child tidied\n"), "so may a child of the shell");

	r = hand_await(c, hand_bash_begin(c, "exec >/dev/null 2>&1; sleep 500", "\"timeout_ms\":100"));
	is_str(r.outcome, "timeout", "output closed early");
	r = hand_await(c, hand_bash_begin(c, "echo quick", "\"timeout_ms\":600000"));
	is_str(r.outcome, "ok", "the longest time is taken");
	r = hand_await(c, hand_bash_begin(c, "echo quick", "\"timeout_ms\":600001"));
	ok(r.is_error && r.text && strstr(r.text, "timeout_ms: must be from 1 to 600000"), "one more is refused");
}

static void test_background(struct hand_client *c)
{
	static const char *const ways[] = {
		"sleep 500 & echo $!",
		"nohup sleep 500 >/dev/null 2>&1 & echo $!",
		"setsid sleep 500 & echo $!",
		"(sleep 500 & echo $!)",
		"(trap '' HUP TERM; exec sleep 500) & disown; echo $!",
	};
	pid_t pids[ARRAY_LEN(ways)];
	struct hand_reply r;

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		int64_t before = clock_mono_ms();

		r = hand_bash(c, ways[i]);
		pids[i] = pid_in(&r);
		is_str(r.outcome, "ok", "background: %s", ways[i]);
		ok(clock_mono_ms() - before < 30000, "does not hold the call up");
		ok(r.text && strstr(r.text, "still run in the background"), "is said");
		ok(kill(pids[i], 0) == 0, "and goes on");
	}
	r = hand_bash(c, "(sleep 0.5; head -c 1000000 /dev/zero; touch written) & echo started");
	ok(r.text && strncmp(r.text, "started\n[processes", 18) == 0, "output after the call is not kept");
	ok(comes_to_exist("written"), "and does not stop the process that writes it");
	r = hand_bash(c, "(sleep 0.05; echo late) & echo early");
	is_str(r.text, "early\nlate\n", "output of a straggler that ends at once is waited for");

	r = hand_call(c, "bash", "{\"restart\":true}");
	is_str(r.outcome, "ok", "restart");
	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		ok(is_gone(pids[i]), "restart ends: %s", ways[i]);
	r = hand_await(c, hand_begin(c, "bash", "{\"restart\":true,\"command\":\"echo after\"}"));
	is_str(r.text, "after\n", "restart with a command runs it");
	hand_bash(c, "cd /");
	r = hand_await(c, hand_begin(c, "bash", "{\"restart\":false,\"command\":\"pwd\"}"));
	is_str(r.text, "/\n", "restart false does nothing");
	hand_call(c, "bash", "{\"restart\":true}");
}

static void test_cancel(struct hand_client *c)
{
	struct hand_reply r;
	int64_t id = hand_bash_begin(c, "sleep 500 & echo $!; touch begun; sleep 500", "");

	ok(comes_to_exist("begun"), "a command runs");
	hand_send(c, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"%lld\"}}",
		  (long long)id);
	hand_send(c, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}");
	is_str(json_get_str(hand_reply(c, WAIT_MS), "id"), "p",
	       "ping is answered meanwhile; the id as a string cancels nothing");
	hand_send(c, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"method\":\"ping\"}", (long long)id);
	is_int(hand_result(hand_reply(c, WAIT_MS)).error, -32600, "its id cannot be used again meanwhile");
	for (int i = 0; i < 3; i++)
		hand_send(
			c,
			"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%lld}}",
			(long long)id);
	r = hand_await(c, id);
	is_str(r.outcome, "cancelled", "a cancelled command");
	ok(r.is_error && r.text && strstr(r.text, "[cancelled]"), "is told so, once");
	ok(goes_away(pid_in(&r)), "and is gone");
	is_str(hand_bash(c, "echo next").text, "next\n", "the next one runs");
}

static void test_many(struct hand_client *c)
{
	int64_t ids[17];
	char fifo[] = "gate";
	struct hand_reply r;
	int good = 0;

	if (mkfifo(fifo, 0600) < 0)
		die("mkfifo");
	for (int i = 0; i < 17; i++)
		ids[i] = hand_bash_begin(c, "cat gate; echo done", "");
	r = hand_await(c, ids[16]);
	ok(r.is_error && r.text && strstr(r.text, "too many"), "the 17th at once is refused");
	is_str(hand_call(c, "write", "{\"file_path\":\"meanwhile\",\"content\":\"x\"}").outcome, "ok",
	       "write while 16 run");
	is_str(hand_call(c, "read", "{\"file_path\":\"meanwhile\"}").outcome, "ok", "read while 16 run");

	int gate = open(fifo, O_WRONLY | O_CLOEXEC);
	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
	close(gate);
	for (int i = 0; i < 16; i++) {
		/* one that opened the gate late waits for the next writer */
		int again;

		while (!hand_reply(c, 200))
			if ((again = open(fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC)) >= 0)
				close(again);
		good += hand_result(c->reply).text && strcmp(hand_result(c->reply).text, "done\n") == 0;
	}
	is_int(good, 16, "all sixteen end");

	/* more shells than there may be pipes left behind */
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 16; i++)
			ids[i] = hand_bash_begin(c, "sleep 500 & exit", "");
		for (int i = 0; i < 16; i++)
			hand_reply(c, WAIT_MS);
	}
	r = hand_bash(c, "true");
	ok(r.is_error && r.text && strstr(r.text, "restart"), "pipes held by background processes are bounded");
	hand_call(c, "bash", "{\"restart\":true}");
	is_str(hand_bash(c, "echo again").text, "again\n", "restart frees them");
}

int main(void)
{
	struct hand_client c;

	hand_open_ready(&c, NULL);
	test_results(&c);
	test_length(&c);
	test_folder(&c);
	test_named_folder(&c);
	test_time(&c);
	test_background(&c);
	test_cancel(&c);
	test_many(&c);
	is_int(hand_wait_end(&c), 0, "ends in order");
	return tap_end();
}
