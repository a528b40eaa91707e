#!/bin/bash
# The online half of `make bench`: the engine alone in order and with late arrivals, and JSON records from a broker.
#
# BOOTSTRAP=host:port measures that broker (a real one: MESSAGES of a topic of its own); without it, mock brokers in the
# same process, which share its time. ROUNDS (3) runs a row, the median is shown.
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
ISOCHRON=$BUILD/isochron
transactions=${TRANSACTIONS:-1M}

echo
echo "# Online, engine alone: 8 operations, 24 sessions, 1,000 keys; in order, and delayed by N(100 ms, 10 ms) at 25,000/s"
for level in si ser; do
    "$ISOCHRON" bench aion --quiet --level "$level" --txns "$transactions" --ops 8 --sessions 24 --keys 1000 --dist uniform \
        --retention 10000 --sweep none --repeat "${ROUNDS:-3}"
done
echo
echo "# From a broker, JSON: consumed and counted"
"$ISOCHRON" bench kafka --quiet --txns "${MESSAGES:-100k}" --ops 8 --sweep none --repeat "${ROUNDS:-3}" \
    ${BOOTSTRAP:+-X bootstrap.servers="$BOOTSTRAP"}
