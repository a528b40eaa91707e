#!/bin/bash
# Histories that clients of real systems recorded, and two of TimeKiller's: captures.tsv says what must be found.
. "$(dirname "$0")/common.sh"

while IFS=$'\t' read -r path level expected options; do
    case $path in \#* | '') continue ;; esac
    file=$(find_recording "$path")
    if [ -z "$file" ]; then
        echo "# skipped: $path at $level, which is not among tests/data/recordings and there is no ../shared"
        continue
    fi
    # An initial transaction's file lies beside its history.
    # shellcheck disable=SC2086 # options are words
    expect "$path at $level${options:+ $options}" "$expected" "$file" --level "$level" \
        ${options/--initial-file /--initial-file $(dirname "$file")/}
done <"$here/captures.tsv"

# Without the operations' own timestamps, what pessimistic transactions read after locking looks like reads of the future.
pessimistic=$(find_recording tikv/pessimistic.history.jsonl.zst)
zstd -dqc "$pessimistic" | jq -c '.ops |= map(del(.ots))' >"$scratch/stripped.jsonl"
expect "tikv/pessimistic at si, without its ots" violated "$scratch/stripped.jsonl" --level si

"$ISOCHRON" check --json "$(find_recording dgraph/kill-20k.history.jsonl.zst)" --allow-unjudged >"$scratch/verdict.json"
status=$?
[ "$status" = 0 ] && [ "$(jq -r .verdict "$scratch/verdict.json")" = holds ]
report $? "dgraph/kill-20k holds where unjudged reads are allowed"
echo "1..$number"
