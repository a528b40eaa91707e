#!/bin/bash
# `make bench`: each decoder alone, on messages in memory: megabytes a second, and instructions a byte where they are counted.
# Then a stream of changes from decoder to engine, with client records and without (joined.c).
#
# Instructions are the figure to compare: they do not depend on what else the machine does. MEGABYTES (200) of each; ROWS (2M).
set -eu
cd "$(dirname "$0")/.."
for kind in history,json history,avro history,protobuf \
            debezium,json debezium,json-schemas debezium,avro debezium,protobuf yugabyte,grpc yugabyte,logical \
            ticdc,canal-json ticdc,open-protocol ticdc,simple ticdc,debezium ticdc,csv ticdc,avro ticdc,simple-avro dgraph; do
    printf '%-24s' "$kind"
    "${BUILD:-build}/decoders" "$kind" "${MEGABYTES:-200}"
done
for mode in cdc joined; do
    echo "$mode:"
    "${BUILD:-build}/joined" "$mode" "${ROWS:-2000000}"
done
