#!/bin/bash
# `isochron run --no-stream` on a PostgreSQL that streams no changes, by a user who may not replicate: reads are compared with each other,
# and what nothing is compared with is undecided. TAP on stdout.
#
#   BUILD=build tests/system/suite/alone.sh
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../support/servers.sh"
plan 7
postgres_start && psql -q "$url" -c "ALTER SYSTEM SET wal_level = replica" && "$here/../postgres/cluster.sh" stop "$work/postgres" && postgres_start || exit 4
export TMPDIR=$work PSQLRC=/dev/null PGCONNECT_TIMEOUT=10
psql -q "$url" -c "CREATE TABLE a (id int PRIMARY KEY, v int NOT NULL)" -c "INSERT INTO a SELECT g, 0 FROM generate_series(1, 20) g" -c "CREATE USER plain" \
    -c "GRANT ALL ON a TO plain" -c "CREATE TABLE t (id int PRIMARY KEY, v int)" -c "INSERT INTO t VALUES (1, 1), (2, 2)" -c "GRANT ALL ON t TO plain" \
    -c "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN UPDATE t SET v = v + 1; RETURN NEW; END'" \
    -c "CREATE TRIGGER x AFTER UPDATE ON t FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION f()" || exit 4
url=${url/postgres@/plain@}
said() { sed 's/^/# /' "$work/err" | tail -5; }
run() { # OPTIONS... -- COMMAND
    "$isochron" run "$@" >"$work/out" 2>"$work/err"
    status=$?
}

run "$url" -- true
[ $status = 2 ] && grep -q 'ALTER USER ... REPLICATION; --no-stream' "$work/err" && run "${url/plain@/postgres@}" -- true
[ $status = 2 ] && grep -q 'wal_level is replica.*--no-stream' "$work/err"
result $? "with changes it does not start there" || said
for level in "REPEATABLE READ" SERIALIZABLE "READ COMMITTED"; do
    printf '\\set a random(1, 20)\nBEGIN ISOLATION LEVEL %s;\nSELECT v FROM a WHERE id = :a;\nSELECT v FROM a WHERE id = 1;\nUPDATE a SET v = v + 1 WHERE id = :a;\n' \
        "$level" >"$work/${level%% *}.sql"
    printf 'SELECT v FROM a WHERE id = :a;\nSELECT v FROM a WHERE id = 1;\nCOMMIT;\n' >>"$work/${level%% *}.sql"
done
run --no-stream --status-file "$work/status" "$url" -- pgbench -n -c 4 -t 50 -f "$work/REPEATABLE.sql" -f "$work/SERIALIZABLE.sql" -f "$work/READ.sql" --max-tries=100 {URL}
[ $status = 3 ] && [ "$(cat "$work/status")" = "3 undecided: no-stream" ] && [ "$(grep -c 'reads compared, none wrong; undecided: ' "$work/err")" = 3 ]
result $? "at each level reads are compared, and those that changed under others are not accused" || said

# what a trigger, a savepoint or the transaction itself wrote is no other value of one snapshot
cat >"$work/own.sql" <<'END'
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT v FROM t WHERE id = 1;
UPDATE t SET v = 9 WHERE id = 2;
SELECT v FROM t WHERE id = 1;
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT v FROM t WHERE id = 1;
SAVEPOINT s;
UPDATE t SET v = 20 WHERE id = 1;
SELECT v FROM t WHERE id = 1;
ROLLBACK TO s;
SELECT v FROM t WHERE id = 1;
ROLLBACK;
END
run --no-stream "$url" -- psql -qX {URL} -f "$work/own.sql"
[ $status = 3 ] && grep -q 'REPEATABLE READ: [1-9][0-9]* of .* reads compared, none wrong' "$work/err"
result $? "nor is what a transaction wrote itself" || said

run --no-stream "$url" -- psql -qX {URL} -c "UPDATE t SET v = 1"
[ $status = 3 ] && ! grep -q 'holds' "$work/err" && run --no-stream --allow-unjudged "$url" -- psql -qX {URL} -c "UPDATE t SET v = 1" && false
[ $status = 3 ] && grep -q 'undecided: nothing-judged' "$work/err"
result $? "nothing compared is undecided, also with --allow-unjudged" || said

twice() { # LEVEL: what the capture has of a row that was read twice
    printf 'SELECT pg_sleep(0.05);\nBEGIN ISOLATION LEVEL %s;\nSELECT v FROM a WHERE id = 3;\nSELECT v FROM a WHERE id = 3;\nCOMMIT;\nSELECT pg_sleep(0.05)\n' "$1" >"$work/twice.sql"
    run --no-stream --allow-unjudged --keep "$work/kept" "$url" -- psql -qX {URL} -f "$work/twice.sql"
    [ $status = 0 ] && grep -q "$1: 2 of 2 reads compared, none wrong" "$work/err" || return 1
    zstd -dcq "$work/kept/run.capture.jsonl.zst" | sed '/run.records/s/\(cells[^0-9]*\)\([0-9]\)/\19\2/' >"$work/altered.jsonl"
    zstd -qf "$work/altered.jsonl" -o "$work/kept/run.capture.jsonl.zst"
    run --json --judge "$work/kept"
    [ $status = 1 ] && grep -q "column v of row \"public.a/3\" has two values for transactions" "$work/err" && grep -q '"verdict":"violated"' "$work/out"
}
twice "REPEATABLE READ" && twice SERIALIZABLE
result $? "one snapshot with two values of a column is found" || said
twice "READ COMMITTED"
result $? "at READ COMMITTED two statements with nothing committed between them" || said
run --no-stream --fail-level si "$url" -- true
[ $status = 2 ] && run --judge "$work/kept" --level si
[ $status = 2 ]
result $? "what needs changes is refused" || said
