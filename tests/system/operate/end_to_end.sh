#!/bin/bash
# What the person on call sees: things go wrong one after the other in runs on a change stream and its clients, and each has to be
# seen within a minute on the page (what /status says is what it shows), in a metric, and in an alert of a real Prometheus with the
# rules of deploy/. TAP on stdout, beside it how many seconds after it went wrong. Two alerts wait on purpose, ten minutes, since a
# burst is no lag, and clients may have a break: here they have seconds for minutes (scale_rules).
set -u
cd "$(dirname "$0")/../../.." || exit 4
work=$(mktemp -d)
number=0 failed=0
. tests/support/tap.sh
program=$(realpath "${ISOCHRON:-build/isochron}")
within=60
broker= watcher= prometheus=
end() {
    exec 3>&-
    for process in $watcher $prometheus; do kill "$process" 2>/dev/null; done
    [ -z "$broker" ] || kill -CONT "$broker" 2>/dev/null
    wait
    rm -rf "$work"
}
trap end EXIT
command -v prometheus >/dev/null || { plan 0; echo "# SKIP there is no prometheus"; exit; }

read -r listen metrics_port < <(python3 tests/support/free_ports.py 2 | tr '\n' ' ')
start_broker() {
    mkfifo "$work/broker.in"
    "$(dirname "$program")/embedded-broker" shop.public.kv:1 clients:1 m:1 m.bank.kv:1 bulk:8 <"$work/broker.in" >"$work/address" &
    broker=$!
    exec 3>"$work/broker.in"
    until [ -s "$work/address" ]; do sleep 0.05; done
    address=$(cat "$work/address")
}

# A transaction: its row, and what its client says of it; or one of both.
lsn=100 xid=747 last=null more=
put_row() { # OPERATION SNAPSHOT BEFORE VALUE
    printf '{"k":1}|{"before":%s,"after":{"k":1,"v":%d%s},"source":{"connector":"postgresql","name":"shop","snapshot":"%s","sequence":"[\\"%d\\",\\"%d\\"]","schema":"public","table":"kv","txId":%d,"lsn":%d},"op":"%s"}\n' \
        "$3" "$4" "$more" "$2" $((lsn - 10)) $lsn $xid $lsn "$1" | kcat -b "$address" -P -t shop.public.kv -p 0 -K '|' 2>/dev/null
    last="{\"k\":1,\"v\":$4$more}"
}
row() {
    if [ "$last" = null ]; then put_row c false null $xid; else put_row u false "$last" $xid; fi
}
record() {
    printf '{"tid":"t%d","sid":"s","xid":%d,"snapshot":"%d:%d:","ops":[{"t":"w","k":"public.kv/1","v":%d}]}\n{"watermark":"%d"}\n' \
        $xid $xid $xid $xid $xid $xid | kcat -b "$address" -P -t clients -p 0 2>/dev/null
}
next() {
    xid=$((xid + 1)) lsn=$((lsn + 10))
}
stop_watch() {
    kill $watcher 2>/dev/null
    wait $watcher
}
# Ten minutes become ten seconds.
scale_rules() {
    awk '/- alert:/ { slow = /IsochronLag$|IsochronClientsSilent$/ }
        slow { sub(/> 600$/, "> 20"); sub(/> 300$/, "> 5"); sub(/< 300$/, "< 30"); gsub(/\[10m\]/, "[30s]"); sub(/for: 10?m$/, "for: 5s") }
        { print }' deploy/prometheus/rules.yml >"$work/rules.yml"
    [ "$(diff deploy/prometheus/rules.yml "$work/rules.yml" | grep -c '^>')" = 6 ]
}
start_prometheus() {
    scale_rules || { result 1 "the slow rules are those that this test knows"; exit 1; }
    cat >"$work/prometheus.yml" <<END
global: {scrape_interval: 2s, evaluation_interval: 5s}
rule_files: [$work/rules.yml]
scrape_configs: [{job_name: isochron, static_configs: [{targets: ['127.0.0.1:$listen']}]}]
END
    prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb" --web.listen-address="127.0.0.1:$metrics_port" \
        >"$work/prometheus.log" 2>&1 &
    prometheus=$!
}

