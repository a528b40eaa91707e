#!/bin/bash
# Statements at random through isochron-proxy: nothing that it records is untrue. SEED is printed and draws the same again. TAP on stdout.
#
#   tests/system/reread/random.sh [--statements N]    PROXY: the program, build/isochron-proxy
here=$(cd "$(dirname "$0")" && pwd)
exec "$here/reread.py" random --workers 2 --shrink 2 --proxy "${PROXY:-$here/../../../${BUILD:-build}/isochron-proxy}" "$@"
