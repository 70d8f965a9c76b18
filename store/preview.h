/*
 * preview: the one line by which lists show an event.  It picks the telling fields of a body by kind and passes them
 * through the display gate; it never decides anything by them.
 */
#ifndef WARDER_STORE_PREVIEW_H
#define WARDER_STORE_PREVIEW_H

#include "core/base/buf.h"
#include "core/base/json.h"

/* Appends at most EVENT_PREVIEW_COLUMNS columns.  Kinds without a row in the table show their main argument, or
 * the body as it is. */
void event_preview(const char *kind, const json_node *body, struct buf *out);

#endif
