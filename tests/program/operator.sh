#!/bin/sh
# What a window may ask of a keeper, over the real socket: decisions and their digests, messages, interrupts, apply and
# the next call, more than one client, clients that do not read, and what happens when the headless owner is gone.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

op=$top_builddir/tests/program/op_client
ws=$work/ws
mkdir "$ws"
cd "$ws" || exit 99
echo one >file
need_jail

# start OPTIONS...: a detached session of the script on standard input; $id, $sock.
start() {
	cat >"$work/script"
	id=$("$WARDER_BIN" run -m "scripted:$work/script" --detach "$@" "do it")
	sock=$WARDER_HOME/run/$id.sock
}

log() { "$WARDER_BIN" show "$id" --json; }
kinds() { log | sed -n 's/.*"kind":"\([^"]*\)".*/\1/p' | tr '\n' ' '; }
seq_of() { log | grep "\"kind\":\"$1\"" | tail -n 1 | sed -n 's/.*"seq":\([0-9]*\),.*/\1/p'; }
digest_of() { log | grep '"kind":"approval.requested"' | tail -n 1 | sed -n 's/.*"digest":"\([0-9a-f]*\)".*/\1/p'; }

# until_log ERE [N]: until N rows match (1), at most 20 s.
until_log() {
	tries=0
	while [ "$(log | grep -Ec "$1")" -lt "${2:-1}" ]; do
		tries=$((tries + 1))
		if [ $tries -gt 200 ]; then
			not_ok "the log never had ${2:-1} of $1"
			log | tail -n 5 | cut -c 1-200 | sed 's/^/# /'
			return 1
		fi
		sleep 0.1
	done
}

# ---- decisions
start -p careful <<'S'
{"content":[{"type":"tool_use","name":"bash","input":{"command":"echo mark >> marks"}}]}
{"content":[{"type":"tool_use","name":"bash","input":{"command":"echo never >> marks"}}]}
{"expect":{"result_contains":"use the other way"}}
{"content":[{"type":"text","text":"done"}]}
{"content":[{"type":"text","text":"again"}]}
S
until_log requires_action
request=$(seq_of approval.requested)
digest=$(digest_of)
run "$op" "$sock" raw status
like "$out" '^error .*not permitted now' "nothing before the hello"
run "$op" "$sock" raw hello '{"version":99}'
like "$out" '^error .*another version' "another version is refused"
run "$op" "$sock" unknown
like "$out" '^error .*not permitted now' "an unknown request is refused"
run "$op" "$sock" hello '{"version":1}'
like "$out" '^error .*not permitted now' "and so is a second hello"
run "$op" "$sock" status
is "$out" 'ok {"state":"waiting"}' "status"
run "$op" "$sock" decide "{\"id\":$request,\"result\":\"allow\"}"
like "$out" '^error \{"status":1,"text":".*changed since you saw it' "allow without a digest is refused"
run "$op" "$sock" decide "{\"id\":$request,\"result\":\"allow\",\"digest\":\"$(printf '%064d' 0)\"}"
like "$out" '^error \{"status":1,"text":".*changed since you saw it' "allow with another digest is refused"
run "$op" "$sock" decide "{\"id\":$((request - 1)),\"result\":\"allow\",\"digest\":\"$digest\"}"
like "$out" '^error \{"status":1,"text":".*not pending' "a row that is no request is refused"
run "$op" "$sock" decide "{\"id\":$request,\"result\":\"perhaps\",\"digest\":\"$digest\"}"
like "$out" '^error \{"status":2' "a word that is no decision is refused"
unlike "$(kinds)" 'tool.started|user.tool_confirmation' "none of them decided anything"
run "$op" "$sock" message '{"text":"hurry"}' status
is "$out" 'ok {}
ok {"state":"waiting"}' "a message while a request is pending answers nothing"
run "$op" "$sock" decide "{\"id\":$request,\"result\":\"allow\",\"digest\":\"$digest\"}" \
	decide "{\"id\":$request,\"result\":\"allow\",\"digest\":\"$digest\"}"
like "$out" '^ok \{\}$' "allow with the digest"
like "$out" '^error \{"status":1,"text":".*not pending' "once"
until_log requires_action 2
is "$(log | grep -c '"kind":"tool.started"')" 1 "one decision, one start"
like "$(log | grep '"kind":"user.tool_confirmation"')" '"actor":"operator".*"via":"pid [0-9]+ [^"]*op_client on pts/test"' "the decision names executable, pid and terminal"
run "$op" "$sock" decide "{\"id\":$(seq_of approval.requested),\"result\":\"deny\",\"deny_message\":\"use the other way\"}"
is "$out" 'ok {}' "deny needs no digest"
until_log '"type":"end_turn"'
is "$(log | grep -c '"kind":"tool.started"')" 1 "what was denied never starts"
last=$("$op" "$sock" subscribe | sed -n 's/.*"seq":\([0-9]*\).*/\1/p')
run "$op" "$sock" subscribe message '{"text":"once more"}' wait $((last + 5))
like "$out" "^seq $((last + 5))\$" "a subscriber is told of rows"
until_log '"type":"end_turn"' 2
like "$(log)" '"text":"again"' "and a message to an idle session begins a turn"
run "$op" "$sock" message '{"text":""}'
like "$out" '^error \{"status":2' "an empty message is refused"
run "$op" "$sock" interrupt status
is "$out" 'ok {}
ok {"state":"idle"}' "an interrupt of an idle session changes nothing"
unlike "$(kinds)" user.interrupt "and is not recorded"

