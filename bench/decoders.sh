#!/bin/bash
# `make bench`: each decoder alone, on messages in memory: megabytes a second, and instructions a byte where they are counted.
#
# The latter is the figure to compare: it does not depend on what else the machine does. MEGABYTES (200) of each.
set -eu
cd "$(dirname "$0")/.."
for kind in history,json history,avro history,protobuf \
            debezium,json debezium,json-schemas debezium,avro debezium,protobuf yugabyte,grpc yugabyte,logical \
            ticdc,canal-json ticdc,open-protocol ticdc,simple ticdc,debezium ticdc,csv ticdc,avro ticdc,simple-avro dgraph; do
    printf '%-24s' "$kind"
    "${BUILD:-build}/decoders" "$kind" "${MEGABYTES:-200}"
done
