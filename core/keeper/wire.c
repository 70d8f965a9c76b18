#include "core/keeper/wire.h"

#include <string.h>

void wire_event_write(const struct event *e, struct buf *out)
{
	buf_addf(out, "{\"seq\":%lld,\"time\":%lld,\"ref\":%lld,\"kind\":", (long long)e->seq, (long long)e->time,
		 (long long)e->ref);
	json_write_string(e->kind, strlen(e->kind), out);
	buf_adds(out, ",\"actor\":");
	json_write_string(e->actor, strlen(e->actor), out);
	buf_adds(out, "}\n");
	buf_add(out, e->body, e->body_len);
}

int wire_event_read(const char *data, size_t len, struct wire_event *ret, struct err *err)
{
	const char *nl = memchr(data, '\n', len);
	_cleanup_json_ json_node *header = NULL;

	if (!nl)
		return err_set(err, E_PROTOCOL, "event frame: no header");
	int r = json_parse_object(data, (size_t)(nl - data), &header, err);
	if (r < 0)
		return r;

	struct event e = {
		.seq = json_get_int(header, "seq", 0),
		.time = json_get_int(header, "time", 0),
		.ref = json_get_int(header, "ref", 0),
		.kind = json_get_str(header, "kind"),
		.actor = json_get_str(header, "actor"),
		.body = nl + 1,
		.body_len = len - (size_t)(nl + 1 - data),
	};
	if (!e.kind || !e.actor)
		return err_set(err, E_PROTOCOL, "event frame: no kind or actor");
	*ret = (struct wire_event){ .event = e, .header = steal_ptr(header) };
	return 0;
}

int wire_send(int fd, uint32_t type, const json_node *object, struct err *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT(FRAME_MAX);

	json_write(object, &text);
	int r = buf_check(&text, "message", err);
	return r < 0 ? r : frame_send(fd, type, buf_str(&text), text.len, err);
}

int wire_queue(struct frame_writer *w, uint32_t type, const json_node *object, struct err *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT(FRAME_MAX);

	json_write(object, &text);
	int r = buf_check(&text, "message", err);
	return r < 0 ? r : frame_queue(w, type, buf_str(&text), text.len, err);
}
