#!/bin/bash
# `make bench`: offline checking, measured beside md5sum of the same file in the same run.
#
# Ratios are the figures to quote: absolute times are this machine's on this day. Times are medians of ROUNDS (3) runs,
# the two programs in turn, files in the page cache. RECORD=1 also keeps the table in bench/results/.
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
ROUNDS=${ROUNDS:-3}
ISOCHRON=$BUILD/isochron
folder=$BUILD/bench
report=$folder/offline.md
mkdir -p "$folder"
command -v jq >/dev/null && [ -x /usr/bin/time ] || { echo "make bench: run make deps first" >&2; exit 4; }
trap 'rm -f "$folder"/*.jsonl' EXIT

# The default workload of earlier work: 50 sessions, 15 operations, half reads, 1,000 keys, zipf.
generate() { # TRANSACTIONS FILE
    "$ISOCHRON" gen --quiet --sessions 50 --ops 15 --reads 0.5 --keys 1000 --dist zipf --txns "$1" -o "$2"
}

median() { sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }

# Runs a command; sets `seconds` and `kilobytes` (peak memory).
measure() {
    local before=$EPOCHREALTIME
    /usr/bin/time -o "$folder/peak" -f %M "$@" >"$folder/output"
    seconds=$(awk -v a="$before" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.4f", b - a }')
    kilobytes=$(tail -n 1 "$folder/peak")
}

# Both programs in turn over one file; sets md5 and check (seconds), peak (MB), and leaves the last verdict.
compare() { # FILE
    cat "$1" >/dev/null
    : >"$folder/md5.times"; : >"$folder/check.times"; : >"$folder/check.peaks"
    for ((round = 0; round < ROUNDS; round++)); do
        measure md5sum "$1"
        echo "$seconds" >>"$folder/md5.times"
        measure "$ISOCHRON" check --json "$1"
        echo "$seconds" >>"$folder/check.times"
        echo "$kilobytes" >>"$folder/check.peaks"
        cp "$folder/output" "$folder/verdict.json"
    done
    [ "$(jq -r .verdict "$folder/verdict.json")" = holds ] || { echo "make bench: $1 does not hold" >&2; exit 1; }
    md5=$(median <"$folder/md5.times")
    check=$(median <"$folder/check.times")
    peak=$(median <"$folder/check.peaks" | awk '{ printf "%.0f", $1 / 1024 }')
}

row() { # TRANSACTIONS
    local file=$folder/$1.jsonl
    generate "$1" "$file"
    compare "$file"
    awk -v n="$1" -v size="$(stat -c %s "$file")" -v md5="$md5" -v check="$check" -v peak="$peak" 'BEGIN {
        printf "| %s | %.0f | %.3f | %.3f | %.2f | %.2f | %s |\n", n, size / 1e6, md5, check, check / md5, n / check / 1e6, peak }'
    jq -r --arg n "$1" '.seconds | "| \($n) | \(.load) | \(.sort) | \(.check) | \(.total) |"' "$folder/verdict.json" \
        >>"$folder/stages"
    rm -f "$file"
}

: >"$folder/stages"
{
    echo "# Offline snapshot isolation, 15 operations a transaction"
    echo
    echo "$("$ISOCHRON" --version), $(nproc) processors, $(date -u +%Y-%m-%d), median of $ROUNDS rounds"
    echo
    echo "| transactions | MB | md5sum s | check s | check / md5sum | M transactions/s | peak MB |"
    echo "|---|---|---|---|---|---|---|"
    for transactions in ${SIZES:-100000 125000 250000 500000 1000000 2000000}; do row "$transactions"; done
    echo
    echo "Where the time goes, seconds (load is reading, parsing and interning on all processors):"
    echo
    echo "| transactions | load | sort | check | total |"
    echo "|---|---|---|---|---|"
    cat "$folder/stages"
} | tee "$report"
if [ -n "${RECORD:-}" ]; then cp "$report" bench/results/offline.md; fi
