#!/bin/bash
# isochron probe on a real PostgreSQL and a real MariaDB: what is known of each level is found, every time; what a level promises
# holds, also while connections die; nothing is left behind; and what goes wrong is said. TAP on stdout.
#
#   ISOCHRON=build/isochron tests/system/probe/known.sh [--rounds N] [--seconds S] [postgres|mariadb]      1 round of 2 seconds, both
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../support/servers.sh"
rounds=1 seconds=2 which=both
while [ $# -gt 0 ]; do
    case $1 in
    --rounds) rounds=$2 && shift ;;
    --seconds) seconds=$2 && shift ;;
    *) which=$1 ;;
    esac
    shift
done
. "$here/../../cli/data/broker.sh"
PATH=$build:$PATH

# Each round of it ends with that status; what was found is in $work/out of the last one.
probe() { # status name options...
    local expected=$1 name=$2 round status wrong=0
    shift 2
    for round in $(seq "$rounds"); do
        "$isochron" probe --seconds "$seconds" --seed "$round" --json "$@" "$url" >"$work/out" 2>"$work/err"
        status=$?
        [ "$status" = "$expected" ] && continue
        wrong=$((wrong + 1))
        echo "# round $round: status $status, expected $expected"
        sed 's/^/# /' "$work/err"
        head -c 2000 "$work/out" | sed 's/^/# /'
    done
    [ "$wrong" = 0 ]
    result $? "$name: $((rounds - wrong)) of $rounds"
}

counted() { # finding...: each was found
    local finding
    for finding; do
        jq -e --arg f "$finding" '.counts[$f] > 0' "$work/out" >/dev/null || return 1
    done
}

refused() { # status text name command...
    local expected=$1 text=$2 name=$3 status
    shift 3
    "$@" >"$work/out" 2>"$work/err"
    status=$?
    [ $status = "$expected" ] && grep -q -e "$text" "$work/err"
    result $? "$name" || { echo "# status $status"; sed 's/^/# /' "$work/err"; }
}

tables() {
    "$isochron" probe --list "$url" 2>&1 | tail -1
}

