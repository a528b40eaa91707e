#!/bin/bash
# Runs one fuzz target: run.sh NAME SECONDS. Seeds are tests/fuzz/seeds/NAME; what it finds new stays in build-fuzz.
set -u
name=$1 seconds=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
found=$root/build-fuzz/found/$name
mkdir -p "$found" "$root/build-fuzz/crashes"
seeds=()
[ -d "$root/tests/fuzz/seeds/$name" ] && seeds=("$root/tests/fuzz/seeds/$name")
exec "$root/build-fuzz/tests/fuzz/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$root/build-fuzz/crashes/$name-" "$found" "${seeds[@]}"
