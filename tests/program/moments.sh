#!/bin/sh
# A keeper killed after each row of a session: the next one, started from exactly those rows, ends the turn, and no call
# that had started runs again.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

prefix=$top_builddir/tests/program/log_prefix
ws=$work/ws
mkdir "$ws"
cd "$ws" || exit 99
need_jail

cat >"$work/script" <<'S'
{"content":[{"type":"text","text":"look"},{"type":"tool_use","name":"bash","input":{"command":"echo a >> marks"}},{"type":"tool_use","name":"read","input":{"file_path":"marks"}}]}
{"error":{"status":529,"type":"overloaded_error"}}
{"content":[{"type":"tool_use","name":"write","input":{"file_path":"new","content":"x"}}]}
{"content":[{"type":"text","text":"done"}]}
S
printf '{"match":{},"decision":"allow"}\n' >"$work/answers"

run "$WARDER_BIN" run -m "scripted:$work/script" -p careful --headless --answers "$work/answers" "go"
is "$status" 0 "the whole session"
id=$(printf '%s\n' "$out" | sed -n '1s/.*"session":"\([0-9a-z]*\)".*/\1/p')
rows=$(printf '%s\n' "$out" | wc -l)
session=$WARDER_HOME/sessions/$id
mv "$session" "$work/whole"
# Rows of before the prompt are not a session that anybody was told of.
n=$(printf '%s\n' "$out" | sed -n 's/.*"seq":\([0-9]*\),.*"kind":"user.message".*/\1/p')

while [ "$n" -le "$rows" ]; do
	mkdir -m 700 "$session"
	cp "$work/whole/script.jsonl" "$session/"
	"$prefix" "$work/whole" "$session" "$n" || not_ok "the first $n rows"
	at=$(printf '%s\n' "$out" | sed -n "${n}s/.*\"kind\":\"\([^\"]*\)\".*/\1/p")
	had_started=$("$WARDER_BIN" show "$id" --json | grep -c '"kind":"tool.started"')
	timeout 60 "$WARDER_BIN" wake "$id" --headless --answers "$work/answers" >"$work/rest" 2>"$work/err"
	got=$?
	log=$("$WARDER_BIN" show "$id" --json)
	starts=$(printf '%s\n' "$log" | grep -c '"kind":"tool.started"')
	last=$(printf '%s\n' "$log" | grep '"kind":"session.status_idle"' | tail -n 1 | sed -n 's/.*"type":"\([a-z_]*\)".*/\1/p')
	results=$(printf '%s\n' "$log" | grep -c '"kind":"agent.tool_result"')
	is "$got $last $starts $results" "0 end_turn 3 3" "killed after row $n ($at, $had_started started)"
	is "$("$WARDER_BIN" verify "$id" | tail -n 1 | cut -d: -f1)" intact "its log is whole"
	rm -rf "$session"
	n=$((n + 1))
done

# ---- a cell that never gets ready
mkdir "$work/bin"
cp "$WARDER_BIN" "$work/bin/warder"
cp "$top_builddir/tests/program/mute_hand" "$work/bin/warder-hand"
printf '{"content":[{"type":"tool_use","name":"bash","input":{"command":"true"}}]}\n' >"$work/one"
run timeout 60 "$work/bin/warder" run -m "scripted:$work/one" --headless "go"
is "$status" 3 "a cell whose hand does not start ends the run"
like "$err" 'cell: its hand ended before it was ready, 3 times' "with a reason"
is "$(printf '%s\n' "$out" | grep -c '"kind":"jail.provisioned"')" 3 "after three cells"
unlike "$out" '"kind":"tool.started"' "and nothing started"
tap_end