status() { curl -s -m 5 "http://127.0.0.1:$listen/status"; }
ready() { [ "$(curl -s -m 5 "http://127.0.0.1:$listen/readyz")" = ok ]; }
page_says() { [ "$(status | jq --arg words "$1" '[.trouble, .waiting, .notes[]] | map(. // "") | join(" ") | test($words)')" = true ]; }
metric_is() { [ "$(curl -sf -m 5 -G "http://127.0.0.1:$metrics_port/api/v1/query" --data-urlencode "query=$1" | jq '.data.result | length')" -gt 0 ] 2>/dev/null; }
firing() { curl -sf -m 5 "http://127.0.0.1:$metrics_port/api/v1/alerts" | jq --arg name "$1" '[.data.alerts[] | select(.labels.alertname == $name and .state == "firing")] | length'; }
fires() { [ "$(firing "$1")" -gt 0 ]; }
calm() { [ "$(firing "$1")" = 0 ]; }

# Repeats `go`, which is what goes on meanwhile, until the command succeeds: a minute after things went wrong at the latest.
await() { # WHAT GO COMMAND...
    local what=$1 go=$2
    shift 2
    until "$@"; do
        [ "$1" = gone ] || kill -0 ${watcher:-$$} 2>/dev/null || { result 1 "$what: the run has ended"; sed 's/^/# /' "$work/said"; exit 1; }
        [ $((SECONDS - wrong)) -lt $within ] || { result 1 "$what"; failed=1; status | sed 's/^/# /' | cut -c1-1500; return; }
        $go
        sleep 1
    done
    result 0 "$what ($((SECONDS - wrong)) s)"
}
# From here on something is wrong, or mended.
now() { wrong=$SECONDS; }
# One fault, seen in all three ways. What is said of it goes to the output.
seen() { # WHAT GO WORDS EXPRESSION ALERT
    await "$1: the page says so" "$2" page_says "$3"
    status | jq -r --arg words "$3" '[.trouble, .waiting, .notes[]] | map(select(. and test($words))) | unique[] | "#   " + .'
    await "$1: a metric" "$2" metric_is "$4"
    await "$1: an alert" "$2" fires "$5"
}

all_well() { next; row; record; }
no_connector() { next; record; }
no_clients() { next; row; }
no_watermark() {
    next
    row
    printf '{"tid":"t%d","sid":"s","xid":%d,"snapshot":"%d:%d:","ops":[{"t":"w","k":"public.kv/1","v":%d}]}\n' $xid $xid $first $first $xid |
        kcat -b "$address" -P -t clients -p 0 2>/dev/null
}
# The table has one column more from now on.
column_more() {
    next
    more=',"w":0' last="{\"k\":1,\"v\":$((xid - 1)),\"w\":0}"
    row
    record
}
# A connector that has lost its slot reads the table again.
snapshot_row() {
    next
    put_row r last null $((xid - 1))
}
# The same on MariaDB, whose connector tells of tables that go.
gtid=1
maria_source='"connector":"mariadb","name":"m","snapshot":"false","db":"bank","table":"kv","server_id":1,"file":"binlog.000002","row":0'
maria_row() {
    gtid=$((gtid + 1))
    printf '{"k":%d}|{"before":null,"after":{"k":%d,"v":1},"source":{%s,"gtid":"0-1-%d","pos":%d},"transaction":{"id":"0-1-%d","total_order":1,"data_collection_order":1},"op":"c"}\n' \
        $gtid $gtid "$maria_source" $gtid $((gtid * 1000)) $gtid | kcat -b "$address" -P -t m.bank.kv -p 0 -K '|' 2>/dev/null
}
maria_drop() {
    gtid=$((gtid + 1))
    printf '{"databaseName":"bank"}|{"source":{%s,"gtid":"0-1-%d","pos":%d},"databaseName":"bank","ddl":"DROP TABLE `bank`.`kv`","tableChanges":[]}\n' \
        "$maria_source" $gtid $((gtid * 1000)) | kcat -b "$address" -P -t m -p 0 -K '|' 2>/dev/null
}

start_watch() { # SOURCES... -- OPTION...
    "$program" watch "$@" --quiet --listen "$listen" -X bootstrap.servers="$address" >"$work/lines" 2>"$work/said" &
    watcher=$!
    now
}
shop="--source debezium:shop.public.kv,value=v,identity=full --source history:clients"
bank="--source debezium:m.bank.kv,value=v --source debezium:m"

plan 44
start_broker
row
record
# shellcheck disable=SC2086 # lists of words, here and below
start_watch $shop
start_prometheus
await "a run that is well is ready" all_well ready
await "its metrics arrive" all_well metric_is 'isochron_ready == 1'

now
kill -STOP $broker
seen "broker away" : '[Bb]roker|[Tt]imed out|[Dd]isconnect' 'isochron_ready == 0' IsochronNotReady
kill -CONT $broker
now
await "the broker is back" all_well ready
await "and the alert is over" all_well calm IsochronNotReady
stop_watch

start_watch $shop --expect-messages 8
await "connector dead: the run is well before" all_well ready
now
seen "connector dead" no_connector 'is its connector running' \
    'time() - isochron_changes_time_seconds > isochron_expect_messages_seconds' IsochronConnectorSilent
now
await "the connector is back" all_well ready
await "and the alert is over" all_well calm IsochronConnectorSilent

now
column_more
seen "schema change" : 'changed (its|their) columns.*public.kv.*not compared' 'isochron_tables_changed_total{kind="columns"} > 0' IsochronTableChanged

now
snapshot_row
seen "second snapshot" : 'lost its position' 'isochron_snapshots_again_total > 0' IsochronSnapshotAgain

now
seen "clients silent" no_clients 'No client has sent a record' 'time() - isochron_clients_time_seconds > 20' IsochronClientsSilent
stop_watch

first=$xid
start_watch $shop --finality-timeout 0 --grace 0
seen "watermark stands" no_watermark 'nothing became final.*held back by' \
    'isochron_unsettled_seconds > isochron_unsettled_bound_seconds' IsochronNothingFinal
stop_watch

maria_row
start_watch $bank
await "table dropped: the run is well before" maria_row metric_is 'isochron_messages_total > 3'
sleep 6
now
maria_drop
seen "table dropped" : 'dropped.*bank.kv.*if nobody meant to' 'isochron_tables_changed_total{kind="emptied"} > 0' IsochronTableChanged
stop_watch

start_watch $shop --on-bad-record skip
await "unreadable messages: the run is well before" : ready
sleep 6
now
echo '{"k":1}|{"after":' | kcat -b "$address" -P -t shop.public.kv -p 0 -K '|' 2>/dev/null
seen "unreadable messages" : 'could not be read.*repair the sender' 'isochron_bad_records_total > 0' IsochronBadRecords
stop_watch

# What comes is more than this process gets to run for.
mkfifo "$work/sent"
start_watch --source history:bulk --finality-timeout 1
await "lag: the run is well before" : ready
now
(
    exec 3>&- # the broker lives as long as that
    sent=0
    while :; do
        seq $((sent + 1)) $((sent += 20000)) | sed 's/.*/{"tid":"b&","sid":"b&","sts":&0,"cts":&1,"ops":[{"t":"w","k":"&","v":"&"}]}/'
        sleep 1
    done >"$work/sent"
) &
sender=$!
kcat -b "$address" -P -t bulk <"$work/sent" 3>&- 2>/dev/null &
(
    trap 'kill -CONT $watcher 2>/dev/null' EXIT
    trap 'exit' TERM
    exec 3>&-
    while kill -STOP $watcher; do sleep 0.9; kill -CONT $watcher; sleep 0.01; done
) 2>/dev/null &
throttle=$!
seen "lag" : 'Behind: .*more --threads' 'sum(isochron_partition_lag) > 1000' IsochronLag
kill $throttle
wait $throttle 2>/dev/null
stop_watch

# Less than the process takes without any transaction.
start_watch --source history:bulk --from end --finality-timeout 1 --memory 8000000
seen "memory short" : 'Memory is short.*--retention' 'isochron_memory_needed_bytes > isochron_memory_limit_bytes' IsochronMemoryShort
kill $sender
stop_watch

# A limit of a file's size stands for the disk.
(
    trap '' XFSZ
    ulimit -f 64
    exec "$program" watch $shop --quiet --listen "$listen" \
        --on-bad-record skip --state "$work/state" --checkpoint-interval 1s --out file:"$work/verdicts" -X bootstrap.servers="$address" >/dev/null 2>"$work/full"
) &
watcher=$!
gone() { ! kill -0 $watcher 2>/dev/null; }
many() { for _ in $(seq 30); do next; row; record; done; }
now
await "disk full: the run ends" many gone
wait $watcher
result "$([ $? = 4 ] && grep -qE "$work/(state|verdicts).*File too large" "$work/full"; echo $?)" "disk full: with status 4, and says which file" || { failed=1; sed 's/^/# /' "$work/full"; }
sed 's/^/#   /' "$work/full" | tail -n 2
watcher=
now
await "disk full: a metric" : metric_is 'up == 0'
await "disk full: an alert" : fires IsochronDown
exit $failed
