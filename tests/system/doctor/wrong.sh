#!/bin/bash
# isochron doctor on a real PostgreSQL and MariaDB and a broker: a right set-up is ready; of each of many wrong ones it says what is
# wrong, and what it prints as the mend mends it. TAP on stdout.
#
#   BUILD=build ISOCHRON=build/isochron tests/system/doctor/wrong.sh
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../support/servers.sh"
. "$here/../../cli/data/broker.sh"
PATH=$build:$PATH
mkdir "$work/broker" && cd "$work/broker" || exit 4

plan 38
doctor() { # option...: its JSON in $work/out
    "$isochron" doctor --json "$@" "$url" >"$work/out" 2>"$work/err"
}

is_ready() { # name option...
    local name=$1
    shift
    doctor "$@"
    [ $? = 0 ]
    result $? "$name" || { cat "$work/err"; jq -r '.findings[] | .weight + " " + .about' "$work/out" | sed 's/^/# /'; }
}

# The finding is there, with that weight; its mend is in $mend.
names() { # weight text
    mend=$(jq -r --arg w "$1" --arg t "$2" '[.findings[] | select(.weight == $w and (.about | contains($t)))][0].mend // ""' "$work/out")
    jq -e --arg w "$1" --arg t "$2" '.findings | any(.weight == $w and (.about | contains($t)))' "$work/out" >/dev/null
}

sql() { psql -qAtX -v ON_ERROR_STOP=1 "$server dbname=shop" -c "$1"; }

# Breaks it, wants it named, runs what it prints as the mend, and wants it ready again.
wrong() { # weight text statement
    sql "$3" >/dev/null && doctor --history clients -X "bootstrap.servers=$address"
    [ $? = 3 ] && names "$1" "$2" && sql "$mend" >/dev/null && doctor --history clients -X "bootstrap.servers=$address"
    result $? "$2" || { echo "# mend: $mend"; cat "$work/err"; jq -r '.findings[] | .weight + " " + .about' "$work/out" | sed 's/^/# /'; }
}

# ---- PostgreSQL ----

postgres_start || exit 4
port=$(sed 's/.*port=\([0-9]*\).*/\1/' <<<"$server")
url=postgresql://postgres@127.0.0.1:$port/shop
start_broker shop.public.acct:1 shop.public.parted:1 shop.transaction:1 clients:1 plain.public.acct:1 bare.public.acct:1 \
    other.public.acct:1 other.transaction:1 lame.public.acct:1
psql -q "$server" -c "CREATE DATABASE shop" -c "ALTER DATABASE shop SET default_transaction_isolation = 'repeatable read'"
sql "CREATE TABLE acct (id bigint PRIMARY KEY, balance bigint); ALTER TABLE acct REPLICA IDENTITY FULL;
    CREATE TABLE parted (id bigint PRIMARY KEY, a int, b int) PARTITION BY RANGE (id);
    CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (100); ALTER TABLE parted_1 REPLICA IDENTITY FULL;
    CREATE PUBLICATION dbz_publication FOR TABLE acct, parted WITH (publish_via_partition_root = true)"
envelope='{"before":{"id":1,"balance":5},"after":{"id":1,"balance":7},"source":{"connector":"CONNECTOR","name":"shop","snapshot":"false","sequence":"[null,\"100\"]","schema":"public","table":"acct","txId":7,"lsn":100},"op":"u","transaction":TRANSACTION}'
record() { sed "s/CONNECTOR/$1/; s/TRANSACTION/$2/" <<<"$envelope"; }
record postgresql '{"id":"7:1"}' | sed 's/^/{"id":1}|/' | kcat -b "$address" -P -t shop.public.acct -p 0 -K '|' 2>/dev/null
echo '{"schema":null,"payload":'"$(record postgresql '{"id":"7:1"}' | sed 's/"acct"/"parted"/')"'}' | sed 's/^/{"id":1}|/' | kcat -b "$address" -P -t shop.public.parted -p 0 -K '|' 2>/dev/null
record postgresql null | publish plain.public.acct 0
echo '{"id":1,"balance":7}' | publish bare.public.acct 0
record mysql '{"id":"x"}' | publish other.public.acct 0
record postgresql null | publish lame.public.acct 0

follow() { # slot
    "$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)/pg_recvlogical" -d "$server dbname=shop" --slot "$1" --create-slot --if-not-exists \
        --start -P pgoutput -o proto_version=1 -o publication_names=dbz_publication -f /dev/null >/dev/null 2>&1 &
    follower=$!
    until [ "$(sql "SELECT active FROM pg_replication_slots WHERE slot_name = '$1'")" = t ]; do sleep 0.1; done
}
is_ready "a database that nobody follows yet is ready"
follow isochron
is_ready "a right set-up is ready" --history clients -X "bootstrap.servers=$address"
jq -r .watch "$work/out" >"$work/watch"
[ "$(cat "$work/watch")" = "isochron watch --source debezium:shop.public.acct,value=balance,identity=full --source debezium:shop.public.parted,cells=true,identity=full --source debezium:shop.transaction --source history:clients --wait-for-topics -X bootstrap.servers=$address" ]
result $? "the watch command fits" || sed 's/^/# /' "$work/watch"
timeout 20 bash -c "$(sed "s#^isochron#$isochron#; s/\$/ --until-eof --quiet/" "$work/watch")" >"$work/log" 2>&1
[ $? = 3 ] || [ $? = 0 ]
result $? "and watch takes it" || sed 's/^/# /' "$work/log"
sql "ALTER DATABASE shop SET default_transaction_isolation = 'read committed'"
doctor --history clients; jq -re .watch "$work/out" | grep -q ' --level rc '
result $? "of transactions at READ COMMITTED that is the level" && sql "ALTER DATABASE shop SET default_transaction_isolation = 'repeatable read'"

