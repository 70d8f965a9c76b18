#!/bin/sh
# The loop without an operator: events, their order and durability, presets, answers, failures and retries.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

ws=$work/ws
mkdir "$ws"
cd "$ws" || exit 99
echo one >file
need_jail

# warder_run NAME OPTIONS...: a headless run of the script on standard input; $status, $out, $err, $kinds.
warder_run() {
	name=$1
	shift
	cat >"$work/$name.script"
	run "$WARDER_BIN" run -m "scripted:$work/$name.script" --headless "$@" "do it"
	kinds=$(printf '%s\n' "$out" | sed -n 's/.*"kind":"\([^"]*\)".*/\1/p' | tr '\n' ' ')
}

# body KIND: bodies of the events of that kind, one a line.
body() {
	printf '%s\n' "$out" | sed -n "s/.*\"kind\":\"$1\".*\"body\":\(.*\),\"hash\":\"[0-9a-f]*\"}\$/\1/p"
}

warder_run talk <<'S'
{"content":[{"type":"text","text":"hello"}],"usage":{"input_tokens":3,"output_tokens":4}}
S
is "$status" 0 "a turn without calls"
is "$kinds" "session.created jail.provisioned user.message session.status_running span.model_request_start agent.message span.model_request_end session.status_idle jail.destroyed " "its events in order"
is "$(printf '%s\n' "$out" | grep -c '"session":"[0-9a-z]\{20\}"')" "$(printf '%s\n' "$out" | wc -l)" "each line names the session"
is "$(printf '%s\n' "$out" | sed -n 's/.*"seq":\([0-9]*\),.*/\1/p' | tr '\n' ' ')" "1 2 3 4 5 6 7 8 9 " "seq without a gap"
like "$(body session.created)" "\"workspace\":\"$ws\"" "seq 1 names the workspace"
like "$(body session.created)" '"level":"S[23]"' "and the level"

warder_run allowed <<'S'
{"content":[{"type":"tool_use","name":"bash","input":{"command":"cat file; echo two > file"}}]}
{"content":[{"type":"text","text":"done"}]}
S
is "$status" 0 "contained: a command runs without asking"
like "$kinds" 'agent.tool_use span.model_request_end policy.verdict tool.started agent.tool_result span' "verdict, start, result"
like "$(body agent.tool_result)" '"content":"one\\n"' "the result holds what it printed"
is "$(cat file)" one "the real file is as it was"
like "$kinds" 'changes.staged session.status_idle' "the change is staged at the turn's end"

cat >"$work/answers" <<'A'
{"match":{"tool":"bash","contains":"secret"},"decision":"deny","note":"not that one"}
{"match":{"tool":"bash"},"decision":"allow"}
{"match":{"tool":"edit"},"decision":"allow"}
A
warder_run asked -p careful --answers "$work/answers" <<'S'
{"content":[{"type":"tool_use","name":"bash","input":{"command":"echo fine"},"id":"call_a"}]}
{"expect":{"result_contains":"fine"}}
{"content":[{"type":"tool_use","name":"bash","input":{"command":"cat secret"}}]}
{"expect":{"result_contains":"not that one"}}
{"content":[{"type":"tool_use","name":"write","input":{"file_path":"new","content":"x"}}]}
{"expect":{"result_contains":"no answer given"}}
{"content":[{"type":"tool_use","name":"read","input":{"file_path":"file"}}]}
{"expect":{"result_contains":"one"}}
{"content":[{"type":"text","text":"done"}]}
S
is "$status" 0 "careful with answers: expectations held"
like "$kinds" 'agent.tool_use span.model_request_end policy.verdict approval.requested session.status_idle user.tool_confirmation session.status_running tool.started agent.tool_result' "an asked call in order"
like "$kinds" 'approval.requested session.status_idle user.tool_confirmation session.status_running agent.tool_result span' "a denied one has no start"
is "$(printf '%s' "$kinds" | tr ' ' '\n' | grep -c 'tool.started')" 2 "two calls started"
is "$(body user.tool_confirmation | grep -c '"result":"deny"')" 2 "two were denied"
like "$(body agent.tool_use | head -n 1)" '"id":"call_a"' "a given id is kept"
like "$(body agent.tool_use | tail -n 1)" '"id":"toolu_7_0"' "a missing id is made of line and place"
digest=$(body approval.requested | head -n 1 | sed -n 's/.*"digest":"\([0-9a-f]*\)".*/\1/p')
canonical=$(printf '{"cwd":"%s","input":{"command":"echo fine"},"tool":"bash"}' "$ws")
is "$digest" "$(printf '%s' "$canonical" | sha256sum | cut -d' ' -f1)" "the digest is SHA-256 of the canonical action"
like "$(body tool.started | head -n 1)" "\"digest\":\"$digest\"" "and stands at the start"
like "$err" 'answers:3: this answer was never used' "an answer that was never used is named"

