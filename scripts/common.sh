# shellcheck shell=bash
# Sourced by the scripts of this folder: they run from the root of the repository.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

# The flags of an outer make do not apply to the builds that the scripts start.
unset MAKEFLAGS MFLAGS MAKELEVEL

# The compiler cache is in the checkout, too.
export PLAIT_CACHE="$PWD/build/cache"

say() { printf '%s\n' "$*"; }
die() {
  printf '%s\n' "$*" >&2
  exit 1
}

# step TITLE COMMAND...: prints what runs, and how long it took.
step() {
  local title=$1 start=$SECONDS
  shift
  say "== $title"
  if "$@"; then
    say "   done in $((SECONDS - start)) s"
  else
    local status=$?
    say "   FAILED after $((SECONDS - start)) s: $title"
    return "$status"
  fi
}

# One job per core, with at least 1.5 GiB of memory each.
job_count() {
  local cores memory_kib jobs
  cores=$(nproc)
  memory_kib=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
  jobs=$((memory_kib / (1536 * 1024)))
  ((jobs < cores)) || jobs=$cores
  ((jobs > 1)) || jobs=1
  say "$jobs"
}

# MiB of disk that are free for the checkout.
free_disk() { df --output=avail --block-size=1M . | awk 'NR == 2 { print $1 }'; }

# build PRESET [CMAKE_ARGUMENT... [-- TARGET...]]: configures quietly, then builds.
build() {
  local preset=$1 log
  shift
  local arguments=()
  while (($#)) && [[ $1 != -- ]]; do
    arguments+=("$1")
    shift
  done
  (($# == 0)) || shift
  mkdir -p "build/$preset"
  # On a full disk CMake and ctest end without a message, and without their files.
  (($(free_disk) >= 1024)) || die "less than 1 GiB of disk is free in $PWD: free some, then run the command again"
  log="build/$preset/configure.log"
  if ! cmake --preset "$preset" "${arguments[@]}" >"$log" 2>&1; then
    cat "$log"
    return 1
  fi
  grep '^-- Plait:' "$log" || true
  (($# == 0)) || set -- --target "$@"
  cmake --build "build/$preset" --parallel "$(job_count)" "$@"
}

commit_count() { git rev-list --count HEAD 2>/dev/null || echo 1; }

# How many commits have to pass until each part of what is checked in turn was checked: 1 / PLAIT_SHARE.
turns() { awk -v share="${PLAIT_SHARE:-1}" 'BEGIN { print (share > 0 && share < 1 ? int(1 / share + 0.5) : 1) }'; }

# is_in_turn NAME: whether this commit checks it. A hash decides, so that another name does not change the turns of the rest.
is_in_turn() {
  local hash
  hash=$(cksum <<<"$1")
  ((${hash%% *} % $(turns) == $(commit_count) % $(turns)))
}

sanitizer_in_turn() { if (($(commit_count) % 2)); then echo tsan; else echo asan; fi; }

# build_release [TARGET...]: configures a new build folder without tests, which need more packages; an existing one
# with tests keeps them.
build_release() {
  local without_tests=()
  [[ -f build/release/CMakeCache.txt ]] || without_tests=(-DPLAIT_TESTS=OFF)
  build release "${without_tests[@]}" -- "$@"
}
