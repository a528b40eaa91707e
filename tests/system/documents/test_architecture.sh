#!/bin/bash
# What documents say of the sources is so: the picture is that of the module table, files, functions and modules that are named
# exist; and the check that says so finds what does not. TAP on stdout.
set -u
cd "$(dirname "$0")/../../.." || exit 4
number=0
. tests/support/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
plan 17

docs/modules.py . | cmp -s - docs/modules.svg
result $? "docs/modules.svg is drawn from docs/modules.md: make documents"
tests/system/documents/names.py >"$work/out"
result $? "files, functions and modules that documents name exist" || sed 's/^/# /' "$work/out"

mkdir -p "$work/tree/src/a" "$work/tree/docs"
printf '## low\n| module | holds | may include | libraries |\n| a | all | | |\n' >"$work/tree/docs/modules.md"
echo 'int go(void);' >"$work/tree/src/a/a.c"
echo '`a.c`' >"$work/tree/src/a/README.md"
found() { # what, the page, the expected output
    printf '%b' "$2" >"$work/tree/ARCHITECTURE.md"
    tests/system/documents/names.py "$work/tree" >"$work/out"
    [ "$(cat "$work/out")" = "$3" ]
    result $? "$1" || sed 's/^/# /' "$work/out"
}
found "what is right is not refused" '`a`\n| `src/a/a.c` | `go` |\n`a.c`\n' ""
found "a file that is not there is found" '`a`\n`src/a/b.c`\n' "ARCHITECTURE.md:2: there is no src/a/b.c"
found "a function that is not there is found" '`a`\n| `src/a/a.c` | `stop` |\n' "ARCHITECTURE.md:2: src/a/a.c has no stop"
found "also in a sentence" '`a`: `go` (`src/a/a.c`) calls `stop` (`src/a/a.c`)\n' "ARCHITECTURE.md:1: src/a/a.c has no stop"
found "a name that no source has is found" '`a`: `struct iso_gone`\n' "ARCHITECTURE.md:1: no source has iso_gone"
found "whatever it begins with" '`a`: `go_on`\n' "ARCHITECTURE.md:1: no source has go_on"
found "a module that is left out is found" 'nothing\n' "ARCHITECTURE.md:0: module a is not there"
printf '/* a.c: ... */\nint go(void);\nint run(void);\n/* b.c too */\n' >"$work/tree/src/a/a.h"
printf 'int go(void)\n{\n}\n' >"$work/tree/src/a/a.c"
printf 'int run(void)\n{\n}\n' >"$work/tree/src/a/c.c"
found "a function that stands under another file's name is found, and a file that a comment names" '`a`\n' \
    "$(printf 'src/a/a.h:3: run is in c.c, and stands under a.c\nsrc/a/a.h:4: there is no b.c')"
rm "$work/tree/src/a/a.h"
found "without them nothing is wrong" '`a`\n' ""
rm "$work/tree/src/a/README.md"
found "so is a README that is missing" '`a`\n' "src/a:0: there is no README.md"
docs/modules.py "$work/tree" >"$work/other.svg"
grep -q '>a</text>' "$work/other.svg" && ! cmp -s "$work/other.svg" docs/modules.svg
result $? "another table gives another picture"

# The versions of formats, as docs/compatibility.md has them, are those of the sources.
version() { # the number in the document, the file, the name of the constant
    local inside
    inside=$(sed -nE "s/.*\\b$3 = ([0-9]+).*/\\1/p" "$2")
    [ -n "$inside" ] && grep -q "\`$3\` $inside |" docs/compatibility.md && [ "$inside" = "$1" ]
    result $? "docs/compatibility.md: $3 of $2 is $1" || echo "# it is $inside"
}
document() { sed -nE "s/^\| $1.*\`$2\` ([0-9]+) \|.*/\\1/p" docs/compatibility.md; }
version "$(document 'state directory' FORMAT)" src/streams/run/durable/durable_configuration.c FORMAT
version "$(document journal FORMAT)" src/foundation/store/journal.c FORMAT
version "$(document recording RECORDING)" src/files/capture/read.c RECORDING
version "$(document evidence ISO_EVIDENCE_VERSION)" src/files/evidence/evidence.h ISO_EVIDENCE_VERSION