warder_run locked -p locked <<'S'
{"content":[{"type":"tool_use","name":"bash","input":{"command":"echo no"}},{"type":"tool_use","name":"read","input":{"file_path":"file"}},{"type":"tool_use","name":"fly","input":{}}]}
{"expect":{"result_contains":"one"}}
{"content":[{"type":"text","text":"done"}]}
S
is "$status" 0 "locked: reading works"
is "$(body agent.tool_result | grep -c '"outcome":"denied"')" 2 "a command and an unknown tool are denied"

warder_run exhausted <<'S'
{"content":[{"type":"tool_use","name":"bash","input":{"command":"true"}}]}
S
is "$status" 1 "a script that ends after a call"
like "$(body session.error)" '"kind":"script_exhausted".*"retry_status":"terminal"' "is a terminal error"
like "$kinds" 'session.status_terminated' "and ends the session"
id=$(printf '%s\n' "$out" | sed -n '1s/.*"session":"\([0-9a-z]*\)".*/\1/p')
run "$WARDER_BIN" wake "$id" --headless
is "$status" 1 "which cannot be woken"

warder_run expects <<'S'
{"content":[{"type":"tool_use","name":"bash","input":{"command":"echo yes"}}]}
{"expect":{"result_contains":"no such text"}}
{"content":[{"type":"text","text":"done"}]}
S
is "$status" 1 "an expectation that fails"
like "$(body session.error)" '"kind":"expect_failed"' "is named"

warder_run retried <<'S'
{"error":{"status":529,"type":"overloaded_error"}}
{"content":[{"type":"text","text":"here again"}]}
S
is "$status" 0 "an overloaded server is asked again"
like "$(body session.error)" '"kind":"overloaded_error".*"retry_status":"retrying"' "and that is recorded"
is "$(body agent.message | grep -c 'here again')" 1 "the answer comes once"

warder_run refused <<'S'
{"error":{"status":401,"type":"authentication_error"}}
S
is "$status" 1 "a refused key is not retried"
like "$(body session.status_idle | tail -n 1)" 'retries_exhausted' "and the turn ends"

warder_run parallel <<'S'
{"content":[{"type":"tool_use","name":"read","input":{"file_path":"file"}},{"type":"tool_use","name":"read","input":{"file_path":"none"}},{"type":"tool_use","name":"bash","input":{"command":"echo after"}}]}
{"content":[{"type":"text","text":"done"}]}
S
is "$status" 0 "three calls in one turn"
is "$(body agent.tool_result | wc -l)" 3 "three results"
like "$kinds" 'tool.started tool.started agent.tool_result agent.tool_result tool.started agent.tool_result' "reads side by side, the command after them"

# The harness speaks while the keeper tells it what it has recorded: more than the socket between them holds, both ways.
large=$(head -c 100000 /dev/zero | tr '\0' x)
{
	printf '{"content":['
	for n in 1 2 3 4 5 6 7 8; do
		printf '%s{"type":"tool_use","name":"write","input":{"file_path":"f%d","content":"%s"}}' "${comma-}" "$n" "$large"
		comma=,
	done
	printf ']}\n{"content":[{"type":"text","text":"done"}]}\n'
} >"$work/large"
run timeout 25 "$WARDER_BIN" run -m "scripted:$work/large" --headless "write"
is "$status" 0 "a turn with much content ends"
is "$(printf '%s\n' "$out" | grep -c '"kind":"agent.tool_result"')" 8 "with all its results"

warder_run folder <<'S'
{"content":[{"type":"tool_use","name":"bash","input":{"command":"mkdir sub && cd sub"}}]}
{"content":[{"type":"tool_use","name":"bash","input":{"command":"pwd"}}]}
{"expect":{"result_contains":"/sub"}}
{"content":[{"type":"text","text":"done"}]}
S
is "$status" 0 "the folder is kept from call to call"

run "$WARDER_BIN" verify
is "$status" 0 "every log verifies"
is "$(printf '%s\n' "$out" | grep -c '^intact')" "$(ls "$WARDER_HOME/sessions" | wc -l)" "one line each"
chmod 755 "$WARDER_HOME/sessions/$id"
run "$WARDER_BIN" verify
is "$status" 1 "a folder that is open to others is not verified"
like "$out" "^unreadable: session $id" "it is named"
is "$(printf '%s\n' "$out" | wc -l)" "$(ls "$WARDER_HOME/sessions" | wc -l)" "and the others are verified all the same"
chmod 700 "$WARDER_HOME/sessions/$id"
run "$WARDER_BIN" ls --json
is "$status" 0 "ls"
is "$(printf '%s\n' "$out" | grep -c '"state":"stopped","pid":null')" "$(ls "$WARDER_HOME/sessions" | wc -l)" "all are stopped, no process is left"
is "$(find "$WARDER_HOME/run" -name '*.pid' -o -name '*.sock' | wc -l)" 0 "no socket and no pid file is left"
tap_end