on_postgres() {
    postgres_start || exit 4
    port=$(sed 's/.*port=\([0-9]*\).*/\1/' <<<"$server")
    url=postgresql://postgres@127.0.0.1:$port/postgres
    probe 1 "PostgreSQL READ COMMITTED is not si" --level si --isolation 'read committed'
    counted LOSTUPDATE
    result $? "it loses updates"
    probe 0 "PostgreSQL REPEATABLE READ holds at si" --level si --isolation 'repeatable read'
    probe 1 "PostgreSQL REPEATABLE READ is not ser" --level ser --isolation 'repeatable read'
    probe 1 "by write skew" --level ser --isolation 'repeatable read' --workload skew
    jq -e '.violations[0].anomaly == "write-skew"' "$work/out" >/dev/null
    result $? "which has its name"
    probe 0 "PostgreSQL SERIALIZABLE holds at ser" --level ser --isolation serializable
    probe 0 "PostgreSQL REPEATABLE READ holds at si while connections die" --level si --isolation 'repeatable read' --chaos
    probe 0 "PostgreSQL SERIALIZABLE holds at ser while connections die" --level ser --isolation serializable --chaos
    [ "$(tables)" = "no tables of earlier runs are left" ]
    result $? "no table is left"
    psql -q "$server" -c 'CREATE USER reader' -c 'CREATE DATABASE rights'
    refused 4 "may CREATE TABLE" "a user without rights is told what it needs" "$isochron" probe "postgresql://reader@127.0.0.1:$port/rights"
    refused 4 "no connection" "a port where nobody listens" "$isochron" probe postgresql://postgres@127.0.0.1:1/postgres
    refused 4 "no connection.*does not exist" "a database that is not there" "$isochron" probe "postgresql://postgres@127.0.0.1:$port/nowhere"
    refused 2 "not the URL of a database" "what is no URL" "$isochron" probe history.jsonl
    refused 2 "did you mean" "a workload that is not there" "$isochron" probe --workload regsters "$url"
    refused 2 "no such level" "an isolation that is not there" "$isochron" probe --isolation snapshot "$url"
    # What it records is what it judged; a full disk leaves nothing half.
    "$isochron" probe --quiet --seconds 1 --isolation 'repeatable read' --record "$work/record.jsonl.zst" "$url" >"$work/out" 2>"$work/err" &&
        "$isochron" check --quiet "$work/record.jsonl.zst" >"$work/checked" && grep -q ^holds "$work/checked"
    result $? "check judges what was recorded, with the same answer" || cat "$work/err" "$work/checked"
    refused 4 "No space left" "a full disk for --record" "$isochron" probe --seconds 1 --isolation serializable --record /dev/full "$url"
    mkdir "$work/broker" && cd "$work/broker" && start_broker clients:2
    "$isochron" probe --quiet --seconds 1 --sessions 1 --isolation 'repeatable read' --record "$work/alone.jsonl" "$url" >"$work/out" 2>"$work/err" &&
        [ "$(jq -s 'map(.sid) | unique | length' "$work/alone.jsonl")" = 1 ]
    result $? "--sessions is how many there are" || { cat "$work/err"; jq -c .sid "$work/alone.jsonl" | sort | uniq -c; }
    "$isochron" probe --seconds "$seconds" --isolation 'read committed' --explain-most 1 "$url" >"$work/out" 2>"$work/err"
    [ "$(grep -c '^1[.] ' "$work/out")" = 1 ] && ! grep -q '^2[.] ' "$work/out"
    result $? "it explains as many violations as it is asked for" || head -c 2000 "$work/out"
    "$isochron" probe --quiet --seconds 1 --isolation 'repeatable read' --name trial --to kafka:clients --record "$work/published.jsonl" \
        -X "bootstrap.servers=$address" "$url" >"$work/out" 2>"$work/err" &&
        consume clients | sort | cmp - <(sort "$work/published.jsonl") && grep -q '"k":"public.isochron_probe_trial_counter/' "$work/published.jsonl"
    result $? "--to publishes what --record writes, with the keys of a change stream" || cat "$work/err"
    exec 3>&-
    cd / || exit 4
    "$isochron" probe --seconds 60 --quiet "$url" >"$work/out" 2>"$work/err" &
    sleep 1
    kill -INT $!
    wait $!
    [ $? = 1 ] && grep -q ^violated "$work/out" && [ "$(tables)" = "no tables of earlier runs are left" ]
    result $? "Ctrl-C ends it with a verdict, and without tables"
    "$isochron" probe --seconds 60 "$url" >/dev/null 2>&1 &
    sleep 1
    tables | grep -q "no tables" # of a run that lives
    result $? "tables of a run that lives are not left over"
    kill -KILL $!
    wait $! 2>/dev/null
    until tables | grep -q '^isochron_probe'; do sleep 0.1; done
    "$isochron" probe --drop-leftovers "$url" | grep -c '^isochron_probe' | grep -q '^7$' && tables | grep -q "no tables"
    result $? "those of one that was killed are named, and dropped"
    # The server dies in the middle.
    "$isochron" probe --seconds 30 --isolation serializable "$url" >"$work/out" 2>"$work/err" &
    sleep 1.5
    kill -KILL "$(head -1 "$work/postgres/data/postmaster.pid")"
    sleep 0.2 # its children end by themselves
    wait $!
    [ $? = 4 ] && grep -q "no connection" "$work/err" && grep -q "left behind: isochron_probe" "$work/err" && grep -q ^holds "$work/out"
    result $? "a server that dies is told, with the verdict until then" || { cat "$work/err" "$work/out" | sed 's/^/# /'; }
}

on_mariadb() {
    port=$("$here/../mariadb/server.sh" start "$work/mariadb") || exit 4
    mariadb --no-defaults -S "$work/mariadb/socket" -u root -e 'CREATE DATABASE test'
    export MYSQL_PWD=isochron
    url=mysql://isochron@127.0.0.1:$port/test
    probe 1 "MariaDB READ UNCOMMITTED is not si" --level si --isolation 'read uncommitted'
    counted G1a
    result $? "it shows what was rolled back (G1a)"
    probe 1 "MariaDB READ COMMITTED is not si" --level si --isolation 'read committed'
    probe 1 "MariaDB REPEATABLE READ is not si" --level si --isolation 'repeatable read'
    counted LOSTUPDATE
    result $? "it loses updates"
    probe 0 "MariaDB SERIALIZABLE holds at ser" --level ser --isolation serializable
    probe 0 "MariaDB SERIALIZABLE holds at ser while connections die" --level ser --isolation serializable --chaos
    [ "$(tables)" = "no tables of earlier runs are left" ]
    result $? "no table is left"
    refused 4 "Access denied" "a wrong password" env MYSQL_PWD=wrong "$isochron" probe "$url"
    refused 2 "names no database" "a URL without a database" "$isochron" probe "mysql://isochron@127.0.0.1:$port"
    refused 4 "no connection" "a port where nobody listens" "$isochron" probe mysql://isochron@127.0.0.1:1/test
}

case $which in
postgres) plan 25 && on_postgres ;;
mariadb) plan 11 && on_mariadb ;;
*) plan 36 && on_postgres && on_mariadb ;;
esac
exit 0
