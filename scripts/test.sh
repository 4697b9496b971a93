#!/usr/bin/env bash
# test.sh PRESET [CTEST_ARGUMENT...]: builds a preset with its tests, runs them and prints totals. The output of ctest
# goes to build/PRESET/tests.log, its results to build/PRESET/tests.xml.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

preset=$1
shift
folder=build/$preset
# Each commit tries other random cases, and the same ones again.
export RC_PARAMS=${RC_PARAMS:-seed=$(git rev-list --count HEAD 2>/dev/null || echo 1)}
rm -f "$folder/tests.xml"
step "Building $preset in $folder" build "$preset" -DPLAIT_TESTS=ON

run_tests() {
  local status=0 progress=(--quiet)
  [[ -t 1 ]] && progress=(--progress)
  ctest --preset "$preset" --parallel "$(job_count)" --no-tests=error \
    "${progress[@]}" --output-log "$PWD/$folder/tests.log" --output-junit tests.xml "$@" || status=$?
  python3 scripts/totals.py --failures "$folder/tests.xml"
  grep -F '***' "$folder/tests.log" || true # how each ended, and when
  return "$status"
}
status=0
step "Running the tests of $preset" run_tests "$@" || status=$?
say "$preset: $(python3 scripts/totals.py "$folder/tests.xml"), all output in $folder/tests.log"
exit "$status"
