#!/bin/bash
# tests/programs.txt holds together: rows have their columns, and none is of a test that is not there; tests/select.sh says of each box,
# flavour and need what the table says. TAP on stdout.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/support/tap.sh"
number=0
scratch=$(mktemp -d) && trap 'rm -rf "$scratch"' EXIT

faults=$(awk '!/^#/ && NF {
    if ($2 !~ /^(all|release|unthreaded)$/ || $3 !~ /^(quick|check|test|nightly)$/ || $5 !~ /^[12]$/ || (NF - 5) % 4) print FNR ": " $0
}' "$here/programs.txt")
[ -z "$faults" ]
result $? "every row has its columns" || echo "$faults" | sed 's/^/# /'

# The names of all tests, as the table has them.
mapfile -t tests < <(cd "$here" && {
    for path in unit/*/test_*.c; do echo "${path%.c}" | sed 's|test_||'; done
    for path in property/*.c; do echo "${path%.c}"; done
    ls -d test_*.sh */*.sh */*/*.sh
})
strangers=
while read -r pattern _; do
    for test in "${tests[@]}"; do
        # shellcheck disable=SC2053 # a pattern
        [[ $test != $pattern ]] || continue 2
    done
    strangers="$strangers $pattern"
done < <(grep -v '^#' "$here/programs.txt" | grep .)
[ -z "$strangers" ]
result $? "every row is of a test that is there${strangers:+:$strangers is not}"

# A tree with a table of its own.
mkdir -p "$scratch"/tests/{unit/a,property,system/{slow,db}}
cp "$here/select.sh" "$scratch/tests/"
touch "$scratch"/tests/{test_x.sh,unit/a/test_one.c,unit/a/test_two.c,property/p.c,system/{slow/test_s,db/end_to_end}.sh}
cat >"$scratch/tests/programs.txt" <<'END'
property/p        all         check    -       1  --histories 1 2 3  --large 4 5 6
system/slow/*     all         nightly  broker  2
unit/a/one        unthreaded  quick    -       1
system/db/*       release     test     db      2
test_x.sh         release     check    -       1
*                 all         quick    disk    1
END
selects() { # EXPECTED FLAVOUR BOX EFFORT [NEEDS [TEXT]]
    local expected=$1 found
    shift
    found=$(BUILD=b "$scratch/tests/select.sh" "$@" | paste -s -d ';')
    [ "$found" = "$expected" ]
    result $? "select $*" || echo "# found $found"
}
selects '- b/unit --no-threads a/one;waits b/unit a/two' release quick short
selects '- b/tests/property/p --histories 2 --large 5;- b/unit --no-threads a/one;- tests/test_x.sh;waits b/unit a/two' release check medium
selects '- b/tests/property/p --histories 1 --large 4;waits,twice tests/system/slow/test_s.sh;waits b/unit a/two' tsan nightly long
selects '- b/unit --no-threads a/one;waits b/unit a/two' clang nightly long
selects 'twice tests/system/db/end_to_end.sh' release test short db
selects '' release check short db
selects 'waits,twice tests/system/slow/test_s.sh' release quick short '' slow/s

# A row that names one script is of one that is run; of unit and property tests all are.
missing=
while read -r name _ _ needs _; do
    case $needs in - | broker | processes | disk) needs= ;; esac
    [[ $name == *'*'* ]] || [ -n "$("$here/select.sh" release nightly long "$needs" "${name/test_/}")" ] || missing+=" $name"
done < <(grep '^system/' "$here/programs.txt")
[ -z "$missing" ]
result $? "each script of the table is run" || echo "# nothing runs$missing"
plan $number
