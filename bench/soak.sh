#!/bin/bash
# `make soak`: watch runs for SOAK_SECONDS (1800) at half of its peak rate, with --state and --listen, and its memory, disk, lag and
# watermark delay are sampled every SOAK_SAMPLE seconds (5). Leaves samples, plot and table in BUILD/soak; fails if memory grows, after the
# warm-up (a third of the time), by more than SOAK_PERCENT (1) of itself an hour, or if anything ends.
#
# SOAK_RATE: transactions a second; unset: half of what a run on a full topic reaches first. SOAK_BROKER: host:port of a broker of yours, with
# retention that bounds its disk; unset: the embedded one, which keeps the last 5 MiB of each partition.
set -u
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
seconds=${SOAK_SECONDS:-1800}
sample=${SOAK_SAMPLE:-5}
percent=${SOAK_PERCENT:-1}
partitions=${SOAK_PARTITIONS:-32}
folder=$BUILD/soak
ticks=16000000 # of the producer's clock in a second
rm -rf "$folder"
mkdir -p "$folder"
broker= watcher= producer=

end() {
    [ -z "$producer" ] || kill "$producer" 2>/dev/null
    [ -z "$watcher" ] || kill "$watcher" 2>/dev/null
    [ -z "$broker" ] || exec 9>&-
    wait 2>/dev/null
}
trap end EXIT

fail() { echo "make soak: $*" >&2; exit 4; }

address=${SOAK_BROKER:-}
if [ -z "$address" ]; then
    mkfifo "$folder/hold"
    "$BUILD/embedded-broker" "peak:$partitions" "soak:$partitions" <"$folder/hold" >"$folder/address" &
    broker=$!
    exec 9>"$folder/hold"
    for ((i = 0; i < 200; i++)); do [ -s "$folder/address" ] && break; sleep 0.05; done
    address=$(cat "$folder/address")
fi
[ -n "$address" ] || fail "no broker"

watch() { # TOPIC OPTIONS...: in a process of its own, so that its number is the program's
    local topic=$1
    shift
    exec "$BUILD/isochron" watch --source "history:$topic" -X "bootstrap.servers=$address" --retention $((10 * ticks)) --final-only --finality-timeout 0 "$@"
}

rate=${SOAK_RATE:-}
if [ -z "$rate" ]; then
    sent=$("$BUILD/soak-producer" "$address" peak "$partitions" 0 60 400000) || fail "the producer failed"
    before=$EPOCHREALTIME
    (watch peak --until-eof --quiet >/dev/null)
    [ $? -le 1 ] || fail "the run for the peak failed"
    rate=$(awk -v n="$sent" -v a="$before" -v b="$EPOCHREALTIME" 'BEGIN { printf "%d", n / (b - a) / 2 }')
fi
echo "$rate transactions a second for $seconds s, a sample every $sample s"

watch soak --state "$folder/state" --out "file:$folder/verdicts.jsonl" --listen 127.0.0.1:0 >/dev/null 2>"$folder/said" &
watcher=$!
for ((i = 0; i < 200; i++)); do
    page=$(sed -n 's#.*status page on \(http://[^ ]*\)$#\1#p' "$folder/said")
    [ -n "$page" ] && break
    kill -0 $watcher 2>/dev/null || fail "watch ended: $(cat "$folder/said")"
    sleep 0.1
done
"$BUILD/soak-producer" "$address" soak "$partitions" "$rate" "$seconds" >"$folder/sent" 2>"$folder/producer" &
producer=$!

# One row of samples.csv: what /metrics says, what the kernel says of the process, what the directory takes.
row() {
    curl -sS -m 10 "${page}metrics" >"$folder/metrics" || return 1
    awk -v at="$(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')" -v now="$EPOCHREALTIME" -v ticks=$ticks -v sample="$sample" \
        -v memory="$(awk '/^RssAnon/ { print $2 / 1024 }' /proc/$watcher/status)" -v disk="$(du -sm --apparent-size "$folder/state" | cut -f1)" \
        -v processor="$(awk '{ print $14 + $15 }' /proc/$watcher/stat)" -v before="${last:-0 0 0}" '
        function real(name) { return name in value ? value[name] : 0 }
        !/^#/ { name = $1; sub(/\{.*/, "", name); value[name] += $2 }
        END {
            split(before, old, " ")
            span = at - old[1]
            printf "%s,%.2f,%d,%d,%.3f,%.0f,%.2f,%.3f,%d,%.0f\n", at, memory, disk, real("isochron_partition_lag"),
                (real("isochron_watermark") ? now - real("isochron_watermark") / ticks : 0),
                (span > 0 ? (real("isochron_transactions_total") - old[2]) / span : 0), real("isochron_checkpoint_age_seconds"),
                real("isochron_snapshot_pause_seconds") * 1000, real("isochron_snapshots_total"), (span > 0 ? (processor - old[3]) / span : 0)
            print at, real("isochron_transactions_total"), processor >"'"$folder"'/last"
        }' "$folder/metrics" >>"$folder/samples.csv"
    last=$(cat "$folder/last")
}

echo "seconds,memory_mib,disk_mib,lag,watermark_delay_s,transactions_per_second,checkpoint_age_s,longest_pause_ms,snapshots,processor_percent" >"$folder/samples.csv"
began=$EPOCHREALTIME last=
while kill -0 $producer 2>/dev/null; do
    sleep "$sample"
    kill -0 $watcher 2>/dev/null || fail "watch ended: $(tail -3 "$folder/said")"
    row || fail "no metrics: $(tail -3 "$folder/said")"
done
wait $producer || fail "the producer: $(cat "$folder/producer")"
producer=
for ((i = 0; i < 120; i++)); do # what is on its way still
    curl -sS -m 10 "${page}metrics" 2>/dev/null | awk '/^isochron_partition_lag/ { lag += $2 } END { exit lag > 0 }' && break
    sleep 0.5
done
kill -TERM $watcher
wait $watcher
status=$?
watcher=
[ $status -le 1 ] || fail "watch ended with $status: $(tail -3 "$folder/said")"
echo "sent: $(cat "$folder/sent") transactions; $(tail -1 "$folder/said")"
"$BUILD/soak-report" "$folder/samples.csv" "$folder/soak.svg" $((seconds / 3)) "$percent" | tee "$folder/table.txt"
exit "${PIPESTATUS[0]}"
