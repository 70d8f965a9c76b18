# shellcheck shell=sh disable=SC2034 # what is set here is for the scripts that read this file
# lib.sh: TAP for shell tests and a place of their own.  It is read (`.`), never run, and decides nothing by itself.
#
#	. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
#	run "$WARDER_BIN" --version
#	is "$status" 0 "--version succeeds"
#	like "$out" '^warder [0-9]' "and names the version"
#	tap_end
#
# $work is an empty private folder, removed at exit; HOME, the XDG folders and WARDER_HOME lie in it.  The plan is
# printed by tap_end, so a script that dies on the way has none and counts as failed.
set -u

: "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${top_builddir:=$top_srcdir/build}"
: "${WARDER_BIN:=$top_builddir/warder}"

tap_count=0
tap_failed=0

# One line of a description: TAP gives "#" and the newline a meaning.
tap_text() {
	printf '%s' "$*" | LC_ALL=C tr '\n#' ' ='
}

diag() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

# ok DESC, not_ok DESC: a point that passed or failed.
ok() {
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s\n' "$tap_count" "$(tap_text "$@")"
}

not_ok() {
	tap_count=$((tap_count + 1))
	tap_failed=$((tap_failed + 1))
	printf 'not ok %d - %s\n' "$tap_count" "$(tap_text "$@")"
}

# is GOT WANT DESC: equal as text.
is() {
	if [ "$1" = "$2" ]; then
		ok "$3"
	else
		not_ok "$3"
		diag "got:  $1"
		diag "want: $2"
	fi
}

# like TEXT ERE DESC, unlike TEXT ERE DESC: some line of TEXT matches, or none does.
like() {
	if printf '%s\n' "$1" | grep -Eq -e "$2"; then
		ok "$3"
	else
		not_ok "$3"
		diag "got:   $1"
		diag "match: $2"
	fi
}

unlike() {
	if printf '%s\n' "$1" | grep -Eq -e "$2"; then
		not_ok "$3"
		diag "got:          $1"
		diag "must not match: $2"
	else
		ok "$3"
	fi
}

# check DESC CMD…: passes when the command succeeds.
check() {
	tap_desc=$1
	shift
	if "$@"; then
		ok "$tap_desc"
	else
		not_ok "$tap_desc"
		diag "failed: $*"
	fi
}

# skip REASON [DESC]: a point that this machine cannot try.  A skip without a reason counts as failed.
skip() {
	tap_count=$((tap_count + 1))
	printf 'ok %d%s # SKIP %s\n' "$tap_count" "${2:+ - $(tap_text "$2")}" "$(tap_text "$1")"
}

# skip_all REASON: the whole script, before its first point.
skip_all() {
	printf '1..0 # SKIP %s\n' "$(tap_text "$1")"
	exit 0
}

tap_end() {
	printf '1..%d\n' "$tap_count"
	[ "$tap_failed" -eq 0 ]
	exit
}

# need_jail: skips the whole script where no cell can run; a doctor that fails otherwise is a failure.
need_jail() {
	run "$WARDER_BIN" doctor
	case $status in
	0) ;;
	3) skip_all "no cell runs here: $(printf '%s\n' "$out" | grep '^missing' | head -n 1)" ;;
	*)
		diag "warder doctor: status $status: $err"
		exit 99
		;;
	esac
}

# run CMD…: $status, $out and $err (without trailing newlines); the exact bytes are in the files $run_out, $run_err.
run() {
	"$@" >"$run_out" 2>"$run_err" </dev/null
	status=$?
	out=$(cat "$run_out")
	err=$(cat "$run_err")
}

tap_cleanup() {
	# Folders without permission bits (the kernel leaves overlay's work/work so) are opened up first.
	chmod -R u+rwX "$work" 2>/dev/null
	rm -rf "$work"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/warder-sh.XXXXXX") || exit 99
trap tap_cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

run_out=$work/.stdout
run_err=$work/.stderr
HOME=$work/home
XDG_CONFIG_HOME=$HOME/.config
XDG_DATA_HOME=$HOME/.local/share
XDG_STATE_HOME=$HOME/.local/state
XDG_CACHE_HOME=$HOME/.cache
XDG_RUNTIME_DIR=$work/run
WARDER_HOME=$work/warder
TZ=UTC
LC_ALL=C.UTF-8
GIT_CONFIG_NOSYSTEM=1
GIT_CONFIG_GLOBAL=/dev/null
export HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR WARDER_HOME TZ LC_ALL
export GIT_CONFIG_NOSYSTEM GIT_CONFIG_GLOBAL
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE LANG LANGUAGE NO_COLOR ACCESSIBLE ANTHROPIC_API_KEY ANTHROPIC_BASE_URL
umask 022
mkdir -m 700 "$HOME" "$XDG_RUNTIME_DIR" "$WARDER_HOME" || exit 99
