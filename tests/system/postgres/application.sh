#!/bin/bash
# An application as people write them, on PostgreSQL -> Debezium -> Kafka, attached in the ways in which people attach: all of its tables
# or some, live or at the end, from the beginning or the middle, while tables grow, change and are emptied. It is right, and must not be
# accused; what is planted must be found, and nothing else. TAP on stdout.
#
#   ISOCHRON=build/isochron WORKLOAD=build/postgres-workload tests/system/postgres/application.sh [TRANSACTIONS]   of each run, 800
set -u
here=$(cd "$(dirname "$0")" && pwd)
many=${1:-800}
. "$here/../../support/opening.sh"
. "$here/chain.sh"

connector_options() { # database
    echo decimal.handling.mode=string
    echo skipped.operations=none # TRUNCATE too
}

create_options() { # database
    echo "--application --rows $([ "$1" = big ] && echo 30000 || echo 40)"
}

change_statement() {
    echo "INSERT INTO audit_log (what) VALUES ('nothing')"
}

run() { # database options...: what it counted goes to $tally.tally, or DATABASE.tally
    local database=$1
    shift
    # shellcheck disable=SC2046 # options are words
    "$workload" --connect "$server dbname=$database" $(create_options "$database") --transactions "$many" --kafka "$address" \
        --topic "$database.clients" "$@" >"$work/${tally:-$database}.tally"
}

# Three processes on two topics: none of them could say what the others still send, nor tries to. One tells a lie.
run_apart() { # database options...
    local database=$1 processes=() process good=0
    shift
    tally=$database.1 run "$database" --no-watermarks --sid one- --event lie --aborts 0 "$@" &
    processes+=($!)
    tally=$database.2 run "$database" --no-watermarks --sid two- --seed 2 "$@" &
    processes+=($!)
    tally=$database.3 run "$database" --no-watermarks --sid three- --seed 3 --topic "$database.others" "$@" &
    processes+=($!)
    for process in "${processes[@]}"; do
        wait "$process" || good=1
    done
    return $good
}

now() {
    echo $(($(date +%s%N) / 1000000))
}

# Until a file exists: each half second how many client records are judged and how many wait, and when the first verdict was final.
observe() { # watcher file: in $work
    local page
    page=http://127.0.0.1:$(cat "$work/$1.listen")
    until [ -e "$work/$2" ]; do
        curl -s "$page/metrics" | awk -F '[ "]' '/^isochron_books{unit="record"/ { books[$4] = $NF }
            END { print books["judged"] + 0, books["waiting"] + 0 }'
        [ -e "$work/$1.found" ] || ! curl -s "$page/violations" | grep -q '"state":"final"' || now >"$work/$1.found"
        sleep 0.5
    done >"$work/$1.progress"
}

committed() { # database: by its last run
    grep -o 'committed [0-9]*' "$work/$1.tally" | cut -d' ' -f2
}

# What a source needs to know of its table.
declare -A table=([accounts]=value=balance,identity=full [orders]=value=status,identity=default [order_items]=value=qty,identity=full
    [stock]=value=on_hand,identity=full [audit_log]=value=what,reported=no)
all="accounts orders order_items stock audit_log"

attach() { # database table...: $sources
    local database=$1 name
    shift
    sources=()
    for name; do
        sources+=(--source "debezium:$database.public.$name,${table[$name]}")
    done
    sources+=(--source "debezium:$database.transaction" --source "history:$database.clients")
}

grace=3 # seconds; a transaction takes less than one
attach_apart() {
    # shellcheck disable=SC2086 # tables are words
    attach apart $all
    sources+=(--source history:apart.others)
}

chain_start shop die altered emptied bulk big apart strict
result $? "PostgreSQL, Kafka and Connect with Debezium run" || exit 1
echo "# after $SECONDS s"
chain_drain "${databases[@]}"

# ---- live ----

# shellcheck disable=SC2086 # tables are words
attach shop $all
watch_live live.shop --wait-for-topics
live_shop=$watcher
run shop
result $? "the application runs and records itself on a topic"
middle=$(now)
run shop --sid later- --seed 2
# shellcheck disable=SC2086
attach die $all
watch_live live.die --wait-for-topics
live_die=$watcher
run die --pause 1000 &
running=$!
sleep 2
"$here/../../../deploy/debezium/connect.sh" kill "$work/connect"
connect_start
result $? "Connect starts again after kill -9"
wait $running

# Nobody promises anything: what is over follows from the times of messages. A watcher finds what is there at its start, and looks
# for other topics every ten seconds.
run apart --no-watermarks --sid early- --transactions 60
run apart --no-watermarks --sid early-others- --transactions 60 --seed 2 --topic apart.others
chain_drain apart
attach_apart
watch_live live.apart --wait-for-topics --grace "$grace" --finality-timeout 0
live_apart=$watcher
(
    run_apart apart --sessions 3 --transactions 200 --pause 15000
    echo $? >"$work/apart.ended"
) &
running_apart=$!
observe live.apart apart.ended &
observing=$!
run altered --event column
run emptied --event truncate
run strict --isolation serializable
run bulk --event bulk
run big
wait $running_apart $observing
[ "$(cat "$work/apart.ended")" = 0 ]
result $? "processes that say nothing of one another run and record themselves"
chain_drain "${databases[@]}"
echo "# everything is on Kafka after $SECONDS s"

