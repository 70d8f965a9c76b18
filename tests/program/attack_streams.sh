#!/bin/sh
# What a caller hands to `warder jail` is no way out.  Standard streams: sockets stay outside and their bytes are
# carried, folders and other descriptors are refused before anything runs.  --ro and --rw: a socket in them, and a .git to write, is
# refused.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

probe=$top_builddir/tests/jail/probe
sockets=$top_builddir/tests/jail/with_sockets
ws=$work/ws
mkdir "$ws"
cp "$probe" "$ws/probe"
cd "$ws" || exit 99
need_jail

"$probe" "serve:$work/sock" &
server=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do [ -s "$work/sock.port" ] && break; sleep 0.05; done
port=$(cat "$work/sock.port")

# on_socket CMD...: with a connected TCP socket as standard input.
on_socket() {
	bash -c 'exec 0<>"/dev/tcp/127.0.0.1/$0"; exec "$@"' "$port" "$@" >"$run_out" 2>"$run_err"
	status=$?
	out=$(cat "$run_out")
}
on_socket ./probe "reconnect:127.0.0.1:$port"
is "$out" "reconnect:127.0.0.1:$port: ok" "control outside: a socket is disconnected and connected anew"
on_socket "$WARDER_BIN" jail -- ./probe "reconnect:127.0.0.1:$port"
is "$out" "reconnect:127.0.0.1:$port: ENOTSOCK" "in the cell standard input is none"

mkdir -p "$work/further/deep"
ln "$work/sock.s" "$work/further/deep/s"
echo text >"$work/further/file"
is "$(./probe "unix-stream:$work/further/deep/s")" "unix-stream:$work/further/deep/s: ok" "control outside: a server listens"
for option in --ro --rw; do
	run "$WARDER_BIN" jail $option "$work/further" -- ./probe "unix-stream:$work/further/deep/s"
	is "$status" 2 "$option: a folder that holds a socket is refused"
	like "$err" "^warder: path .*/deep/s is a socket.*; " "$option: by name"
	is "$out" "" "$option: nothing ran"
	run "$WARDER_BIN" jail $option "$work/further/file" -- cat "$work/further/file"
	is "$out" text "$option: a file is no folder, and can be given"
done
rm "$work/further/deep/s"
run "$WARDER_BIN" jail --ro "$work/further" -- cat "$work/further/file"
is "$out" text "the folder without it is given"
mkdir -p "$work/further/repo/.GIT/hooks"
run "$WARDER_BIN" jail --rw "$work/further" -- sh -c "echo x > '$work/further/repo/.GIT/hooks/pre-commit'"
is "$status" 2 "--rw: a folder that holds a .git is refused"
like "$err" '^warder: path .*/\.GIT is a \.git of the host.*; ' "by name"
check "nothing was written" [ ! -e "$work/further/repo/.GIT/hooks/pre-commit" ]
run "$WARDER_BIN" jail --ro "$work/further" -- cat "$work/further/file"
is "$out" text "--ro: it may be read"
kill $server
wait $server 2>/dev/null

jail() { run "$sockets" "$WARDER_BIN" jail -- "$@"; }
is "$(printf 'in here' | "$sockets" "$WARDER_BIN" jail -- cat)" "in here" "what a socket brings reaches the command, its end too"
jail sh -c 'echo out; echo err >&2; exit 7'
is "$out" out "its output comes out"
is "$err" err "apart from its errors"
is "$status" 7 "with its status"
jail sh -c 'ls -l /proc/self/fd | grep -c socket:'
is "$out" 0 "and it has no socket"
jail sh -c 'head -c 5000000 /dev/zero; echo end >&2'
is "$(wc -c <"$run_out")" 5000000 "much output comes whole"
is "$(head -c 5000000 /dev/zero | "$sockets" "$WARDER_BIN" jail -- wc -c)" 5000000 "much input as well"
is "$(head -c 5000000 /dev/zero | "$sockets" "$WARDER_BIN" jail -- echo done)" "done" "input that nobody reads keeps nobody"
jail sh -c '(trap "" HUP; sleep 300; echo late) & echo first'
is "$out" first "a process left behind does not hold the end up"

"$WARDER_BIN" jail -- true <"$work" 2>"$run_err"
is $? 2 "a folder as standard input is refused"
like "$(cat "$run_err")" '^warder: cell: standard stream 0 .*; ' "with the reason"

# A descriptor that the caller left open reaches no process of a session.
printf '{"content":[{"type":"tool_use","name":"bash","input":{"command":"ls -l /proc/self/fd; sleep 60"}}]}\n' >"$work/script"
echo secret >"$work/left-open"
exec 7<"$work/left-open" 9>>"$work/left-open"
id=$("$WARDER_BIN" run -m "scripted:$work/script" --detach x)
exec 7<&- 9>&-
sleep 0.5
looked=0
for name in keeper harness cells; do
	pid=$("$WARDER_BIN" ls --json | grep "$id" | sed -n "s/.*\"$name\":\[*\([0-9]*\).*/\1/p")
	# Not dumpable: only root sees them.
	links=$(ls -l "/proc/$pid/fd" 2>/dev/null) && looked=$((looked + 1))
	unlike "$links" 'left-open' "$name: has no descriptor of the caller"
done
if [ "$(id -u)" -eq 0 ]; then
	is "$looked" 3 "control: three processes were looked at"
else
	is "$looked" 0 "none of them shows its descriptors to another process of the same user"
fi
"$WARDER_BIN" stop "$id"
unlike "$("$WARDER_BIN" show "$id" --json)" 'left-open' "nor does the log name it"
tap_end
