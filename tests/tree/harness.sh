#!/bin/sh
# shellcheck disable=SC2016 # what stands in single quotes is for the scripts that are written here
# The way tests are run and counted: what crashes, hangs, says nothing or skips without a reason is a failure, and
# each test has a place and an environment of its own.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

# A test written to folder $work/suite, run as make does; the results lie beside it.
suite() {
	name=$1
	mkdir -p "$work/suite"
	printf '#!/bin/sh\n%s\n' "$2" >"$work/suite/$name"
	chmod +x "$work/suite/$name"
	TEST_DEADLINE=${3:-60} TMPDIR=$work sh "$top_srcdir/build-aux/tap-driver.sh" --comments --color-tests no \
		--expect-failure no --enable-hard-errors yes --test-name "suite/$name" \
		--log-file "$work/suite/$name.log" --trs-file "$work/suite/$name.trs" -- \
		sh "$top_srcdir/tests/run_one.sh" "$work/suite/$name" >"$work/driver" 2>&1
}

# sum [-v problem=TEXT] TEST…: what check-summary would print.
sum() {
	options=
	case $1 in
	problem=*)
		options=$1
		shift
		;;
	esac
	for name in "$@"; do
		shift
		set -- "$@" "$work/suite/$name.log"
	done
	run awk ${options:+-v "$options"} -f "$top_srcdir/tests/summary.awk" "$@"
}
export top_builddir top_srcdir

suite good 'echo "ok 1 - one"; echo "ok 2 - two # SKIP no such device"; echo "1..2"'
sum good
is "$out" 'SKIP: suite/good 2 - two # SKIP no such device
1 passed, 0 failed, 1 skipped' "a pass and a skip with its reason"
is "$status" 0 "status of a good run"

suite bad 'echo "ok 1"; echo "not ok 2 - two is broken"; echo "1..2"; exit 1'
sum good bad
like "$out" '^FAIL: suite/bad 2 - two is broken$' "a failure is shown with the test's name"
like "$out" '^2 passed, 2 failed, 1 skipped$' "a failed point and the status of the program"
is "$status" 1 "status of a bad run"

suite crash 'echo "ok 1"; kill -SEGV $$'
sum crash
like "$out" '^ERROR: suite/crash - missing test plan$' "a crash leaves no plan"
like "$out" '^ERROR: suite/crash - exited with status 139' "a crash is named"
like "$out" '^1 passed, 2 failed, 0 skipped$' "a crash is failure"

suite late 'echo "ok 1"; echo "1..1"; kill -ABRT $$'
sum late
like "$out" '^1 passed, 1 failed, 0 skipped$' "a crash after the plan is failure"

suite few 'echo "1..3"; echo "ok 1"'
sum few
like "$out" '^1 passed, 1 failed, 0 skipped$' "fewer points than planned is failure"

suite silent ':'
sum silent
like "$out" '^0 passed, 1 failed, 0 skipped$' "a test that says nothing is failure"

suite hang 'sleep 1000' 1
sum hang
like "$out" '^ERROR: suite/hang - exited with status 124' "a test that hangs is ended"

suite lazy 'echo "ok 1 - one # SKIP"; echo "ok 2 # SKIP"; echo "ok 3"; echo "1..3"'
sum lazy
like "$out" '^1 passed, 2 failed, 0 skipped$' "a skip without a reason is failure"
suite lazyall 'echo "1..0 # SKIP"'
sum lazyall
like "$out" '^0 passed, 1 failed, 0 skipped$' "so is a whole script's"
suite without 'echo "1..0 # SKIP no such kernel"'
sum good without
like "$out" '^1 passed, 0 failed, 2 skipped$' "a whole script is skipped with its reason"

suite expected 'echo "not ok 1 - one # TODO later"; echo "ok 2 - two # TODO done"; echo "1..2"'
sum expected
like "$out" '^1 passed, 1 failed, 0 skipped$' "expected failures pass, unexpected passes fail"

sum good never
like "$out" 'never.log - no result' "a test that did not run is named"
like "$out" '^1 passed, 1 failed, 1 skipped$' "and is failure"
run awk -f "$top_srcdir/tests/summary.awk"
is "$out $status" 'ERROR: no test ran
0 passed, 1 failed, 0 skipped 1' "no test at all is failure"
sum problem='make check ended with status 2' good
like "$out" '^ERROR: make check ended with status 2$' "what make said is shown"
like "$out" '^1 passed, 1 failed, 1 skipped$' "and is failure when no test explains it"
sum problem='make check ended with status 2' bad
like "$out" '^1 passed, 2 failed, 0 skipped$' "but is not counted twice"

