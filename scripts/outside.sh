#!/usr/bin/env bash
# outside.sh [SUITE...]: builds the Python module, installs tests/others/requirements.txt into build/outside, and runs
# the test suites of other libraries (tests/others/run.py); JAX's only if JAX_TESTS names their folder.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

folder=build/outside requirements=tests/others/requirements.txt
fetch() {
  if cmp -s "$requirements" "$folder/requirements.txt"; then
    say "   $folder is up to date"
    return
  fi
  rm -rf "$folder"
  mkdir -p "$folder"
  local pip=(.venv/bin/python -m pip --quiet --disable-pip-version-check)
  "${pip[@]}" download --no-deps --no-binary autograd --dest "$folder" \
    "$(grep '^autograd' "$requirements")"
  tar -C "$folder" -xzf "$folder"/autograd-*.tar.gz
  "${pip[@]}" install --no-deps --target "$folder/site" "$(grep '^absl' "$requirements")"
  cp "$requirements" "$folder/requirements.txt"
}

step "Building the Python module in build/release" build release -DPLAIT_PYTHON=ON -- plait_python
step "Tests of other libraries, in $folder" fetch
PYTHONPATH=build/release/python step "Running the tests of other libraries" .venv/bin/python tests/others/run.py "$@"
