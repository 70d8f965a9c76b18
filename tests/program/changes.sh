#!/bin/sh
# The staged change as the operator sees it: git-format diff, apply and discard whole or by path, conflicts, what is
# withheld; with a keeper and without one.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

ws=$work/ws
mkdir "$ws"
cd "$ws" || exit 99
need_jail

git init -q -b main
printf 'one\ntwo\nthree\n' >text
printf 'old\n' >gone
mkdir -p dir/deep
printf 'x\n' >dir/deep/file
printf '#!/bin/sh\n' >tool
git add -A
git -c user.name=Op -c user.email=op@example.invalid commit -q -m start
real_git=$(find .git -type f -exec sha256sum {} + | sort | sha256sum)

# session COMMAND: a headless session that runs it; its id in $id.
session() {
	printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g' >"$work/escaped"
	printf '{"content":[{"type":"tool_use","name":"bash","input":{"command":"%s"}}]}\n{"content":[{"type":"text","text":"x"}]}\n' \
		"$(cat "$work/escaped")" >"$work/script"
	run "$WARDER_BIN" run -m "scripted:$work/script" --headless x
	id=$(printf '%s\n' "$out" | sed -n '1s/.*"session":"\([0-9a-z]*\)".*/\1/p')
}

session "printf 'one\ntwo and a half\nthree\n' > text; rm gone; rm -r dir; echo fresh > 'a new file'; chmod +x tool; ln -s text link; printf '\000\001' > bin; git add -A; git commit -qm inside; mkdir -p sub/.git; echo x > sub/.git/config; echo y > sub/ok; mkfifo pipe"
is "$status" 0 "a session that changes many things"
run "$WARDER_BIN" changes "$id"
is "$status" 0 "changes"
cp "$run_out" "$work/diff"
for want in '^diff --git a/text b/text$' '^\+two and a half$' '^deleted file mode 100644$' '^new mode 100755$' \
	'^new file mode 120000$' '^Binary files /dev/null and b/bin differ$' '^diff --git a/dir/deep/file b/dir/deep/file$'; do
	like "$out" "$want" "the diff says $want"
done
like "$err" '^warder: pipe: not applied: ' "a FIFO is refused, by name"
like "$err" '^warder: (sub/)?\.git.*: not applied: ' "what lies below a .git is withheld"
unlike "$out" '^diff --git a/.*\.git/' "and is not in the diff"
is "$(find .git -type f -exec sha256sum {} + | sort | sha256sum)" "$real_git" "the real .git is byte-identical"
is "$(cat text | tr '\n' ' ')" "one two three " "the real files are as they were"

# git itself reads the diff (the binary file apart, which a text diff cannot carry).
cp -r "$ws" "$work/copy"
awk '/^diff --git/ { keep = $0 !~ /bin/ } keep' "$work/diff" >"$work/diff-text"
run git -C "$work/copy" apply --check "$work/diff-text"
is "$status" 0 "git apply takes it: $err"

run "$WARDER_BIN" changes "$id" --json
like "$out" '^\{"op":"modify","path":"text","old":"[0-9a-f]{64}","new":"[0-9a-f]{64}","mode":"[0-7]+","status":"ok"' "one object a path"
like "$out" '"path":"pipe".*"status":"refused"' "with its status"

run "$WARDER_BIN" changes "$id" --apply nowhere
is "$status" 2 "a path that is not staged"
run "$WARDER_BIN" changes "$id" --apply text pipe
is "$status" 1 "a refused path among the named"
is "$(sed -n 2p text)" two "and nothing is written"
run "$WARDER_BIN" changes "$id" --apply text
is "$status" 0 "one file applied"
is "$out" "1 path applied" "and counted"
is "$(sed -n 2p text)" "two and a half" "it is there"
is "$(cat gone)" old "the others are not touched"
run "$WARDER_BIN" changes "$id"
unlike "$out" '^diff --git a/text ' "what was applied is no longer staged"
run "$WARDER_BIN" changes "$id" --discard 'a new file'
is "$status" 0 "one file discarded"
run "$WARDER_BIN" changes "$id" --apply
is "$status" 1 "the whole, while a refused path is in it"
like "$err" '^warder: pipe: not applied' "which is named"
run "$WARDER_BIN" changes "$id" --discard pipe
is "$status" 0 "that one discarded"
run "$WARDER_BIN" changes "$id" --apply
is "$status" 0 "the rest applied: $err"
is "$(git status --porcelain | LC_ALL=C sort | tr '\n' '|')" " D dir/deep/file| D gone| M text| M tool|?? bin|?? link|?? sub/|" "exactly that differs"
is "$(ls sub/)" ok "nothing of a .git crossed"
is "$(ls -A sub)" ok "not even its folder"
check "the executable bit came" [ -x tool ]
run "$WARDER_BIN" changes "$id" --discard
run "$WARDER_BIN" changes "$id"
is "$out" "" "after a discard nothing is staged"
is "$status" 0 "which is no error"
log=$("$WARDER_BIN" show "$id" --json)
like "$log" '"kind":"changes.applied".*"paths":\["text"\],"manifest":"[0-9a-f]{64}"' "the log says what was applied"
like "$log" '"kind":"changes.discarded"' "and what was discarded"
run "$WARDER_BIN" verify "$id"
like "$out" '^intact' "and is whole"

