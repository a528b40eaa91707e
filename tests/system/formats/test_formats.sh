#!/bin/bash
# Verdicts and reports against the schemas of their formats. TAP on stdout.
here=$(cd "$(dirname "$0")" && pwd)
exec /usr/bin/python3 "$here/formats.py" "$(realpath "${ISOCHRON:-$here/../../../build/isochron}")"
