#!/bin/bash
# What cannot be let go, and what was: streams without a watermark, unknown outcomes by the hundred thousand, sessions that ended long
# ago. The bound holds or is said, and nothing that was dropped becomes "holds". TAP on stdout.
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "${ISOCHRON:-$here/../../../build/isochron}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 4
echo "1..9"

# A session breaks its order when 300, or 60,000, others have ended.
python3 "$here/flush.py" 300 >few.jsonl
"$program" replay --source history:txns --final-only --quiet --json --retention 1000 few.jsonl >few
[ "$(jq -c '[.verdict, .counts.SESSION]' few)" = '["violated",1]' ] || [ "$(jq -c .verdict few)" = '"undecided"' ] || echo -n "not "
echo "ok 1 - a session that is known still"
python3 "$here/flush.py" 60000 >many.jsonl
"$program" replay --source history:txns --final-only --quiet --json --retention 1000 many.jsonl >many
[ "$(jq -c '[.verdict, .reason, .stream.sessions_undecided]' many)" = '["undecided","retention",1]' ] || echo -n "not "
echo "ok 2 - a session that ended long ago"
grep -v victim many.jsonl >healthy.jsonl
"$program" replay --source history:txns --final-only --quiet --json --retention 1000 healthy.jsonl >healthy
[ "$(jq -c '[.verdict, .stream.sessions_undecided]' healthy)" = '["holds",null]' ] || echo -n "not "
echo "ok 3 - sessions that are all new"

# 120,000 transactions in 20 MB, without a watermark.
made() { # STATUS
    awk -v status="$1" 'BEGIN { for (i = 1; i <= 120000; i++) {
        payload = sprintf("{\"tid\":%d,\"sid\":%d,\"sts\":%d,\"ops\":[{\"t\":\"w\",\"k\":%d,\"v\":%d}],", i, i % 100, 2 * i, i % 5000, i)
        payload = payload (status == "" ? sprintf("\"cts\":%d}", 2 * i + 1) : "\"status\":\"" status "\"}")
        gsub(/"/, "\\\"", payload)
        printf "{\"topic\":\"txns\",\"partition\":0,\"offset\":%d,\"key\":null,\"payload\":\"%s\"}\n", i - 1, payload } }'
}
made "" >open.jsonl
"$program" replay --source history:txns --final-only --json --memory 20M --retention 1000 open.jsonl >open 2>said
jq -e '.stream.closed_early and .transactions == 120000' open >null && grep -q 'does not fit into 20000000 bytes' said || echo -n "not "
echo "ok 4 - no watermark: what came long ago is closed, and said"
made unknown >unknown.jsonl
"$program" replay --source history:txns --final-only --json --memory 20M --retention 1000 unknown.jsonl >unknown 2>said
jq -e '.stream.aged_unknown > 0 and .verdict == "undecided"' unknown >null && ! grep -q polygraph said || echo -n "not "
echo "ok 5 - outcomes that nobody tells are given up, and nobody speaks of polygraph, which has nothing to do"

# One partition comes after another, so that most of what is closed early still comes: what is found for certain is found with room enough, too.
"$program" gen --quiet --txns 4000 --ops 4 --keys 1500 --anomaly lost-update:15 --anomaly stale-read:25 --anomaly long-fork:10 -o history.jsonl
for partition in 0 1 2; do
    jq -c --argjson partition $partition 'select((.sid | tonumber) % 3 == $partition)' history.jsonl
    echo '{"watermark":"100000"}'
done | jq -c '{topic: "txns", key: null, payload: tojson}' | awk '{ print "{\"partition\":" part + 0 ",\"offset\":" at + 0 "," substr($0, 2); at++ }
    /watermark/ { part++; at = 0 }' >skewed.jsonl
certain() { grep -v '"doubtful"' "$1" | grep -o '^{"id":"[0-9a-f]*"' | sort; }
"$program" replay --source history:txns --final-only --quiet skewed.jsonl >roomy
"$program" replay --source history:txns --final-only --quiet --memory 1000000 skewed.jsonl >short
[ "$(wc -l <roomy)" = 50 ] && [ "$(grep -c '"doubtful":"memory"' short)" -gt 100 ] || echo -n "not "
echo "ok 6 - what is closed early makes many verdicts doubtful"
[ -z "$(comm -13 <(certain roomy) <(certain short))" ] || echo -n "not "
echo "ok 7 - and none that is untrue certain"

# No start: nothing says that they are over.
sed -E 's/\\"sts\\":[0-9]+,//' unknown.jsonl >timeless.jsonl
"$program" replay --source history:txns --final-only --quiet --json --memory 20M --retention 1000 timeless.jsonl >timeless 2>said
jq -e '.stream.aged_unknown > 0' timeless >null && grep -q 'unknown outcome that do not say when they started are given up' said || echo -n "not "
echo "ok 8 - outcomes without a start are given up, and that is said"

# Values that were there before: who was refused may have written what was read.
python3 "$here/few_values.py" 5 >few_values.jsonl
"$program" replay --source history:txns --final-only --quiet few_values.jsonl >roomy
"$program" replay --source history:txns --final-only --quiet --memory 400000 few_values.jsonl >short
[ ! -s roomy ] && [ "$(grep -c '"doubtful":"memory"' short)" -gt 100 ] && [ -z "$(certain short)" ] || echo -n "not "
echo "ok 9 - a history without a fault is not accused where memory was short"
