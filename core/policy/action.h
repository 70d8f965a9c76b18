/*
 * action: the canonical form of one tool call, and its digest: what a card shows, what a decision is bound to and
 * what runs are the same bytes.
 *
 * Canonical JSON (sorted keys, no white space) of {"cwd":FOLDER,"input":{...},"tool":NAME}; the digest is SHA-256 over
 * exactly these bytes.
 */
#ifndef WARDER_POLICY_ACTION_H
#define WARDER_POLICY_ACTION_H

#include "core/base/buf.h"
#include "core/base/digest.h"
#include "core/base/err.h"
#include "core/base/json.h"

#define ACTION_MAX (8u << 20) /* bytes */

int action_write(const char *tool, const json_node *input, const char *cwd, struct buf *ret,
		 struct err *err) WARN_UNUSED;
/* Hex digest of action_write's bytes. */
int action_digest(const char *tool, const json_node *input, const char *cwd, char ret_hex[DIGEST_HEX_LEN + 1],
		  struct err *err) WARN_UNUSED;

#endif
