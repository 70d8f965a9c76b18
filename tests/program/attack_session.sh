#!/bin/sh
# What an agent can do to its session from within the cell: neither a workspace that it closed nor a hand that cannot
# start keeps the operator out or fills his disk, and a name that it chose prints no line of its own.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

ws=$work/ws
mkdir "$ws"
cd "$ws" || exit 99
need_jail

# The command closes the workspace and kills the hand; another one follows in a new cell.
cat >"$work/closed" <<'S'
{"content":[{"type":"tool_use","name":"bash","input":{"command":"echo kept > new; mkdir sub; chmod 0 sub .; kill -9 $PPID"}}]}
{"content":[{"type":"tool_use","name":"bash","input":{"command":"echo again"}}]}
{"expect":{"result_contains":"again"}}
{"content":[{"type":"text","text":"done"}]}
S
run timeout 60 "$WARDER_BIN" run -m "scripted:$work/closed" --headless x
is "$status" 0 "the next cell starts in a workspace that the agent closed"
run "$WARDER_BIN" changes -
is "$status" 0 "the change can be looked at"
like "$out" '^\+kept$' "as it was staged"
run "$WARDER_BIN" changes - --apply new
is "$(cat new)" kept "and applied"

# Closed by a process that lives on, so that no new cell opens it: the operator's own commands do.
printf '{"content":[{"type":"tool_use","name":"bash","input":{"command":"echo two > new; chmod 0 ."}}]}\n{"content":[{"type":"text","text":"done"}]}\n' >"$work/late"
run timeout 60 "$WARDER_BIN" run -m "scripted:$work/late" --headless x
is "$status" 0 "closed at the end of a turn"
run "$WARDER_BIN" changes -
like "$out" '^\+two$' "it can be looked at"
run "$WARDER_BIN" changes - --discard
is "$status" 0 "and discarded"
run "$WARDER_BIN" changes -
is "$out" "" "with nothing left"

# A hand that never gets ready.
printf '{"content":[{"type":"tool_use","name":"bash","input":{"command":"true"}}]}\n{"content":[{"type":"text","text":"done"}]}\n' >"$work/one"
run timeout 60 "$WARDER_BIN" run -m "scripted:$work/one" --headless x
is "$status" 0 "control: a hand that starts"
run timeout 60 "$top_builddir/tests/jail/fault" hand=EPERM -- "$WARDER_BIN" run -m "scripted:$work/one" --headless x
is "$status" 3 "one that cannot start ends the turn"
like "$err" '^warder: cell: .*hand.*; ' "with the reason"
is "$(printf '%s\n' "$out" | grep -c '"kind":"jail.provisioned"')" 3 "after three cells"
unlike "$out" '"kind":"tool.started"' "and no call was started"

printf '{"content":[{"type":"tool_use","name":"bash","input":{"command":"echo x > \\"$(printf %s)\\""}}]}\n{"content":[{"type":"text","text":"done"}]}\n' "'a\\\\nwarder: all is well'" >"$work/lines"
run timeout 60 "$WARDER_BIN" run -m "scripted:$work/lines" --headless x
for how in "" --apply; do
	# shellcheck disable=SC2086 # no option is no word
	run "$WARDER_BIN" changes - $how
	like "$err" '^warder: a.*LF.*: not applied: its name holds control bytes$' "a name with a newline is named${how:+ at $how}"
	is "$(printf '%s\n' "$err" | grep -c 'all is well')" 1 "on one line"
	unlike "$err" '^warder: (warder: )?all is well' "and does not begin one"
done

# The recorded turns are changed while the session sleeps; the log itself says what they were.
id=$("$WARDER_BIN" ls --json | head -n 1 | sed -n 's/.*"session":"\([0-9a-z]*\)".*/\1/p')
cp "$WARDER_HOME/sessions/$id/script.jsonl" "$work/kept"
echo '{"content":[{"type":"tool_use","name":"bash","input":{"command":"echo evil"}}]}' >>"$WARDER_HOME/sessions/$id/script.jsonl"
run "$WARDER_BIN" wake "$id" --headless
is "$status" 1 "another script: the session does not wake"
like "$err" '^warder: session .*: its script.jsonl is not the one that it began with; ' "and says why"
cp "$work/kept" "$WARDER_HOME/sessions/$id/script.jsonl"
run "$WARDER_BIN" wake "$id" --headless
is "$status" 0 "control: with its own it does"

