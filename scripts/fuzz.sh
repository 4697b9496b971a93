#!/usr/bin/env bash
# Builds the fuzz targets and runs each for FUZZ_SECONDS (60), starting from tests/fuzz/corpus/. A failing input is
# stored in build/fuzz/.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

step "Building the fuzz targets in build/fuzz" build fuzz

# fuzz PROGRAM NAME: stores new interesting inputs in build/fuzz/corpus/NAME.
fuzz() {
  local log=build/fuzz/$2.log status=0 corpora=("build/fuzz/corpus/$2")
  mkdir -p "${corpora[0]}"
  [[ ! -d tests/fuzz/corpus/$2 ]] || corpora+=("tests/fuzz/corpus/$2")
  "$1" -max_total_time="$seconds" -timeout=10 -artifact_prefix="build/fuzz/$2-" \
    "${corpora[@]}" >"$log" 2>&1 || status=$?
  tail -n $((status == 0 ? 1 : 40)) "$log"
  return "$status"
}

seconds=${FUZZ_SECONDS:-60} status=0
for program in build/fuzz/tests/fuzz/plait_fuzz_*; do
  [[ -x $program ]] || die "There are no fuzz targets in tests/fuzz/ yet."
  name=${program##*plait_fuzz_}
  step "Fuzzing $name for $seconds s" fuzz "$program" "$name" || status=1
done
exit "$status"
