#!/bin/bash
# `make bench`, the black-box part: polygraph on the workloads of earlier work (tests/support/blackbox_workload.h), whole
# process on one thread, from JSON Lines.
#
# The files hold their transactions in the order of commits, so that --no-advice is what measures the route; the last
# column says what the advice saves. Wall and processor time in seconds, medians of ROUNDS (3) runs; of a busy machine only
# the latter means something. What holds at its level must be found to hold with all steps on, else the exit status is 1.
# RECORD=1 keeps the tables in bench/results/.
#
#   polygraph.sh [speed|growth|ablation]...     all three by default
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
ROUNDS=${ROUNDS:-3}
LIMIT=${LIMIT:-60}
ISOCHRON=$BUILD/isochron
folder=$BUILD/bench
report=$folder/polygraph.md
file=$folder/polygraph.jsonl
mkdir -p "$folder"
command -v jq >/dev/null && [ -x /usr/bin/time ] || { echo "make bench: run make deps first" >&2; exit 4; }
trap 'rm -f "$file"' EXIT

make_file() { # NAME LEVEL TRANSACTIONS KEYS SESSIONS OPERATIONS
    "$BUILD/polygraph-workload" "$1" "$2" "$3" "$4" "$5" 0 "$6" "$file"
}

median() { sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }

# Sets verdict, wall, processor and peak (MB); the last run's report stays in $folder/verdict.json.
measure() { # LEVEL OPTION...
    local level=$1
    shift
    : >"$folder/times"
    for ((round = 0; round < ROUNDS; round++)); do
        /usr/bin/time -a -o "$folder/times" -f '%e %U %S %M' "$ISOCHRON" check --json --quiet --threads 1 --initial 0 \
            --engine polygraph --timeout "$LIMIT" --level "$level" "$@" "$file" >"$folder/verdict.json" || [ $? -lt 4 ]
        sed -i '/exited/d' "$folder/times"
    done
    verdict=$(jq -r .verdict "$folder/verdict.json")
    wall=$(awk '{ print $1 }' "$folder/times" | median)
    processor=$(awk '{ print $2 + $3 }' "$folder/times" | median)
    peak=$(awk '{ printf "%.0f\n", $4 / 1024 }' "$folder/times" | median)
}

# What was measured last is to hold; the tables are made in a subshell, so that a file counts.
must_hold() { # WHAT
    [ "$verdict" = holds ] || echo "$1: $verdict, should hold" >>"$folder/wrong"
}

row() { # NAME LEVEL TRANSACTIONS KEYS SESSIONS OPERATIONS [JUDGED-AT]
    local level=${7:-$2} advised
    make_file "$@"
    measure "$level"
    advised=$processor
    measure "$level" --no-advice
    [ -n "${7:-}" ] || must_hold "$*"
    printf '| %s, %s x %s, %s keys, %s sessions | %s | %s | %.2f | %.2f | %s | %.2f |\n' \
        "$1" "$3" "$6" "$4" "$5" "$level" "$verdict" "$wall" "$processor" "$peak" "$advised"
}

# The same, its lines grouped by session: the order of the file is no advice then.
row_grouped() { # like row
    make_file "$@"
    jq -s -c 'sort_by(.sid)[]' "$file" >"$file.grouped"
    mv "$file.grouped" "$file"
    measure "$2"
    must_hold "$* grouped"
    printf '| %s, %s x %s, %s keys, %s sessions, grouped by session | %s | %s | %.2f | %.2f | %s | |\n' \
        "$1" "$3" "$6" "$4" "$5" "$2" "$verdict" "$wall" "$processor" "$peak"
}

# Processor time from 10,000 to 80,000 transactions, and the exponent of the best line through them.
growth() { # NAME LEVEL KEYS-OF-A-TRANSACTION (0: 5,000 in all)
    : >"$folder/growth"
    for transactions in 10000 20000 40000 80000; do
        make_file "$1" "$2" "$transactions" "$(awk -v n="$transactions" -v k="$3" 'BEGIN { print k ? n * k : 5000 }')" 20 8
        measure "$2" --no-advice
        must_hold "$1 $2 $transactions"
        echo "$transactions $processor $verdict" >>"$folder/growth"
    done
    awk -v name="$1" -v level="$2" -v keys="$3" '$3 != "holds" { times = times " " $3 " |"; next }
    {
        x = log($1); y = log($2 + 0.001); n++; sx += x; sy += y; sxx += x * x; sxy += x * y; times = times sprintf(" %.2f |", $2)
    } END {
        printf "| %s | %s | %s |%s %.2f |\n", name, level, keys ? "half the transactions" : "5,000", times, (n * sxy - sx * sy) / (n * sxx - sx * sx)
    }' "$folder/growth"
}

ablation() { # NAME LEVEL
    make_file "$1" "$2" 10000 5000 20 8
    for step in none saturation meet join search windows solver; do
        if [ $step = none ]; then measure "$2" --no-advice; must_hold "$1 $2"; else measure "$2" --no-advice --no-$step; fi
        jq -r --arg row "| $1 | $2 | $step | $verdict | $processor" \
            '.steps | "\($row) | \(.open_reads_after) | \(.search_decisions) | \(.search_dead_ends) | \(.windows) | \(.solver_calls) |"' \
            "$folder/verdict.json"
    done
}

speed_table() {
    echo "| workload | level | verdict | wall s | processor s | peak MB | with advice, processor s |"
    echo "|---|---|---|---|---|---|---|"
    for level in ser si; do
        row blindw $level 10000 10000 24 8
        row blindw $level 16000 10000 24 8
        for name in bl wh hd; do row $name $level 10000 5000 20 8; done
        row blindw $level 20000 10000 1000 8
        row bl $level 20000 10000 1000 8
        row_grouped blindw $level 20000 10000 1000 8
    done
    row rmw si 10000 5000 20 20
    row rmw si 10000 5000 20 20 ser
    for name in bl wh hd; do row $name si 100000 50000 20 8; done
}

growth_table() {
    echo "Growth, processor seconds and exponent:"
    echo
    echo "| workload | level | keys | 10,000 | 20,000 | 40,000 | 80,000 | exponent |"
    echo "|---|---|---|---|---|---|---|---|"
    for level in ser si; do
        growth bl $level 0
        growth bl $level 0.5
    done
}

ablation_table() {
    echo "What each step is worth, 10,000 x 8, 5,000 keys, 20 sessions:"
    echo
    echo "| workload | level | without | verdict | processor s | open reads | decisions | dead ends | windows | solver calls |"
    echo "|---|---|---|---|---|---|---|---|---|---|"
    for name in bl hd; do
        for level in ser si; do ablation $name $level; done
    done
}

[ $# -gt 0 ] || set -- speed growth ablation
for part; do
    case $part in speed | growth | ablation) ;; *) echo "polygraph.sh: speed, growth or ablation, not $part" >&2; exit 2 ;; esac
done
: >"$folder/wrong"
{
    echo "# Black-box checking"
    echo
    echo "$("$ISOCHRON" --version), $(nproc) processors, $(date -u +%Y-%m-%d), median of $ROUNDS rounds, at most $LIMIT s each"
    for part; do
        echo
        "${part}_table"
    done
} | tee "$report"
if [ -n "${RECORD:-}" ]; then mkdir -p bench/results && cp "$report" bench/results/polygraph.md; fi
cat "$folder/wrong" >&2
[ ! -s "$folder/wrong" ]
