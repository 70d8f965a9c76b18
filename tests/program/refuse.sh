#!/bin/sh
# A layer that cannot be had: nothing runs, status 3, one clear line, nothing left behind.  The faults are made from
# outside (tests/jail/fault.c): the programs have no switch that weakens or breaks them.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

fault=$top_builddir/tests/jail/fault
ws=$work/ws
mkdir "$ws"
cd "$ws" || exit 99
printf '{"content":[{"type":"tool_use","name":"bash","input":{"command":"touch ran"}}]}\n{"content":[{"type":"text","text":"x"}]}\n' >"$work/script"
need_jail

processes() { ps -e -o args= | grep -E '^(warder|\[?warder-hand)' | sort; }
mounts() { wc -l </proc/self/mountinfo; }

run "$WARDER_BIN" jail -- sh -c 'echo it runs'
is "$out" "it runs" "control: without a fault the command runs"
processes_before=$(processes)
mounts_before=$(mounts)
tree_before=$(find "$WARDER_HOME" -not -name '*.db*' -not -path '*/idmap*' | sort)

refused() {
	what=$1
	like_text=$2
	shift 2
	for how in jail run; do
		if [ $how = jail ]; then
			run "$fault" "$@" -- "$WARDER_BIN" jail -- sh -c 'echo it runs'
		else
			run "$fault" "$@" -- "$WARDER_BIN" run -m "scripted:$work/script" --headless x
		fi
		is "$status" 3 "$what: $how ends with status 3"
		is "$out" "" "$what: nothing ran"
		is "$(printf '%s\n' "$err" | wc -l)" 1 "$what: one line"
		like "$err" "^warder: .*($like_text).*: .*; " "$what: it names the layer, the reason and what to do"
		is "$(processes)" "$processes_before" "$what: no process is left"
		is "$(mounts)" "$mounts_before" "$what: no mount is left"
		is "$(find "$WARDER_HOME" -not -name '*.db*' -not -path '*/idmap*' | sort)" "$tree_before" "$what: no file is left"
	done
}

refused "user namespaces refused" "user namespace|userns" clone3=ENOSPC
refused "user namespaces not permitted" "user namespace|userns" clone3=EPERM
refused "overlay refused" "overlay" fsopen=EPERM
refused "seccomp load refused" "seccomp|filter" seccomp=EINVAL
refused "no user namespaces left (max_user_namespaces 0)" "user namespace|userns" --no-userns
run "$WARDER_BIN" ls --json
is "$out" "" "no session was made"
tap_end
