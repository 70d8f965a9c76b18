#include "core/keeper/moment.h"

#include "core/keeper/begin.h"
#include "core/pub/op.h"

static int snapshot(struct keeper *k, const json_node *order, json_node *answer, struct buf *problems, struct err *err)
{
	_cleanup_(manifest_free) struct manifest m = { 0 };
	char hex[DIGEST_HEX_LEN + 1];
	int r = stage_snapshot(k, &m, err);

	(void)order;
	(void)problems;
	if (r == 0)
		cJSON_AddStringToObject(answer, "manifest", digest_hex(m.digest, hex));
	return r;
}

static int apply(struct keeper *k, const json_node *order, json_node *answer, struct buf *problems, struct err *err)
{
	size_t n = 0;
	int r = stage_apply(k, order, problems, &n, err);

	cJSON_AddNumberToObject(answer, "applied", (double)n);
	return r;
}

static int discard(struct keeper *k, const json_node *order, json_node *answer, struct buf *problems, struct err *err)
{
	size_t n = 0;
	int r = stage_discard(k, order, &n, err);

	(void)problems;
	cJSON_AddNumberToObject(answer, "discarded", (double)n);
	return r;
}

static const struct {
	unsigned type;
	int (*run)(struct keeper *k, const json_node *order, json_node *answer, struct buf *problems, struct err *err);
} requests[] = {
	{ OP_SNAPSHOT, snapshot },
	{ OP_APPLY, apply },
	{ OP_DISCARD, discard },
};

int moment_ask(const char *session, unsigned type, const json_node *order, json_node **ret_answer, char **ret_problems,
	       struct err *err)
{
	_cleanup_json_ json_node *answer = cJSON_CreateObject();
	_cleanup_(keeper_free) struct keeper *k = keeper_new();
	_cleanup_buf_ struct buf problems = BUF_INIT(1u << 20);
	int r = k ? home_open(&k->home, err) : err_set(err, E_NOMEM, "session: out of memory");

	if (r == 0)
		r = begin_open(k, session, err);
	if (r == 0)
		r = begin_recover(k, err);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(requests); i++)
		if (requests[i].type == type)
			r = requests[i].run(k, order, answer, &problems, err);
	if (problems.len && ret_problems)
		*ret_problems = buf_steal(&problems);
	if (r == 0)
		*ret_answer = steal_ptr(answer);
	return r;
}
