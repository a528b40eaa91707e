# gen, then check at both levels, if both are known: counts, unjudged reads, verdict and every planted finding must be as gen said.
# usage: round-trip.sh GEN-OPTIONS...   (prints the two verdicts)
set -e
isochron gen --txns 600 --sessions 8 --keys 30 --ops 8 "$@" -o h.jsonl
for level in si ser; do
    grep -q "\"$level\":{" h.jsonl.expected.json || continue # not known
    isochron check --json --max-violations 0 --level $level h.jsonl >out.json || [ $? = 1 ] || [ $? = 3 ]
    tr -d '\n' <h.jsonl.expected.json | sed -E "s/.*\"$level\":(\{\"verdict.*)/\1/; s/\]\}.*\"ser\":.*/]}/" >expected.json
    counts=$(grep -o '"counts":{[^}]*}' expected.json)
    verdict=$(grep -o '"verdict":"[a-z]*"' expected.json)
    unjudged=$(grep -o '"reads_unjudged":[0-9]*' expected.json)
    for text in "$counts" "$verdict" "$unjudged"; do
        grep -qF "$text" out.json || { echo "$level: expected $text, found $(grep -o '"verdict":"[a-z]*"\|"counts":{[^}]*}\|"reads_unjudged":[0-9]*' out.json | tr '\n' ' ')"; exit 1; }
    done
    grep -o '{"anomaly":[^}]*}' expected.json | sed -E 's/"anomaly":"[a-z-]*",//; s/}$//' | while read -r finding; do
        grep -qF "${finding%%,\"key\"*}" out.json || { echo "$level: $finding was not found"; exit 1; }
    done
    echo "$level: ${verdict#*:} with $(grep -o '"anomaly"' expected.json | wc -l) planted finding(s)"
done
