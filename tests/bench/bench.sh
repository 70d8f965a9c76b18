#!/bin/sh
# `make bench`: latency of programs and cells, and appends of the log, as ratios within one run; the load stands beside.
set -u
home=$(mktemp -d "${TMPDIR:-/tmp}/warder-bench.XXXXXX") || exit 3
trap 'rm -rf "$home"' EXIT
chmod 700 "$home"
mkdir "$home/ws" "$home/warder"
chmod 700 "$home/warder"
WARDER_HOME=$home/warder
export WARDER_HOME
# The cell that the bench itself starts looks for its program beside it.
mkdir "$home/bin"
cp "$top_builddir/tests/bench/bench_cell" "$top_builddir/warder-hand" "$home/bin/" || exit 3
cd "$home/ws" || exit 3
"$home/bin/bench_cell" "$top_builddir/warder" "${BENCH_ROUNDS:-100}" || exit
echo
"$top_builddir/tests/bench/bench_store" "$home"
