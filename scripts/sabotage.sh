#!/usr/bin/env bash
# Builds the Python module, then damages each primitive in turn; arguments name some of them.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

step "Building the Python module in build/release" build release -DPLAIT_PYTHON=ON -- plait_python
damage() { PYTHONPATH=build/release/python .venv/bin/python tests/conformance/sabotage.py "$@"; }
step "Damaging every primitive" damage "$@"
