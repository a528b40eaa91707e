#!/bin/bash
# isochron-proxy before a real PostgreSQL: random sequences of messages have the same answers with it and without it (sequences.py), and its
# questions neither move a snapshot nor wait for one. TAP on stdout.
#
#   PROXY=build/isochron-proxy tests/system/proxy/same.sh [--sequences N]    300
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/start.sh"

database_start && psql -q -p "$direct" -c "CREATE DATABASE one" &&
    psql -q -p "$direct" one -c "CREATE TABLE kv (k int PRIMARY KEY DEFERRABLE, v int); CREATE TABLE other (k int PRIMARY KEY);
        ALTER TABLE kv SET (autovacuum_enabled = off); ALTER TABLE other SET (autovacuum_enabled = off)" &&
    psql -q -p "$direct" -c "ALTER SYSTEM SET synchronous_commit = off" -c "SELECT pg_reload_conf()" -c "CREATE DATABASE two TEMPLATE one" >"$work/null" && proxy_start --to "$work/records.jsonl"
result $? "PostgreSQL and the proxy run" || exit 1

"$here/sequences.py" "$direct" "$through" "$@" >"$work/same"
grep '^#' "$work/same"
grep -q '^ok' "$work/same"
result $? "$(grep -o '[0-9]* sequences.*' "$work/same")"
[ "$(metric positions_total)" -gt 20 ] && [ "$(metric sessions_lost_total)" = 0 ] && [ "$(metric questions_failed_total)" = 0 ]
result $? "while $(metric positions_total) snapshots were asked for, $(metric transactions_total) transactions recorded; no question failed, no session was lost"

"$here/cancels.py" "$through" one --times 200 >"$work/cancels"
grep '^#' "$work/cancels"
grep -q '^ok' "$work/cancels" && [ "$(metric questions_failed_total)" = 0 ]
result $? "$(grep -o '[0-9]* transactions.*' "$work/cancels"), and none a question of the proxy's"

"$here/cancels.py" "$through" one --times 300 --beside "$direct" >"$work/cancels"
grep '^#' "$work/cancels"
grep -q '^ok' "$work/cancels"
result $? "$(grep -o '[0-9]* transactions.*' "$work/cancels"), where $(metric questions_failed_total) questions failed"

# Questions that fail within a transaction, each one: who asks may not call what they ask for.
psql -q -p "$direct" one -c "CREATE ROLE app LOGIN; GRANT SELECT ON kv TO app; REVOKE EXECUTE ON FUNCTION pg_current_snapshot FROM PUBLIC"
failed=$(metric questions_failed_total)
for level in "REPEATABLE READ" SERIALIZABLE; do
    printf '%s;\n' "BEGIN ISOLATION LEVEL $level" "SELECT count(*) > 0 FROM kv" "SELECT 'goes on'" "SELECT count(*) FROM pg_cursors" COMMIT
done | psql -qAt -p "$through" -U app one >"$work/refused" 2>&1
[ "$(tr '\n' ' ' <"$work/refused")" = "t goes on 0 t goes on 0 " ] && [ "$(metric questions_failed_total)" -gt "$failed" ]
result $? "$(($(metric questions_failed_total) - failed)) questions failed, and nothing of their transactions" || sed 's/^/# /' "$work/refused"

# A transaction that waits for a safe snapshot waits with its first statement that needs one, and not for a question before it.
psql -qAt -p "$direct" two >"$work/writer" 2>&1 <<'END' &
BEGIN ISOLATION LEVEL SERIALIZABLE;
UPDATE kv SET v = v;
SELECT pg_sleep(600);
END
until [ "$(psql -qAt -p "$direct" two -c "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")" = 1 ]; do sleep 0.05; done
psql -qAt -p "$through" two >"$work/deferrable" 2>&1 <<'END'
SET statement_timeout = '20s';
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
LOCK TABLE kv IN ACCESS SHARE MODE;
SET CONSTRAINTS ALL IMMEDIATE;
SHOW transaction_isolation;
COMMIT;
SELECT 'done';
END
[ "$(tail -1 "$work/deferrable")" = done ] && ! grep -q ERROR "$work/deferrable"
result $? "SERIALIZABLE READ ONLY DEFERRABLE does not wait for a question of the proxy's" || sed 's/^/# /' "$work/deferrable"
PGOPTIONS="-c default_transaction_isolation=serializable -c default_transaction_read_only=on -c default_transaction_deferrable=on" \
    timeout 20 psql -qAt -p "$through" postgres -c "SHOW transaction_deferrable" -c "SET default_transaction_deferrable = off" -c "SELECT 'done'" >"$work/deferrable" 2>&1
[ "$(tr '\n' ' ' <"$work/deferrable")" = "on done " ]
result $? "nor does a session of which that is the default" || sed 's/^/# /' "$work/deferrable"
psql -qAt -p "$direct" two -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'" >"$work/null"
# A catalog that a session is asked for while it is idle, here one that never comes, gives way to its client.
psql -qAt -p "$direct" two -c "BEGIN; LOCK TABLE pg_catalog.pg_publication; SELECT pg_sleep(600)" >"$work/writer" 2>&1 &
until [ "$(psql -qAt -p "$direct" two -c "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")" = 1 ]; do sleep 0.05; done
coproc idle { psql -qAt -p "$through" two 2>&1; }
for round in 1 2 3; do
    echo "CREATE TABLE made_$round (k int);" >&"${idle[1]}"
    until [ "$(psql -qAt -p "$direct" two -c "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")" = 1 ]; do sleep 0.05; done
    echo "SELECT $round;" >&"${idle[1]}" && read -r -t 60 -u "${idle[0]}" line && echo "$line"
done >"$work/idle"
[ "$(tr '\n' ' ' <"$work/idle")" = "1 2 3 " ] && [ "$(metric catalog_questions_interrupted_total)" = 3 ]
result $? "an idle session's client waits for no catalog: $(metric catalog_questions_interrupted_total) questions were cancelled" || sed 's/^/# /' "$work/idle"
psql -qAt -p "$direct" two -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'" >"$work/null"
exec {idle[1]}>&-
# A server that compiles each statement of this session does not compile what the proxy asks: of a large catalog that takes half a minute.
psql -q -p "$direct" -c "CREATE DATABASE three TEMPLATE two"
PGOPTIONS="-c session_preload_libraries=auto_explain -c auto_explain.log_min_duration=0 -c auto_explain.log_analyze=on -c jit_above_cost=0 -c statement_timeout=20s" \
    psql -qAt -p "$through" three -c "SELECT count(*) FROM kv" -c "BEGIN ISOLATION LEVEL REPEATABLE READ" -c "CREATE TABLE new (k int)" \
    -c "SELECT k FROM kv" -c "SELECT v FROM kv" -c "COMMIT" -c "SELECT k FROM kv" >"$work/null"
awk 'BEGIN { RS = "(^|\n)[0-9-]* [0-9:.]* UTC "; } /plan:/ && /pg_inherits/ { asked++; compiled += /JIT:/ } /plan:/ && /FROM kv/ { own += /JIT:/ }
    END { print asked + 0, "questions about the catalog," , compiled + 0, "of them compiled," , own + 0, "statements of the client" }' "$work/postgres/data/log" >"$work/jit"
[[ $(cat "$work/jit") =~ ^[1-9][0-9]*\ questions\ about\ the\ catalog,\ 0\ of\ them\ compiled,\ [1-9] ]]
result $? "the server compiles no question: $(cat "$work/jit")"
proxy_stop
result $? "SIGTERM ends it"
plan $number
