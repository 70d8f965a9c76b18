#!/bin/sh
# Runs tests as an ordinary user on a machine where the build runs as root: `make check-user` calls it in the build
# folder.  Results lie in check-user/ as automake leaves them (.log, .trs), so one summary reads both lanes.
#
#	user_lane.sh USER 'PROGRAMS' 'TESTS'
#
# PROGRAMS are copied, with the files that a release would hold, to a folder that everybody may enter; it is removed
# at the end.  USER is a system user; it is made when missing and stays, because its files could outlive it.
set -u
umask 022
PATH=$PATH:/usr/sbin:/sbin # useradd, also where root came by `su` without a login

user=$1
programs=$2
tests=$3

die() {
	echo "user_lane: $*" >&2
	exit 3
}

[ "$(id -u)" -eq 0 ] || die "lane of $user: only root can become another user; run make check instead"
if ! id -u "$user" >/dev/null 2>&1; then
	useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin "$user" ||
		id -u "$user" >/dev/null 2>&1 || die "user $user: cannot be made; make an ordinary user of that name"
	echo "user_lane: made the system user $user; it stays (userdel $user removes it)"
fi
[ "$(id -u "$user")" -ne 0 ] || die "user $user: is root by another name; remove it"

# Not TMPDIR: root's may be closed to others.
stage=$(mktemp -d /tmp/warder-lane.XXXXXX) || die "stage: no temporary folder; make room in /tmp"
trap 'rm -rf "$stage"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
chmod 755 "$stage"

"$MAKE" distdir distdir="$stage/src" >"$stage/distdir.log" 2>&1 || {
	cat "$stage/distdir.log" >&2
	die "stage: make distdir failed; see above"
}
for program in $programs; do
	mkdir -p "$stage/build/$(dirname "$program")"
	cp "$program" "$stage/build/$program" || die "stage: $program cannot be copied; build it first"
done

rm -rf check-user
failed=0
for test in $tests; do
	case $test in
	*.sh) path=$stage/src/$test ;;
	*) path=$stage/build/$test ;;
	esac
	mkdir -p "check-user/$(dirname "$test")"
	# The list of variables stands before the change of user: what root has in its environment stays with root.
	/bin/sh "$stage/src/build-aux/tap-driver.sh" --comments --color-tests no --enable-hard-errors yes \
		--expect-failure no --test-name "$test (as $user)" \
		--log-file "check-user/$test.log" --trs-file "check-user/$test.trs" -- \
		env -i PATH="$PATH" top_srcdir="$stage/src" top_builddir="$stage/build" \
		WARDER_CC="$WARDER_CC" WARDER_LONG="$WARDER_LONG" WARDER_SANITIZED="${WARDER_SANITIZED:-}" \
		ASAN_OPTIONS="${ASAN_OPTIONS:-}" UBSAN_OPTIONS="${UBSAN_OPTIONS:-}" TEST_DEADLINE="$TEST_DEADLINE" \
		setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups --inh-caps=-all \
		/bin/sh "$stage/src/tests/run_one.sh" "$path"
	grep -Eq '^:test-result: (FAIL|ERROR|XPASS)' "check-user/$test.trs" && failed=1
done
exit "$failed"
