#!/bin/bash
# PostgreSQL -> Debezium -> Kafka -> Isochron, all of them real: concurrent sessions whose transactions are checked while and after
# they run, joined with clients' records, in-band and from change streams alone. TAP on stdout.
#
# The schema registry is a stand-in of ours (registry.py): Avro here proves the wire format of converter and checker, and nothing
# about a registry.
#
#   ISOCHRON=build/isochron WORKLOAD=build/postgres-workload tests/system/postgres/end_to_end.sh [TRANSACTIONS]   of each workload, 1000
set -u
here=$(cd "$(dirname "$0")" && pwd)
many=${1:-1000}
. "$here/../../support/opening.sh"
. "$here/chain.sh"
plan 42

run() { # database options...: the workload; counts go to DATABASE.tally
    local database=$1
    shift
    "$workload" --connect "$server dbname=$database" --transactions "$many" "$@" >"$work/$database.tally"
}

tally() { # database what
    grep -o "$2 [0-9]*" "$work/$1.tally" | cut -d' ' -f2
}

# The sources of a database: $sources.
sources_of() { # database [option...]: options of every source, each with its comma
    local database=$1 more=${2:-}
    sources=(--source "debezium:$database.public.kv,value=v,identity=full$more"
        --source "debezium:$database.public.acct,value=v,identity=full$more"
        --source "debezium:$database.public.plain,value=v,identity=default$more"
        --source "debezium:$database.transaction${more}")
}

start_registry() {
    python3 "$here/registry.py" "$work/registry.port" >"$work/registry.log" 2>&1 &
    until [ -s "$work/registry.port" ]; do sleep 0.1; done
    registry=http://127.0.0.1:$(cat "$work/registry.port")
}

connector_options() { # database: what its connector has besides
    local side
    [ "$1" != cells ] || echo 'value.converter.schemas.enable=true' # columns have types
    [ "$1" != cells ] || echo 'value.converter=org.apache.kafka.connect.json.JsonConverter'
    [ "$1" = avro ] || return 0
    for side in key value; do
        cat <<END
$side.converter=io.apicurio.registry.utils.converter.AvroConverter
$side.converter.apicurio.registry.url=$registry/apis/registry/v2
$side.converter.apicurio.registry.auto-register=true
$side.converter.apicurio.registry.as-confluent=true
$side.converter.apicurio.registry.use-id=contentId
$side.converter.apicurio.registry.headers.enabled=false
END
    done
}

create_options() { # database
    [ "$1" != cells ] || echo --ledger
}
change_statement() { # database
    [ "$1" != cells ] || { echo "INSERT INTO entries (account, amount) VALUES (0, 0)"; return; }
    echo "INSERT INTO kv VALUES (0, 1) ON CONFLICT (k) DO UPDATE SET v = kv.v + 1"
}

start_registry
chain_start rr band del rc rcs ser avro dead cells
result $? "PostgreSQL, Kafka and Connect with Debezium run" || exit 1
echo "# after $SECONDS s"

# Topics must be there before they are watched live: a watcher looks for new ones every ten seconds, and settles what has waited longer.
chain_drain "${databases[@]}"
"$workload" --connect "$server dbname=band" --in-band --sid first- --sessions 1 --transactions 10 --aborts 0 >"$work/first.tally"
echo '{"watermark":"1"}' | kcat -P -b "$address" -t rr.clients 2>/dev/null
until kcat -L -b "$address" 2>/dev/null | grep -q '"band.message"'; do sleep 0.2; done

# Client records on a topic, watched while they come.
sources_of rr
watch_live live.joined --source history:rr.clients --wait-for-topics
live_joined=$watcher
watch_live live.cdc --wait-for-topics
live_cdc=$watcher
sources_of band
watch_live live.band --source debezium:band.message --wait-for-topics
live_band=$watcher
run rr --kafka "$address" --topic rr.clients --lost 2
result $? "sessions run on PostgreSQL and record themselves on a topic"
run band --in-band --lost 2
run del -o "$work/del.clients" --deletes 30 --keys 20
run rc -o "$work/rc.clients" --isolation 'read committed'
run rcs -o "$work/rcs.clients" --isolation 'read committed' --statement-snapshots
run ser -o "$work/ser.clients" --isolation serializable
run avro -o "$work/avro.clients"
run cells -o "$work/cells.clients" --ledger --keys 20

