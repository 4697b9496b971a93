#!/usr/bin/env bash
# Builds the Python module, then damages each primitive in turn. Arguments name some of them or their
# families; --rules: only their derivatives (tests/conformance/sabotage.py).
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

step "Building the Python module in build/release" build release -DPLAIT_PYTHON=ON -- plait_python
damage() { PYTHONPATH=build/release/python .venv/bin/python tests/conformance/sabotage.py "$@"; }
step "Damaging ${*:-every primitive}" damage "$@"
