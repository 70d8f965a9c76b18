#!/bin/sh
# The disk fills in the middle of a session: nothing unlogged runs, the reason is told, and when there is room again
# wake goes on.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

# A small tmpfs as WARDER_HOME: as root by mount, as an ordinary user in namespaces of the test's own.
if [ "${WARDER_FULL_INNER:-}" != yes ]; then
	WARDER_FULL_INNER=yes
	export WARDER_FULL_INNER top_srcdir top_builddir WARDER_BIN
	if [ "$(id -u)" -eq 0 ]; then
		exec unshare -m sh "$0"
	fi
	# The same user in a namespace of its own: the jail's own user namespace nests in it.
	unshare --user --mount --map-current-user --keep-caps true 2>/dev/null ||
		skip_all "neither root nor a user namespace to mount a small disk in"
	exec unshare --user --mount --map-current-user --keep-caps sh "$0"
fi

home=$work/disk
mkdir "$home"
mount -t tmpfs -o size=3m,mode=700 none "$home" || skip_all "tmpfs cannot be mounted"
WARDER_HOME=$home
export WARDER_HOME
ws=$work/ws
mkdir "$ws"
cd "$ws" || exit 99
need_jail

# Each result is large, and each command leaves a mark outside of what is logged.
i=0
while [ $i -lt 60 ]; do
	i=$((i + 1))
	printf '{"content":[{"type":"tool_use","name":"bash","input":{"command":"echo mark-%d >> marks; head -c 20000 /dev/urandom | base64"}}]}\n' "$i"
done >"$work/script"
printf '{"content":[{"type":"text","text":"done"}]}\n' >>"$work/script"

run "$WARDER_BIN" run -m "scripted:$work/script" --headless fill
is "$status" 3 "the run ends with status 3"
like "$err" '^warder: .*(full|No space left)' "and says that the disk is full"
id=$(printf '%s\n' "$out" | sed -n '1s/.*"session":"\([0-9a-z]*\)".*/\1/p')
log=$("$WARDER_BIN" show "$id" --json)
like "$log" '"kind":"session.error".*"kind":"log_refused"' "the log says why it stops, from its reserve"
marks=$(cat "$home/sessions/$id/layer/upper/marks" | wc -l)
starts=$(printf '%s\n' "$log" | grep -c '"kind":"tool.started"')
is "$marks" "$starts" "what ran is what was logged ($starts starts)"
check "some commands ran before" [ "$starts" -gt 3 ]
run "$WARDER_BIN" verify "$id"
like "$out" '^intact' "the log is whole"

mount -o remount,size=64m "$home"
run "$WARDER_BIN" wake "$id" --headless
is "$status" 0 "with room again, wake goes on to the end"
log=$("$WARDER_BIN" show "$id" --json)
is "$(printf '%s\n' "$log" | grep -c '"kind":"tool.started"')" 60 "all sixty commands started"
is "$(sort "$home/sessions/$id/layer/upper/marks" | uniq -d)" "" "none ran twice"
cd / && umount "$home"
tap_end
