#!/bin/bash
# `make test`: what judges a commit, in at most 20 minutes on two cores. Seeds and counts are fixed, so that the change is to blame for
# what fails. All histories, fresh seeds, all databases, browsers and crashes: `make nightly`.
# The last line is "N passed, N failed"; exit status 1 if anything failed.
set -u
cd "$(dirname "$0")/.." || exit 4
unset SEED
. tests/support/stages.sh

build_next asan DO=test-programs
stage release check BOX=test EFFORT=medium
beside kafka postgres
build_next tsan DO=test-programs
stage asan asan
build_next clang DO=test-programs OPTIMISE=-O1 SYMBOLS=
stage tsan tsan
build_next fuzz-build
stage clang clang DO=compile OPTIMISE=-O1 SYMBOLS=
add_beside
build_next
stage fuzz fuzz-smoke
sum_up
