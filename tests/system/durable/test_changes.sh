#!/bin/bash
# `watch --state` of change streams, and what else a run may carry through a crash: clients' records from a topic or a
# file, polygraph's rounds, --any-order, --record and --dead-letter. Killed at named points, also while it catches up, and
# gone on with: the final verdicts are those of a run that nobody disturbed, each once; and so is what is
# written beside them. TAP on stdout.
set -u
cd "$(dirname "$0")/../../.." || exit 4
. tests/system/durable/begin.sh
trap 'stop_broker; rm -rf "$work"' EXIT

# Where runs die, one after the other: each but the last does so in the state that the one before left.
# The first six come to their points for certain; the others if the threads run so: a life that does not comes to the end.
lives="after-feed after-record-again:2 after-captures-settled after-fork after-catch-up-output before-finish after-rename after-commit
before-note after-end"

# feeds KIND: the topics of a change stream and its clients, and $work/KIND.clients.
feeds() {
    local topic
    for what in rows clients; do
        jq -c -s --arg kind "$1" --arg what $what -f tests/system/durable/feeds.jq "$work/history" >"$work/$1.$what"
    done
    jq -r .topic "$work/$1.rows" | sort -u | while read -r topic; do
        jq -j --arg topic "$topic" 'select(.topic == $topic) | .key + "\t" + .payload + "\n"' "$work/$1.rows" |
            kcat -b "$address" -P -t "$1-$topic" -p 0 -K $'\t' 2>/dev/null
    done
    kcat -b "$address" -P -t "$1-clients" -p 0 <"$work/$1.clients" 2>/dev/null
    grep '"tid"' "$work/$1.clients" >"$work/$1.history"
}

# run OPTIONS...: with those of the scenario.
run() {
    timeout 120 "$isochron" watch --until-eof --quiet --finality-timeout 0 -X bootstrap.servers="$address" -X fetch.message.max.bytes=12000 \
        "${scenario[@]}" "$@"
}

# A snapshot's child is killed with its parent, an instant later.
wait_for_children() {
    for ((i = 0; i < 6000; i++)); do
        [ ! -e "$work/state/lock" ] || flock -n "$work/state/lock" true && return
        sleep 0.02
    done
}

# The final verdicts among lines. Their places are left out: a transaction's is that of what came of it first, rows of one topic or its end in
# another.
finals() { grep '"state":"final"' "$@" | sed 's/,"at":\[.*\]//' | sort; }

# messages FILE: those of a capture, without where batches ended and partitions were waited for.
messages() {
    case $1 in *.zst) zstd -dcq "$1" ;; *) cat "$1" ;; esac | grep '"offset"' | sort
}

# survives NAME OPTIONS...: kills the scenario along its lives, and compares.
survives() {
    local name=$1 deaths=0 status=137 first life side
    shift
    scenario=("$@")
    rm -rf "$work/state" "$work/lines" "$work"/side.* "$work/said"
    run --record "$work/expected.jsonl" ${dead:+--dead-letter "$work/expected.dead"} >"$work/all" 2>"$work/said"
    local right=$?
    finals "$work/all" >"$work/expected"
    case " $* " in *" --history "*) first="before-records after-records" ;; *) first= ;; esac
    for life in $first $lives never; do
        [ $status = 137 ] || break # it has come to its end, and nothing more can happen
        ISOCHRON_CRASH=$life run --state "$work/state" --checkpoint-interval 0 --snapshot-after 20000 --out file:"$work/lines" \
            --record "$work/side.jsonl$packed" ${dead:+--dead-letter "$work/side.dead$packed"} 2>>"$work/said"
        status=$?
        deaths=$((deaths + (status == 137)))
        [ $status = 137 ] && wait_for_children
    done
    finals "$work/lines" >"$work/found"
    [ $status = $right ] && [ $deaths -ge 6 ] && [ -s "$work/expected" ] && cmp -s "$work/expected" "$work/found"
    result $? "$name: $deaths deaths" || { echo "# status $status, expected $right"; sed 's/^/# /' "$work/said"; diff "$work/expected" "$work/found" | head -5; }
    side=side.jsonl$packed
    cmp -s <(messages "$work/expected.jsonl") <(messages "$work/$side") && [ -s "$work/$side" ] &&
        { [ -z "$dead" ] || { [ -s "$work/expected.dead" ] && cmp -s "$work/expected.dead" <(case $packed in .zst) zstd -dcq ;; *) cat ;; esac <"$work/side.dead$packed"); }; }
    result $? "$name: what is written beside it holds each message once" ||
        diff <(messages "$work/expected.jsonl") <(messages "$work/$side") | cut -c1-200 | head -5
    replayed=()
    for ((i = 0; i < ${#scenario[@]}; i++)); do
        case ${scenario[i]} in -X) i=$((i + 1)) ;; *) replayed+=("${scenario[i]}") ;; esac
    done
    "$isochron" replay --quiet "${replayed[@]}" ${dead:+--dead-letter "$work/again.dead"} "$work/$side" 2>"$work/said" | finals | cmp -s - "$work/expected"
    result $? "$name: and a replay of that finds the same" || sed 's/^/# /' "$work/said"
}

"$isochron" gen --txns "${TXNS:-400}" --ops 4 --keys 40 --anomaly lost-update:3 --anomaly stale-read:5 --seed 3 --expected /dev/null \
    -o "$work/history"
start_broker dgraph-cdc:1 dgraph-clients:1 ticdc-cdc:1 ticdc-clients:1 debezium-dbz.public.t:1 debezium-dbz.transaction:1 debezium-clients:1 in-band-dbz.public.t:1 in-band-dbz.transaction:1 \
    in-band-dbz.message:1 yugabyte-cdc:1 yugabyte-clients:1 untimed:1 bad:1
for kind in dgraph ticdc debezium in-band yugabyte; do feeds $kind; done
dead= packed=
survives "Dgraph joined with a topic" --source dgraph:dgraph-cdc --source history:dgraph-clients
packed=.zst
survives "TiCDC joined with a file" --source ticdc:ticdc-cdc,value=v --history "$work/ticdc.history"
packed=
survives "TiCDC joined with a topic, any order" --source ticdc:ticdc-cdc,value=v --source history:ticdc-clients --any-order
debezium=(--source debezium:debezium-dbz.public.t,value=v --source debezium:debezium-dbz.transaction)
survives "Debezium joined with a topic" "${debezium[@]}" --source history:debezium-clients
survives "Debezium alone" "${debezium[@]}"
survives "PostgreSQL with snapshots, in-band" --source debezium:in-band-dbz.public.t,value=v --source debezium:in-band-dbz.transaction \
    --source debezium:in-band-dbz.message
survives "YugabyteDB joined with a topic" --source yugabyte:yugabyte-cdc,value=v,tables=public.t --source history:yugabyte-clients

# Records that are bad are left out once each, packed and plain.
jq -c 'select(.tid)' "$work/history" | awk '{ print } NR % 20 == 0 { print "{\"tid\":" }' | kcat -b "$address" -P -t bad -p 0 2>/dev/null
dead=1
for packed in "" .zst; do
    survives "dead letters$packed" --source history:bad --on-bad-record dead-letter
done
dead= packed=

# Without timestamps polygraph judges, in rounds.
jq -c 'select(.tid) | del(.sts, .cts)' "$work/history" | kcat -b "$address" -P -t untimed -p 0 2>/dev/null
survives "polygraph in rounds" --source history:untimed --level ser --round 100
plan "$number"
