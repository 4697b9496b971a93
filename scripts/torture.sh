#!/usr/bin/env bash
# torture.sh [KILLS [SEED]]: builds the Python module, kills training runs at random moments (300 times), continues
# them, and compares each with a run that is not disturbed: weights, log and batches. Then kills and stops ranks of groups
# as often, with each engine: the others have an error, and no wrong number.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

step "Building the Python module in build/release" build release -DPLAIT_PYTHON=ON -- plait_python
PYTHONPATH=build/release/python step "Killing training runs" .venv/bin/python tests/python/files/killed_runs.py \
  --kills "${1:-300}" --seed "${2:-$RANDOM}"

step "Building the tests of processes" build release -DPLAIT_TESTS=ON -- plait_test_comm
share=$(awk -v kills="${1:-300}" 'BEGIN { print kills / 10 }')
for engine in local gloo; do
  step "Killing and stopping ranks: $engine" env PLAIT_SHARE="$share" PLAIT_TEST_ENGINE="$engine" \
    build/release/tests/plait_test_comm --gtest_filter='RandomFailures.Ranks*' --gtest_random_seed="${2:-$RANDOM}"
done
step "Killing and stopping ranks: mpi" tests/comm/strike_under_mpi.sh mpirun.openmpi \
  build/release/tests/plait_test_comm "${1:-300}"
