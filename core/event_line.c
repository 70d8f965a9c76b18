#include "core/event_line.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/safe_text.h"

/* The body's bytes go out as they are stored: parsed and written again they could differ from what was hashed. */
void event_line_json(const char *session, const struct event *e, struct buf *out)
{
	char time[32], hash[DIGEST_HEX_LEN + 1];

	buf_addf(out, "{\"session\":\"%s\",\"seq\":%lld,\"time\":\"%s\",\"kind\":", session, (long long)e->seq,
		 clock_format(e->time, time));
	json_write_string(e->kind, strlen(e->kind), out);
	buf_adds(out, ",\"actor\":");
	json_write_string(e->actor, strlen(e->actor), out);
	if (e->ref)
		buf_addf(out, ",\"ref\":%lld", (long long)e->ref);
	else
		buf_adds(out, ",\"ref\":null");
	buf_adds(out, ",\"body\":");
	if (e->body)
		buf_add(out, e->body, e->body_len);
	else
		buf_adds(out, "null");
	buf_addf(out, ",\"hash\":\"%s\"}", digest_hex(e->hash, hash));
}

void event_line_text(const struct event *e, struct buf *out)
{
	char time[32];

	clock_format(e->time, time);
	buf_addf(out, "%5lld %.8s ", (long long)e->seq, time + 11);

	size_t at = out->len;
	safe_preview(e->actor, strlen(e->actor), 8, out);
	while (!out->failed && out->len < at + 9)
		buf_addc(out, ' ');
	at = out->len;
	safe_preview(e->kind, strlen(e->kind), 26, out);
	if (e->preview && !e->preview[0])
		return;
	while (!out->failed && out->len < at + 27)
		buf_addc(out, ' ');
	/* The preview was made safe when it was stored; a log from elsewhere gets no such trust. */
	if (e->preview)
		safe_preview(e->preview, strlen(e->preview), 160, out);
	else
		buf_adds(out, "(erased)");
}
