#!/bin/sh
# The first session of README.md, as it is printed there.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

need_jail
mkdir -p "$work/some/repository" "$work/bin"
ln -s "$WARDER_BIN" "$work/bin/warder"
cd "$work/some/repository" || exit 99
git init -q -b main
echo hello >file
git add -A
git -c user.name=Op -c user.email=op@example.invalid commit -q -m start
cd "$work" || exit 99

# The indented lines of the section, but for the heredoc's own place.
sed -n '/^## A first session/,/^## Reading/p' "$top_srcdir/README.md" | sed -n 's/^    //p' |
	sed "s#/tmp/turns.jsonl#$work/turns.jsonl#; s#-- make test#-- true#" >"$work/session.sh"
check "the section holds commands" [ "$(grep -c '^warder ' "$work/session.sh")" -ge 6 ]
run env PATH="$work/bin:$PATH" sh -eu "$work/session.sh"
is "$status" 0 "they run: $err"
is "$(cat "$work/some/repository/HELLO")" "hello from the jail" "HELLO is there"
like "$out" 'level S[23]' "the doctor speaks"
like "$out" '^\+hello from the jail$' "the diff is shown"
like "$out" '^intact: session' "the log verifies"
tap_end
