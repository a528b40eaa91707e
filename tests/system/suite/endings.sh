#!/bin/bash
# How `isochron run` ends: its status and --status-file, --allow-unjudged with --at-least, an interrupt, a command that leaves a process
# behind, a server that goes away. TAP on stdout.
#
#   BUILD=build tests/system/suite/endings.sh
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../support/servers.sh"
plan 8
postgres_start || exit 4
export TMPDIR=$work PSQLRC=/dev/null PGCONNECT_TIMEOUT=10
psql -qX "$url" -c "CREATE TABLE a (id int PRIMARY KEY, v int)" -c "INSERT INTO a VALUES (1, 1), (2, 2)" -c "CREATE TABLE changed (id int PRIMARY KEY, v int)" \
    -c "INSERT INTO changed VALUES (1, 1)" || exit 4
said() { sed 's/^/# /' "$work/err" | tail -5; }
run() { # OPTIONS... -- COMMAND: its status is `status`, what it wrote `work/err` and `work/status`
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    rm -f "$work/status"
    "$isochron" run --status-file "$work/status" "${options[@]}" "$url" "$@" >"$work/out" 2>"$work/err"
    status=$?
}
ended() { # STATUS VERDICT
    [ "$status" = "$1" ] && [ "$(cat "$work/status")" = "$2" ]
}

run -- psql -qX {URL} -c "SELECT v FROM a WHERE id = 1" && ended 0 "0 holds"
result $? "--status-file says what the exit status says" || said
run -- sh -c 'psql -qX "$1" -c "SELECT v FROM a WHERE id = 1"; exit 7' - {URL} && ended 7 "0 holds"
result $? "and the verdict where that is the command's" || said
run -- true && ended 3 "3 undecided: nothing-judged" && run --allow-unjudged -- true && ended 3 "3 undecided: nothing-judged"
result $? "nothing judged is undecided, also with --allow-unjudged" || said

# two reads of a table that was altered, and as many of one that was not
cat >"$work/altered.sh" <<'END'
psql -q "$1" -c "ALTER TABLE changed ADD IF NOT EXISTS w int DEFAULT 1" -c "ALTER TABLE changed DROP w"
for i in 1 2 3 4; do echo "SELECT pg_sleep(0.3); SELECT v FROM changed WHERE id = 1; SELECT v FROM a WHERE id = 1;"; done | psql -qX "$1"
END
wants_share() {
    run -- sh "$work/altered.sh" {URL} && ended 3 "3 undecided: schema" &&
        run --allow-unjudged --at-least 0.4 -- sh "$work/altered.sh" {URL} && ended 0 "0 holds" &&
        run --allow-unjudged --at-least 0.9 -- sh "$work/altered.sh" {URL} && ended 3 "3 undecided: too-few-judged"
}
wants_share
result $? "--allow-unjudged wants a share judged" || said

# a terminal's interrupt goes to all of its processes
cat >"$work/waits.sh" <<'END'
trap 'psql -qX "$1" -c "SELECT v FROM a WHERE id = 2"; exit 0' INT
psql -qX "$1" -c "SELECT v FROM a WHERE id = 1"
touch "$2"
while :; do sleep 0.1; done
END
interrupt() { # SIGNAL: to the group, or to the run alone
    rm -f "$work/there" "$work/status"
    setsid "$isochron" run --status-file "$work/status" "$url" -- bash "$work/waits.sh" {URL} "$work/there" >"$work/out" 2>"$work/err" &
    local run=$!
    for ((i = 0; i < 100; i++)); do [ -e "$work/there" ] && break || sleep 0.1; done
    kill -"$1" -- "$2$run"
    wait $run
    status=$?
}
interrupt INT - && ended 0 "0 holds" && grep -q 'READ COMMITTED: 4 of 4 reads judged, none wrong' "$work/err"
result $? "an interrupt is the command's, and what is there is judged" || said
interrupt TERM "" && ended 143 "0 holds" && grep -q 'READ COMMITTED: 2 of 2 reads judged, none wrong' "$work/err"
result $? "a request to end is passed on to it" || said

begun=$SECONDS
run -- sh -c '(psql -qX "$1" -c "SELECT v FROM a WHERE id = 1" -c "SELECT pg_sleep(20)" >/dev/null 2>&1 &) ; sleep 0.5' - {URL} && ended 0 "0 holds" &&
    grep -q ': 2 of 2 reads judged, none wrong' "$work/err" && [ $((SECONDS - begun)) -lt 10 ]
result $? "a process that the command leaves behind is not waited for" || said

cat >"$work/away.sh" <<'END'
psql -qX "$1" -c "UPDATE a SET v = 9 WHERE id = 1" -c "SELECT v FROM a WHERE id = 1"
sleep 1.3
psql -qX "$1" -c "SELECT v FROM a WHERE id = 1"
kill -9 $(head -1 "$2/postmaster.pid")
sleep 0.3
END
run -- sh "$work/away.sh" {URL} "$work/postgres/data" && ended 4 "4 failure: database-not-judged" && grep -q ': 2 of 2 reads judged, none wrong' "$work/err" &&
    grep -q 'postgres: not judged from there on' "$work/err"
result $? "where the server goes away it says what it knew by then, and that this is not all" || said
