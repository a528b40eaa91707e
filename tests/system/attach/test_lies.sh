#!/bin/bash
# A client that says of a write what the database did not do, beside clients who say what is so: the contradiction is told for certain, and
# whatever else is found because of it is doubtful. By the records alone: nobody says who lies. TAP on stdout.
. "$(dirname "$0")/common.sh"
folder=$(find_capture attach/reads_only_records capture.jsonl)

# lie NAME EXIT FINDINGS SCRIPT: SCRIPT (sed) makes it of what the clients said; of each final line axiom, kind, transaction, key, what was
# expected and found, and its doubt.
lie() {
    sed "$4" "$folder/clients_all.jsonl" >"$scratch/clients.jsonl"
    "$ISOCHRON" replay --final-only --source debezium:shop.public.kv,value=v,identity=full --history "$scratch/clients.jsonl" \
        "$folder/capture.jsonl" >"$scratch/lines" 2>"$scratch/errors"
    local status=$? found
    found=$(jq -r '"\(.axiom) \(.kind) \(.tids[0]) \(.key | ltrimstr("public.")) \(.expected)/\(.actual) \(.doubtful // "certain")"' "$scratch/lines" | sort)
    [ "$status" = "$2" ] && [ "$found" = "$3" ]
    report $? "$1" || printf 'status %s\n%s\n' "$status" "$found" | sed 's/^/# /'
}

lie "nobody lies" 0 "" ""
lie "another value" 1 "CDC before-image c1-2 kv/1 6/5 contradiction
CDC value c1-1 kv/1 6/5 certain
EXT uncommitted c1-2 kv/1 6/5 contradiction" '1s/"v":5/"v":6/'
lie "another value, and a reader who says the same" 1 "CDC before-image c1-2 kv/1 6/5 contradiction
CDC value c1-1 kv/1 6/5 certain" '1s/"v":5/"v":6/; 2s/"v":5/"v":6/'
lie "another key" 1 "CDC before-image c1-2 kv/1 null/5 contradiction
CDC missing c1-1 kv/2 5/null certain
CDC unwritten c1-1 kv/1 null/5 certain
EXT uncommitted c1-2 kv/1 null/5 contradiction" '1s,kv/1,kv/2,'
lie "one write more" 1 "CDC missing c1-1 kv/9 1/null certain" '1s|}\]}|},{"t":"w","k":"public.kv/9","v":1}]}|'
lie "that it aborted" 1 "CDC aborted c1-1 kv/1 null/5 certain
CDC before-image c1-2 kv/1 null/5 contradiction" '1s/"xid"/"status":"aborted","xid"/'
lie "no write at all, as readers say it: the stream has it" 0 "" '1s/"ops":.*/"ops":[]}/'
echo "1..$number"
