#!/bin/bash
# What isochron-proxy costs: pgbench with 8 clients directly, through a forwarder of bytes (bench/forwarder.c) and through the proxy, which
# records, by turns in one run. One row a workload: medians of transactions a second, the proxy's ratio to the forwarder (median of the
# rounds' ratios), the 99th percentile of the latency, the processor time that a transaction takes in the forwarder or the proxy, and in
# all programs (pgbench, PostgreSQL's sessions, and what is between them), with the ratio of that: what throughput becomes when processors
# are what is short, and a figure that a busy machine disturbs less. Asked: a ratio of 0.85, 1 ms more at the 99th percentile, 64 MiB at
# 200 connections.
#
#   bench/proxy.sh [ROUNDS [SECONDS [SCALE]]]    5 rounds of 4 seconds at scale 50; ONLY=text: workloads with it in their names
set -eu
here=$(cd "$(dirname "$0")/../tests/system/proxy" && pwd)
build=$(realpath "${BUILD:-$here/../../../build}")
proxy=$build/isochron-proxy
rounds=${1:-5} seconds=${2:-4} scale=${3:-50}
work=$(mktemp -d)
chmod 755 "$work"
number=0
. "$here/start.sh"
stop_all() {
    jobs -p | xargs -r kill 2>/dev/null
    "$here/../postgres/cluster.sh" stop "$work/postgres"
    rm -rf "$work"
}
trap stop_all EXIT

database_start
psql -q -p "$direct" -c "ALTER SYSTEM SET max_connections = 250"
"$here/../postgres/cluster.sh" stop "$work/postgres"
database_start
pgbench -q -i -s "$scale" -p "$direct" >"$work/init" 2>&1
proxy_start --to "$work/records.jsonl"
forwarded=$("$here/../../support/free_ports.py")
"$build/forwarder" "$forwarded" "$direct" &
declare -A between=([forwarded]=$! [through]=$proxy_process)
sleep 0.3

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
p99() { sort -n | awk '{ v[NR] = $1 } END { printf "%.2f", v[int(NR * 0.99)] / 1000 }'; }
middle_us() { # way
    [ "$1" = direct ] && echo 0 || cat "/proc/${between[$1]}/task/"*/schedstat | awk '{ sum += $1 } END { printf "%.0f", sum / 1000 }'
}
sessions_us() { # PostgreSQL's that have ended
    awk '{ printf "%.0f", ($16 + $17) * 10000 }' "/proc/$(head -1 "$work/postgres/data/postmaster.pid")/stat"
}

echo "| workload | direct | forwarder | proxy | of forwarder | p99 ms: direct | forwarder | proxy | us in forwarder | proxy | us in all: direct | forwarder | proxy | of forwarder |"
echo "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
TIMEFORMAT='%U %S'
measure() { # name options...
    local name=$1 round way port middle sessions count ways=(direct forwarded through)
    shift
    [[ $name == *${ONLY:-}* ]] || return 0
    rm -f "$work"/tps.* "$work"/log.* "$work"/middle.* "$work"/all.*
    for ((round = 0; round < rounds; round++)); do
        for way in "${ways[@]:round % 3}" "${ways[@]:0:round % 3}"; do
            port=${!way}
            middle=$(middle_us $way) sessions=$(sessions_us)
            { time (cd "$work" && pgbench -n -c 8 -j 2 -T "$seconds" -p "$port" -l --log-prefix="log.$way.$round" --sampling-rate=0.2 "$@" 2>"$work/err" >"$work/out") ||
                cat "$work/err" >&3; } 3>&2 2>"$work/time"
            sleep 0.2 # until the sessions have ended
            middle=$(($(middle_us $way) - middle)) sessions=$(($(sessions_us) - sessions))
            sed -n 's/^tps = \([0-9.]*\).*/\1/p' "$work/out" >>"$work/tps.$way"
            count=$(sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' "$work/out")
            awk "BEGIN { print $middle / $count }" >>"$work/middle.$way"
            awk "{ print ((\$1 + \$2) * 1000000 + $middle + $sessions) / $count }" "$work/time" >>"$work/all.$way"
        done
    done
    printf '| %s | %.0f | %.0f | %.0f | %.2f | %s | %s | %s | %.0f | %.0f | %.0f | %.0f | %.0f | %.2f |\n' "$name" "$(median <"$work/tps.direct")" "$(median <"$work/tps.forwarded")" \
        "$(median <"$work/tps.through")" "$(paste "$work/tps.through" "$work/tps.forwarded" | awk '{ print $1 / $2 }' | median)" \
        "$(cat "$work"/log.direct.* | awk '{ print $3 }' | p99)" "$(cat "$work"/log.forwarded.* | awk '{ print $3 }' | p99)" \
        "$(cat "$work"/log.through.* | awk '{ print $3 }' | p99)" "$(median <"$work/middle.forwarded")" "$(median <"$work/middle.through")" \
        "$(median <"$work/all.direct")" "$(median <"$work/all.forwarded")" "$(median <"$work/all.through")" \
        "$(paste "$work/all.forwarded" "$work/all.through" | awk '{ print $1 / $2 }' | median)"
}

for mode in simple extended prepared; do
    measure "select-only, $mode" -S -M $mode
    measure "TPC-B, $mode" -M $mode
done
export PGOPTIONS='-c default_transaction_isolation=repeatable\ read'
measure "TPC-B, repeatable read" --max-tries=0
measure "two reads and a write, repeatable read" --max-tries=0 -f "$here/bench.pgbench"
unset PGOPTIONS

read_share="$(metric reads_recorded_total) of $(metric reads_total) reads recorded"
proxy_stop
proxy_start --to "$work/many.jsonl"
(cd "$work" && pgbench -n -S -c 200 -j 2 -T 4 -p "$through" >"$work/many" 2>&1)
echo
echo "$read_share. 200 connections, $(sed -n 's/^tps = \([0-9]*\).*/\1/p' "$work/many") transactions a second: $(($(metric peak_memory_bytes) / 1024 / 1024)) MiB at most."
