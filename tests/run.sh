#!/bin/bash
# Runs test programs, each of which prints TAP, and counts.
#
#   run.sh [--name NAME] [--results DIR] [--limit SECONDS] [--jobs N] [--arguments FILE] PROGRAM...
#
# A program fails, beyond its own "not ok" lines, if it crashes, runs longer than the limit, prints fewer results than
# it planned, or none at all. Failures are shown with all that the program printed. Lines "# skipped: ..." are passed on.
# FILE names arguments for some programs: lines "NAME ARGUMENTS...".
# Leaves DIR/NAME.count ("passed failed") for tests/test.sh. The last line is "N passed, N failed".
set -u
name=check results= limit=900 jobs=$(($(nproc) + 1)) arguments=/dev/null
while [ $# -gt 0 ]; do
    case $1 in
    --name) name=$2; shift 2 ;;
    --results) results=$2; shift 2 ;;
    --limit) limit=$2; shift 2 ;;
    --jobs) jobs=$2; shift 2 ;;
    --arguments) arguments=$2; shift 2 ;;
    --*) echo "run.sh: unknown option $1" >&2; exit 2 ;;
    *) break ;;
    esac
done
[ -n "$results" ] || { results=$(mktemp -d) && trap 'rm -rf "$results"' EXIT; }
folder=$results/$name
rm -rf "$folder" && mkdir -p "$folder" || exit 4

# One program: its output, errors, status and seconds as files numbered by its place.
run_one() {
    local started=$SECONDS words
    read -r -a words < <(awk -v name="$(basename "$2")" '$1 == name { $1 = ""; print }' "$arguments")
    timeout --kill-after=10 "$limit" "$2" ${words[@]+"${words[@]}"} >"$folder/$1.out" 2>"$folder/$1.err" </dev/null
    echo "$? $((SECONDS - started))" >"$folder/$1.status"
}

# Prints "passed failed skipped" for TAP on stdin, given the exit status.
count() {
    awk -v status="$1" '
        /^ok / || /^ok$/ { if (tolower($0) ~ /# *skip/) skipped++; else passed++; next }
        /^not ok/ { failed++; next }
        /^1\.\.[0-9]+/ { sub(/^1\.\./, ""); planned += $1 }
        END {
            seen = passed + failed + skipped
            if (seen < planned) failed += planned - seen
            else if (seen == 0 || (status != 0 && failed == 0) || status >= 124) failed++
            print passed + 0, failed + 0, skipped + 0
        }'
}

i=0
for program in "$@"; do
    i=$((i + 1))
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    run_one $i "$program" &
done
wait

passed=0 failed=0 i=0
for program in "$@"; do
    i=$((i + 1))
    read -r status seconds <"$folder/$i.status"
    read -r good bad skipped < <(count "$status" <"$folder/$i.out")
    passed=$((passed + good)) failed=$((failed + bad))
    if [ "$bad" -gt 0 ]; then
        [ "$status" = 124 ] || [ "$status" = 137 ] && why=" (killed after $limit s)" || why=
        echo "not ok - $program: $bad failed, exit status $status$why"
        sed 's/^/    /' "$folder/$i.out" "$folder/$i.err" | head -n 400
    else
        echo "ok - $program: $good passed, $seconds s"
        grep '^# skipped:' "$folder/$i.out"
        [ "$skipped" -gt 0 ] && echo "# skipped: $skipped tests of $program"
    fi
done
echo "$passed $failed" >"$results/$name.count"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
