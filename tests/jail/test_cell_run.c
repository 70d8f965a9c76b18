/* The life of a cell: start, standard streams, signals, freeze, ends. */
#include "tests/jail/cell_fixture.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>

#include "jail/cell_internal.h"

static const char *argv_of(const char *command)
{
	static char copy[8192];

	snprintf(copy, sizeof(copy), "%s", command);
	return copy;
}

/* Starts a shell command; its output goes to `out` (-1: nowhere). */
static struct cell *start(const struct fixture *f, int out, const char *command)
{
	static const char *argv[] = { "sh", "-c", NULL, NULL };
	struct cell_spec spec = fixture_spec(f, out);
	struct cell *c = NULL;

	argv[2] = argv_of(command);
	spec.argv = argv;
	if (cell_start(&spec, &c, &report, &err) < 0)
		diag("cell_start: %s", err.text);
	return c;
}

static void test_status(struct fixture *f)
{
	static const struct {
		const char *command;
		int wstatus;
	} ends[] = {
		{ "exit 0", 0 },
		{ "exit 7", W_EXITCODE(7, 0) },
		{ "kill -TERM $$", SIGTERM },
		{ "kill -SEGV $$", SIGSEGV },
		{ "(trap '' HUP; sleep 100) & exit 3", W_EXITCODE(3, 0) },
	};
	static const char *const missing[] = { "no-such-program", NULL }, *const no_exec[] = { "/etc/passwd", NULL },
				 *const folder[] = { "/usr", NULL };
	struct cell_spec spec = fixture_spec(f, -1);

	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		is_int(in_cell(f, "%s", ends[i].command), ends[i].wstatus, "wait status of: %s", ends[i].command);
	spec.argv = missing;
	is_int(run_spec(&spec), W_EXITCODE(127, 0), "a program that is not there");
	spec.argv = no_exec;
	is_int(run_spec(&spec), W_EXITCODE(126, 0), "a file that is no program");
	spec.argv = folder;
	is_int(run_spec(&spec), W_EXITCODE(126, 0), "a folder");
}

static void test_streams(struct fixture *f)
{
	int in[2], out[2];
	char text[64];

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return;
	static const char *const argv[] = { "cat", NULL };
	struct cell_spec spec = fixture_spec(f, out[1]);
	struct cell *c = NULL;
	int wstatus = -1;

	spec.stdio[0] = in[0];
	spec.argv = argv;
	ok(cell_start(&spec, &c, NULL, &err) == 0, "cat");
	close(in[0]);
	close(out[1]);
	ok(write(in[1], "through\n", 8) == 8 && read(out[0], text, sizeof(text)) == 8, "what goes in comes out");
	close(in[1]);
	ok(cell_wait(c, &wstatus, &err) == 0 && wstatus == 0, "the end of its input is seen");
	is_int(read(out[0], text, sizeof(text)), 0, "and the end of its output");
	cell_end(&c);
	close(out[0]);

	/* The stream is the program's own, not init's too. */
	if (pipe2(out, O_CLOEXEC) < 0)
		return;
	c = start(f, out[1], "exec >/dev/null 2>&1; sleep 100");
	close(out[1]);
	struct pollfd p = { .fd = out[0], .events = POLLIN };
	ok(poll(&p, 1, 5000) == 1 && read(out[0], text, sizeof(text)) == 0,
	   "a program that closes its output is seen to");
	ok(kill(cell_pid(c), 0) == 0, "while it runs on");
	cell_end(&c);
	close(out[0]);

	int dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	spec = fixture_spec(f, -1);
	spec.argv = argv;
	spec.stdio[0] = dir;
	is_int(cell_start(&spec, &c, NULL, &err), E_INVALID, "a folder of the host as a standard stream is refused");
	close(dir);

	/* The hand, as the main program. */
	spec = fixture_spec(f, -1);
	spec.argv = NULL;
	spec.stdio[1] = -1;
	ok(cell_start(&spec, &c, NULL, &err) == 0 && cell_wait(c, &wstatus, &err) == 0,
	   "the hand starts and ends with its input");
	is_int(wstatus, 0, "with status 0");
	cell_end(&c);
}

