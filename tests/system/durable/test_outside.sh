#!/bin/bash
# What can go wrong around `watch --state` is noticed: another configuration, a second instance, a topic that is not the
# one of before, damage, a full disk; and how it ends on signals. TAP on stdout.
set -u
cd "$(dirname "$0")/../../.." || exit 4
. tests/system/durable/begin.sh
trap 'stop_broker; [ -z "${disk:-}" ] || umount "$disk"; rm -rf "$work"' EXIT
state=$work/state

publish() { # TRANSACTIONS SEED
    "$isochron" gen --txns "$1" --seed "$2" --ops 4 --keys 60 --watermarks 40 --anomaly stale-read:9 --to kafka:t \
        -X bootstrap.servers="$address" -X compression.type=none --quiet
}
watch() { # OPTIONS...: until the end of the topic
    timeout 300 "$isochron" watch --source history:t --until-eof --quiet --finality-timeout 0 --state "$state" \
        -X bootstrap.servers="$address" "$@" >"$work/lines" 2>"$work/said"
}
# gives STATUS TEXT NAME: what the last run ended with and said.
gives() {
    local status=$?
    [ $status = "$1" ] && { [ -z "$2" ] || grep -q "$2" "$work/said"; }
    result $? "$3" || { echo "# status $status, expected $1"; sed 's/^/# /' "$work/said"; }
}
# Stopped in the middle, with a journal behind its snapshot: --until-eof ends a run for good.
interrupted() { # POINT
    rm -rf "$state"
    ISOCHRON_CRASH=$1 watch
    for ((i = 0; i < 6000; i++)); do
        flock -n "$state/lock" true && break
        sleep 0.02
    done
}

start_broker t:2
publish 3000 1
interrupted after-note:1

watch --level ser
gives 2 "written with other options: it has level=default where this run has level=ser" "another level"
watch --source history:u
gives 2 "written with other options" "another source"
watch --out file:"$work/elsewhere"
gives 2 "written with other options: it has out= where this run has out=file:" "another output"
watch --any-order
gives 2 "written with other options: it has any-order=0 where this run has any-order=1" "another question"
watch --record "$work/capture"
gives 2 "written with other options: it has record= where this run has record=" "another capture"
timeout 60 "$isochron" watch --source ticdc:t --to-history "$work/joined" --quiet --state "$work/other" -X bootstrap.servers="$address" \
    2>"$work/said"
gives 2 "cannot be combined with --to-history" "what is written at the end alone"

exec 8<"$state"/lock
flock -x 8
watch
gives 4 "in use by another isochron, process [0-9]" "a second instance"
exec 8<&-
"$isochron" state verify "$state" >"$work/said" 2>&1
gives 0 "every checksum fits" "state verify"
"$isochron" state show "$state" >"$work/said" 2>&1
gives 0 "topic t partition 1: continues at offset 0" "state show"

cp -r "$state" "$work/kept"

# Killed between a commit and what it replaces; a snapshot that was never finished; a journal cut short.
state=$work/littered
ISOCHRON_CRASH=after-rename:2 timeout 60 "$isochron" watch --source history:t --until-eof --quiet --finality-timeout 0 --state "$state" \
    --snapshot-after 1 --checkpoint-interval 0 -X bootstrap.servers="$address" >/dev/null 2>&1
for ((i = 0; i < 50; i++)); do
    flock -n "$state/lock" true && break
    sleep 0.02
done
needed=$(ls "$state" | grep '^snapshot-[0-9]*$' | sort -V | tail -1)
: >"$state/snapshot-99.new"
truncate -s -3 "$state/$(ls "$state" | grep '^journal-' | sort -V | tail -1)"
rest=$(ls "$state" | grep -c -v -e '^lock$' -e "^${needed#snapshot-}\$" -e "^$needed\$" -e "^journal-${needed#snapshot-}\$")
for gone in $(ls "$state" | grep -v -e lock -e "^$needed\$" -e "^journal-${needed#snapshot-}\$") nothing; do # as if it were killed on its way
    rm -rf "$work/halfway"
    cp -r "$state" "$work/halfway"
    rm -f "$work/halfway/$gone"
    "$isochron" state compact "$work/halfway" >"$work/said" 2>&1
    echo "$? $(ls "$work/halfway" | tr '\n' ' ')"
