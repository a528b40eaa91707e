# What the tests of this folder begin with, at the root of the sources.
build=${BUILD:-build}
isochron=${FAULTY:-$PWD/$build/tests/isochron} # it can be killed at named points (base/fault.h)
work=$(mktemp -d)
number=0
. tests/support/tap.sh
. tests/system/durable/broker.sh
