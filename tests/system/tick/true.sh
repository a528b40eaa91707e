#!/bin/bash
# isochron tick on a real PostgreSQL: transactions at REPEATABLE READ, at READ COMMITTED with pauses in which they have no snapshot, and
# prepared ones write their first snapshot into the log, beside watermarks without any grace. None of them may stand behind a watermark
# above its xmin. And what it needs, and what it does when the server is away. TAP on stdout.
#
#   ISOCHRON=build/isochron tests/system/tick/true.sh [SECONDS]      5
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../support/servers.sh"
seconds=${1:-5}
programs=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)

plan 10
postgres_start || exit 4
sql() { psql -qAtX -v ON_ERROR_STOP=1 "$server" -c "$1"; }
sql "ALTER SYSTEM SET max_prepared_transactions = 40" && servers_stop && postgres_start
sql "CREATE TABLE t (k int PRIMARY KEY, v int); INSERT INTO t SELECT i, 0 FROM generate_series(1, 1000) i; CREATE USER plain"

# ---- what it needs ----

"$isochron" tick "postgresql://plain@127.0.0.1:$port/postgres" 2>"$work/err"
[ $? = 2 ] && grep -q "GRANT pg_read_all_stats TO plain;" "$work/err"
result $? "without pg_read_all_stats it says no watermark, and what to grant" || cat "$work/err"
sql "$(grep -o 'GRANT .*;' "$work/err")" && "$isochron" tick --seconds 0.5 --every 0.1 --grace 0 --to "$work/plain" \
    "postgresql://plain@127.0.0.1:$port/postgres" 2>"$work/err" && grep -q '^{"watermark":"[0-9]*"}$' "$work/plain"
result $? "with it a plain user's watermarks are written" || cat "$work/err"
"$isochron" tick mysql://127.0.0.1:1/d 2>"$work/err"
[ $? = 2 ] && grep -q "expected one URL: postgresql" "$work/err"
result $? "another database's URL is refused"

# ---- one idle transaction, one prepared ----

"$isochron" tick --quiet --every 0.05 --grace 0 --to "$work/file" "$url" &
ticking=$!
last() { tail -1 "$work/file" 2>/dev/null | grep -o '[0-9]*' || echo 0; }
mkfifo "$work/idle"
psql -qAtX "$server" <"$work/idle" >"$work/idle.out" &
exec 4>"$work/idle"
# the pipe stays open: READ COMMITTED, idle, without a snapshot
echo "BEGIN; SELECT pg_snapshot_xmin(pg_current_snapshot());" >&4
until [ -s "$work/idle.out" ] && [ -s "$work/file" ]; do sleep 0.05; done
for i in 1 2 3 4 5; do sql "UPDATE t SET v = $i WHERE k = $i" && sleep 0.1; done
now=$(sql "SELECT pg_snapshot_xmin(pg_current_snapshot())")
[ "$(last)" -gt 0 ] && [ "$(last)" -le "$(cat "$work/idle.out")" ] && [ "$now" -gt "$(cat "$work/idle.out")" ]
result $? "an idle transaction at READ COMMITTED keeps watermarks back" || echo "# $(last), $(cat "$work/idle.out"), $now"
echo "UPDATE t SET v = 9 WHERE k = 9; PREPARE TRANSACTION 'held';" >&4
until [ "$(sql "SELECT count(*) FROM pg_prepared_xacts")" = 1 ]; do sleep 0.05; done
for i in 1 2 3; do sql "UPDATE t SET v = $i WHERE k = $i" && sleep 0.1; done
[ "$(last)" -le "$(cat "$work/idle.out")" ]
result $? "and so it does when it is prepared"
sql "COMMIT PREPARED 'held'"
sleep 0.5
[ "$(last)" -gt "$(cat "$work/idle.out")" ]
result $? "not when it has ended"
exec 4>&-
kill $ticking
wait $ticking

# ---- many at once, judged by the log ----

