#!/bin/bash
# kill -9 of the run, of its command and of the server (also one of the run's own) at random moments: no slot, process, database or
# folder is left behind, and the database has what the application was told that it has. TAP on stdout.
#
#   BUILD=build tests/system/suite/killed.sh [--rounds N] [--seed S]
set -u
here=$(cd "$(dirname "$0")" && pwd)
rounds=6 seed=1
while [ $# -gt 1 ]; do
    case $1 in --rounds) rounds=$2 ;; --seed) seed=$2 ;; esac
    shift 2
done
. "$here/../../support/servers.sh"
plan 4
postgres_start || exit 4
export TMPDIR=$work PSQLRC=/dev/null PGCONNECT_TIMEOUT=10
RANDOM=$seed

# writes down each number that was committed
cat >"$work/application.sh" <<'SH'
i=0
while psql -qX "$1" -c "INSERT INTO kept VALUES ($i)" >/dev/null 2>&1; do echo $i >>"$2"; i=$((i + 1)); done
SH
ask() { psql -qAtX "$url" -c "$1"; }
pick() { # RUN: whom to kill
    case $((RANDOM % 3)) in
    0) echo "$1" ;;
    1) pgrep -P "$1" -f application.sh ;;
    2) head -1 "$work/postgres/data/postmaster.pid" ;;
    esac
}
kept_all() { # each that was told is there; of others only the last one may be
    ask "SELECT id FROM kept ORDER BY id" >"$work/there"
    sort -n "$work/told" | cmp -s - <(head -n "$(wc -l <"$work/told")" "$work/there") &&
        [ $(($(wc -l <"$work/there") - $(wc -l <"$work/told"))) -le 1 ]
}
nothing_runs() {
    ! pgrep -f "$work/application.sh" >/dev/null && ! pgrep -f "$work/isochron-" >/dev/null && ! ls "$work" | grep -q '^isochron-'
}
nothing_left() {
    for ((i = 0; i < 100; i++)); do
        [ "$(ask "SELECT count(*) FROM pg_replication_slots")" = 0 ] && [ "$(ask "SELECT count(*) FROM pg_database")" = 3 ] &&
            [ "$(ask "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'isochron'")" = 0 ] && nothing_runs && return
        sleep 0.1
    done
    return 1
}

lost=0 left=0 accused=0
for ((round = 0; round < rounds; round++)); do
    ask "DROP TABLE IF EXISTS kept" 2>/dev/null
    ask "CREATE TABLE kept (id int PRIMARY KEY)"
    : >"$work/told"
    "$isochron" run "$url" -- sh "$work/application.sh" {URL} "$work/told" >"$work/out" 2>"$work/err" &
    run=$!
    for ((i = 0; i < 200; i++)); do [ -s "$work/told" ] && break || sleep 0.05; done
    sleep "0.$((RANDOM % 900 + 100))"
    victim=$(pick $run)
    [ -n "$victim" ] && kill -9 "$victim"
    wait $run 2>/dev/null
    [ $? = 1 ] && accused=$((accused + 1))
    psql -qAtX "$url" -c "SELECT 1" >/dev/null 2>&1 || { "$here/../postgres/cluster.sh" stop "$work/postgres" >/dev/null 2>&1 && postgres_start || exit 4; }
    nothing_left || left=$((left + 1))
    kept_all || lost=$((lost + 1))
done 2>/dev/null
[ $lost = 0 ]
result $? "what the application was told that it committed is there, in $rounds rounds from seed $seed"
[ $left = 0 ]
result $? "no slot, database, process or folder is left" || ls "$work" | sed 's/^/# /'

# a run with a server of its own
own=0
for victim in run command server; do
    "$isochron" run --start-postgres -- sleep 60 >"$work/out" 2>"$work/err" &
    run=$!
    for ((i = 0; i < 200; i++)); do pgrep -P $run sleep >/dev/null && break || sleep 0.05; done
    case $victim in run) kill -9 $run ;; command) pkill -9 -P $run sleep ;; server) pkill -9 -P $run postgres ;; esac
    [ $victim = server ] && sleep 0.2 && pkill -9 -P $run sleep # it would go on
    wait $run
    for ((i = 0; i < 100; i++)); do nothing_runs && break || sleep 0.1; done
    nothing_runs || own=$((own + 1))
done 2>/dev/null
[ $own = 0 ]
result $? "nor of a server of the run's own" || { ls "$work"; pgrep -af "$work/isochron-"; } | sed 's/^/# /'
[ $accused = 0 ]
result $? "nobody is accused"
