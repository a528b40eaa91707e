#!/bin/bash
# `make demo`: records a real WiredTiger store, used well and misused, and checks both histories.
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
folder=$BUILD/demo
transactions=${TRANSACTIONS:-200000}
rm -rf "$folder" && mkdir -p "$folder"
trap 'rm -rf "$folder"' EXIT

# One mode: record, check, print the verdict's head and its first violation.
show() { # MODE EXPECTED-STATUS SENTENCE
    local mode=$1 expected=$2 history=$folder/$1.jsonl status=0
    echo; echo "$3"; echo
    echo "\$ $BUILD/record-wiredtiger --mode $mode --transactions $transactions -o $history"
    "$BUILD/record-wiredtiger" --mode "$mode" --transactions "$transactions" -o "$history"
    echo
    echo "\$ $BUILD/isochron check --max-violations 1 $history    # $(du -h "$history" | cut -f1)B of JSON Lines"
    "$BUILD/isochron" check --max-violations 1 "$history" >"$folder/report" || status=$?
    cat "$folder/report"
    echo "exit status $status"
    [ "$status" = "$expected" ] || { echo "make demo: expected exit status $expected" >&2; exit 1; }
    rm -f "$history"
}

show correct 0 "A real store, used as its manual says: read and commit timestamps chosen under one lock."
show snapshot-holes 1 "The same store, its read timestamps taken while commits below them are still on their way."
