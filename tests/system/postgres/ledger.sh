#!/bin/bash
# Rows with columns and what queries returned, on PostgreSQL -> Debezium -> Kafka: entries of accounts, asked for by condition, by range
# and in sums, with cells=true. REPEATABLE READ and SERIALIZABLE hold, READ COMMITTED shows phantoms, and of what is planted in a capture
# all is found, and nothing else. TAP on stdout.
#
#   ISOCHRON=build/isochron WORKLOAD=build/postgres-workload tests/system/postgres/ledger.sh [TRANSACTIONS]   of each run, 1000
set -u
here=$(cd "$(dirname "$0")" && pwd)
many=${1:-1000}
. "$here/../../support/opening.sh"
. "$here/chain.sh"
plan 14

# With schemas, so that columns have types: the greatest of some values is not known else.
connector_options() {
    local side
    for side in key value; do
        printf '%s\n' "$side.converter=org.apache.kafka.connect.json.JsonConverter" "$side.converter.schemas.enable=true"
    done
}
create_options() {
    echo --ledger
}
change_statement() {
    echo "INSERT INTO entries (account, amount) VALUES (0, 0)"
}

run() { # database options...: the workload; counts go to DATABASE.tally
    local database=$1
    shift
    "$workload" --connect "$server dbname=$database" --ledger --keys 20 --transactions "$many" --kafka "$address" \
        --topic "$database.clients" "$@" >"$work/$database.tally"
}

sources_of() { # database
    sources=(--source "debezium:$1.public.entries,cells=true,identity=full,collation=C" --source "debezium:$1.transaction"
        --source "history:$1.clients")
}

chain_start rr rc ser
result $? "PostgreSQL, Kafka and Connect with Debezium run" || exit 1
chain_drain "${databases[@]}"
sources_of rr
watch_live live.rr --wait-for-topics
live_rr=$watcher
run rr --lost 2
result $? "sessions run on PostgreSQL and record rows and queries"
run rc --isolation 'read committed' --pause 2000
run ser --isolation serializable
chain_drain "${databases[@]}"
echo "# everything is on Kafka after $SECONDS s"

sources_of rr
judge rr
is rr '0 ["holds",[]]' "$verdict_and_counts" "REPEATABLE READ holds: cells, rows, sums"
committed=$(grep -o 'committed [0-9]*' "$work/rr.tally" | cut -d' ' -f2)
is rr "0 true" ".transactions >= $committed and .reads_judged > $committed * 10" "and all that committed was judged"
watcher=$live_rr
end_live live.rr rr
is live.rr '0 ["holds",[]]' "$verdict_and_counts" "what was watched while it ran says the same"

sources_of rc
judge rc
is rc '1 [true,0]' '[.counts.EXT > 0, .counts.CDC]' "READ COMMITTED is not snapshot isolation"
jq -r '.violations[].kind' "$work/rc" | sort | uniq -c | sed 's/^/# /'
for kind in missing-row extra-row aggregate; do
    [ "$(jq -c "[.violations[] | select(.kind == \"$kind\")] | length > 0" "$work/rc")" = true ]
    result $? "it shows $kind"
done

sources_of ser
judge ser
is ser '0 ["holds",[]]' "$verdict_and_counts" "SERIALIZABLE holds at snapshot isolation"
judge order --level ser
is order '0 ["holds","holds",0]' '[.verdict, .order, .reads_unjudged]' "and has an order of its transactions, of rows, ranges and sums"

# What Kafka holds is captured, and what clients say altered: a row that a query lacks, one too many, another sum.
sources_of rr
"$isochron" capture -X "bootstrap.servers=$address" --topic rr.public.entries --topic rr.transaction --topic rr.clients --until-eof \
    --quiet -o "$work/whole.jsonl"
replay whole whole.jsonl
is whole '0 ["holds",[]]' "$verdict_and_counts" "a replay of the capture holds"
"$here/../../support/plant_queries.py" rr.clients public.entries "$work/whole.jsonl" "$work/lies.jsonl" >"$work/planted"
replay lies lies.jsonl
is lies "1 [12,$(cat "$work/planted")]" '[.counts.EXT, ([.violations[] | [.tids[0], .kind, .key]] | sort)]' "what is planted is found, and nothing else"
[ "$(jq length "$work/planted")" = 12 ]
result $? "of each kind four"
echo "# all in $SECONDS s"
