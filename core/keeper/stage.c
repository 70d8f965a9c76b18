/*
 * The staged change as events: snapshot at the end of a turn and on demand, apply and discard as the operator's own
 * decision.  Shared by the keeper and, through `struct keeper`, by a command that is the keeper for a moment.
 */
#include <string.h>

#include "core/base/safe_text.h"
#include "core/changes/select.h"
#include "core/keeper/impl.h"

/* The cell's own .git is there from the first command on, and never crosses: alone it is no staged change. */
static bool can_leave(const struct manifest *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->change[i].status != CHANGE_WITHHELD)
			return true;
	return false;
}

int stage_snapshot(struct keeper *k, struct manifest *ret, struct err *err)
{
	_cleanup_(manifest_free) struct manifest m = { 0 };
	char hex[DIGEST_HEX_LEN + 1];
	int r = k->cell ? cell_freeze(k->cell, err) : 0;

	if (r < 0) {
		/* A cell that cannot be stopped cannot be trusted to stand still: it is ended, and what is there is
		 * looked at. */
		if (cellmate_died(k, "the cell could not be frozen") < 0)
			return err_set(err, k->why.code, "%s", k->why.text);
	}
	r = layer_snapshot(&k->staged.layer, &m, err);
	if (k->cell && cell_thaw(k->cell, err) < 0 && cellmate_died(k, "the cell could not be continued") < 0)
		return err_set(err, k->why.code, "%s", k->why.text);
	if (r == 0)
		r = staged_save(&k->staged, &m, err);
	if (r < 0)
		return r;

	digest_hex(m.digest, hex);
	bool same = strcmp(hex, k->state.staged_manifest) == 0 || (!can_leave(&m) && !k->state.staged_manifest[0]);
	if (!same && keeper_record(k, "changes.staged", "keeper", 0, staged_body(&m), LOG_BARRIER, NULL) < 0)
		return err_set(err, k->why.code, "%s", k->why.text);
	*ret = m;
	m = (struct manifest){ 0 };
	return 0;
}

int stage_turn_end(struct keeper *k)
{
	_cleanup_(manifest_free) struct manifest m = { 0 };
	struct err err = { 0 };

	if (stage_snapshot(k, &m, &err) == 0)
		return 0;
	if (k->why.code)
		return k->why.code;
	return keeper_record_error(k, "snapshot", err.text, "exhausted");
}

#define NAMES_MAX (4u << 20) /* bytes of names in one event */

static void free_list(const char ***list)
{
	free(*list);
}

/* What a discard throws away: all of it, or what is named, whether it could be applied or not. */
static bool is_discarded(const struct change *c, const char *const *paths, size_t n)
{
	return !n || select_covers(c->path, paths, n);
}

/* Names of what was applied or discarded, for the event; `more` counts those for which it has no room. */
static json_node *names_body(const struct manifest *m, const char *const *paths, size_t n, const char *hex,
			     bool (*pick)(const struct change *c, const char *const *paths, size_t n))
{
	json_node *body = cJSON_CreateObject();
	json_node *list = cJSON_AddArrayToObject(body, "paths");
	_cleanup_buf_ struct buf written = BUF_INIT(NAMES_MAX);
	size_t more = 0;

	for (size_t i = 0; i < m->n; i++) {
		if (!pick(&m->change[i], paths, n))
			continue;
		_cleanup_json_ json_node *path = staged_path(&m->change[i]);
		if (!path) {
			/* A list that lacks one would say that it was not touched. */
			json_free(&body);
			return NULL;
		}
		json_write(path, &written);
		if (written.failed)
			more++;
		else
			cJSON_AddItemToArray(list, steal_ptr(path));
	}
	cJSON_AddStringToObject(body, "manifest", hex);
	cJSON_AddNumberToObject(body, "more", (double)more);
	return body;
}

/* The cell's view lies over files that have just changed under it: only a new cell may look at them. */
static int end_cell_for_change(struct keeper *k, const char *why, struct err *err)
{
	if (calls_running(k))
		return err_set(err, E_BUSY, "changes: a command is running in the cell; wait for it, or interrupt it");
	if (cellmate_end(k, why) < 0)
		return err_set(err, k->why.code, "%s", k->why.text);
	return 0;
}

/* One line, whatever the name holds: the agent chose it. */
static void add_problem(struct buf *problems, const struct change *c, const char *why)
{
	_cleanup_free_ char *path = safe_dup(c->path);

	buf_addf(problems, "%s: not applied: %s\n", path ? path : "?", why);
}

/* Left out, and no error: what is withheld is never applied, what runs later only by its name. */
static void name_left_out(const struct manifest *m, const char *const *paths, size_t n, struct buf *problems)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct change *c = &m->change[i];

		if (n && c->status == CHANGE_WITHHELD && select_covers(c->path, paths, n))
			add_problem(problems, c, c->why);
		if (!n && c->status == CHANGE_OK && c->runs_later)
			add_problem(problems, c, "programs of this machine run or obey it later; name it to apply it");
	}
}

