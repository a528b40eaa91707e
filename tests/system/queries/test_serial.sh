#!/bin/bash
# Queries at ser, where an order of the transactions is sought, against an enumeration of all orders. TAP on stdout.
#
#   test_serial.sh [HISTORIES [SEED]]
here=$(cd "$(dirname "$0")" && pwd)
exec /usr/bin/python3 "$here/serial.py" "$(realpath "${ISOCHRON:-$here/../../../build/isochron}")" "${1:-300}" "${2:-0}"
