# For the corpus tests: finds the data, runs `isochron check --json`, compares counts. Sourced.
# ISOCHRON: the program; SHARED: the full corpus, ../shared beside the repository by default.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
ISOCHRON=${ISOCHRON:-$root/build/isochron}
SHARED=${SHARED:-$root/../shared}
RECORDINGS=$root/tests/data/recordings
scratch=$(mktemp -d) && trap 'rm -rf "$scratch"' EXIT
number=0

# The full corpus's file if it is there, else the copy in tests/data/recordings, else nothing.
find_recording() {
    local path
    for path in "$SHARED/corpus/$1" "$SHARED/captures/$1" "$RECORDINGS/$1"; do
        [ -e "$path" ] && { echo "$path"; return; }
    done
}

report() { # GOOD NAME
    number=$((number + 1))
    if [ "$1" = 0 ]; then echo "ok $number - $2"; else echo "not ok $number - $2"; fi
}

# A verdict as the tables write it: "holds", "undecided" or "EXT=3 INT=1", axioms in the order of reports.
summary='if .verdict == "violated" then [.counts | to_entries[] | select(.value > 0) | "\(.key)=\(.value)"] | join(" ") else .verdict end'

# expect NAME EXPECTED FILE OPTION...: the verdict, the counts, and the exit status that goes with them.
expect() {
    local name=$1 expected=$2 file=$3 status wanted verdict found=
    shift 3
    case $expected in holds*) wanted=0 ;; undecided*) wanted=3 ;; *) wanted=1 ;; esac
    "$ISOCHRON" check --json "$@" "$file" >"$scratch/verdict.json" 2>"$scratch/errors"
    status=$?
    { read -r verdict && read -r found; } < <(jq -r ".verdict, ($summary)"' + (if .reads_unjudged > 0 then " unjudged=\(.reads_unjudged)" else "" end)' \
        "$scratch/verdict.json" 2>&1)
    # "violated" alone: any violation will do.
    if [ "$expected" = violated ] && [ "$status" = 1 ] && [ "$verdict" = violated ]; then
        found=violated
    fi
    if [ "$found" = "$expected" ] && [ "$status" = "$wanted" ]; then
        report 0 "$name: $expected"
    else
        report 1 "$name: expected \"$expected\" and exit $wanted, got \"$found\" and exit $status"
        sed 's/^/# /' "$scratch/errors"
    fi
}
