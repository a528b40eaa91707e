#!/bin/bash
# Faults planted in the recorder's rules, one at a time: each is found by a case, or by statements at random. TAP on stdout.
#
#   tests/system/reread/faults.sh [--statements N]    of these, at most, for each fault
here=$(cd "$(dirname "$0")" && pwd)
exec "$here/mutants.py" "$@"
