#!/bin/bash
# The set-ups as docs/attach-*.md print them: their statements, grants and connector properties, on real databases with Debezium, until
# a row comes out at Kafka and `watch` has judged it. Only hosts, ports, folders and numbers of servers are others. TAP on stdout.
#
#   ISOCHRON=build/isochron tests/system/kafka/documented.sh
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../support/servers.sh"
docs=$here/../../../docs
connect=$here/../../../deploy/debezium/connect.sh
plan 8

servers_stop() {
    "$connect" kill "$work/connect-mysql"
    "$connect" kill "$work/connect-postgresql"
    "$here/../mariadb/server.sh" stop "$work/mariadb"
    "$here/../postgres/cluster.sh" stop "$work/postgres"
    "$here/broker.sh" stop "$work/broker"
}

# The first block of a language in the section on the change feed.
block() { # PAGE LANGUAGE
    awk -v language="$2" '/^## / { inside = $2 == "1." } inside && $0 == "```" language { taken = 1; next }
        taken && /^```/ { exit } taken' "$docs/attach-$1.md"
}

# A connector's properties as printed, where the database is, and the lines of what a table of one row and one more become.
properties() { # PAGE PORT
    block "$1" properties | sed -e "s/^database.hostname=.*/database.hostname=127.0.0.1/" -e "/^database.port=/d" \
        -e "s#/var/lib/connect#$work/connect-$1#"
    echo "database.port=$2"
}

# Until the row is there, or a minute has passed.
has_row() { # TOPIC
    local tries=0
    until kcat -C -b "$address" -t "$1" -o beginning -e -q 2>/dev/null | grep -q '"v":42'; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || return 1
        sleep 0.2
    done
}

judged() { # SOURCE...
    timeout 120 "$isochron" watch "$@" --until-eof --json -X "bootstrap.servers=$address" 2>"$work/said" >"$work/verdict"
    [ "$(jq -r .verdict "$work/verdict")" = holds ] || sed 's/^/# /' "$work/said" "$work/verdict"
    jq -e '.verdict == "holds" and .transactions > 0' "$work/verdict" >/dev/null
}

address=$("$here/broker.sh" start "$work/broker")
result $? "Kafka runs" || exit 1

port=$("$here/../mariadb/server.sh" start "$work/mariadb")
root() { mariadb --no-defaults -S "$work/mariadb/socket" -u root "$@"; }
root -e 'CREATE DATABASE shop; CREATE TABLE shop.kv (k int PRIMARY KEY, v bigint); INSERT INTO shop.kv VALUES (1, 5)' &&
    block mysql sql | root
result $? "MariaDB takes the statements of its page"
wanted=$(block mysql ini | sed -n 's/ //g; s/^\(binlog[^=]*\)=/\1=/p')
[ -n "$wanted" ] && ! grep -v -x -F -f "$work/mariadb/my.cnf" <<<"$wanted"
result $? "and has the settings that the page asks for"
properties mysql "$port" >"$work/mysql.properties"
"$connect" start "$work/connect-mysql" "$address" "$work/mysql.properties" &&
    until root -N -e 'SHOW PROCESSLIST' | grep -q 'Binlog Dump'; do sleep 0.2; done &&
    root shop -e 'UPDATE kv SET v = 42 WHERE k = 1' && has_row shop.shop.kv
result $? "its connector starts with that user, and delivers a change" || tail -n 3 "$work/connect-mysql/log" | cut -c 1-400 | sed 's/^/# /'
judged --source debezium:shop.shop.kv,value=v --source debezium:shop.transaction
result $? "which holds"
"$connect" kill "$work/connect-mysql"

server=$("$here/../postgres/cluster.sh" start "$work/postgres")
port=$(sed 's/.*port=\([0-9]*\).*/\1/' <<<"$server")
psql -q "$server" -c 'CREATE DATABASE shop' && database="$server dbname=shop"
psql -q "$database" -c 'CREATE TABLE kv (k int PRIMARY KEY, v bigint)' -c 'INSERT INTO kv VALUES (1, 5)' &&
    block postgresql sql >"$work/postgresql.sql" && psql -q -v ON_ERROR_STOP=1 "$database" -f "$work/postgresql.sql" >/dev/null
result $? "PostgreSQL takes the statements of its page"
# The topics are the other page's, too, but for the database's name in them.
properties postgresql "$port" >"$work/postgresql.properties"
"$connect" start "$work/connect-postgresql" "$address" "$work/postgresql.properties" &&
    until [ "$(psql -qAt "$server" -c 'SELECT count(*) FROM pg_replication_slots WHERE active')" = 1 ]; do sleep 0.2; done &&
    psql -q "$database" -c 'UPDATE kv SET v = 42 WHERE k = 1' && has_row shop.public.kv
result $? "its connector starts with that role, and delivers a change" || tail -n 3 "$work/connect-postgresql/log" | cut -c 1-400 | sed 's/^/# /'
timeout 60 kcat -C -b "$address" -t shop.public.kv -o beginning -e -q 2>/dev/null | tail -n 1 | jq -e '.before.v == 5 and .after.v == 42' >/dev/null
result $? "with the row that it replaced"
