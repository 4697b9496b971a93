#!/usr/bin/env bash
# All static checks. Each runs, even if earlier ones fail.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

status=0
check() { step "$@" || status=1; }

in_turn() {
  echo "in turn by commit, as PLAIT_SHARE is $PLAIT_SHARE: $1"
}

house_in_numbers() {
  if (($(commit_count) % $(turns) != 0)); then
    in_turn "without compiling"
    scripts/house.py --check --without-compiling
    return
  fi
  scripts/house.py --check
}

headers_stand_alone() {
  local target=plait_headers_alone
  if (($(turns) > 1)); then
    target+=_$(($(commit_count) % 8))
    in_turn "an eighth of the headers"
  fi
  build release -DPLAIT_TESTS=ON -- "$target"
}

check "Format" scripts/format.sh -n
check "Rooms" scripts/check_rooms.py
check "The house in numbers" house_in_numbers
check "Links" scripts/check_links.py
check "Words" scripts/check_words.py
check "Lines to be damaged" scripts/sabotage_lines.py --check
check "Shell scripts" shellcheck --external-sources scripts/*.sh .ci/run
check "Every header stands alone" headers_stand_alone
exit "$status"