# The operator edits while the change is staged: nothing of his is overwritten.
git add -A && git -c user.name=Op -c user.email=op@example.invalid commit -q -m next
for way in "in place" "by rename" "removed" "new file in the way"; do
	session "echo agent >> text; echo agent > newcomer"
	case $way in
	"in place") echo mine >>text ;;
	"by rename") cp text other && echo mine >>other && mv other text ;;
	"removed") rm text ;;
	"new file in the way") echo mine >newcomer ;;
	esac
	before=$(cat text newcomer 2>/dev/null | sha256sum)
	run "$WARDER_BIN" changes "$id" --apply
	is "$status" 1 "$way: apply refuses"
	like "$err" '(changed|removed|made) by you|conflict' "$way: and says that you changed it"
	is "$(cat text newcomer 2>/dev/null | sha256sum)" "$before" "$way: your edit stands"
	git checkout -q -- . && git clean -qfd
done
session "echo agent >> text"
run "$WARDER_BIN" changes "$id" --apply
is "$status" 0 "control: without an edit of yours it applies"


# A file saved in the moment before the start is none that changed under the cell.
conflicts=0
for n in 1 2 3 4 5 6 7 8; do
	echo "mine $n" >text
	session "echo agent >> text"
	"$WARDER_BIN" changes "$id" --apply >/dev/null 2>&1 || conflicts=$((conflicts + 1))
done
is "$conflicts" 0 "saved just before the start, eight times: no conflict"

session "true"
run "$WARDER_BIN" changes "$id"
is "$status$out$err" 0 "a session that changed nothing: no output"
run "$WARDER_BIN" changes "$id" --apply
is "$status $out" "0 0 paths applied" "and nothing to apply"

# What programs of this machine run later crosses by its name only, on a terminal after a typed word.
session "echo all: > Makefile; mkdir -p later; echo x > later/plain; echo x > later/setup.py; mkdir -p x/.git; echo y > x/.git/h; echo z > \"\$(printf 'two_lines: not applied: never' | tr _ '\\n')\""
run "$WARDER_BIN" changes "$id" --apply
is "$status" 1 "a name that holds a line end is refused"
is "$(printf '%s\n' "$err" | sed -n 1p)" "warder: two⟨LF⟩lines: not applied: never: not applied: its name holds control bytes" "and told in one line"
run "$WARDER_BIN" changes "$id" --discard 'two
lines: not applied: never'
run "$WARDER_BIN" changes "$id" --apply
is "$status" 0 "the whole, with what runs later in it"
is "$out" "1 path applied" "applies the rest"
like "$err" '^warder: Makefile: not applied: programs of this machine run or obey it later; name it to apply it$' "and names what it left out"
is "$(ls -A later) $(ls Makefile 2>/dev/null)" "plain " "which is not there"
run "$WARDER_BIN" changes "$id" --apply x
is "$status $out" "0 0 paths applied" "what is withheld is no error"
like "$err" '^warder: x/.git: not applied: ' "and is named"
is "$("$WARDER_BIN" show "$id" --json | grep -c '"kind":"changes.applied"')" 1 "an apply of nothing is none in the log"
unlike "$("$WARDER_BIN" show "$id" --json | grep changes.appl)" '\.git' "where no .git was ever applied"
if command -v script >/dev/null; then
	printf 'yes\n' | script -qec "'$WARDER_BIN' changes $id --apply ./Makefile" /dev/null >"$work/typed"
	check "on a terminal another word than apply writes nothing" [ ! -e Makefile ]
	like "$(cat "$work/typed")" 'not confirmed; nothing was written' "and says so"
	printf 'apply\n' | script -qec "'$WARDER_BIN' changes $id --apply ./Makefile" /dev/null >"$work/typed"
	check "apply does" [ -e Makefile ]
else
	skip 'script(1) is not installed' 'the typed word'
fi
run "$WARDER_BIN" changes "$id" --apply later/
is "$status" 0 "by its folder's name, without a terminal"
check "it is there" [ -e later/setup.py ]

# With a keeper that lives: the same, through it; and its cell sees the new state.
cat >"$work/live" <<'S'
{"content":[{"type":"tool_use","name":"bash","input":{"command":"echo live > live; echo raw > $(printf 'a\\377b')"}}]}
{"content":[{"type":"text","text":"x"}]}
S
id=$("$WARDER_BIN" run -m "scripted:$work/live" --detach x)
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
	"$WARDER_BIN" ls --json | grep "$id" | grep -q '"state":"idle"' && break
	sleep 0.1
done
like "$("$WARDER_BIN" ls --json | grep "$id")" '"state":"idle","pid":\{"keeper":[0-9]+' "a detached session is idle and alive"
run "$WARDER_BIN" changes "$id"
like "$out" '^\+live$' "its change is shown"
run "$WARDER_BIN" changes "$id" --apply "$(printf 'a\377b')"
is "$status $out" "0 1 path applied" "a name that is not UTF-8 is applied by it: $err"
is "$(cat a?b)" raw "and is there"
run "$WARDER_BIN" changes "$id" --apply
is "$status" 0 "and the rest applied through the keeper"
is "$(cat live)" live "into the real file"
run "$WARDER_BIN" stop "$id"
is "$status" 0 "stopped"

# More names than one event has room for: it counts those that it does not name.
cat >"$work/much" <<'S'
{"content":[{"type":"tool_use","name":"bash","input":{"command":"p=$(printf '%0240d' 0); mkdir -p much/$p/$p/$p; cd much/$p/$p/$p; for i in $(seq 10000); do : >f$i; done"}}]}
{"content":[{"type":"text","text":"x"}]}
S
run "$WARDER_BIN" run -m "scripted:$work/much" --headless x
run "$WARDER_BIN" changes - --apply
is "$status $out" "0 10000 paths applied" "many long names are applied: $err"
for kind in changes.applying changes.applied; do
	like "$("$WARDER_BIN" show - --json | grep "\"kind\":\"$kind\"" | sed 's/.*"more":/"more":/')" '^"more":[1-9]' "$kind counts what it does not name"
done
tap_end
