#!/bin/bash
# Tests tests/run.sh: each way for a program to fail is counted as a failure.
set -u
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d) && trap 'rm -rf "$scratch"' EXIT
. "$here/support/tap.sh"
number=0
cd "$scratch" || exit 4

# run BODY [OPTION...]: a program with that body under run.sh. In its body, `first` is true in its first run.
run() {
    local body=$1
    shift
    rm -f "$scratch/came"
    printf '#!/bin/sh\nfirst() { [ ! -e came ] && touch came; }\n%s\n' "$body" >"$scratch/program"
    chmod +x "$scratch/program"
    if [ $# = 0 ]; then set -- program; fi
    "$here/run.sh" --limit 1 "$@" >"$scratch/output" 2>&1
}

# gives STATUS LAST-LINE NAME: what the last run said and ended with.
gives() {
    local status=$? last
    last=$(tail -n 1 "$scratch/output")
    [ "$last" = "$2" ] && [ "$status" = "$1" ]
    result $? "$3" || echo "# got \"$last\", exit $status; expected \"$2\", exit $1"
}

expect() { # NAME LAST-LINE STATUS BODY
    PATH=$scratch:$PATH run "$4"
    gives "$3" "$2" "$1"
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
expect "no second try for what is not marked" "0 passed, 1 failed" 1 'first && echo not ok 1 || echo ok 1'

PATH=$scratch:$PATH run 'echo "ok 1 - $*"; [ "$2" = b ] && echo ok 2' --list <<<"- program a b"
gives 0 "2 passed, 0 failed" "a program has the arguments of its line"
PATH=$scratch:$PATH run 'echo not ok 1' "program --seed 7"
grep -q "^# to repeat it:.* program --seed 7$" "$scratch/output"
result $? "what failed is named with its arguments, so that it can be repeated"
PATH=$scratch:$PATH run 'echo "# seed 3"; echo "not ok - they differ, seed 29"' "program --histories 50 --large 3"
grep -q "^# the first of what it found alone: program --seed 29 --histories 1$" "$scratch/output"
result $? "and what it found alone" || sed 's/^/# /' "$scratch/output"

again() { # BODY: a program that may be run again
    PATH=$scratch:$PATH run "$1" --list --name again --results "$scratch/results" <<<"waits,twice program"
}
told() { # NAME
    grep -qx "passed at the second try: program" "$scratch/output" && grep -q "not ok 1 - a reason" "$scratch/output" &&
        [ "$(cat "$scratch/results/again.second")" = program ]
    result $? "$1" || sed 's/^/# /' "$scratch/output"
}
again 'first && echo "not ok 1 - a reason" && exit 1; echo ok 1; echo ok 2'
gives 0 "2 passed, 0 failed" "a second try counts as passed"
told "and is told, with the first output"
again 'first; echo ok 1; echo not ok 2'
gives 1 "1 passed, 1 failed" "who fails twice has failed"
again 'first && sleep 20; echo ok 1'
gives 0 "1 passed, 0 failed" "a second try after the time was up"
again 'first && echo ok 1 && kill -SEGV $$; echo ok 1'
gives 1 "1 passed, 1 failed" "no second try after a crash"
again 'first && echo not ok 1 && echo "WARNING: ThreadSanitizer: data race" >&2 && exit 1; echo ok 1'
gives 1 "0 passed, 1 failed" "no second try after a sanitizer's word"
again 'echo ok 1; echo "# first try of a: it was slow"; echo "ok 2 - a # second try"'
grep -qx "passed at the second try: program: a" "$scratch/output" && grep -q "it was slow" "$scratch/output"
result $? "a single result's second try is told"

# The same for cases of the command line: those that start a broker.
mkdir -p tests/cli/cases/{asks,alone} tests/cli/data
cp -r "$here/support" tests/
cp "$here/cli/test_cli.sh" tests/cli/
: >tests/cli/data/broker.sh
late='[ -e "$DATA/NAME" ] || { touch "$DATA/NAME"; echo late; }'
printf 'source "$DATA/broker.sh"\n%s\n' "${late//NAME/asks}" >tests/cli/cases/asks/cmd
echo "${late//NAME/alone}" >tests/cli/cases/alone/cmd
ISOCHRON=/bin/true tests/cli/test_cli.sh >output
grep -qx "ok [12] - asks # second try" output && grep -q "first try of asks: .*late" output
result $? "a case that starts a broker gets a second try" || sed 's/^/# /' output
grep -qx "not ok [12] - alone" output
result $? "another one does not"
plan $number
