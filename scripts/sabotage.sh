#!/usr/bin/env bash
# Builds the Python module, then damages each primitive in turn, and lines of control flow and of the compiler.
# Arguments select primitives or families; --rules: only their derivatives (tests/conformance/sabotage.py); --lines:
# only the lines, --lines --room compile: those of one room (scripts/sabotage_lines.py).
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

if [[ ${1:-} == --lines ]]; then
  step "Damaging lines" python3 scripts/sabotage_lines.py "${@:2}"
  exit
fi
step "Building the Python module in build/release" build release -DPLAIT_PYTHON=ON -- plait_python
damage() { PYTHONPATH=build/release/python .venv/bin/python tests/conformance/sabotage.py "$@"; }
step "Damaging ${*:-every primitive}" damage "$@"
[[ $# -gt 0 ]] || step "Damaging lines" python3 scripts/sabotage_lines.py
