#!/bin/bash
# Random single calls of SQL, with NULLs, constraints and errors, end on a real PostgreSQL as in the model of `isochron prove`
# (prove_calls.py). TAP on stdout.
#
#   ISOCHRON=build/isochron tests/system/postgres/calls.sh [--calls N]      random calls, 400
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../support/servers.sh"
[ "${1:-}" != --calls ] || shift
postgres_start || exit 4
"$here/prove_calls.py" --isochron "$isochron" --server "$server" --calls "${1:-400}" --seed "${SEED:-1}"
