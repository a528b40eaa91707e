#!/bin/bash
# `make test`: every flavour of the tests, one after the other, and their sum. Under 40 minutes on two cores.
# The last line is "N passed, N failed"; exit status 1 if anything failed.
set -u
cd "$(dirname "$0")/.." || exit 4
make=${MAKE:-make} results=${RESULTS:-build/results}
passed=0 failed=0
rm -rf "$results"

# stage NAME MAKE-ARGUMENTS...: runs one flavour; a stage that leaves no count did not build and is one failure.
stage() {
    local name=$1 started=$SECONDS good=0 bad=1
    shift
    echo "== $name"
    $make --no-print-directory RESULTS="$results" "$@"
    [ -f "$results/$name.count" ] && read -r good bad <"$results/$name.count"
    [ $((good + bad)) -gt 0 ] || bad=1
    passed=$((passed + good)) failed=$((failed + bad))
    [ ! -s "$results/$name.second" ] || sed "s/^/$name: /" "$results/$name.second" >>"$results/second"
    echo "== $name: $good passed and $bad failed in $((SECONDS - started)) s"
}

stage release check FLAVOUR=release EFFORT=long
stage clang clang
stage asan asan
stage ubsan ubsan
stage tsan tsan
stage kafka kafka
stage databases databases
stage browser browser
stage fuzz fuzz-smoke
[ -d ../shared ] || echo "# skipped: no ../shared beside the repository, tests ran on tests/data/recordings only"
[ ! -s "$results/second" ] || { echo "passed at the second try, look at them:" && sed 's/^/  /' "$results/second"; }
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
