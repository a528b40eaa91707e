# What the tests of this folder begin with, at the root of the sources.
build=${BUILD:-build}
isochron=${ISOCHRON:-$PWD/$build/isochron}
work=$(mktemp -d)
number=0
. tests/support/tap.sh
. tests/system/durable/broker.sh
