#!/bin/sh
# A Kafka Connect worker (standalone, one process) with Debezium's connectors.
#
#   connect.sh fetch                               jars from Maven Central into the cache, once
#   connect.sh start DIR BROKER CONNECTOR...       start, wait until it answers; CONNECTOR is a file of properties
#   connect.sh stop|kill DIR                       SIGTERM and wait | SIGKILL
#
# One worker a DIR: a second start is refused as long as the first lives. DIR keeps the offsets, so that `start` after `kill`
# goes on where the last flushed ones were. A file DIR/worker.properties.add is appended to the worker's properties
# (converters, say). ISOCHRON_CONNECT_HEAP (192m) is the size of Java's heap.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${ISOCHRON_CONNECT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/isochron/connect-3.9.1}
plugins="io.debezium:debezium-connector-postgres:3.7.0.Final:tar.gz:plugin
io.debezium:debezium-connector-mariadb:3.0.0.Final:tar.gz:plugin"

fail() {
    echo "connect.sh: $*" >&2
    exit 4
}

# The Avro converter is fetched as a dependency, since it comes without a plugin archive; what the worker has is left out.
fetch_avro() {
    mvn -q -B -f "$here/avro.xml" dependency:copy-dependencies -DoutputDirectory="$cache/plugins/apicurio" \
        -DexcludeArtifactIds=connect-api,connect-json,kafka-clients,slf4j-api
}

fetch() {
    [ -f "$cache/complete" ] && return 0
    rm -rf "$cache"
    mkdir -p "$cache/plugins" "$cache/archives"
    {
        mvn -q -B -f "$here/pom.xml" dependency:copy-dependencies -DoutputDirectory="$cache/worker"
        for artifact in $plugins; do
            mvn -q -B dependency:copy -Dartifact="$artifact" -DoutputDirectory="$cache/archives"
        done
        for archive in "$cache"/archives/*.tar.gz; do tar -xzf "$archive" -C "$cache/plugins"; done
        fetch_avro
    } >"$cache/fetch.log" 2>&1 || fail "fetching Kafka Connect failed, see $cache/fetch.log"
    touch "$cache/complete"
}

free_port() {
    python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

configure() { # broker
    [ -f "$directory/port" ] || free_port >"$directory/port"
    cat >"$directory/log4j.properties" <<END
log4j.rootLogger=WARN, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.target=System.err
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=%d %p %m (%c)%n
END
    cat >"$directory/worker.properties" <<END
bootstrap.servers=$1
listeners=http://127.0.0.1:$(cat "$directory/port")
key.converter=org.apache.kafka.connect.json.JsonConverter
key.converter.schemas.enable=false
value.converter=org.apache.kafka.connect.json.JsonConverter
value.converter.schemas.enable=false
value.converter.replace.null.with.default=false
offset.storage.file.filename=$directory/offsets
offset.flush.interval.ms=2000
plugin.path=$cache/plugins
plugin.discovery=hybrid_warn
END
    [ ! -f "$directory/worker.properties.add" ] || cat "$directory/worker.properties.add" >>"$directory/worker.properties"
}

# Call it in a subshell: the shell becomes Java, so that its process id is the worker's.
java_run() {
    heap=${ISOCHRON_CONNECT_HEAP:-192m}
    exec java -cp "$cache/worker/*" "-Xmx$heap" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
        "-Dlog4j.configuration=file:$directory/log4j.properties" org.apache.kafka.connect.cli.ConnectStandalone "$@"
}

# RUNNING once every task runs, FAILED if one has failed.
state() {
    curl -s -f "http://127.0.0.1:$(cat "$directory/port")/connectors?expand=status" 2>/dev/null |
        jq -r --argjson count "$1" '[.[].status.tasks[].state] |
            if any(. == "FAILED") then "FAILED" elif length == $count and all(. == "RUNNING") then "RUNNING" else "" end'
}

# The lock is the worker's as long as it lives, however it ends: it inherits the open file.
take_directory() {
    mkdir -p "$directory"
    exec 9>>"$directory/lock"
    flock -n 9 || fail "$directory: a worker runs there already, process $(cat "$directory/pid" 2>/dev/null || echo unknown): \
connect.sh stop $directory ends it; another one needs another directory"
}

start() { # broker connector...
    fetch
    take_directory
    configure "$1"
    shift
    (java_run "$directory/worker.properties" "$@") >>"$directory/log" 2>&1 </dev/null &
    echo $! >"$directory/pid"
    tries=0
    until [ "$(state $#)" = RUNNING ]; do
        tries=$((tries + 1))
        kill -0 "$(cat "$directory/pid")" 2>/dev/null || fail "the worker ended, see $directory/log"
        [ "$(state $#)" != FAILED ] || fail "a connector failed, see $directory/log"
        [ $tries -lt 600 ] || fail "the connectors do not run, see $directory/log"
        sleep 0.3
    done
}

end() {
    [ -f "$directory/pid" ] || return 0
    pid=$(cat "$directory/pid")
    kill "-$1" "$pid" 2>/dev/null || true
    while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
    rm -f "$directory/pid"
}

command=${1:-}
[ "$command" = fetch ] && { fetch; exit; }
[ $# -ge 2 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
case $2 in /*) directory=$2 ;; *) directory=$(pwd)/$2 ;; esac
case $command in
start) shift 2; [ $# -ge 2 ] || fail "start needs a broker and connectors"; start "$@" ;;
stop) end TERM ;;
kill) end KILL ;;
*) fail "unknown command $command" ;;
esac
