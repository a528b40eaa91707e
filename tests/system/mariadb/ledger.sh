#!/bin/bash
# Rows with columns and what queries returned, on MariaDB -> Debezium -> Kafka: entries of accounts, asked for by condition, by range and in
# sums, with cells=true. Consistent snapshots hold; where they are not kept, or are none, phantoms show; and of what is planted in a capture
# all is found, and nothing else. TAP on stdout.
#
#   ISOCHRON=build/isochron tests/system/mariadb/ledger.sh [TRANSACTIONS]     of each of six sessions of a run, 150
set -u
here=$(cd "$(dirname "$0")" && pwd)
many=${1:-150}
databases=(kept lost committed strict)
prefix=app
. "$here/../../support/opening.sh"
. "$here/chain.sh"
plan 15

chain_stop() {
    "$connect" stop "$work/connect"
    "$here/server.sh" stop "$work/mariadb"
    "$here/../kafka/broker.sh" stop "$work/broker"
}

# With schemas, so that columns have types.
connector_options() {
    local side
    echo skipped.operations=none
    for side in key value; do
        printf '%s\n' "$side.converter=org.apache.kafka.connect.json.JsonConverter" "$side.converter.schemas.enable=true"
    done
}

# In each database: what a snapshot sees that was taken before the stream's first commit is not judged (before-start).
change_row() {
    local database
    for database in "${databases[@]}"; do
        sql "$database" -e "INSERT INTO entries (account, amount) VALUES (0, 0)" || return 1
    done
}

run() { # database options...
    local database=$1
    shift
    "$here/ledger.py" --port "$port" --database "$database" --transactions "$many" "$@" 2>"$work/$database.counts" |
        kcat -b "$address" -P -t "$database.clients" -p 0
    [ "${PIPESTATUS[0]}" = 0 ] && echo "# $database: $(tail -1 "$work/$database.counts")"
}

attach() { # database
    sources=(--source "debezium:app.$1.entries,cells=true,collation=C" --source "debezium:app.$1.tx_marker,marker=$1.tx_marker.tid"
        --source debezium:app.transaction --source debezium:app --source "history:$1.clients")
}

show() { # output: how many of each kind
    jq -r '.violations[] | .axiom + " " + .kind' "$work/$1" | sort | uniq -c | sed 's/^/# /'
}

address=$("$here/../kafka/broker.sh" start "$work/broker") && port=$("$here/server.sh" start "$work/mariadb") || exit 1
for database in "${databases[@]}"; do
    "$here/ledger.py" --port "$port" --database "$database" --create || exit 1
done
start_connector && wait_until "the connector at the log" is_followed
result $? "MariaDB, Kafka and Connect with Debezium run" || exit 1
drain
attach kept
watch_live live --wait-for-topics --no-session-order
live=$watcher
snapshots=(--join position --isolation "REPEATABLE READ")
run kept "${snapshots[@]}" --snapshot-isolation ON &&
    run lost "${snapshots[@]}" --snapshot-isolation OFF --seed 2 --pause 0.01 &&
    run committed --join position --isolation "READ COMMITTED" --seed 3 --pause 0.01 &&
    run strict --seed 4
result $? "sessions run on MariaDB and record rows and queries"
drain
echo "# everything is on Kafka after $SECONDS s"

attach kept
judge kept --no-session-order
is kept '0 ["holds",[]]' "$verdict_and_counts" "consistent snapshots hold where updates are kept: cells, rows, sums"
committed=$(jq .committed "$work/kept.counts")
is kept "0 true" ".transactions >= $committed and .reads_judged > $committed * 10 and .reads_unjudged == 0" "and all that committed was judged"
watcher=$live
end_live live kept
is live '0 ["holds",[]]' "$verdict_and_counts" "what was watched while it ran says the same"

attach lost
judge lost --no-session-order
is lost '1 [true,0]' '[.counts.NOCONFLICT > 0, .counts.CDC]' "innodb_snapshot_isolation=OFF loses updates"
show lost

attach committed
judge committed --no-session-order
is committed '1 [true,0]' '[.counts.EXT > 0, .counts.CDC]' "READ COMMITTED is not snapshot isolation"
show committed
for kind in missing-row extra-row aggregate; do
    [ "$(jq -c "[.violations[] | select(.kind == \"$kind\")] | length > 0" "$work/committed")" = true ]
    result $? "it shows $kind"
done

attach strict
judge strict --level ser
is strict '0 ["holds","holds"]' '[.verdict, .order]' "SERIALIZABLE has an order of its transactions, queries and sums among them"
is strict "0 true" ".transactions >= $(jq .committed "$work/strict.counts") and .reads_unjudged == 0" "of all of them"

# What Kafka holds is captured, and what clients say altered: a row that a query lacks, one too many, another sum.
attach kept
"$isochron" capture -X "bootstrap.servers=$address" --topic app.kept.entries --topic app.kept.tx_marker --topic app.transaction --topic app \
    --topic kept.clients --until-eof --quiet -o "$work/whole.jsonl"
replay whole whole.jsonl --no-session-order
is whole '0 ["holds",[]]' "$verdict_and_counts" "a replay of the capture holds"
"$here/../../support/plant_queries.py" kept.clients kept.entries "$work/whole.jsonl" "$work/lies.jsonl" >"$work/planted"
replay lies lies.jsonl --no-session-order
is lies "1 [12,$(cat "$work/planted")]" '[.counts.EXT, ([.violations[] | [.tids[0], .kind, .key]] | sort)]' "what is planted is found, and nothing else"
[ "$(jq length "$work/planted")" = 12 ]
result $? "of each kind four"
echo "# all in $SECONDS s"
