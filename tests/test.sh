#!/bin/bash
# `make test`: every flavour of the tests, one after the other, and their sum. Under 40 minutes on two cores: while one flavour is
# tested the next is built, on what is left of the processors; and what waits for real brokers, databases and browsers runs beside
# the sanitizers.
# The last line is "N passed, N failed"; exit status 1 if anything failed.
set -u
cd "$(dirname "$0")/.." || exit 4
make=${MAKE:-make} results=${RESULTS:-build/results}
passed=0 failed=0 processor=0 building=
rm -rf "$results"
mkdir -p "$results" || exit 4
# What runs in the background does not hear of an interrupt.
trap 'trap - TERM; kill 0; exit 130' INT

# build_next [MAKE-ARGUMENTS...]: once the last such build has ended. What fails is told by the stage that builds it again.
build_next() {
    [ -z "$building" ] || wait "$building"
    building=
    [ $# = 0 ] || { nice "$make" -s -j"$(nproc)" "$@" >/dev/null 2>&1 & building=$!; }
}

# run NAME MAKE-ARGUMENTS...: one stage.
run() {
    local name=$1 started=$SECONDS
    shift
    echo "== $name"
    "$make" --no-print-directory RESULTS="$results" "$@"
    echo "== $name: ended after $((SECONDS - started)) s"
}

# add NAME: a stage's counts to the sums; one that left no counts did not build and is one failure.
add() {
    local good=0 bad=1 seconds=0
    [ -f "$results/$1.count" ] && read -r good bad <"$results/$1.count"
    [ $((good + bad)) -gt 0 ] || bad=1
    [ -f "$results/$1.processor" ] && read -r seconds <"$results/$1.processor"
    passed=$((passed + good)) failed=$((failed + bad)) processor=$((processor + seconds))
    [ ! -s "$results/$1.second" ] || sed "s/^/$1: /" "$results/$1.second" >>"$results/second"
    echo "== $1: $good passed and $bad failed in $seconds s of processor time"
}

stage() { # NAME MAKE-ARGUMENTS...
    run "$@"
    add "$1"
}

outside="kafka databases browser"
build_next clang DO=test-programs
stage release check FLAVOUR=release EFFORT=long
build_next asan DO=test-programs
stage clang clang
for name in $outside; do run "$name" "$name"; done >"$results/outside.log" 2>&1 &
waiting=$!
build_next ubsan DO=test-programs
stage asan asan
build_next tsan DO=test-programs
stage ubsan ubsan
build_next fuzz-build
stage tsan tsan
wait "$waiting"
cat "$results/outside.log"
for name in $outside; do add "$name"; done
build_next
stage fuzz fuzz-smoke
[ -d ../shared ] || echo "# skipped: no ../shared beside the repository, tests ran on tests/data/recordings only"
[ ! -s "$results/second" ] || { echo "passed at the second try, look at them:" && sed 's/^/  /' "$results/second"; }
echo "$((SECONDS / 60)) minutes; the tests alone took $((processor / 60)) minutes of processor time"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
