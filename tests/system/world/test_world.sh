#!/bin/bash
# Every command in a world that fails: the n-th call of each kind goes wrong, for every n that a run has (tests/system/world/failing_world.c).
#
#   FAULTY=build/tests/isochron BUILD=build tests/system/world/test_world.sh [--most MOST]     at most MOST places of each kind, evenly spread (3);
#   SCENARIOS="spill state" tests/system/world/test_world.sh                       some of the commands
#
# A run in which a call failed must say so and exit with 4, and leave no file that is not whole; or, where the call did not matter,
# do exactly what it does without. Half a read or write, and an interrupted one, never matter. Nothing may crash, and no verdict be
# another. TAP on stdout.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../../..
build=$(realpath "${BUILD:-$root/build}")
isochron=$(realpath "${FAULTY:-$build/tests/isochron}")
most=3
[ "${1:-}" != --most ] || most=$2
work=$(mktemp -d)
broker_input=
number=0
. "$root/tests/support/tap.sh"

finish() {
    [ -z "$broker_input" ] || kill "$broker_input"
    rm -rf "$work"
}
trap finish EXIT

# The commands, each run in an empty folder with the inputs beside it; what they leave there and print is what is compared.
scenarios=${SCENARIOS:-check config aion polygraph minimise verify convert directory logs gen replay spill lists join dead-letter watch state restart tools}
# Each key leaves memory as soon as it can, into small segments of the store in the state's directory.
remembering() {
    ISOCHRON_SPILL_ALL=12 "$isochron" watch --source history:t --until-eof --finality-timeout 0 --final-only --state remembered \
        --memory 4G --checkpoint-interval 0 --snapshot-after 1 --out file:verdicts -X "bootstrap.servers=$address"
    local status=$?
    LD_PRELOAD= sort verdicts >sorted 2>/dev/null # which comes first is the threads' choice
    return $status
}
# What a run goes on from that was killed once all was fed.
killed() {
    (LD_PRELOAD= && ISOCHRON_CRASH=before-finish remembering) 2>/dev/null
    LD_PRELOAD= flock remembered/lock true # a snapshot's child is killed with its parent, an instant later
}
# What failed leaves a state from which the next run comes to the end: both together tell what one would.
goes_on() {
    local expected status
    read -r expected <../right.status
    (LD_PRELOAD= && remembering)
    status=$?
    [ $status = "$expected" ] || echo "status $status" >stuck
}
verified() { LD_PRELOAD= "$isochron" state verify remembered >/dev/null 2>&1 || echo "status $?" >damaged; }

run() {
    case $1 in
    check) "$isochron" check --threads 2 --json ../violated.jsonl.zst ;;
    config) "$isochron" check --config ../check.conf ../violated.jsonl.zst ;;
    aion) "$isochron" check --engine aion --json ../violated.jsonl.zst ;;
    polygraph) "$isochron" check --engine polygraph --level ser --evidence evidence.jsonl --json ../untimed.jsonl ;;
    verify) "$isochron" verify ../untimed.jsonl ../evidence.jsonl ;;
    convert) "$isochron" convert --to timekiller ../violated.jsonl.zst -o out.json.zst ;;
    directory) "$isochron" convert --to cobra ../untimed.jsonl -o out ;;
    logs) "$isochron" check --engine polygraph --level ser --json ../logs ;;
    gen) "$isochron" gen --txns 2k --anomaly lost-update --seed 5 -o out.jsonl.zst ;;
    replay) "$isochron" replay --source history:t --final-only ../capture.jsonl ;;
    spill) "$isochron" replay --source history:t --final-only --json --memory 1M --spill . ../large.jsonl ;;
    lists) "$isochron" replay --source history:t --level ser --threads 2 --final-only --json --memory 1M --spill . ../lists.jsonl ;;
    join) "$isochron" replay --source dgraph:cdc --history ../clients.jsonl --to-history joined.jsonl ../feed.jsonl ;;
    dead-letter) "$isochron" replay --source history:t --json --on-bad-record dead-letter --dead-letter dead.stream ../bad.jsonl ;;
    minimise) "$isochron" check --engine polygraph --level ser --minimise small.jsonl --json ../untimed.jsonl ;;
    watch) "$isochron" watch --source history:t --until-eof --finality-timeout 0 --final-only --record recorded.stream \
        -X "bootstrap.servers=$address" ;;
    state | restart)
        [ "$1" = state ] || killed
        remembering
        local status=$?
        [ $status != 4 ] || goes_on
        verified
        [ $status = 137 ] || LD_PRELOAD= rm -rf remembered verdicts # it holds times
        return $status
        ;;
    tools)
        LD_PRELOAD= cp -r ../remembered .
        "$isochron" state verify remembered && "$isochron" state show remembered && "$isochron" state compact remembered
        local status=$?
        verified
        LD_PRELOAD= rm -rf remembered
        return $status
        ;;
    esac
}

