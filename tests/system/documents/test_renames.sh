#!/bin/bash
# No old name of docs/renames.tsv is left in the sources, and the check that says so finds one that is. TAP on stdout.
set -u
cd "$(dirname "$0")/../../.." || exit 4
number=0
. tests/support/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
plan 6

tests/system/documents/renames.sh >"$work/out"
result $? "no old name is left in src, connectors and include" || sed 's/^/# /' "$work/out"

mkdir -p "$work/tree/docs" "$work/tree/src/a" "$work/tree/src/b"
echo 'int knots(void); int unknots(void);' >"$work/tree/src/a/a.c"
echo '/* knots */' >"$work/tree/src/b/b.h"
found() { # what, the table's lines, the expected output
    printf 'old\tnew\twhere\n%b' "$2" >"$work/tree/docs/renames.tsv"
    tests/system/documents/renames.sh "$work/tree" >"$work/out"
    [ "$(cat "$work/out")" = "$3" ]
    result $? "$1" || sed 's/^/# /' "$work/out"
}
found "an old name is found anywhere, as a whole word" 'knots\tsccs\n' "src/a/a.c:1: knots is now sccs
src/b/b.h:1: knots is now sccs"
found "with a folder it is looked for there" 'knots\tsccs\tsrc/b/\n' "src/b/b.h:1: knots is now sccs"
found "a name that is gone is no fault" 'heads\ttips\n' ""
found "a folder that is gone is" 'heads\ttips\tsrc/c/\n' "docs/renames.tsv: there is no src/c/"
found "a line that is none is" 'heads tips\n' "docs/renames.tsv:2: not: old, new, where"
