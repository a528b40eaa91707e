#!/bin/bash
# isochron probe and tick beside a change stream: PostgreSQL -> Debezium -> Kafka. What the probe publishes (--to) and what the connector
# brings are judged together by watch, and hold; doctor finds the set-up ready. TAP on stdout.
#
#   ISOCHRON=build/isochron WORKLOAD=build/postgres-workload tests/system/probe/end_to_end.sh
set -u
here=$(cd "$(dirname "$0")/../postgres" && pwd) # what chain.sh goes by
isochron=$(realpath "${ISOCHRON:-$here/../../../build/isochron}")
workload=$(realpath "${WORKLOAD:-$here/../../../build/postgres-workload}")
work=$(mktemp -d)
chmod 755 "$work" # PostgreSQL's user must get in
number=0
. "$here/chain.sh"
. "$here/../../support/tap.sh"

stop_all() {
    jobs -p | xargs -r kill 2>/dev/null
    chain_stop
    [ -n "${KEEP:-}" ] && echo "# kept in $work" || rm -rf "$work"
}
trap stop_all EXIT

connector_options() { # database
    echo skipped.operations=none
}

create_options() { # database
    echo "--application --rows 10"
}

change_statement() {
    echo "INSERT INTO audit_log (what) VALUES ('nothing')"
}

plan 6
chain_start shop
result $? "PostgreSQL, Kafka and Connect with Debezium run" || exit 1
port=$(sed 's/.*port=\([0-9]*\).*/\1/' <<<"$server")
url=postgresql://postgres@127.0.0.1:$port/shop
"$isochron" tick --quiet --every 0.2 --grace 2 "$url" &
"$isochron" probe --name trial --to kafka:shop.clients --partitions 3 --isolation 'repeatable read' --seconds 4 --json -X "bootstrap.servers=$address" "$url" \
    >"$work/probe" 2>"$work/probe.err"
result $? "the probe holds by itself" || sed 's/^/# /' "$work/probe.err"
[ "$(kcat -b "$address" -L -J -t shop.clients 2>/dev/null | jq '.topics[0].partitions | length')" = 3 ]
result $? "it makes a topic of as many partitions as it is asked for"
chain_drain shop
sources=()
for table in registers counter bank fork skew; do
    sources+=(--source "debezium:shop.public.isochron_probe_trial_$table,value=v,identity=full")
done
"$isochron" watch "${sources[@]}" --source debezium:shop.transaction --source debezium:shop.message --source history:shop.clients --until-eof --quiet --json \
    -X "bootstrap.servers=$address" >"$work/watch" 2>"$work/watch.err"
result $? "with the change stream it holds as well" || { sed 's/^/# /' "$work/watch.err"; head -c 3000 "$work/watch"; }
grep -a '"verdict"' "$work/watch" | tail -1 >"$work/verdict"
echo "# $(jq -c '[.verdict, .reason, .transactions, .reads_judged, .reads_unjudged, .counts]' "$work/verdict")"
[ "$(jq .reads_judged "$work/verdict")" -gt 100 ]
result $? "its reads are judged"
"$isochron" doctor --table accounts --history shop.clients --slot isochron_shop -X "bootstrap.servers=$address" --json "$url" >"$work/doctor" 2>&1
jq -e '[.findings[] | select(.weight == "wrong")] == []' "$work/doctor" >/dev/null
result $? "doctor finds nothing wrong with it" || jq -r '.findings[] | .weight + " " + .about' "$work/doctor" | sed 's/^/# /'
exit 0
