#!/bin/sh
# House rules that a machine can hold: width, blanks, forbidden calls, the display gate, the size of a file.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

# Files that may be longer than 800 lines, each with its reason beside it.
long_files=''
# The one file that may hand text to curses (DESIGN, invariant 7).
gate=tui/gate.c

cat >"$work/style.awk" <<'AWK'
function bad(why)
{
	printf "%s:%d: %s\n", file, FNR, why
}

function width(line,    part, n, i, sum)
{
	gsub(/[\200-\277]/, "", line)
	n = split(line, part, "\t")
	for (i = 1; i <= n; i++) {
		sum += length(part[i])
		if (i < n)
			sum += 8 - sum % 8
	}
	return sum
}

# The line without strings and comments; `inside` remembers a comment that goes on.
function code(line)
{
	gsub(/'\\?"'/, "' '", line)
	gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
	if (inside && !sub(/^.*\*\//, "", line))
		return ""
	inside = 0
	gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", line)
	sub(/\/\/.*/, "", line)
	if (sub(/\/\*.*/, "", line))
		inside = 1
	return line
}

function calls(line, names)
{
	return line ~ "(^|[^A-Za-z0-9_])(" names ")[ \t]*\\("
}

BEGIN {
	banned = "v?sprintf|strcpy|strcat|stpcpy|gets|tmpnam|tempnam|mktemp|strtok|alloca"
	shell = "system|popen"
	raw = "(mv)?w?(add|ins)_?n?w?str|(mv)?w?printw|vw_?printw|(mv)?w?(add|ins|echo)(_w)?ch(n?str)?"
}

# Scripts of tests hold whole lines of JSON and of expected output, which would not be themselves when broken.
width($0) > (file ~ /^tests\/.*\.sh$/ ? 320 : 120) { bad("wider than 120 columns") }
/[ \t]$/ { bad("blank at the end") }
/ \t/ { bad("blank before a tab") }
/\r/ { bad("carriage return") }

file ~ /\.[ch]$/ {
	if ($0 ~ /^ +[^ *]/)
		bad("indented with blanks")
	text = code($0)
	if (calls(text, banned))
		bad("forbidden: writes without a limit, or is not safe to call")
	if (calls(text, shell) && file !~ /^tests\//)
		bad("forbidden: starts a shell")
	if (calls(text, raw) && file != gate)
		bad("raw curses output outside " gate)
}

END {
	if (FNR > 800 && index(" " long_files " ", " " file " ") == 0)
		bad("longer than 800 lines; split it, or list it here with its reason")
}
AWK

sources() {
	(
		cd "$1" || exit
		find core store jail tui tests -type f \( -name '*.[ch]' -o -name '*.sh' -o -name '*.awk' \)
		find bootstrap .ci/run configure.ac Makefile.am -type f
	) 2>/dev/null | sort
}

# Prints FILE:LINE: WHY for every breach below folder $1.
breaches() {
	sources "$1" >"$work/files"
	while read -r file; do
		LC_ALL=C awk -v file="$file" -v gate="$gate" -v long_files="$long_files" -f "$work/style.awk" "$1/$file"
		case $file in
		*.sh | bootstrap | .ci/run) sh -n "$1/$file" 2>&1 | sed "s|^.*$file: |$file:|" ;;
		esac
	done <"$work/files"
}

plant() {
	mkdir -p "$work/planted/$(dirname "$1")"
	# shellcheck disable=SC2059 # the text holds escapes on purpose
	printf "$2\n" >"$work/planted/$1"
}

plant core/wide.c "$(printf '%0121d' 0)"
plant core/tabs.c "\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t/"
plant core/trailing.c 'int a; '
plant core/mixed.c '\tint a; \tint b;'
plant core/blanks.h '    int a;'
plant core/crlf.c 'int a;\r'
plant store/a.c '\tsprintf(text, "x");'
plant store/b.c '\treturn strcpy (to, from);'
plant store/c.c '/* not\n * yet */ strcat(to, from);'
plant jail/a.c '\tint status = system("true");'
plant jail/b.c '\tFILE *f = popen("true", "r");'
plant jail/c.c '\tgets(line);'
plant tui/a.c '\taddstr(text);'
plant tui/b.c '\tmvwaddnstr(w, 0, 0, text, 3);'
plant tui/c.c '\tif (wprintw(w, "%%s", text))'
plant tui/d.c '\tmvaddch(0, 0, c);'
plant tests/bad.sh 'if true'
plant core/long.c "$(yes 'int a;' | head -n 801)"
plant Makefile.am 'a = b '
wanted=$(cd "$work/planted" && find . -type f | sed 's|^\./||' | sort)
plant tui/gate.c '\tmvwaddstr(w, 0, 0, text);'
plant core/good.c '\tsnprintf(text, 3, "%%s", "strcpy(");\n/* system(), gets() */\n\tfilesystem(a); // gets(b)'
plant core/line.c "$(printf '%0120d' 0)"
plant core/utf8.c "/* $(yes '…' | head -n 100 | tr -d '\n') */"
plant core/full.c "$(yes 'int a;' | head -n 800)"
plant tests/good.c '\treturn system("true");'
found=$(breaches "$work/planted" | sed 's/:.*//' | sort -u)
is "$found" "$wanted" "control: every planted breach is found, and nothing that is permitted"

is "$(breaches "$top_srcdir")" "" "no source breaks the house rules"
check "files were looked at" test "$(wc -l <"$work/files")" -ge 20
tap_end