static void test_signals(struct fixture *f)
{
	int out[2], wstatus = -1;
	char text[64] = "";

	if (pipe2(out, O_CLOEXEC) < 0)
		return;
	struct cell *c = start(f, out[1], "trap 'echo got; exit 5' TERM; echo ready; while :; do sleep 0.05; done");
	ok(read(out[0], text, sizeof(text)) > 0, "runs");
	ok(cell_signal(c, SIGTERM, &err) == 0 && cell_wait(c, &wstatus, &err) == 0, "a signal is passed");
	is_int(wstatus, W_EXITCODE(5, 0), "to the main program");
	cell_end(&c);
	c = start(f, -1, "sleep 100");
	ok(cell_signal(c, SIGINT, &err) == 0 && cell_wait(c, &wstatus, &err) == 0, "interrupt");
	is_int(wstatus, SIGINT, "ends it");
	is_int(cell_signal(c, 0, &err), E_INVALID, "0 is no signal");
	cell_end(&c);
	close(out[0]);
	close(out[1]);
	/* From inside, init is out of reach. */
	in_cell(f, "kill -9 1; kill -STOP 1; kill -TERM 1; echo alive");
	ok(has_line("alive"), "the cell's programs cannot kill or stop init");
}

static long size_of(const struct fixture *f, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/layer/upper/%s", f->dir, name);
	return stat(path, &st) < 0 ? 0 : st.st_size;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static bool grows(const struct fixture *f, const char *name, int timeout_ms)
{
	long before = size_of(f, name);

	for (int i = 0; i < timeout_ms / 10; i++) {
		pause_ms(10);
		if (size_of(f, name) > before)
			return true;
	}
	return false;
}

static void test_freeze(struct fixture *f)
{
	/* Each writes into the workspace for as long as it runs. */
	static const char *const programs[] = {
		"while :; do echo x >> grow; done",
		"for i in 1 2 3 4; do (while :; do echo x >> grow; done) & done; wait",
		"while :; do echo x >> grow; /bin/true; done",
		"c() { while :; do kill -CONT -1; done; }; c & c & while :; do echo x >> grow; done",
		"trap '' TSTP TTIN; while :; do echo x >> grow; done",
	};

	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		struct cell *c = start(f, -1, programs[i]);

		if (!ok(c && grows(f, "grow", 10000), "control: running, it writes: %s", programs[i]))
			continue;
		int r = cell_freeze(c, &err);
		ok(r == 0, "frozen %s", r < 0 ? err.text : "");
		long at = size_of(f, "grow");
		pause_ms(150);
		is_int(size_of(f, "grow"), at, "frozen, it does not");
		ok(cell_freeze(c, &err) == 0, "freezing twice");
		ok(cell_thaw(c, &err) == 0 && grows(f, "grow", 10000), "thawed, it does again");
		cell_end(&c);
	}
	struct cell *c = start(f, -1, "exit 0");
	struct pollfd p = { .fd = cell_pidfd(c), .events = POLLIN };
	ok(poll(&p, 1, 10000) == 1, "the descriptor of a cell tells its end");
	is_int(cell_freeze(c, &err), E_CLOSED, "a cell that has ended cannot be frozen");
	cell_end(&c);
}

static void test_ends(struct fixture *f)
{
	char marker[64], command[256];
	int wstatus = -1;

	snprintf(marker, sizeof(marker), "cellmark%d", (int)getpid());
	snprintf(command, sizeof(command),
		 "for i in 1 2 3; do setsid sh -c 'trap \"\" HUP TERM; sleep 100; :' %s & done; sleep 100", marker);
	struct cell *c = start(f, -1, command);
	ok(wait_processes(marker, 3, 10000) >= 0, "three daemons run in the cell");
	pid_t init = cell_pid(c);
	cell_end(&c);
	is_int(count_processes(marker), 0, "cell_end: all gone when it returns");
	ok(kill(init, 0) < 0 && errno == ESRCH, "init too");

	c = start(f, -1, command);
	ok(wait_processes(marker, 3, 10000) >= 0, "again");
	kill(cell_pid(c), SIGKILL);
	ok(wait_processes(marker, 0, 1000) >= 0, "init killed from outside: all gone within a second");
	ok(cell_wait(c, &wstatus, &err) == 0 && wstatus == SIGKILL, "and reported as killed");
	cell_end(&c);

	snprintf(command, sizeof(command), "setsid sh -c 'trap \"\" HUP TERM; sleep 100; :' %s & sleep 0.3", marker);
	c = start(f, -1, command);
	ok(cell_wait(c, &wstatus, &err) == 0 && wstatus == 0, "a main program that leaves a daemon");
	is_int(count_processes(marker), 0, "takes it along");
	cell_end(&c);
}