# ---- apply and the next call
run "$op" "$sock" snapshot
like "$out" '^ok \{"manifest":"[0-9a-f]{64}"\}' "snapshot"
manifest=$(printf '%s' "$out" | sed 's/.*"manifest":"\([0-9a-f]*\)".*/\1/')
run "$op" "$sock" apply "{\"manifest\":\"$(printf '%064d' 0)\"}"
like "$out" '^error \{"status":1,"text":".*changed since they were last shown' "apply of another manifest is refused"
check "nothing was written" test ! -e marks
run "$op" "$sock" apply "{\"manifest\":\"$manifest\"}"
is "$out" 'ok {"applied":1}' "apply of what was seen"
is "$(cat marks)" mark "the real file is there"
like "$(kinds)" 'changes.applying changes.applied' "said before and after"
run "$op" "$sock" subscribe stop end
like "$out" '^ok \{\}$' "stop is answered"
like "$out" '^bye \{"status":0' "and the keeper says goodbye"

start <<'S'
{"content":[{"type":"tool_use","name":"bash","input":{"command":"echo two > file"}}]}
{"content":[{"type":"text","text":"done"}]}
{"content":[{"type":"tool_use","name":"bash","input":{"command":"cat file; echo three > file"}}]}
{"expect":{"result_contains":"two"}}
{"content":[{"type":"text","text":"done"}]}
S
until_log '"type":"end_turn"'
run "$op" "$sock" apply
is "$out" 'ok {"applied":1}' "apply between two turns"
run "$op" "$sock" message '{"text":"go on"}'
until_log '"type":"end_turn"' 2
is "$(log | grep -c '"kind":"jail.provisioned"')" 2 "the next call gets a new cell, which sees the applied file"
is "$(cat file)" two "and its change is staged again"
run "$WARDER_BIN" stop "$id"

# ---- interrupts
start <<'S'
{"content":[{"type":"tool_use","name":"bash","input":{"command":"echo a >> ran; sleep 30"}},{"type":"tool_use","name":"bash","input":{"command":"echo b >> ran"}},{"type":"tool_use","name":"bash","input":{"command":"echo c >> ran"}}]}
{"expect":{"result_contains":"Cancelled"}}
{"content":[{"type":"text","text":"as you wish"}]}
S
until_log tool.started
run "$op" "$sock" interrupt status
is "$out" 'ok {}
ok {"state":"idle"}' "an interrupt in the first of three calls"
sleep 0.5
is "$(log | grep -c '"kind":"tool.started"')" 1 "the others never start"
is "$(log | grep -c '"outcome":"cancelled"')" 3 "all three are cancelled"
like "$(kinds)" 'user.interrupt agent.tool_result agent.tool_result agent.tool_result session.status_idle jail.destroyed $' "the interrupt is recorded before it acts, and the turn ends"
run "$WARDER_BIN" stop "$id"
run "$WARDER_BIN" wake "$id" --detach
sleep 0.3
run "$op" "$sock" status
is "$out" 'ok {"state":"idle"}' "a woken session stays halted"
run "$op" "$sock" message '{"text":"then tell me"}'
until_log '"type":"end_turn"'
like "$(log)" 'as you wish' "until the operator says more"
run "$WARDER_BIN" stop "$id"

start <<'S'
{"content":[{"type":"text","text":"too late"}],"delay_ms":60000}
S
until_log span.model_request_start
run "$op" "$sock" interrupt status
is "$out" 'ok {}
ok {"state":"idle"}' "an interrupt in a request"
like "$(kinds)" 'span.model_request_start user.interrupt session.status_idle $' "ends the turn"
run "$op" "$sock" message '{"text":"again"}'
until_log span.model_request_start 2
ok "and a message asks the model again"
run "$WARDER_BIN" stop "$id"

start -p careful <<'S'
{"content":[{"type":"tool_use","name":"bash","input":{"command":"true"}}]}
{"content":[{"type":"text","text":"well"}]}
S
until_log requires_action
request=$(seq_of approval.requested)
digest=$(digest_of)
run "$op" "$sock" interrupt decide "{\"id\":$request,\"result\":\"allow\",\"digest\":\"$digest\"}"
like "$out" '^error \{"status":1,"text":".*not pending' "what was asked before an interrupt is no longer pending"
run "$op" "$sock" message '{"text":"go on"}'
until_log '"type":"end_turn"'
unlike "$(kinds)" tool.started "and never runs"

