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
    cmp -s "$expected" "$3" && return 0
    diff -u --label "expected $1" --label "actual $1" "$expected" "$3" | head -40 | sed 's/^/#   /'
    return 1
}

keep() { # file actual: an empty one is no file
    if [ -s "$2" ]; then cp "$2" "$1"; else rm -f "$1"; fi
}

# One run of a case: what it printed, masked, and its status are in $run; true if they are as expected, and else what differs is in
# $run.differs. 77: it is skipped.
run_case() { # FOLDER
    local folder=$1 expected=0 good=0
    rm -rf "$run"
    mkdir -p "$run/case"
    (cd "$run/case" && exec timeout 240 bash "$folder/cmd") >"$run/out" 2>"$run/err" </dev/null
    status=$?
    [ $status != 77 ] || return 77
    mask <"$run/out" >"$run/stdout"
    mask <"$run/err" >"$run/stderr"
    [ ! -e "$folder/exit" ] || read -r expected <"$folder/exit"
    {
        [ "$expected" = $status ] || { echo "#   exit status $status, expected $expected"; good=1; }
        same stdout "$folder/stdout" "$run/stdout" || good=1
        same stderr "$folder/stderr" "$run/stderr" || good=1
    } >"$run.differs"
    return $good
}

# What started a broker gets a second try, which is told.
may_run_again() { # FOLDER
    grep -q '/broker.sh"' "$1/cmd" && may_try_again "$status" "$run/out" "$run/err"
}

update_case() { # FOLDER
    keep "$1/stdout" "$run/stdout"
    keep "$1/stderr" "$run/stderr"
    echo "${status#0}" | grep . >"$run/status"
    keep "$1/exit" "$run/status"
}

# The result of a case as TAP.
judge_case() { # NUMBER FOLDER
    local folder=${2%/} run=$work/$1 name status result remark=
    name=${folder##*/}
    run_case "$folder"
    result=$?
    if [ $result = 77 ]; then
        echo "ok $1 - $name # SKIP $(head -1 "$run/out")"
        return
    fi
    if [ $update = 1 ]; then
        update_case "$folder"
        echo "ok $1 - $name # updated"
        return
    fi
    if [ $result != 0 ] && may_run_again "$folder"; then
        sed "s/^/# first try of $name: /" "$run.differs"
        run_case "$folder"
        result=$?
        remark=" # second try"
    fi
    if [ $result = 0 ]; then
        echo "ok $1 - $name$remark"
    else
        cat "$run.differs"
        echo "not ok $1 - $name"
    fi
    rm -rf "$run"
}

# Many cases wait for a broker or a time: some run beside one another.
most=4 number=0
for folder in "$here"/cases/*"$pattern"*/; do
    [ -e "$folder/cmd" ] || continue
    number=$((number + 1))
    while [ "$(jobs -rp | wc -l)" -ge $most ]; do wait -n; done
    judge_case $number "$folder" >"$work/$number.result" &
done
wait
for ((case = 1; case <= number; case++)); do cat "$work/$case.result"; done | tee "$work/results"
echo "1..$number"
! grep -q '^not ok' "$work/results" && [ $number -gt 0 ]
