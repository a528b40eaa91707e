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
{ echo '{"tid":1,"sid":1,"sts":1,"cts":5,"ops":[{"t":"w","k":1,"v":5},{"t":"w","k":2,"v":6},{"t":"w","k":3,"v":7}]}'
  echo '{"tid":2,"sid":2,"sts":6,"cts":6,"ops":[{"t":"q","from":1,"to":9,"rows":{"1":5}}]}'; } >range.jsonl
"$program" gen --txns 300 --sessions 10 --keys 20 --ops 10 --level ser --seed 4 --quiet |
    sed -E 's/"[sc]ts":[^,]*,//g; s/"v":([0-9]*)([0-9])/"v":\2/g' >repeated.jsonl
# The same as streams; and rows beside clients of which one reads what no source delivers.
source "$data/messages.sh"
for name in anomaly some-unjudged order five session range; do messages t <$name.jsonl >$name.capture; done
{ cat five.jsonl; echo '{"tid":2'; } | messages t >bad.capture
echo '{"tid":1,"sid":1,"sts":{"p":1,"l":1},"cts":{"p":1,"l":2},"ops":[{"t":"w","k":"x","v":5}]}' | messages t >pairs.capture
{ cat five.jsonl; echo '{"watermark":1000}'; sed 's/"tid":1/"tid":2/' five.jsonl; } | messages t >ahead.capture
{ for ((i = 1; i < 50; i++)); do
    echo '{"tid":"w'$i'","sid":"s","sts":'$((10 * i))',"cts":'$((10 * i + 5))',"ops":[{"t":"w","k":"x","v":'$i'}]}'
    echo '{"watermark":'$((10 * i + 5))'}'
done; echo '{"tid":"r","sid":"t","sts":100,"cts":900,"ops":[{"t":"r","k":"x","v":9}]}'; } | messages t >long.capture
"$program" gen --txns 100 --sessions 8 --keys 3 --order random --seed 1 --quiet | messages t >mixed.capture
change a 0 740 1 null '{"id":1,"v":10}' >rows.capture
{ echo '{"tid":"w","sid":"w","xid":740,"snapshot":"740:740:","ops":[{"t":"w","row":"public.a/1","cells":{"v":10}}]}'
  echo '{"tid":"r","sid":"r","snapshot":"742:742:","ops":[{"t":"r","row":"public.a/1","cells":{"v":10}},{"t":"r","k":"none/1","v":5}]}'; } >clients.jsonl
{ cat rows.capture; messages c <clients.jsonl; echo '{"reached":5000}'; } >joined.capture
touch in.way
cat >doctors.iso <<'END'
table on[2] = 1
txn leave(d) { if (count(i in 0..1: on[i] == 1)) >= 2 { on[d] := 0 } }
run leave(0), leave(1)
invariant (count(i in 0..1: on[i] == 1)) >= 1
END
sed 's/leave(0), leave(1)/leave(0)/' doctors.iso >one.iso
echo 'var x = 0 input n in 1..3 txn f(n) { for i in 1..n { x := x + i } } run f(n) assert x <= 6' >loop.iso
cp "$here/../data/prove/booking.sql" .
echo 'kafka://127.0.0.1:9092/shop?protocol=canal-json' >feed.uri
"$program" check --json anomaly.jsonl >verdict.json
"$program" check --json --initial 6 five.jsonl >five-verdict.json
"$program" check --json range.jsonl >range-verdict.json
sed -E 's/"[sc]ts":[^,]*,//g' range.jsonl >range-order.jsonl
"$program" check --quiet --evidence range-proof.jsonl range-order.jsonl >/dev/null
{ echo '{"tid":1,"sid":1,"sts":7,"cts":8,"ops":[{"t":"w","k":2,"v":6}]}'
  echo '{"tid":2,"sid":2,"sts":6,"cts":6,"ops":[{"t":"q","from":1,"to":9,"rows":{"1":5}}]}'; } >one-row.jsonl
