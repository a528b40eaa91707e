#!/bin/bash
# Applications that know nothing of being recorded -> isochron-proxy -> PostgreSQL -> Debezium -> Kafka: REPEATABLE READ holds at si,
# SERIALIZABLE at ser, READ COMMITTED at rc, where lost updates are found at si; nearly all reads are recorded. TAP on stdout.
#
#   ISOCHRON=build/isochron tests/system/proxy/recorded.sh [TRANSACTIONS]    of each application, 800
set -u
here=$(cd "$(dirname "$0")/../postgres" && pwd) # what chain.sh goes by
mine=$here/../proxy
many=${1:-800}
. "$mine/start.sh"
. "$here/chain.sh"
. "$here/../../support/verdict.sh"

servers_stop() {
    chain_stop
}

connector_options() {
    local side
    for side in key value; do
        printf '%s\n' "$side.converter=org.apache.kafka.connect.json.JsonConverter" "$side.converter.schemas.enable=true"
    done
    echo decimal.handling.mode=string
}
create_options() {
    :
}
workload=create_tables
create_tables() { # --connect SERVER --create
    psql -q "$2" <<'END'
CREATE TABLE accounts (id int PRIMARY KEY, owner text, balance int);
CREATE TABLE orders (id int PRIMARY KEY, account int, status text, amount int);
CREATE TABLE other (n serial PRIMARY KEY);
ALTER TABLE accounts REPLICA IDENTITY FULL;
ALTER TABLE orders REPLICA IDENTITY FULL;
INSERT INTO accounts SELECT i, 'owner ' || i, i FROM generate_series(1, 20) i;
INSERT INTO orders VALUES (1, 1, 'open', 10);
END
}
change_statement() {
    echo "INSERT INTO other DEFAULT VALUES"
}

# One proxy for each database, so that its records are a topic and its shares its own.
declare -A through status processes
proxy_start() { # database
    read -r "through[$1]" "status[$1]" < <("$here/../../support/free_ports.py" 2)
    "$proxy" --bind "${through[$1]}" --server "$(sed 's/.*port=\([0-9]*\).*/\1/' <<<"$server")" --to "kafka:$1.clients" \
        -X "bootstrap.servers=$address" --listen "${status[$1]}" --sid "$1" --shapes >"$work/$1.shapes" 2>"$work/$1.log" &
    processes[$1]=$!
    until curl -sf "http://127.0.0.1:${status[$1]}/livez" >"$work/null" 2>&1; do sleep 0.1; done
}

