#!/bin/bash
# Builds the image of isochron, of base images that a digest names (pin.sh), so that the same sources make it of the same parts.
#
#   deploy/docker/build.sh [OPTION of docker build]...     -t isochron, unless another name is given
#
# ALLOW_UNPINNED=1 builds of whatever a tag means today, for a try: no release is made so.
set -eu
cd "$(dirname "$0")"
if ! loose=$(./pin.sh --check) && [ "${ALLOW_UNPINNED:-}" != 1 ]; then
    echo "$loose" >&2
    echo "build.sh: pin them by deploy/docker/pin.sh, or set ALLOW_UNPINNED=1 for a try" >&2
    exit 2
fi
case " $*" in
    *" -t "* | *" --tag"*) ;;
    *) set -- -t isochron "$@" ;;
esac
exec docker build -f Dockerfile "$@" ../..