/* Everything that can be known before the first byte is written is refused before anything is recorded as begun. */
static int precheck(const struct manifest *m, const char *const *paths, size_t n, struct buf *problems, struct err *err)
{
	const char *stranger = select_stranger(m, paths, n);
	size_t bad = 0;

	if (stranger)
		return err_set(err, E_NOTFOUND, "%s: not staged; warder changes lists what is", stranger);
	for (size_t i = 0; i < m->n; i++) {
		const struct change *c = &m->change[i];
		bool blocks = c->status == CHANGE_CONFLICT || c->status == CHANGE_REFUSED;

		/* Without names, whatever cannot be applied stands in the way of "everything" as well. */
		if (!blocks || (n && !select_covers(c->path, paths, n)))
			continue;
		add_problem(problems, c, c->why);
		bad++;
	}
	return bad ? err_set(err, E_CONFLICT,
			     "changes: %zu path%s cannot be applied, so nothing was; name the others", bad,
			     bad == 1 ? "" : "s")
		   : 0;
}

/* What was applied is staged no longer. */
static int drop_applied(struct keeper *k, const struct manifest *m, const char *const *paths, size_t n, struct err *err)
{
	_cleanup_(free_list) const char **applied = calloc(m->n + 1, sizeof(*applied));
	size_t count = 0;

	if (!applied)
		return err_set(err, E_NOMEM, "changes: out of memory");
	for (size_t i = 0; i < m->n; i++)
		if (select_change(&m->change[i], paths, n))
			applied[count++] = m->change[i].path;
	return count ? layer_drop(&k->staged.layer, applied, count, err) : 0;
}

static bool selects_any(const struct manifest *m, const char *const *paths, size_t n)
{
	for (size_t i = 0; i < m->n; i++)
		if (select_change(&m->change[i], paths, n))
			return true;
	return false;
}

int stage_apply(struct keeper *k, const json_node *order, struct buf *problems, size_t *ret_n, struct err *err)
{
	_cleanup_(manifest_free) struct manifest m = { 0 };
	_cleanup_(apply_result_free) struct apply_result result = APPLY_RESULT_INIT;
	const char *wanted = json_get_str(order, "manifest");
	_cleanup_(free_list) const char **paths = NULL;
	char hex[DIGEST_HEX_LEN + 1], shown[DIGEST_HEX_LEN + 1];
	bool cell_lived = k->cell != NULL;
	size_t n = 0;
	int r = staged_paths(json_get(order, "paths"), &paths, &n, err);

	memcpy(shown, k->state.staged_manifest, sizeof(shown));
	if (r == 0)
		r = end_cell_for_change(k, "the operator applies changes", err);
	if (r == 0)
		r = stage_snapshot(k, &m, err);
	if (r < 0)
		return r;

	digest_hex(m.digest, hex);
	r = precheck(&m, paths, n, problems, err);
	/* A process that the agent left running may have gone on after the last look: what the operator means is what
	 * was shown then, which is the last row of its kind.  Now that the cell is ended, nothing moves any more. */
	if (!wanted && cell_lived && m.n)
		wanted = shown;
	if (r == 0 && wanted && strcmp(wanted, hex) != 0)
		r = err_set(err, E_DENIED, "changes: changed since they were last shown; look again, then apply");
	if (r == 0)
		name_left_out(&m, paths, n, problems);
	if (r == 0 && !selects_any(&m, paths, n))
		return 0;
	bool begun = r == 0;
	if (r == 0 && keeper_record(k, "changes.applying", "operator", 0, names_body(&m, paths, n, hex, select_change),
				    LOG_BARRIER, NULL) < 0)
		r = err_set(err, k->why.code, "%s", k->why.text);
	if (r == 0)
		r = apply_changes(&k->staged.layer, k->session_fd, &m, paths, n, &result, err);
	buf_add(problems, buf_str(&result.problems), result.problems.len);
	if (r < 0 && begun && !k->why.code &&
	    keeper_record_error(k, "apply", err->text, "exhausted") < 0)
		return err_set(err, k->why.code, "%s", k->why.text);
	if (r < 0)
		return r;
	if (keeper_record(k, "changes.applied", "operator", 0, names_body(&m, paths, n, hex, select_change),
			  LOG_BARRIER, NULL) < 0)
		return err_set(err, k->why.code, "%s", k->why.text);
	*ret_n = result.applied;
	return drop_applied(k, &m, paths, n, err);
}

int stage_discard(struct keeper *k, const json_node *order, size_t *ret_n, struct err *err)
{
	_cleanup_(manifest_free) struct manifest m = { 0 };
	_cleanup_(free_list) const char **paths = NULL;
	char hex[DIGEST_HEX_LEN + 1];
	size_t n = 0;
	int r = staged_paths(json_get(order, "paths"), &paths, &n, err);

	if (r == 0)
		r = end_cell_for_change(k, "the operator discards changes", err);
	if (r == 0)
		r = stage_snapshot(k, &m, err);
	if (r == 0 && select_stranger(&m, paths, n))
		r = err_set(err, E_NOTFOUND, "%s: not staged; warder changes lists what is",
			    select_stranger(&m, paths, n));
	if (r < 0)
		return r;

	digest_hex(m.digest, hex);
	*ret_n = 0;
	for (size_t i = 0; i < m.n; i++)
		*ret_n += is_discarded(&m.change[i], paths, n);
	if (keeper_record(k, "changes.discarded", "operator", 0, names_body(&m, paths, n, hex, is_discarded),
			  LOG_BARRIER, NULL) < 0)
		return err_set(err, k->why.code, "%s", k->why.text);
	return layer_drop(&k->staged.layer, paths, n, err);
}
