#!/bin/bash
# A commit that makes the sources much longer says what it replaces, and the check that says so finds one that does not. TAP on stdout.
set -u
cd "$(dirname "$0")/../../.." || exit 4
number=0
. tests/support/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
plan 5

tests/system/documents/growth.sh >"$work/out"
result $? "no commit grew the sources silently" || sed 's/^/# /' "$work/out"

commit() { # lines of src/a.c, message
    mkdir -p "$work/tree/src" "$work/tree/docs"
    seq "$1" >"$work/tree/src/a.c"
    git -C "$work/tree" add -A
    git -C "$work/tree" -c user.name=t -c user.email=t@t commit -q -m "$2"
}
git init -q "$work/tree"
commit 10 first
first=$(git -C "$work/tree" rev-parse HEAD)
found() { # what, status
    tests/system/documents/growth.sh "$work/tree" "$first" >"$work/out"
    [ $? = "$2" ]
    result $? "$1" || sed 's/^/# /' "$work/out"
}
commit 2010 "as many as may be"
found "2,000 lines more need no word" 0
commit 5000 "much

Replaces: the old reader, which goes with the next commit"
found "2,990 more with a word are no fault" 0
commit 8000 "much more"
found "3,000 more without one are" 1
grep -q ': 3000 lines more, and no line "Replaces: ..." in its message: much more$' "$work/out"
result $? "the fault names the commit, its lines and its title"
