#include "core/policy/action.h"

int action_write(const char *tool, const json_node *input, const char *cwd, struct buf *ret, struct err *err)
{
	_cleanup_json_ json_node *action = cJSON_CreateObject();

	/* The input is only lent: a reference node is written and freed without its content. */
	if (!action || !cJSON_AddStringToObject(action, "cwd", cwd) || !cJSON_AddStringToObject(action, "tool", tool) ||
	    !cJSON_AddItemReferenceToObject(action, "input", (json_node *)(uintptr_t)input))
		return err_set(err, E_NOMEM, "action: out of memory");
	json_write_canonical(action, ret);
	return buf_check(ret, "action", err);
}

int action_digest(const char *tool, const json_node *input, const char *cwd, char ret_hex[DIGEST_HEX_LEN + 1],
		  struct err *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT(ACTION_MAX);
	uint8_t digest[DIGEST_LEN];
	int r = action_write(tool, input, cwd, &text, err);

	if (r < 0)
		return r;
	digest_of(text.data, text.len, digest);
	digest_hex(digest, ret_hex);
	return 0;
}
