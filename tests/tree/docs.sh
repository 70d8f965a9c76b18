#!/bin/sh
# Documents against the tree: every file that one names is there, every mechanism's page names a test, and what the
# program says of its commands is what the manual lists.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

# missing FOLDER: paths that the documents of a tree name and that are not in it.
missing() {
	(
		cd "$1" || exit
		grep -ohE '\b(tests|core|store|jail|docs)/[A-Za-z0-9_./-]*[A-Za-z0-9_]\.(c|h|sh|md)\b' README.md ARCHITECTURE.md docs/*.md \
			docs/internals/*.md | grep -v NAME | sort -u | while read -r path; do
			[ -e "$path" ] || echo "$path"
		done
	)
}

# without_test FOLDER: pages that name no test.
without_test() {
	grep -LE 'tests/|test_[a-z]+' "$1"/docs/internals/*.md
}

is "$(missing "$top_srcdir")" "" "every file that a document names is there"
is "$(without_test "$top_srcdir")" "" "every page of docs/internals names its test"
commands=$("$WARDER_BIN" --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
for c in $commands; do
	check "the manual has warder $c" grep -q "warder $c" "$top_srcdir/docs/manual.md"
done

# A planted breach of each is found.
mkdir -p "$work/tree/docs/internals"
echo 'see `tests/none/such.sh`' >"$work/tree/README.md"
: >"$work/tree/ARCHITECTURE.md"
echo x >"$work/tree/docs/manual.md"
echo 'a page' >"$work/tree/docs/internals/page.md"
is "$(missing "$work/tree")" "tests/none/such.sh" "control: a file that is not there is named"
is "$(without_test "$work/tree")" "$work/tree/docs/internals/page.md" "control: a page without a test is named"
tap_end
