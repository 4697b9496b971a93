#!/usr/bin/env bash
# Builds and runs the benchmarks of every room; arguments go to each (--benchmark_filter=...).
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

step "Building the benchmarks in build/bench" build bench
for program in build/bench/plait_bench_*; do
  [[ -x $program ]] || die "There are no benchmarks in bench/*/ yet."
  step "$(basename "$program")" "$program" "$@"
done
