#!/bin/bash
# In what order `watch --state` hands to the device what it writes (tests/system/world/witness.c): nothing counts before what it rests on is
# there, and nothing is removed before its successor counts. No crash of a process shows this, only the loss of power does. TAP on
# stdout.
set -u
cd "$(dirname "$0")/../../.." || exit 4
. tests/system/durable/begin.sh
trap 'stop_broker; rm -rf "$work"' EXIT

# Sanitizers mind who comes before them; the order of syncs is the same in every flavour.
if nm "$isochron" | grep -q ' [TW] __interceptor_read$' || ldd "$isochron" | grep -q 'libtsan\|libasan'; then
    plan 1
    echo "ok 1 - what goes to the device # skip under this sanitizer it cannot be seen"
    exit
fi
"${CC:-gcc}" -std=c11 -O1 -fPIC -shared -Wall -Wextra -Werror -I. tests/system/world/witness.c -o "$work/witness.so" || exit 4

start_broker t:2
"$isochron" gen --txns 3000 --ops 4 --keys 1500 --watermarks 40 --anomaly lost-update:15 --anomaly stale-read:400 -X batch.num.messages=40 \
    --to kafka:t -X bootstrap.servers="$address" --quiet

# seen OPTIONS...: a run that a witness sees. Each key goes to the store as soon as it can.
seen() {
    LD_PRELOAD=$work/witness.so WITNESS=$work/seen ISOCHRON_SPILL_ALL=12 exec "$isochron" watch --source history:t --final-only \
        --finality-timeout 0 --memory 4000000000 --state "$work/state" --shutdown-timeout 300 --checkpoint-interval 0 --snapshot-after 40000 --out file:"$work/lines" \
        -X fetch.message.max.bytes=12000 -X queued.max.messages.kbytes=12 -X bootstrap.servers="$address" "$@" >/dev/null 2>"$work/said"
}
judge() { awk -v state="$work/state" -v lines="$work/lines" -f tests/system/world/syncs.awk "$1"; }

for ((try = 0; try < 10; try++)); do # in how many steps it reads, and so how many commits there are, is the threads' choice
    rm -rf "$work/state" "$work/lines" "$work/seen"
    (seen --until-eof --quiet)
    [ $? = 1 ] && judge "$work/seen" >"$work/judged" && [ "$(wc -l <"$work/judged")" = 1 ] || break
    awk '{ exit !($1 >= 2 && $3 >= 2 && $5 >= 3) }' "$work/judged" && break
done
[ "$(wc -l <"$work/judged")" = 1 ] && awk '{ exit !($1 >= 2 && $3 >= 2 && $5 >= 3) }' "$work/judged"
result $? "a run to its end: $(tail -1 "$work/judged")" || head -5 "$work/judged" "$work/said" | sed 's/^/# /'

# What shows that this can fail: the same without one kind of sync.
for kind in 'state/snapshot-[0-9]*.new' 'state/spill-0' 'state/journal-[0-9]*' state lines; do
    grep -v "^synced $work/$kind\$" "$work/seen" >"$work/less"
    judge "$work/less" >"$work/judged"
    [ "$(wc -l <"$work/judged")" -gt 1 ]
    result $? "without syncs of $kind it is told: $(head -1 "$work/judged" | sed "s|$work/||g")"
done

# stopped OPTIONS...: one that has remembered something gets SIGTERM.
stopped() {
    rm -rf "$work/state" "$work/lines" "$work/seen"
    seen "$@" &
    watched=$!
    for ((i = 0; i < 2400; i++)); do
        grep -q "^rename .*snapshot-2" "$work/seen" 2>/dev/null && break
        sleep 0.05
    done
    [ -z "${WITNESS_HOLD:-}" ] || touch "$WITNESS_HOLD"
    kill -TERM $watched
}
# Waits for its end and sets `status`; what should have ended long ago is let go.
ended() {
    for ((i = 0; i < 1200; i++)); do
        kill -0 $watched 2>/dev/null || break
        sleep 0.05
    done
    rm -f "$work/stuck"
    wait $watched
    status=$?
}

# Its last checkpoint, and here the only one behind its snapshots, is on the device when it ends.
stopped --checkpoint-interval 60m
ended
judge "$work/seen" >"$work/judged"
[ $status = 1 ] && [ "$(wc -l <"$work/judged")" = 1 ]
result $? "SIGTERM: $(tail -1 "$work/judged")" || { echo "# status $status"; head -5 "$work/judged" "$work/said" | sed 's/^/# /'; }

# On a device that hangs it ends all the same: in time, and at once if it is told so again.
export WITNESS_HOLD=$work/stuck
stopped --shutdown-timeout 1
ended
[ $status = 3 ] && grep -q "reason: waiting: .*--shutdown-timeout" "$work/said"
result $? "--shutdown-timeout ends it" || sed "s/^/# $status /" "$work/said"
stopped
for ((i = 0; i < 200; i++)); do # until the first one was heard: the second is not caught any more
    (($(sed -n 's/^SigCgt:\t/0x/p' /proc/$watched/status) & 0x4000)) || break
    sleep 0.05
done
kill -TERM $watched
ended
[ $status = 143 ]
result $? "and so does a second SIGTERM" || sed "s/^/# $status /" "$work/said"
plan "$number"
