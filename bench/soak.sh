#!/bin/bash
# `make soak`: watch runs for SOAK_SECONDS (1800) at half of its peak rate, with --state and --listen, and its memory, disk, lag and
# watermark delay are sampled. Leaves samples, plot and table in SOAK_RESULTS (BUILD/soak). Exit status 0: memory grows, after the warm-up,
# by less than SOAK_PERCENT (1) of itself an hour, with 95% certainty; 1: by more; 3: neither is certain; 4: anything ended or failed.
#
# SOAK_RATE: transactions a second; unset: half of what a run on a full topic reaches first. SOAK_KEYS (100000), SOAK_RETENTION (30 seconds
# below the watermark), SOAK_MEMORY (unset: no --memory). SOAK_BROKER: host:port of a broker of yours, with retention that bounds its disk;
# unset: the embedded one, which keeps the last 5 MiB of each partition.
set -u
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
seconds=${SOAK_SECONDS:-1800}
sample=$((seconds < 1800 ? 1 + seconds / 400 : 5))
percent=${SOAK_PERCENT:-1}
partitions=${SOAK_PARTITIONS:-32}
keys=${SOAK_KEYS:-100000}
folder=${SOAK_RESULTS:-$BUILD/soak}
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
    exec "$BUILD/isochron" watch --source "history:$topic" -X "bootstrap.servers=$address" --retention $((${SOAK_RETENTION:-30} * ticks)) \
        --final-only --finality-timeout 0 ${SOAK_MEMORY:+--memory "$SOAK_MEMORY"} "$@"
}

rate=${SOAK_RATE:-}
if [ -z "$rate" ]; then
    sent=$("$BUILD/soak-producer" "$address" peak "$partitions" 0 60 "$keys" 250000) || fail "the producer failed"
    before=$EPOCHREALTIME
    (watch peak --until-eof --quiet --state "$folder/peak" >/dev/null)
    [ $? -le 1 ] || fail "the run for the peak failed"
    rate=$(awk -v n="$sent" -v a="$before" -v b="$EPOCHREALTIME" 'BEGIN { printf "%d", n / (b - a) / 2 }')
fi
echo "$(date -u +%FT%TZ), $(uname -sr), $(nproc) processors, commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)
$rate transactions a second for $seconds s on $keys keys, ${SOAK_RETENTION:-30} s of retention, ${SOAK_MEMORY:-no} memory limit; a sample every $sample s" |
    tee "$folder/settings.txt"

watch soak --state "$folder/state" --out "file:$folder/verdicts.jsonl" --listen 127.0.0.1:0 >/dev/null 2>"$folder/said" &
watcher=$!
for ((i = 0; i < 200; i++)); do
    page=$(sed -n 's#.*status page on \(http://[^ ]*\)$#\1#p' "$folder/said")
    [ -n "$page" ] && break
    kill -0 $watcher 2>/dev/null || fail "watch ended: $(cat "$folder/said")"
    sleep 0.1
done
"$BUILD/soak-producer" "$address" soak "$partitions" "$rate" "$seconds" "$keys" >"$folder/sent" 2>"$folder/producer" &
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
            printf "%s,%.2f,%.2f,%d,%d,%.3f,%.0f,%.2f,%.3f,%d,%.0f\n", at, memory, real("isochron_memory_bytes") / 1048576, disk, real("isochron_partition_lag"),
                (real("isochron_watermark") ? now - real("isochron_watermark") / ticks : 0),
                (span > 0 ? (real("isochron_transactions_total") - old[2]) / span : 0), real("isochron_checkpoint_age_seconds"),
                real("isochron_snapshot_pause_seconds") * 1000, real("isochron_snapshots_total"), (span > 0 ? (processor - old[3]) / span : 0)
            print at, real("isochron_transactions_total"), processor >"'"$folder"'/last"
        }' "$folder/metrics" >>"$folder/samples.csv"
    last=$(cat "$folder/last")
}

echo "seconds,memory_mib,engine_mib,disk_mib,lag,watermark_delay_s,transactions_per_second,checkpoint_age_s,longest_pause_ms,snapshots,processor_percent" >"$folder/samples.csv"
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
{
    cat "$folder/settings.txt"
    echo "sent: $(cat "$folder/sent") transactions; $(tail -1 "$folder/said")"
    "$BUILD/soak-report" "$folder/samples.csv" "$folder/soak.svg" "$percent"
    echo $? >"$folder/status"
} | tee "$folder/table.txt"
exit "$(cat "$folder/status")"
