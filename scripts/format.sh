#!/usr/bin/env bash
# format.sh -i formats every source; format.sh -n, or without an argument, reports unformatted ones.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

git ls-files -z --cached --others --exclude-standard '*.h' '*.inl' '*.cpp' |
  xargs -0 --no-run-if-empty --max-procs="$(nproc)" --max-args=16 clang-format-19 --Werror "${1:--n}"
