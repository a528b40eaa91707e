#!/bin/bash
# Each fuzz target for some seconds over its seeds, as one test each, as many at a time as there are processors; always the same
# way, so that a change is to blame for what fails; with SEED, another one. `make fuzz` goes on from what it found.
set -u
here=$(cd "$(dirname "$0")" && pwd)
logs=$(mktemp -d) && trap 'rm -rf "$logs"' EXIT
names=$(find "$here" -maxdepth 1 -name "*.c" -printf "%f\n" | sed "s/\.c$//" | sort)
# shellcheck disable=SC2016 # for the inner shell
printf '%s\n' $names | FUZZ_SEED=$((${SEED:-1} % 2147483647)) xargs -P "$(nproc)" -I NAME sh -c '"$1/run.sh" "$2" "$3" >"$4/$2" 2>&1; echo $? >"$4/$2.status"' \
    - "$here" NAME "${FUZZ_SMOKE_SECONDS:-2}" "$logs"
number=0
for name in $names; do
    number=$((number + 1))
    status=$(cat "$logs/$name.status")
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$logs/$name")
    if [ "$status" = 0 ] && [ "${runs:-0}" -gt 0 ]; then
        echo "ok $number - $name: $runs inputs"
    else
        echo "not ok $number - $name: exit status $status"
        tail -n 60 "$logs/$name" | sed 's/^/# /'
    fi
done
echo "1..$number"
