#!/bin/bash
# One record that is not honest beside an honest stream: what honest records show stays told, what the other one touches is told as
# doubtful, and nothing that is found becomes "holds". TAP on stdout.
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "${ISOCHRON:-$here/../../../build/isochron}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 4
python3 "$here/poison.py" || exit 4
count=0
echo "1..17"

# NAME POLICY STATUS REASON FINDINGS: axiom, transaction and doubt of each last line, sorted.
expect() {
    local status found reason
    "$program" replay --source history:txns --final-only --on-bad-record "$2" "$1.jsonl" >lines 2>words
    status=$?
    found=$(jq -rs 'map({(.id): .}) | add // {} | [.[] | "\(.axiom) \(.tids[0]) \(.doubtful // "certain")"] | sort | join(", ")' lines)
    reason=$(grep -o 'reason: .*' words)
    count=$((count + 1))
    if [ "$status $reason" = "$3 ${4:+reason: $4}" ] && [ "$found" = "$5" ]; then
        echo "ok $count - $1, $2"
    else
        echo "not ok $count - $1, $2"
        printf '# status %s, %s\n# %s\n' "$status" "$reason" "$found"
        sed 's/^/# /' words
    fi
}
expect honest skip 1 "" "EXT rd certain, NOCONFLICT l2 certain"
expect garbage fail 2 "" ""
expect garbage skip 1 "" "EXT rd certain"
expect garbage-after skip 1 "" "EXT rd certain"
expect garbage-beside skip 1 "" "EXT odd skipped-records, EXT rd certain"
expect far-promise fail 2 "" ""
expect far-promise skip 1 "" "EXT rd certain"
expect farthest-promise skip 1 "" "EXT rd certain"
expect unknown skip 3 unknown-writer ""
expect aborted fail 2 "" ""
expect aborted skip 3 contradiction "EXT rd contradiction"
expect reader-first skip 3 contradiction "EXT rd contradiction"
expect reader-after skip 3 contradiction "EXT rd contradiction"
expect writer-first skip 3 contradiction "NOCONFLICT l2 contradiction"
expect far-transaction skip 1 "" "EXT rd certain"
expect list skip 3 contradiction "EXT rd contradiction"
# Nothing contradicts it: who may write to the topic may speak for the database.
expect explained skip 0 "" ""
