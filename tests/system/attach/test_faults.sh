#!/bin/bash
# A real ERP's recording with one known fault (faults.py), and cut at random places (cuts.py). FAULTS: how many of each kind, from SEED on: 1, in
# long runs 100, and of cuts 1, in medium runs 2, in long ones 1000. TAP on stdout.
. "$(dirname "$0")/common.sh"
few=1 cuts=1
if [ "${BUILD:-build}" = build ]; then
    [ "${EFFORT:-short}" != medium ] || cuts=2
    [ "${EFFORT:-short}" != long ] || few=100 cuts=1000
fi
count=${FAULTS:-$few}
export ISOCHRON

folder=$(find_capture tryton run3.jsonl.zst)
[ -n "$folder" ] || { report 1 "there is no tryton/run3.jsonl.zst"; echo "1..$number"; exit 1; }
mapfile -t words <"$folder/sources.txt"
# shellcheck disable=SC2206 # options are words
options=(${words[*]} --level si)

for kind in lag row cell query; do
    "$attach/faults.py" "$folder/run3.jsonl.zst" $kind "$count" "${SEED:-1}" "${options[@]}" >"$scratch/faults" 2>&1
    conclude_draws $? "tryton, $kind" "$scratch/faults"
    tail -1 "$scratch/faults" | sed 's/^/# /'
done
"$attach/cuts.py" "$folder/run3.jsonl.zst" "${CUTS:-$cuts}" "${SEED:-1}" "${options[@]}" >"$scratch/cuts" 2>&1
conclude_draws $? "tryton, cut" "$scratch/cuts"
tail -1 "$scratch/cuts" | sed 's/^/# /'
echo "1..$number"
