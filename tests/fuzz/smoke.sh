#!/bin/bash
# Each fuzz target for some seconds over its seeds, as one test each; always the same way, so that a
# change is to blame for what fails. `make fuzz` goes new ways.
set -u
here=$(cd "$(dirname "$0")" && pwd)
number=0
for source in "$here"/*.c; do
    [ -e "$source" ] || continue
    number=$((number + 1))
    name=$(basename "$source" .c)
    log=$(FUZZ_SEED=1 "$here/run.sh" "$name" "${FUZZ_SMOKE_SECONDS:-5}" 2>&1)
    status=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' <<<"$log")
    if [ "$status" = 0 ] && [ "${runs:-0}" -gt 0 ]; then
        echo "ok $number - $name: $runs inputs"
    else
        echo "not ok $number - $name: exit status $status"
        tail -n 60 <<<"$log" | sed 's/^/# /'
    fi
done
[ "$number" -gt 0 ] || echo "not ok 1 - no fuzz target in tests/fuzz"
echo "1..$((number > 0 ? number : 1))"
