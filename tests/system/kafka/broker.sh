#!/bin/sh
# An Apache Kafka broker (KRaft, one node, loopback only) for the end-to-end tests.
#
#   broker.sh fetch             jars from Maven Central into the cache, once
#   broker.sh start DIR         format DIR if it is new, start, wait until it answers; prints host:port
#   broker.sh stop|kill DIR     SIGTERM and wait | SIGKILL
#   broker.sh address DIR       host:port
#
# Topics are created when they are first written to, with $ISOCHRON_PARTITIONS partitions (1). A DIR keeps its ports and its data, so that `start` after `kill` is the same broker again.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${ISOCHRON_KAFKA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/isochron/kafka-3.9.1}

fail() {
    echo "broker.sh: $*" >&2
    exit 4
}

fetch() {
    [ -f "$cache/complete" ] && return 0
    rm -rf "$cache"
    mkdir -p "$cache"
    mvn -q -B -f "$here/pom.xml" dependency:copy-dependencies -DoutputDirectory="$cache" >"$cache/fetch.log" 2>&1 ||
        fail "fetching Kafka failed, see $cache/fetch.log"
    touch "$cache/complete"
}

# Call it in a subshell: the shell becomes Java, so that its process id is the broker's.
java_run() {
    exec java -cp "$cache/*" -Xmx512m -XX:+UseSerialGC "-Dlog4j.configuration=file:$directory/log4j.properties" "$@"
}

configure() {
    mkdir -p "$directory"
    set -- $("$here/../../support/free_ports.py" 2)
    echo "127.0.0.1:$1" >"$directory/address"
    cat >"$directory/log4j.properties" <<END
log4j.rootLogger=WARN, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.target=System.err
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=%d %p %m (%c)%n
END
    cat >"$directory/server.properties" <<END
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$2
listeners=PLAINTEXT://127.0.0.1:$1,CONTROLLER://127.0.0.1:$2
advertised.listeners=PLAINTEXT://127.0.0.1:$1
controller.listener.names=CONTROLLER
log.dirs=$directory/data
num.partitions=${ISOCHRON_PARTITIONS:-1}
auto.create.topics.enable=true
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
message.max.bytes=16777216
END
    (java_run kafka.tools.StorageTool random-uuid) >"$directory/cluster" 2>>"$directory/log"
    (java_run kafka.tools.StorageTool format -t "$(cat "$directory/cluster")" -c "$directory/server.properties") \
        >>"$directory/log" 2>&1 || fail "formatting $directory failed, see $directory/log"
}

answers() {
    kcat -L -b "$(cat "$directory/address")" -m 2 >/dev/null 2>&1
}

start() {
    fetch
    [ -f "$directory/cluster" ] || configure
    (java_run kafka.Kafka "$directory/server.properties") >>"$directory/log" 2>&1 </dev/null &
    echo $! >"$directory/pid"
    tries=0
    until answers; do
        tries=$((tries + 1))
        kill -0 "$(cat "$directory/pid")" 2>/dev/null || fail "the broker ended, see $directory/log"
        [ $tries -lt 300 ] || fail "the broker does not answer, see $directory/log"
        sleep 0.3
    done
    cat "$directory/address"
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
[ $# -ge 2 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
case $2 in /*) directory=$2 ;; *) directory=$(pwd)/$2 ;; esac
case $command in
start) start ;;
stop) end TERM ;;
kill) end KILL ;;
address) cat "$directory/address" ;;
*) fail "unknown command $command" ;;
esac
