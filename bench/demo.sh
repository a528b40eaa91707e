#!/bin/bash
# `make demo`: the main job. A real WiredTiger store publishes its transactions to Kafka as they commit, `isochron
# watch` checks them live: first the store used well, then misused.
#
# BOOTSTRAP=host:port uses that cluster (topics isochron-demo-...); without it, one without Java is started.
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
folder=$BUILD/demo
transactions=${TRANSACTIONS:-100000}
run=$(date +%s)
rm -rf "$folder" && mkdir -p "$folder"
broker=

finish() {
    exec 3>&- || true
    [ -z "$broker" ] || wait "$broker" 2>/dev/null || true
    rm -rf "$folder"
}
trap finish EXIT

# The broker lives as long as this script: it ends with the pipe on its standard input.
start_broker() {
    mkfifo "$folder/broker.in"
    "$BUILD/embedded-broker" "isochron-demo-correct-$run:8" "isochron-demo-snapshot-holes-$run:8" \
        <"$folder/broker.in" >"$folder/broker.address" &
    broker=$!
    exec 3>"$folder/broker.in"
    for _ in $(seq 100); do
        [ -s "$folder/broker.address" ] && break
        sleep 0.1
    done
    BOOTSTRAP=$(cat "$folder/broker.address")
    [ -n "$BOOTSTRAP" ] || { echo "make demo: the embedded broker did not start" >&2; exit 4; }
    echo "A Kafka cluster of its own on $BOOTSTRAP (BOOTSTRAP=host:port takes another)."
}

# Commands as a user would type them.
say() { echo "\$ $*"; }

# One mode: watch its topic live while the store publishes to it.
show() { # MODE EXPECTED-STATUS SENTENCE
    local mode=$1 expected=$2 topic=isochron-demo-$1-$run status=0
    local verdicts=$folder/$1.verdicts capture=$folder/$1.capture.jsonl.zst history=$folder/$1.jsonl
    echo; echo "$3"; echo
    say "isochron watch --source history:$topic -X bootstrap.servers=$BOOTSTRAP --final-only --finality-timeout 1 \\"
    echo "      --drain --record $capture &"
    "$BUILD/isochron" watch --source "history:$topic" -X "bootstrap.servers=$BOOTSTRAP" --wait-for-topics --final-only \
        --finality-timeout 1 --drain --record "$capture" >"$verdicts" 2>"$folder/$mode.log" &
    local watch=$!
    say "record-wiredtiger --mode $mode --transactions $transactions -o - | tee $history | isochron gen --to kafka:$topic -"
    "$BUILD/record-wiredtiger" --mode "$mode" --transactions "$transactions" -o - 2>"$folder/recorder.log" |
        tee "$history" | "$BUILD/isochron" gen --to "kafka:$topic" --partitions 8 -X "bootstrap.servers=$BOOTSTRAP" - \
            2>"$folder/publisher.log" || { cat "$folder/recorder.log" "$folder/publisher.log" >&2; exit 1; }
    cat "$folder/recorder.log" "$folder/publisher.log"
    local reported
    reported=$(wc -l <"$verdicts")
    echo "while it ran, watch had reported $reported final violations"
    say "kill -INT %1"
    kill -INT "$watch"
    wait "$watch" || status=$?
    cat "$folder/$mode.log"
    echo "exit status $status"
    [ "$status" = "$expected" ] || { echo "make demo: expected exit status $expected" >&2; exit 1; }
    [ "$expected" = 0 ] || explain "$verdicts" "$topic" "$capture" "$history"
}

# The same verdict twice more: from the capture of what watch read, and offline from the history, in words.
explain() { # VERDICTS TOPIC CAPTURE HISTORY
    local replayed
    echo
    echo "One of them, as watch reported it:"
    grep -m 1 '"axiom":"EXT"' "$1" || head -n 1 "$1"
    echo
    say "isochron replay --source history:$2 --json $3"
    replayed=$("$BUILD/isochron" replay --source "history:$2" --json --max-violations 1 "$3" 2>/dev/null) || true
    echo "${replayed%%,\"stream\"*}, ...}"
    echo
    say "isochron check --max-violations 1 $4"
    "$BUILD/isochron" check --max-violations 1 "$4" || true
}

[ -n "${BOOTSTRAP:-}" ] || start_broker
show correct 0 "A real store, used as its manual says: read and commit timestamps chosen under one lock."
show snapshot-holes 1 "The same store, its read timestamps taken while commits below them are still on their way."
