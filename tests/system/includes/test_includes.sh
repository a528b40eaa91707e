#!/bin/bash
# The include rules hold, and the checker finds each kind of breach when one is planted.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
scratch=$(mktemp -d) && trap 'rm -rf "$scratch"' EXIT
number=0

report() {
    number=$((number + 1))
    if [ "$1" = 0 ]; then echo "ok $number - $2"; else echo "not ok $number - $2"; fi
}

faults=$("$here/check.sh" "$root")
report $? "every include is allowed by docs/modules.md"
[ -z "$faults" ] || echo "$faults"

# planted FILE LINE EXPECTED: a tree with that one line gives exactly that complaint (EXPECTED empty: none).
planted() {
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/$(dirname "$1")"
    echo "$2" >"$scratch/tree/$1"
    local found
    found=$("$here/check.sh" "$scratch/tree" "$root/docs/modules.md" lines)
    [ "$found" = "${3:+$1:1: $3}" ]
    report $? "$1 with $2: ${3:-allowed}"
    [ "$found" = "${3:+$1:1: $3}" ] || echo "# got: $found"
}

planted src/engines/chronos/sweep.c '#include "history/index.h"' ''
planted src/engines/chronos/sweep.c '#include "verdict/verdict.h"' ''
planted src/engines/chronos/sweep.c '#include "chronos/chronos_private.h"' ''
planted src/engines/chronos/sweep.c '#include "aion/aion.h"' 'module "chronos" may not include "aion/aion.h"'
planted src/model/history/index.c '#  include  "verdict/x.h"' 'module "history" may not include "verdict/x.h"'
planted src/files/formats/reader.c '#include "chronos/chronos.h"' 'module "formats" may not include "chronos/chronos.h"'
planted src/files/formats/reader.c '#include "reader.h"' '"reader.h" lacks its module'
planted src/files/formats/reader.c '#include "../chronos/x.h"' '"../chronos/x.h" climbs out of its folder'
planted src/engines/chronos/sweep.c '#include "history/history_private.h"' '"history/history_private.h" is private to history'
planted tests/unit/history/test_x.c '#include "history/history_private.h"' ''
planted tests/unit/chronos/test_x.c '#include "history/history_private.h"' '"history/history_private.h" is private to history'
planted tests/oracle/oracle.c '#include "chronos/chronos.h"' 'module "tests/oracle" may not include "chronos/chronos.h"'
planted src/engines/chronos/sweep.c '#include <librdkafka/rdkafka.h>' 'module "chronos" may not use library <librdkafka/rdkafka.h>'
planted connectors/kafka/consumer.c '#include <librdkafka/rdkafka.h>' ''
planted src/command/app/main.c '#include <wiredtiger.h>' 'module "app" may not use library <wiredtiger.h>'
# whole TREE EXPECTED: what is wrong with a tree of lines "FILE INCLUDED" whose modules a and b may use each other.
whole() {
    rm -rf "$scratch/tree"
    printf '%s\n' '## low' '| history | | | |' '| a | | b | |' '| b | | a | |' '## high' '| c | | | |' >"$scratch/table"
    local file included found
    while read -r file included; do
        mkdir -p "$scratch/tree/$(dirname "$file")"
        echo "#include \"$included\"" >>"$scratch/tree/$file"
    done <<<"$1"
    found=$("$here/check.sh" "$scratch/tree" "$scratch/table")
    [ "$found" = "$2" ]
    report $? "$(tr '\n' ',' <<<"$1"): ${2:-allowed}"
    [ "$found" = "$2" ] || echo "# got: $found"
}

both='src/low/a/top.h b/low.h
src/low/b/other.h a/top.h'
whole "$both" ''
whole "$both
src/low/b/low.h b/other.h" 'circle of includes: a/top -> b/low -> b/other -> a/top'
whole "$both
src/low/b/low.c b/other.h" 'circle of includes: a/top -> b/low -> b/other -> a/top'
whole "$both
src/low/a/top.c a/top_private.h
src/low/a/top_private.h a/top.h" ''
whole 'src/low/a/top.h b/low.h' "$scratch/table: module \"b\" may include \"a\", and nothing in it does"
planted src/model/surprise/x.c '#include <stdio.h>' 'folder of module "surprise" is not in the module table'
planted src/files/history/x.c '#include <stdio.h>' 'module "history" stands on floor model'
printf '%s\n' '## low' '| history | | | |' '| a | | c | |' '## high' '| c | | | |' >"$scratch/table"
rm -rf "$scratch/tree" && mkdir -p "$scratch/tree/src/low/a" && echo '#include "c/x.h"' >"$scratch/tree/src/low/a/a.c"
[ "$("$here/check.sh" "$scratch/tree" "$scratch/table")" = "$scratch/table: module \"a\" may include \"c\", which stands on a higher floor" ]
report $? "a permission to include a room of a higher floor is refused"
echo "1..$number"
