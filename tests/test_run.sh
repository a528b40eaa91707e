#!/bin/bash
# Tests tests/run.sh: each way for a program to fail is counted as a failure.
set -u
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d) && trap 'rm -rf "$scratch"' EXIT
number=0

# expect NAME LAST-LINE STATUS BODY: a program with that body gives that last line and exit status.
expect() {
    number=$((number + 1))
    printf '#!/bin/sh\n%s\n' "$4" >"$scratch/program"
    chmod +x "$scratch/program"
    "$here/run.sh" --limit 1 "$scratch/program" >"$scratch/output" 2>&1
    local status=$? last
    last=$(tail -n 1 "$scratch/output")
    if [ "$last" = "$2" ] && [ "$status" = "$3" ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1: got \"$last\", exit $status; expected \"$2\", exit $3"
    fi
}

expect "two good results" "2 passed, 0 failed" 0 'echo ok 1; echo "ok 2 - x"'
expect "one bad result" "1 passed, 1 failed" 1 'echo ok 1; echo not ok 2; exit 1'
expect "a program that prints nothing" "0 passed, 1 failed" 1 'exit 0'
expect "a program that fails after good results" "1 passed, 1 failed" 1 'echo ok 1; exit 3'
expect "a program that crashes" "1 passed, 1 failed" 1 'echo ok 1; kill -SEGV $$'
expect "a program that crashes after a bad result" "0 passed, 2 failed" 1 'echo not ok 1; kill -SEGV $$'
expect "a program that hangs" "1 passed, 1 failed" 1 'echo ok 1; sleep 20'
expect "fewer results than planned" "1 passed, 2 failed" 1 'echo 1..3; echo ok 1'
expect "skipped tests are not passed" "1 passed, 0 failed" 0 'echo ok 1; echo "ok 2 # SKIP no disk"'
echo "1..$number"
