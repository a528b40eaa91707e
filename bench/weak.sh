#!/bin/bash
# `make bench-polygraph`, the weak levels: whole process on one thread, of generated histories (50 sessions, 8 operations,
# 10,000 keys) as text, and of counters that lose updates, whose values repeat. Processor time in seconds, the least of
# ROUNDS (3) runs, and the peak in MB. What holds must be found to hold, else the exit status is 1.
#
#   weak.sh [TRANSACTIONS]...     10k 100k 1M by default
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
ROUNDS=${ROUNDS:-3}
ISOCHRON=$BUILD/isochron
folder=$(mktemp -d "$BUILD/bench-weak.XXXXXX")
[ -x /usr/bin/time ] || { echo "make bench: run make deps first" >&2; exit 4; }
trap 'rm -rf "$folder"' EXIT
wrong=0

row() { # INPUT LEVEL FILE [OPTION]...
    local input=$1 level=$2 file=$3 verdict
    shift 3
    : >"$folder/times"
    for ((round = 0; round < ROUNDS; round++)); do
        /usr/bin/time -a -o "$folder/times" -f '%U %S %M' \
            "$ISOCHRON" check --quiet --threads 1 --level "$level" "$@" "$file" >"$folder/verdict" || wrong=1
    done
    verdict=$(sed -n '1s/:.*//p' "$folder/verdict")
    awk '/exited/ { next } { print $1 + $2, $3 / 1024 }' "$folder/times" | sort -n |
        awk -v row="| $input | $level | $verdict |" 'NR == 1 { printf "%s %.2f | %.0f |\n", row, $1, $2 }'
}

# Eight clients read a counter and write one more; half of the time others come between.
counters() { # TRANSACTIONS
    awk -v n="$1" 'BEGIN {
        srand(3)
        while (done < n) {
            client = int(8 * rand())
            if (!(client in seen)) {
                seen[client] = value + 0
                if (rand() < 0.5)
                    continue
            }
            value = seen[client] + 1
            delete seen[client]
            printf "{\"sid\":%d,\"tid\":%d,\"ops\":[{\"t\":\"r\",\"k\":1,\"v\":%d},{\"t\":\"w\",\"k\":1,\"v\":%d}]}\n", \
                client, ++done, value - 1, value
        }
    }'
}

[ $# -gt 0 ] || set -- 10k 100k 1M
echo "Weak levels:"
echo
echo "| input | level | verdict | processor s | peak MB |"
echo "|---|---|---|---|---|"
for transactions; do
    "$ISOCHRON" gen --sessions 50 --ops 8 --keys 10000 --txns "$transactions" -o "$folder/history.jsonl"
    "$ISOCHRON" convert --to text "$folder/history.jsonl" -o "$folder/history.txt" 2>/dev/null
    rm "$folder/history.jsonl"
    for level in rc ra cc psi; do
        row "$transactions text" $level "$folder/history.txt"
    done
done
counters 956 >"$folder/counters.jsonl"
for level in cc pc strongest; do
    row "956 of a counter" $level "$folder/counters.jsonl" --initial 0
done
exit $wrong
