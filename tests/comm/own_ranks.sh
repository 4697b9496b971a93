# shellcheck shell=bash
# For scripts that start a process for each rank of the tests.
PLAIT_TEST_FOLDER=$(mktemp -d)
export PLAIT_TEST_FOLDER
trap 'rm -rf "$PLAIT_TEST_FOLDER"' EXIT
# Without those that share memory among threads, or fork.
# shellcheck disable=SC2034
OWN_RANK_TESTS='Collectives*:Messages*:Failures*-*AsProcesses*:*Late*:*Killed:*OtherEngines*:*WorkOfTheProcess*:*BeforeAPart*:*Interrupted:*Fork*:*NobodySends:*EndTogether*:*HoldsNothing*:*AreWritten*'

# Exit status 77, which says that tests are left out, unless a job can be started here.
expect_mpirun() {
  as_root=()
  ((EUID == 0)) && as_root=(--allow-run-as-root)
  "$1" "${as_root[@]}" --oversubscribe -n 2 true && return
  echo "$1 starts no job here" >&2
  exit 77
}