static void test_parent(struct fixture *f)
{
	char marker[64], command[256];

	snprintf(marker, sizeof(marker), "parentmark%d", (int)getpid());
	snprintf(command, sizeof(command), "setsid sh -c 'trap \"\" HUP TERM; sleep 100; :' %s & sleep 100", marker);
	pid_t pid = fork();
	if (pid == 0) {
		struct cell *c = start(f, -1, command);

		for (;;)
			pause();
		cell_end(&c);
	}
	ok(wait_processes(marker, 1, 10000) >= 0, "a supervisor with a cell");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	int64_t ms = wait_processes(marker, 0, 1000);
	ok(ms >= 0, "supervisor killed: the cell is gone within a second (%lld ms)", (long long)ms);
	/* What it left on disk is no obstacle. */
	ok(in_cell(f, "echo on >> goes; cat goes") == 0 && has_line("on"), "and the next cell over the layer starts");
}

/* Nothing that the cell says may harm us. */
static void test_hostile_init(void)
{
	static const struct {
		uint32_t type, len;
		const char *data;
	} bad[] = {
		{ SETUP_FROZEN, 0, "" },
		{ SETUP_FROZEN, 8, "\1\0\0\0\xff\xff\xff\xff" },
		{ SETUP_EXITED, 4, "\xff\xff\xff\xff" },
		{ 77, 3, "abc" },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		int pair[2];
		struct cell c = { .pidfd = -1, .layer = -1 };

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
			return;
		c.control = pair[0];
		frame_reader_init(&c.in, c.control, SETUP_ANSWER_MAX);
		ok(frame_send(pair[1], bad[i].type, bad[i].data, bad[i].len, &err) == 0, "message %u", bad[i].type);
		close(steal_fd(&pair[1]));
		ok(cell_freeze(&c, &err) < 0, "is refused: %s", err.text);
		frame_reader_free(&c.in);
		close(c.control);
	}

	int pair[2];
	struct cell c = { .pidfd = -1, .layer = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	c.control = pair[0];
	frame_reader_init(&c.in, c.control, SETUP_ANSWER_MAX);
	ok(write(pair[1], "\xff\xff\xff\x7f\x23\0\0\0", 8) == 8, "a message of 2 GiB");
	is_int(cell_freeze(&c, &err), E_PROTOCOL, "is refused: %s", err.text);
	frame_reader_free(&c.in);
	close(pair[0]);
	close(pair[1]);
}

static void test_one_at_a_time(struct fixture *f)
{
	static const char *const argv[] = { "true", NULL };
	struct cell_spec spec = fixture_spec(f, -1);
	struct cell *first = start(f, -1, "echo first > held; sleep 100"), *second = NULL;

	spec.argv = argv;
	for (int i = 0; i < 1000 && !size_of(f, "held"); i++)
		pause_ms(10);
	is_int(cell_start(&spec, &second, NULL, &err), E_BUSY, "a second cell over the same layer is refused: %s",
	       err.text);
	ok(first && kill(cell_pid(first), 0) == 0 && cell_freeze(first, &err) == 0, "the first one is not disturbed");
	cell_end(&first);
	ok(in_cell(f, "cat held") == 0 && has_line("first"), "after its end there can be another");
}

int main(void)
{
	struct fixture f;

	fixture_make(&f);
	test_status(&f);
	test_streams(&f);
	test_signals(&f);
	test_freeze(&f);
	test_ends(&f);
	test_parent(&f);
	test_one_at_a_time(&f);
	test_hostile_init();
	fixture_end(&f);
	return tap_end();
}
