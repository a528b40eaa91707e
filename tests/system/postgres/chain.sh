# PostgreSQL -> Debezium -> Kafka for end-to-end tests: functions for bash scripts that set $here, $work and $workload,
# and have functions connector_options (DATABASE: what its connector has besides), create_options (DATABASE: what the workload needs to create
# its tables) and change_statement (DATABASE: a row that nobody's record tells of).
# Each database has its own connector and slot; its topics are DATABASE.public.TABLE, DATABASE.transaction, DATABASE.message.

# Starts everything, with the named databases and their tables; $address and $server are the broker's and PostgreSQL's.
chain_start() { # database...
    address=$("$here/../kafka/broker.sh" start "$work/broker") || return 1
    server=$("$here/cluster.sh" start "$work/postgres") || return 1
    local database
    for database in "$@"; do
        psql -q "$server" -c "CREATE DATABASE $database" || return 1
        # shellcheck disable=SC2046 # options are words
        "$workload" --connect "$server dbname=$database" --create $(create_options "$database") || return 1
        { connector "$database" && connector_options "$database"; } >"$work/connector-$database"
    done
    databases=("$@")
    connect_start && chain_streams
}

# Waits until the connectors have read the tables and follow the log. What is committed earlier is in their snapshots.
chain_streams() {
    until [ "$(psql -qAt "$server" -c "SELECT count(*) FROM pg_replication_slots WHERE active")" = ${#databases[@]} ]; do
        sleep 0.2
    done
}

connector() { # database
    cat <<END
name=$1
connector.class=io.debezium.connector.postgresql.PostgresConnector
tasks.max=1
database.hostname=127.0.0.1
database.port=$(sed 's/.*port=\([0-9]*\).*/\1/' <<<"$server")
database.user=postgres
database.password=none
database.dbname=$1
topic.prefix=$1
plugin.name=pgoutput
slot.name=isochron_$1
publication.autocreate.mode=all_tables
provide.transaction.metadata=true
poll.interval.ms=20
END
}

connect_start() {
    "$here/../../../deploy/debezium/connect.sh" start "$work/connect" "$address" "${databases[@]/#/$work/connector-}"
}

chain_stop() {
    "$here/../../../deploy/debezium/connect.sh" stop "$work/connect"
    "$here/cluster.sh" stop "$work/postgres"
    "$here/../kafka/broker.sh" stop "$work/broker"
}

# Waits until Kafka has everything that the databases have committed: a transaction of now has come out at the other end. (To
# the checker it is one of somebody else's.)
chain_drain() { # database...
    local database xid
    for database in "$@"; do
        xid=$(psql -qAt "$server dbname=$database" -c "$(change_statement "$database") RETURNING pg_current_xact_id()")
        until kcat -C -b "$address" -t "$database.transaction" -o -20 -e -q 2>/dev/null |
            LC_ALL=C grep -aq "END.\{1,8\}$xid:"; do # JSON or Avro
            sleep 0.2
        done
    done
    sleep 0.5
}
