#!/usr/bin/env bash
# test.sh PRESET [CTEST_ARGUMENT...]: builds a preset with its tests, runs them and prints totals. The output of ctest
# goes to build/PRESET/tests.log, its results to build/PRESET/tests.xml. PLAIT_TEST_PRESET: tests of another preset of that folder.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

preset=$1
shift
folder=build/$preset
tests=${PLAIT_TEST_PRESET:-$preset}
# Each commit tries other random cases, and the same ones again.
export RC_PARAMS=${RC_PARAMS:-seed=$(commit_count)}
export PLAIT_SEED=${PLAIT_SEED:-$(commit_count)} # for tests/conformance/nests.py
rm -f "$folder/tests.xml"
# Tests and examples leave folders behind.
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
step "Building $preset in $folder" build "$preset" -DPLAIT_TESTS=ON -DPLAIT_LAST_ROOM="${PLAIT_LAST_ROOM:-text}"

# A pattern of the tests labelled `long` that are not run with PLAIT_SHARE: each is run by one commit of 1 / PLAIT_SHARE.
not_in_turn() {
  local name names=""
  while read -r name; do
    is_in_turn "$name" || names+="|$name"
  done < <(ctest --preset "$tests" -L '^long$' -N | awk '/^ *Test +#/ { print $NF }')
  [[ -z $names ]] || say "^(${names#|})\$"
}

run_tests() {
  local status=0 progress=(--quiet) left_out
  left_out=$(not_in_turn)
  if [[ -n $left_out ]]; then
    echo "left out with PLAIT_SHARE=$PLAIT_SHARE: $(tr -cd '|' <<<"$left_out" | wc -c | awk '{print $1 + 1}') of the tests that take turns"
    set -- --exclude-regex "$left_out" "$@"
  fi
  [[ -t 1 ]] && progress=(--progress)
  ctest --preset "$tests" --parallel "$(job_count)" --no-tests=error \
    "${progress[@]}" --output-log "$PWD/$folder/tests.log" --output-junit tests.xml "$@" || status=$?
  [[ -f $folder/tests.xml ]] ||
    die "ctest ended without results (exit status $status, $(free_disk) MiB of disk are free in $PWD)"
  python3 scripts/totals.py --failures "$folder/tests.xml"
  grep -F '***' "$folder/tests.log" || true # how each ended, and when
  return "$status"
}
status=0
step "Running the tests of $preset" run_tests "$@" || status=$?
say "$preset: $(python3 scripts/totals.py "$folder/tests.xml"), all output in $folder/tests.log"
exit "$status"