# ---- more than one client
run "$op" "$sock" adopt adopt end
like "$out" '^ok \{\}$' "adopted"
like "$out" '^bye \{"status":0' "an idle session ends when it is headless"
start <<'S'
{"content":[{"type":"text","text":"slow"}],"delay_ms":2000}
S
"$op" "$sock" adopt end >"$work/first" &
first=$!
until_log span.model_request_start
sleep 0.3
run "$op" "$sock" adopt
like "$out" '^error .*another headless run' "a second headless owner is refused"
wait "$first"
like "$(cat "$work/first")" '^bye \{"status":0' "the first sees the end"

start <<'S'
{"content":[{"type":"text","text":"slow"}],"delay_ms":60000}
S
until_log span.model_request_start
"$op" "$sock" adopt end >"$work/owner" &
owner=$!
sleep 0.5
kill -9 "$owner"
wait "$owner" 2>/dev/null
until_log '"type":"interrupted"'
ok "a headless session whose owner is gone stops"

# The owner is gone while the session writes row after row, so that a write to it is what finds out.
calls=$(for n in $(seq 60); do printf '%s{"type":"tool_use","name":"read","input":{"file_path":"file"}}' "${comma-}"; comma=,; done)
{
	for n in $(seq 40); do printf '{"content":[%s]}\n' "$calls"; done
	printf '{"content":[{"type":"text","text":"done"}]}\n'
} >"$work/many"
: >"$work/rows"
"$WARDER_BIN" run -m "scripted:$work/many" --headless go >"$work/rows" &
owner=$!
while [ "$(wc -l <"$work/rows")" -lt 200 ]; do sleep 0.05; done
kill -9 "$owner"
wait "$owner" 2>/dev/null
id=$(sed -n '1s/.*"session":"\([0-9a-z]*\)".*/\1/p' "$work/rows")
until_log '"kind":"session.status_idle"'
unlike "$(log | tail -n 3)" end_turn "it stops also when it was just writing"

# ---- a client that does not read holds nobody up
start <"$work/many"
"$op" "$sock" subscribe sleep >"$work/asleep" &
sleeper=$!
before=$(date +%s)
until_log '"type":"end_turn"'
[ $(($(date +%s) - before)) -lt 25 ]
is $? 0 "a client that does not read does not hold the session up"
run timeout 20 "$WARDER_BIN" stop "$id"
is "$status" 0 "nor its end"
kill "$sleeper"
wait "$sleeper" 2>/dev/null

# ---- nothing is left to open
ticks() { awk '{ print $14 + $15 }' "/proc/$keeper/stat"; }
# The lowest descriptor that is free; poll(2) wants the limit above the number of its entries.
free_fd() { n=0; while [ -e "/proc/$keeper/fd/$n" ]; do n=$((n + 1)); done; echo $n; }
spare_descriptors() {
	start <<-'S'
	{"content":[{"type":"text","text":"first"}]}
	{"content":[{"type":"text","text":"second"}]}
	S
	until_log '"type":"end_turn"'
	keeper=$("$WARDER_BIN" ls --json | grep "$id" | sed -n 's/.*"keeper":\([0-9]*\).*/\1/p')
	harness=$("$WARDER_BIN" ls --json | grep "$id" | sed -n 's/.*"harness":\([0-9]*\).*/\1/p')
	kill -9 "$harness"
	until_log harness_died
	waiting=
	while [ "$(free_fd)" -lt 24 ]; do
		"$op" "$sock" subscribe sleep >/dev/null &
		waiting="$waiting $!"
		sleep 0.1
	done
	"$op" "$sock" after 1 message '{"text":"more"}' sleep >/dev/null &
	waiting="$waiting $!"
	sleep 0.5
	prlimit --pid "$keeper" --nofile="$(free_fd):1024"
	before=$(ticks)
	until_log '"type":"retries_exhausted"'
	is "$(log | grep -c '"kind":"harness_died".*"retry_status":"retrying"')" 3 "a harness that cannot be started is given up after three tries"
	timeout 2 "$op" "$sock" status
	[ $(($(ticks) - before)) -lt 50 ]
	is $? 0 "a keeper without a descriptor to spare does not spin"
	prlimit --pid "$keeper" --nofile=1024:1024
	run timeout 20 "$op" "$sock" message '{"text":"more"}'
	is "$out" "ok {}" "and accepts again later"
	until_log '"type":"end_turn"' 2
	# shellcheck disable=SC2086 # a list
	kill $waiting
	run "$WARDER_BIN" stop "$id"
}

# Only root sees which descriptors a keeper has open.
if [ "$(id -u)" = 0 ]; then
	spare_descriptors
else
	skip "a keeper without a descriptor to spare: only root sees which ones it has open"
fi
is "$(find "$WARDER_HOME/run" -name '*.pid' -o -name '*.sock' | wc -l)" 0 "no socket and no pid file is left"
run "$WARDER_BIN" verify
is "$status" 0 "every log verifies"
tap_end