# offset, commit timestamp, uid and value of each change
dgraph_feed() {
    printf '0 5 1 10\n1 5 2 20\n2 9 1 11\n' | jq -c -R 'split(" ") | map(tonumber) | {topic: "cdc", partition: 0, offset: .[0], key: null,
        payload: ({meta: {commit_ts: .[1]}, type: "mutation",
            event: {operation: "set", uid: .[2], attr: "v", value: .[3], value_type: "int"}} | tojson)}'
}

# A capture of more than a store's segment holds, with watermarks: below them keys may leave memory.
spilling() { # TRANSACTIONS OPTIONS...
    "$isochron" gen --txns "$1" --sessions 8 --ops 6 --keys 2000 --anomaly lost-update:3 --anomaly stale-read:3 --seed 7 --expected /dev/null "${@:2}" |
        jq -c '., (select(.cts and input_line_number % 400 == 0) | {watermark: .cts})' |
        jq -c '{topic: "t", partition: 0, offset: (input_line_number - 1), ts: 1, key: null, payload: tojson}'
}

prepare() {
    cd "$work" || exit 4
    "$isochron" gen --txns 3k --sessions 8 --ops 6 --keys 200 --anomaly lost-update --anomaly stale-read@0.9 --seed 3 --expected /dev/null \
        -o violated.jsonl.zst &&
        "$isochron" gen --txns 300 --sessions 5 --ops 4 --keys 20 --level si --anomaly write-skew --seed 4 --expected /dev/null -o - |
        sed 's/"sts":"*[0-9]*"*,"cts":"*[0-9]*"*,//' >untimed.jsonl
    "$isochron" check --engine polygraph --level ser --evidence evidence.jsonl --quiet untimed.jsonl >/dev/null
    "$isochron" convert --to native violated.jsonl.zst -o native.jsonl
    "$isochron" convert --to cobra untimed.jsonl -o logs
    head -n 800 native.jsonl |
        jq -c '{topic: "t", partition: 0, offset: (input_line_number - 1), ts: 1, key: null, payload: tojson}' >capture.jsonl
    "$isochron" gen --txns 100 --sessions 5 --ops 4 --keys 20 --anomaly lost-update:3 --anomaly stale-read:3 --seed 6 --expected /dev/null -o few.jsonl
    spilling 9k >large.jsonl
    spilling 6k --lists >lists.jsonl
    dgraph_feed >feed.jsonl
    printf 'log-format = text\n[check]\njson = true\nthreads = 2\n' >check.conf
    cat >clients.jsonl <<END
{"tid":1,"sid":1,"sts":3,"cts":5,"ops":[{"t":"w","k":"v/0x1","v":10},{"t":"w","k":"v/0x2","v":21}]}
{"tid":2,"sid":2,"sts":9,"ops":[{"t":"r","k":"v/0x1","v":11}]}
END
    (head -n 100 capture.jsonl; echo '{"topic":"t","partition":0,"offset":5000,"ts":1,"key":null,"payload":"{\"tid\":"}') >bad.jsonl
    cd "$here" || exit 4
}

# One run: its output, remarks and status under $work/$1, with what a run itself measures taken out.
once() { # name scenario
    local folder=$work/$1
    rm -rf "$folder"
    mkdir "$folder"
    (cd "$folder" && LD_PRELOAD=$work/failing_world.so run "$2") >"$folder.stdout" 2>"$folder.stderr"
    echo $? >"$folder.status"
    sed -E -i 's/"seconds":\{[^}]*\},"peak_rss_bytes":[0-9]+//' "$folder.stdout"
}

