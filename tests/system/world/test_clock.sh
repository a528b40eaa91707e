#!/bin/bash
# Clocks that jump by hours while `watch` runs (tests/system/world/jumping_clock.c): no deadline passes for that, and none is
# lost; a stopped process is the same to it. TAP on stdout.
set -u
cd "$(dirname "$0")/../../.." || exit 4
. tests/system/durable/begin.sh
watched=
trap '[ -z "$watched" ] || kill -KILL "$watched"; stop_broker; rm -rf "$work"' EXIT

# Sanitizers that are linked into the program mind who comes before them.
if nm "$isochron" | grep -q ' [TW] __interceptor_read$' || ldd "$isochron" | grep -q libtsan; then
    plan 1
    echo "ok 1 - clocks jump # skip under this sanitizer they cannot be made to"
    exit
fi
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
"${CC:-gcc}" -std=c11 -O1 -fPIC -shared -Wall -Wextra -Werror -I. tests/system/world/jumping_clock.c -o "$work/jumping_clock.so" || exit 4
start_broker forward:1 backward:1

ahead=20000 # from the start: a machine that has just been started has no clock that could go back
clocks() { printf '%-16s%-16s' "$((ahead + $1))" "$((ahead + $2))" | dd of="$work/shifts" conv=notrunc status=none; } # WALL MONOTONIC
publish() { kcat -b "$address" -P -t "$topic" -p 0 2>/dev/null <<<"$1"; }
until_there() { # TEXT FILE
    for ((i = 0; i < 1200; i++)); do
        grep -q "$1" "$2" 2>/dev/null && return
        sleep 0.05
    done
    return 1
}
begin() { # TOPIC DEADLINE
    topic=$1
    clocks 0 0
    LD_PRELOAD=$work/jumping_clock.so SHIFTED_BY=$work/shifts "$isochron" watch --source history:"$topic" --finality-timeout "$2" \
        --out file:"$work/$topic" -X bootstrap.servers="$address" 2>"$work/said" &
    watched=$!
}
end() { # STATUS NAME
    kill -TERM "$watched"
    wait "$watched"
    local status=$?
    watched=
    [ $status = "$1" ] || { echo "# status $status, expected $1"; sed 's/^/# /' "$work/said"; }
    [ $status = "$1" ]
}
# The reader of a write that is on its way, and the write.
reader() { echo "{\"tid\":$1,\"sid\":$1,\"sts\":$2,\"cts\":$2,\"ops\":[{\"t\":\"r\",\"k\":\"k$1\",\"v\":7}]}"; }
writer() { echo "{\"tid\":1$1,\"sid\":1$1,\"sts\":1,\"cts\":2,\"ops\":[{\"t\":\"w\",\"k\":\"k$1\",\"v\":7}]}"; }

# An hour's deadline, and clocks that go on by two.
begin forward 3600
publish "$(reader 2 10)"
until_there '"tentative"' "$work/forward"
clocks 7200 7200
until_there "the clock went on by 7[0-9]* s at once, or this process was stopped: no deadline passes because of that" "$work/said"
result $? "a jump forwards is told" || sed 's/^/# /' "$work/said"
publish "$(writer 2)"
until_there '"retracted"' "$work/forward"
! grep -q '"final"' "$work/forward"
result $? "and makes nothing final that is still to come" || sed 's/^/# /' "$work/forward"
end 3 # a deadline that has not passed is waited for
result $? "the outcome is that of a clock that did not jump"

# A deadline of a second, and clocks that go back by an hour and another one, and on again.
begin backward 1
publish "$(reader 3 10)"
until_there '"tids":\["3"\].*"final"\|"final".*"tids":\["3"\]' "$work/backward"
result $? "a deadline passes"
# The clock goes back while a deadline runs and nothing else comes: it passes all the same.
publish "$(reader 5 15)"
until_there '"tentative".*"tids":\["5"\]' "$work/backward"
clocks -3600 -3600
until_there '"final".*"tids":\["5"\]' "$work/backward"
result $? "and passes if the clock goes back while it runs" || { sed 's/^/# /' "$work/said"; cat "$work/backward"; }
for jump in -7200 0 7200; do
    clocks $jump $jump
    reader=$((number + 10))
    publish "$(reader $reader 20)"
    until_there '"final".*"tids":\["'$reader'"\]' "$work/backward"
    result $? "and passes with clocks that are $jump s ahead" || { sed 's/^/# /' "$work/said"; cat "$work/backward"; }
done
grep -q "the clock went back by 3[0-9]* s at once" "$work/said"
result $? "a jump back is told" || sed 's/^/# /' "$work/said"
clocks 7200000 7200 # the wall clock alone: nothing is judged by it
publish "$(reader 4 30)"
until_there '"final".*"tids":\["4"\]' "$work/backward"
result $? "the wall clock alone makes no difference"
end 1
result $? "and what the deadlines made final is the outcome"

plan "$number"
