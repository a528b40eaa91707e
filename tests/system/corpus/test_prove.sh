#!/bin/bash
# What `isochron prove` writes beside its verdicts, of every program of tests/data/prove. The history of each counterexample is
# accepted by `check` at its level, and rejected at each stronger level that holds, if the program has no locks; so it is at pc once its
# timestamps are gone, when check searches for an order, and at psi by its timestamps, too. The proof of all that holds is confirmed by
# `verify`, and not once a line is missing. z3, where it is installed, says the same of the question as text.
. "$(dirname "$0")/common.sh"
levels=(ser si psi pc cc ra rc)
declare -A stronger=([ser]="" [si]=ser [rc]=ser [psi]="pc si ser" [pc]="si ser" [cc]="psi pc si ser" [ra]="cc psi pc si ser")
accepted=0 rejected=0 searched=0 confirmed=0 answered=0 wrong=0

complain() {
    echo "# $*"
    wrong=$((wrong + 1))
}

histories() { # NAME
    local file level strong
    "$ISOCHRON" prove --history "$scratch/$1" --evidence "$scratch/$1.proof" "$root/tests/data/prove/$1.iso" >/dev/null 2>"$scratch/errors"
    for file in "$scratch/$1"/*.jsonl; do
        [ -e "$file" ] || continue
        level=$(basename "$file" .jsonl)
        "$ISOCHRON" check --quiet --level "$level" "$file" >"$scratch/out" 2>&1 || complain "$1: check refuses the history of $level"
        accepted=$((accepted + 1))
        sed -E 's/,"sts":[0-9]+,"cts":[0-9]+//' "$file" >"$scratch/untimed"
        if [ "$level" = pc ]; then
            "$ISOCHRON" check --quiet --level pc "$scratch/untimed" >"$scratch/out" 2>&1 || complain "$1: check refuses the history of pc without timestamps"
            searched=$((searched + 1))
        fi
        if [ "$level" = psi ]; then
            "$ISOCHRON" check --quiet --engine chronos --level psi "$file" >"$scratch/out" 2>&1 || complain "$1: chronos refuses the history of psi"
        fi
        grep -q 'lock ' "$root/tests/data/prove/$1.iso" && continue
        for strong in ${stronger[$level]}; do
            [ "${verdict[$strong]}" = + ] || continue
            "$ISOCHRON" check --quiet --level "$strong" "$scratch/untimed" >"$scratch/out" 2>&1
            [ $? = 1 ] || complain "$1: check accepts the history of $level at $strong"
            rejected=$((rejected + 1))
        done
    done
}

proofs() { # NAME
    local program=$root/tests/data/prove/$1.iso level
    grep -q '^level' "$scratch/$1.proof" || return
    "$ISOCHRON" verify "$program" "$scratch/$1.proof" >"$scratch/out" 2>&1 || complain "$1: $(tail -1 "$scratch/out")"
    confirmed=$((confirmed + $(grep -c '^confirmed' "$scratch/out")))
    head -n -1 "$scratch/$1.proof" >"$scratch/damaged"
    "$ISOCHRON" verify "$program" "$scratch/damaged" >/dev/null 2>&1 && complain "$1: a damaged proof is confirmed"
    command -v z3 >/dev/null || return
    for level in si rc; do
        "$ISOCHRON" prove --level $level --smt2 "$scratch/question.smt2" "$program" >/dev/null 2>&1
        case "$(timeout 5 z3 "$scratch/question.smt2")${verdict[$level]}" in unsat+ | sat-) answered=$((answered + 1)) ;; sat+ | unsat-) complain "$1: z3 says something else at $level" ;; esac
    done
}

declare -A verdict
while read -r name signs; do
    [ "$name" = '#' ] && continue
    for i in "${!levels[@]}"; do verdict[${levels[i]}]=${signs:i:1}; done
    histories "$name"
    proofs "$name"
done <"$root/tests/data/prove/verdicts.txt"
[ $wrong = 0 ] && [ $accepted -ge 100 ] && [ $searched -ge 20 ] && [ $rejected -ge 80 ] && [ $confirmed -ge 60 ] && echo -n "ok" || echo -n "not ok"
echo " 1 - programs: $accepted histories accepted, $searched without timestamps, $rejected rejected, $confirmed proofs confirmed, $answered answers of z3 alike"
echo "1..1"
