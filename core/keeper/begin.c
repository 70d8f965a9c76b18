#include "core/keeper/begin.h"

#include <stdio.h>
#include <string.h>

#include "config.h"

#include "core/base/path.h"
#include "core/keeper/wire.h"
#include "core/pub/op.h"
#include "store/log_read.h"

#define SCRIPT_NAME "script.jsonl"
#define ORDER_WAIT_MS 10000

static const char *text_or(const json_node *order, const char *key, const char *fallback)
{
	const char *text = json_get_str(order, key);

	return text ? text : fallback;
}

static int read_order(int fd, json_node **ret, struct err *err)
{
	struct frame_reader reader;
	struct frame f;

	frame_reader_init(&reader, fd, FRAME_MAX);
	int r = frame_wait(&reader, ORDER_WAIT_MS, &f, err);
	if (r >= 0)
		r = json_parse_object(f.data, f.len, ret, err);
	frame_reader_free(&reader);
	return r < 0 ? r : 0;
}

static int take_common(struct keeper *k, const json_node *order, struct err *err)
{
	const json_node *answers = json_get(order, "answers");
	const char *text = json_get_str(answers, "text");

	k->headless = json_get_bool(order, "headless", false);
	if (cell_level_parse(text_or(order, "floor", "S2"), &k->floor) < 0 || k->floor < CELL_S2)
		return err_set(err, E_USAGE, "jail.floor: the floor is S2 or S3");
	if (!text)
		return 0;
	return answers_parse(text_or(answers, "name", "answers"), text, strlen(text), &k->answers, err);
}

static int open_layer(struct keeper *k, const char *workspace, int64_t want_base, struct err *err)
{
	int64_t base = 0;
	int r = cell_idmap_pick(k->home.run_fd, want_base, &base, &k->idmap_lock_fd, err);

	return r < 0 ? r : staged_open(k->session_fd, workspace, base, &k->staged, err);
}

/* ---- a new session */

static int record_created(struct keeper *k, const json_node *order, struct err *err)
{
	json_node *body = cJSON_CreateObject();
	char hex[DIGEST_HEX_LEN + 1];
	uint8_t script[DIGEST_LEN];

	/* What the brain is made of beside the log: a woken session goes on with the same, or not at all. */
	digest_of(buf_str(&k->script), k->script.len, script);
	/* The chain does not hold the session's name: here it does, so a whole log moved to another session shows. */
	cJSON_AddStringToObject(body, "session", k->id);
	cJSON_AddStringToObject(body, "workspace", k->staged.workspace);
	cJSON_AddStringToObject(body, "brain", text_or(order, "brain", ""));
	cJSON_AddStringToObject(body, "brain_kind", k->brain_kind);
	cJSON_AddStringToObject(body, "brain_digest", digest_hex(script, hex));
	cJSON_AddStringToObject(body, "preset", preset_name(k->preset));
	cJSON_AddStringToObject(body, "level", cell_level_name(k->report.level));
	json_node *lacking = cJSON_AddArrayToObject(body, "missing");
	for (size_t i = 0; i < k->report.nlayers; i++)
		if (k->report.layer[i].state != LAYER_OK)
			cJSON_AddItemToArray(lacking, cJSON_CreateString(k->report.layer[i].name));
	cJSON_AddStringToObject(body, "warder", PACKAGE_VERSION);

	int r = keeper_record(k, "session.created", "keeper", 0, body, LOG_BARRIER, NULL);
	if (r == 0)
		r = cellmate_record_birth(k);
	return r < 0 ? err_set(err, k->why.code, "%s", k->why.text) : 0;
}

static int record_prompt(struct keeper *k, const char *prompt, struct err *err)
{
	json_node *body = cJSON_CreateObject();
	json_node *block = cJSON_CreateObject();

	cJSON_AddStringToObject(block, "type", "text");
	cJSON_AddStringToObject(block, "text", prompt);
	cJSON_AddItemToArray(cJSON_AddArrayToObject(body, "content"), block);

	int r = keeper_record(k, "user.message", "operator", 0, body, LOG_NORMAL, NULL);
	if (r == 0)
		r = keeper_record(k, "session.status_running", "keeper", 0, cJSON_CreateObject(), LOG_NORMAL, NULL);
	return r < 0 ? err_set(err, k->why.code, "%s", k->why.text) : 0;
}

