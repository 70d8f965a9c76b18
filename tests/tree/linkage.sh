#!/bin/sh
# What each program is linked with: every library is paid for at each start, and is code in reach of hostile bytes.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

[ "${WARDER_SANITIZED:-}" != yes ] || skip_all "a sanitizer build links its runtime"
command -v readelf >/dev/null || skip_all "readelf is missing; install binutils"

# program TAB libraries that it may need (without version)
libc='libc|libm|ld-linux(-[a-z0-9_-]+)?'
cat >"$work/programs" <<END
warder	$libc|libncursesw|libtinfo|libsqlite3|libseccomp|libcjson|libsodium|libutf8proc|libzstd
warder-hand	$libc|libcjson
END

needed() {
	readelf -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p'
}

# Prints the libraries that file $1 needs beyond the ERE $2.
strangers() {
	needed "$1" | grep -Evx "($2)\\.so(\\.[0-9]+)*"
}

# The shell is linked with libc, a shared library of the system with something; both ways must show.
is "$(strangers /bin/sh "$libc")" "" "control: a program with permitted libraries passes"
is "$(strangers "$(command -v git)" "nothing" | grep -c '^libc\.so')" 1 "control: a library beyond the list is found"

tab=$(printf '\t')
while IFS="$tab" read -r program allowed; do
	check "$program is a dynamic program" test -n "$(needed "$top_builddir/$program")"
	is "$(strangers "$top_builddir/$program" "$allowed")" "" "$program needs no library beyond its list"
done <"$work/programs"

without_list=
for file in "$top_builddir"/warder*; do
	if [ -f "$file" ] && [ -x "$file" ] && ! grep -q "^${file##*/}$tab" "$work/programs"; then
		without_list="$without_list ${file##*/}"
	fi
done
is "$without_list" "" "no program is without a list"
tap_end
