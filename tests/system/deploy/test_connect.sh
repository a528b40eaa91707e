#!/bin/bash
# One Kafka Connect worker a directory: connect.sh on stand-ins for Java and curl, which neither fetch nor listen. TAP on stdout.
set -u
cd "$(dirname "$0")/../../.." || exit 4
connect=$PWD/deploy/debezium/connect.sh
work=$(mktemp -d)
number=0
. tests/support/tap.sh
mkdir "$work/bin" "$work/cache"
touch "$work/cache/complete"
printf '#!/bin/sh\nexec sleep 600\n' >"$work/bin/java"
printf '#!/bin/sh\necho %s\n' "'{\"shop\":{\"status\":{\"tasks\":[{\"state\":\"RUNNING\"}]}}}'" >"$work/bin/curl"
chmod +x "$work/bin/java" "$work/bin/curl"
export PATH="$work/bin:$PATH" ISOCHRON_CONNECT_CACHE="$work/cache"
leave() {
    for directory in "$work/one" "$work/two"; do "$connect" kill "$directory"; done
    rm -rf "$work"
}
trap leave EXIT
lives() { kill -0 "$(cat "$work/$1/pid")" 2>/dev/null; }

plan 8
"$connect" start "$work/one" localhost:9092 shop.properties && lives one
result $? "a worker starts"
first=$(cat "$work/one/pid")
"$connect" start "$work/one" localhost:9092 shop.properties 2>"$work/said"
[ $? = 4 ] && grep -q "a worker runs there already, process $first" "$work/said"
result $? "a second one in the same directory is refused, by the first one's process" || sed 's/^/# /' "$work/said"
[ "$(cat "$work/one/pid")" = "$first" ] && lives one
result $? "and the first one goes on, and is still known"
"$connect" start "$work/two" localhost:9092 shop.properties && lives two
result $? "another directory takes another one"
"$connect" stop "$work/one" && ! kill -0 "$first" 2>/dev/null
result $? "stop ends the one of its directory"
lives two
result $? "and no other"
"$connect" start "$work/one" localhost:9092 shop.properties && lives one
result $? "the directory is free again"
kill -9 "$(cat "$work/one/pid")"
for _ in $(seq 100); do lives one || break; sleep 0.05; done
"$connect" start "$work/one" localhost:9092 shop.properties && lives one
result $? "also when its worker was killed, and left its pid file"