wrong weak "REPLICA IDENTITY is not FULL: acct" "ALTER TABLE acct REPLICA IDENTITY DEFAULT"
wrong wrong "REPLICA IDENTITY is NOTHING: acct" "ALTER TABLE acct REPLICA IDENTITY NOTHING"
wrong weak "REPLICA IDENTITY is not FULL: parted_1" "ALTER TABLE parted_1 REPLICA IDENTITY DEFAULT"
wrong wrong "publication dbz_publication lacks public.acct" "ALTER PUBLICATION dbz_publication DROP TABLE acct"
wrong wrong "does not publish insert, update, delete and truncate" "ALTER PUBLICATION dbz_publication SET (publish = 'insert, update')"
wrong wrong "says the partitions: public.parted" "ALTER PUBLICATION dbz_publication SET (publish_via_partition_root = false)"
wrong weak "transactions run at read committed" "ALTER DATABASE shop SET default_transaction_isolation = 'read committed'"
# Mends that have a word to be filled in.
named() { # weight text statement undo
    sql "$3" >/dev/null
    doctor --history clients -X "bootstrap.servers=$address"
    [ $? = 3 ] && names "$1" "$2" && [ -n "$mend" ] && sql "$4" >/dev/null && doctor --history clients -X "bootstrap.servers=$address"
    result $? "$2" || { echo "# mend: $mend"; jq -r '.findings[] | .weight + " " + .about' "$work/out" | sed 's/^/# /'; }
}
named wrong "unlogged: acct" "ALTER PUBLICATION dbz_publication DROP TABLE acct; ALTER TABLE acct SET UNLOGGED" "ALTER TABLE acct SET LOGGED; ALTER PUBLICATION dbz_publication ADD TABLE acct"
named weak "no primary key: public.bare" "CREATE TABLE bare (a int); ALTER TABLE bare REPLICA IDENTITY FULL; ALTER PUBLICATION dbz_publication ADD TABLE bare" "DROP TABLE bare"
named weak "lists columns: public.acct" "ALTER PUBLICATION dbz_publication SET TABLE acct (id), parted" "ALTER PUBLICATION dbz_publication SET TABLE acct, parted"
named wrong "has a row filter: public.acct" "ALTER PUBLICATION dbz_publication SET TABLE acct WHERE (id > 5), parted" "ALTER PUBLICATION dbz_publication SET TABLE acct, parted"
named wrong "there is no publication" "DROP PUBLICATION dbz_publication" "CREATE PUBLICATION dbz_publication FOR ALL TABLES WITH (publish_via_partition_root = true)"
sql "ALTER TABLE acct ADD doubled bigint GENERATED ALWAYS AS (balance * 2) STORED; ALTER TABLE acct ENABLE ROW LEVEL SECURITY"
doctor && names note "generated columns: public.acct.doubled" && names note "row level security: public.acct"
result $? "what the stream leaves out is noted" && sql "ALTER TABLE acct DROP doubled; ALTER TABLE acct DISABLE ROW LEVEL SECURITY"
# Names that are SQL, words of a shell, and what a terminal obeys: what is printed means the names, and nothing else.
hostile="a'b\"; DROP TABLE acct; --"
quoted=\"${hostile//\"/\"\"}\"
sql "CREATE TABLE $quoted (id int PRIMARY KEY, \"\$(touch $work/ran)\" int); ALTER TABLE $quoted REPLICA IDENTITY FULL"
wrong weak "REPLICA IDENTITY is not FULL: $quoted" "ALTER TABLE $quoted REPLICA IDENTITY DEFAULT"
doctor --publication "p'; DROP TABLE acct; --%s\""
names wrong "there is no publication p'" && sql "$mend" >/dev/null && [ "$(sql "SELECT count(*) FROM pg_publication WHERE pubname LIKE 'p''; DROP%'")" = 1 ] &&
    [ "$(sql "SELECT count(*) FROM acct")" = 0 ] && sql "DROP PUBLICATION \"p'; DROP TABLE acct; --%s\"\"\""