# The place of a test.
suite place 'echo "# home $HOME"; echo "# env $(env | sed "s/=.*//" | sort | tr "\n" " ")"
[ -z "$(ls -A .)" ] && echo "ok 1 - empty"
mkdir -p "$HOME/a/b"; chmod 0 "$HOME/a"; read -r line || echo "ok 2 - no input"; echo 1..2'
secret=leak ANTHROPIC_API_KEY=leak suite place "$(sed 1d "$work/suite/place")"
sum place
like "$out" '^2 passed, 0 failed, 0 skipped$' "a test starts in an empty folder, without input"
unlike "$(cat "$work/driver")" 'secret|ANTHROPIC|LANG|XDG' "its environment is a list"
place=$(sed -n 's/^# .*: home //p' "$work/driver")
like "$place" "^$work/warder-test\..*/home\$" "its HOME is its own"
check "which is removed afterwards" test ! -e "$place"

# The lane of an ordinary user, with a make that stands for `make distdir`.
cat >"$work/make" <<'END'
#!/bin/sh
stage=${2#distdir=}
mkdir -p "$stage/tests/a" "$stage/build-aux"
cp "$top_srcdir/tests/run_one.sh" "$stage/tests"
cp "$top_srcdir/build-aux/tap-driver.sh" "$stage/build-aux"
cat >"$stage/tests/a/who.sh" <<'SCRIPT'
#!/bin/sh
echo "# ran in $top_srcdir"
[ "$(id -un)" = nobody ] && [ "$(id -gn)" != root ] && echo "ok 1 - as nobody"
[ "$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)" = 0000000000000000 ] && echo "ok 2 - without capabilities"
[ -z "${ANTHROPIC_API_KEY:-}" ] && echo "ok 3 - without what root has in its environment"
[ "$("$WARDER_BIN")" = "program of the lane" ] && echo "ok 4 - with the copied program"
[ ! -w "$top_srcdir/tests" ] && [ -w . ] && echo "ok 5 - which it cannot write to"
echo "not ok 6 - and counts"
echo 1..6
SCRIPT
chmod +x "$stage/tests/a/who.sh"
END
chmod +x "$work/make"
mkdir "$work/lane"
lane() {
	(cd "$work/lane" && MAKE=$work/make TMPDIR='' WARDER_CC=cc WARDER_LONG='' TEST_DEADLINE=60 \
		ANTHROPIC_API_KEY=leak sh "$top_srcdir/tests/user_lane.sh" "$@" >"$run_out" 2>&1)
	status=$?
	out=$(cat "$run_out")
}
printf '#!/bin/sh\necho program of the lane\n' >"$work/lane/warder"
chmod +x "$work/lane/warder"
lane nobody warder tests/a/who.sh
if [ "$(id -u)" -eq 0 ]; then
	run awk -f "$top_srcdir/tests/summary.awk" "$work/lane/check-user/tests/a/who.sh.log"
	like "$out" '^FAIL: tests/a/who.sh \(as nobody\) 6 - and counts' "lane: a failure names the lane"
	like "$out" '^5 passed, 1 failed, 0 skipped$' "lane: the rest holds"
	is "$status" 1 "lane: a failed test is its status"
	stage=$(sed -n 's/^# ran in //p' "$work/lane/check-user/tests/a/who.sh.log")
	like "$stage" '/warder-lane\.' "lane: it ran in a folder of its own"
	check "lane: which is removed" test ! -e "${stage%/src}"
	lane root warder tests/a/who.sh
	is "$status $out" "3 user_lane: user root: is root by another name; remove it" "lane: never as root"
else
	is "$status $out" "3 user_lane: lane of nobody: only root can become another user; run make check instead" \
		"lane: an ordinary user has none"
	skip "only root can become another user" "lane of an ordinary user"
fi

# The library that shell tests read.
suite lib '. "$top_srcdir/tests/lib.sh"
ok one
run sh -c "echo out; echo err >&2; exit 3"
is "$status $out $err" "3 out err" two
like "$out" "^o" three
unlike "$out" "^e" four
check five true
skip "not here" six
tap_end'
sum lib
like "$out" '^SKIP: suite/lib 6 - six # SKIP not here$' "lib: skip names its reason"
like "$out" '^5 passed, 0 failed, 1 skipped$' "lib: what holds passes"
suite libfail '. "$top_srcdir/tests/lib.sh"
not_ok one
is a b two
like abc "^b" three
unlike abc "^a" four
check five false
tap_end'
sum libfail
like "$out" '^0 passed, 6 failed, 0 skipped$' "lib: what does not hold fails, and so does the script"
tap_end
