#!/usr/bin/env bash
# gpu_check.sh pack            builds the check, and puts it with the libraries and the recorded cases that it needs into
#                              build/gpu_check.tar.xz (at most 40 MB), for a machine with a GPU on which nothing is built
# gpu_check.sh quick [FOLDER]  runs that archive here, on the first GPU, in under 150 s: recorded cases and tests beside the
#                              CPU, calls among the GPUs, ceilings and operations beside PyTorch. Each finding is written to
#                              FOLDER (build/gpu_found) as it is made.
# gpu_check.sh full [FOLDER]   the same for longer
# GPU_CHECK_TESTS is a pattern of the tests that are run, as for --gtest_filter.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

archive=build/gpu_check.tar.xz
packed=build/gpu_check

# Libraries that another distribution may lack, or have in another version; those of the compiler are everywhere.
copy_libraries() {
  local library
  while read -r library; do
    cp -L "$library" "$packed/lib/"
    strip --strip-unneeded "$packed/lib/$(basename "$library")" || true
  done < <(ldd "$packed/plait_gpu_check" "$packed/plait_test_cuda" | awk '/=> \// {print $3}' | sort -u |
    grep -vE '/(libc|libm|libdl|libpthread|librt|libstdc[+][+]|libgcc_s)\.so')
}

pack() {
  build release -DPLAIT_TESTS=ON -- plait_gpu_check plait_test_cuda plait_python
  rm -rf "$packed"
  mkdir -p "$packed/lib"
  strip -o "$packed/plait_gpu_check" build/release/tests/gpu_check/plait_gpu_check
  strip -o "$packed/plait_test_cuda" build/release/tests/plait_test_cuda
  cp tests/gpu_check/peer_operations.py "$packed/"
  copy_libraries
  PYTHONPATH=build/release/python PLAIT_CACHE=$PWD/build/release/test_cache \
    .venv/bin/python tests/gpu_check/record_cases.py "$packed/cases.safetensors"
  tar -C build -cJf "$archive" gpu_check
  local megabytes=$((($(stat -c %s "$archive") + 999999) / 1000000))
  say "$archive: $megabytes MB"
  ((megabytes <= 40)) || die "more than the 40 MB that may be carried"
}

# run FILE SECONDS COMMAND...: its output goes to FILE and to the screen; it is killed after SECONDS.
run() {
  local file=$1 limit=$2 status=0
  shift 2
  timeout --kill-after 5 "$limit" "$@" 2>&1 | tee -a "$file" || status=$?
  ((status == 0)) || say "exit status $status: $*" | tee -a "$file"
  return "$status"
}

# Where the device is lost, the cases after that one are replayed by another process.
replay() {
  local first=0 status lost until=$((SECONDS + $1))
  while ((SECONDS < until)); do
    status=0
    run "$found/cases.txt" $((until - SECONDS)) "$packed/plait_gpu_check" replay "$packed/cases.safetensors" "$first" || status=$?
    ((status == 3)) || return "$status"
    lost=$(awk '/^lost at / {last = $3} END {print last}' "$found/cases.txt")
    first=$((lost + 1))
  done
  return 1
}

# Each test in a process of its own, several at a time, since a lost device ends its process only.
device_tests() {
  local limit=$1 filter=$2 names
  names=$("$packed/plait_test_cuda" --gtest_list_tests --gtest_filter="$filter" |
    awk '/^[^ ]/ {suite = $1} /^ / {print suite $1}')
  # shellcheck disable=SC2016 # the shell that xargs starts expands these
  PLAIT_TEST_GPU=1 timeout "$limit" xargs -P 8 -I '{}' sh -c '
    if out=$(timeout 60 "$0" --gtest_filter="$1" 2>&1); then echo "ok $1"; else echo "FAILED $1"; echo "$out" | head -n 30; fi' \
    "$packed/plait_test_cuda" '{}' <<<"$names" | tee -a "$found/tests.txt" || say "the tests ran out of their $limit s"
}

check() {
  local kind=$1 cases_limit=40 tests_limit=35 seconds=0.1 filter=${GPU_CHECK_TESTS:-*}
  found=${2:-build/gpu_found}
  [[ $kind == quick ]] || { cases_limit=600 tests_limit=600 seconds=0.5; }
  [[ -d $packed ]] || { mkdir -p build && tar -C build -xJf "$archive"; }
  mkdir -p "$found"
  export LD_LIBRARY_PATH=$PWD/$packed/lib PLAIT_CACHE=$PWD/build/gpu_cache
  # Where pip has installed NVIDIA's libraries.
  VIRTUAL_ENV=${VIRTUAL_ENV:-$(python3 -c 'import sys; print(sys.prefix)')}
  export VIRTUAL_ENV
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>&1 | tee "$found/device.txt" || true
  run "$found/device.txt" 10 "$packed/plait_gpu_check" device
  local status=0
  replay "$cases_limit" || status=1
  run "$found/nccl.txt" 15 "$packed/plait_gpu_check" nccl || status=1
  run "$found/ours.jsonl" 25 "$packed/plait_gpu_check" speed "" "$seconds" || status=1
  run "$found/theirs.jsonl" 25 env -u LD_LIBRARY_PATH python3 "$packed/peer_operations.py" measure "$seconds" || status=1
  python3 "$packed/peer_operations.py" compare "$found/ours.jsonl" "$found/theirs.jsonl" | tee "$found/speed.md" || status=1
  device_tests "$tests_limit" "$filter"
  ! grep -q '^FAILED' "$found/tests.txt" || status=1
  return "$status"
}

case ${1:-} in
  pack) step "Packing the check of a GPU" pack ;;
  quick | full) step "Checking a GPU" check "$@" ;;
  *) die "$(sed -n '2,9s/^# //p' "$0")" ;;
esac
