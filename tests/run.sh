#!/bin/bash
# Runs test programs, each of which prints TAP, and counts.
#
#   run.sh [--name NAME] [--results DIR] [--limit SECONDS] [--jobs N] [--arguments FILE] [--second-try FILE] [--order FILE] PROGRAM...
#
# A program fails, beyond its own "not ok" lines, if it crashes, runs longer than the limit, prints fewer results than
# it planned, or none at all. Failures are shown with all that the program printed. Lines "# skipped: ..." are passed on.
# --arguments names arguments for some programs: lines "NAME ARGUMENTS...".
# --second-try (tests/second_try.txt) names programs that are run once more, by themselves, after all others, if they failed without
# a crash or a sanitizer's word. What passes then counts as passed, is shown as it failed, and is named at the end: "passed at the
# second try: ...". So are single results that say "ok ... # second try", as tests/cli does.
# --order (tests/order.txt) names programs that are started first, the longest at the top, so that no long one is left alone at the end;
# and those that wait more than they work, which run beside the others, WAITING at a time.
# Leaves DIR/NAME.count ("passed failed") and DIR/NAME.second (those names), DIR/NAME.processor (seconds of processor time) for
# tests/test.sh. The five programs that took most of it are named at the end. The last line is "N passed, N failed".
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/support/second_try.sh"
name=check results= limit=900 waiting=3 jobs=$(nproc) arguments=/dev/null second=$here/second_try.txt order=$here/order.txt
while [ $# -gt 0 ]; do
    case $1 in
    --name) name=$2; shift 2 ;;
    --results) results=$2; shift 2 ;;
    --limit) limit=$2; shift 2 ;;
    --jobs) jobs=$2; shift 2 ;;
    --arguments) arguments=$2; shift 2 ;;
    --second-try) second=$2; shift 2 ;;
    --order) order=$2; shift 2 ;;
    --*) echo "run.sh: unknown option $1" >&2; exit 2 ;;
    *) break ;;
    esac
done
[ -n "$results" ] || { results=$(mktemp -d) && trap 'rm -rf "$results"' EXIT; }
folder=$results/$name
rm -rf "$folder" && mkdir -p "$folder" || exit 4

# One program: its output, errors, status and seconds, of clocks and of processors, as files numbered by its place.
run_one() {
    local words TIMEFORMAT='%0R %U %S'
    read -r -a words < <(awk -v name="$(basename "$2")" '$1 == name { $1 = ""; print }' "$arguments")
    {
        time timeout --kill-after=10 "$limit" "$2" ${words[@]+"${words[@]}"} >"$folder/$1.out" 2>"$folder/$1.err" </dev/null
    } 2>"$folder/$1.times"
    echo "$? $(awk 'END { print $1, $2 + $3 }' "$folder/$1.times")" >"$folder/$1.status"
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

# Sets status, seconds, good, bad and skipped of the program of that number.
look_at() {
    read -r status seconds processor <"$folder/$1.status"
    read -r good bad skipped < <(count "$status" <"$folder/$1.out")
}

show() { # NUMBER
    sed 's/^/    /' "$folder/$1.out" "$folder/$1.err" | head -n 400
}

# Prints the places of the programs that wait ("waits") or work (""), in the order in which they are to start.
places() { # KIND PROGRAM...
    awk -v kind="$1" '
        FILENAME == "-" { place++; sub(/.*tests\//, ""); if (kinds[$0] == kind) print rank[$0] ? rank[$0] : 1000 + place, place; next }
        !/^#/ && NF { rank[$1] = ++ranks; kinds[$1] = $2 }' "$order" - < <(shift && printf '%s\n' "$@") | sort -n | cut -d' ' -f2
}

# Runs the programs of those places, so many at a time.
run_all() { # AT-A-TIME PLACE...
    local most=$1 place
    shift
    for place; do
        while [ "$(jobs -rp | wc -l)" -ge "$most" ]; do wait -n; done
        run_one "$place" "${programs[place - 1]}" &
    done
    wait
}

programs=("$@")
# shellcheck disable=SC2046 # numbers
run_all "$waiting" $(places waits "$@") &
# shellcheck disable=SC2046
(run_all "$jobs" $(places "" "$@"))
wait

passed=0 failed=0 i=0
: >"$results/$name.second"
for program in "$@"; do
    i=$((i + 1))
    look_at $i
    test=${program##*tests/}
    if [ "$bad" -gt 0 ] && grep -qxF "$test" "$second" && may_try_again "$status" "$folder/$i.out" "$folder/$i.err"; then
        echo "# $program: $bad failed, exit status $status, $seconds s; it gets a second try:"
        show $i
        run_one $i "$program"
        look_at $i
        [ "$bad" -gt 0 ] || echo "$test" >>"$results/$name.second"
    fi
    passed=$((passed + good)) failed=$((failed + bad))
    if [ "$bad" -gt 0 ]; then
        [ "$status" = 124 ] || [ "$status" = 137 ] && why=" (killed after $limit s)" || why=
        echo "not ok - $program: $bad failed, exit status $status$why"
        show $i
    else
        echo "ok - $program: $good passed, $seconds s"
        grep '^# skipped:\|^# first try' "$folder/$i.out"
        [ "$skipped" -gt 0 ] && echo "# skipped: $skipped tests of $program"
    fi
    sed -n "s|^ok [0-9]* - \(.*\) # second try\$|$test: \1|p" "$folder/$i.out" >>"$results/$name.second"
done
[ ! -s "$results/$name.second" ] || echo "passed at the second try: $(paste -s -d ';' "$results/$name.second" | sed 's/;/; /g')"
echo "$passed $failed" >"$results/$name.count"
i=0
for program in "$@"; do
    i=$((i + 1))
    look_at $i
    echo "$processor $program"
done | sort -rn | awk -v file="$results/$name.processor" '
    NR <= 5 { dearest = dearest sprintf("%s %s %.0f", NR > 1 ? "," : "", $2, $1) }
    { sum += $1 }
    END { printf "seconds of processor time: %.0f; most of it for%s\n", sum, dearest; printf "%.0f\n", sum >file }'
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
