#!/bin/bash
# A live run that is ended while records are on their way never says that all holds: clients' watermarks stop, and behind them wait a
# good transaction and one that read what nobody wrote, and overwrote what it did not see. TAP on stdout.
. "$(dirname "$0")/common.sh"
cd "$root" || exit 4
. tests/system/durable/begin.sh
isochron=$ISOCHRON # nothing is killed at named points here
trap 'stop_broker; rm -rf "$work" "$scratch"' EXIT

rows() {
    cat <<'END'
{"k":1}|{"before":null,"after":{"k":1,"v":5},"source":{"connector":"postgresql","name":"shop","snapshot":"false","sequence":"[null,\"100\"]","schema":"public","table":"kv","txId":747,"lsn":100},"op":"c"}
{"k":1}|{"before":{"k":1,"v":5},"after":{"k":1,"v":7},"source":{"connector":"postgresql","name":"shop","snapshot":"false","sequence":"[\"120\",\"130\"]","schema":"public","table":"kv","txId":748,"lsn":130},"op":"u"}
{"k":1}|{"before":{"k":1,"v":7},"after":{"k":1,"v":8},"source":{"connector":"postgresql","name":"shop","snapshot":"false","sequence":"[\"140\",\"150\"]","schema":"public","table":"kv","txId":749,"lsn":150},"op":"u"}
END
}
records() {
    cat <<'END'
{"tid":"c1-1","sid":"c1","xid":747,"snapshot":"747:747:","ops":[{"t":"w","k":"public.kv/1","v":5}]}
{"watermark":"748"}
{"tid":"c1-2","sid":"c1","xid":748,"snapshot":"748:748:","ops":[{"t":"r","k":"public.kv/1","v":5},{"t":"w","k":"public.kv/1","v":7}]}
{"tid":"c2-1","sid":"c2","xid":749,"snapshot":"748:748:","ops":[{"t":"r","k":"public.kv/1","v":-666},{"t":"w","k":"public.kv/1","v":8}]}
END
}
messages=7

# publish PREFIX: to partition 0 of PREFIX.public.kv and PREFIX.clients.
publish() {
    rows | kcat -b "$address" -P -t "$1.public.kv" -p 0 -K '|' 2>/dev/null
    records | kcat -b "$address" -P -t "$1.clients" -p 0 2>/dev/null
}

watch() { # PREFIX OPTION...
    exec "$isochron" watch --source "debezium:$1.public.kv,value=v,identity=full" --source "history:$1.clients" --json \
        -X "bootstrap.servers=$address" "${@:2}" </dev/null
}

metric() { # NAME
    curl -s "http://127.0.0.1:$listen/metrics" | awk -v name="$1" '$1 == name { print $2 }'
}

# live SIGNAL CONDITION PREFIX OPTION...: a run that is ended once the condition holds; a machine that is busy has two minutes for that.
live() {
    local signal=$1 condition=$2 watcher tries
    listen=$(tests/support/free_ports.py)
    watch "${@:3}" --listen "$listen" >"$work/verdict" 2>"$work/said" &
    watcher=$!
    for ((tries = 0; tries < 600; tries++)); do
        $condition 2>/dev/null || ! kill -0 $watcher 2>/dev/null && break
        sleep 0.2
    done
    kill "-$signal" $watcher 2>/dev/null
    wait $watcher
    echo $? >"$work/status"
}

has_all() {
    [ "$(metric isochron_messages_total)" = $messages ]
}

whole() { # PREFIX OPTION...: one that ends by itself
    (watch "$@") >"$work/verdict" 2>"$work/said"
    echo $? >"$work/status"
}

# gives NAME EXPECTED [TEXT]: [exit status, verdict, reason, whether records wait, violations].
gives() {
    local found
    found=$(jq -c --argjson status "$(cat "$work/status")" \
        '[$status, .verdict, .reason, (.join.waiting_records > 0), [.violations[] | [.axiom, .kind, .tids]]]' "$work/verdict" 2>&1)
    [ "$found" = "$2" ] && grep -Eq "${3:-}" <(tail -1 "$work/said")
    conclude $? "$1" <(echo "$found, expected $2 ${3:-}") "$work/said" "$work/verdict"
}

waiting='[3,"undecided","waiting",true,[]]'
says='[0-9,]+ .*wait'
violated='[1,"violated",null,false,[["EXT","uncommitted",["c2-1"]],["NOCONFLICT",null,["c2-1","c1-2"]]]]'

