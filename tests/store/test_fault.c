/*
 * Every write, sync, truncation, creation and read of SQLite fails in turn, until none is left to fail.  An append then
 * is there, or was refused and broke the handle; the log always verifies, and no acknowledged row is lost.
 */
#include "tests/store/fault_vfs.h"
#include "tests/store/store_test.h"

#define BEFORE 3

static struct home home;

static const struct {
	const char *name;
	enum fault_kind kind;
	bool stays;
} modes[] = {
	{ "once EIO", FAULT_IO, false },     { "EIO from then on", FAULT_IO, true },
	{ "torn once", FAULT_TORN, false },  { "torn from then on", FAULT_TORN, true },
	{ "once ENOSPC", FAULT_FULL, false }, { "ENOSPC from then on", FAULT_FULL, true },
	{ "a read once", FAULT_READ, false }, { "reads from then on", FAULT_READ, true },
};

struct tally {
	int runs, refused, kept_refused, wrong;
};

static void wrong(struct tally *t, const char *mode, int n, const char *what)
{
	diag("%s at %d: %s", mode, n, what);
	t->wrong++;
}

/* What the rest of the program does with a log: some rows, a barrier, a big one, more; returns the acknowledged seq. */
static int64_t use(struct log *log, int64_t acknowledged, struct tally *t, const char *mode, int n)
{
	static char big[60000];
	struct log_entry e = { .kind = "user.message", .actor = "operator", .body = "{}", .body_len = 2 };
	struct err err = { 0 };
	int64_t seq;

	for (size_t i = 0; i + 1 < sizeof(big); i++)
		big[i] = (char)('a' + random_below(20));
	big[0] = big[sizeof(big) - 2] = '"';
	for (int i = 0; i < 8; i++) {
		e.body = i == 3 ? big : "{}";
		e.body_len = i == 3 ? sizeof(big) - 1 : 2;
		seq = -1;
		int r = log_append(log, &e, i % 3 == 2 ? LOG_BARRIER : LOG_NORMAL, &seq, &err);
		if (!r) {
			if (log_broken(log) || seq != acknowledged + 1)
				wrong(t, mode, n, "a broken handle took an append");
			acknowledged = seq;
			continue;
		}
		if (seq != -1)
			wrong(t, mode, n, "the seq of a refused append was given out");
		if (!log_broken(log))
			wrong(t, mode, n, "refused and not broken");
	}
	t->refused += log_broken(log);
	return acknowledged;
}

static void check_after(int dirfd, int64_t acknowledged, struct tally *t, const char *mode, int n)
{
	struct log_report r;
	struct err err = { 0 };
	struct log *log;

	log_verify(dirfd, &r);
	if (r.verdict != LOG_INTACT)
		wrong(t, mode, n, log_verdict_name(r.verdict));
	if (r.events < acknowledged)
		wrong(t, mode, n, "an acknowledged row is gone");
	if (r.events > acknowledged + 1)
		wrong(t, mode, n, "rows that nobody wrote");
	t->kept_refused += r.events == acknowledged + 1;
	/* And it goes on. */
	if (log_open(dirfd, &log, &err)) {
		wrong(t, mode, n, err.text);
		return;
	}
	add(log, "user.message", 0, "{}", LOG_BARRIER);
	log_close(&log);
}

static bool run_use(int base, size_t mode, int n, struct tally *t)
{
	int dirfd = session_copy(&home, base, NULL);
	int64_t acknowledged = BEFORE;
	struct err err = { 0 };
	struct log *log = NULL;

	fault_arm(modes[mode].kind, n, modes[mode].stays);
	if (log_open(dirfd, &log, &err) == 0)
		acknowledged = use(log, acknowledged, t, modes[mode].name, n);
	else if (log || !err.text[0])
		wrong(t, modes[mode].name, n, "a failed open without a reason");
	else
		t->refused++;
	log_close(&log);
	int struck = fault_struck();
	fault_arm(FAULT_NONE, 0, false);
	check_after(dirfd, acknowledged, t, modes[mode].name, n);
	session_end(dirfd);
	t->runs++;
	return struck > 0;
}

/* Creation: afterwards there is a log that opens, or none and it can be made. */
static bool run_create(size_t mode, int n, struct tally *t)
{
	int dirfd = session_make(&home, NULL);
	struct err err = { 0 };
	struct log *log = NULL;

	fault_arm(modes[mode].kind, n, modes[mode].stays);
	int r = log_create(dirfd, &log, &err);
	if (!r != !!log)
		wrong(t, modes[mode].name, n, "log_create: code and handle differ");
	t->refused += r != 0;
	log_close(&log);
	int struck = fault_struck();
	fault_arm(FAULT_NONE, 0, false);

	r = has_file(dirfd, "log.db") ? log_open(dirfd, &log, &err) : log_create(dirfd, &log, &err);
	if (r)
		wrong(t, modes[mode].name, n, err.text);
	else
		add(log, "session.created", 0, "{}", LOG_BARRIER);
	log_close(&log);
	session_end(dirfd);
	t->runs++;
	return struck > 0;
}

int main(void)
{
	random_seed();
	home_make(&home);
	fault_install();
	int base = session_with(&home, BEFORE);

	for (size_t mode = 0; mode < sizeof(modes) / sizeof(modes[0]); mode++) {
		struct tally t = { 0 }, c = { 0 };
		int n = 1;

		while (run_use(base, mode, n, &t))
			n++;
		ok(!t.wrong && t.runs > 1 && t.refused,
		   "%s: %d places, %d refused, %d refused rows were there after all", modes[mode].name, t.runs - 1,
		   t.refused, t.kept_refused);
		n = 1;
		while (run_create(mode, n, &c))
			n++;
		ok(!c.wrong && c.runs > 1 && c.refused, "%s while it is created: %d places, %d refused",
		   modes[mode].name, c.runs - 1, c.refused);
	}
	session_end(base);
	home_end(&home);
	return tap_end();
}