# ---- at the end ----

holds='0 ["holds",[]]'
judge_all() { # database [option...]: with all of its tables
    local database=$1
    shift
    # shellcheck disable=SC2086
    attach "$database" $all
    judge "$database" "$@"
}

judge_all shop
is shop "$holds" "$verdict_and_counts" "REPEATABLE READ holds with all tables attached"
is shop "0 true" ".transactions >= $(($(committed shop) * 19 / 10))" "and all of its transactions are judged"
watcher=$live_shop
end_live live.shop shop
is live.shop "$holds" "$verdict_and_counts" "so it does live"
is live.shop "0 $(jq .transactions "$work/shop")" .transactions "where as much is judged"

for ((subset = 1; subset < 16; subset++)); do
    tables=
    place=1
    for name in accounts orders order_items stock; do
        ((subset & place)) && tables+=" $name"
        place=$((place * 2))
    done
    # shellcheck disable=SC2086
    attach shop $tables
    judge subset
    is subset "$holds" "$verdict_and_counts" "it holds with$tables attached"
done

# shellcheck disable=SC2086
attach shop $all
judge middle --from "$middle"
is middle '0 ["holds",null,[],true]' '[.verdict, .reason, .violations, .transactions > 100]' "from the middle on it holds"

judge_all die
is die "$holds" "$verdict_and_counts" "kill -9 of Connect changes nothing"
watcher=$live_die
end_live live.die die
is live.die "$holds" "$verdict_and_counts" "neither live"

# ---- message times alone ----

attach_apart
judge apart
lie=$(kcat -C -b "$address" -t apart.clients -e -q -f '%T %s\n' 2>/dev/null | grep -e -666.00)
lie_sent=${lie%% *}
lied="1 [[[$(jq .tid <<<"${lie#* }")],\"EXT\",\"uncommitted\"]]"
kinds='[.violations[] | [.tids, .axiom, .kind]]'
is apart "$lied" "$kinds" "what a client never read is found, and nothing else"
watcher=$live_apart
end_live live.apart apart INT
is live.apart "$lied" "$kinds" "so it is live"
is live.apart "1 [$(jq .transactions "$work/apart"),true]" '[.transactions, (.books | all(.waiting // 0 == 0))]' \
    "and all is judged after Ctrl-C"
took=$(($(cat "$work/live.apart.found") - lie_sent))
echo "# final after $took ms; records judged and waiting, each half second: $(paste -sd, "$work/live.apart.progress")"
((took > grace * 1000))
result $? "while it ran, the lie became final, and not before its time"
awk '{ last = $1; if ($2 > most) most = $2 } END { exit !(last > 200 && most < last) }' "$work/live.apart.progress"
result $? "and other records were judged, of which only those of the last seconds wait"

judge_all altered
is altered "$holds" "$verdict_and_counts" "nor does ADD COLUMN"
judge_all emptied
is emptied '3 ["undecided","ddl",[]]' '[.verdict, .reason, .violations]' "what an older snapshot saw of an emptied table is not judged, all else is"
judge_all bulk
is bulk "$holds" "$verdict_and_counts" "transactions of 20,000 rows, which the stream tells, change nothing"
is bulk '0 true' '.join.rows > 20000' "and are there"
judge_all big
is big "$holds" "$verdict_and_counts" "nor do 30,000 rows from before"

# ---- serializable ----

judge_all strict --level ser
is strict "$holds" "$verdict_and_counts" "SERIALIZABLE has an order of its transactions"
is strict '0 true' ".transactions >= $(committed strict)" "of all of them"
run strict --isolation serializable --event skew --sid skewed- --seed 2
chain_drain strict
judge_all strict
is strict "$holds" "$verdict_and_counts" "two at a lesser level are right at it"
judge_all strict --level ser
is strict '1 [["CYCLE","write-skew",["skewed-8-0.0","skewed-9-0.0"]]]' '[.violations[] | [.axiom, .anomaly, (.tids | sort)]]' \
    "but have no order, and nothing else is found"

# ---- lies ----

# shellcheck disable=SC2086
attach shop $all
capture=()
for name in $all; do
    capture+=(--topic "shop.public.$name")
done
"$isochron" capture -X "bootstrap.servers=$address" "${capture[@]}" --topic shop.transaction --topic shop.clients --until-eof --quiet \
    -o "$work/whole.jsonl"
replay whole whole.jsonl
is whole "$holds" "$verdict_and_counts" "a replay of the capture holds"

"$here/plant.py" "$work/whole.jsonl" "$work/lies.jsonl" >"$work/planted"
replay lies lies.jsonl --max-violations 0
is lies "1 $(cat "$work/planted")" '[.violations[] | [.tids[0], .axiom, .kind]] | sort' "what was planted is found, all of it and nothing else"
[ "$(jq length "$work/planted")" = 12 ]
result $? "which is a dozen lies"
echo "# all in $SECONDS s"
plan $number
