#!/bin/sh
# What a caller hands to `warder jail` as standard streams is no way out: sockets stay outside and their bytes are
# carried, folders and other descriptors are refused before anything runs.
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
tap_end
