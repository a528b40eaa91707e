#!/bin/bash
# The recorder against the checker: right use of a real store holds, each misuse is found with the axioms it breaks.
set -u
root=$(cd "$(dirname "$0")/../../.." && pwd)
BUILD=${BUILD:-build}
RECORDER=$root/$BUILD/record-wiredtiger
ISOCHRON=${ISOCHRON:-$root/$BUILD/isochron}
scratch=$(mktemp -d) && trap 'rm -rf "$scratch"' EXIT
number=0

report() {
    number=$((number + 1))
    if [ "$1" = 0 ]; then echo "ok $number - $2"; else echo "not ok $number - $2"; fi
}

# recorded MODE JQ-CONDITION: a fresh recording of that mode gives a verdict with that property.
recorded() {
    local mode=$1 condition=$2
    "$RECORDER" --mode "$mode" --transactions 20000 --keys 100 -o "$scratch/$mode.jsonl" >"$scratch/output" 2>&1
    report $? "$mode: recorded"
    sed 's/^/# /' "$scratch/output"
    "$ISOCHRON" check --json --level si "$scratch/$mode.jsonl" >"$scratch/verdict.json" 2>"$scratch/errors"
    jq -e "$condition" "$scratch/verdict.json" >/dev/null
    report $? "$mode: $condition"
    jq -c '[.verdict, .transactions, .aborted, .counts]' "$scratch/verdict.json" | sed 's/^/# /'
    sed 's/^/# /' "$scratch/errors"
    rm -f "$scratch/$mode.jsonl"
}

recorded correct '.verdict == "holds" and .transactions + .aborted == 20000'
recorded all-durable '.verdict == "holds" and .transactions + .aborted == 20000'
recorded snapshot-holes '.counts.EXT > 0 and .counts.NOCONFLICT == 0'
recorded read-committed '.counts.EXT > 0 and .counts.NOCONFLICT > 0'
recorded no-read-timestamp '.counts.EXT > 0 and .counts.NOCONFLICT > 0'
recorded commit-out-of-order '.counts.EXT > 0 and .counts.NOCONFLICT > 0'
recorded missing-commit-timestamp '.counts.EXT > 0 and .counts.SESSION > 0'

"$RECORDER" --mode nonsense -o "$scratch/x" >"$scratch/output" 2>&1
[ $? = 2 ]
report $? "an unknown mode is a usage error"
"$RECORDER" --transactions 1000 -o /dev/full >"$scratch/output" 2>&1
[ $? = 4 ]
report $? "a full disk is a runtime failure"
echo "1..$number"
