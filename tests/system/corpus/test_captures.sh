#!/bin/bash
# Histories that clients of real systems recorded, and two of TimeKiller's: captures.tsv says what must be found.
. "$(dirname "$0")/common.sh"

while IFS=$'\t' read -r path level expected options; do
    case $path in \#* | '') continue ;; esac
    file=$(find_recording "$path")
    if [ -z "$file" ]; then
        echo "# skipped: $path at $level, which is not among tests/data/recordings and there is no ../shared"
        continue
    fi
    # An initial transaction's file lies beside its history.
    # shellcheck disable=SC2086 # options are words
    expect "$path at $level${options:+ $options}" "$expected" "$file" --level "$level" \
        ${options/--initial-file /--initial-file $(dirname "$file")/}
done <"$here/captures.tsv"

# Without the operations' own timestamps, what pessimistic transactions read after locking looks like reads of the future.
pessimistic=$(find_recording tikv/pessimistic.history.jsonl.zst)
zstd -dqc "$pessimistic" | jq -c '.ops |= map(del(.ots))' >"$scratch/stripped.jsonl"
expect "tikv/pessimistic at si, without its ots" violated "$scratch/stripped.jsonl" --level si

"$ISOCHRON" check --json "$(find_recording dgraph/kill-20k.history.jsonl.zst)" --allow-unjudged >"$scratch/verdict.json"
status=$?
[ "$status" = 0 ] && [ "$(jq -r .verdict "$scratch/verdict.json")" = holds ]
report $? "dgraph/kill-20k holds where unjudged reads are allowed"

# ---- change streams, joined with what clients saw of them ----

# replay NAME EXPECTED CAPTURE OPTION...: the counts, or `violated`, and the exit status; leaves verdict.json.
replay() {
    local name=$1 expected=$2 capture=$3 status wanted found
    shift 3
    case $expected in holds*) wanted=0 ;; undecided*) wanted=3 ;; *) wanted=1 ;; esac
    "$ISOCHRON" replay --json --quiet "$@" "$capture" >"$scratch/verdict.json" 2>"$scratch/errors"
    status=$?
    found=$(jq -r "$summary" "$scratch/verdict.json" 2>&1)
    [ "$found" = "$expected" ] && [ "$status" = "$wanted" ]
    report $? "$name: expected \"$expected\" and exit $wanted, got \"$found\" and exit $status"
    sed 's/^/# /' "$scratch/errors"
}

# told NAME JQ EXPECTED: what the verdict says further.
told() {
    local found
    found=$(jq -c "$2" "$scratch/verdict.json")
    [ "$found" = "$3" ]
    report $? "$1: expected $3, got $found"
}

# The joined history must say the same to every engine.
joined_history() { # NAME EXPECTED LEVEL
    expect "$1, its joined history, chronos" "$2" "$scratch/joined.jsonl" --engine chronos --level "$3"
    expect "$1, its joined history, aion" "$2" "$scratch/joined.jsonl" --engine aion --level "$3"
}

dgraph() { # RUN EXPECTED
    local capture history
    capture=$(find_recording "dgraph/$1.capture.jsonl.zst")
    history=$(find_recording "dgraph/$1.history.jsonl.zst")
    [ -n "$capture" ] && [ -n "$history" ] || { echo "# skipped: dgraph/$1, which is not here"; return 1; }
    replay "dgraph/$1 joined" "$2" "$capture" --source dgraph:dgraph-cdc --history "$history" \
        --to-history "$scratch/joined.jsonl"
}
join_figures='[.stream.repeats, .join.joined, .join.foreign, .join.resolved_committed, .join.resolved_aborted]'

dgraph clean holds && told "dgraph/clean" "$join_figures" "[0,955,0,0,0]" && joined_history dgraph/clean holds si
dgraph kill holds && told "dgraph/kill" "$join_figures" "[10753,1274,5793,0,0]" && joined_history dgraph/kill holds si
dgraph best-effort SESSION=131 && joined_history dgraph/best-effort SESSION=131 si
dgraph noconflict NOCONFLICT=2048 && joined_history dgraph/noconflict NOCONFLICT=2048 si
dgraph kill-20k holds && told "dgraph/kill-20k" "$join_figures" "[54075,16325,0,5,5]" && joined_history dgraph/kill-20k holds si &&
    {
        committed=$(jq -c 'select(.tid as $tid | [8067,8068,8070,16182,16184] | index($tid)) | [.tid, .cts]' "$scratch/joined.jsonl" |
            sort | tr '\n' ' ')
        [ "$committed" = "[16182,29355] [16184,29353] [8067,14762] [8068,14760] [8070,14761] " ]
        report $? "dgraph/kill-20k: transactions of unknown outcome have the timestamps of their rows: $committed"
    }

