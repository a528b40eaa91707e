#!/bin/bash
# `make nightly`: all that takes long. Every flavour, with the full number of random histories from seeds that were never used; real
# brokers, databases, browsers; kills at every place; long fuzzing. Hours. SEED is printed first: SEED=S make nightly, or SEED=S before
# one property program, draws the same again. What it finds becomes a unit test with its mend.
# The last line is "N passed, N failed"; exit status 1 if anything failed.
set -u
cd "$(dirname "$0")/.." || exit 4
SEED=${SEED:-$((0x$(od -An -N5 -tx1 /dev/urandom | tr -d ' ')))}
export SEED
echo "nightly: SEED=$SEED"
. tests/support/stages.sh

build_next clang DO=test-programs
stage release check BOX=nightly EFFORT=long LIMIT=1800
build_next asan DO=test-programs
stage clang clang
beside kafka databases browser operate
build_next ubsan DO=test-programs
stage asan asan BOX=nightly LIMIT=1800
build_next tsan DO=test-programs
stage ubsan ubsan
build_next fuzz-build
stage tsan tsan
add_beside
build_next
stage failover failover
stage crash crash
stage hostile hostile
stage mutants mutants
stage fuzz fuzz-smoke FUZZ_SMOKE_SECONDS="${SECONDS_EACH:-60}"
stage bare bare
sum_up
