#!/bin/bash
# `isochron run` against a real PostgreSQL: pgbench at both levels, definitions at random beside readers, what the command's environment and
# exit status are, a value that was altered on its way, a killed run. TAP on stdout.
#
#   BUILD=build tests/system/suite/end_to_end.sh [--orders N] [--seed S]
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../support/servers.sh"
orders=5 seed=1
while [ $# -gt 1 ]; do
    case $1 in --orders) orders=$2 ;; --seed) seed=$2 ;; esac
    shift 2
done
plan 28
postgres_start || exit 4
export TMPDIR=$work PSQLRC=/dev/null PGCONNECT_TIMEOUT=10
psql -q "$url" -c "CREATE TABLE a (id int PRIMARY KEY, v int NOT NULL)" -c "INSERT INTO a SELECT g, 0 FROM generate_series(1, 20) g" \
    -c "CREATE TABLE told (id int PRIMARY KEY, v text)" -c "INSERT INTO told VALUES (1, 'old0'), (2, 'old0')" \
    -c "CREATE TABLE changed (id int PRIMARY KEY, v int)" -c "INSERT INTO changed VALUES (1, 1)" -c "CREATE DATABASE beside" -c "CREATE TABLE old (id int PRIMARY KEY, v text)" -c "INSERT INTO old VALUES (1, 'o')" || exit 4

transfer() { # ISOLATION: two reads and a write
    printf '\\set a random(1, 20)\n\\set b random(1, 20)\nBEGIN ISOLATION LEVEL %s;\nSELECT v FROM a WHERE id = :a;\n' "$1"
    printf 'SELECT v FROM a WHERE id = :b;\nUPDATE a SET v = v + 1 WHERE id = :a;\nCOMMIT;\n'
}
said() { sed 's/^/# /' "$work/err" | tail -5; }

transfer "REPEATABLE READ" >"$work/rr.sql"
transfer "READ COMMITTED" >"$work/rc.sql"
"$isochron" run --keep "$work/kept" "$url" -- pgbench -n -c 4 -t 50 -f "$work/rr.sql" --max-tries=100 {URL} >"$work/out" 2>"$work/err" &&
    grep -q '^isochron: holds: \([0-9]*\) of \1 statements' "$work/err" && grep -q 'number of transactions actually processed: 200' "$work/out"
result $? "pgbench at REPEATABLE READ holds, and nothing of its output is touched" || said
"$isochron" run "$url" -- pgbench -n -c 4 -t 50 -f "$work/rc.sql" {URL} >"$work/out" 2>"$work/err" &&
    grep -q 'postgres, READ COMMITTED: \([1-9][0-9]*\) of \1 reads judged, none wrong' "$work/err"
result $? "at READ COMMITTED it reads what was committed" || said

# the first read behind the alteration, of a session that knows the catalog from before, is not recorded
"$isochron" run "$url" -- sh -c 'psql -q "$1" -c "ALTER TABLE changed ADD w int DEFAULT 1"
    for i in 1 2 3 4; do psql -q "$1" -c "SELECT v FROM changed WHERE id = 1" -c "SELECT v FROM a WHERE id = 1"; sleep 0.2; done' - {URL} \
    >"$work/out" 2>"$work/err"
[ $? = 3 ] && grep -q 'reads judged, none wrong; undecided: [2-8] ([2-8] schema)' "$work/err" && grep -q 'undecided: schema' "$work/err"
result $? "reads of a table that got another column leave the verdict open" || said

transfer SERIALIZABLE >"$work/ser.sql"
said_of() { { grep '^{' "$1.out" | sed 's/"peak_rss_bytes":[0-9]*//' && grep -v 'judged again by' "$1.err"; } | sed 's/"seconds":{[^}]*}//'; }
"$isochron" run --json --fail-level si --keep "$work/kept" "$url" -- pgbench -n -c 4 -t 50 -f "$work/rr.sql" -f "$work/rc.sql" -f "$work/ser.sql" --max-tries=100 {URL} \
    >"$work/first.out" 2>"$work/first.err"
first=$?
again=$(sed -n 's/.*judged again by: isochron //p' "$work/first.err")
eval "\"$isochron\" $again --json --fail-level si" >"$work/again.out" 2>"$work/again.err"
[ $? = $first ] && cmp -s <(said_of "$work/first") <(said_of "$work/again") && [ "$(grep -c 'reads judged, none wrong' "$work/again.err")" = 3 ]
result $? "a kept capture is judged again by levels, and the same is said" || said
"$isochron" run --keep "$work/kept" "$url" -- psql -q {URL} -c "BEGIN ISOLATION LEVEL REPEATABLE READ" -c "SELECT v FROM a WHERE id = 3" -c COMMIT \
    >"$work/out" 2>"$work/err" && "$isochron" $again --quiet >/dev/null 2>&1
