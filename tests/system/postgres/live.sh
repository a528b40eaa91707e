#!/bin/bash
# An application of 30 tables, half of which never change, behind isochron-proxy -> PostgreSQL -> Debezium -> Kafka, watched by one source
# for all of its tables. While it runs, everything becomes final in time; a table that is created meanwhile is taken up; and a run that is
# stopped at any moment ends with a verdict: it holds, or it is undecided, and nobody is accused. TAP on stdout.
#
#   ISOCHRON=build/isochron tests/system/postgres/live.sh [STOPS]   at a random moment each, 20
#   SEED=N: other moments
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../support/opening.sh"
. "$here/chain.sh"
stops=${1:-20}
[ "$stops" = --stops ] && stops=$2
grace=3 # seconds; a transaction takes less than one
RANDOM=${SEED:-7}
proxy=$(dirname "$isochron")/isochron-proxy
database=live
databases=($database)

change_statement() {
    echo "INSERT INTO t1 (v) VALUES (0)"
}

tables() {
    for i in $(seq 30); do
        echo "CREATE TABLE t$i (id serial PRIMARY KEY, v int NOT NULL, note text); ALTER TABLE t$i REPLICA IDENTITY FULL;"
        echo "INSERT INTO t$i (v, note) SELECT i, 'row ' || i FROM generate_series(1, 20) i;"
    done
}

# Three kinds of transactions: of a few rows, of queries, and of what only the stream knows.
scripts() {
    local a=$((RANDOM % 15 + 1)) b=$((RANDOM % 15 + 16))
    cat >"$work/few.sql" <<END
\\set x random(1, 20)
\\set y random(1, 20)
BEGIN;
SELECT id, v, note FROM t$a WHERE id = :x;
SELECT id, v FROM t$b WHERE id = :y;
UPDATE t$a SET v = v + 1 WHERE id = :x;
SELECT id, v, note FROM t$a WHERE id = :x;
COMMIT;
END
    cat >"$work/queries.sql" <<END
\\set x random(1, 20)
BEGIN;
SELECT id, v FROM t$b WHERE v > :x;
SELECT count(*) FROM t30 WHERE v <= :x;
SELECT id, v, note FROM t2 WHERE id IN (:x, 7);
COMMIT;
END
    cat >"$work/unlisted.sql" <<END
\\set x random(1, 20)
BEGIN;
SELECT id, v, note FROM t3 WHERE id = :x;
INSERT INTO t4 (v, note) VALUES (:x, 'new') RETURNING id;
UPDATE t3 SET v = v + 1 WHERE note = 'row ' || :x;
SELECT id, v, note FROM t3 WHERE id = :x;
SELECT id, v FROM t31 WHERE id = :x;
COMMIT;
END
    sed '/t31/d' "$work/unlisted.sql" >"$work/before.sql"
}

application() { # seconds script
    PGOPTIONS='-c default_transaction_isolation=repeatable\ read' pgbench -n -h 127.0.0.1 -p "$through" -U postgres -c 3 -T "$1" -R 30 --max-tries=100 \
        -f "$work/few.sql" -f "$work/queries.sql" -f "$2" $database >"$work/pgbench" 2>&1
}

page() { # path
    curl -s "http://127.0.0.1:$(cat "$work/live.listen")/$1"
}

# Classes of what waits that have stood for longer than they may, and how long the oldest of all has.
late() {
    page metrics | awk -F '[ "]' -v most=$((grace + 5)) '/^isochron_waiting_oldest_seconds/ { if ($NF > oldest) oldest = $NF }
        /^isochron_waiting{.*"snapshot"/ || /^isochron_waiting{.*"schema"/ { without += $NF }
        END { print (oldest > most || without > 0) ? "late " oldest " " without : "fine" }'
}

address=$("$here/../kafka/broker.sh" start "$work/broker") && server=$("$here/cluster.sh" start "$work/postgres") &&
    psql -q "$server" -c "CREATE DATABASE $database" && tables | psql -q "$server dbname=$database" &&
    { connector $database && echo decimal.handling.mode=string && echo skipped.operations=none; } >"$work/connector-$database" &&
    connect_start && chain_streams
result $? "PostgreSQL, Kafka and Connect with Debezium run" || exit 1
read -r through status < <("$here/../../support/free_ports.py" 2 | paste -sd' ')
"$proxy" --bind "$through" --server "$(sed 's/.*port=\([0-9]*\).*/\1/' <<<"$server")" --to "kafka:$database.clients" \
    -X "bootstrap.servers=$address" --record snapshots --listen "$status" >"$work/proxy" 2>&1 &
until curl -sf "http://127.0.0.1:$status/livez" >/dev/null; do sleep 0.1; done
scripts

sources=(--source "debezium:$database.*,cells=true,identity=full,collation=C" --source "history:$database.clients")
"$here/../../support/free_ports.py" >"$work/live.listen"
# A named table that has no topic, since it has no rows, keeps nothing up: the prefix takes it up, too.
"$isochron" watch -X "bootstrap.servers=$address" --source "debezium:$database.public.empty,cells=true" "${sources[@]}" --json --drain --listen "$(cat "$work/live.listen")" --wait-for-topics \
    --grace "$grace" --level si >"$work/live" 2>"$work/live.err" </dev/null &
live=$!
application 15 "$work/before.sql"
result $? "the application runs: $(grep -o 'number of transactions actually processed.*' "$work/pgbench")"
application 30 "$work/before.sql" &
running=$!
sleep 10
found=fine
for ((i = 0; i < 15; i++)); do
    [ "$found" != fine ] || found=$(late)
    sleep 1
done
[ "$found" = fine ]
result $? "everything becomes final within --grace and 5 s while it runs" || { echo "# $found"; page metrics | grep '^isochron_waiting' | sed 's/^/# /'; page status | cut -c1-600 | sed 's/^/# /'; }
wait $running

psql -q -h 127.0.0.1 -p "$through" -U postgres $database -c "CREATE TABLE t31 (id serial PRIMARY KEY, v int)" -c "ALTER TABLE t31 REPLICA IDENTITY FULL" \
    -c "INSERT INTO t31 (v) SELECT generate_series(1, 10)"
application 20 "$work/unlisted.sql" &
running=$!
for ((i = 0; i < stops; i++)); do
    drain=()
    ((i % 2)) && drain=(--drain)
    watch stopped --grace "$grace" --level si "${drain[@]}"
    sleep $((RANDOM % 4)).$((RANDOM % 10))
    kill -TERM $watcher
    finish stopped
    case $(cat "$work/stopped.status") in
    0 | 3 | 143) ;; # 143: before it had begun
    *) break ;;
    esac
done
[ "$i" = "$stops" ]
result $? "stopped at a random moment $stops times, it holds or is undecided" ||
    { echo "# $i: status $(cat "$work/stopped.status")"; tail -3 "$work/stopped.err" | cut -c1-500 | sed 's/^/# /'; jq -c '.violations[:2]' "$work/stopped" | cut -c1-500 | sed 's/^/# /'; }
wait $running
chain_drain $database

watcher=$live
kill -TERM $watcher
finish live
is live '0 ["holds",[]]' "$verdict_and_counts" "live it holds"
is live '0 true' '.reads_judged > 1000' "and reads were judged"
judge end --level si
is end '0 ["holds",[]]' "$verdict_and_counts" "so it does at the end"
grep -q "topic $database.public.t31 appeared" "$work/live.err"
result $? "the table that was created is taken up, and that is said"
echo "1..$number"
