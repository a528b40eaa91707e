#!/bin/bash
# MariaDB -> Debezium -> Kafka -> Isochron, all of them real: from the change stream alone, where before images are reads and Connect is
# killed in mid-run; and joined with what clients saw, by a marker and by GTID. TAP on stdout.
#
#   ISOCHRON=build/isochron tests/system/mariadb/end_to_end.sh [TRANSACTIONS]     of each of four sessions, 300
set -u
here=$(cd "$(dirname "$0")" && pwd)
many=${1:-300}
databases=(shop)
prefix=maria
. "$here/../../support/opening.sh"
. "$here/chain.sh"
plan 14

chain_stop() {
    "$connect" stop "$work/connect"
    "$here/server.sh" stop "$work/mariadb"
    "$here/../kafka/broker.sh" stop "$work/broker"
}

connector_options() {
    :
}

change_row() {
    sql shop -e "REPLACE INTO kv VALUES (0, $(date +%s%N))"
}

# One session's transactions as SQL. Every value is written once.
session() { # number
    awk -v me="$1" -v count="$many" 'BEGIN {
        srand(me)
        for (i = 0; i < count; i++) {
            print "START TRANSACTION;"
            for (j = 1 + int(rand() * 4); j > 0; j--) {
                k = 1 + int(rand() * 40); what = rand(); value = sprintf("%d%06d", me, ++written)
                if (what < 0.5)
                    print "INSERT INTO kv VALUES (" k "," value ") ON DUPLICATE KEY UPDATE v = VALUES(v);"
                else if (what < 0.7)
                    print "UPDATE kv SET v = " value " WHERE k = " k ";"
                else if (what < 0.8)
                    print "DELETE FROM kv WHERE k = " k ";"
                else
                    print "INSERT INTO pair VALUES (" k % 5 ", \"x/" k % 7 "\", " value ") ON DUPLICATE KEY UPDATE v = VALUES(v);"
            }
            print rand() < 0.1 ? "ROLLBACK;" : "COMMIT;"
        }
    }'
}

# Sessions at once; deadlocks are part of it.
run_sessions() { # first last
    local pids=() i
    for i in $(seq "$1" "$2"); do
        session "$i" | sql --force shop >"$work/session$i.log" 2>&1 &
        pids+=($!)
    done
    wait "${pids[@]}"
}

# One client's transactions, and after each its record: named by the marker that it wrote ("m"), and by its GTID ("g"). A read locks
# its row, so that nobody writes it before this transaction does.
client() { # number
    awk -v me="$1" 'BEGIN {
        srand(me)
        for (i = 0; i < 40; i++) {
            k = 1 + int(rand() * 5); value = sprintf("%d%06d", me, i)
            print "START TRANSACTION; SELECT v INTO @v FROM account WHERE k = " k " FOR UPDATE;"
            print "UPDATE account SET v = " value " WHERE k = " k ";"
            print "UPDATE tx_marker SET tid = \"c" me "-" i "\" WHERE client = " me "; COMMIT;"
            rest = sprintf("\"sid\":\"c%d\",\"ops\":[{\"t\":\"r\",\"k\":\"shop.account/%d\",\"v\":\x27, @v, \x27},{\"t\":\"w\",\"k\":\"shop.account/%d\",\"v\":%s}]}", me, k, k, value)
            print "SELECT CONCAT(\x27m{\"tid\":\"c" me "-" i "\"," rest "\x27);"
            print "SELECT CONCAT(\x27g{\"tid\":\"\x27, @@last_gtid, \x27\"," rest "\x27);"
        }
    }'
}

transactions() { # in the binlog so far
    sql -N -e 'SELECT @@gtid_binlog_pos' | sed 's/.*-//'
}

sources=(--source debezium:maria.shop.kv,value=v --source debezium:maria.shop.pair,value=v
    --source debezium:maria.transaction --source debezium:maria)

address=$("$here/../kafka/broker.sh" start "$work/broker") && port=$("$here/server.sh" start "$work/mariadb") &&
    sql -e 'CREATE DATABASE shop; CREATE TABLE shop.kv (k int PRIMARY KEY, v bigint);
        CREATE TABLE shop.pair (a int, b varchar(10), v bigint, PRIMARY KEY (a, b));
        CREATE TABLE shop.account (k int PRIMARY KEY, v bigint);
        CREATE TABLE shop.tx_marker (client int PRIMARY KEY, tid varchar(64));
        INSERT INTO shop.kv SELECT seq, -seq FROM shop.seq_1_to_20; INSERT INTO shop.account SELECT seq, -seq FROM shop.seq_1_to_5;
        INSERT INTO shop.tx_marker SELECT seq, "" FROM shop.seq_1_to_3' && start_connector && wait_until "the connector at the log" is_followed
