#!/bin/bash
# A real ERP's recording with one known fault (faults.py), and cut at random places (cuts.py). FAULTS: how many of each kind, from SEED on: 1, in
# long runs 100, and of cuts 1, in medium runs 2, in long ones 1000. And two others whose recorder is killed, KILLS times. TAP on stdout.
. "$(dirname "$0")/common.sh"
few=1 cuts=1 kills=20
if [ "${BUILD:-build}" = build ]; then
    [ "${EFFORT:-short}" != medium ] || cuts=2
    [ "${EFFORT:-short}" != long ] || few=100 cuts=1000 kills=1000
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

kill_recorder() {
    case $name in "its order" | "SERIALIZABLE at si") ;; *) return ;; esac
    # shellcheck disable=SC2086 # options are words
    "$attach/faults.py" "$folder/$capture" killed "${KILLS:-$kills}" "${SEED:-1}" $options >"$scratch/kills" 2>&1
    conclude_draws $? "$name, its recorder killed" "$scratch/kills"
}
for_each_case kill_recorder
echo "1..$number"
