/*
 * keeper: one process a session, the only writer of its log and the only one with authority: verdicts, decisions,
 * cells, apply (`warder __keeper`, started detached by run and wake).  It reads bounded frames that a table permits
 * now; it never reads a network protocol, and nothing of a cell's output but the adapter's frames.
 */
#ifndef WARDER_KEEPER_KEEPER_H
#define WARDER_KEEPER_KEEPER_H

/*
 * The process's main.  The first frame on HELPER_FD is the order, a JSON object:
 *   {"mode":"run","workspace","brain","brain_kind","script","preset","floor","prompt","headless",
 *    "answers":{"name","text"}?}   or   {"mode":"wake","session","floor","headless","answers"?}
 * It answers OPR_OK {"session":ID} when the session runs, or OPR_ERROR; after that the socket is an operator's
 * (core/pub/op.h) that needs no hello.  With "headless" the session ends when that operator hangs up.
 */
int keeper_main(void);

#endif
