#!/bin/bash
# Runs test programs, each of which prints TAP, and counts.
#
#   run.sh [--name NAME] [--results DIR] [--limit SECONDS] [--jobs N] [--list] [PROGRAM...]
#
# PROGRAM may hold arguments, in one word with it. --list: the programs are read from standard input, as tests/select.sh prints them,
# "MARKS PROGRAM [ARGUMENT...]" a line: those that wait more than they work ("waits") run beside the others, WAITING at a time; one
# that fails without a crash or a sanitizer's word may be run once more ("twice"), by itself, after all others. What passes then counts
# as passed, is shown as it failed, and is named at the end: "passed at the second try: ...". So are single results that say
# "ok ... # second try".
# A program fails, beyond its own "not ok" lines, if it crashes, runs longer than the limit, prints fewer results than
# it planned, or none at all. Failures are shown with all that the program printed, and with what repeats them. Lines "# skipped: ..."
# are passed on.
# Leaves DIR/NAME.count ("passed failed") and DIR/NAME.second (those names), DIR/NAME.processor (seconds of processor time) for
# tests/test.sh. The five programs that took most of it are named at the end. The last line is "N passed, N failed".
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/support/second_try.sh"
# Counts of looks in tables are of one seed: some seeds need half as many again.
export ISOCHRON_HASH_SEED=${ISOCHRON_HASH_SEED:-${SEED:-1}}
# Debian's own python3 first: where a version manager's stands before it, each start takes three times as long.
export PATH=/usr/bin:/bin:$PATH
name=check results= limit=900 waiting=3 jobs=$(nproc) list=
while [ $# -gt 0 ]; do
    case $1 in
    --name) name=$2; shift 2 ;;
    --results) results=$2; shift 2 ;;
    --limit) limit=$2; shift 2 ;;
    --jobs) jobs=$2; shift 2 ;;
    --list) list=1; shift ;;
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
    read -r -a words <<<"$2"
    {
        time timeout --kill-after=10 "$limit" "${words[@]}" >"$folder/$1.out" 2>"$folder/$1.err" </dev/null
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

# How to run it again; of a property program that names the seed of what it found, that alone: seeds count up from history to history.
tell_how_to_repeat() { # NUMBER PROGRAM
    local seed option
    echo "# to repeat it:${BUILD:+ BUILD=$BUILD}${SEED:+ SEED=$SEED} ISOCHRON_HASH_SEED=$ISOCHRON_HASH_SEED $2"
    seed=$(grep -aoE '^(not ok|# ).*\bseed [0-9]+' "$folder/$1.out" | grep -v '^# seed ' | grep -oE '[0-9]+$' | head -1)
    option=$(grep -oE -- '--(histories|streams|pairs|values|cells)' <<<"$2" | sed 's/$/ 1/' | paste -sd' ')
    [ -z "$seed" ] || [ -z "$option" ] || echo "# the first of what it found alone: ${2%% *} --seed $seed $option"
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

programs=() marks=() waits=() works=()
add() { # MARKS PROGRAM
    programs+=("$2")
    marks+=("$1")
    case $1 in waits*) waits+=(${#programs[@]}) ;; *) works+=(${#programs[@]}) ;; esac
}
for program; do add - "$program"; done
while [ -n "$list" ] && read -r mark program; do add "$mark" "$program"; done
run_all "$waiting" ${waits[@]+"${waits[@]}"} &
(run_all "$jobs" ${works[@]+"${works[@]}"})
wait

passed=0 failed=0 i=0
: >"$results/$name.second"
for program in "${programs[@]}"; do
    i=$((i + 1))
    look_at $i
    test=${program##*tests/}
    if [ "$bad" -gt 0 ] && [[ ${marks[i - 1]} = *twice ]] && may_try_again "$status" "$folder/$i.out" "$folder/$i.err"; then
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
        tell_how_to_repeat $i "$program"
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
for program in "${programs[@]}"; do
    i=$((i + 1))
    look_at $i
    echo "$processor $program"
done | sort -rn | tee "$results/$name.dearest" | awk -v file="$results/$name.processor" '
    NR <= 5 { dearest = dearest sprintf("%s %s %.0f", NR > 1 ? "," : "", NF == 2 || $NF ~ /^[0-9]/ ? $2 : $2 " " $NF, $1) }
    { sum += $1 }
    END { printf "seconds of processor time: %.0f; most of it for%s\n", sum, dearest; printf "%.0f\n", sum >file }'
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
