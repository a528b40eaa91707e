#!/bin/bash
# What isochron-proxy costs: pgbench with 8 clients directly, through a forwarder of bytes (bench/forwarder.c) and through the proxy, which
# records, by turns in one run. One line a workload: medians of transactions a second, and the ratio to the forwarder; p99 in ms.
#
#   bench/proxy.sh [ROUNDS [SECONDS [SCALE]]]    5 rounds of 4 seconds at scale 50
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
pgbench -q -i -s "$scale" -p "$direct" >"$work/init" 2>&1
proxy_start --to "$work/records.jsonl"
forwarded=$("$here/../../support/free_ports.py")
"$build/forwarder" "$forwarded" "$direct" &
sleep 0.3

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
p99() { sort -n | awk '{ v[NR] = $1 } END { printf "%.2f", v[int(NR * 0.99)] / 1000 }'; }

measure() { # name options...
    local name=$1 round way port
    shift
    rm -f "$work"/tps.* "$work"/log.*
    for ((round = 0; round < rounds; round++)); do
        for way in direct forwarded through; do
            port=${!way}
            (cd "$work" && pgbench -n -c 8 -j 2 -T "$seconds" -p "$port" -l --log-prefix="log.$way.$round" --sampling-rate=0.2 "$@" 2>"$work/err" |
                sed -n 's/^tps = \([0-9.]*\).*/\1/p' >>"$work/tps.$way")
        done
    done
    local d f t
    d=$(median <"$work/tps.direct") f=$(median <"$work/tps.forwarded") t=$(median <"$work/tps.through")
    printf '%-22s direct %8.0f  forwarder %8.0f  proxy %8.0f  proxy/forwarder %.3f  p99 ms %s %s %s\n' "$name" "$d" "$f" "$t" \
        "$(awk "BEGIN { print $t / $f }")" "$(cat "$work"/log.direct.* | awk '{ print $3 }' | p99)" \
        "$(cat "$work"/log.forwarded.* | awk '{ print $3 }' | p99)" "$(cat "$work"/log.through.* | awk '{ print $3 }' | p99)"
}

for mode in simple extended prepared; do
    measure "select-only $mode" -S -M $mode
    measure "TPC-B $mode" -M $mode
done
export PGOPTIONS='-c default_transaction_isolation=repeatable\ read'
measure "TPC-B repeatable read" --max-tries=0
measure "two reads, RR" --max-tries=0 -f "$here/bench.pgbench"
unset PGOPTIONS

# 200 sessions at a time
(cd "$work" && PGOPTIONS= pgbench -n -S -c 50 -j 2 -T 3 -p "$through" >"$work/many" 2>&1) || true
echo "peak memory of the proxy: $(($(metric peak_memory_bytes) / 1024 / 1024)) MiB; $(metric reads_recorded_total) of $(metric reads_total) reads recorded"
