#!/bin/bash
# The include rules hold, and the checker finds each kind of breach when one is planted.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$(mktemp -d) && trap 'rm -rf "$scratch"' EXIT
number=0

report() {
    number=$((number + 1))
    if [ "$1" = 0 ]; then echo "ok $number - $2"; else echo "not ok $number - $2"; fi
}

faults=$("$here/check.sh" "$root")
report $? "every include is allowed by src/MODULES.md"
[ -z "$faults" ] || echo "$faults"

# planted FILE LINE EXPECTED: a tree with that one line gives exactly that complaint (EXPECTED empty: none).
planted() {
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/$(dirname "$1")"
    echo "$2" >"$scratch/tree/$1"
    local found
    found=$("$here/check.sh" "$scratch/tree" "$root/src/MODULES.md")
    [ "$found" = "${3:+$1:1: $3}" ]
    report $? "$1 with $2: ${3:-allowed}"
    [ "$found" = "${3:+$1:1: $3}" ] || echo "# got: $found"
}

planted src/chronos/sweep.c '#include "history/index.h"' ''
planted src/chronos/sweep.c '#include "iso/verdict.h"' ''
planted src/chronos/sweep.c '#include "chronos/chronos_private.h"' ''
planted src/chronos/sweep.c '#include "aion/aion.h"' 'module "chronos" may not include "aion/aion.h"'
planted src/history/index.c '#  include  "verdict/x.h"' 'module "history" may not include "verdict/x.h"'
planted src/io/reader.c '#include "chronos/chronos.h"' 'module "io" may not include "chronos/chronos.h"'
planted src/io/reader.c '#include "reader.h"' '"reader.h" lacks its module'
planted src/io/reader.c '#include "../chronos/x.h"' '"../chronos/x.h" climbs out of its folder'
planted src/chronos/sweep.c '#include "history/history_private.h"' '"history/history_private.h" is private to history'
planted tests/unit/history/test_x.c '#include "history/history_private.h"' ''
planted tests/unit/chronos/test_x.c '#include "history/history_private.h"' '"history/history_private.h" is private to history'
planted tests/oracle/oracle.c '#include "chronos/chronos.h"' 'module "tests/oracle" may not include "chronos/chronos.h"'
planted src/chronos/sweep.c '#include <librdkafka/rdkafka.h>' 'module "chronos" may not use library <librdkafka/rdkafka.h>'
planted connectors/kafka/consumer.c '#include <librdkafka/rdkafka.h>' ''
planted src/app/main.c '#include <wiredtiger.h>' 'module "app" may not use library <wiredtiger.h>'
planted src/surprise/x.c '#include <stdio.h>' 'folder of module "surprise" is not in the module table'
echo "1..$number"