"$program" check --json --initial 5 one-row.jsonl >one-row-verdict.json
echo '{"ops":[{"t":"w","k":1,"v":5}]}' >key-1.json
# What comes slowly is not copied for each call.
mkdir "$work/slow"
(cd "$work/slow" && "$program" gen --txns 6000 --quiet >slow.jsonl
 "$program" check --json slow.jsonl >slow-verdict.json
 "$program" check --quiet --any-order --evidence slow-proof.jsonl slow.jsonl >/dev/null)

# Whatever a call leaves: times and counters of memory are no effects; of what bench measured only what it was.
run() { # FOLDER ARGUMENT...
    cp -r "$work/files" "$work/$1"
    (cd "$work/$1" && shift && timeout 60 "$program" "$@" >stdout 2>stderr; echo $? >status
     sed -i -E 's/[0-9.]+ s$//; s/"seconds":\{[^}]*\}//; s/"peak_rss_bytes":[0-9]+//' stdout stderr
     [ "$1" != bench ] || { jq -r .settings stdout >settings; mv settings stdout; })
}
# Its input, and whoever takes its output, stops for a moment in the middle.
on_terminal() { # ARGUMENT...
    script -qec "cd '$work/slow'; { head -c 2000000 slow.jsonl; sleep 0.7; tail -c +2000001 slow.jsonl; } | '$program' $* | { sleep 0.7; cat; }" /dev/null </dev/null
}
declare -A without_of=() # the folder of a call without the option; many options have one call
while IFS=$'\t' read -r command option value rest; do
    case $command in \#*) continue ;; esac
    if [ "$value" = @ ]; then # a broker, or time: other tests show it
        grep -rqE -e "$option( |=|$)" "$here/../$rest"
        result $? "$command $option in $rest"
        continue
    fi
    if [ "$value" = "~" ]; then
        [[ $(on_terminal "$command" $rest) == *' MB/s'* && $(on_terminal "$command" $option $rest) != *' MB/s'* ]]
        result $? "$command $option"
        continue
    fi
    expected=0 && [ "${value#!}" != "$value" ] && expected=2
    value=${value#!} && [ "$value" = - ] && value=
    # shellcheck disable=SC2086 # words
    without=${without_of[$command $rest]:=without${#without_of[@]}}
    [ -e "$work/$without" ] || run "$without" $command $rest
    run with $command $rest $option $value
    ! diff -rq "$work/$without" "$work/with" >/dev/null &&
        if [ $expected = 2 ]; then [ "$(cat "$work/with/status")" = 2 ]; else [ "$(cat "$work/with/status")" != 2 ]; fi
    result $? "$command $option"
    rm -rf "$work/with"
done <"$here/options.tsv"

declare -A tabled=()
while IFS=$'\t' read -r command option _; do tabled[$command $option]=1; done <"$here/options.tsv"
everywhere='config core log-format log-limit print-config version threads help property'
lacking=
options() { # COMMAND
    "$program" "$1" --help | grep -oE '^  (-[a-zA-Z], )?--[a-z0-9-]+' | grep -oE -e '--[a-z0-9-]+' | sort -u
}
options replay >"$work/replayed"
for command in check verify explain convert gen watch replay capture probe doctor tick prove bench state; do
    for option in $(options $command); do
        case " $everywhere " in *" ${option#--} "*) continue ;; esac
        # What both have is in one list of rows, and done by the same code (run/options.h): replay shows it without a broker.
        [ $command = watch ] && grep -qx -e "$option" "$work/replayed" && [ "$option" != --explain ] && continue
        [ -n "${tabled[$command $option]:-}" ] || lacking="$lacking $command:$option"
    done
done
[ -n "$lacking" ] && echo "#$lacking"
[ -z "$lacking" ]
result $? "options.tsv has every option of every command"
echo "1..$number"
exit $failed
