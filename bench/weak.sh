#!/bin/bash
# `make bench-polygraph`, the weak levels: whole processes, as the reference's table of figures has them. Generated histories (50
# sessions, 8 operations, 10,000 keys) as text, sorted by session, and as JSON Lines in commit order; evidence of the largest
# and its confirmation; a reader that stays with the first version of a hot key; a chain; counters that lose updates, whose
# values repeat. Processor time and time by the clock in seconds, each the least of ROUNDS (3) runs, and the peak in MB, on as many
# threads as there are processors. What holds must be found to hold, else the exit status is 1.
#
#   weak.sh [TRANSACTIONS]...     10k 100k 1M by default
#   CHAIN=10000000 weak.sh        how long the chain is; 0: none
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
ROUNDS=${ROUNDS:-3}
CHAIN=${CHAIN:-10000000}
ISOCHRON=$BUILD/isochron
folder=$(mktemp -d "$BUILD/bench-weak.XXXXXX")
[ -x /usr/bin/time ] || { echo "make bench: run make deps first" >&2; exit 4; }
trap 'rm -rf "$folder"' EXIT
wrong=0

row() { # INPUT LEVEL COMMAND...
    local input=$1 level=$2 verdict
    shift 2
    : >"$folder/times"
    for ((round = 0; round < ROUNDS; round++)); do
        /usr/bin/time -a -o "$folder/times" -f '%U %S %e %M' "$@" >"$folder/verdict" || wrong=1
    done
    verdict=$(sed -n '1s/:.*//p' "$folder/verdict")
    awk -v row="| $input | $level | $verdict |" '
        /exited/ { next }
        !n++ || $1 + $2 < busy { busy = $1 + $2 }
        n == 1 || $3 < clock { clock = $3 }
        $4 > peak { peak = $4 }
        END { printf "%s %.2f | %.2f | %.0f |\n", row, busy, clock, peak / 1024 }' "$folder/times"
}

check() { # INPUT LEVEL FILE [OPTION]...
    row "$1" "$2" "$ISOCHRON" check --quiet --level "$2" "${@:4}" "$3"
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

# Every other transaction is a write of one of 49 sessions, the rest read the first version.
hot_key() { # TRANSACTIONS
    awk -v n="$1" 'BEGIN {
        for (i = 1; i <= n; i++)
            print i % 2 ? "w(1," i "," i % 49 "," i ")" : "r(1,1,49," i ")"
    }'
}

# Each reads what the one before wrote.
chain() { # TRANSACTIONS
    awk -v n="$1" 'BEGIN {
        for (i = 1; i <= n; i++)
            print "r(1," i - 1 ",1," i ")\nw(1," i ",1," i ")"
    }'
}

[ $# -gt 0 ] || set -- 10k 100k 1M
echo "Weak levels:"
echo
echo "| input | level | verdict | processor s | clock s | peak MB |"
echo "|---|---|---|---|---|---|"
for transactions; do
    "$ISOCHRON" gen --sessions 50 --ops 8 --keys 10000 --txns "$transactions" -o "$folder/history.jsonl"
    "$ISOCHRON" convert --to text "$folder/history.jsonl" -o "$folder/history.txt" 2>/dev/null
    for level in rc ra cc psi; do
        check "$transactions text" $level "$folder/history.txt"
    done
    case $transactions in
    *M)
        for level in rc ra cc; do
            check "$transactions JSONL" $level "$folder/history.jsonl" --engine polygraph
        done
        check "$transactions text, with evidence" cc "$folder/history.txt" --evidence "$folder/evidence.jsonl"
        row "$transactions text, its evidence" cc "$ISOCHRON" verify --quiet "$folder/history.txt" "$folder/evidence.jsonl"
        ;;
    *)
        for level in pc si strongest; do
            check "$transactions text" $level "$folder/history.txt"
        done
        ;;
    esac
    rm -f "$folder"/history.* "$folder/evidence.jsonl"
done
hot_key 120000 >"$folder/hot.txt"
for level in rc ra cc; do
    check "120k of a hot key" $level "$folder/hot.txt"
done
if [ "$CHAIN" -gt 0 ]; then
    chain "$CHAIN" >"$folder/chain.txt"
    ROUNDS=1 check "a chain of $CHAIN" cc "$folder/chain.txt"
    rm "$folder/chain.txt"
fi
counters 956 >"$folder/counters.jsonl"
for level in cc pc strongest; do
    check "956 of a counter" $level "$folder/counters.jsonl" --initial 0
done
exit $wrong
