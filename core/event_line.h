/*
 * event_line: one event as one line: the JSON of CONTRACTS "Log", or text for people.  It never reads a log.
 */
#ifndef WARDER_EVENT_LINE_H
#define WARDER_EVENT_LINE_H

#include "core/base/buf.h"
#include "store/event.h"

/* Without a newline. */
void event_line_json(const char *session, const struct event *e, struct buf *out);
/* "   12 10:00:00 agent     agent.tool_use       bash: make check", already safe. */
void event_line_text(const struct event *e, struct buf *out);

#endif
