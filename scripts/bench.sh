#!/usr/bin/env bash
# Builds and runs the benchmarks of every room, arguments go to each (--benchmark_filter=...); then
# Plait beside NumPy and PyTorch (bench/peers/compare.py), where no arguments are given.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

step "Building the benchmarks in build/bench" build bench
for program in build/bench/plait_bench_*; do
  [[ -x $program ]] || die "There are no benchmarks in bench/*/ yet."
  step "$(basename "$program")" "$program" "$@"
done

if (($# == 0)); then
  python=.venv/bin/python programs=build/bench/peers
  step "Compiling against PyTorch's C++" bench/peers/build_libtorch.sh "$PWD/$python" \
    "$PWD/$programs/eager_libtorch"
  PYTHONPATH=build/bench/python step 'Beside NumPy and PyTorch' \
    "$python" bench/peers/compare.py --programs "$programs" --json build/bench/peers.json
fi