# Below si a stream is judged as its history is.
at_level() { # RUN LEVEL EXPECTED
    replay "dgraph/$1 joined, at $2" "$3" "$(find_recording "dgraph/$1.capture.jsonl.zst")" --source dgraph:dgraph-cdc \
        --history "$(find_recording "dgraph/$1.history.jsonl.zst")" --to-history "$scratch/joined.jsonl" --level "$2"
    joined_history "dgraph/$1 at $2" "$3" "$2"
}
at_level best-effort stale holds
at_level best-effort rc SESSION=131
at_level best-effort ryw EXT=15
at_level best-effort mr holds

capture=$(find_recording debezium-postgres/bank.capture.jsonl.zst)
history=$(find_recording debezium-postgres/bank.history.jsonl.zst)
bank=(--source debezium:dbzb.public.kv,value=v,identity=full --source debezium:dbzb.public.acct,value=v,identity=full
    --source debezium:dbzb.public.nofull,value=v,identity=default --source debezium:dbzb.transaction)
replay "debezium-postgres/bank joined" holds "$capture" "${bank[@]}" --history "$history" --to-history "$scratch/joined.jsonl"
told "debezium-postgres/bank" "$join_figures" "[0,465,0,0,0]"
told "debezium-postgres/bank: clients' transactions" "[.transactions, .aborted, .sessions, .join.snapshot_rows]" "[583,217,8,6]"
joined_history debezium-postgres/bank holds si
for level in rc stale ryw mr; do
    replay "debezium-postgres/bank joined, at $level" holds "$capture" "${bank[@]}" --history "$history" --level $level
    told "debezium-postgres/bank joined, at $level" .reads_judged 2332
done
expect "debezium-postgres/bank, its joined history, polygraph" holds "$scratch/joined.jsonl" --engine polygraph
replay "debezium-postgres/bank by its before images alone" holds "$capture" "${bank[@]}" --to-history "$scratch/joined.jsonl"
told "debezium-postgres/bank by its before images alone" "[.transactions, .reads_judged > 1000]" "[465,true]"
joined_history "debezium-postgres/bank by its before images alone" holds si

# ---- parts of what there is ----

# Every set of its tables, with the transaction topic and without.
for tables in "kv" "acct" "nofull" "kv acct" "kv nofull" "acct nofull"; do
    some=()
    for table in $tables; do
        some+=(--source "debezium:dbzb.public.$table,value=v,identity=$([ "$table" = nofull ] && echo default || echo full)")
    done
    replay "debezium-postgres/bank, of its tables $tables" holds "$capture" "${some[@]}" --history "$history"
    replay "debezium-postgres/bank, of its tables $tables and transactions" holds "$capture" "${some[@]}" \
        --source debezium:dbzb.transaction --history "$history"
done

# A connector without a snapshot that began when some had committed; all records of clients are there.
zstd -dqc "$capture" | jq -c 'select(.payload != null) | (.payload | fromjson) as $it
    | select($it.op != "r") | .xid = (if $it.id then $it.id | split(":")[0] else $it.source.txId | tostring end)' >"$scratch/of.jsonl"
jq -r 'select(.topic == "dbzb.transaction") | select(.payload | fromjson | .status == "END") | .xid' "$scratch/of.jsonl" >"$scratch/order"
for left in 455 400 200 20; do
    tail -n $left "$scratch/order" | jq -nR '[inputs | {(.): true}] | add' >"$scratch/kept.json"
    jq -c --slurpfile kept "$scratch/kept.json" 'select($kept[0][.xid]) | del(.xid)' "$scratch/of.jsonl" >"$scratch/middle.jsonl"
    replay "debezium-postgres/bank, its last $left transactions" holds "$scratch/middle.jsonl" "${bank[@]}" --history "$history"
    told "debezium-postgres/bank, its last $left transactions" '[.join.joined, .books.record["before-start"] > 0]' "[$left,true]"
    replay "debezium-postgres/bank, its last $left transactions, no topic of transactions" holds "$scratch/middle.jsonl" \
        "${bank[@]:0:6}" --history "$history"
