#!/bin/bash
# Prints the test programs that a target runs (tests/programs.txt), one a line, in the order in which they start:
#
#   MARKS COMMAND [ARGUMENT...]       MARKS: - or waits, twice, both with a comma; commands are paths below the root
#
#   select.sh FLAVOUR BOX EFFORT [NEEDS [TEXT]]
#
# FLAVOUR: release, asan, ubsan, tsan, clang. EFFORT: short, medium, long. NEEDS: "" for what runs everywhere, or what tests with a
# target of their own need.
# TEXT: only tests that have it in their names, whatever their box. BUILD: the folder of the build.
set -u
shopt -s nullglob
cd "$(dirname "$0")/.." || exit 4
flavour=$1 box=$2 effort=$3 needs=${4:-} text=${5:-}
[ "$flavour" = release ] || effort=short

# Every test there is: its name in the table, and what runs it.
all_tests() {
    local path name
    for path in tests/unit/*/test_*.c; do
        name=${path#tests/unit/} name=${name%.c}
        echo "unit/${name/test_/} ${BUILD:-build}/unit"
    done
    for path in tests/property/*.c; do
        name=${path##*/} name=${name%.c}
        echo "property/$name ${BUILD:-build}/tests/property/$name"
    done
    for path in tests/test_*.sh tests/*/test_*.sh tests/system/*/{test_*,languages,end_to_end,alone,endings,planted,killed,hostile,recorded,committed,known,true,transparent,encrypted,wrong,application,conditions,prove,calls,crash,ledger,documented,large,random,cases,sqlsmith,regress,faults,same}.sh tests/system/postgre[s]/live.sh; do
        echo "${path#tests/} $path"
    done
}

all_tests | awk -v flavour="$flavour" -v box="$box" -v effort="$effort" -v needs="$needs" -v text="$text" '
    function fits(pattern, name) {
        gsub(/[.]/, "[.]", pattern)
        gsub(/\*/, ".*", pattern)
        return name ~ "^" pattern "$"
    }
    function runs_in(flavours) {
        return flavours == "all" || flavours == flavour || (flavours == "unthreaded" && flavour != "tsan")
    }
    function is_wanted(row, name,   shown) {
        shown = name
        sub(/test_/, "", shown)
        if (text != "") return index(name, text) || index(shown, text)
        if (flavour == "clang" && name !~ /^unit\//) return 0
        return runs_in(flavours[row]) && rank[boxes[row]] <= rank[box]
    }
    BEGIN {
        split("quick check test nightly", names, " ")
        for (i in names) rank[names[i]] = i
        split("short medium long", names, " ")
        for (i in names) column[names[i]] = i
        split("broker processes disk", names, " ")
        for (i in names) waits[names[i]] = 1
    }
    FILENAME != "-" {
        if (/^#/ || !NF) next
        pattern[++rows] = $1; flavours[rows] = $2; boxes[rows] = $3; need[rows] = $4; tries[rows] = $5
        for (i = 6; i <= NF; i += 4) arguments[rows] = arguments[rows] " " $i " " $(i + column[effort])
        next
    }
    {
        for (row = 1; row <= rows && !fits(pattern[row], $1); row++) continue
        waiting = need[row] in waits
        own = !waiting && need[row] != "-" # a target of its own
        if (own ? !index(" " needs " ", " " need[row] " ") : needs != "") next
        if (!is_wanted(row, $1)) next
        command = $2 arguments[row]
        if ($1 ~ /^unit\//) command = command (flavours[row] == "unthreaded" ? " --no-threads " : " ") substr($1, 6)
        marks = (waiting ? "waits" : "") (tries[row] > 1 ? ",twice" : "")
        sub(/^,/, "", marks)
        printf "%d %s %s\n", row, marks == "" ? "-" : marks, command
    }' tests/programs.txt - | sort -s -n -k1,1 | cut -d' ' -f2-
