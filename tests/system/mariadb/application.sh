#!/bin/bash
# An application as people write them, on MariaDB -> Debezium -> Kafka: joined by markers, by GTID, and by snapshots, while the log changes
# its files and tables change theirs; LOAD DATA and XA. It is right, and must not be accused; what a level does not promise, and what is
# planted, must be found, and nothing else: the binlog itself, read by mariadb-binlog, says what. TAP on stdout.
#
#   ISOCHRON=build/isochron [EFFORT=long] tests/system/mariadb/application.sh
#
# EFFORT=long: more transactions, and server, connector and checker are killed, and the server fails over to a replica, while it runs.
set -u
here=$(cd "$(dirname "$0")" && pwd)
long=${EFFORT:-}
many=60
[ "$long" != long ] || many=600
prefix=app
. "$here/../../support/opening.sh"
. "$here/chain.sh"

chain_stop() {
    [ ! -f "$work/checker" ] || kill -KILL "$(cat "$work/checker")" 2>/dev/null
    "$connect" stop "$work/connect"
    "$here/server.sh" stop "$work/one"
    "$here/server.sh" stop "$work/two"
    "$here/../kafka/broker.sh" stop "$work/broker"
}

databases=(mark gtid snap lost xa)
declare -A tables=([mark]="account item kv bulk churn" [gtid]="account item kv" [snap]="account item kv bulk churn"
    [lost]="account item kv bulk" [xa]="account item kv bulk")

connector_options() {
    echo skipped.operations=none
}

change_row() {
    sql mark -e "REPLACE INTO drain VALUES (0, $(date +%s%N))"
}

# What is committed must be on disk, since servers are killed.
start_server() { # name id setting...
    "$here/server.sh" start "$work/$1" "server-id=$2" sync-binlog=1 innodb-flush-log-at-trx-commit=1 "${@:3}"
}

start_replica() {
    local first=$port
    port=$(start_server two 2 log-slave-updates gtid-strict-mode read-only) || return 1
    sql -e "RESET MASTER; SET GLOBAL gtid_slave_pos = '$(port=$first sql -N -e 'SELECT @@gtid_binlog_pos')';
        CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = $first, MASTER_USER = 'isochron', MASTER_PASSWORD = 'isochron',
            MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1; START SLAVE" || return 1
    port=$first
}

# Records go to a topic as they come, and to a file.
application() { # database name option...
    local database=$1 name=$2
    shift 2
    "$here/application.py" --port "$port" --moved "$work/moved" --calm "$work/calm" --database "$database" "$@" 2>"$work/$name.counts" |
        tee "$work/$name.records" | kcat -b "$address" -P -t "$database.clients" -p 0
    [ "${PIPESTATUS[0]}" = 0 ]
    local status=$?
    echo "# $name: $(tail -1 "$work/$name.counts")"
    return $status
}

attach() { # database [option]: what is said on the first source
    local name
    sources=()
    for name in ${tables[$1]}; do
        sources+=(--source "debezium:app.$1.$name,value=v${2:-}")
    done
    sources+=(--source "debezium:app.$1.tx_marker,marker=$1.tx_marker.tid"
        --source debezium:app.transaction --source debezium:app --source "history:${clients:-$1.clients}")
}

binlog() { # level name database: what the log says of the records
    "$here/binlog.py" "$1" "$work/$2.records" "$3" "$work"/one/data/binlog.0* $([ ! -d "$work/two" ] || echo "$work"/two/data/binlog.0*) >"$work/$2.log"
}

# Isochron finds at si what the log says, and nothing else. Snapshots almost always are what the server says, and the log knows when they
# are not: a session that asks at once with another may get its position (docs/attach-mysql.md).
same_as_log() { # name what
    local reads='[.violations[] | select(.axiom == "EXT" or .axiom == "INT") | .tids[]] | unique'
    local conflicts='[.violations[] | select(.axiom == "NOCONFLICT") | [.tids[0], .tids[1], .key]] | sort'
    local expected
    expected=$(jq -c '[(if .reads == [] and .conflicts == [] then "holds" else "violated" end), .reads, .conflicts, []]' "$work/$1.log")
    echo "# $1: $(jq -c '{reads: (.reads | length), conflicts: (.conflicts | length)}' "$work/$1.log") $(jq -c .counts "$work/$1")"
    is "$1" "$(jq -r 'if .reads == [] and .conflicts == [] then 0 else 1 end' "$work/$1.log") $expected" \
        "[.verdict, ($reads), ($conflicts), [.violations[] | select(.axiom | IN(\"EXT\", \"INT\", \"NOCONFLICT\") | not)]]" \
        "at si is found what the log says, and nothing else, $2"
}