done | sort -u >"$work/after"
[ "$rest" -ge 3 ] && [ "$(cat "$work/after")" = "0 journal-${needed#snapshot-} lock $needed " ]
result $? "state compact removes what no restart needs, and nothing else" || { ls "$state"; cat "$work/after"; } | sed 's/^/# /'
"$isochron" state compact "$state" >"$work/said" 2>&1
gives 0 "^freed: [1-9][0-9]* bytes of [3-9] files; kept: [1-9][0-9]* bytes" "and says what it freed"
"$isochron" state compact "$state" >"$work/said" 2>&1
gives 0 "^freed: 0 bytes of 0 files" "which is nothing the second time"
watch --snapshot-after 1 --checkpoint-interval 0
gives 1 "" "and the run goes on"
state=$work/state
for file in snapshot-1 journal-1; do
    size=$(stat -c %s "$work/kept/$file")
    good=0
    for place in 0 40 $((size / 3)) $((size / 2)); do
        rm -rf "$state"
        cp -r "$work/kept" "$state"
        byte=$(od -An -tu1 -j $place -N 1 "$state/$file")
        printf "\\x$(printf %x $((byte ^ 1)))" | dd of="$state/$file" bs=1 seek=$place conv=notrunc status=none
        "$isochron" state verify "$state" >/dev/null 2>&1
        verified=$?
        watch
        [ $? = 4 ] && [ $verified = 4 ] && grep -q "damaged at byte" "$work/said" && good=$((good + 1))
    done
    [ $good = 4 ]
    result $? "$file with one bit changed, in four places" || sed 's/^/# /' "$work/said"
done
rm -rf "$state"
cp -r "$work/kept" "$state"
rm "$state"/journal-1
watch
gives 4 "damaged: journal-1 is missing" "a journal that is gone"
rm -rf "$state"
cp -r "$work/kept" "$state"
sed -i 's/0\.1\.0/0.0.9/' "$state/snapshot-1"
watch
gives 4 "damaged at byte" "a version that somebody edited"

# The same address space of topics, but not the same topic.
stop_broker
rm "$work/hold" "$work/address"
start_broker t:2
rm -rf "$state"
cp -r "$work/kept" "$state"
watch
gives 4 "topic t partition [01].*ends before what was read of it" "a topic that is empty"
publish 6000 2
watch
gives 4 "is not the message that was read there before: the topic was created anew or altered" "a topic of other content"

# A run to its end, then the topic begins anew: its last message is gone.
rm -rf "$state"
watch
timeout 300 "$isochron" watch --source history:t --until-eof --quiet --finality-timeout 0 --state "$work/ended" \
    -X bootstrap.servers="$address" >"$work/lines" 2>"$work/said"
gives 1 "" "a run with an end"
ISOCHRON_CRASH=after-commit timeout 300 "$isochron" watch --source history:t --until-eof --quiet --finality-timeout 0 --state "$work/behind" \
    --snapshot-after 1 --checkpoint-interval 0 -X bootstrap.servers="$address" >/dev/null 2>&1
stop_broker
rm "$work/hold" "$work/address"
start_broker t:2
state=$work/behind
watch
gives 4 "not on the broker, which has 0 to 0\|ends before what was read of it" "offsets beyond the end of a topic"
publish 6000 3
watch
gives 4 "is not the message that was read there before" "a topic created anew, with more messages"

# The broker keeps 5 MiB of a partition: retention overtakes whoever is away for long.
state=$work/overtaken
interrupted after-feed:1
publish 100000 4
watch
gives 4 "topic t partition [01] offset 0: not on the broker, which has [1-9][0-9]* to" "retention that overtook it"
stop_broker
rm "$work/hold" "$work/address"
start_broker t:2
publish 3000 3

# Signals: the batch at hand, a checkpoint, the end; and what was read stays read.
state=$work/stopped
"$isochron" watch --source history:t --finality-timeout 0 --state "$state" --out file:"$work/all" --checkpoint-interval 0 \
    --snapshot-after 100000 --listen 127.0.0.1:0 -X bootstrap.servers="$address" 2>"$work/said" &
for ((i = 0; i < 2400; i++)); do # the time that it takes until a snapshot is committed
    page=$(sed -n 's#.*status page on \(http://[^ ]*\)$#\1#p' "$work/said")
    [ -z "$page" ] || curl -sS -m 5 "${page}metrics" >"$work/metrics" 2>/dev/null
    grep -q '"final"' "$work/all" 2>/dev/null && grep -q '^isochron_snapshot_age_seconds' "$work/metrics" && break
    sleep 0.05
done
kill -TERM $!
wait $!
gives 1 "" "SIGTERM ends it with what is known"
for name in checkpoint_age_seconds checkpoint_duration_seconds journal_bytes snapshots_total snapshot_age_seconds snapshot_duration_seconds \
    snapshot_bytes snapshot_pause_seconds; do
    grep -q "^isochron_$name [0-9]" "$work/metrics" || echo "$name"
