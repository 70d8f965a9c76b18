#!/bin/sh
# shellcheck disable=SC2016 # what stands in single quotes is for the scripts that are written here
# bootstrap: what it installs and when it refuses, that it does nothing twice, and that failures come through.  The
# build that it drives is a small one with the real autotools; the machine's package tools are stand-ins that log.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

for tool in autoreconf make; do
	command -v $tool >/dev/null || skip_all "$tool is missing"
done

tree=$work/tree
fake=$work/fake
calls=$work/calls
mkdir -p "$tree/tests" "$fake"
cp "$top_srcdir/bootstrap" "$tree/bootstrap"
cp "$top_srcdir/tests/summary.awk" "$tree/tests/summary.awk"
cat >"$tree/configure.ac" <<'END'
AC_INIT([small], [1])
AC_CONFIG_AUX_DIR([build-aux])
AM_INIT_AUTOMAKE([foreign])
AC_ARG_ENABLE([werror], [], [], [enable_werror=no])
AC_ARG_VAR([COLOUR], [anything])
AS_IF([test -n "$LACKING"], [AC_MSG_ERROR([$LACKING is missing])])
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
END
cat >"$tree/Makefile.am" <<'END'
all-local: made
made: $(srcdir)/source
	test "$$(cat $(srcdir)/source)" != broken
	cp $(srcdir)/source made
check-programs: all
	test ! -f $(srcdir)/no-programs
check-local:
	echo ":test-result: $(RESULT)" >one.trs; echo "$(RESULT): one 1" >one.log
	test $(RESULT) = PASS
check-user:
	mkdir -p check-user; cp one.trs one.log check-user
check-logs:
	@echo one.log $(if $(USER_LANE),check-user/one.log)
END
echo one >"$tree/source"

# stand_in NAME TEXT: a program that logs its call first.
stand_in() {
	printf '#!/bin/sh\necho "%s $*" >>"%s"\n%s\n' "$1" "$calls" "$2" >"$fake/$1"
	chmod +x "$fake/$1"
}
: >"$work/missing"
printf '#!/bin/sh\nshift 2\nfor name; do grep -qx "$name" "%s" || echo "ii  $name"; done\n' "$work/missing" \
	>"$fake/dpkg-query"
chmod +x "$fake/dpkg-query"
stand_in apt-get ":"
stand_in autoreconf "exec $(command -v autoreconf) \"\$@\""
user_is() {
	printf '#!/bin/sh\necho %s\n' "$1" >"$fake/id"
	chmod +x "$fake/id"
}
PATH=$fake:$PATH
unset CI

# bootstrap ARGUMENT…: from another folder, as a person or a script may.
bootstrap() {
	: >"$calls"
	run "$tree/bootstrap" "$@"
}
called() {
	grep -c "^$1" "$calls"
}

# Words.
bootstrap
is "$status" 2 "no argument is wrong usage"
like "$err" '^usage: ./bootstrap build' "and shows the usage"
bootstrap --help
is "$status $(printf '%s\n' "$out" | head -n 1 | cut -c 1-24)" "0 usage: ./bootstrap build" "--help shows it too"
for words in frob "build now" "demo --fast" "check --headless"; do
	# shellcheck disable=SC2086 # several words
	bootstrap $words
	is "$status $err" "2 bootstrap: $words: no such command; ./bootstrap --help lists them" "wrong usage: $words"
done

# Packages.
printf 'libsodium-dev\nsqlite3\n' >"$work/missing"
user_is 1000
stand_in sudo "exit 1"
bootstrap build
is "$status" 3 "an ordinary user without sudo: stops with 3"
is "$err" "bootstrap: packages: some are missing, and this user may not install them; run as root:\
 apt-get update && apt-get install --yes --no-install-recommends sqlite3 libsodium-dev" "and one line says what to run"
is "$out$(called apt-get)$(called autoreconf)" 00 "and nothing was done"
bootstrap check
is "$status $out" "3 " "check counts no failed test then"

stand_in sudo '[ "$1" = -n ] && shift && exec "$@"'
stand_in apt-get 'echo "E: no such package"; exit 100'
bootstrap build
is "$status" 3 "an install that fails stops with 3"
like "$err" '^bootstrap: packages: apt-get could not install sqlite3 libsodium-dev;' "and says so"
is "$(grep -v true "$calls" | tr '\n' '|')" "sudo -n apt-get update --quiet|apt-get update --quiet|\
sudo -n apt-get install --yes --quiet --no-install-recommends sqlite3 libsodium-dev|\
apt-get install --yes --quiet --no-install-recommends sqlite3 libsodium-dev|" "through sudo, exactly what is missing"

