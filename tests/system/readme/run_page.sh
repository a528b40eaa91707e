#!/bin/bash
# Runs the commands of one page as a reader would: in their order, in one shell, in an empty folder; compares what they print and
# their exit status with what the page shows. TAP on stdout.
#
#   run_page.sh PAGE
#
# A command must succeed, unless `echo $?` follows it, whose output the page shows. A shown line "..." stands for any lines, at
# the end of a line for the rest of it. Times (0.3 s) are not compared. For the reader's broker, localhost:9092, stands the embedded
# one; for his port 8080 a free one. `isochron` and `embedded-broker` are in PATH, $ISOCHRON says where from.
set -u
here=$(cd "$(dirname "$0")" && pwd)
page=$(realpath "$1")
program=$(realpath "${ISOCHRON:-$here/../../../build/isochron}")
name=${page#"$(realpath "$here/../../..")"/}
work=$(mktemp -d)
number=0
. "$here/../../support/tap.sh"

leave() {
    exec 3>&-
    [ -z "${shell:-}" ] || kill -- -"$shell" 2>/dev/null # what the page left running in the background
    wait
    rm -rf "$work"
}
trap leave EXIT

mkdir "$work/bin" "$work/page" "$work/empty"
ln -s "$program" "$(dirname "$program")/embedded-broker" "$work/bin/"
awk -v folder="$work/page" -f "$here/page.awk" "$page"
count=$(find "$work/page" -name '*.command' | wc -l)
[ ! -e "$work/page/faults" ]
result $? "$name: its commands are in console blocks" || sed 's/^/# /' "$work/page/faults"
[ ! -e "$work/page/notes" ] || while read -r line how reason; do
    if [ "$how" = not-run ]; then echo "# not run: $name:$line: $reason"; else echo "# figures not compared: $name:$line: $reason"; fi
done <"$work/page/notes"
[ "$count" -gt 0 ] || { echo "1..$number"; exit; }

mkfifo "$work/broker.in"
# A topic of one partition, as brokers make them by themselves: TiCDC sends its watermarks to every one.
"$work/bin/embedded-broker" shop:1 <"$work/broker.in" >"$work/address" &
exec 3>"$work/broker.in"
for _ in $(seq 2400); do [ -s "$work/address" ] && break; sleep 0.05; done
address=$(cat "$work/address")
port=$("$here/../../support/free_ports.py")

cd "$work/page" || exit 4
{
    echo "cd '$work/empty'"
    sed -E -e "s/localhost:9092/$address/g; s/(127\.0\.0\.1|localhost):8080/127.0.0.1:$port/g" \
        -e "s|^(} >)([0-9]+\.actual 2>&1; status=\\$\?; echo \\\$status >)([0-9]+\.status)|\1$work/page/\2$work/page/\3|" script
} >run
LC_ALL=C.UTF-8 HOME="$work/empty" PATH="$work/bin:$PATH" setsid timeout --kill-after=5 500 bash run </dev/null >"$work/out" 2>&1 3>&- &
shell=$!
wait $shell

# What is shown as a pattern of [[ == ]]: its "..." is *, all else stands for itself.
pattern_of() {
    sed -E -e 's/[^A-Za-z0-9_ .]/\\&/g; s/\./\\./g' -e 's/^(\\\.){3}$/@ANY@/; s/(\\\.){3}$/*/' "$1" | sed -z -e 's/@ANY@\n/*/g' -e 's/\n$//'
}

masked() { # file how
    sed -E -e "s/$address/localhost:9092/g; s/127\.0\.0\.1:$port/127.0.0.1:8080/g" -e 's/\b[0-9]+(\.[0-9]+)? s\b/T s/g' "$1" |
        if [ "$2" = varying ]; then sed -E 's/-?[0-9][0-9.]*( [kM])?\b/N/g; s/ +/ /g'; else cat; fi
}

compare() { # number
    local line how status next pattern
    read -r line how <"$1.place"
    status=$(cat "$1.status" 2>/dev/null || echo none)
    next=$(cat "$(($1 + 1)).command" 2>/dev/null)
    masked "$1.expected" "$how" >expected
    masked "$1.actual" "$how" >actual 2>/dev/null
    pattern=$(pattern_of expected)
    [ "$status" = 0 ] || [ "$next" = 'echo $?' ] || { echo "# $name:$line: exit status $status"; return 1; }
    [ ! -s expected ] || [[ $(cat actual) == $pattern ]]
}

for i in $(seq "$count"); do
    compare "$i"
    result $? "$name:$(cut -d' ' -f1 "$i.place"): $(head -1 "$i.command")" || { diff -u --label page --label actual expected actual | head -40 | sed 's/^/#   /'; sed 's/^/#   /' "$work/out"; }
done
echo "1..$number"
