/*
 * op: the operator protocol: what a window or a command may ask of a session's keeper.  Frames (core/base/frame.h)
 * with JSON objects over run/ID.sock, or over the socket pair of the command that started the keeper.  It carries
 * decisions; it never carries events (those are read from the log; the keeper only says "seq N").
 *
 * The first frame must be OP_HELLO; until then nothing else is permitted.  Each request is answered by one OPR_OK or
 * OPR_ERROR, in order; OPR_SEQ and OPR_BYE come unasked to subscribers.
 */
#ifndef WARDER_PUB_OP_H
#define WARDER_PUB_OP_H

#define OP_VERSION 1
#define OP_FRAME_MAX (5u << 20) /* bytes that a client may send at once */

enum op_request {
	OP_HELLO = 1, /* {"version":1,"tty":NAME?,"ssh":ORIGIN?} */
	OP_SUBSCRIBE, /* {}: OPR_SEQ for every row from now on; answer {"seq":N} */
	OP_STATUS,    /* {}: answer {"state","pid":{...}} */
	OP_DECIDE,  /* {"id":SEQ,"result":"allow"|"deny","digest":HEX?,"deny_message":TEXT?}; allow needs the digest */
	OP_MESSAGE, /* {"text":T} */
	OP_INTERRUPT, /* {}: the turn ends, the session waits for the next message */
	OP_STOP,      /* {}: answered when everything but the keeper is gone */
	OP_SNAPSHOT,  /* {}: answer {"manifest":HEX}; sessions/ID/manifest is fresh */
	OP_APPLY,     /* {"paths":[...]?,"manifest":HEX}: answer {"applied":N} */
	OP_DISCARD,   /* {"paths":[...]?}: answer {"discarded":N} */
	OP_ADOPT,     /* {"answers":{"name","text"}?}: run on without an operator; asks are answered so, or denied */
};

enum op_reply {
	OPR_OK = 64,
	OPR_ERROR, /* {"status":EXIT,"text":"WHAT: WHY; WHAT TO DO","problems":TEXT?} */
	OPR_SEQ,   /* {"seq":N} */
	OPR_BYE,   /* {"status":EXIT,"text":TEXT,"unused":TEXT}: the keeper ends */
};

#endif
