#!/bin/bash
# The README of a room names each of its sources, and the check that says so finds one that it does not. TAP on stdout.
set -u
cd "$(dirname "$0")/../../.." || exit 4
number=0
. tests/support/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
plan 4

tests/system/documents/rooms.py >"$work/out"
result $? "each source is named in the README of its room" || sed 's/^/# /' "$work/out"

mkdir -p "$work/tree/src/a/b/c" "$work/tree/connectors"
touch "$work/tree/src/a/b/"{one.c,one.h,two_x.c,b_private.h} "$work/tree/src/a/b/c/three.c"
found() { # what README of b says, what is not found, how that is called
    echo "$1" >"$work/tree/src/a/b/README.md"
    tests/system/documents/rooms.py "$work/tree" >"$work/out"
    [ "$(sed 's/: not in .*//' "$work/out" | paste -sd' ')" = "$2" ]
    result $? "$3" || sed 's/^/# /' "$work/out"
}
found '`one.h`, `two*`, `c/three`' "" "names without an ending, patterns and folders are names"
found '`one.h`, two_x.c, `three`' "src/a/b/two_x.c" "a word of the text is none"
rm "$work/tree/src/a/b/README.md"
tests/system/documents/rooms.py "$work/tree" | grep -q "one.c: not in any README.md"
result $? "a room without a README is found"