result $? "a session's last transaction is judged" || said
zstd -dcq "$work/kept/run.capture.jsonl.zst" | sed '/run.records/s/\(cells[^0-9]*\)\([0-9]\)/\19\2/' >"$work/altered.jsonl"
zstd -qf "$work/altered.jsonl" -o "$work/kept/run.capture.jsonl.zst"
"$isochron" $again --quiet >/dev/null 2>&1
[ $? = 1 ]
result $? "a value that was altered on its way is found" || said

# a server that returns one value in place of another, in rows of one column
"$here/liar.py" "$port" new2 new1 >"$work/liar" &
liar=$!
for ((i = 0; i < 100; i++)); do [ -s "$work/liar" ] && break || sleep 0.1; done
lies=postgresql://postgres@127.0.0.1:$(cat "$work/liar")/postgres
cat >"$work/told.sh" <<'END'
psql -qX "$1" -c BEGIN -c "UPDATE told SET v = 'new1' WHERE id = 1" -c COMMIT -c BEGIN -c "UPDATE told SET v = 'new2' WHERE id = 1" -c COMMIT
sleep 0.01
psql -qX "$1" -c "$2" -c "/* test: test_cart.py::test_total[1] */ SELECT v FROM told WHERE id = 1" -c "$3"
END
found() { # LEVEL BEGIN END
    "$isochron" run "$lies" -- sh "$work/told.sh" {URL} "$2" "$3" >"$work/out" 2>"$work/err"
    [ $? = 1 ] && grep -q "postgres, $1: 2 of 2 reads judged, 1 wrong" "$work/err" &&
        grep -q '"run-[^ ]* test_cart.py::test_total\[1\]": SELECT v FROM told WHERE id = ?$' "$work/err"
}
found "READ COMMITTED" BEGIN COMMIT && found "READ COMMITTED" BEGIN ROLLBACK && found "READ COMMITTED" "" ""
result $? "at READ COMMITTED a read of the version before is found, 10 ms after the newer one's answer" || said
cat >"$work/alone.sh" <<'END'
psql -qX "$1" -c "UPDATE told SET v = 'new1' WHERE id = 1" -c "UPDATE told SET v = 'new2' WHERE id = 1"
sleep 0.1
psql -qX "$1" -c "SELECT v FROM told WHERE id = 1"
END
"$isochron" run "$lies" -- sh "$work/alone.sh" {URL} >"$work/out" 2>"$work/err"
[ $? = 1 ] && grep -q "postgres, READ COMMITTED: 2 of 2 reads judged, 1 wrong" "$work/err"
result $? "a version that a statement alone wrote is known by the server's snapshots" || said
found "REPEATABLE READ" "BEGIN ISOLATION LEVEL REPEATABLE READ" ROLLBACK && found SERIALIZABLE "BEGIN ISOLATION LEVEL SERIALIZABLE" COMMIT
result $? "and at the other levels, also of a transaction that rolls back" || said
"$isochron" run "$url" -- sh "$work/told.sh" {URL} BEGIN ROLLBACK >"$work/out" 2>"$work/err"
result $? "a server that tells the truth is not accused" || said
export PGAPPNAME="test of 'all'"
"$isochron" run --show-values --report "junit:$work/x.xml" --html "$work/x.html" "$lies" -- sh "$work/told.sh" {URL} BEGIN COMMIT >"$work/out" 2>"$work/err"
grep -q "^- T1 ran: SELECT v FROM told WHERE id = 1$" "$work/x.xml" && grep -q 'run-[^ ]* test of &[^;]*;all' "$work/x.xml" &&
    grep -q "<li>T[0-9] ran: UPDATE told SET v = .*new1" "$work/x.html" && grep -q ': SELECT v FROM told WHERE id = 1$' "$work/err"
result $? "reports say which test, by the session's name where no comment does, and which statements" || said
unset PGAPPNAME
# two that each read what the other writes; one of them may promise less
cat >"$work/serial.sh" <<'END'
one() { (echo "BEGIN ISOLATION LEVEL $2; SELECT v FROM a WHERE id = $3;"; sleep 0.5; echo "UPDATE a SET v = v + 1 WHERE id = $4; COMMIT;") | psql -qX "$1"; }
one "$1" SERIALIZABLE 1 2 & one "$1" "$2" 2 1; wait
END
kill $liar
transfer SERIALIZABLE >"$work/ser.sql"
"$isochron" run "$url" -- sh "$work/serial.sh" {URL} SERIALIZABLE >"$work/out" 2>"$work/err" && "$isochron" run "$url" -- sh "$work/serial.sh" {URL} "REPEATABLE READ" \
    >"$work/out" 2>"$work/err" && grep -q 'SERIALIZABLE: .* none wrong' "$work/err"
