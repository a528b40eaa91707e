#!/bin/bash
# Runs one fuzz target: run.sh NAME SECONDS. Seeds are tests/fuzz/seeds/NAME; what it finds new stays in build-fuzz. With
# FUZZ_SEED it starts from the seeds alone and takes the same way each time, as a test should.
set -u
name=$1 seconds=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
found=$root/build-fuzz/found/$name
if [ -n "${FUZZ_SEED:-}" ]; then
    found=$(mktemp -d)
    trap 'rm -rf "$found"' EXIT
fi
mkdir -p "$found" "$root/build-fuzz/crashes"
seeds=()
[ -d "$root/tests/fuzz/seeds/$name" ] && seeds=("$root/tests/fuzz/seeds/$name")
"$root/build-fuzz/tests/fuzz/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -seed="${FUZZ_SEED:-0}" \
    -artifact_prefix="$root/build-fuzz/crashes/$name-" "$found" "${seeds[@]}"