user_is 0
bootstrap build
is "$status $(called sudo) $(called apt-get)" "3 0 2" "root needs no sudo"

# The build.
user_is 1000
echo dpkg >>"$work/missing"
bootstrap build
is "$status $(called apt-get)" "0 0" "without a package list nothing is installed and the build goes on"
like "$err" '^bootstrap: packages: no Debian package list here; configure names what is missing$' "which is said"
rm -rf "$tree/build" "$tree/configure" "$tree/Makefile.in"
: >"$work/missing"
LACKING=libfoo
export LACKING
bootstrap check
is "$status $out" "3 0 passed, 1 failed, 0 skipped" "a library that configure misses stops with 3"
like "$err" '^bootstrap: configure: ended with status 1; see its message above and build/config.log$' "which is said"
unset LACKING
rm -rf "$tree/build" "$tree/configure" "$tree/Makefile.in"
bootstrap build
is "$status" 0 "the first run builds"
is "$(cat "$tree/build/made") $(called autoreconf) $(called apt-get)" "one 1 0" "with generated files, without apt"
touch "$work/stamp"
sleep 0.02
bootstrap build
is "$status" 0 "the second run succeeds"
is "$(find "$tree" -newer "$work/stamp" ! -path "$tree")$(called autoreconf)" 0 "and touches nothing"
echo two >"$tree/source"
bootstrap build
is "$status $(cat "$tree/build/made") $(called autoreconf)" "0 two 0" "a changed source is made, and nothing generated"
sleep 0.02
echo '# changed' >>"$tree/Makefile.am"
bootstrap build
is "$status $(called autoreconf)" "0 1" "a changed Makefile.am is generated again"
like "$(cat "$tree/build/Makefile")" '^# changed$' "and in use"

rm -rf "$tree/build"
mkdir "$tree/build"
(cd "$tree/build" && ../configure --quiet COLOUR='dark blue')
CI=true
export CI
bootstrap build
like "$("$tree/build/config.status" --config)" "enable-werror" "CI=true makes warnings errors"
like "$("$tree/build/config.status" --config)" "COLOUR=dark blue" "and keeps what was configured by hand"
touch "$work/stamp"
sleep 0.02
bootstrap build
is "$(find "$tree" -newer "$work/stamp" ! -path "$tree")" "" "once"
unset CI

# Tests.
last_line() {
	tail -n 1 "$run_out"
}
RESULT=PASS
export RESULT
bootstrap check
is "$status $(last_line)" "0 1 passed, 0 failed, 0 skipped" "check ends with the sum; an ordinary user has one lane"
user_is 0
bootstrap check
is "$status $(last_line)" "0 2 passed, 0 failed, 0 skipped" "root has two"
RESULT=FAIL
bootstrap check
is "$status $(last_line)" "1 0 passed, 2 failed, 0 skipped" "a failed test comes through"
like "$out" "^FAIL: one 1" "and is named"
echo 'check-local: stop' >>"$tree/Makefile.am"
echo 'stop: ; false' >>"$tree/Makefile.am"
RESULT=PASS
bootstrap check
is "$status $(last_line)" "1 0 passed, 2 failed, 0 skipped" "no result of an earlier run stands for one of this run"

# A build that fails.
touch "$tree/no-programs"
bootstrap check
is "$status" 2 "test programs that do not build: make's status"
is "$(last_line)" "0 passed, 1 failed, 0 skipped" "and check ends with a sum all the same"
echo broken >"$tree/source"
bootstrap build
is "$status" 2 "a build that fails: make's status"
like "$err" '^bootstrap: make: ended with status 2; see the first error above$' "and one line says so"
unlike "$out" 'passed' "build counts no tests"
bootstrap demo
is "$status" 2 "no demo without a build"
echo three >"$tree/source"
bootstrap demo
is "$status" 3 "no demo without its script"
echo 'echo "demo: $*"; exit 5' >"$tree/tests/demo.sh"
bootstrap demo --headless
is "$status $(last_line)" "5 demo: build --headless" "the demo gets its words and passes its status"
tap_end