done

# A topic read from a time on, in the midst of a transaction: what it did before did not come, and nothing tells it from
# what was lost.
while read -r from verdict; do
    zstd -dqc "$capture" | jq -c "select(.ts >= $from)" >"$scratch/middle.jsonl"
    replay "debezium-postgres/bank from $from on" "$verdict" "$scratch/middle.jsonl" "${bank[@]}"
    replay "debezium-postgres/bank from $from on, with clients" "$verdict" "$scratch/middle.jsonl" "${bank[@]}" --history "$history"
done <<<"1795252008762 holds
1795252009190 undecided
1795252009900 undecided"

# ---- faults planted into the streams ----

# The first message of a topic that a jq condition on its payload holds for.
first_message() { # CAPTURE CONDITION
    zstd -dqc "$1" | jq -c "select(.payload != null) | select(.payload | fromjson | $2) | [.topic, .offset]" | head -1
}

tamper() { # CAPTURE MESSAGE JQ: what becomes of that message
    zstd -dqc "$1" | jq -c "if [.topic, .offset] == $2 then ($3) else . end" >"$scratch/tampered.jsonl"
}

clean=$(find_recording dgraph/clean.capture.jsonl.zst)
clean_history=$(find_recording dgraph/clean.history.jsonl.zst)
message=$(first_message "$clean" '.meta.commit_ts > 400 and .event.operation == "set"')
value='.payload |= (fromjson | .event.value = 1234567 | tojson)'
tamper "$clean" "$message" empty
replay "dgraph: a message lost" CDC=1 "$scratch/tampered.jsonl" --source dgraph:dgraph-cdc --history "$clean_history"
told "dgraph: a message lost" '[.violations[0] | .kind, (.at | length), .actual]' '["missing",1,null]'
tamper "$clean" "$message" "$value"
replay "dgraph: a message altered" CDC=1 "$scratch/tampered.jsonl" --source dgraph:dgraph-cdc --history "$clean_history"
told "dgraph: a message altered" '[.violations[0] | .kind, (.at | length), .actual]' '["value",2,"1234567"]'
tamper "$clean" "$message" ".payload |= (fromjson | .event.uid = 99999 | tojson), ."
replay "dgraph: a message that nobody wrote" CDC=1 "$scratch/tampered.jsonl" --source dgraph:dgraph-cdc --history "$clean_history"
told "dgraph: a message that nobody wrote" '[.violations[0] | .kind, .key]' '["unwritten","val/0x1869f"]'

message=$(first_message "$capture" '.op == "u" and .before.v and .source.table == "kv"')
tamper "$capture" "$message" empty
replay "debezium: a row lost, joined" undecided "$scratch/tampered.jsonl" "${bank[@]}" --history "$history"
told "debezium: a row lost, joined" '[.reason, .join.incomplete, (.incomplete | length)]' '["incomplete",1,1]'
replay "debezium: a row lost, without clients" undecided "$scratch/tampered.jsonl" "${bank[@]}"
told "debezium: a row lost, without clients" '[.reason, .join.incomplete]' '["incomplete",1]'
tamper "$capture" "$message" '.payload |= (fromjson | .after.v = 1234567 | tojson)'
replay "debezium: a row altered, joined" CDC=1 "$scratch/tampered.jsonl" "${bank[@]}" --history "$history"
told "debezium: a row altered, joined" '.violations[0].kind' '"value"'
replay "debezium: a row altered, without clients" "CDC=1" "$scratch/tampered.jsonl" "${bank[@]}"
tamper "$capture" "$message" '.payload |= (fromjson | .before.v = 1234567 | tojson)'
replay "debezium: a before image altered, joined" CDC=1 "$scratch/tampered.jsonl" "${bank[@]}" --history "$history"
told "debezium: a before image altered, joined" '.violations[0].kind' '"before-image"'
tamper "$capture" "$message" '., (.payload |= (fromjson | .after.v = 1234567 | tojson))'
replay "debezium: a row again, with another value" CDC=1 "$scratch/tampered.jsonl" "${bank[@]}" --history "$history"
told "debezium: a row again, with another value" '.violations[0].kind' '"other-content"'
replay "debezium: a row again, with another value, without clients" CDC=1 "$scratch/tampered.jsonl" "${bank[@]}"
echo "1..$number"
