#!/bin/bash
# What --minimise leaves of the corpus's violated histories, at both levels: a dozen transactions or fewer, which a second run
# judges violated from the file alone, with evidence that is confirmed. Every tenth dbcop history and all others (every
# thirtieth in short runs); all of them if EFFORT=long. The sizes go to RESULTS/minimised-FLAVOUR.tsv.
. "$(dirname "$0")/common.sh"
corpus=$SHARED/corpus
table=${RESULTS:-${BUILD:-$root/build}/results}/minimised-${FLAVOUR:-check}.tsv
if [ ! -e "$corpus/VERDICTS.tsv" ]; then
    echo "ok 1 - minimised histories of the corpus # SKIP there is no ../shared"
    echo "1..1"
    exit 0
fi
mkdir -p "$(dirname "$table")"
printf 'path\tlevel\ttransactions\tleft\toperations left\tseconds\tnow an instance of\n' >"$table"

minimise() { # PATH LEVEL
    local small=$scratch/small.jsonl evidence=$scratch/evidence.jsonl started=${EPOCHREALTIME/[.,]/} elapsed left
    rm -f "$small" "$evidence"
    "$ISOCHRON" check --engine polygraph --json --level "$2" --minimise "$small" "$corpus/$1" \
        >"$scratch/verdict.json" 2>"$scratch/errors"
    [ $? = 1 ] || return
    elapsed=$((${EPOCHREALTIME/[.,]/} - started))
    "$ISOCHRON" check --json --level "$2" --evidence "$evidence" "$small" >"$scratch/again.json" 2>>"$scratch/errors"
    [ $? = 1 ] || return
    "$ISOCHRON" verify "$small" "$evidence" >"$scratch/confirmed" 2>>"$scratch/errors" || return
    left=$(wc -l <"$small")
    jq -nr --arg path "$1" --arg level "$2" --arg left "$left" --arg seconds "$(printf '%d.%06d' $((elapsed / 1000000)) $((elapsed % 1000000)))" \
        'input as $verdict | input as $again | [$path, $level, $verdict.transactions, $left, ([inputs | .ops | length] | add), $seconds,
            ($again.violations[0] | .anomaly // .axiom)] | @tsv' "$scratch/verdict.json" "$scratch/again.json" "$small" >>"$table"
    found="$left transactions"
    [ "$left" -le 12 ]
}

dbcop=0
case ${EFFORT:-short} in short) share=30 ;; medium) share=10 ;; *) share=1 ;; esac
while IFS=$'\t' read -r path format ser si; do
    case $format in format | timekiller) continue ;; esac
    if [ "$format" = dbcop ] && [ $((dbcop++ % share)) != 0 ]; then
        continue
    fi
    for level in ser si; do
        [ "${!level}" = violated ] || continue
        found="no smaller violated history"
        minimise "$path" $level
        good=$?
        report $good "$path at $level: $found"
        [ $good = 0 ] || sed 's/^/# /' "$scratch/errors"
    done
done <"$corpus/VERDICTS.tsv"
[ "$number" -ge 50 ] || report 1 "the table names violated histories"
awk -F'\t' 'NR > 1 { left[$4]++ } END { for (n in left) printf "# %d transactions left: %d histories\n", n, left[n] }' \
    "$table" | sort -k2n
echo "1..$number"