# Connect dies in the middle of a run that is watched, and starts again.
sources_of dead
watch_live live.dead --wait-for-topics
live_dead=$watcher
run dead -o "$work/dead.clients" --pause 1000 &
workload_dead=$!
sleep 2
"$here/../../../deploy/debezium/connect.sh" kill "$work/connect"
connect_start
result $? "Connect starts again after kill -9"
wait $workload_dead
chain_drain "${databases[@]}"
echo "# everything is on Kafka after $SECONDS s"

sources_of rr
judge rr.joined --source history:rr.clients --to-history "$work/rr.jsonl"
is rr.joined '0 ["holds",[]]' "$verdict_and_counts" "REPEATABLE READ holds, joined with clients' records"
# Of those that only read nothing tells.
readers=$(kcat -C -b "$address" -t rr.clients -o beginning -e -q 2>/dev/null | grep '"status":"unknown"' | grep -vc '"xid"')
is rr.joined '0 true' ".unknown <= $readers and .join.resolved_committed > 0 and .join.resolved_aborted > 0" \
    "every transaction of unknown outcome that wrote has one now"
committed=$(tally rr committed) unknown=$(tally rr unknown)
is rr.joined '0 true' ".transactions > $committed and .transactions <= $committed + $unknown + 2" "and all that committed were judged"
judge rr.cdc
is rr.cdc '0 ["holds",[]]' "$verdict_and_counts" "and from the change stream alone"
is rr.cdc '0 true' '.reads_judged > 100' "where before images are reads"
sources_of band
judge band.joined --source debezium:band.message
for mode in joined cdc band; do
    watcher=live_$mode
    watcher=${!watcher}
    [ $mode = band ] && judged=band.joined || judged=rr.$mode
    end_live live.$mode $judged
    is live.$mode '0 ["holds",[]]' "$verdict_and_counts" "what was watched while it ran says the same ($mode)"
done
is live.joined '0 true' ".transactions > $committed * 9 / 10" "of nearly all"
is live.cdc "0 $(jq .transactions "$work/rr.cdc")" .transactions "and of all, from the change stream alone"
is live.band '0 true' ".transactions > $(tally band committed) * 9 / 10" "and of nearly all in-band"

is band.joined '0 ["holds",[]]' "$verdict_and_counts" "in-band records hold"
committed=$(($(tally band committed) + $(tally first committed))) unknown=$(tally band unknown)
is band.joined '0 true' ".transactions > $committed and .transactions <= $committed + $unknown + 2" "each committed transaction brought its own"

sources_of del
judge del.joined --history "$work/del.clients"
is del.joined '1 ["violated",["NOCONFLICT"]]' "$verdict_and_counts" "rows inserted again after a delete: NOCONFLICT and nothing else"

grep '"status":"committed"' "$work/del.clients" | grep -o '"t":"d","k":"[^"]*"' | cut -d'"' -f8 | sort -u >"$work/deleted"
jq -r '.violations[].key' "$work/del.joined" | sort -u | comm -23 - "$work/deleted" >"$work/undeleted"
[ ! -s "$work/undeleted" ]
result $? "and only on rows that were deleted"

sources_of rc
judge rc.joined --history "$work/rc.clients"
is rc.joined '1 [true,true,0]' '[.counts.EXT > 0, .counts.NOCONFLICT > 0, .counts.CDC]' "READ COMMITTED is not snapshot isolation"
judge rc.cdc
is rc.cdc '0 ["holds",[]]' "$verdict_and_counts" "though its change stream is sound"

sources_of rcs
judge rcs.joined --history "$work/rcs.clients"
is rcs.joined '0 ["holds",[],true]' '[.verdict, (.counts | to_entries | map(select(.value > 0).key)), .per_operation]' \
    "it holds by each statement's snapshot"

