#!/bin/bash
# Histories that `gen` makes at each level, with each anomaly: what it says of all orders (any_order of the expected file) is what
# `check --level all` finds. The two share the table of levels and nothing else. TAP on stdout.
# usage: test_generated.sh [--seeds N]
set -u
here=$(cd "$(dirname "$0")" && pwd)
isochron=$(realpath "${ISOCHRON:-$here/../../../build/isochron}")
seeds=1
[ "${1:-}" = --seeds ] && seeds=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 4

anomalies="none lost-update long-fork write-skew aborted-read intermediate-read non-repeatable-read non-monotonic-read fractured-read
    read-your-writes monotonic-reads monotonic-writes causality-violation stale-read"
number=0
for store in si ser rc psi cc; do
    faults= answers=0
    for seed in $(seq "$seeds"); do
        for anomaly in $anomalies; do
            plant=()
            [ "$anomaly" = none ] || plant=(--anomaly "$anomaly:2")
            "$isochron" gen --level "$store" --txns 300 --keys 20 --ops 4 --sessions 9 --aborted 0.1 --unknown 0.05 --seed "$seed" \
                "${plant[@]}" --quiet -o h.jsonl || faults+=" gen-$anomaly"
            "$isochron" check --level all --json h.jsonl >said.json
            # All that the generator knows, and where the checker says something else.
            read -r asked wrong < <(jq -rs '.[1].levels as $said | .[0].any_order | to_entries |
                "\(length) \(map(select($said[.key].verdict != .value) | "\(.key): expected \(.value), found \($said[.key].verdict);") | join(" "))"' \
                h.jsonl.expected.json said.json)
            answers=$((answers + asked))
            [ -z "$wrong" ] || faults+=" $anomaly (seed $seed) $wrong"
        done
    done
    number=$((number + 1))
    if [ -z "$faults" ] && [ "$answers" -gt 60 ]; then
        echo "ok $number - store at $store: $answers answers"
    else
        echo "not ok $number - store at $store: $answers answers"
        echo "#$faults"
    fi
done
echo "1..$number"
