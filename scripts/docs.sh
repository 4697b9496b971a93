#!/usr/bin/env bash
# Builds the Python module, writes the pages of the operations (arguments are passed to scripts/manual/docs.py) and checks
# all links.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

step "Building the Python module in build/release" build release -DPLAIT_PYTHON=ON -- plait_python
pages() { PYTHONPATH=build/release/python .venv/bin/python scripts/manual/docs.py "$@"; }
step "Writing the pages of the operations" pages "$@"
step "Checking links" scripts/check_links.py build/docs
