#!/bin/bash
# Random streams of a MariaDB whose clients use XA (xa.py). TAP on stdout.
#   test_xa.sh [--streams N]     120; SEED: the first
. "$(dirname "$0")/common.sh"
export ISOCHRON
count=${2:-120}
"$attach/xa.py" "$count" "${SEED:-1}" >"$scratch/streams" 2>&1
conclude $? "$count streams of a database with XA accuse nobody" "$scratch/streams"
tail -1 "$scratch/streams" | sed 's/^/# /'
echo "1..$number"