static int start_new(struct keeper *k, const json_node *order, struct err *err)
{
	const char *workspace = json_get_str(order, "workspace");
	const char *prompt = json_get_str(order, "prompt");
	const char *script = text_or(order, "script", "");
	int r;

	k->preset = preset_find(text_or(order, "preset", "contained"));
	k->brain_kind = strdup(text_or(order, "brain_kind", ""));
	if (!workspace || !prompt || !k->preset || !k->brain_kind)
		return err_set(err, E_PROTOCOL, "keeper: the order lacks something");
	buf_adds(&k->script, script);
	r = buf_check(&k->script, "script", err);
	if (r == 0)
		r = home_check_workspace(&k->home, workspace, err);
	if (r == 0)
		r = id_new(k->id, err);
	if (r == 0)
		r = home_session_open(&k->home, k->id, true, &k->session_fd, err);
	k->fresh = r == 0;
	if (r == 0)
		r = path_write_file(k->session_fd, SCRIPT_NAME, buf_str(&k->script), k->script.len, err);
	if (r == 0)
		r = open_layer(k, workspace, 0, err);
	/* The jail first: without it there is no session, and its level stands in the first event. */
	if (r == 0)
		r = cellmate_provision(k, err);
	if (r == 0)
		r = log_create(k->session_fd, &k->log, err);
	if (r == 0)
		r = record_created(k, order, err);
	return r == 0 ? record_prompt(k, prompt, err) : r;
}

/* ---- a stored session */

static int take_row(const struct event *e, void *arg)
{
	struct keeper *k = arg;

	if (e->seq == 1 && e->body) {
		_cleanup_json_ json_node *body = NULL;
		int r = json_parse_object(e->body, e->body_len, &body, &k->why);

		if (r < 0)
			return r;
		free(k->brain_kind);
		k->brain_kind = strdup(text_or(body, "brain_kind", "scripted"));
		snprintf(k->brain_digest, sizeof(k->brain_digest), "%s", text_or(body, "brain_digest", ""));
	}
	return session_state_apply(&k->state, e, &k->why);
}

int begin_open(struct keeper *k, const char *session, struct err *err)
{
	_cleanup_log_reader_ struct log_reader *reader = NULL;

	snprintf(k->id, sizeof(k->id), "%s", session);
	int r = home_session_open(&k->home, k->id, false, &k->session_fd, err);
	if (r == 0)
		r = log_open(k->session_fd, &k->log, err);
	if (r == 0)
		r = log_reader_open(k->session_fd, &reader, err);
	if (r == 0) {
		r = log_reader_each(reader, 0, take_row, k, err);
		if (r < 0 && k->why.code) {
			*err = k->why;
			k->why = (struct err){ 0 };
		}
	}
	if (r < 0)
		return r;
	if (!k->state.workspace || !k->brain_kind)
		return err_set(err, E_CORRUPT, "session %s: its log has no first event", k->id);
	k->preset = preset_find(k->state.preset);
	if (!k->preset)
		return err_set(err, E_CORRUPT, "session %s: unknown preset", k->id);
	return open_layer(k, k->state.workspace, k->state.idmap_base, err);
}

static bool holds(const struct manifest *m, const json_node *path, size_t *from)
{
	for (size_t i = 0; i < m->n; i++) {
		size_t at = (*from + i) % m->n; /* both are in the same order */
		_cleanup_json_ json_node *staged = staged_path(&m->change[at]);

		if (!cJSON_Compare(staged, path, true))
			continue;
		*from = at + 1;
		return true;
	}
	return false;
}

/* An apply that the log knows as begun, and that left no journal: it was cut short before it or after it.  What is
 * applied is staged no longer, so a look at the change tells. */
static int look_at_apply(struct keeper *k, const char **ret_state, struct err *err)
{
	_cleanup_(manifest_free) struct manifest m = { 0 };
	size_t staged = 0, gone = 0, from = 0;
	const json_node *path;
	int r = stage_snapshot(k, &m, err);

	if (r < 0)
		return r;
	cJSON_ArrayForEach(path, k->state.applying) {
		*(holds(&m, path, &from) ? &staged : &gone) += 1;
		if (staged && gone)
			break;
	}
	*ret_state = staged && gone ? "unknown" : staged ? "undone" : "completed";
	return 0;
}

