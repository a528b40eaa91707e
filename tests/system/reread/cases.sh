#!/bin/bash
# Sessions whose records were untrue once, and plain ones of which something must be recorded. TAP on stdout.
here=$(cd "$(dirname "$0")" && pwd)
exec "$here/reread.py" case --proxy "${PROXY:-$here/../../../${BUILD:-build}/isochron-proxy}" -- "$here"/cases/*.steps
