#!/bin/bash
# Runs the program as a person would and compares what it prints, byte by byte. TAP on stdout.
#
#   tests/cli/test_cli.sh [--update] [PATTERN]     cases whose name contains PATTERN
#
# A case is a folder of cases/: its `cmd` runs under bash in an empty folder, with `isochron` and the embedded broker of the same
# build in PATH and data/ as $DATA; `source $DATA/broker.sh` starts that broker.
# `stdout` and `stderr` hold what must be printed (no file: nothing), `exit` the status (no file: 0).
# Times and memory are masked by `mask`. A cmd that exits with 77 says on stdout why it is skipped.
# A case that starts a broker and fails is run once more; if it passes then, its result says "# second try", after what differed first.
# --update writes what was printed into the case: look at the difference before you keep it.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support/second_try.sh"
program=$(realpath "${ISOCHRON:-$here/../../build/isochron}")
update=0
[ "${1:-}" = --update ] && { update=1; shift; }
pattern=${1:-}
export LC_ALL=C DATA="$here/data"
umask 022

mask() {
    sed -E -e 's/"(load|sort|check|total)":[0-9.]+/"\1":T/g' -e 's/"peak_rss_bytes":[0-9]+/"peak_rss_bytes":N/' \
           -e 's/^(isochron: .*) in [0-9.]+ s($|;)/\1 in T s\2/' \
           -e 's/(; engine [a-z]+), [0-9.]+ s$/\1, T s/' -e 's/"steps":\{[^}]*\}/"steps":{}/' \
           -e 's/"time":"[0-9TZ:.-]+"/"time":"T"/' -e "s|$DATA|DATA|g"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$program" "$work/bin/isochron"
ln -s "$(dirname "$program")/embedded-broker" "$work/bin/embedded-broker"
export PATH="$work/bin:$PATH"

# Prints what differs as TAP comments; true if nothing does.
same() { # what expected actual
    local expected=$2
    [ -e "$expected" ] || expected=/dev/null
    diff -u --label "expected $1" --label "actual $1" "$expected" "$3" >"$work/diff" && return 0
    head -40 "$work/diff" | sed 's/^/#   /'
    return 1
}

keep() { # file actual: an empty one is no file
    if [ -s "$2" ]; then cp "$2" "$1"; else rm -f "$1"; fi
}

# One run of a case: what it printed, masked, and its status are in $work; true if they are as expected, and else what differs on
# stdout. 77: it is skipped.
run_case() { # FOLDER
    local folder=$1 expected=0 good=0
    rm -rf "$work/case"
    mkdir "$work/case"
    (cd "$work/case" && exec timeout 240 bash "$folder/cmd") >"$work/out" 2>"$work/err" </dev/null
    status=$?
    [ $status != 77 ] || return 77
    mask <"$work/out" >"$work/stdout"
    mask <"$work/err" >"$work/stderr"
    [ ! -e "$folder/exit" ] || expected=$(cat "$folder/exit")
    [ "$expected" = $status ] || { echo "#   exit status $status, expected $expected"; good=1; }
    same stdout "$folder/stdout" "$work/stdout" || good=1
    same stderr "$folder/stderr" "$work/stderr" || good=1
    return $good
}

# What started a broker gets a second try, which is told.
may_run_again() { # FOLDER
    grep -q '/broker.sh"' "$1/cmd" && may_try_again "$status" "$work/out" "$work/err"
}

number=0 failed=0
for folder in "$here"/cases/*"$pattern"*/; do
    [ -e "$folder/cmd" ] || continue
    name=$(basename "$folder")
    number=$((number + 1)) remark=
    run_case "$folder" >"$work/differs"
    result=$?
    if [ $result = 77 ]; then
        echo "ok $number - $name # SKIP $(head -1 "$work/out")"
        continue
    fi
    if [ $update = 1 ]; then
        keep "$folder/stdout" "$work/stdout"
        keep "$folder/stderr" "$work/stderr"
        echo "${status#0}" | grep . >"$work/status"
        keep "$folder/exit" "$work/status"
        echo "ok $number - $name # updated"
        continue
    fi
    if [ $result != 0 ] && may_run_again "$folder"; then
        sed "s/^/# first try of $name: /" "$work/differs"
        run_case "$folder" >"$work/differs"
        result=$?
        remark=" # second try"
    fi
    if [ $result = 0 ]; then
        echo "ok $number - $name$remark"
    else
        cat "$work/differs"
        echo "not ok $number - $name"
        failed=$((failed + 1))
    fi
done
echo "1..$number"
[ $failed = 0 ] && [ $number -gt 0 ]
