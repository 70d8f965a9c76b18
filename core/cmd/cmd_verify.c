#include <stdio.h>
#include <string.h>

#include "core/cmd/cmd.h"
#include "core/cmd/session_arg.h"
#include "store/catalog.h"
#include "store/log_read.h"

static const struct cmd_option options[] = {
	{ "json", 0, NULL, "one object a line: each claim, last the verdict", false },
	{ NULL, 0, NULL, NULL, false },
};

static void add_seq(json_node *object, int64_t seq)
{
	if (seq)
		cJSON_AddNumberToObject(object, "seq", (double)seq);
	else
		cJSON_AddNullToObject(object, "seq");
}

static int print_object(json_node *object, struct err *err)
{
	_cleanup_json_ json_node *owned = object;
	_cleanup_buf_ struct buf line = BUF_INIT(64u << 10);

	json_write(owned, &line);
	buf_addc(&line, '\n');
	int r = buf_check(&line, "verify", err);
	return r < 0 ? r : cmd_print(buf_str(&line), line.len, err);
}

static int print_json(const char *session, const struct log_report *report, bool claims, struct err *err)
{
	int r = 0;

	for (size_t i = 0; claims && r == 0 && i < report->nclaims; i++) {
		json_node *claim = cJSON_CreateObject();

		cJSON_AddStringToObject(claim, "claim", report->claims[i].claim);
		cJSON_AddBoolToObject(claim, "ok", report->claims[i].ok);
		add_seq(claim, report->claims[i].seq);
		cJSON_AddStringToObject(claim, "why", report->claims[i].why);
		r = print_object(claim, err);
	}
	if (r < 0)
		return r;
	json_node *last = cJSON_CreateObject();
	cJSON_AddStringToObject(last, "session", session);
	cJSON_AddStringToObject(last, "verdict", log_verdict_name(report->verdict));
	add_seq(last, report->seq);
	cJSON_AddNumberToObject(last, "events", (double)report->events);
	cJSON_AddNumberToObject(last, "erased", (double)report->erased);
	cJSON_AddBoolToObject(last, "anchored", report->anchored);
	return print_object(last, err);
}

static int print_text(const char *session, const struct log_report *report, bool claims, struct err *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT(64u << 10);

	for (size_t i = 0; claims && i < report->nclaims; i++) {
		buf_addf(&text, "%-12s %s", report->claims[i].claim, report->claims[i].ok ? "ok" : "NOT OK");
		if (report->claims[i].seq)
			buf_addf(&text, " at event %lld", (long long)report->claims[i].seq);
		buf_addf(&text, ": %s\n", report->claims[i].why);
	}
	buf_addf(&text, "%s", log_verdict_name(report->verdict));
	if (report->seq)
		buf_addf(&text, " at event %lld", (long long)report->seq);
	buf_addf(&text, ": session %s, %lld events, %lld erased, %s\n", session, (long long)report->events,
		 (long long)report->erased, report->anchored ? "anchored" : "not anchored");
	int r = buf_check(&text, "verify", err);
	return r < 0 ? r : cmd_print(buf_str(&text), text.len, err);
}

struct walk {
	const struct cmd_args *args;
	struct home *home;
	bool one;
	int status;
	struct err *err;
};

/* The first event names the session: a whole log of another one is chained well and yet not this one's. */
static void check_name(const char *session, int session_fd, struct log_report *report)
{
	_cleanup_log_reader_ struct log_reader *reader = NULL;
	_cleanup_json_ json_node *body = NULL;
	struct log_claim *claim = &report->claims[report->nclaims];
	struct err err = { 0 };
	struct event e;

	if (report->verdict != LOG_INTACT || report->nclaims == ARRAY_LEN(report->claims) ||
	    log_reader_open(session_fd, &reader, &err) < 0 || log_reader_get(reader, 1, &e, &err) < 0 || !e.body ||
	    json_parse_object(e.body, e.body_len, &body, &err) < 0)
		return;
	const char *name = json_get_str(body, "session");
	*claim = (struct log_claim){ .claim = "session", .ok = name && strcmp(name, session) == 0 };
	report->nclaims++;
	if (claim->ok) {
		snprintf(claim->why, sizeof(claim->why), "the first event names this session");
		return;
	}
	claim->seq = report->seq = 1;
	report->verdict = LOG_SPLICED;
	snprintf(claim->why, sizeof(claim->why), "the first event names another session, %.20s", name ? name : "none");
}

static int verify_one(const char *session, int session_fd, struct walk *w)
{
	struct log_report report;
	int r;

	log_verify(session_fd, &report);
	check_name(session, session_fd, &report);
	r = cmd_has(w->args, "json") ? print_json(session, &report, w->one, w->err)
				      : print_text(session, &report, w->one, w->err);
	if (report.verdict != LOG_INTACT)
		w->status = 1;
	return r;
}

static int verify_row(const struct catalog_row *row, void *arg)
{
	struct walk *w = arg;
	_cleanup_fd_ int fd = -1;
	struct err err = { 0 };

	if (home_session_open(w->home, row->session, false, &fd, &err) == 0)
		return verify_one(row->session, fd, w);
	/* One folder that cannot be entered must not hide the others. */
	const struct log_report report = { .verdict = LOG_UNREADABLE };
	w->status = 1;
	cmd_complain(err.text);
	return cmd_has(w->args, "json") ? print_json(row->session, &report, false, w->err)
					: print_text(row->session, &report, false, w->err);
}

static int run(const struct cmd_args *args, struct err *err)
{
	_cleanup_session_arg_ struct session_arg s = SESSION_ARG_INIT;
	_cleanup_home_ struct home home = HOME_INIT;
	struct walk w = { .args = args, .home = &home, .one = args->nwords == 1, .err = err };
	int r = w.one ? session_arg_open(args->words[0], &s, err) : home_open(&home, err);

	if (r == 0)
		r = w.one ? verify_one(s.id, s.fd, &w) : catalog_each(home.data_fd, verify_row, &w, err);
	return r < 0 ? r : w.status;
}

const struct cmd cmd_verify = {
	.name = "verify",
	.words = "[S]",
	.summary = "check that a session's log (or every session's) is what was written",
	.more = "A chain alone does not see rows removed from its end: until heads are signed and anchored, \"intact\" "
		"says that\n"
		"nothing up to the last row that is there was changed, and nothing about rows after it.",
	.options = options,
	.min_words = 0,
	.max_words = 1,
	.run = run,
};