result $? "MariaDB, Kafka and Connect with Debezium run" || exit 1
echo "# after $SECONDS s"

before=$(transactions)
watch_live live --wait-for-topics
live=$watcher
run_sessions 1 4
drain
# Killed before it has written an offset behind its snapshot, Connect would take that again.
until grep -aq "\"$drained\"" "$work/connect/offsets"; do sleep 0.2; done
run_sessions 5 8 &
sessions=$!
sleep 0.3
"$connect" kill "$work/connect"
start_connector
result $? "Connect starts again after kill -9"
wait $sessions
drain
judge whole
is whole '0 ["holds",[]]' "$verdict_and_counts" "the change stream is sound, kill -9 of Connect or not"
is whole '0 true' '.reads_judged > 300' "with before images as reads"
is whole "0 $(($(transactions) - before))" '.transactions' "and every transaction of the binlog was judged"
watcher=$live
end_live live whole
is live '0 ["holds",[]]' "$verdict_and_counts" "what was watched while it ran says the same"

watch killed
sleep 1
kill -KILL $watcher
finish killed
judge again
same_verdict again whole "kill -9 of the checker changes nothing when it reads again"

"$isochron" capture -X "bootstrap.servers=$address" --topic maria.shop.kv --topic maria.shop.pair --topic maria.transaction \
    --topic maria --until-eof --quiet -o "$work/whole.jsonl"
middle=$(grep -n '"topic":"maria.shop.kv"' "$work/whole.jsonl" | grep '\\"op\\":\\"u\\"' | sed -n '40s/:.*//p')
sed "${middle}d" "$work/whole.jsonl" >"$work/deleted.jsonl"
sed -E "${middle}s/(\\\\\"after\\\\\":\{\\\\\"k\\\\\":[0-9]+,\\\\\"v\\\\\":)-?[0-9]+/\142/" "$work/whole.jsonl" >"$work/altered.jsonl"
sed -E "${middle}s/(\\\\\"before\\\\\":\{\\\\\"k\\\\\":[0-9]+,\\\\\"v\\\\\":)-?[0-9]+/\142/" "$work/whole.jsonl" >"$work/stale.jsonl"
replay replayed whole.jsonl
is replayed '0 ["holds",[]]' "$verdict_and_counts" "a replay of the capture holds"
for change in deleted altered stale; do
    replay $change $change.jsonl
    is $change '1 true' '.counts.CDC + .counts.EXT > 0' "a row that was $change is found"
done

# With clients' records: the same transactions, joined by either name.
for i in 1 2 3; do client $i | sql -N -r shop >"$work/client$i" 2>&1 & pids[i]=$!; done
wait "${pids[@]}"
drain
joined() { # m|g topic source...
    sed -n "s/^$1//p" "$work"/client[123] | kcat -b "$address" -P -t "$2" -p 0
    shift
    "$isochron" watch --level ser -X "bootstrap.servers=$address" "${sources[@]}" --source debezium:maria.shop.account,value=v \
        --source "history:$1" "${@:2}" --until-eof --json --quiet
}
good='[.verdict, .join.joined, .reads_judged >= 120, .reads_unjudged] == ["holds", 120, true, 0]' # a read in each
joined m clients --source debezium:maria.shop.tx_marker,marker=shop.tx_marker.tid >"$work/joined"
jq -e "$good" "$work/joined" >/dev/null
result $? "clients' records, joined by markers, hold at ser" || sed 's/^/# /' "$work/joined" "$work/client1"
joined g clients-gtid >"$work/joined"
jq -e "$good" "$work/joined" >/dev/null
result $? "and joined by GTID" || sed 's/^/# /' "$work/joined"
sed -i '11,20s/"v":[-0-9]*},{"t":"w"/"v":4242},{"t":"w"/' "$work/client2"
joined g clients-wrong >"$work/joined"
jq -e '.verdict == "violated" and .counts.THINAIR > 0' "$work/joined" >/dev/null
result $? "a read that a client cannot have made is found" || sed 's/^/# /' "$work/joined"
echo "# all in $SECONDS s"
