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

# attack NAME WANT CONTROL [ARGUMENTS]: the probe inside gives WANT, outside it matches CONTROL.
attack() {
	name=$1
	want=$2
	control=$3
	shift 3
	run "$probe" "$name" "$@"
	like "$out" "^$name: ($control)" "control: $name $* outside"
	jail ./probe "$name" "$@"
	like "$out" "^$name: ($want)" "$name $* in the cell"
}
. "$top_srcdir/tests/program/jail_attacks.sh"
tap_end