skew=$?
"$isochron" run "$url" -- pgbench -n -c 6 -t 60 -f "$work/ser.sql@2" -f "$work/rr.sql" -f "$work/rc.sql" --max-tries=1000 {URL} >"$work/out" 2>"$work/err"
case $? in 0 | 3) ;; *) skew=1 ;; esac # a first transaction may lack its place: that leaves its level open
[ $skew = 0 ] && ! grep -q '[0-9] wrong\|no order' "$work/err"
result $? "SERIALIZABLE is not accused of cycles through weaker transactions" || said

cat >"$work/back.sql" <<'END'
BEGIN;
SELECT v FROM told WHERE id = 1;
INSERT INTO told VALUES (3, 'mine');
SELECT v FROM told WHERE id = 3;
SELECT v FROM a WHERE id = 1;
SAVEPOINT s;
UPDATE a SET v = v + 1;
SELECT v FROM a WHERE id = 1;
ROLLBACK TO s;
SELECT v FROM a WHERE id = 2;
ROLLBACK;
BEGIN;
SELECT txid_current();
COMMIT;
END
"$isochron" run "$url" -- psql -qX {URL} -c "SELECT count(*) FROM pg_class" -f "$work/back.sql" >"$work/out" 2>"$work/err" &&
    grep -q 'READ COMMITTED: 6 of 6 reads judged, none wrong' "$work/err" && grep -q 'holds: \([5-9]\) of \1 statements' "$work/err"
result $? "what rolls back is judged by what it read of others, table by table; reads of the server's own tables count nowhere" || said

# two that each read what the other writes: no order of them explains that
cat >"$work/skew.sh" <<'END'
(echo "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT v FROM a WHERE id = $2;"; sleep 1; echo "UPDATE a SET v = v + 1 WHERE id = $3; COMMIT;") | psql -qX "$1"
END
"$isochron" run --level ser "$url" -- sh -c "sh $work/skew.sh {URL} 1 2 & sh $work/skew.sh {URL} 2 1; wait" >"$work/out" 2>"$work/err" &&
    grep -q 'REPEATABLE READ: \([1-9][0-9]*\) of \1 reads judged, none wrong' "$work/err" && grep -q 'postgres, all at ser: violated' "$work/err" &&
    ! "$isochron" run --fail-level ser --quiet "$url" -- sh -c "sh $work/skew.sh {URL} 1 2 & sh $work/skew.sh {URL} 2 1; wait" >"$work/out" 2>&1
result $? "--level says that write skew is none at ser, --fail-level fails with it" || said

"$isochron" run --quiet "$url" -- sh -c 'psql -q "$DATABASE_URL" -c "SELECT 1" >/dev/null && psql -q -U postgres beside -c "CREATE TABLE a (id int)" && exit 7' \
    >"$work/out" 2>"$work/err"
[ $? = 7 ]
result $? "the command's exit status is the run's; DATABASE_URL and PGPORT lead through it" || said
"$isochron" run "$url" -- "$work/none" >"$work/out" 2>"$work/err"
[ $? = 2 ] && grep -q 'No such file' "$work/err"
result $? "a command that is none is bad input" || said

# each test its own table of one name, as suites make them
cat >"$work/recreated.sh" <<'END'
for i in 1 2 3 4 5; do
    psql -qX "$1" -c "CREATE TABLE again (id int PRIMARY KEY, c$i text)" -c "INSERT INTO again VALUES (1, 'x$i')" -c "SELECT * FROM again WHERE id = 1" \
        -c "BEGIN; UPDATE again SET c$i = 'y'; COMMIT" -c "SELECT * FROM again WHERE id = 1" -c "SELECT * FROM again WHERE id = 2" -c "DROP TABLE again"
done
END
"$isochron" run "$url" -- sh "$work/recreated.sh" {URL} >"$work/out" 2>"$work/err" && grep -q 'READ COMMITTED: \([1-9][0-9]\) of \1 reads judged, none wrong' "$work/err"
result $? "tables that are made and dropped under one name are judged, each by itself" || said

