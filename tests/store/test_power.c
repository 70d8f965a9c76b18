/*
 * Power cuts: what was not synced is lost, or torn sector by sector, at any moment of any append or checkpoint.  Every
 * row up to the last barrier event that was acknowledged is there, and the rest is a beginning of what was written.
 */
#include <stdlib.h>

#include "tests/store/fault_vfs.h"
#include "tests/store/store_test.h"

#define ROUNDS 60
#define ROUNDS_LONG 3000
#define APPENDS 24

static struct home home;

struct tally {
	int lost_normal, lost_barrier, wrong;
};

/* Appends at random tiers, checkpoints now and then, until the power is cut. */
static void use_until_cut(int dirfd, struct log *log, int64_t *ret_newest, int64_t *ret_barrier,
			  uint8_t hashes[][DIGEST_LEN])
{
	static char body[30000];

	for (int i = 0; i < APPENDS && !power_is_cut(); i++) {
		size_t len = 2 + random_below(i % 4 ? 500 : sizeof(body) - 3);
		enum log_tier tier = random_below(4) ? LOG_NORMAL : LOG_BARRIER;
		struct log_entry e = { .kind = "user.message", .actor = "operator", .body = body, .body_len = len };
		struct err err = { 0 };
		int64_t seq;

		for (size_t j = 1; j < len - 1; j++)
			body[j] = (char)('a' + random_below(26));
		body[0] = body[len - 1] = '"';
		if (log_append(log, &e, tier, &seq, &err)) {
			diag("append: %s", err.text);
			exit(99);
		}
		log_head(log, hashes[seq]);
		/* Cut within the append: it may be there or not, and nobody was told. */
		if (power_is_cut())
			break;
		*ret_newest = seq;
		if (tier == LOG_BARRIER)
			*ret_barrier = seq;
		if (!random_below(6))
			sql_must(dirfd,
				 random_below(2) ? "PRAGMA wal_checkpoint(PASSIVE)" : "PRAGMA wal_checkpoint(RESTART)");
	}
}

static void check_left(int left, int64_t newest, int64_t barrier, uint8_t hashes[][DIGEST_LEN], bool lie,
		       struct tally *t)
{
	struct log_report r;
	struct err err = { 0 };
	struct log *log;
	uint8_t head[DIGEST_LEN];

	log_verify(left, &r);
	if (r.verdict != LOG_INTACT || r.events > newest + 1) {
		if (!lie)
			diag("%s, %lld rows of %lld", log_verdict_name(r.verdict), (long long)r.events,
			     (long long)newest);
		t->wrong++;
		return;
	}
	t->lost_normal += r.events < newest;
	t->lost_barrier += r.events < barrier;
	if (log_open(left, &log, &err)) {
		diag("%s", err.text);
		t->wrong++;
		return;
	}
	int64_t seq = log_head(log, head);
	if (seq != r.events || (seq && memcmp(head, hashes[seq], DIGEST_LEN))) {
		diag("the rows are not those that were written");
		t->wrong++;
	}
	log_close(&log);
}

static struct tally run(int rounds, bool lie)
{
	struct tally t = { 0 };

	for (int i = 0; i < rounds; i++) {
		uint8_t hashes[APPENDS + 3][DIGEST_LEN] = { 0 };
		int dirfd = session_make(&home, NULL), left = session_make(&home, NULL);
		int64_t newest = 1, barrier = 1;
		struct log *log = log_made(dirfd);

		add(log, "session.created", 0, "{}", LOG_BARRIER);
		log_head(log, hashes[1]);
		log_close(&log);
		log = log_opened(dirfd);
		power_start(dirfd);
		power_lie(lie);
		power_cut(1 + (int)random_below(400), left);
		use_until_cut(dirfd, log, &newest, &barrier, hashes);
		if (!power_is_cut())
			power_cut(0, left);
		power_end();
		log_close(&log);
		check_left(left, newest, barrier, hashes, lie, &t);
		session_end(dirfd);
		session_end(left);
	}
	return t;
}

int main(void)
{
	int rounds = long_run() ? ROUNDS_LONG : ROUNDS;

	random_seed();
	home_make(&home);
	fault_install();
	struct tally t = run(rounds, false);
	is_int(t.wrong, 0, "%d power cuts: always a whole beginning of the log", rounds);
	is_int(t.lost_barrier, 0, "no row up to an acknowledged barrier is lost");
	ok(t.lost_normal > 0, "control: ordinary rows behind it are (%d times)", t.lost_normal);
	t = run(rounds, true);
	ok(t.lost_barrier > 0 || t.wrong > 0,
	   "control: with syncs that only pretend barriers are lost (%d times) or the file is broken (%d times)",
	   t.lost_barrier, t.wrong);
	home_end(&home);
	return tap_end();
}
