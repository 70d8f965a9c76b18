#!/bin/sh
# Runs one test in a place of its own: environment by list, working folder, HOME and TMPDIR fresh and removed
# afterwards, no input, a deadline.  Every test goes through here, whoever it runs as.
#
#	top_srcdir=… top_builddir=… sh run_one.sh PROGRAM
#
# TEST_DEADLINE is in seconds; TEST_WRAPPER is a command that goes in front of the program (valgrind).
set -u

: "${top_srcdir:?must be set}" "${top_builddir:?must be set}"
case $1 in
/*) program=$1 ;;
*) program=$PWD/$1 ;;
esac

place=$(mktemp -d "${TMPDIR:-/tmp}/warder-test.XXXXXX") || exit 99
clean_up() {
	# A mount that a test forgot would lead the removal into somebody's real files.
	if grep -qF " $place" /proc/self/mountinfo; then
		echo "# $place: a mount was left behind; the folder is kept"
		exit 99
	fi
	chmod -R u+rwX "$place" 2>/dev/null
	rm -rf "$place"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

umask 022
mkdir -m 700 "$place/home" "$place/tmp"
cd "$place/tmp" || exit 99

set -- "$program"
# shellcheck disable=SC2086 # a wrapper is a command with its arguments
[ -z "${TEST_WRAPPER:-}" ] || set -- $TEST_WRAPPER "$@"
for name in WARDER_CC WARDER_LONG WARDER_SANITIZED ASAN_OPTIONS LSAN_OPTIONS UBSAN_OPTIONS FUZZ_MUTATIONS; do
	eval "value=\${$name-}"
	[ -z "$value" ] || set -- "$name=$value" "$@"
done
# The driver leaves its log open as 3, and make may leave its job server: not the test's.
env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
	HOME="$place/home" TMPDIR="$place/tmp" TZ=UTC LC_ALL=C.UTF-8 \
	top_srcdir="$top_srcdir" top_builddir="$top_builddir" WARDER_BIN="${WARDER_BIN:-$top_builddir/warder}" \
	timeout --kill-after=10 "${TEST_DEADLINE:-300}" env "$@" </dev/null 3>&- 4>&-