cat >"$work/renamed.sql" <<'END'
CREATE TABLE renamed (id int PRIMARY KEY, v int);
INSERT INTO renamed VALUES (1, 1), (2, 2);
ALTER TABLE renamed RENAME TO anew;
SELECT pg_sleep(0.3);
SELECT v FROM anew WHERE id = 1;
UPDATE anew SET v = 3 WHERE id = 1;
SELECT pg_sleep(0.2);
SELECT v FROM anew WHERE id = 1;
DROP TABLE anew;
END
"$isochron" run "$url" -- psql -qX {URL} -f "$work/renamed.sql" >"$work/out" 2>"$work/err"
[ $? = 3 ] && grep -q 'READ COMMITTED: 2 of 4 reads judged, none wrong; undecided: 2 (2 schema)' "$work/err"
result $? "a row of a renamed table is judged again behind a write of it" || said

cat >"$work/twice.sql" <<'END'
BEGIN;
CREATE TABLE twice (id int PRIMARY KEY, v text);
INSERT INTO twice VALUES (1, 'first');
DROP TABLE twice;
CREATE TABLE twice (id int PRIMARY KEY, v text);
INSERT INTO twice VALUES (2, 'second');
COMMIT;
END
twice() { # what psql does in place of running the file
    "$isochron" run "$url" -- psql -qX {URL} "$@" -c "SELECT * FROM twice WHERE id = 1" -c "SELECT * FROM twice WHERE id = 2" -c "DROP TABLE twice" \
        >"$work/out" 2>"$work/err"
    [ $? != 1 ] && grep -q second "$work/out" && ! grep -q first "$work/out"
}
twice -f "$work/twice.sql" && twice -c "$(cat "$work/twice.sql")"
result $? "what a transaction wrote to a table that it dropped is not taken for that of the next" || said

# tables that are filled before they have keys
filled='pgbench -i -q "$1" && pgbench -n -c 4 -t 50 "$1"'
"$isochron" run --keep "$work/filled" "$url" -- sh -c "$filled && $filled" - {URL} >"$work/out" 2>"$work/err" &&
    grep -q 'postgres, READ COMMITTED: \([1-9][0-9]*\) of \1 reads judged, none wrong' "$work/err" &&
    zstd -dcq "$work/filled/run.capture.jsonl.zst" | sed '/run.records/s/\(cells[^0-9]*\)\([0-9]\)/\19\2/' | zstd -qf -o "$work/altered.zst" &&
    mv "$work/altered.zst" "$work/filled/run.capture.jsonl.zst" && ! "$isochron" run --judge "$work/filled" >"$work/out" 2>"$work/err" && grep -q violated "$work/err"
result $? "pgbench makes its tables, fills them, gives them keys and uses them in one run, twice: all of that is judged" || said
psql -qX "$url" -c "DROP TABLE pgbench_accounts, pgbench_branches, pgbench_tellers, pgbench_history"

