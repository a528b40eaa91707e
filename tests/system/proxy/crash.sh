#!/bin/bash
# kill -9 of isochron-proxy, of PostgreSQL and of the broker, with an application behind the proxy that goes on: it sees what it would see
# without a proxy, no record is torn or says what was not, recording goes on, and the checker does not accuse the database. And a broker
# that does not answer costs the application nothing. TAP on stdout.
#
#   ISOCHRON=build/isochron tests/system/proxy/crash.sh [SECONDS]    between two crashes, 3
set -u
here=$(cd "$(dirname "$0")/../postgres" && pwd) # what chain.sh goes by
mine=$here/../proxy
pause=${1:-3}
. "$mine/start.sh"
. "$here/chain.sh"
. "$here/../../support/verdict.sh"

servers_stop() {
    chain_stop
}
go_on() { # what waits or was stopped, so that it can end
    touch "$work/stop"
    [ -z "${broker:-}" ] || kill -CONT "$broker" 2>/dev/null
}
trap 'go_on; stop_all' EXIT

connector_options() {
    printf '%s\n' decimal.handling.mode=string retriable.restart.connector.wait.ms=500
}
create_options() {
    :
}
workload=create_tables
create_tables() { # --connect SERVER --create
    psql -q "$2" <<'END'
CREATE TABLE accounts (id int PRIMARY KEY, balance int);
CREATE TABLE other (n serial PRIMARY KEY);
ALTER TABLE accounts REPLICA IDENTITY FULL;
INSERT INTO accounts SELECT i, i FROM generate_series(1, 20) i;
END
}
change_statement() {
    echo "INSERT INTO other DEFAULT VALUES"
}

proxy_start() { # options...
    "$proxy" --bind "$through" --server "$direct" -X "bootstrap.servers=$address" --listen "$status" "$@" >>"$work/proxy.log" 2>&1 &
    proxy_process=$!
    until curl -sf "http://127.0.0.1:$status/livez" >"$work/null" 2>&1; do
        kill -0 $proxy_process || return 1
        sleep 0.05
    done
}

proxy_end() { # signal
    kill "-$1" $proxy_process
    wait $proxy_process 2>"$work/null"
}

chain_start crash
result $? "PostgreSQL, Kafka and Connect with Debezium run" || exit 1
chain_drain crash
direct=$(sed 's/.*port=\([0-9]*\).*/\1/' <<<"$server")
read -r through status < <("$here/../../support/free_ports.py" 2 | paste -sd' ')
export PGHOST=127.0.0.1 PGUSER=postgres PGSSLMODE=disable
broker=$(cat "$work/broker/pid")

# ---- a broker that does not answer, by turns with one that does ----

psql -q "$server" -c "CREATE DATABASE bench"
pgbench -q -i -s 1 -p "$direct" bench >"$work/init" 2>&1
proxy_start --to kafka:bench.clients --buffer 262144
ticks() { # the proxy's processor time
    awk '{ print $14 + $15 }' "/proc/$proxy_process/stat"
}
turn() { # milliseconds on average, ticks, transactions
    local before
    before=$(ticks)
    pgbench -n -S -c 4 -j 2 -T 2 -p "$through" bench >"$work/turn" 2>&1
    echo "$(sed -n 's/^latency average = \([0-9.]*\) ms/\1/p' "$work/turn") $(($(ticks) - before)) $(sed -n 's/^number of transactions.*: //p' "$work/turn")"
}
turn >"$work/null"
for _ in 1 2 3 4 5 6 7; do
    turn >>"$work/answers"
    kill -STOP "$broker"
    turn >>"$work/silent"
    kill -CONT "$broker"
    sleep 0.5
done
dropped=$(metric records_dropped_full_total)
kill -STOP "$broker"
proxy_end TERM
kill -CONT "$broker"
for broker_is in answers silent; do
    echo "# the broker $broker_is: ms $(cut -d' ' -f1 "$work/$broker_is" | paste -sd' '), the proxy's microseconds a transaction $(
        awk '{ ticks += $2; many += $3 } END { print int(ticks * 10000 / many) }' "$work/$broker_is" | tee "$work/$broker_is.cost")"
done
# What else runs on the machine is in each turn; the least of them has least of it.
[ "$(wc -l <"$work/silent")" = 7 ] && [ "$(cat "$work/silent.cost")" -le "$(($(cat "$work/answers.cost") * 2))" ] &&
    awk -v answers="$(sort -n "$work/answers" | head -1)" -v silent="$(sort -n "$work/silent" | head -1)" \
        'BEGIN { split(answers, a, " "); split(silent, s, " "); exit !(s[1] < a[1] * 1.5 + 0.2) }'
