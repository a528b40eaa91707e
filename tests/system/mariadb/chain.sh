# MariaDB -> Debezium -> Kafka for end-to-end tests: functions for bash scripts that set $here, $work, $port (MariaDB's), $address (the
# broker's), $databases and $prefix (of topics), and have functions connector_options (what the connector has besides) and change_row
# (writes a row that nobody's record tells of).
connect=$here/../../../deploy/debezium/connect.sh

sql() { # [options...]
    mariadb --no-defaults -h 127.0.0.1 -P "$port" -u isochron -pisochron "$@"
}

connector() {
    cat <<END_OF_PROPERTIES
name=$prefix
connector.class=io.debezium.connector.mariadb.MariaDbConnector
tasks.max=1
database.hostname=127.0.0.1
database.port=$port
database.user=isochron
database.password=isochron
database.server.id=77
database.include.list=$(IFS=,; echo "${databases[*]}")
database.ssl.mode=disabled
topic.prefix=$prefix
schema.history.internal=io.debezium.storage.file.history.FileSchemaHistory
schema.history.internal.file.filename=$work/schema-history
provide.transaction.metadata=true
poll.interval.ms=20
END_OF_PROPERTIES
    connector_options
}

start_connector() {
    connector >"$work/connector" && "$connect" start "$work/connect" "$address" "$work/connector"
}

# wait_until WHAT COMMAND...: at most a minute
wait_until() {
    local what=$1 ends=$((SECONDS + 60))
    shift
    until "$@"; do
        ((SECONDS < ends)) || { echo "# in vain: $what"; return 1; }
        sleep 0.2
    done
}

# Whether the connector follows the binlog: what is written while it takes its snapshot may be in both (seen with 3.0.0.Final: rows of the
# snapshot were newer than the position that the stream then began at).
is_followed() {
    sql -N -e 'SHOW PROCESSLIST' | grep -q 'Binlog Dump'
}

has_ended() { # GTID
    kcat -C -b "$address" -t "$prefix.transaction" -o -20 -e -q 2>/dev/null | grep -q "\"END\",\"id\":\"$1\""
}

# Waits until Kafka has everything: a row of now, in the transaction $drained, has come out at the other end.
drain() {
    change_row
    drained=$(sql -N -e 'SELECT @@gtid_binlog_pos')
    wait_until "$drained on Kafka" has_ended "$drained" || { grep -m3 ERROR "$work/connect/log" | cut -c1-300 | sed 's/^/# /'; exit 1; }
    sleep 0.5
}