# Whether the run under $work/wrong is as good as the one under $work/right; says why if not.
as_before() {
    [ "$(cat "$work/wrong.status")" = "$(cat "$work/right.status")" ] || { echo "exit status $(cat "$work/wrong.status")"; return 1; }
    cmp -s "$work/wrong.stdout" "$work/right.stdout" || { echo "another output, status $(cat "$work/wrong.status")"; return 1; }
    diff -r "$work/wrong" "$work/right" >/dev/null || { echo "other files, status $(cat "$work/wrong.status")"; return 1; }
}

# A failure that was told: status 4, a message, and of the files only whole ones, but for streams, which begin as they should;
# a folder that memory did not suffice for may stand under its temporary name.
told() {
    local file missing=right
    [ "$kind" != unlink ] || missing= # what cannot be removed is left
    [ "$(cat "$work/wrong.status")" = 4 ] && grep -q '^isochron: ' "$work/wrong.stderr" || return 1
    case $scenario in state | restart) cmp -s "$work"/{wrong,right}/sorted || return 1 ;; esac
    for file in "$work"/wrong/*.stream; do
        [ ! -f "$file" ] || cmp -s -n "$(stat -c %s "$file")" "$file" "$work/right/${file##*/}" || return 1
    done
    [ -z "$(diff -r --exclude='*.stream' --exclude='*.partial-*' "$work/wrong" "$work/right" | grep -v "^Only in $work/$missing")" ]
}

acceptable() { # how
    local why
    [ "$1" = fail ] && told && return 0
    why=$(as_before) || { echo "# $why: $(head -c 900 "$work/wrong.stderr" | tr '\n' ' ')"; return 1; }
}

# All places of one kind in one scenario.
places() { # scenario kind how
    local calls step bad=0 tried=0
    calls=$(sed -n "s/^$2 //p" "$work/count")
    step=$(((calls + most - 1) / most))
    for ((at = 1; at <= calls; at += step)); do
        FAILING_CALL=$2 FAILING_HOW=$3 FAILING_AT=$at once wrong "$1"
        acceptable "$3" || { bad=$((bad + 1)); echo "# $1: the $2 number $at of $calls that should $3"; }
        tried=$((tried + 1))
    done
    total=$((total + tried))
    [ $bad = 0 ] || failed="$failed $2"
}

# A broker of our own with the transactions on it.
start_broker() {
    mkfifo "$work/broker.in"
    sleep 100000 >"$work/broker.in" &
    broker_input=$!
    "$build/embedded-broker" t:1 <"$work/broker.in" >"$work/broker.out" 2>"$work/broker.err" &
    for ((i = 0; i < 1200; i++)); do [ ! -s "$work/broker.out" ] || break; sleep 0.1; done
    address=$(cat "$work/broker.out")
    "$isochron" gen --to kafka:t --quiet -X "bootstrap.servers=$address" "$work/few.jsonl"
    (cd "$work" && LD_PRELOAD= killed)
}

# Sanitizers that are linked into the program (clang's) or mind who comes before them (threads) leave nothing to catch.
sanitized=$(ldd "$isochron" | grep -c 'libasan')
if nm "$isochron" | grep -q ' [TW] __interceptor_read$' || ldd "$isochron" | grep -q libtsan; then
    plan 1
    echo "ok 1 - calls go wrong # skip under this sanitizer they cannot be caught"
    exit
fi
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
prepare
start_broker
"${CC:-gcc}" -std=c11 -O1 -fPIC -shared -Wall -Wextra -Werror -I"$here/../../.." $([ "$sanitized" = 0 ] || echo -DSANITIZED) "$here/failing_world.c" \
    -o "$work/failing_world.so" || exit 4

set -- $scenarios
plan $#
for scenario in $scenarios; do
    total=0 failed=
    rm -f "$work/count"
    FAILING_COUNT=$work/count once right "$scenario"
    for kind in open read write fsync rename unlink folder cut look list close memory map thread process; do places "$scenario" $kind fail; done
    [ "$scenario" != watch ] || for kind in send receive; do places watch $kind fail; done
    for kind in read write; do
        places "$scenario" $kind short
        places "$scenario" $kind interrupt
    done
    [ $total -ge 10 ] && [ -z "$failed" ]
    result $? "$scenario: $total calls went wrong, each was told or did not matter$failed"
done