sql "SELECT pg_create_logical_replication_slot('log', 'test_decoding')" >/dev/null
cat >"$work/repeatable" <<'END'
\set k random(1, 1000)
\set ms random(0, 30)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_snapshot_xmin(pg_current_snapshot()) AS s \gset
\sleep :ms ms
UPDATE t SET v = v + 1 WHERE k = :k;
SELECT pg_logical_emit_message(true, 'record', 'xmin :s');
COMMIT;
END
cat >"$work/committed" <<'END'
\set k random(1, 1000)
\set ms random(0, 200)
BEGIN;
SELECT pg_snapshot_xmin(pg_current_snapshot()) AS s \gset
\sleep :ms ms
UPDATE t SET v = v + 1 WHERE k = :k;
SELECT pg_logical_emit_message(true, 'record', 'xmin :s');
\sleep 2 ms
COMMIT;
END
cat >"$work/prepared" <<'END'
\set ms random(0, 100)
\set name random(1, 1000000000)
BEGIN;
SELECT pg_snapshot_xmin(pg_current_snapshot()) AS s \gset
\sleep :ms ms
SELECT pg_logical_emit_message(true, 'record', 'xmin :s');
PREPARE TRANSACTION 'p:client_id.:name';
\sleep :ms ms
COMMIT PREPARED 'p:client_id.:name';
END
"$isochron" tick --quiet --every 0.005 --grace 0 --seconds "$seconds" "$url" &
ticking=$!
"$programs/pgbench" -n -c 12 -j 2 -T "$seconds" --max-tries=0 -f "$work/repeatable@5" -f "$work/committed@3" -f "$work/prepared@2" "$server" >"$work/pgbench" 2>&1
wait $ticking
result $? "watermarks go in-band while many transactions run"
sql "SELECT data FROM pg_logical_slot_get_changes('log', NULL, NULL)" >"$work/log"
awk '/prefix: isochron/ { match($0, /"watermark":"[0-9]+/); w = substr($0, RSTART + 13, RLENGTH - 13) + 0; watermarks++; if (w <= last) back++; last = w }
    /prefix: record/ { match($0, /xmin [0-9]+/); x = substr($0, RSTART + 5, RLENGTH - 5) + 0; records++; if (x < last) { untrue++; if (untrue < 5) print "# xmin " x " behind watermark " last } }
    END { print "# " records + 0 " records, " watermarks + 0 " watermarks, " untrue + 0 " untrue, " back + 0 " going back"
          exit !(records > 100 && watermarks > 5 && !untrue && !back) }' "$work/log"
result $? "none of them is untrue" || tail -5 "$work/pgbench" | sed 's/^/# /'

# ---- a server that is away ----

"$isochron" tick --every 0.05 --grace 0 --to "$work/again" "$url" 2>"$work/err" &
ticking=$!
until [ -s "$work/again" ]; do sleep 0.05; done
"$here/../postgres/cluster.sh" stop "$work/postgres" # as a crash: nothing is ended in order
until grep -q "watermarks stand" "$work/err"; do sleep 0.05; done
sleep 0.5
"$here/../postgres/cluster.sh" start "$work/postgres" >/dev/null
until grep -q "answers again" "$work/err"; do sleep 0.05; done
before=$(tail -1 "$work/again" | grep -o '[0-9]*')
for i in 1 2 3; do sql "UPDATE t SET v = $i WHERE k = $i"; done
for i in $(seq 100); do [ "$(tail -1 "$work/again" | grep -o '[0-9]*')" -gt "$before" ] && break; sleep 0.05; done
[ "$(tail -1 "$work/again" | grep -o '[0-9]*')" -gt "$before" ]
result $? "a server that crashed and came again"
kill -INT $ticking
wait $ticking
[ $? = 0 ] && grep -q "watermarks sent, the last one" "$work/err"
result $? "Ctrl-C ends it" || cat "$work/err"
exit 0