log_says() { # name expected expression what
    local found
    found=$(jq -c "$3" "$work/$1.log")
    [ "$found" = "$2" ]
    result $? "$4" || cut -c1-1500 "$work/$1.log" | sed 's/^/# /'
}

holds='0 ["holds",[]]'
right='[[],[],[]]'
contradictions='[.reads, .writes, .conflicts]'

address=$("$here/../kafka/broker.sh" start "$work/broker") && port=$(start_server one 1) || exit 1
if [ "$long" = long ]; then start_replica || exit 1; fi
for database in "${databases[@]}"; do
    "$here/application.py" --port "$port" --database "$database" --create || exit 1
done
start_connector && wait_until "the connector at the log" is_followed
result $? "MariaDB, Kafka and Connect with Debezium run" || exit 1
drain
echo "# after $SECONDS s"

# ---- serializable, by markers: everything happens to it ----

attach mark
disturb() {
    sleep 3
    "$connect" kill "$work/connect"
    start_connector
    sleep 2
    kill_checker
    watch_state
    sleep 1
    "$here/server.sh" stop "$work/one" # SIGKILL
    start_server one 1 >/dev/null
    "$connect" kill "$work/connect"
    start_connector
    sleep 2
    fail_over
    sleep 2
    kill_checker
    watch_state
}

# Nobody commits any more; the replica has everything; then the server is gone for good.
fail_over() {
    local last
    # Debezium does not know how far its history of schemas goes in another server's log: what it reads again there must be of today's
    # tables. It notes every two seconds where it is.
    touch "$work/calm"
    sleep 6
    coproc lock { sql -N --unbuffered; }
    echo 'FLUSH TABLES WITH READ LOCK; SELECT "locked";' >&"${lock[1]}"
    read -r _ <&"${lock[0]}"
    last=$(sql -N -e 'SELECT @@gtid_binlog_pos')
    [ "$(port=$(cat "$work/two/port") sql -N -e "SELECT MASTER_GTID_WAIT('$last', 60)")" = 0 ] || echo "# the replica is behind $last"
    wait_until "$last on Kafka" has_ended "$last"
    "$connect" kill "$work/connect"
    "$here/server.sh" stop "$work/one"
    port=$(cat "$work/two/port")
    sql -e 'STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = 0'
    echo "$port" >"$work/moved"
    start_connector
    sleep 6
    rm "$work/calm"
}

# A checker that goes on where the last one was killed. It is a process of its own, since the one that starts it may end before.
watch_state() {
    watch_live live --level ser --state "$work/state" --wait-for-topics
    echo "$watcher" >"$work/checker"
}

kill_checker() {
    kill -KILL "$(cat "$work/checker")" || sed 's/^/# /' "$work/live.err"
}

if [ "$long" = long ]; then
    watch_state
    disturb >"$work/disturbed" 2>&1 &
    disturbing=$!
fi
application mark mark --transactions "$((many * 2))" --churn 0.2 $([ "$long" != long ] || echo --pause 0.02)
result $? "the application runs and records itself"
if [ "$long" = long ]; then
    wait $disturbing
    cat "$work/disturbed"
    port=$(cat "$work/moved")
    result $? "while connector, server and checker are killed and a replica takes over"
fi
drain
binlog ser mark mark
log_says mark "$right" "$contradictions" "it is right, says its binlog"
judge mark --level ser
is mark "$holds" "$verdict_and_counts" "SERIALIZABLE holds by markers, with changes of files and tables, and LOAD DATA"
is mark "0 $(jq .joined "$work/mark.log")" .join.joined "where every transaction of the log is joined"
if [ "$long" = long ]; then
    kill_checker
    watch_state
    wait_until "the checker's page" curl -s -o "$work/page" "http://127.0.0.1:$(cat "$work/live.listen")/metrics"
    end_live live mark
    is live "$holds" "$verdict_and_counts" "so says the one that was killed"
    is live "0 $(jq .transactions "$work/mark")" .transactions "of as many transactions"
