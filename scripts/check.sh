#!/usr/bin/env bash
# check.sh TARGET...: makes each target, even if earlier ones failed, and ends with the totals of all their tests. A
# target that fails without a failed test counts as one more failure.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

passed=0 failed=0 skipped=0
lines=()
for target in "$@"; do
  preset=$target
  [[ $target != test* ]] || preset=release
  [[ $target != sanitized ]] || preset=$(sanitizer_in_turn)
  results=build/$preset/tests.xml
  rm -f "$results"
  start=$SECONDS status=0 counts="0 0 0"
  make "$target" || status=$?
  if [[ -f $results ]]; then counts=$(python3 scripts/totals.py --bare "$results"); fi
  read -r now_passed now_failed now_skipped <<<"$counts"
  verdict=passed
  if ((status != 0)); then
    verdict=FAILED
    if ((now_failed == 0)); then now_failed=1; fi
  fi
  passed=$((passed + now_passed)) failed=$((failed + now_failed)) skipped=$((skipped + now_skipped))
  lines+=("$(printf '%-13s %s in %d s (%d passed, %d failed, %d skipped)' \
    "$target" "$verdict" $((SECONDS - start)) "$now_passed" "$now_failed" "$now_skipped")")
done
say "== Summary ($(free_disk) MiB of disk are free)"
printf '   %s\n' "${lines[@]}"
say "$passed passed, $failed failed"
((failed == 0))
