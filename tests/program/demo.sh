#!/bin/sh
# The demo, whole: what README promises of it.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

need_jail
run sh "$top_srcdir/tests/demo.sh" "$top_builddir"
is "$status" 0 "the demo ends well: $err"
for want in 'session.created .*careful' "cannot access '/home/agent/.ssh'" 'Network is unreachable' 'deny once Keep the test' \
	'ok replaced 1 occurrence in sum.c' 'ok PASS: sum is 10' 'session.status_idle +end_turn' '^unchanged$' \
	'^\+	for \(int i = 0; i < n; i\+\+\)$' '^1 path applied$' ' 1 file changed, 1 insertion' '^intact: session '; do
	like "$out" "$want" "it shows: $want"
done
unlike "$out" 'not a real key' "the key is never read"
is "$(find "$TMPDIR" -maxdepth 1 -name 'warder-demo.*' 2>/dev/null | wc -l)" 0 "nothing of it is left"
tap_end