fi

# ---- by GTID ----

application gtid gtid --join gtid --transactions "$many" --seed 2
result $? "the application runs by GTID"
# ---- snapshots ----
# After a failover a place is one in two logs.
[ "$long" = long ] && place=snapshot || place=position
application snap position --join "$place" --isolation "REPEATABLE READ" --snapshot-isolation ON --transactions "$many" --seed 3 --churn 0.5 &&
    application snap snapshot --join snapshot --isolation "REPEATABLE READ" --snapshot-isolation ON --transactions "$many" --seed 4
result $? "and with consistent snapshots"
cat "$work/position.records" "$work/snapshot.records" >"$work/snap.records"
application lost lost --join "$place" --isolation "REPEATABLE READ" --snapshot-isolation OFF --transactions "$many" --seed 5
result $? "and where they are not kept"
application xa xa --xa --transactions "$many" --seed 6
result $? "and with XA"
drain
echo "# everything is on Kafka after $SECONDS s"

attach gtid
binlog ser gtid gtid
log_says gtid "$right" "$contradictions" "by GTID it is right, too"
judge gtid --level ser
is gtid "$holds" "$verdict_and_counts" "and holds"
is gtid "0 $(jq .joined "$work/gtid.log")" .join.joined "with every transaction joined"

attach snap
binlog si snap snap
judge snap --no-session-order --max-violations 0
same_as_log snap "with innodb_snapshot_isolation=ON"
log_says snap '[true,[]]' '[(.conflicts | length) <= 3, .writes]' "and updates are kept"
jq -e ".reads_unjudged == 0 and .reads_judged > $((many * 6))" "$work/snap" >/dev/null
result $? "with all reads judged, of read-only transactions, too"
if [ "$long" = long ]; then
    sed -E 's/"snapshot": "0-[12]-([0-9]+)"/"snapshot": "binlog.000001:\1"/' "$work/snap.records" | kcat -b "$address" -P -t places -p 0
    clients=places attach snap
    judge places --no-session-order
    is places '3 ["undecided","unplaced-transactions",[]]' '[.verdict, .reason, .violations]' "places in the log say nothing after a failover"
fi

attach lost
binlog si lost lost
judge lost --no-session-order --max-violations 0
same_as_log lost "with OFF"
log_says lost '[true,[]]' '[(.conflicts | length) > 10, .writes]' "and updates are lost"

attach xa ,xa=yes
judge xa --level ser
is xa '3 ["undecided","xa",[]]' '[.verdict, .reason, .violations]' "XA is not judged, nor accused"

# ---- lies ----

"$here/lies.py" ser "$work/mark.records" >"$work/lies-ser.records" && "$here/lies.py" si "$work/snap.records" >"$work/lies-si.records"
kcat -b "$address" -P -t lies-ser -p 0 <"$work/lies-ser.records"
kcat -b "$address" -P -t lies-si -p 0 <"$work/lies-si.records"
clients=lies-ser attach mark
binlog ser lies-ser mark
judge lies-ser --level ser --max-violations 0
is lies-ser "1 $(jq -c '[.reads, .writes]' "$work/lies-ser.log")" \
    '[([.violations[] | select(.axiom != "CDC") | .tids[]] | unique), ([.violations[] | select(.axiom == "CDC") | .tids[]] | unique)]' \
    "planted lies are found at ser, those of the log and nothing else"
clients=lies-si attach snap
binlog si lies-si snap
judge lies-si --no-session-order --max-violations 0
is lies-si "1 $(jq -c '[.reads, .writes, .conflicts]' "$work/lies-si.log")" \
    '[([.violations[] | select(.axiom == "EXT" or .axiom == "INT") | .tids[]] | unique), ([.violations[] | select(.axiom == "CDC") | .tids[]] | unique), ([.violations[] | select(.axiom == "NOCONFLICT") | [.tids[0], .tids[1], .key]] | sort)]' \
    "and at si, stale reads among them"
log_says lies-ser '[6,true]' '[(.reads | length), (.writes | length) > 1]' "which are six and those of some writes"
log_says lies-si "[true,true]" "[(.reads | length) >= 12, (.writes | length) > 1]" "and twelve and those of some writes"
echo "# all in $SECONDS s"
plan $number
