#!/bin/bash
# isochron-proxy before a server that is none: see alone.py. TAP on stdout.
#
#   PROXY=build/isochron-proxy tests/system/proxy/test_alone.sh [--connections N] [--row MEGABYTES] [--hostile N] [--silent SECONDS]
here=$(cd "$(dirname "$0")" && pwd)
exec "$here/alone.py" "${PROXY:-$here/../../../${BUILD:-build}/isochron-proxy}" "$@"
