# Stages of `make test` and `make nightly`: each is a target of the Makefile that leaves its counts in $results; their sum is the last
# line. While one flavour is tested the next is built, on what is left of the processors.
make=${MAKE:-make} results=${RESULTS:-build/results}
passed=0 failed=0 processor=0 building=
rm -rf "$results"
mkdir -p "$results" || exit 4
# What runs in the background does not hear of an interrupt.
trap 'trap - TERM; kill 0; exit 130' INT

# build_next [MAKE-ARGUMENTS...]: once the last such build has ended, so that it comes between `build_next X` and the stage of X: two
# builds in one folder would get in each other's way. What fails is told by the stage that builds it again.
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

# beside NAME...: stages that wait more than they work, one after the other beside those that follow; add_beside adds them.
beside() {
    names_beside=$*
    for name; do run "$name" "$name"; done >"$results/beside.log" 2>&1 &
    waiting=$!
}

add_beside() {
    wait "$waiting"
    cat "$results/beside.log"
    for name in $names_beside; do add "$name"; done
}

# The last lines; the status is 1 if anything failed.
sum_up() {
    build_next
    [ -d ../shared ] || echo "# skipped: no ../shared beside the repository, tests ran on tests/data/recordings only"
    [ ! -s "$results/second" ] || { echo "passed at the second try, look at them:" && sed 's/^/  /' "$results/second"; }
    echo "$((SECONDS / 60)) minutes; the tests alone took $((processor / 60)) minutes of processor time"
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
}
