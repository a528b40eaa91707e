#!/bin/bash
# isochron-proxy before a real PostgreSQL: what a client sees is the same, byte by byte, with it and without it, while it records; and it
# outlives hostile bytes, rows of a gigabyte, clients that stop reading, servers that die. TAP on stdout.
#
#   PROXY=build/isochron-proxy tests/system/proxy/transparent.sh [CONNECTIONS]    opened and closed, 1000
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/start.sh"

database_start && psql -q -p "$direct" -c "CREATE TABLE kv (k int PRIMARY KEY, v int)"
proxy_start --to "$work/records.jsonl"
result $? "PostgreSQL and the proxy run" || exit 1

# ---- the same bytes ----

"$here/talk.py" "$direct" >"$work/direct" 2>&1
"$here/talk.py" "$through" >"$work/through" 2>&1
"$here/talk.py" "$through" >"$work/again" 2>&1
[ "$(wc -l <"$work/direct")" -gt 1000 ] && cmp "$work/direct" "$work/through" && cmp "$work/direct" "$work/again"
result $? "conversations of all kinds are the same, byte by byte: $(wc -l <"$work/direct") messages"
[ "$(metric transactions_total)" -gt 10 ] && [ "$(metric positions_total)" -gt 10 ]
result $? "while $(metric transactions_total) transactions were recorded, and $(metric positions_total) snapshots asked for"
[ "$(metric questions_failed_total)" = 0 ]
result $? "and no question failed"

script() { # port: what psql shows
    psql -X -a -p "$1" -v ON_ERROR_STOP=0 -f "$here/session.sql" 2>&1
}
script "$direct" >"$work/direct"
script "$through" >"$work/through"
cmp "$work/direct" "$work/through"
result $? "so is what psql shows: $(wc -l <"$work/direct") lines"

# ---- torture ----

while read -r line; do
    good=0
    [ "${line%% *}" = ok ] || good=1
    result $good "${line#* - }"
done < <("$here/torture.py" "$through" "$status" "${1:-1000}")

# ---- a server that dies in the middle of a row, and comes back ----

PGCONNECT_TIMEOUT=10 psql -qAt -p "$through" -c "SELECT repeat('x', 1000) FROM generate_series(1, 3000000)" >"$work/null" 2>"$work/ended" &
reader=$!
sleep 1
"$here/../postgres/cluster.sh" stop "$work/postgres"
wait $reader
[ $? != 0 ] && grep -q 'connection' "$work/ended"
result $? "a server that dies in mid-row ends its sessions"
PGCONNECT_TIMEOUT=10 psql -p "$through" -c "SELECT 1" >"$work/null" 2>"$work/refused"
grep -q 'isochron-proxy cannot connect to the server' "$work/refused"
result $? "while it is away clients are told so"
"$here/../postgres/cluster.sh" start "$work/postgres" >"$work/null"
[ "$(psql -qAt -p "$through" -c "SELECT 7")" = 7 ]
result $? "and when it is back they go on"

# ---- no recording any more ----

kill -USR1 $proxy_process
sleep 0.3
before=$(metric statements_total)
"$here/talk.py" "$direct" >"$work/direct" 2>&1
"$here/talk.py" "$through" >"$work/through" 2>&1
cmp "$work/direct" "$work/through" && [ "$(metric recording)" = 0 ] && [ "$(metric statements_total)" = "$before" ]
result $? "after SIGUSR1 bytes are passed on and nothing is looked at"
curl -sf -X PUT "http://127.0.0.1:$status/recording/on" >"$work/null"
psql -qAt -p "$through" -c "SELECT v FROM kv WHERE k = 1" >"$work/null"
[ "$(metric statements_total)" -gt "$before" ]
result $? "until it is switched on again"
! grep -q "secret-in-the-data" "$work/proxy.err" && ! curl -s "http://127.0.0.1:$status/status" | grep -q "secret-in-the-data"
result $? "what it says of itself has no values in it"
proxy_stop
result $? "SIGTERM ends it"

# ---- switched off in the middle, over HTTP ----

proxy_start --to "$work/off.jsonl"
pgbench -q -i -s 1 -p "$direct" >"$work/init" 2>&1
counted() { echo "$(metric statements_total) $(metric records_total)"; }
pgbench -n -c 4 -T 3 --max-tries=1000 -p "$through" >"$work/bench" 2>&1 &
reader=$!
until [ "$(metric records_written_total)" -gt 100 ]; do sleep 0.05; done
curl -sf -X PUT "http://127.0.0.1:$status/recording/off" >"$work/null"
before=
until [ "$before" = "$(counted)" ]; do before=$(counted) && sleep 0.2; done # what a session was at still counts
kill -0 $reader # it still works
still_works=$?
wait $reader
[ $? = 0 ] && [ $still_works = 0 ] && [ "$before" = "$(counted)" ] && jq -e '.tid // empty' "$work/off.jsonl" >"$work/tids" &&
    grep -q 'failed transactions: 0 ' "$work/bench"
