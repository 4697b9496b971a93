#!/usr/bin/env bash
# torture.sh [KILLS [SEED]]: builds the Python module, kills training runs at random moments (300 times), continues
# them, and compares each with a run that is not disturbed: weights, log and batches.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

step "Building the Python module in build/release" build release -DPLAIT_PYTHON=ON -- plait_python
PYTHONPATH=build/release/python step "Killing training runs" .venv/bin/python tests/python/files/killed_runs.py \
  --kills "${1:-300}" --seed "${2:-$RANDOM}"
