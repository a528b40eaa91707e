#!/bin/bash
# A bank's change feed as a changefeed's sink sends it, over a real broker: each of Kafka's compressions, and a dispatcher that
# gives each table a topic of its own, so that transactions, statements and watermarks are spread over topics. TAP on stdout.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$(realpath "${ISOCHRON:-$here/../../../build/isochron}")
. "$here/../../support/tap.sh"
number=0
work=$(mktemp -d)
trap '"$here/../kafka/broker.sh" stop "$work/broker"; rm -rf "$work"' EXIT
zstd -dqc "$here/../../data/recordings/ticdc-encoders.tar.zst" | tar x -C "$work" || exit 4
address=$("$here/../kafka/broker.sh" start "$work/broker") || exit 4
plan 10

publish() { # topic compression; messages, a line each, on stdin
    kcat -P -q -b "$address" -t "$1" -z "$2" -X linger.ms=100
}

messages() { # capture topic
    jq -r --arg topic "$2" 'select(.topic == $topic).payload' "$work/ticdc-encoders/$1/capture.jsonl"
}

watch() { # wanted name clients options...
    local wanted=$1 name=$2 clients=$3
    shift 3
    timeout 60 "$program" watch "$@" --source "history:$clients" --until-eof -X "bootstrap.servers=$address" \
        >"$work/out" 2>"$work/words"
    local status=$?
    [ $status = "$wanted" ]
    result $? "$name" || sed "s/^/# exit $status, not $wanted: /" "$work/words"
}

for case in bank:0 bank-stale:1; do
    for compression in gzip snappy lz4 zstd; do
        run=${case%:*}-$compression
        for topic in shop clients; do
            messages "classic-canal-json-${case%:*}" $topic | publish "$topic-$run" $compression
        done
        watch "${case#*:}" "$run" "clients-$run" --source "ticdc:shop-$run,format=canal-json,value=v"
    done
    # Rows of odd numbers are another table's: a statement goes to its table's topic, a watermark to all.
    messages "classic-canal-json-${case%:*}" shop |
        sed -E '/"data":\[\{"id":"[0-9]*[13579]"/s/"table":"bank"/"table":"odd"/' >"$work/rows"
    grep -v '"table":"odd"' "$work/rows" | publish "bank-${case%:*}" none
    sed '/"isDdl":true/s/bank/odd/g' "$work/rows" | grep -v '"table":"bank"' | publish "odd-${case%:*}" none
    messages "classic-canal-json-${case%:*}" clients | sed -E 's|shop\.bank/([0-9]*[13579])"|shop.odd/\1"|g' |
        publish "clients-${case%:*}" none
    watch "${case#*:}" "${case%:*}, a topic a table" "clients-${case%:*}" \
        --source "ticdc:bank-${case%:*},format=canal-json,value=v" --source "ticdc:odd-${case%:*},format=canal-json,value=v"
done
