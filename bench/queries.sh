#!/bin/bash
# Queries beside reads of the same rows, one by one: `check` of three histories in turn, ROUNDS (3) times each. Part of `make bench`.
#
# The ratios are the figures to quote. TRANSACTIONS (1000000) of which 5% read 20 rows.
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
ROUNDS=${ROUNDS:-3}
TRANSACTIONS=${TRANSACTIONS:-1000000}
folder=$BUILD/bench
kinds="points ranges conditions"
mkdir -p "$folder"
trap 'rm -f "$folder"/queries-*' EXIT
for kind in $kinds; do
    /usr/bin/python3 bench/queries.py "$kind" "$TRANSACTIONS" "$folder/queries-$kind.jsonl"
done
for ((round = 0; round < ROUNDS; round++)); do
    for kind in $kinds; do
        /usr/bin/time -a -o "$folder/queries-$kind.times" -f '%e %U %S %M' \
            "$BUILD/isochron" check --quiet "$folder/queries-$kind.jsonl" >"$folder/queries-output"
        grep -q '^holds' "$folder/queries-output" || { echo "bench/queries.sh: $kind does not hold" >&2; exit 1; }
    done
done
median() { sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }
echo "## $TRANSACTIONS transactions, 5% of them reads of 20 rows"
echo
echo "| 20 rows read by | seconds | of points | processor seconds | of points | MB |"
echo "|---|---|---|---|---|---|"
for kind in $kinds; do
    seconds=$(awk '{ print $1 }' "$folder/queries-$kind.times" | median)
    work=$(awk '{ print $2 + $3 }' "$folder/queries-$kind.times" | median)
    memory=$(awk '{ print $4 / 1024 }' "$folder/queries-$kind.times" | median)
    [ "$kind" != points ] || { first=$seconds; first_work=$work; }
    awk -v kind="$kind" -v s="$seconds" -v f="$first" -v w="$work" -v g="$first_work" -v m="$memory" \
        'BEGIN { printf "| %s | %.2f | %.2f | %.2f | %.2f | %.0f |\n", kind, s, s / f, w, w / g, m }'
done
echo
echo "## A stream into the engines: 4 reads by key, 2 queries of 5 rows, 2 writes of 20 tables"
echo
echo "In order, delayed by 100 ms give or take 10, and with ten times as many rows."
echo
"$BUILD/row_stream" "${STREAM:-200000}" 10000 | tail -n 1
"$BUILD/row_stream" "${STREAM:-200000}" 10000 100 10 | tail -n 1
"$BUILD/row_stream" "${STREAM:-200000}" 100000 | tail -n 1
echo
echo "## Queries of ranges without timestamps: 10,000 transactions of 8 operations"
echo
echo "| workload | level | processor seconds | MB |"
echo "|---|---|---|---|"
for workload in range-b range-rqh range-idh; do
    file=$folder/queries-$workload.jsonl
    "$BUILD/isochron" gen --quiet --workload $workload --txns 10000 --keys 10000 --sessions 24 -o "$file"
    for level in si ser; do
        for ((round = 0; round < ROUNDS; round++)); do
            /usr/bin/time -f '%U %S %M' -o "$folder/queries-time" \
                "$BUILD/isochron" check --quiet --level $level "$file" >"$folder/queries-output" || [ $? -eq 1 ]
            tail -n 1 "$folder/queries-time"
        done | sort -n | awk -v w=$workload -v l=$level -v n="$ROUNDS" \
            'NR == int((n + 1) / 2) { printf "| %s | %s | %.2f | %.0f |\n", w, l, $1 + $2, $3 / 1024 }'
    done
done
