#!/bin/bash
# However the partitions of a recording are interleaved, and in whatever order sources are named, the verdict is the one of the recording.
# INTERLEAVINGS are drawn for each: 3 in short runs and under sanitizers, 25 in medium ones, 100 in long ones.
. "$(dirname "$0")/common.sh"
few=3
[ "${EFFORT:-short}" != medium ] || few=25
[ "${EFFORT:-short}" != long ] || few=100
[ "${BUILD:-build}" = build ] || few=3
count=${INTERLEAVINGS:-$few}

# What must not depend on it.
summary='[.verdict, .reason, .level, .counts, .reads_judged, .reads_unjudged,
    ([.violations[] | [.axiom, .kind, .doubtful, .tids, .key, .expected, .actual]] | sort)]'

# Every second time the options stand in another order: each beside its value, the last ones first.
turn() { # NUMBER OPTION VALUE...: sets options_turned
    local number=$1
    options_turned=()
    shift
    while [ $# -gt 0 ]; do
        if ((number % 2)); then options_turned=("$1" "$2" "${options_turned[@]}"); else options_turned+=("$1" "$2"); fi
        shift 2
    done
}

judge() { # NUMBER CAPTURE OPTION...
    turn "$1" "${@:3}"
    "$ISOCHRON" replay --json --quiet --max-violations 0 "${options_turned[@]}" "$2" >"$interleavings/$1.json" 2>"$interleavings/$1.err"
    echo $? >"$interleavings/$1.status"
}

# Those from FIRST on by STEP.
judge_some() { # FIRST STEP OPTION...
    local number
    for ((number = $1; number <= last; number += $2)); do
        judge $number "$interleavings/$number.jsonl" "${@:3}"
    done
}

judge_all() { # OPTION...
    local core cores
    cores=$(nproc)
    for ((core = 1; core <= cores; core++)); do
        judge_some $core "$cores" "$@" &
    done
    wait
}

# Number 0 is the recording as it came. In the others clients' records out of a file come as a topic.
vary() {
    local interleavings=$scratch/interleavings last records=
    [[ $options != *--history* ]] || records=$folder/${options##*--history }
    rm -rf "$interleavings"
    mkdir "$interleavings"
    "$attach/interleave.py" "$folder/$capture" "$count" "$interleavings" ${records:+"$records"} || { report 1 "$name: no interleavings"; return; }
    last=$(find "$interleavings" -name '*.jsonl' | wc -l)
    # shellcheck disable=SC2086 # options are words
    judge_all ${options/--history */--source history:clients}
    # shellcheck disable=SC2086
    (cd "$folder" && judge 0 "$capture" $options)
    sort "$interleavings"/*.status | uniq -c >"$scratch/verdicts"
    jq -c "$summary" "$interleavings"/*.json 2>&1 | sort | uniq -c >>"$scratch/verdicts"
    # Of a record that stops the run there is no verdict.
    [ "$(awk '{ print $1 }' "$scratch/verdicts" | uniq)" = $((last + 1)) ]
    conclude $? "$name, interleaved" "$scratch/verdicts"
}
for_each_case vary

echo "1..$number"
