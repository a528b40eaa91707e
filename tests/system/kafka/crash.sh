#!/bin/bash
# `watch --state --out kafka:TOPIC` on a real broker, killed at named points, gone on with, and killed again; in between the broker dies too.
# What stands in the topic of verdicts in the end is what a run tells that nobody disturbed: no final verdict is missing, and what was told
# twice is the same under the same id. TAP on stdout.
#
#   FAULTY=build/tests/isochron tests/system/kafka/crash.sh           CRASHES=all: every point three times over, and RANDOM_CRASHES (100) random kills
set -u
here=$(cd "$(dirname "$0")" && pwd)
isochron=$(realpath "${FAULTY:-$here/../../../build/tests/isochron}")
work=$(mktemp -d)
broker=$work/broker
number=0
. "$here/../../support/tap.sh"
. "$here/../durable/crashes.sh"

stop_all() {
    "$here/broker.sh" stop "$broker"
    rm -rf "$work"
}
trap stop_all EXIT

points="after-feed:3 after-note:2 after-commit"
[ "${CRASHES:-part}" = all ] && points="before-batch:2 after-batch-recorded:2 after-feed:2 before-note after-note before-checkpoint:2 after-checkpoint:2
before-snapshot after-roll after-fork after-snapshot-sync before-commit before-rename after-rename after-commit after-old-journal-removed after-record-again:2
after-catch-up after-resume before-finish after-finish after-end before-last-checkpoint after-last-checkpoint"

address=$("$here/broker.sh" start "$broker") || { echo "1..1"; echo "not ok 1 - the broker starts"; exit 1; }
"$isochron" gen --to kafka:t --partitions 4 --txns "${TXNS:-20k}" --ops 6 --keys 300 --watermarks 200 --delay 20 --deviation 5 --anomaly lost-update:20 \
    --anomaly stale-read:20 -X bootstrap.servers="$address" --quiet --expected /dev/null
watch=("$isochron" watch --source history:t --until-eof --quiet --finality-timeout 0 --final-only -X bootstrap.servers="$address")
"${watch[@]}" | sort >"$work/expected"

# live TOPIC: one run; its environment says where it dies.
live() {
    durable=(timeout 300 "${watch[@]}" -X fetch.message.max.bytes=50000 --state "$work/state" --checkpoint-interval 0
        --snapshot-after 1000000 --out "kafka:$1")
    answered_run
    local status=$?
    wait_for_children
    return $status
}

# told TOPIC NAME: what a reader of the topic has, once the last run has come to its end.
told() {
    kcat -b "$address" -C -t "$1" -o beginning -e -q 2>/dev/null >"$work/lines"
    sort -u "$work/lines" >"$work/found"
    [ -s "$work/expected" ] && cmp -s "$work/expected" "$work/found" && [ "$(jq -r .id "$work/found" | sort | uniq -d | wc -l)" = 0 ]
    result $? "$2: $(wc -l <"$work/found") verdicts, $(($(wc -l <"$work/lines") - $(wc -l <"$work/found"))) of them told twice" || {
        sed 's/^/# /' "$work/said"
        diff "$work/expected" "$work/found" | head -4 | cut -c1-200 | sed 's/^/# /'
    }
    rm -rf "$work/state" "$work/said"
}

run=0
for point in $points; do
    run=$((run + 1)) deaths=0
    for again in 1 2; do
        ISOCHRON_CRASH=$point live "v$run"
        [ $? = 137 ] && deaths=$((deaths + 1))
    done
    live "v$run"
    [ $? = 1 ] || echo "# it ended with another status"
    told "v$run" "killed at $point, $deaths times"
done

# The broker dies while a run goes on, and comes back.
ISOCHRON_CRASH=after-feed:2 live broken
live broken &
"$here/broker.sh" kill "$broker"
"$here/broker.sh" start "$broker" >/dev/null
wait $!
live broken
told broken "the broker died beside it"

random=0
[ "${CRASHES:-part}" = all ] && random=${RANDOM_CRASHES:-100}
for ((kill = 0; kill < random; kill++)); do
    for ((again = RANDOM % 3; again >= 0; again--)); do
        timeout --signal=KILL "0.$(printf %03d $((RANDOM % 900 + 50)))" "${watch[@]}" --state "$work/state" --checkpoint-interval 0 --snapshot-after 1000000 \
            --out "kafka:r$kill" 2>>"$work/said"
        wait_for_children
    done
    live "r$kill"
    told "r$kill" "killed at random times, $kill"
done
plan "$number"
