#!/bin/bash
# Streams that TiCDC's own encoders wrote, each with records of its clients: cases.tsv says what the verdict must be. No TiDB ran:
# rows, keys, DDLs and a bank were given to the encoders. A stream of a correct database is never violated; nor is one of
# variations.py. TAP on stdout.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$(realpath "${ISOCHRON:-$here/../../../build/isochron}")
. "$here/../../support/tap.sh"
number=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
zstd -dqc "$here/../../data/recordings/ticdc-encoders.tar.zst" | tar x -C "$work" || exit 4
{ cat "$here/cases.tsv" && "$here/variations.py" "$work/ticdc-encoders"; } >"$work/cases.tsv" || exit 4
plan "$(grep -vc '^#' "$work/cases.tsv")"
while IFS=$'\t' read -r case wanted source shows; do
    case $case in \#*) continue ;; esac
    cd "$work/ticdc-encoders/${case%%:*}" || exit 4
    "$program" replay --source "$source" --source history:clients --explain capture.jsonl >"$work/out" 2>"$work/words"
    status=$?
    [ $status = "$wanted" ]
    result $? "$case: $shows" || sed "s/^/# exit $status, not $wanted: /" "$work/words"
done <"$work/cases.tsv"
