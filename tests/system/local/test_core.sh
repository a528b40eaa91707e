#!/bin/bash
# A crash leaves what was read nowhere, unless that is asked for: a run that waits for the rest of its input is killed by a segmentation
# fault, where core dumps are allowed without limit. TAP on stdout.
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "${ISOCHRON:-$here/../../../build/isochron}")
. "$here/../../support/tap.sh"
number=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 4
plan 2
ulimit -c unlimited 2>/dev/null

record='{"topic":"t","partition":0,"offset":0,"key":null,"payload":"{\"tid\":1,\"sid\":1,\"sts\":1,\"cts\":2,\"ops\":[{\"t\":\"w\",\"k\":\"name\",\"v\":\"Ann-Secret\"}]}"}'
crash() { # OPTION...: dies of it, and maybe leaves a core
    rm -f input core* out && mkfifo input
    "$program" replay --source history:t "$@" input >out 2>said &
    local run=$!
    exec 9>input
    echo "$record" >&9
    for _ in $(seq 600); do # until it has read that, and waits for more
        [ "$(awk '/^rchar/ {print $2}' "/proc/$run/io")" -ge ${#record} ] && break
        sleep 0.05
    done
    sleep 0.2
    kill -SEGV $run
    wait $run
    status=$?
    exec 9>&-
}

sleep 60 & victim=$!
until [ "$(cat /proc/$victim/comm)" = sleep ]; do sleep 0.05; done
kill -SEGV $victim
wait $victim 2>/dev/null
if ! ls core* >/dev/null 2>&1; then
    skip "a crash leaves no core" "here no program's does: $(cat /proc/sys/kernel/core_pattern)"
    skip "--core leaves one" "nor is there one to be seen"
    exit
fi
crash 2>/dev/null
[ $status = 139 ] && [ -z "$(ls core* 2>/dev/null)" ]
result $? "a crash leaves no core" || echo "# status $status, $(ls)"
crash --core 2>/dev/null
[ $status = 139 ] && grep -q Ann-Secret core*
result $? "--core leaves one, with what was read in it" || ls -la | sed 's/^/# /'