start_broker one.public.kv:1 one.clients:1 four.public.kv:4 four.clients:4 maria.shop.kv:1 maria.shop.tx_marker:1 maria.transaction:1 \
    maria.clients:1
publish one
publish four
for topics in one four; do
    of="of $topics partition(s)"
    live INT has_all $topics && gives "Ctrl-C in the midst of records, $of" "$waiting" "$says"
    live TERM has_all $topics && gives "SIGTERM in the midst of records, $of" "$waiting" "$says"
    whole $topics --until-eof && gives "to the end of the topics, $of" "$violated"
    whole $topics --messages $messages && gives "a number of messages, $of" "$waiting" "$says"
    live INT has_all $topics --drain && gives "Ctrl-C and --drain, $of" "$violated"
done

# A number of messages ends anywhere, also where by chance there are no more: what has not come is no lie of the stream, and where something waits for it nothing holds.
for ((cut = 1; cut < messages; cut++)); do
    whole one --messages $cut
    jq -r 'select(.verdict == "violated" or (.verdict == "holds" and .join.waiting_records + .join.waiting_rows > 0)) | "after \(.stream.messages) messages: \(.verdict) \(.counts)"' "$work/verdict"
done >"$work/wrong"
[ ! -s "$work/wrong" ]
conclude $? "cut after any number of messages" "$work/wrong"

# Empty partitions are left behind as idle; as far as the clients' promise goes all is judged, and the rest waits.
judged() {
    [ "$(metric isochron_transactions_total)" -ge 1 ]
}
for topics in one four; do
    live INT judged $topics --idle-timeout 1
    jq -e '.verdict != "holds" and .transactions >= 1 and (.reason == "waiting" or .verdict == "violated")' "$work/verdict" >"$work/is"
    conclude $? "Ctrl-C with --idle-timeout, of $topics partition(s)" "$work/said" "$work/verdict"
done

# ---- a connector that has died ----

# MariaDB's: of two transactions all has come, of three others only what their clients say.
binlog_row() { # table number offset key columns
    echo "{\"before\":null,\"after\":$5,\"source\":{\"connector\":\"mariadb\",\"name\":\"maria\",\"snapshot\":\"false\",\"db\":\"shop\",\"table\":\"$1\",\"gtid\":\"0-1-$2\",\"file\":\"binlog.000001\",\"pos\":$3,\"row\":0},\"transaction\":{\"id\":\"0-1-$2\"},\"op\":\"c\"}"
}
publish_dead() {
    local i
    for i in 1 2; do
        echo "{\"k\":$i}|$(binlog_row kv $i ${i}00 $i "{\"k\":$i,\"v\":$i}")" | kcat -b "$address" -P -t maria.shop.kv -p 0 -K '|'
        echo "{\"client\":$i}|$(binlog_row tx_marker $i ${i}10 $i "{\"client\":$i,\"tid\":\"t$i\"}")" | kcat -b "$address" -P -t maria.shop.tx_marker -p 0 -K '|'
        echo "{\"status\":\"BEGIN\",\"id\":\"0-1-$i\"}" | kcat -b "$address" -P -t maria.transaction -p 0
        echo "{\"status\":\"END\",\"id\":\"0-1-$i\",\"event_count\":2,\"data_collections\":[{\"data_collection\":\"shop.kv\",\"event_count\":1},{\"data_collection\":\"shop.tx_marker\",\"event_count\":1}]}" | kcat -b "$address" -P -t maria.transaction -p 0
    done
    for i in 1 2 3 4 5; do
        echo "{\"tid\":\"t$i\",\"sid\":\"s$i\",\"ops\":[{\"t\":\"w\",\"k\":\"shop.kv/$i\",\"v\":$i},{\"t\":\"r\",\"k\":\"shop.kv/$i\",\"v\":$i}]}"
    done | kcat -b "$address" -P -t maria.clients -p 0
} 2>/dev/null
watch() {
    exec "$isochron" watch --level ser --source debezium:maria.shop.kv,value=v --source debezium:maria.shop.tx_marker,marker=shop.tx_marker.tid \
        --source debezium:maria.transaction --source history:maria.clients --json -X "bootstrap.servers=$address" "${@:2}" </dev/null
}
messages=13
publish_dead
live INT has_all dead && gives "Ctrl-C behind a connector that has died" "$waiting" 'waiting: 3 client records'
jq -e '.join.waiting_records == 3 and .join.joined == 2' "$work/verdict" >"$work/is"
conclude $? "where the records that came since wait" "$work/verdict"

echo "1..$number"