# databases that tests make, copy, rename and drop: each is a history of its own
cat >"$work/databases.sh" <<'END'
set -e
base=${1%/*} with="?sslmode=disable"
psql -qX "$1" -c "CREATE DATABASE made"
psql -qX "$base/made$with" -c "CREATE TABLE t (id int PRIMARY KEY, v text)" -c "INSERT INTO t VALUES (1, 'x')" -c "SELECT * FROM t WHERE id = 1"
psql -qX "$1" -c "CREATE DATABASE copied TEMPLATE made"
psql -qX "$base/copied$with" -c "SELECT * FROM t WHERE id = 1" -c "UPDATE t SET v = 'y'" -c "SELECT * FROM t WHERE id = 1"
psql -qX "$1" -c "ALTER DATABASE copied RENAME TO other"
psql -qX "$base/made$with" -c "SELECT * FROM t WHERE id = 1"
psql -qX "$base/other$with" -c "SELECT * FROM t WHERE id = 1"
psql -qX "$1" -c "DROP DATABASE made" -c "DROP DATABASE other"
printf '%s\n' "CREATE DATABASE brief;" '\c brief' "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1);" \
    "BEGIN;" "SELECT * FROM t WHERE id = 1;" '\c postgres' "DROP DATABASE brief;" | psql -qX "$1"
END
"$isochron" run "$url" -- sh "$work/databases.sh" {URL} >"$work/out" 2>"$work/err" && [ "$(grep -c 'isochron: \(made\|copied\|other\), READ COMMITTED: .* none wrong' "$work/err")" = 4 ] &&
    grep -q 'copied, READ COMMITTED: 4 of 4 reads' "$work/err" && grep -q 'brief, READ COMMITTED: 1 of 1 reads' "$work/err"
result $? "databases that are made, copied, renamed and dropped meanwhile are judged, and nothing is in their way" || said
"$isochron" run --database 'oth*' "$url" -- sh "$work/databases.sh" {URL} >"$work/out" 2>"$work/err" &&
    grep -q 'made: not judged: --database leaves it out' "$work/err" && grep -q 'other, READ COMMITTED: 2 of 2 reads' "$work/err"
result $? "--database says which" || said

psql -q "$url" -c "BEGIN; CREATE TABLE held (id int); SELECT pg_sleep(60)" >/dev/null 2>&1 &
holder=$!
for ((i = 0; i < 100; i++)); do
    [ "$(psql -qAt "$url" -c "SELECT count(*) FROM pg_stat_activity WHERE backend_xid IS NOT NULL")" = 1 ] && break
    sleep 0.1
done
"$isochron" run "$url" -- true >"$work/out" 2>"$work/err"
[ $? = 2 ] && grep -q 'a transaction is open on the server' "$work/err"
result $? "behind an open transaction it does not start" || said
psql -qAt "$url" -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_xid IS NOT NULL" >/dev/null
wait $holder 2>/dev/null

wrong=0 judged=0
for ((order = seed; order < seed + orders; order++)); do
    for session in 0 1; do "$here/definitions.py" "$order" "$session" >"$work/s$session.sql"; done
    "$isochron" run --json "$url" -- sh -c "psql -qX {URL} -f $work/s0.sql >/dev/null 2>&1 & psql -qX {URL} -f $work/s1.sql >/dev/null 2>&1; wait" \
        >"$work/out" 2>"$work/err"
    case $? in
    0 | 3) ;;
    *) wrong=$((wrong + 1)) && echo "# seed $order" && said && grep -o '"violations":.*' "$work/out" | cut -c1-600 | sed 's/^/# /' ;;
    esac
    judged=$((judged + $(grep -o '"reads_judged":[0-9]*' "$work/out" | awk -F: '{ sum += $2 } END { print sum + 0 }')))
done
[ "$wrong" = 0 ] && [ "$judged" -gt 0 ]
result $? "$orders random orders of definitions are never violated; $judged reads judged"

"$isochron" run "$url" -- sleep 60 >"$work/out" 2>"$work/err" &
run=$!
for ((i = 0; i < 100; i++)); do
    [ "$(psql -qAt "$url" -c "SELECT count(*) FROM pg_replication_slots")" = 1 ] && pgrep -P $run sleep >/dev/null && break
    sleep 0.1
done
sleeper=$(pgrep -P $run sleep)
kill -9 $run
wait $run 2>/dev/null
for ((i = 0; i < 100; i++)); do
    left=$(psql -qAt "$url" -c "SELECT count(*) FROM pg_replication_slots")
    [ "$left" = 0 ] && ! kill -0 "$sleeper" 2>/dev/null && break
    sleep 0.1
done
[ "$left" = 0 ] && [ -n "$sleeper" ] && ! kill -0 "$sleeper" 2>/dev/null
result $? "a run that is killed leaves no slot and no command"
"$isochron" run --quiet "$url" -- true
! ls "$work" | grep -q isochron-run-
result $? "neither it nor one that ends leaves a folder"

"$isochron" run --start-postgres -- sh -c "psql -qX {URL} -c 'CREATE TABLE t (id int PRIMARY KEY, v int)' -c 'INSERT INTO t VALUES (1, 2)' && psql -qX -c 'SELECT v FROM t WHERE id = 1'" \
    >"$work/out" 2>"$work/err" && grep -q 'postgres, READ COMMITTED: 2 of 2 reads judged, none wrong' "$work/err" && ! ls "$work" | grep -q isochron-postgres &&
    ! "$isochron" run --postgres-version 1 -- true >"$work/out" 2>"$work/err" && grep -q 'PostgreSQL 1 is not installed' "$work/err"
result $? "a PostgreSQL of its own needs no URL, and leaves nothing" || said
"$isochron" run --start-postgres -- sleep 60 >"$work/out" 2>"$work/err" &
run=$!
for ((i = 0; i < 100; i++)); do pgrep -P $run sleep >/dev/null && break || sleep 0.1; done
server=$(pgrep -P $run postgres)
kill -9 $run
wait $run 2>/dev/null
for ((i = 0; i < 100; i++)); do kill -0 "$server" 2>/dev/null && sleep 0.1 || break; done
[ -n "$server" ] && ! kill -0 "$server" 2>/dev/null
result $? "and goes with a run that is killed"
