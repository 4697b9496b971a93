#!/usr/bin/env bash
# clang-tidy over the library, the tools and the examples.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

cmake --preset clang -DPLAIT_TESTS=ON >/dev/null
scripts/tidy.py build/clang plait/ tools/ examples/ tests/support/
