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

# Ours: programs of this build, and cells without a parent.
processes() {
	find /proc -maxdepth 2 -name exe -lname "$(realpath "$WARDER_BIN")" 2>/dev/null
	ps -u "$(id -u)" -o ppid=,args= | grep '^ *1 warder-hand'
}
mounts() { wc -l </proc/self/mountinfo; }

run "$WARDER_BIN" jail -- sh -c 'echo it runs'
is "$out" "it runs" "control: without a fault the command runs"
processes_before=$(processes)
mounts_before=$(mounts)
tree_before=$(find "$WARDER_HOME" -mindepth 2 -not -name '*.db*' -not -path '*/idmap*' | sort)

# refused WHAT TEXT WRAPPER...: TEXT must be in the one line.
refused() {
	what=$1
	like_text=$2
	shift 2
	for how in jail run; do
		if [ $how = jail ]; then
			run "$@" "$WARDER_BIN" jail -- sh -c 'echo it runs'
		else
			run "$@" "$WARDER_BIN" run -m "scripted:$work/script" --headless x
		fi
		is "$status" 3 "$what: $how ends with status 3"
		is "$out" "" "$what: nothing ran"
		is "$(printf '%s\n' "$err" | wc -l)" 1 "$what: one line"
		like "$err" "^warder: .*($like_text).*: .*; " "$what: it names the layer, the reason and what to do"
		is "$(processes)" "$processes_before" "$what: no process is left"
		is "$(mounts)" "$mounts_before" "$what: no mount is left"
		is "$(find "$WARDER_HOME" -mindepth 2 -not -name '*.db*' -not -path '*/idmap*' | sort)" "$tree_before" "$what: no file is left"
	done
}

refused "user namespaces used up" "user namespace|userns" "$fault" clone=ENOSPC --
refused "user namespaces not permitted" "user namespace|userns" "$fault" clone=EPERM --
refused "no user namespaces (max_user_namespaces 0)" "user namespace|userns" "$fault" --no-userns --
refused "seccomp load refused" "seccomp|filter" "$fault" seccomp=EINVAL --

# A layer on an overlay file system is one that the kernel refuses as an upper.
if [ "$(id -u)" -eq 0 ]; then
	mkdir "$work/lower" "$work/up" "$work/odd"
	mkdir "$work/up/upper" "$work/up/work"
	if mount -t overlay overlay -o "lowerdir=$work/lower,upperdir=$work/up/upper,workdir=$work/up/work" "$work/odd"; then
		WARDER_HOME=$work/odd/home
		mkdir -m 700 "$WARDER_HOME"
		"$WARDER_BIN" ls
		mounts_before=$(mounts)
		tree_before=$(find "$WARDER_HOME" -mindepth 2 -not -name '*.db*' -not -path '*/idmap*' | sort)
		refused "overlay refused" "overlay|staged workspace" env
		umount "$work/odd"
	else
		skip "an overlay cannot be mounted here" "overlay refused"
	fi
else
	skip "only root can give the layer a file system that overlay refuses; tests/jail/test_cell has the case" "overlay refused"
fi
run "$WARDER_BIN" ls --json
is "$out" "" "no session was made"
tap_end
