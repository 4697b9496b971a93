#!/usr/bin/env bash
# clang-tidy over the library, the tools and the examples.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

# Each source on its own: what is compiled together lies in no folder of ours.
cmake --preset clang -B build/tidy -DPLAIT_TESTS=ON -DPLAIT_UNITY=OFF >/dev/null
scripts/tidy.py build/tidy plait/ tools/ examples/ tests/support/
