#!/bin/bash
# Small recordings of applications that attached as people do: cases.tsv says what has to come out.
. "$(dirname "$0")/common.sh"

# same WHAT EXPECTED FOUND
same() {
    [ "$2" = - ] || [ "$2" = "$3" ] || echo "$1: expected $2, got $3"
}

differences() { # STATUS: of the run
    local found
    mapfile -t found < <(jq -r ".verdict, .reason, .level, ([${facts/#-/true}] | tojson)" "$scratch/verdict.json" 2>&1)
    same "exit status" "$status" "$1"
    same verdict "$verdict" "${found[0]:-}"
    [ "$verdict" = - ] || same reason "${reason/#-/null}" "${found[1]:-}"
    same level "$level" "${found[2]:-}"
    [ "$facts" = - ] || same "$facts" '[true]' "${found[3]:-}"
    [ "$told" = - ] || grep -Eq "$told" "$scratch/errors" || echo "nothing is said of: $told"
}

judge() {
    # shellcheck disable=SC2086 # options are words
    (cd "$folder" && exec "$ISOCHRON" replay --json $options "$capture") >"$scratch/verdict.json" 2>"$scratch/errors"
    differences $? >"$scratch/differences"
    [ ! -s "$scratch/differences" ]
    conclude $? "$name" "$scratch/differences" "$scratch/errors" "$scratch/verdict.json"
}
for_each_case judge

# ---- another value stays one, however it is spelt ----

values=$(find_capture attach-mariadb/60-values-by-schema capture.jsonl.zst)/capture.jsonl.zst
sources=(--source debezium:s --source debezium:s.shop.tx_marker,marker=shop.tx_marker.tid --source debezium:s.transaction
    --source debezium:s.shop.acc,value=bal --source debezium:s.shop.types --source history:s.clients)
while read -r column lie; do # a client reads another value of one column
    zstd -dcq "$values" | jq -c --arg column "$column" --arg lie "$lie" 'if .topic == "s.clients" and (.payload | contains("shop.types"))
        then .payload |= (fromjson | .ops[0].v |= (fromjson | .[$column] = $lie | tojson) | tojson) else . end' >"$scratch/lies.jsonl"
    "$ISOCHRON" replay --json --level ser "${sources[@]}" "$scratch/lies.jsonl" >"$scratch/verdict.json" 2>"$scratch/errors"
    [ $? = 1 ] && ! cmp -s "$scratch/lies.jsonl" <(zstd -dcq "$values")
    conclude $? "$column is not $lie" "$scratch/errors" "$scratch/verdict.json"
done <<'END'
ti -4
bu 18446744073709551614
de 1.51
du -12345678901234567890.6
dbl 3.5
fl 1.2
bl b'\xff\x01'
vb \xff01
da 2024-03-01
d0 2024-02-29 12:34:57
d3 2024-02-29 12:34:56.501000
ts 2024-02-29 12:34:56+03:00
t6 2024-02-29 12:34:56.5+02:30
tm 12:34:57
tm6 -1 day, 11:25:04.500000
b1 0
b9 100000011
END

# ---- what is exported can be judged again ----

again() {
    [ "$name" = "SERIALIZABLE at ser" ] || return
    # shellcheck disable=SC2086
    (cd "$folder" && exec "$ISOCHRON" replay --quiet --final-only $options --to-history "$scratch/joined.jsonl" "$capture") >/dev/null 2>"$scratch/errors"
    "$ISOCHRON" check --json --level ser "$scratch/joined.jsonl" >"$scratch/verdict.json" 2>>"$scratch/errors"
    # 480 of clients, and 46 rows of the initial snapshot
    [ $? = 0 ] && [ "$(jq -c '[.verdict, .transactions]' "$scratch/verdict.json")" = '["holds",526]' ]
    conclude $? "SERIALIZABLE, its joined history at ser" "$scratch/errors" "$scratch/verdict.json"
}
for_each_case again

rewritten() { # what is exported has what nobody knows
    [ "$place" = . ] && [[ $name =~ ^a\ column.*,\ at\ rc$ ]] || return
    # shellcheck disable=SC2086
    (cd "$folder" && exec "$ISOCHRON" replay --quiet --final-only $options --to-history "$scratch/joined.jsonl" "$capture") >/dev/null 2>"$scratch/errors"
    "$ISOCHRON" check --json --level rc --engine chronos "$scratch/joined.jsonl" >"$scratch/verdict.json" 2>>"$scratch/errors"
    [ $? = 3 ] && [ "$(jq -c '[.counts.EXT, .unjudged.schema > 0]' "$scratch/verdict.json")" = '[0,true]' ]
    conclude $? "$name, its joined history" "$scratch/errors" "$scratch/verdict.json"
}
for_each_case rewritten

