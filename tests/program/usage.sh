#!/bin/sh
# Command lines and configuration: what each command says of itself, and one clear line with the right status for
# every wrong use.  Nothing may be left behind by a refusal.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

ws=$work/ws
mkdir "$ws"
cd "$ws" || exit 99
printf '{"content":[{"type":"text","text":"hi"}]}\n' >"$work/script"

# refused STATUS TEXT ARGUMENTS...: exactly one line on stderr, nothing on stdout.
refused() {
	want_status=$1
	want_text=$2
	shift 2
	run "$WARDER_BIN" "$@"
	is "$status" "$want_status" "status $want_status: warder $*"
	is "$err" "warder: $want_text" "the line it says"
	is "$out" "" "and nothing on stdout"
}

run "$WARDER_BIN" --version
is "$status" 0 "--version"
like "$out" '^warder [0-9]+\.[0-9]+' "prints name and version"
run "$WARDER_BIN" --help
is "$status" 0 "--help"
commands=$(printf '%s\n' "$out" | sed -n 's/^  \([a-z]*\) .*/\1/p')
is "$(echo $commands)" "run wake stop ls show changes verify jail doctor" "lists the commands"
for c in $commands; do
	run "$WARDER_BIN" "$c" --help
	is "$status" 0 "$c --help"
	like "$out" "^usage: warder $c" "and its usage"
done

refused 2 'window: it is not part of this version; see warder --help for the commands'
refused 2 'fly: unknown command; see warder --help' fly
refused 2 '--fly: unknown option; see warder run --help' run --fly x
refused 2 '-m: its value is missing; see warder run --help' run x -m
refused 2 '--headless=1: it takes no value; see warder run --help' run --headless=1 x
refused 2 '--preset: given twice; see warder run --help' run --preset careful --preset locked x
refused 2 'run: something is missing; see warder run --help' run --headless
refused 2 'two: one word too many; see warder run --help' run --headless one two
refused 2 'run: the window is not part of this version; give --headless or --detach' run x
refused 2 'run: --headless and --detach exclude each other; give one' run --headless --detach x
refused 2 'run: the prompt is empty; say what the agent should do' run --headless ''
refused 2 'brain: none is chosen; give -m NAME, or set brain = NAME in the configuration' run --headless x
refused 2 'brain nobody: no such section in the configuration; add [brain nobody], or give KIND:MODEL' run -m nobody --headless x
refused 2 'brain oracle:9: kind oracle is not part of this version; use scripted:FILE' run -m oracle:9 --headless x
refused 2 '--preset bold: no such preset; use contained, careful or locked' run -m "scripted:$work/script" -p bold --headless x
refused 2 "--workspace $work/none: No such file or directory; name a folder" run -m "scripted:$work/script" -w "$work/none" --headless x
refused 2 '--answers: it goes with --headless; without it the operator answers' run -m "scripted:$work/script" --answers f --detach x
refused 2 'wake: the window is not part of this version; give --headless or --detach' wake -
refused 2 'changes: --apply and --discard exclude each other; give one' changes - --apply --discard
for c in show stop verify; do
	run "$WARDER_BIN" "$c" -
	is "$status" 2 "$c without any session"
	run "$WARDER_BIN" "$c" zzzz
	is "$status" 2 "$c of a session that is not there"
	run "$WARDER_BIN" "$c" zz
	is "$status" 2 "$c of a prefix that is too short"
done

# Scripts and answers are checked before anything starts.
printf '{"content":[]}\n{"content":7}\n' >"$work/bad-script"
refused 2 "$work/bad-script:2: \"content\" is not a list of blocks" run -m "scripted:$work/bad-script" --headless x
printf '{"match":{},"decision":"perhaps"}\n' >"$work/bad-answers"
refused 2 "$work/bad-answers:1: \"decision\" must be \"allow\" or \"deny\"" \
	run -m "scripted:$work/script" --headless --answers "$work/bad-answers" x
printf '{"match":{},"decision":"allow"}\n' >"$ws/answers"
refused 2 '--answers answers: it lies in the workspace, where the agent'\''s side could have written it; move it out' \
	run -m "scripted:$work/script" --headless --answers answers x
ln -s "$ws/answers" "$work/link"
run "$WARDER_BIN" run -m "scripted:$work/script" --headless --answers "$work/link" x
is "$status" 2 "a link into the workspace is no way around"

printf '{"match":{},"decision":"allow"}\n' >"$work/two-names"
ln "$work/two-names" "$ws/second"
refused 2 "--answers $work/two-names: it has 2 names (hard links); give a file with one" \
	run -m "scripted:$work/script" --headless --answers "$work/two-names" x

# Configuration: exact positions.
printf 'brain = main\n[brain main]\nkind = scripted\nmodle = x\n' >"$WARDER_HOME/config"
refused 2 "$WARDER_HOME/config:4:1: unknown key in a brain's section; known are kind, model, base_url, key_env, key_command, max_tokens" \
	run --headless x
rm "$WARDER_HOME/config"

# Places that no agent may work in.
for dir in / /proc /sys "$WARDER_HOME" "$WARDER_HOME/sessions" "$(dirname "$WARDER_HOME")"; do
	run "$WARDER_BIN" run -m "scripted:$work/script" -w "$dir" --headless x
	is "$status" 2 "refused as a workspace: $dir"
	like "$err" '^warder: .+; .+' "with what to do"
done
# The operator's own home, and what holds it; a folder in it is none of that.
elsewhere=$work/elsewhere
mkdir -p "$elsewhere/user/project" "$work/other-home"
chmod 700 "$work/other-home"
for dir in "$elsewhere/user" "$elsewhere"; do
	run env HOME="$elsewhere/user" "$WARDER_BIN" run -m "scripted:$work/script" -w "$dir" --headless x
	is "$status" 2 "the home folder, or what holds it: $dir"
	like "$err" '^warder: workspace .*: it is or holds your home folder, .*; ' "with the reason"
done
run env HOME="$elsewhere/user" "$WARDER_BIN" run -m "scripted:$work/bad-script" -w "$elsewhere/user/project" --headless x
like "$err" 'bad-script:2' "control: a folder in it is not refused as such"

chmod 755 "$WARDER_HOME"
run "$WARDER_BIN" ls
is "$status" 2 "a home that is open to others is refused"
chmod 700 "$WARDER_HOME"
is "$(ls "$WARDER_HOME/sessions")" "" "no refusal left a session behind"
tap_end
