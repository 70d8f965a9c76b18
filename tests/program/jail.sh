#!/bin/sh
# The walls of `warder jail`, attacked from inside, each with a positive control outside: what is refused is refused
# with the errno that the layer gives, and the same attempt works where there is no wall.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

probe=$top_builddir/tests/jail/probe
ws=$work/ws
mkdir "$ws"
cp "$probe" "$ws/probe"
cd "$ws" || exit 99
need_jail

mkdir -p "$HOME/.ssh" "$HOME/.aws"
echo canary >"$HOME/.ssh/id_ed25519"
echo canary >"$HOME/.aws/credentials"
echo canary >"$HOME/.netrc"
CANARY_TOKEN=canary
export CANARY_TOKEN

jail() { run "$WARDER_BIN" jail -- "$@"; }

jail sh -c 'echo out; echo err >&2; exit 7'
is "$status" 7 "the command's own status"
is "$out" out "stdout is its alone"
is "$err" err "stderr is passed on"
jail sh -c 'kill -9 $$'
is "$status" 137 "128 + signal"
jail /no/such/program
is "$status" 127 "not found"
touch notexec
jail ./notexec
is "$status" 126 "not executable"
is "$(printf hello | "$WARDER_BIN" jail -- cat)" hello "stdin is passed on"
jail sh -c 'echo x > made; rm notexec; cat made'
is "$out" x "the command sees what it wrote"
check "and the real folder does not" [ ! -e made ]
check "nor loses what it removed" [ -e notexec ]
like "$err" '^add +made$' "the change is listed on stderr"
like "$err" '^delete +notexec$' "with its kind"
git init -q -b main . 2>/dev/null
echo kept >old
run "$WARDER_BIN" jail --keep "$work/kept" -- sh -c 'echo x >> old; mkdir -p a/b; echo deep > a/b/c; chmod +x a/b/c; ln -s old l; rm notexec; mkfifo pipe'
is "$status" 0 "--keep: the command ran: $err"
is "$(cd "$work/kept/files" && find . ! -type d | LC_ALL=C sort | tr '\n' ' ')" "./a/b/c ./l ./old " "what it changed is there, and what apply would refuse is not"
is "$(cat "$work/kept/files/old" | tr '\n' ' ')" "kept x " "with its content"
check "and its executable bit" [ -x "$work/kept/files/a/b/c" ]
cp -r . "$work/applied"
run git -C "$work/applied" apply "$work/kept/changes.diff"
is "$status" 0 "git apply takes the diff: $err"
is "$(cat "$work/applied/a/b/c")" deep "and it says the same"
is "$(cat old)" kept "the real file is as it was"
run "$WARDER_BIN" jail --keep "$work/kept" -- true
is "$status" 2 "a folder that is there already is refused"
like "$err" '^warder: --keep .*: it must be a new folder' "by name"
rm -rf .git old
jail id -u
unlike "$out" '^0$' "the uid in the cell is not 0"
jail sh -c 'echo $HOME; pwd'
is "$(echo $out)" "/home/agent $ws" "home is the cell's own, the workspace stands at its path"

for path in "$HOME/.ssh/id_ed25519" "$HOME/.aws/credentials" "$HOME/.netrc"; do
	check "control: $path can be read outside" grep -q canary "$path"
	jail cat "$path"
	like "$err" 'No such file or directory' "and does not exist inside"
done
check "control: the variable is there outside" sh -c 'env | grep -q ^CANARY_TOKEN='
jail env
unlike "$out" canary "an unlisted variable does not enter"
is "$(printf '%s\n' "$out" | cut -d= -f1 | grep -Ev '^(HOME|PATH|PWD|TMPDIR|LANG|LC_ALL|TERM|USER|LOGNAME|SHELL|SHLVL|_|TZ|GIT_[A-Z_]*)$')" "" "the environment is a list"

# attack PROBE CONTROL WANT: the probe outside gives CONTROL, in the cell WANT (both extended regular expressions).
attack() {
	run ./probe "$1"
	like "${out##*: }" "^($2)$" "control outside: $1"
	jail ./probe "$1"
	like "${out##*: }" "^($3)$" "refused in the cell: $1"
}

