#!/bin/bash
# Eight real WiredTiger histories: the counts of every axiom, at both levels, are those of TIMESTAMPED.tsv.
. "$(dirname "$0")/common.sh"
table=$(find_recording TIMESTAMPED.tsv)

while IFS=$'\t' read -r path committed initial si ser; do
    [ "$path" = path ] && continue
    file=$(find_recording "$path")
    # The initial value that the table names is what every key held before.
    expect "$path at si" "$si" "$file" --level si --initial "$initial"
    found=$(jq .transactions "$scratch/verdict.json")
    [ "$found" = "$committed" ]
    report $? "$path: $committed committed transactions (found $found)"
    expect "$path at ser" "$ser" "$file" --level ser --initial "$initial"
done <"$table"
[ "$number" -ge 24 ] || report 1 "the table names eight histories"
echo "1..$number"