result $? "a publication's name stays one" || echo "# mend: $mend"
doctor --history "c; touch $work/ran" -X "bootstrap.servers=$address"
bash -c "isochron() { printf '%s\n' \"\$@\"; }; $(jq -r .watch "$work/out")" >"$work/words"
grep -qxF "debezium:shop.public.$hostile,value=\$(touch $work/ran),identity=full" "$work/words" && grep -qxF "history:c; touch $work/ran" "$work/words" && [ ! -e "$work/ran" ]
result $? "the watch command is quoted for the shell" || sed 's/^/# /' "$work/words"
sql "DROP TABLE $quoted; CREATE TABLE \"x$(printf '\033')[2Jy
       mend:  rm\" (a int)"
"$isochron" doctor "$url" >"$work/out"
grep -q 'x\\u001b\[2Jy\\u000a       mend:  rm' "$work/out" && ! grep -q "$(printf '\033')" "$work/out"
result $? "what a terminal obeys is visible, and no name makes a line" || cat -v "$work/out"
sql "DROP TABLE \"x$(printf '\033')[2Jy
       mend:  rm\""
kill $follower
until [ "$(sql "SELECT active FROM pg_replication_slots WHERE slot_name = 'isochron'")" = f ]; do sleep 0.1; done
doctor
[ $? = 3 ] && names wrong "replication slot isochron is not in use"
result $? "a slot that nobody follows" && sql "SELECT pg_drop_replication_slot('isochron')" >/dev/null
sql "SELECT pg_create_physical_replication_slot('p' || i) FROM generate_series(1, 12) i" >/dev/null
doctor
[ $? = 3 ] && names wrong "no replication slot is free"
result $? "no room for another slot" && sql "SELECT pg_drop_replication_slot('p' || i) FROM generate_series(1, 12) i" >/dev/null
psql -q "$server" -c "CREATE USER reader"
url=postgresql://reader@127.0.0.1:$port/shop
doctor
names note "does not see what others run" && psql -q "$server" -c "$mend" && { doctor; ! names note "does not see what others run"; }
result $? "a user without pg_read_all_stats"
url=postgresql://postgres@127.0.0.1:$port/shop
kafka() { # weight text prefix
    doctor --prefix "$3" --table acct --history clients -X "bootstrap.servers=$address"
    [ $? = 3 ] && names "$1" "$2" && [ -n "$mend" ]
    result $? "$2" || jq -r '.findings[] | .weight + " " + .about' "$work/out" | sed 's/^/# /'
}
kafka wrong "the records say nothing of transactions" plain
kafka wrong "are not Debezium's envelope" bare
kafka wrong "of the connector mysql" other
doctor --prefix nobody --table acct --history nowhere -X "bootstrap.servers=$address"
names note "tables without topics: public.acct" && names weak "there is no topic nowhere yet"
result $? "topics that are not there"
doctor --table missing
[ $? = 3 ] && names wrong "table missing is not there"
result $? "a table that is not there"
"$isochron" doctor -X bootstrap.servers=127.0.0.1:1 "$url" >"$work/out" 2>"$work/err"
[ $? = 4 ] && grep -q "127.0.0.1:1" "$work/err" && [ ! -s "$work/out" ]
result $? "a broker that does not answer"
sql "ALTER SYSTEM SET wal_level = 'replica'" && "$here/../postgres/cluster.sh" stop "$work/postgres" &&
    "$here/../postgres/cluster.sh" start "$work/postgres" >/dev/null
doctor
[ $? = 3 ] && names wrong "wal_level is replica" && sql "$mend" && "$here/../postgres/cluster.sh" stop "$work/postgres" &&
    "$here/../postgres/cluster.sh" start "$work/postgres" >/dev/null && doctor
result $? "wal_level is replica"

# ---- MariaDB ----

port=$("$here/../mariadb/server.sh" start "$work/mariadb" innodb-snapshot-isolation=ON) || exit 4
export MYSQL_PWD=isochron
url=mysql://isochron@127.0.0.1:$port/shop
sql() { MYSQL_PWD= mariadb --no-defaults -S "$work/mariadb/socket" -u root -e "$1"; }
sql "CREATE DATABASE shop; CREATE TABLE shop.acct (id bigint PRIMARY KEY, balance bigint)"
is_ready "MariaDB: a right set-up is ready"
maria() { # weight text statement
    sql "$3"
    doctor
    [ $? = 3 ] && names "$1" "$2" && sql "USE shop; $mend" && doctor
    result $? "MariaDB: $2" || { echo "# mend: $mend"; jq -r '.findings[] | .weight + " " + .about' "$work/out" | sed 's/^/# /'; }
}
maria wrong "binlog_format is MIXED, not ROW" "SET GLOBAL binlog_format = MIXED"
maria wrong "binlog_row_image is MINIMAL, not FULL" "SET GLOBAL binlog_row_image = MINIMAL"
maria wrong "tables without transactions: acct" "ALTER TABLE shop.acct ENGINE = MyISAM"
sql "CREATE TABLE shop.bare (a int)"
doctor
[ $? = 3 ] && names weak "no primary key: bare"
result $? "MariaDB: no primary key" && sql "DROP TABLE shop.bare"
maria weak "transactions run at READ-COMMITTED" "SET GLOBAL tx_isolation = 'READ-COMMITTED'"
exit 0