sources_of ser
judge ser.joined --history "$work/ser.clients" --to-history "$work/ser.jsonl"
is ser.joined '0 ["holds",[]]' "$verdict_and_counts" "SERIALIZABLE holds at snapshot isolation"
check ser.polygraph --engine polygraph --level ser "$work/ser.jsonl"
is ser.polygraph '0 "holds"' .verdict "and what --to-history wrote is serializable"
check ser.order --level ser --evidence "$work/ser.why" "$work/ser.jsonl"
is ser.order '0 ["holds","commits"]' '[.verdict, .versions]' "also with versions in the order of their commits"
"$isochron" verify "$work/ser.jsonl" "$work/ser.why" >/dev/null
result $? "which verify confirms"
judge ser.sought --level ser --history "$work/ser.clients"
is ser.sought '0 ["holds","holds"]' '[.verdict, .order]' "and the stream itself says so"
check ser.chronos --level si "$work/ser.jsonl"
is ser.chronos '0 "holds"' .verdict "and holds for chronos"

sources_of avro ",format=avro,registry=$registry/apis/ccompat/v7"
judge avro.joined --history "$work/avro.clients"
is avro.joined '0 ["holds",[]]' "$verdict_and_counts" "Avro with a registry's ids holds"
is avro.joined "0 $(($(tally avro committed) + 2))" .transactions "and all was judged"

sources=(--source debezium:cells.public.entries,cells=true,identity=full,collation=C --source debezium:cells.transaction)
judge cells.joined --history "$work/cells.clients"
is cells.joined '0 ["holds",[]]' "$verdict_and_counts" "rows with columns, ranges, conditions and sums hold (more: ledger.sh)"

sources_of dead
judge dead.joined --history "$work/dead.clients"
is dead.joined '0 ["holds",[]]' "$verdict_and_counts" "kill -9 of Connect changes nothing"
is dead.joined "0 $(($(tally dead committed) + 2))" .transactions "and all was judged, once"
judge dead.cdc
is dead.cdc '0 ["holds",[]]' "$verdict_and_counts" "nor does it from the change stream alone"
watcher=$live_dead
end_live live.dead dead.cdc
is live.dead '0 ["holds",[]]' "$verdict_and_counts" "nor for what was watched the while"
is live.dead "0 $(jq .transactions "$work/dead.cdc")" .transactions "of which nothing is missing"

# The checker is killed, and reads again from the start.
sources_of rc
watch killed --history "$work/rc.clients"
sleep 1
kill -KILL $watcher
finish killed
judge again --history "$work/rc.clients"
same_verdict again rc.joined "kill -9 of the checker changes nothing when it reads again"

# What Kafka holds is captured and altered; each time the change is found.
sources_of rr
"$isochron" capture -X "bootstrap.servers=$address" --topic rr.public.kv --topic rr.public.acct --topic rr.public.plain \
    --topic rr.transaction --topic rr.clients --until-eof --quiet -o "$work/whole.jsonl"

# The place of a row that some later row has as its before image, in the middle of kv's.
middle=$(grep -n '"topic":"rr.public.kv"' "$work/whole.jsonl" | grep '\\"op\\":\\"u\\"' | sed -n '40s/:.*//p')
sed "${middle}d" "$work/whole.jsonl" >"$work/deleted.jsonl"
sed -E "${middle}s/(\\\\\"after\\\\\":\{\\\\\"k\\\\\":[0-9]+,\\\\\"v\\\\\":)-?[0-9]+/\142/" "$work/whole.jsonl" >"$work/altered.jsonl"
cmp -s "$work/altered.jsonl" "$work/whole.jsonl" && echo "# nothing was altered"
replay whole.joined whole.jsonl --source history:rr.clients
is whole.joined '0 ["holds",[]]' "$verdict_and_counts" "a replay of the capture holds"
replay whole.cdc whole.jsonl
is whole.cdc '0 ["holds",[]]' "$verdict_and_counts" "and so it does from the change stream alone"
replay altered.joined altered.jsonl --source history:rr.clients
is altered.joined '1 true' '.counts.CDC > 0' "a row that was altered is found with clients' records"
replay altered.cdc altered.jsonl
is altered.cdc '1 true' '.counts.CDC + .counts.EXT > 0' "and without"
# END counts one more than came: its transaction is named, and nobody is blamed.
replay deleted.joined deleted.jsonl --source history:rr.clients
is deleted.joined '3 ["incomplete",1,0]' '[.reason, (.incomplete | length), (.violations | length)]' "one that was deleted is missed with clients' records"
replay deleted.cdc deleted.jsonl
is deleted.cdc '3 ["incomplete",1,0]' '[.reason, (.incomplete | length), (.violations | length)]' "and without"
echo "# all in $SECONDS s"