result $? "PUT /recording/off in the middle of $(sed -n 's/^number of transactions actually processed: //p' "$work/bench") transactions: none fails, and $(wc -l <"$work/tids") whole records are all"
proxy_stop

# ---- Unix sockets on either side: a proxy behind a proxy ----

mkdir "$work/sockets"
socket=$work/sockets/.s.PGSQL.7432
at_socket() { # until it listens
    "$proxy" --bind "$socket" --server "$direct" --to "$work/unix.jsonl" >"$work/unix.out" 2>"$work/unix.err" &
    unix_process=$!
    until psql -qAt -h "$work/sockets" -p 7432 -c "SELECT 1" >"$work/null" 2>&1 || ! kill -0 $unix_process; do sleep 0.05; done
}
at_socket
proxy_server=$direct
direct=$socket
proxy_start --to "$work/tcp.jsonl"
direct=$proxy_server
"$here/talk.py" "$direct" >"$work/direct" 2>&1
"$here/talk.py" "$through" >"$work/through" 2>&1
cmp "$work/direct" "$work/through"
same=$?
# The questions of the proxy in front are statements that the one behind it does not take for simple, so that it records less.
for ((try = 0; try < 100 && $(wc -l <"$work/tcp.jsonl") <= 5; try++)); do sleep 0.1; done
[ $same = 0 ] && [ "$(wc -l <"$work/tcp.jsonl")" -gt 5 ] && [ -s "$work/unix.jsonl" ]
result $? "Unix sockets on either side change nothing, and both of the proxies record"
PGHOST=$work/sockets script 7432 >"$work/through"
script "$direct" >"$work/direct"
cmp <(grep -v 'socket\|host' "$work/direct") <(grep -v 'socket\|host' "$work/through")
result $? "so it is for psql at one"
proxy_stop
"$proxy" --bind "$socket" --server "$direct" >"$work/taken" 2>&1
[ $? = 4 ] && grep -q 'Address already in use' "$work/taken" && psql -qAt -h "$work/sockets" -p 7432 -c "SELECT 1" >"$work/null"
result $? "a path where another proxy listens is left to it"
kill -9 $unix_process
wait $unix_process 2>"$work/null"
[ -S "$socket" ] && at_socket
psql -qAt -h "$work/sockets" -p 7432 -c "SELECT 1" >"$work/null"
result $? "one that a killed proxy left is taken again"
kill $unix_process
wait $unix_process 2>"$work/null"
[ ! -e "$socket" ]
result $? "and goes at the end"
echo "not a socket" >"$work/sockets/file"
"$proxy" --bind "$work/sockets/file" --server "$direct" >"$work/taken" 2>&1
[ $? = 4 ] && grep -q "not a socket" "$work/sockets/file"
"$proxy" --bind "$work/sockets" --server "$direct" >"$work/taken" 2>&1
[ $? = 2 ] && grep -q 'a directory; expected the path of a socket in it' "$work/taken"
result $? "a file is not replaced, and a folder is told what is wanted"

# ---- a broker that is away, and kill -9 ----

proxy_start --buffer 65536 --to kafka:away -X bootstrap.servers=127.0.0.1:1
pgbench -q -i -s 1 -p "$direct" >"$work/init" 2>&1
pgbench -n -S -c 4 -t 500 -p "$through" >"$work/away" 2>&1 && grep -q 'processed: 2000/2000' "$work/away" &&
    [ "$(metric records_dropped_full_total)" -gt 0 ]
result $? "a broker that is away costs the application nothing: records are dropped and counted"
kill -9 $proxy_process
wait $proxy_process
proxy_start --to "$work/killed.jsonl"
pgbench -n -S -c 4 -T 30 -p "$through" >"$work/null" 2>&1 &
reader=$!
until [ "$(metric records_written_total)" -gt 100 ]; do sleep 0.1; done
kill -9 $proxy_process
wait $proxy_process $reader
jq -e '.tid // empty' "$work/killed.jsonl" >"$work/tids" && [ "$(wc -l <"$work/tids")" -gt 100 ]
result $? "kill -9 leaves whole records"
"$(dirname "$proxy")/isochron" check --level si "$work/killed.jsonl" >"$work/judged" 2>&1
[ $? = 3 ] && grep -q 'did not end: was it killed' "$work/judged"
result $? "and what it may have had besides is told: $(tail -1 "$work/judged")"
plan $number