# What listens outside, reached from the workspace's own socket files, the abstract name space and the loopback.
./probe "serve:$ws/sock" &
server=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do [ -s sock.port ] && break; sleep 0.05; done
port=$(cat sock.port)

attack "read:$work/.stdout" ok ENOENT
attack "read:/proc/self/environ" ok ok
attack "create:$HOME/outside" ok ENOENT
attack "tcp:127.0.0.1:$port" ok ECONNREFUSED
attack "unix-dgram:$ws/sock" ok ENOENT
attack "unix-stream:$ws/sock.s" ok ENOENT
attack "tcp:192.0.2.1:443" '[A-Z]*' ENETUNREACH
attack "udp:192.0.2.1:53" 'ok|ENETUNREACH' ENETUNREACH
kill $server 2>/dev/null
wait $server 2>/dev/null

# Host files: the control is root's to show; to an ordinary user they are closed outside as well.
if [ "$(id -u)" -eq 0 ]; then
	attack "read:/etc/shadow" ok ENOENT
	attack "create:/usr/warder-probe" ok 'EROFS|EACCES'
	attack "create:/etc/warder-probe" ok 'EROFS|EACCES'
	rm -f /usr/warder-probe /etc/warder-probe
else
	attack "read:/etc/shadow" EACCES ENOENT
	attack "create:/usr/warder-probe" EACCES 'EROFS|EACCES'
	attack "create:/etc/warder-probe" EACCES 'EROFS|EACCES'
fi
jail ./probe read:/proc/1/environ read:/proc/1/mem list:/proc/1/fd ptrace:1
is "$(printf '%s\n' "$out" | sed 's/.*: //' | sort -u)" "$(printf 'EACCES\nEPERM')" "init: its environment, memory, descriptors and tracing"
jail sh -c 'kill -9 1; kill -STOP 1; ./probe kill:1; echo alive'
like "$out" '^alive$' "a signal to init has no effect"
jail ./probe write:/proc/sys/kernel/core_pattern write:/proc/sysrq-trigger write:/proc/sys/vm/drop_caches
unlike "$out" ': ok$' "no sysctl is writable"

# System calls: the control shows that this machine has them.
attack userns 'ok|EPERM|ENOSPC' EPERM
attack userns-clone 'ok|EPERM|ENOSPC' EPERM
attack userns-clone-high '[A-Z]*|ok' EPERM
attack clone3 EINVAL ENOSYS
attack keyctl 'ok|ENOKEY' EPERM
attack add-key ok EPERM
attack request-key ENOKEY EPERM
attack io-uring 'ok|EPERM|ENOSYS' ENOSYS
attack vsock 'ok|EAFNOSUPPORT' EAFNOSUPPORT
attack vsock-high 'ok|EAFNOSUPPORT' EAFNOSUPPORT
attack bpf '[A-Z]*|ok' EPERM
attack perf '[A-Z]*|ok' EPERM
attack userfaultfd 'ok|EPERM' EPERM
attack tiocsti 'ok|EIO' EPERM
attack tiocsti-high 'ok|EIO' EPERM
attack openat2 ok ENOSYS
attack raw '[A-Z]*|ok' 'EPERM|EAFNOSUPPORT'
attack personality ok EPERM
attack memfd-exec ok ok
attack fsopen 'ok|EPERM' ENOSYS
attack "whiteout:$ws/w" '[A-Z]*|ok' EPERM
attack "setuid:$ws/suid-$$" ok EPERM

run ./probe fork:300
like "$out" 'fork:300: 300 ok' "control outside: 300 processes at once"
jail ./probe fork:5000
like "$out" 'fork:5000: [0-9]+ EAGAIN' "5000 processes at once are cut off"
check "and the host starts programs all the same" true
left=$(ps -e -o args= | grep -c '^./probe fork:')
is "$left" 0 "none of them is left"
jail ./probe caps
like "$out" 'inh=0 prm=0 eff=0 bnd=0 amb=0 nnp=1 seccomp=2' "no capability in any set, no new privileges, a filter"
jail ./probe fds
is "$(echo $out | grep -oE '[0-9]+' | sort -un | tr '\n' ' ')" "0 1 2 " "no descriptor but the three"
tap_end
