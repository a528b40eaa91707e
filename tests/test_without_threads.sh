#!/bin/bash
# The property programs that tests/programs.txt keeps from the thread sanitizer cannot start a thread: nothing in them refers to what
# would. (Files of unit tests are looked at while they run: `unit --no-threads`.) TAP on stdout. Of the release build: the thread
# sanitizer's has c11_threads.c in each program.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-$here/../build}
number=0
. "$here/support/tap.sh"
starters='pthread_create|thrd_create|rd_kafka_new|dlopen' # what is loaded while it runs may start some

for name in $(awk '/^property/ && $2 == "unthreaded" { print $1 }' "$here/programs.txt"); do
    if [ ! -e "$build/tests/$name" ]; then
        skip "$name starts no threads" "it is not built"
        continue
    fi
    found=$(nm --dynamic --undefined-only "$build/tests/$name" | grep -E -o "\b($starters)\b" | paste -s -d ' ')
    [ -z "$found" ]
    result $? "$name starts no threads${found:+: it refers to $found}"
done
# What shows that this can fail.
nm --dynamic --undefined-only "$build/isochron" | grep -E -q "\b($starters)\b"
result $? "the program itself does"
plan $number
