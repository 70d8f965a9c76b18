#!/bin/sh
# shellcheck disable=SC2317 # the protection_… functions are called by name
# The protections that the compiler and the linker were asked for are in the programs as built.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

[ "${WARDER_SANITIZED:-}" != yes ] || skip_all "a sanitizer build leaves the hardening out"
command -v readelf >/dev/null || skip_all "readelf is missing; install binutils"

# protection_NAME FILE succeeds when the file has it.
protection_pie() {
	readelf -hW "$1" | grep -Eq 'Type:[[:space:]]+DYN' && readelf -dW "$1" | grep -Eq 'FLAGS_1.*PIE'
}
protection_relro() {
	readelf -lW "$1" | grep -q GNU_RELRO
}
protection_bind_now() {
	readelf -dW "$1" | grep -Eq '\(FLAGS(_1)?\).*NOW|BIND_NOW'
}
protection_noexecstack() {
	readelf -lW "$1" | grep -Eq 'GNU_STACK.* RW +0x' && ! readelf -lW "$1" | grep -Eq 'GNU_STACK.*RWE'
}
protection_no_wx_segment() {
	! readelf -lW "$1" | grep -Eq 'LOAD.* RWE '
}
protection_stack_protector() {
	readelf -W --dyn-syms "$1" | grep -q '__stack_chk_fail'
}
protection_fortify() {
	readelf -W --dyn-syms "$1" | grep -Eq ' __[a-z0-9]+_chk(@|$)'
}
protection_no_rpath() {
	! readelf -dW "$1" | grep -Eq '\((RPATH|RUNPATH)\)'
}
protections='pie relro bind_now noexecstack no_wx_segment stack_protector fortify no_rpath'

# Some text that wants a guard and a fortified call, built with everything off and everything on.
cat >"$work/sample.c" <<'END'
#include <stdio.h>
int main(int argc, char **argv)
{
	char text[64];
	snprintf(text, sizeof(text), "%d %s", argc, argv[0]);
	return puts(text) < 0;
}
END
# One whose only segment is writable and executable.
cat >"$work/omagic.c" <<'END'
int word = 1;
int main(void)
{
	return word;
}
END
compiler=${WARDER_CC:-cc}
built() {
	# shellcheck disable=SC2086 # the compiler may come with options
	$compiler -O2 "$@" 2>>"$work/log"
}
if built -o "$work/weak" -no-pie -fno-pie -fno-stack-protector -U_FORTIFY_SOURCE -Wl,-z,norelro -Wl,-z,lazy \
	-Wl,-z,execstack -Wl,-rpath,/nowhere "$work/sample.c" &&
	built -o "$work/omagic" -nostdlib -static -Wl,-N -Wl,-e,main "$work/omagic.c" &&
	built -c -o "$work/unmarked.o" -fcf-protection=none "$work/omagic.c"; then
	for name in $protections; do
		victim=$work/weak
		[ "$name" != no_wx_segment ] || victim=$work/omagic
		if "protection_$name" "$victim"; then
			not_ok "control: the lack of $name is seen"
		else
			ok "control: the lack of $name is seen"
		fi
	done
else
	diag "$(cat "$work/log")"
	skip "$compiler built none" "controls"
fi

programs=0
for file in "$top_builddir"/warder*; do
	if [ -d "$file" ] || [ ! -x "$file" ]; then
		continue
	fi
	program=${file##*/}
	programs=$((programs + 1))
	code=$(readelf -SW "$file" | sed -n 's/.* \.text *PROGBITS *[0-9a-f]* [0-9a-f]* \([0-9a-f]*\) .*/\1/p')
	for name in $protections; do
		case $name in
		stack_protector | fortify)
			# A program of a few lines has no array to guard; a real one is far beyond this.
			if [ "$((0x$code))" -lt 2048 ]; then
				skip "$program has only $((0x$code)) bytes of code" "$name"
				continue
			fi
			;;
		esac
		check "$program: $name" "protection_$name" "$file"
	done
done
check "programs were looked at" test "$programs" -ge 2

# The C runtime's own start files carry no IBT/SHSTK note on Debian 12, so that the linker drops it from the programs;
# what is ours to hold is that each of our objects carries it.
marked() {
	readelf -nW "$1" | grep -c 'x86 feature:.*IBT.*SHSTK'
}
case $(uname -m) in
x86_64)
	for archive in "$top_builddir"/lib*.a; do
		is "$(marked "$archive")" "$(readelf -hW "$archive" | grep -c '^File:')" \
			"$(basename "$archive"): every object is marked for CET"
	done
	[ ! -f "$work/unmarked.o" ] ||
		is "$(marked "$work/unmarked.o")" 0 "control: an object that is not marked is seen"
	;;
*)
	skip "CET is x86-64's; this machine is $(uname -m)" "objects are marked for CET"
	;;
esac
tap_end
