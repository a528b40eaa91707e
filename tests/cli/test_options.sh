#!/bin/bash
# Whether options do what they are asked for: each is in options.tsv with a call, which is run with it and without; what is printed,
# written or returned must differ. An option that the table lacks, and one that is taken and ignored, fails. TAP on stdout.
set -u
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "${ISOCHRON:-$here/../../build/isochron}")
data=$here/data
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=0 failed=0
result() { # STATUS WHAT
    number=$((number + 1))
    [ "$1" = 0 ] && echo "ok $number - $2" || { echo "not ok $number - $2"; failed=1; }
}

mkdir "$work/files" && cd "$work/files" || exit 4
cp "$data/good.jsonl" . && cp "$data/every-axiom.jsonl" anomaly.jsonl
{ cat "$data/unknown.jsonl"; echo '{"tid":"more","sid":"more","sts":9,"cts":9,"ops":[{"t":"r","k":"other","v":null}]}'; } >some-unjudged.jsonl
"$program" gen --txns 300 --sessions 8 --keys 5 --seed 3 --quiet | sed -E 's/"[sc]ts":[^,]*,//g' >order.jsonl
"$program" check --quiet --evidence proof.jsonl order.jsonl >/dev/null
echo '{"tid":1,"sid":1,"sts":1,"cts":2,"ops":[{"t":"r","k":"x","v":5}]}' >five.jsonl
echo '{"tid":1,"sid":1,"ops":[{"t":"r","k":"x","v":5}]}' >five-order.jsonl
"$program" check --quiet --initial 5 --evidence proof5.jsonl five-order.jsonl >/dev/null
echo '{"ops":[{"t":"w","k":"x","v":5}]}' >initial.json
{ echo '{"tid":1,"sid":1,"sno":1,"sts":1,"cts":5,"ops":[{"t":"w","k":"x","v":5}]}'
  echo '{"tid":2,"sid":1,"sno":2,"sts":4,"cts":6,"ops":[{"t":"r","k":"y","v":null}]}'; } >session.jsonl
{ echo '{"tid":1,"sid":1,"begin":1000,"end":2000,"ops":[{"t":"w","k":"x","v":5}]}'
  echo '{"tid":2,"sid":2,"begin":3000,"end":4000,"ops":[{"t":"r","k":"x","v":null}]}'; } >clocks.jsonl
{ echo '{"tid":1,"sid":1,"sts":1,"cts":5,"ops":[{"t":"w","k":1,"v":5},{"t":"w","k":2,"v":6}]}'
  echo '{"tid":2,"sid":2,"sts":6,"cts":6,"ops":[{"t":"q","from":1,"to":9,"rows":{"1":5}}]}'; } >range.jsonl
"$program" check --json anomaly.jsonl >verdict.json
"$program" check --json --initial 6 five.jsonl >five-verdict.json

# Whatever a call leaves: times and counters of memory are no effects.
run() { # FOLDER ARGUMENT...
    cp -r "$work/files" "$work/$1"
    (cd "$work/$1" && shift && timeout 60 "$program" "$@" >stdout 2>stderr; echo $? >status
     sed -i -E 's/[0-9.]+ s$//; s/"seconds":\{[^}]*\}//; s/"peak_rss_bytes":[0-9]+//' stdout stderr)
}
while IFS=$'\t' read -r command option value rest; do
    case $command in \#*) continue ;; esac
    if [ "$value" = @ ]; then # a broker, or time: other tests show it
        grep -rqE -e "$option( |=|$)" "$here/../$rest"
        result $? "$command $option in $rest"
        continue
    fi
    if [ "$value" = "?" ]; then
        result 0 "$command $option # skip $rest"
        continue
    fi
    expected=0 && [ "${value#!}" != "$value" ] && expected=2
    value=${value#!} && [ "$value" = - ] && value=
    # shellcheck disable=SC2086 # words
    { run without $command $rest; run with $command $option $value $rest; }
    ! diff -rq "$work/without" "$work/with" >/dev/null &&
        if [ $expected = 2 ]; then [ "$(cat "$work/with/status")" = 2 ]; else [ "$(cat "$work/with/status")" != 2 ]; fi
    result $? "$command $option"
    rm -rf "$work/with" "$work/without"
done <"$here/options.tsv"

everywhere='config core log-format log-limit print-config version threads help property'
lacking=
for command in check verify explain convert gen; do
    for option in $("$program" $command --help | grep -oE '^  (-[a-zA-Z], )?--[a-z-]+' | grep -oE -e '--[a-z-]+' | sort -u); do
        case " $everywhere " in *" ${option#--} "*) continue ;; esac
        grep -q "^$command	$option	" "$here/options.tsv" || lacking="$lacking $command:$option"
    done
done
[ -n "$lacking" ] && echo "#$lacking"
[ -z "$lacking" ]
result $? "options.tsv has every option of these commands"
echo "1..$number"
exit $failed