int begin_recover(struct keeper *k, struct err *err)
{
	const char *state = "none";
	int r = apply_recover(&k->staged.layer, k->session_fd, &state, err);

	if (r == 0 && strcmp(state, "none") == 0 && k->state.applying)
		r = look_at_apply(k, &state, err);
	if (r < 0 || strcmp(state, "none") == 0)
		return r;
	json_node *body = cJSON_CreateObject();
	cJSON_AddStringToObject(body, "state", state);
	r = keeper_record(k, "changes.recovered", "keeper", 0, body, LOG_BARRIER, NULL);
	return r < 0 ? err_set(err, k->why.code, "%s", k->why.text) : 0;
}

/* An unfinished turn goes on, a finished or halted one stays idle. */
static bool goes_on(const struct session_state *s)
{
	if (s->terminated || s->halted)
		return false;
	return s->request_open || s->turn_due || session_state_open_calls(s) || s->running;
}

static int check_script(const struct keeper *k, struct err *err)
{
	uint8_t digest[DIGEST_LEN];
	char hex[DIGEST_HEX_LEN + 1];

	digest_of(buf_str(&k->script), k->script.len, digest);
	if (strcmp(digest_hex(digest, hex), k->brain_digest) == 0)
		return 0;
	return err_set(err, E_CORRUPT,
		       "session %s: its " SCRIPT_NAME " is not the one that it began with; put that back", k->id);
}

static int wake(struct keeper *k, const json_node *order, struct err *err)
{
	const char *session = json_get_str(order, "session");
	int r;

	if (!session || !id_valid(session))
		return err_set(err, E_PROTOCOL, "keeper: the order names no session");
	r = begin_open(k, session, err);
	if (r == 0)
		r = home_check_workspace(&k->home, k->state.workspace, err);
	if (r == 0)
		r = path_read_file(k->session_fd, SCRIPT_NAME, k->script.max, &k->script, err);
	if (r == 0)
		r = check_script(k, err);
	if (r == 0)
		r = begin_recover(k, err);
	if (r < 0)
		return r;
	if (k->state.terminated) {
		k->ending = true;
		k->status = 1;
		return 0;
	}
	r = calls_settle(k, "unknown",
			 "Outcome unknown: warder was ended while this call ran. It may have had effects; look before "
			 "doing it again.");
	if (r == 0)
		r = calls_recheck(k);
	if (r == 0 && goes_on(&k->state) && !k->state.running && !session_state_pending(&k->state))
		r = keeper_record(k, "session.status_running", "keeper", 0, cJSON_CreateObject(), LOG_NORMAL, NULL);
	return r < 0 ? err_set(err, k->why.code ? k->why.code : r, "%s", k->why.text) : 0;
}

static const struct {
	const char *mode;
	int (*begin)(struct keeper *k, const json_node *order, struct err *err);
} modes[] = {
	{ "run", start_new },
	{ "wake", wake },
};

int begin(struct keeper *k, int fd, struct err *err)
{
	_cleanup_json_ json_node *order = NULL;
	_cleanup_json_ json_node *ready = cJSON_CreateObject();
	int r = read_order(fd, &order, err);
	const char *mode = r == 0 ? text_or(order, "mode", "") : "";

	if (r == 0)
		r = home_open(&k->home, err);
	if (r == 0)
		r = take_common(k, order, err);
	if (r < 0)
		return r;

	r = err_set(err, E_PROTOCOL, "keeper: unknown order");
	for (size_t i = 0; i < ARRAY_LEN(modes); i++)
		if (strcmp(modes[i].mode, mode) == 0)
			r = modes[i].begin(k, order, err);
	if (r == 0)
		r = operator_listen(k, err);
	if (r < 0)
		return r;
	keeper_write_pids(k);
	cJSON_AddStringToObject(ready, "session", k->id);
	r = wire_send(fd, OPR_OK, ready, err);
	return r < 0 ? r : operator_add(k, fd);
}

void begin_refused(struct keeper *k, int fd, const struct err *why)
{
	_cleanup_json_ json_node *refusal = cJSON_CreateObject();
	struct err err = { 0 };

	cell_end(&k->cell);
	if (k->fresh) {
		log_close(&k->log);
		staged_close(&k->staged);
		(void)!path_remove_tree(k->home.sessions_fd, k->id, &err);
	}
	cJSON_AddNumberToObject(refusal, "status", err_exit_status(why->code));
	cJSON_AddStringToObject(refusal, "text", why->text);
	(void)!wire_send(fd, OPR_ERROR, refusal, &err);
}
