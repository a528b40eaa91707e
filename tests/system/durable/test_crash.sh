#!/bin/bash
# `watch --state` is killed at every named point, early and late, also while it catches up; the next run, with the same
# command, goes on. Then the final verdicts must be those of a run that nobody disturbed: none lost, none twice, line for
# line, and the file of verdicts must hold whole lines only. A part of it, or all: CRASHES=all. TAP on stdout.
set -u
cd "$(dirname "$0")/../../.." || exit 4
. tests/system/durable/begin.sh
trap 'stop_broker; rm -rf "$work"' EXIT

live="before-restore after-restore before-journal-created after-journal-created after-journal-headed before-sync
after-sync before-append after-append before-declare before-batch after-batch-recorded after-feed before-idle-step
after-idle-step-recorded after-idle-step before-output after-output before-note after-note before-checkpoint
after-checkpoint before-background-sync after-background-sync before-snapshot after-roll before-fork after-fork
after-snapshot before-snapshot-created after-snapshot-created before-snapshot-sync after-snapshot-sync before-commit
before-rename after-rename after-commit after-old-snapshot-removed after-old-journal-removed before-finish after-finish
after-end before-last-checkpoint after-last-checkpoint"
again="after-restore after-record-again after-catch-up after-catch-up-output after-resume before-torn-cut after-torn-cut
after-later-journal-removed before-append after-feed"
# What nothing but chance brings about: a torn journal with another behind it.
optional=" after-later-journal-removed before-idle-step after-idle-step-recorded after-idle-step "

start_broker t:3
"$isochron" gen --txns "${TXNS:-4000}" --ops 4 --keys 60 --watermarks 40 --delay 20 --deviation 10 --repeats 0.01 \
    --anomaly lost-update:15 --anomaly stale-read:25 --anomaly long-fork:10 -X batch.num.messages=40 --to kafka:t -X bootstrap.servers="$address" --quiet
watch=("$isochron" watch --source history:t --until-eof --quiet --finality-timeout 0 -X bootstrap.servers="$address")
durable=("${watch[@]}" -X fetch.message.max.bytes=12000 --state "$work/state" --checkpoint-interval 0 --snapshot-after 60000 --out file:"$work/lines")
"${watch[@]}" | grep '"state":"final"' | sort >"$work/expected"

. tests/system/durable/crashes.sh

times=(1)
[ "${CRASHES:-part}" = all ] && times=(1 2 3 5 8 13 21 60)
reached=0 missed=
for point in $live; do
    once=
    for time in "${times[@]}"; do
        comes_to "$point" "$time" && { once=1; reached=$((reached + 1)); }
        goes_on "killed at $point, time $time"
    done
    [ "$once" ] || missed+=" $point"
done
for point in $again; do
    once=
    for time in "${times[@]}"; do
        crashed after-feed:1
        case $point in
        *torn*|*later*) # as after a crash of the machine: the end of the journal did not reach the disk
            journal=$(find "$work/state" -name 'journal-*' | sort -V | tail -1)
            truncate -s -3 "$journal" ;;
        esac
        crashed "$point:$time" && { once=1; reached=$((reached + 1)); }
        goes_on "killed while catching up at $point, time $time"
    done
    [ "$once" ] || missed+=" $point"
done
for point in $missed; do
    [[ $optional == *" $point "* ]] || unreached+=" $point"
done
[ -z "${unreached:-}" ]
result $? "every point was reached" || echo "# not reached:$unreached"

random=${RANDOM_CRASHES:-4}
[ "${CRASHES:-part}" = all ] && random=${RANDOM_CRASHES:-1000}
RANDOM=${SEED:-1}
for ((kill = 0; kill < random; kill++)); do
    if [ $kill = $((random / 2)) ]; then # the second half: the other level, several shards
        watch+=(--level ser --threads 3 --final-only)
        durable+=(--level ser --threads 3 --final-only)
        "${watch[@]}" | grep '"state":"final"' | sort >"$work/expected"
    fi
    for ((again = RANDOM % 4; again >= 0; again--)); do
        timeout --signal=KILL "0.$(printf %03d $((RANDOM % 250 + 5)))" "${durable[@]}" 2>>"$work/said"
        wait_for_children
    done
    goes_on "killed at random times, $kill"
done
plan "$number"
