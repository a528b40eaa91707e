#!/bin/bash
# A recording that ends early is no lie of the database: cuts.py judges each of them cut at random places. CUTS: how many of each, 3 in short
# runs, 5 under sanitizers, 10 in medium ones, 1000 in long ones, from SEED on. TAP on stdout.
. "$(dirname "$0")/common.sh"
few=3
[ "${EFFORT:-short}" != medium ] || few=10
[ "${EFFORT:-short}" != long ] || few=1000
[ "${BUILD:-build}" = build ] || few=5
count=${CUTS:-$few}
export ISOCHRON

cut_some() {
    # Of a record that stops the run there is no verdict, cut or not.
    [ "$status" != 2 ] || return 0
    # shellcheck disable=SC2086 # options are words
    (cd "$folder" && "$attach/cuts.py" "$capture" "$count" "${SEED:-1}" $options) >"$scratch/cuts" 2>&1
    conclude_draws $? "$name, cut" "$scratch/cuts"
    tail -1 "$scratch/cuts" | sed 's/^/# /'
}
for_each_case cut_some
echo "1..$number"