run() { # database level
    local level=${2// /\\ }
    "$mine/application.py" "${through[$1]}" "$1" "$2" "$many" >"$work/$1.tally" || return 1
    local mode
    for mode in simple extended prepared; do
        PGOPTIONS="-c default_transaction_isolation=$level" pgbench -n -h 127.0.0.1 -p "${through[$1]}" -U postgres -M "$mode" -c 4 -j 2 \
            -t "$((many / 12))" --max-tries=1000 -f "$mine/two_reads.pgbench" "$1" >"$work/$1.pgbench.$mode" 2>&1 || return 1
    done
}

sources_of() { # database
    sources=(--source "debezium:$1.public.accounts,cells=true,identity=full,collation=C"
        --source "debezium:$1.public.orders,cells=true,identity=full,collation=C" --source "debezium:$1.transaction" --source "history:$1.clients")
}

share() { # database: recorded and all reads
    curl -s "http://127.0.0.1:${status[$1]}/status" | jq -r '"\(.recorded + .empty) \(.reads)"'
}

chain_start rr rc ser
result $? "PostgreSQL, Kafka and Connect with Debezium run" || exit 1
chain_drain "${databases[@]}"
for database in "${databases[@]}"; do proxy_start "$database"; done
echo "# after $SECONDS s"
run rr 'repeatable read'
result $? "psycopg 3, SQLAlchemy and pgbench run through the proxy at REPEATABLE READ: $(cat "$work/rr.tally")"
run ser serializable
result $? "at SERIALIZABLE: $(cat "$work/ser.tally")"
run rc 'read committed'
result $? "at READ COMMITTED: $(cat "$work/rc.tally")"
for database in "${databases[@]}"; do
    read -r recorded reads < <(share "$database")
    ((recorded * 100 > reads * 95 && reads > many))
    result $? "$database: $recorded of $reads reads are recorded"
    curl -s "http://127.0.0.1:${status[$database]}/metrics" | grep -E '^isochron.*_(lost|unidentified|failed|dropped[a-z_]*)_total' | sed 's/^/# /'
done
for database in "${databases[@]}"; do
    kill "${processes[$database]}"
    wait "${processes[$database]}"
    sed 's/^/# /' "$work/$database.log"
done
chain_drain "${databases[@]}"
echo "# everything is on Kafka after $SECONDS s"

sources_of rr
judge rr
is rr '0 ["holds",[]]' "$verdict_and_counts" "REPEATABLE READ holds at si"
is rr '0 true' ".reads_judged > $many * 2" "by $(jq .reads_judged "$work/rr") reads"
sources_of ser
judge ser --level ser
is ser '0 ["holds",[]]' "$verdict_and_counts" "SERIALIZABLE holds at ser: there is an order of all"
is ser '0 true' ".reads_judged > $many * 2" "with $(jq .reads_judged "$work/ser") reads ($(jq -c '[.unjudged, .books.read]' "$work/ser"))"

# READ COMMITTED has no snapshots: nothing is judged at si, and by an order of all it is no snapshot isolation.
sources_of rc
judge rc --to-history "$work/rc.joined"
is rc '3 ["undecided","no-start-timestamp"]' '[.verdict, .reason]' "READ COMMITTED is undecided at si: nothing says when it read"
is rc '3 [0,0,true]' '[.books.record.bad // 0, .stream.bad_records // 0, .books.read.unplaced > 0]' \
    "and each of its $(jq .books.record.came "$work/rc") records is taken ($(jq -c .books.record "$work/rc"))"
check rc.rc --level rc --engine chronos --allow-unjudged "$work/rc.joined"
is rc.rc '0 ["holds",[],true]' '[.verdict, (.counts | to_entries | map(select(.value > 0).key)), .reads_unjudged == .unjudged["row-sets"]]' \
    "it is READ COMMITTED, by $(jq .reads_judged "$work/rc.rc") reads, but for what queries did not return ($(jq .reads_unjudged "$work/rc.rc"))"
kcat -C -b "$address" -t rc.clients -e -q >"$work/rc.records"
kcat -C -b "$address" -t rc.public.accounts -e -q >"$work/rc.rows"
"$mine/lost_updates.py" "$work/rc.records" "$work/rc.rows" "$work/rc.history" >"$work/rc.lost"
check rc.si --level si --engine polygraph --max-violations 0 "$work/rc.joined"
is rc.si '1 true' '.counts.LOSTUPDATE >= 50' "and loses updates: no order gives snapshot isolation $(jq -c .counts "$work/rc.si")"
jq -r '[.violations[] | select(.axiom == "LOSTUPDATE")] | .[range(0; length; [1, length / 50 | floor] | max)] | .tids | join(" ")' \
    "$work/rc.si" | while read -r tids; do
    # shellcheck disable=SC2086 # words
    printf '%s\n' $tids | grep -qxFf "$work/rc.lost" && echo right || echo wrong
done >"$work/rc.sampled"
! grep -q wrong "$work/rc.sampled" && [ "$(wc -l <"$work/rc.sampled")" -ge 50 ]
result $? "each of $(wc -l <"$work/rc.sampled") of them overwrote what it had not read, by the before images of the stream"
for database in "${databases[@]}"; do sed "s/^/# $database: /" "$work/$database.shapes"; done
echo "# all in $SECONDS s"
plan $number
