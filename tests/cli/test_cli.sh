#!/bin/bash
# Runs the program as a person would and compares what it prints, byte by byte. TAP on stdout.
#
#   tests/cli/test_cli.sh [--update] [PATTERN]     cases whose name contains PATTERN
#
# A case is a folder of cases/: its `cmd` runs under bash in an empty folder, with `isochron` and the embedded broker of the same
# build in PATH and data/ as $DATA; `source $DATA/broker.sh` starts that broker.
# `stdout` and `stderr` hold what must be printed (no file: nothing), `exit` the status (no file: 0).
# Times and memory are masked by `mask`. A cmd that exits with 77 says on stdout why it is skipped.
# --update writes what was printed into the case: look at the difference before you keep it.
set -u
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "${ISOCHRON:-$here/../../build/isochron}")
update=0
[ "${1:-}" = --update ] && { update=1; shift; }
pattern=${1:-}
export LC_ALL=C DATA="$here/data"
umask 022

mask() {
    sed -E -e 's/"(load|sort|check|total)":[0-9.]+/"\1":T/g' -e 's/"peak_rss_bytes":[0-9]+/"peak_rss_bytes":N/' \
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

number=0 failed=0
for folder in "$here"/cases/*"$pattern"*/; do
    [ -e "$folder/cmd" ] || continue
    name=$(basename "$folder")
    number=$((number + 1))
    rm -rf "$work/case"
    mkdir "$work/case"
    (cd "$work/case" && exec timeout 60 bash "$folder/cmd") >"$work/out" 2>"$work/err" </dev/null
    status=$?
    if [ $status = 77 ]; then
        echo "ok $number - $name # SKIP $(head -1 "$work/out")"
        continue
    fi
    mask <"$work/out" >"$work/stdout"
    mask <"$work/err" >"$work/stderr"
    echo "$status" >"$work/status"
    if [ $update = 1 ]; then
        keep "$folder/stdout" "$work/stdout"
        keep "$folder/stderr" "$work/stderr"
        [ $status = 0 ] && : >"$work/status"
        keep "$folder/exit" "$work/status"
        echo "ok $number - $name # updated"
        continue
    fi
    expected=0
    [ -e "$folder/exit" ] && expected=$(cat "$folder/exit")
    good=1
    [ "$expected" = $status ] || { echo "#   exit status $status, expected $expected"; good=0; }
    same stdout "$folder/stdout" "$work/stdout" || good=0
    same stderr "$folder/stderr" "$work/stderr" || good=0
    if [ $good = 1 ]; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        failed=$((failed + 1))
    fi
done
echo "1..$number"
[ $failed = 0 ] && [ $number -gt 0 ]