done >"$work/absent"
[ ! -s "$work/absent" ] && [ "$(awk '$1 == "isochron_checkpoint_age_seconds" { print ($2 < 60) }' "$work/metrics")" = 1 ]
result $? "checkpoints and snapshots have metrics" || sed 's/^/# /' "$work/absent" "$work/metrics"
"$isochron" state show "$state" >"$work/said" 2>&1
gives 0 "checkpoints" "after a checkpoint"
timeout 300 "$isochron" watch --source history:t --until-eof --quiet --finality-timeout 0 --state "$state" --out file:"$work/all" \
    -X bootstrap.servers="$address" 2>"$work/said"
gives 1 "" "and it goes on"
"$isochron" watch --source history:t --until-eof --quiet --finality-timeout 0 -X bootstrap.servers="$address" | grep '"final"' | sort >"$work/expected"
grep '"final"' "$work/all" | sort | cmp -s - "$work/expected"
result $? "to the same final verdicts"

# Its output is full, and nobody reads it: it ends in time all the same.
"$isochron" gen --txns 8000 --ops 4 --keys 150 --watermarks 40 --anomaly stale-read:800 --to kafka:unread --quiet --expected /dev/null \
    -X bootstrap.servers="$address"
mkfifo "$work/unread"
exec 7<>"$work/unread"
waiting='import fcntl, termios, struct; print(struct.unpack("i", fcntl.ioctl(0, termios.FIONREAD, b"    "))[0])'
timeout --foreground --signal=KILL 300 "$isochron" watch --source history:unread --finality-timeout 0 --shutdown-timeout 1 -X bootstrap.servers="$address" \
    >"$work/unread" 2>"$work/said" 7>&- &
for ((i = 0; i < 1200; i++)); do
    [ "$(python3 -c "$waiting" <&7)" -lt 65536 ] || break
    sleep 0.05
done
kill -TERM $!
wait $!
gives 3 "reason: waiting" "SIGTERM ends a run in time whose output nobody reads"
exec 7>&-

# Standard output as a pipe: what was noted as told is not told again.
state=$work/piped
for crash in after-note:1 after-catch-up after-end never; do
    ISOCHRON_CRASH=$crash "$isochron" watch --source history:t --until-eof --quiet --finality-timeout 0 --state "$state" \
        -X bootstrap.servers="$address" 2>"$work/said" | cat
done >"$work/read"
grep '"final"' "$work/read" | sort | cmp -s - "$work/expected"
result $? "standard output goes on behind what was told"

# The object at the end says what it would have said.
state=$work/summed
for crash in after-feed:1 after-record-again:2 never; do
    ISOCHRON_CRASH=$crash watch --json --snapshot-after 1
done
"$isochron" watch --source history:t --until-eof --quiet --finality-timeout 0 --json -X bootstrap.servers="$address" >"$work/object"
what='.verdict, .counts, .transactions, .operations, .keys, .reads_judged, (.violations | map(del(.at)) | sort_by(.id))'
cmp <(jq -S "$what" "$work/lines") <(jq -S "$what" "$work/object") && [ "$(jq '.violations | length' "$work/object")" -gt 3 ]
result $? "one object at the end, after two crashes"

# Verdicts to a topic: none is lost, and what is told twice bears the same id.
state=$work/produced
for crash in after-note:1 after-feed:1 after-finish:1 never; do
    ISOCHRON_CRASH=$crash watch --out kafka:verdicts
done
kcat -b "$address" -C -t verdicts -o beginning -e -q 2>/dev/null | grep '"final"' | sort -u | cmp -s - "$work/expected"
result $? "a topic gets every final verdict"

# A file that may not grow.
state=$work/limited
(ulimit -f 16 && watch)
gives 4 "File too large" "a limit of file sizes"

# A disk that is full.
disk=$work/disk
mkdir "$disk"
if mount -t tmpfs -o size=64k none "$disk" 2>/dev/null; then
    state=$disk/state
    watch --snapshot-after 1 --checkpoint-interval 0
    gives 4 "No space left on device" "a full disk"
    mount -o remount,size=64m "$disk"
    watch --snapshot-after 1 --checkpoint-interval 0
    gives 1 "" "and with room again it goes on"
else
    disk=
    result 0 "a full disk # SKIP no permission to mount"
    result 0 "and with room again it goes on # SKIP"
fi
plan "$number"
