#!/usr/bin/env bash
# Runs clang-tidy on the library, the tools and the examples.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

# Each source is checked separately: unity sources are outside of the project's folders.
cmake --preset clang -B build/tidy -DPLAIT_TESTS=ON -DPLAIT_UNITY=OFF >/dev/null
scripts/tidy.py build/tidy plait/ tools/ examples/ tests/support/
