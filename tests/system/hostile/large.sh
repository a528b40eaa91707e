#!/bin/bash
# `make hostile`: the makers of test_producers.sh at sizes at which the square of anything is hours. Each has five minutes, of which it needs seconds; output, counts and
# memory as there. A flood of one hash slot takes no more than twice what random keys take, the best of five. What cannot be let go stays
# within --memory, three million times. TAP on stdout.
. "$(dirname "$0")/common.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 4
plan 44

# No more than 2 KiB of memory for each line that came, as much as they are long, and 64 MiB for the program.
is_small() {
    local kilobytes=$(($1 / 1024)) lines
    lines=$(wc -l <capture.jsonl)
    [ "$1" -le $((64 * 1024 + 2 * lines + $(stat -c %s capture.jsonl) / 1024)) ] || { echo "# $kilobytes MiB of memory"; return 1; }
}

for mode in $modes; do
    [ $mode = list ] && size=4000 || size=400000
    make $mode $size || exit 4
    for level in si ser; do
        /usr/bin/time -f %M -o memory timeout 300 "$program" replay $sources --final-only --level $level capture.jsonl >lines 2>words
        [ $? -le 3 ] && is_bounded && adds_up && is_small "$(tail -1 memory)"
        result $? "$mode, $level: $(tail -1 words | cut -c1-100)"
    done
done

best() { # FILE: the least processor time of five runs, in hundredths
    for _ in 1 2 3 4 5; do
        /usr/bin/time -f '%U %S' -o time "$program" replay --source history:txns --quiet "$1" >/dev/null
        awk '{print int(100 * ($1 + $2))}' time
    done | sort -n | head -1
}
for plus in 0 1; do
    for kind in rand flood; do
        python3 "$here/hashflood.py" 400000 $kind $plus >$kind.jsonl || exit 4
    done
    rand=$(best rand.jsonl) flood=$(best flood.jsonl)
    echo "# random $rand, flood $flood hundredths of a second"
    [ "$flood" -le $((2 * rand)) ]
    result $? "keys that want one slot, $plus"
done

# KIND WATERMARKS: three million transactions of which nothing, or little, may be forgotten.
retained() {
    awk -v kind="$1" -v watermarks="$2" 'BEGIN {
        format = "{\"topic\":\"txns\",\"partition\":0,\"offset\":%d,\"key\":null,\"payload\":\"%s\"}\n"
        for (i = 0; i < 3000000; i++) {
            if (kind == "open") rest = sprintf("\"sid\":%d,\"sts\":%d,\"cts\":%d,\"ops\":[{\"t\":\"w\",\"k\":%d,\"v\":%d}]", i % 100, 2 * i + 2, 2 * i + 3, i % 50000, i)
            if (kind == "unknown") rest = sprintf("\"sid\":%d,\"sts\":%d,\"status\":\"unknown\",\"ops\":[{\"t\":\"w\",\"k\":%d,\"v\":%d}]", i % 100, 2 * i + 2, i % 50000, i)
            if (kind == "timeless") rest = sprintf("\"sid\":%d,\"status\":\"unknown\",\"ops\":[{\"t\":\"w\",\"k\":%d,\"v\":%d}]", i % 100, i % 50000, i)
            if (kind == "sessions") rest = sprintf("\"sid\":\"session-%d\",\"sts\":%d,\"cts\":%d,\"ops\":[{\"t\":\"r\",\"k\":1,\"v\":null}]", i, 2 * i + 2, 2 * i + 2)
            if (kind == "future") rest = sprintf("\"sid\":%d,\"sts\":922337203%010d,\"cts\":922337203%010d,\"ops\":[{\"t\":\"r\",\"k\":%d,\"v\":null}]", i % 100, 2 * i, 2 * i, i % 50000)
            record = sprintf("{\"tid\":%d,%s}", i + 1, rest)
            gsub(/"/, "\\\"", record)
            printf format, offset++, record
            if (watermarks && i % 1000 == 999) printf format, offset++, sprintf("{\\\"watermark\\\":\\\"%d\\\"}", i > 2000 ? 2 * i - 2000 : 0)
        }
    }' >capture.jsonl
}
# A tenth above the limit, and 12 MiB for the pages of the program itself, which are no memory of its own.
LIMIT=100000000 MOST=$((110000000 / 1024 + 12 * 1024))
for kind in open unknown timeless sessions future; do
    for watermarks in 0 1; do
        retained $kind $watermarks
        /usr/bin/time -f %M -o memory timeout 300 "$program" replay --source history:txns --final-only --json --memory $LIMIT --retention 1000 capture.jsonl >lines 2>words
        [ $? -le 3 ] && [ "$(tail -1 memory)" -le $MOST ] && jq -e '.verdict == "undecided" or .transactions == 3000000' lines >said
        result $? "$kind, watermarks $watermarks: $(($(tail -1 memory) / 1024)) MiB, $(tail -1 words | cut -c1-100)"
    done
done