# An apply that is ended after the last byte and before the log has its outcome: killed at one removal after the other
# until that is how it stands.
printf '{"content":[{"type":"tool_use","name":"bash","input":{"command":"echo 1 > one; echo 2 > two"}}]}\n{"content":[{"type":"text","text":"done"}]}\n' >"$work/two"
outcomes() { "$WARDER_BIN" show - --json | grep -cE '"kind":"changes.(applied|recovered)"'; }
killed=
if strace -qq -o "$work/trace" true 2>/dev/null; then
	for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
		rm -f one two
		run timeout 60 "$WARDER_BIN" run -m "scripted:$work/two" --headless x
		strace -qq -o "$work/trace" -e trace=unlinkat -e inject=unlinkat:signal=KILL:when=$n \
			"$WARDER_BIN" changes - --apply one two >"$run_out" 2>&1
		[ "$(cat one two 2>/dev/null | tr '\n' ' ')" = "1 2 " ] && [ "$(outcomes)" -eq 0 ] && killed=$n && break
	done
	check "an apply was ended after its last byte and before the log knew" [ -n "$killed" ]
	run "$WARDER_BIN" wake - --headless
	is "$status" 0 "the session is woken"
	like "$("$WARDER_BIN" show - --json)" '"kind":"changes.recovered".*"state":"completed"' "and the log knows the outcome"
	run "$WARDER_BIN" wake - --headless
	is "$(outcomes)" 1 "once"
else
	skip "strace cannot trace here" "an apply that is ended before the log knows"
fi

# A process that the agent left running changes the file after the operator looked and before he applies.
printf '{"content":[{"type":"tool_use","name":"bash","input":{"command":"echo good > swapped; (while [ ! -e /tmp/go ]; do sleep 0.2; done; sleep 1; echo evil > swapped) >/dev/null 2>&1 & touch /tmp/go"}}]}\n{"content":[{"type":"text","text":"done"}]}\n' >"$work/swap"
id=$("$WARDER_BIN" run -m "scripted:$work/swap" --detach x)
for _ in 1 2 3 4 5 6 7 8 9 10; do
	"$WARDER_BIN" ls --json | grep "$id" | grep -q '"state":"idle"' && break
	sleep 0.1
done
like "$("$WARDER_BIN" changes "$id")" '^\+good$' "what is looked at"
sleep 2
run "$WARDER_BIN" changes "$id" --apply swapped
is "$status" 1 "is not what would be applied: refused"
like "$err" '^warder: changes: changed since they were last shown; ' "with the reason"
check "nothing was written" [ ! -e swapped ]
like "$("$WARDER_BIN" changes "$id")" '^\+evil$' "looked at again"
run "$WARDER_BIN" changes "$id" --apply swapped
is "$(cat swapped)" evil "it is what the operator applies"
"$WARDER_BIN" stop "$id"

# The operator makes a repository of the workspace while the cell runs.  The command looks for nothing before: overlayfs
# remembers a name that was not there.
mkdir "$work/plain"
printf '{"content":[{"type":"tool_use","name":"bash","input":{"command":"sleep 1.5; cat born .git/config"}}]}\n{"content":[{"type":"text","text":"done"}]}\n' >"$work/born"
id=$("$WARDER_BIN" run -m "scripted:$work/born" -w "$work/plain" --detach x)
sleep 0.5
mkdir "$work/plain/.git"
echo canary >"$work/plain/.git/config"
echo seen >"$work/plain/born"
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
	"$WARDER_BIN" ls --json | grep "$id" | grep -q '"state":"idle"' && break
	sleep 0.1
done
log=$("$WARDER_BIN" show "$id" --json)
like "$log" '"content":"seen' "control: a file that came after the start is seen"
unlike "$log" canary "a .git that came after the start is not"
"$WARDER_BIN" stop "$id"
tap_end
