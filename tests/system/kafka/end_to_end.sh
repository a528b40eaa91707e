#!/bin/bash
# Publishing, watching, capturing and replaying on a real broker, which is killed and restarted on the way. TAP on stdout.
#
#   ISOCHRON=build/isochron tests/system/kafka/end_to_end.sh [TRANSACTIONS]     of the long test, 1M by default
set -u
here=$(cd "$(dirname "$0")" && pwd)
isochron=$(realpath "${ISOCHRON:-$here/../../../build/isochron}")
many=${1:-1M}
work=$(mktemp -d)
broker=$work/broker
number=0

stop_all() {
    "$here/broker.sh" stop "$broker"
    rm -rf "$work"
}
trap stop_all EXIT

result() { # status name
    number=$((number + 1))
    [ "$1" = 0 ] && echo "ok $number - $2" || echo "not ok $number - $2"
}

same() { # expected actual name
    if cmp -s "$1" "$2"; then
        result 0 "$3"
    else
        diff "$1" "$2" | head -20 | cut -c1-300 | sed 's/^/# /'
        result 1 "$3"
    fi
}

equal() { # expected actual name
    [ "$1" = "$2" ] || echo "# expected '$1', got '$2'"
    [ "$1" = "$2" ]
    result $? "$3"
}

watch() { # topic options...
    local topic=$1
    shift
    "$isochron" watch --source "history:$topic" -X "bootstrap.servers=$address" --finality-timeout 0 "$@"
}

publish() { # topic expected options...
    local topic=$1 expected=$2
    shift 2
    "$isochron" gen --to "kafka:$topic" --partitions 8 -X "bootstrap.servers=$address" --sessions 24 --ops 8 \
        --anomaly lost-update:3 --anomaly stale-read:2 --anomaly non-repeatable-read --quiet --expected "$expected" "$@"
}

counts() { # the counts at si of an expectation, or of a verdict
    tr -d '\n ' <"$1" | grep -o '"counts":{[^}]*}' | head -1
}

address=$("$here/broker.sh" start "$broker") || { echo "1..1"; echo "not ok 1 - the broker starts"; exit 1; }
echo "1..22"

# Eight partitions, delays, repeats, watermarks; and its capture.
publish small "$work/small.json" --txns 20k --delay 100 --deviation 10 --repeats 0.05 --watermarks 500
equal 8 "$(kcat -b "$address" -L -J -t small 2>/dev/null | jq '.topics[0].partitions | length')" "gen creates the topic with the partitions that were asked for"
watch small --until-eof --json --quiet >"$work/small.verdict"
equal 1 $? "watch finds violations"
equal "$(counts "$work/small.json")" "$(counts "$work/small.verdict")" "and exactly those that were planted"
watch small --until-eof --final-only --quiet --record "$work/small.jsonl.zst" >"$work/live"
"$isochron" replay --source history:small --final-only --quiet "$work/small.jsonl.zst" >"$work/replayed"
same "$work/live" "$work/replayed" "replay of what watch read says the same, byte for byte"
"$isochron" capture --topic small -X "bootstrap.servers=$address" --until-eof --quiet -o "$work/capture.jsonl"
kcat -b "$address" -C -t small -o beginning -e -q -J 2>/dev/null | sort >"$work/kcat"
sort "$work/capture.jsonl" >"$work/captured"
same "$work/kcat" "$work/captured" "capture writes what kcat -J writes, byte for byte"
watch small --until-eof --final-only --quiet --out kafka:verdicts
kcat -b "$address" -C -t verdicts -o beginning -e -q 2>/dev/null | sort >"$work/verdicts"
sort "$work/live" >"$work/sorted"
same "$work/sorted" "$work/verdicts" "verdicts go to a topic"

# What does not exist, and what cannot be decoded.
timeout 300 "$isochron" watch --source history:nowhere -X "bootstrap.servers=$address" --until-eof --quiet >"$work/out" 2>"$work/err"
equal 4 $? "a topic that does not exist is a failure"
equal "isochron: topic nowhere does not exist on Kafka broker $address" "$(cat "$work/err")" "and says so"
"$isochron" capture --topic to.come --wait-for-topics --quiet -o "$work/to.come" -X "bootstrap.servers=$address" 2>"$work/err" &
capturer=$!
sleep 1
echo '{"watermark":1}' | kcat -b "$address" -P -t to.come -p 0 2>/dev/null
for _ in $(seq 600); do
    grep -q watermark "$work"/to.come* && break
    sleep 0.1
done
kill -INT $capturer
wait $capturer
equal "0 1" "$? $(grep -c watermark "$work/to.come")" "capture waits for one, if it is asked to"
printf '%s\n' '{"tid":1,"sid":1,"sts":1,"cts":2,"ops":[]}' '{"tid":2,"oops"' '{"tid":3,"sid":1,"sts":3,"cts":4,"ops":[]}' |
    kcat -b "$address" -P -t broken -p 0 2>/dev/null