result $? "a broker that does not answer costs the application nothing"
[ "$dropped" -gt 0 ] && grep -q 'dropped' "$work/proxy.log"
result $? "what had no room was dropped, counted ($dropped), and told: $(grep -o '[0-9]* records, [0-9]* written, [0-9]* dropped' "$work/proxy.log")"

# ---- kill -9 ----

proxy_start --to kafka:crash.clients
"$mine/survivor.py" "$through" crash 6 100 "$work/stop" >"$work/through" 2>"$work/through.err" &
survivor=$!
"$mine/survivor.py" "$direct" crash 2 200 "$work/stop" >"$work/direct" 2>"$work/direct.err" &
beside=$!
grows() { # what: more records are written than there were
    local before
    before=$(metric records_written_total)
    for _ in $(seq 100); do
        [ "$(metric records_written_total)" -gt "$((before + 20))" ] && break
        sleep 0.2
    done
    [ "$(metric records_written_total)" -gt "$((before + 20))" ]
    result $? "$1 transactions are recorded again"
}
sleep "$pause"
for _ in 1 2; do
    proxy_end KILL
    sleep 0.5
    proxy_start --to kafka:crash.clients
    sleep "$pause"
done
grows "kill -9 of the proxy, twice:"
for _ in 1 2 3; do
    kill -KILL "$(psql -qAt -p "$direct" crash -c "SELECT pid FROM pg_stat_activity WHERE query LIKE '%accounts%' AND pid <> pg_backend_pid() LIMIT 1")"
    sleep "$pause"
done
"$here/cluster.sh" stop "$work/postgres"
sleep 1
"$here/cluster.sh" start "$work/postgres" >"$work/null"
grows "kill -9 of the database's processes, and an immediate stop:"
"$here/../kafka/broker.sh" kill "$work/broker"
sleep "$pause"
"$here/../kafka/broker.sh" start "$work/broker" >"$work/null"
broker=$(cat "$work/broker/pid")
grows "kill -9 of the broker:"
sleep "$pause"
touch "$work/stop"
wait $survivor
wait $beside
proxy_end TERM
"$here/../../../deploy/debezium/connect.sh" kill "$work/connect" # it may have given up
connect_start
chain_drain crash
echo "# everything is on Kafka after $SECONDS s"

for who in through direct; do echo "# $who: $(jq -c '[(.acked | length), .errors, .strange]' "$work/$who")"; done
[ "$(jq '.acked | length > 500' "$work/through")" = true ] && [ "$(jq -s 'map(.strange | length) | add' "$work/through" "$work/direct")" = 0 ]
result $? "the application saw connections end, as one without a proxy, and nothing else"
kcat -C -b "$address" -t crash.public.accounts -e -q >"$work/rows"
kcat -C -b "$address" -t crash.clients -e -q >"$work/records"
jq -c '.acked[]' "$work/through" "$work/direct" | sort -u >"$work/acked"
jq -c '(.payload // .).after.balance' "$work/rows" | sort -u >"$work/written"
[ -z "$(comm -23 "$work/acked" "$work/written")" ]
result $? "each of $(wc -l <"$work/acked") transactions whose COMMIT was acknowledged did commit"
jq -ce 'select((.tid and .sid and .ops) or ((.session or .recorder) and has("records")))' "$work/records" | wc -l >"$work/whole"
[ "$(cat "$work/whole")" = "$(wc -l <"$work/records")" ] && [ "$(cat "$work/whole")" -gt 500 ]
result $? "none of $(cat "$work/whole") records is torn"
jq -r 'select((.status // "committed") == "committed" and .xid) | .xid' "$work/records" | sort -u >"$work/said"
jq -r '(.payload // .).source.txId' "$work/rows" | sort -u >"$work/happened"
[ -z "$(comm -23 "$work/said" "$work/happened")" ]
result $? "each of $(wc -l <"$work/said") that says it committed did"
[ "$(wc -l <"$work/said")" -gt "$(($(jq '.acked | length' "$work/through") * 8 / 10))" ]
result $? "most of $(jq '.acked | length' "$work/through") acknowledged ones have a record: $(jq -s 'group_by(.status) | map({(.[0].status // "committed"): length}) | add' -c "$work/records")"
sources=(--source debezium:crash.public.accounts,cells=true,identity=full,collation=C --source debezium:crash.transaction
    --source history:crash.clients)
judge si
[ "$(jq -r .verdict "$work/si")" != violated ] && [ "$(jq '.reads_judged > 500' "$work/si")" = true ]
result $? "the database is not accused: $(jq -c '[.verdict, .reason, .counts, .books.record]' "$work/si")" || head -c 1500 "$work/si"
echo "# all in $SECONDS s"
plan $number
