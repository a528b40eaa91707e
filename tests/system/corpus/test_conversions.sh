#!/bin/bash
# Histories of the corpus, converted to every format that is written: the verdict stays at both levels, or convert says
# with exit status 2 what the format cannot say. Small ones; with EFFORT=long all but the dbcop ones, of which every tenth.
. "$(dirname "$0")/common.sh"
corpus=$SHARED/corpus
if [ ! -e "$corpus/VERDICTS.tsv" ]; then
    echo "ok 1 - conversions of the corpus # SKIP there is no ../shared"
    echo "1..1"
    exit 0
fi

# Sets `found` to "ser si", each as the table writes it.
judge() { # OPTION... FILE
    local level verdict
    found=
    for level in ser si; do
        verdict=$("$ISOCHRON" check --engine polygraph --quiet --level $level "$@" 2>"$scratch/errors")
        found="$found ${verdict%%:*}"
    done
}

convert() { # PATH FORMAT EXPECTED
    local status initial=()
    rm -rf "$scratch/converted"
    "$ISOCHRON" convert --quiet --to "$2" --initial-to "$scratch/initial" "$corpus/$1" -o "$scratch/converted" \
        2>"$scratch/errors"
    status=$?
    if [ $status = 2 ] && grep -q "which format $2 cannot say" "$scratch/errors"; then
        report 0 "$1 to $2: refused"
        return
    fi
    [ "$2" = native ] && initial=(--initial-file "$scratch/initial")
    judge "${initial[@]}" "$scratch/converted"
    [ $status = 0 ] && [ "$found" = "$3" ]
    report $? "$1 to $2:$found (was$3)"
}

dbcop=0
case ${EFFORT:-short} in
short) share=240 largest=30 ;;
medium) share=120 largest=60 ;;
*) share=10 largest=100000000 ;;
esac
while IFS=$'\t' read -r path format ser si; do
    case $format:$ser in format:* | timekiller:* | *:refuse) continue ;; esac
    if [ "$format" = dbcop ]; then
        [ $((dbcop++ % share)) = 0 ] || continue
    elif [ "$(du -sk "$corpus/$path" | cut -f1)" -gt $largest ]; then
        continue
    fi
    judge "$corpus/$path"
    verdicts=$found
    for to in native dbcop cobra viper text awdit elle-edn elle-json dbcop-json hist; do
        convert "$path" $to "$verdicts"
    done
done <"$corpus/VERDICTS.tsv"
[ "$number" -ge 50 ] || report 1 "the table names histories to convert"
echo "1..$number"
