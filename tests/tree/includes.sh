#!/bin/sh
# The parts stay apart: who includes what.  DESIGN's rule in one table; a part can be replaced alone while it holds.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

# part TAB what its files may include of the project (ERE of the path)
cat >"$work/parts" <<'END'
core/base/	^core/base/
core/	^(core|store|jail)/
store/	^(core/base|core/pub|store)/
jail/	^(core/base|core/pub|jail)/
tui/	^(core/base|core/pub|tui)/|^store/(log_read|catalog|event)\.h$
END
# header of a library (ERE) TAB the only part that may include it
cat >"$work/libraries" <<'END'
^(ncursesw?/)?(curses|ncurses|panel|menu|form|term)\.h$	tui/
^sqlite3\.h$	store/
^seccomp\.h$	jail/
END

# Prints FILE:LINE: WHY for each include below folder $1 that breaks the tables.
bad_includes() {
	(cd "$1" && find core store jail tui -name '*.[ch]' 2>/dev/null | sort) >"$work/files"
	while read -r file; do
		awk -v file="$file" -F '\t' '
			FILENAME ~ /parts$/ {
				if (index(file, $1) == 1 && length($1) > length(part)) {
					part = $1
					allowed = $2
				}
				next
			}
			FILENAME ~ /libraries$/ { library[$1] = $2; next }
			!/^[ \t]*#[ \t]*include[ \t]/ { next }
			{
				name = $0
				sub(/^[ \t]*#[ \t]*include[ \t]*["<]/, "", name)
				sub(/[">].*$/, "", name)
				why = ""
				if (name ~ /^\.\.?\// || ($0 ~ /"/ && name !~ /\// && name != "config.h"))
					why = "is not named from the top of the tree"
				else if (name ~ /^(core|store|jail|tui)\// && name !~ allowed)
					why = "is another part'\''s"
				for (pattern in library)
					if (name ~ pattern && part != library[pattern])
						why = "is for " library[pattern] " alone"
				if (why != "")
					printf "%s:%d: %s %s\n", file, FNR, name, why
			}' "$work/parts" "$work/libraries" "$1/$file"
	done <"$work/files"
}

plant() {
	mkdir -p "$work/planted/$(dirname "$1")"
	printf '%s\n' "$2" >"$work/planted/$1"
}

# Each of these must be found, and nothing else in the planted tree.
plant store/a.c '#include "core/policy/policy.h"'
plant store/b.c '# include <curses.h>'
plant store/c.c '#include "jail/cell.h"'
plant jail/a.h '#include "store/log.h"'
plant jail/b.c '#include "../core/keeper.h"'
plant jail/c.c '#include "cell.h"'
plant jail/d.c '#include <core/keeper.h>'
plant tui/a.c '#include "store/log.h"'
plant tui/b.c '#include <sqlite3.h>'
plant tui/c.c '#include "jail/cell.h"'
plant core/a.c '#include <ncursesw/curses.h>'
plant core/b.c '#include "tui/draw.h"'
plant core/base/a.c '#include "store/event.h"'
wanted=$(cd "$work/planted" && find . -name '*.[ch]' | sed 's|^\./||' | sort)
plant store/good.c '#include "core/base/err.h"'
plant tui/good.c '#include <curses.h>'
plant core/good.c '#include "jail/cell.h"'
plant jail/good.c '#include <seccomp.h>'
found=$(bad_includes "$work/planted" | sed 's/:.*//' | sort)
is "$found" "$wanted" "control: every planted include is found, and no permitted one"

is "$(bad_includes "$top_srcdir")" "" "no part includes what it may not"
check "files were looked at" test "$(wc -l <"$work/files")" -ge 10
tap_end