watch broken --until-eof --quiet >"$work/out" 2>"$work/err"
equal 2 $? "a record that does not decode is an input error"
equal "isochron: topic broken partition 0 offset 1: " "$(cut -c1-45 "$work/err")" "with topic, partition and offset"
watch broken --until-eof --quiet --on-bad-record dead-letter --dead-letter "$work/dead.jsonl" >"$work/out" 2>"$work/err"
equal "3 1" "$? $(grep -c '"offset":1,.*oops' "$work/dead.jsonl")" "or is put aside, and the verdict undecided"

# The broker is killed twice while a run is published and watched.
publish killed "$work/killed.json" --txns 100k --rate 10000 --delay 50 --deviation 20 --watermarks 1000 &
publisher=$!
"$isochron" watch --source history:killed -X "bootstrap.servers=$address" --finality-timeout 0 --wait-for-topics \
    --final-only --quiet >"$work/killed.live" 2>"$work/killed.err" &
watcher=$!
for _ in 1 2; do
    sleep 3
    "$here/broker.sh" kill "$broker"
    "$here/broker.sh" start "$broker" >/dev/null
done
wait $publisher
equal 0 $? "publishing survives kill -9 of the broker"
watch killed --until-eof --json --quiet >"$work/killed.verdict"
ids() { grep -o '"id":"[0-9a-f]*"' "$1" | sort -u; }
watch killed --until-eof --final-only --quiet >"$work/killed.again"
ids "$work/killed.again" >"$work/ids.again"
for _ in $(seq 300); do # the watcher may be about to connect again
    ids "$work/killed.live" >"$work/ids.live"
    cmp -s "$work/ids.live" "$work/ids.again" && break
    sleep 1
done
kill -TERM $watcher
wait $watcher
equal 1 $? "so does watching it"
same "$work/ids.again" "$work/ids.live" "and what was found while the broker died and came back is what is there"
equal "$(counts "$work/killed.json")" "$(counts "$work/killed.verdict")" "and what was published is whole"

# Deadlines wait for a topic that is still missing: a version of it sets right what would have been final by then.
echo '{"tid":2,"sid":2,"sts":50,"cts":50,"ops":[{"t":"r","k":"x","v":1}]}' | kcat -b "$address" -P -t early -p 0 2>/dev/null
"$isochron" watch --source history:early --source history:late -X "bootstrap.servers=$address" --wait-for-topics \
    --finality-timeout 2 --quiet >"$work/waited" 2>"$work/err" &
watcher=$!
for _ in $(seq 1000); do
    grep -q tentative "$work/waited" && break
    sleep 0.1
done
sleep 4
equal tentative "$(grep -o 'tentative\|final\|retracted' "$work/waited")" "no deadline passes while a topic is missing"
echo '{"tid":1,"sid":1,"sts":10,"cts":20,"ops":[{"t":"w","k":"x","v":1}]}' | kcat -b "$address" -P -t late -p 0 2>/dev/null
for _ in $(seq 3000); do
    grep -q retracted "$work/waited" && break
    sleep 0.1
done
equal "tentative retracted" "$(grep -o 'tentative\|final\|retracted' "$work/waited" | tr '\n' ' ' | sed 's/ $//')" \
    "what comes of it then sets right what was wrong without it"
sleep 5 # until its deadline has passed
kill -TERM $watcher
wait $watcher
equal 0 $? "and the run holds"

# A topic is deleted and made anew, with more messages than were read of it, while the watcher stands still: it goes on in
# the new one, until it looks at a message again that it had read.
transaction() { echo "{\"tid\":$1,\"sid\":$1,\"sts\":$1,\"cts\":$1,\"ops\":[{\"t\":\"r\",\"k\":\"x\",\"v\":1}]}"; }
transaction 1 | kcat -b "$address" -P -t anew -p 0 2>/dev/null
"$isochron" watch --source history:anew -X "bootstrap.servers=$address" -X topic.metadata.refresh.interval.ms=500 \
    --quiet >"$work/anew" 2>"$work/err" &
watcher=$!
for _ in $(seq 1000); do
    grep -q tentative "$work/anew" && break
    sleep 0.1
done
kill -STOP $watcher
sleep 1 # until its last question is answered
"$here/delete_topic.py" "$address" anew
for _ in $(seq 100); do # the broker may not know of it yet
    for tid in $(seq 11 20); do transaction "$tid"; done | kcat -b "$address" -P -t anew -p 0 2>/dev/null
    [ "$(kcat -b "$address" -Q -t anew:0:-1 2>/dev/null | grep -o '[0-9]*$')" -ge 10 ] 2>/dev/null && break
    sleep 0.1
done
kill -CONT $watcher
for _ in $(seq 1200); do
    kill -0 $watcher 2>/dev/null || break
    sleep 0.1
done
kill -TERM $watcher 2>/dev/null
wait $watcher
equal 4 $? "a topic that was made anew meanwhile is noticed"
equal "isochron: topic anew partition 0 offset 0: is not the message that was read" "$(grep -v 'the clock went' "$work/err" | cut -c1-75)" \
    "by a message that was read of it"

# Many.
publish many "$work/many.json" --txns "$many" --keys 100k --watermarks 10000
SECONDS=0
watch many --until-eof --json --quiet >"$work/many.verdict"
echo "# $many transactions in $SECONDS s"
equal "$(counts "$work/many.json")" "$(counts "$work/many.verdict")" "$many transactions over 8 partitions"
