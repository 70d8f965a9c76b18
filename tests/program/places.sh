#!/bin/sh
# Odd places and odd outputs: homes that cannot be used, folders that no agent may have, a standard output that is
# closed or full, long and strange names.  Each is told in one line that says what and why, with the right status.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

ws=$work/ws
mkdir "$ws"
cd "$ws" || exit 99
echo a >a
cat >"$work/script" <<'S'
{"content":[{"type":"tool_use","name":"write","input":{"file_path":"new","content":"x\n"}}]}
{"content":[{"type":"text","text":"done"}]}
S

# refused STATUS LINE COMMAND...: that status and exactly that line on stderr.
refused() {
	want_status=$1
	want_text=$2
	shift 2
	run "$@"
	is "$status" "$want_status" "status $want_status: $*"
	is "$err" "warder: $want_text" "the line it says"
}

# Homes.
refused 2 'WARDER_HOME: rel is not absolute; give a path from /' env WARDER_HOME=rel "$WARDER_BIN" ls
for home in '' rel; do
	refused 2 'home: HOME is not set, or not to a path from /; set HOME or WARDER_HOME' \
		env -u WARDER_HOME -u XDG_CONFIG_HOME -u XDG_DATA_HOME "HOME=$home" "$WARDER_BIN" ls
done
refused 2 "making the folder $ws/a/home: Not a directory; set WARDER_HOME to a place where you may write" \
	env "WARDER_HOME=$ws/a/home" "$WARDER_BIN" ls
if [ "$(id -u)" -ne 0 ]; then
	mkdir -m 500 "$work/closed"
	refused 2 "making the folder $work/closed/home: Permission denied; set WARDER_HOME to a place where you may write" \
		env "WARDER_HOME=$work/closed/home" "$WARDER_BIN" ls
else
	skip 'root may write everywhere' 'a home in a folder that cannot be written'
fi

# What no cell may hold.
refused 2 "workspace /etc: holds the machine's passwords; choose a project's folder" \
	"$WARDER_BIN" run -m "scripted:$work/script" -w /etc --headless x
refused 2 "path /etc: holds the machine's passwords; choose a project's folder" "$WARDER_BIN" jail --ro /etc -- true
refused 2 "path /: is the whole machine; choose a project's folder" "$WARDER_BIN" jail --rw / -- true

if [ "$(id -u)" -ne 0 ]; then
	mkdir -m 000 "$work/shut"
	refused 2 "path $work/shut: Permission denied" "$WARDER_BIN" jail --ro "$work/shut" -- true
	refused 2 "workspace $work/shut: Permission denied" \
		"$WARDER_BIN" run -m "scripted:$work/script" -w "$work/shut" --headless x
else
	skip 'root enters every folder' 'a folder that cannot be entered'
fi
name=$work/$(printf 'not\377utf8')
mkdir "$name"
run "$WARDER_BIN" run -m "scripted:$work/script" -w "$name" --headless x
is "$status" 2 "a workspace whose path is not UTF-8"
like "$err" '^warder: --workspace .*: its path is not UTF-8; rename it$' "is refused with the reason"

# Outputs.
refused 3 'standard output: cannot be written' sh -c 'exec "$1" --version >/dev/full' sh "$WARDER_BIN"
refused 3 'standard output: cannot be written' sh -c 'exec "$1" run --help >/dev/full' sh "$WARDER_BIN"
need_jail

home=$work/$(printf '%0120d' 0)/'sp ace ü'
(umask 077 && mkdir -p "$home")
WARDER_HOME=$home
run "$WARDER_BIN" run -m "scripted:$work/script" --detach x
is "$status" 0 "a home whose path is longer than a socket's name may be"
run "$WARDER_BIN" stop -
is "$status" 0 "a session is stopped through its socket there"
run "$WARDER_BIN" run -m "scripted:$work/script" --headless x
is "$status" 0 "and another one runs to its end"
refused 2 'changes: an empty path; name a path that warder changes lists' "$WARDER_BIN" changes - --apply ''
for c in 'show -' 'changes -' 'verify -' 'ls' 'doctor'; do
	# shellcheck disable=SC2016 # the inner shell splits the words
	refused 3 'standard output: No space left on device' sh -c 'exec "$1" $2 >/dev/full' sh "$WARDER_BIN" "$c"
	# shellcheck disable=SC2016 # likewise
	refused 3 'standard output: Bad file descriptor' sh -c 'exec "$1" $2 >&-' sh "$WARDER_BIN" "$c"
done
# shellcheck disable=SC2016 # likewise
refused 3 'standard output: No space left on device' \
	sh -c 'exec "$1" run -m "scripted:$2" --headless x >/dev/full' sh "$WARDER_BIN" "$work/script"

# The jail's command that is not there, and files by --ro and --rw.
refused 127 'nosuch: No such file or directory; the jail has /usr, this folder and what --ro or --rw names' \
	"$WARDER_BIN" jail -- nosuch
refused 126 './a: Permission denied' "$WARDER_BIN" jail -- ./a
echo outside >"$work/outside"
run "$WARDER_BIN" jail --ro "$work/outside" -- cat "$work/outside"
is "$out" outside "a single file by --ro"
run "$WARDER_BIN" jail --rw "$work/outside" -- sh -c 'echo more >>"$1"' sh "$work/outside"
is "$(cat "$work/outside")" "$(printf 'outside\nmore')" "and by --rw, written on the host"

run "$WARDER_BIN" doctor
like "$out" '^(ok|partial) +baseline +(committed|git )' "the doctor tries the first commit as well"

# The workspace goes away under its session.
mkdir "$work/gone"
run "$WARDER_BIN" run -m "scripted:$work/script" -w "$work/gone" --headless x
mv "$work/gone" "$work/gone2"
run "$WARDER_BIN" changes -
is "$status" 2 "the change of a workspace that is gone"
like "$err" "^warder: the workspace $work/gone: No such file or directory; put it back" "is not shown, with the reason"
run "$WARDER_BIN" wake - --headless
is "$status" 2 "and the session is not woken without it"

# The log goes away under its keeper: what cannot be read later is not gone on with.
cat >"$work/slow" <<'S'
{"content":[{"type":"tool_use","name":"bash","input":{"command":"sleep 1; echo x > one"}}]}
{"content":[{"type":"tool_use","name":"bash","input":{"command":"sleep 60"}}]}
{"content":[{"type":"text","text":"done"}]}
S
id=$("$WARDER_BIN" run -m "scripted:$work/slow" --detach x)
keeper=$("$WARDER_BIN" ls --json | sed -n "s/.*\"session\":\"$id\".*\"keeper\":\([0-9]*\).*/\1/p")
check "control: its keeper lives" kill -0 "$keeper"
rm "$WARDER_HOME/sessions/$id/log.db"
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
	kill -0 "$keeper" 2>/dev/null || break
	sleep 0.1
done
check "a keeper whose log was removed ends, and its cell with it" sh -c '! kill -0 "$1" 2>/dev/null' sh "$keeper"
tap_end