# ---- arguments say what is known ----

history=$(find_recording attach/rc_lost_update_wording)/h.jsonl
"$ISOCHRON" check --explain --html "$scratch/page.html" "$history" >"$scratch/said" 2>"$scratch/errors"
[ $? = 1 ] && ! grep -q "neither saw\|lost update" "$scratch/said" "$scratch/page.html" &&
    grep -q "T2 read x = 1015 in its operation 1, which is what T1 wrote: it saw that write" "$scratch/said"
conclude $? "overlapping writers of which one saw the other" "$scratch/said" "$scratch/errors"
"$ISOCHRON" check --json "$history" >"$scratch/verdict.json"
"$ISOCHRON" explain "$history" "$scratch/verdict.json" >"$scratch/again" 2>"$scratch/errors"
[ $? = 1 ] && cmp -s "$scratch/said" "$scratch/again"
conclude $? "explain says what check --explain does" "$scratch/again" "$scratch/errors"

# What PostgreSQL calls the writer whose value a client should have found, by the stream's own END of it.
told_by_the_database() {
    [ "$name" = "SERIALIZABLE at si" ] || return
    zstdcat "$folder/rec.jsonl.zst" | sed '/a-1-58\\"/s/\\"976.00\\"/\\"975.50\\"/' >"$scratch/lies.jsonl"
    # shellcheck disable=SC2086
    "$ISOCHRON" replay $options --quiet --final-only "$scratch/lies.jsonl" >"$scratch/lines.jsonl" 2>"$scratch/errors"
    jq -r --arg writer "$(jq -r .writer_expected "$scratch/lines.jsonl")" 'select(.topic == "clients_a.d12b") | .payload // empty | fromjson | select(.tid == $writer) | .xid' \
        "$scratch/lies.jsonl" >"$scratch/xid"
    jq -r --arg xid "$(cat "$scratch/xid")" 'select(.topic == "d12b.transaction") | .payload // empty | fromjson
        | select(.status == "END" and (.id | startswith($xid + ":"))) | "\(.id) \(.ts_ms)"' "$scratch/lies.jsonl" >"$scratch/end"
    IFS=': ' read -r xid lsn ms <"$scratch/end"
    printf '%s 0/%X %s.%03dZ\n' "$xid" "$lsn" "$(date -u -d "@$((ms / 1000))" +%Y-%m-%dT%H:%M:%S)" $((ms % 1000)) >"$scratch/expected"
    jq -r '.commits[] | "\(.xid) \(.lsn) \(.time)"' "$scratch/lines.jsonl" >"$scratch/found"
    [ -s "$scratch/end" ] && cmp -s "$scratch/expected" "$scratch/found"
    conclude $? "xid, LSN and time of a commit" "$scratch/lines.jsonl" "$scratch/expected" "$scratch/found" "$scratch/errors"
}
for_each_case told_by_the_database

# A stream that was told line by line, with its later states and other lines; explained from the recording alone.
stream=$(find_recording attach/snapshot_rows_after_watermark)/capture.jsonl
sources=(--source debezium:rc1.public.accounts,value=balance,identity=full --source history:clients_a.rc1)
sed 's/"v\\": \\"[0-9.]*\\"/"v\\": \\"-1\\"/g' "$stream" >"$scratch/lies.jsonl"
"$ISOCHRON" replay "${sources[@]}" "$scratch/lies.jsonl" >"$scratch/lines.jsonl" 2>"$scratch/summary"
cat "$scratch/summary" "$scratch/lines.jsonl" >"$scratch/mixed.jsonl"
"$ISOCHRON" explain "${sources[@]}" "$scratch/lies.jsonl" "$scratch/mixed.jsonl" >"$scratch/said" 2>"$scratch/errors"
status=$?
[ $status = 1 ] || [ $status = 3 ] && grep -q "a contradiction" "$scratch/said" && ! grep -q '^{\|"state":' "$scratch/said"
conclude $? "explain prints arguments, and never a line of the stream's verdict" "$scratch/said" "$scratch/errors" "$scratch/mixed.jsonl"
"$ISOCHRON" explain --ts time "${sources[@]}" "$scratch/lies.jsonl" "$scratch/mixed.jsonl" >"$scratch/said" 2>"$scratch/errors"
[ $? = 2 ] && [ ! -s "$scratch/said" ]
conclude $? "a time of day that timestamps do not have is refused before anything is printed" "$scratch/said" "$scratch/errors"

echo "1..$number"
