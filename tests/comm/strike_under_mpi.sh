#!/usr/bin/env bash
# strike_under_mpi.sh MPIRUN PROGRAM ROUNDS: kills or stops one of four ranks of the engine mpi at random moments, ROUNDS
# times each. mpirun ends all ranks when one is killed; when one is stopped the others have an error at the deadline, and
# no wrong number.
set -euo pipefail
# shellcheck source=tests/comm/own_ranks.sh
source "$(dirname "$0")/own_ranks.sh"

expect_mpirun "$1"
export PLAIT_TEST_ENGINE=mpi PLAIT_TEST_RANKS=4
base=$PLAIT_TEST_FOLDER

# The processes of a job that still run.
running() {
  local process
  for process in "$@"; do
    [[ ! -e /proc/$process ]] || [[ $(</proc/"$process"/stat) == *") Z "* ]] || echo "$process"
  done
}

# Waits for mpirun, whose own end may wait for ever: PMIx 4.2 does now and then, when all ranks have ended.
end_mpirun() {
  local tries
  for ((tries = 0; tries < 500; ++tries)); do
    [[ -n $(running "$1") ]] || break
    sleep 0.02
  done
  if [[ -n $(running "$1") ]]; then
    ((++stuck))
    kill -KILL "$1"
  fi
  wait "$1" || true
}

stuck=0
strike() {
  local signal=$1 round=$2 job ranks victim tries
  PLAIT_TEST_FOLDER=$base/$signal$round
  mkdir "$PLAIT_TEST_FOLDER"
  # shellcheck disable=SC2016
  "$mpirun" "${as_root[@]}" -q --oversubscribe -n 4 -x PLAIT_TEST_FOLDER -x PLAIT_TEST_ENGINE -x PLAIT_TEST_RANKS \
    sh -c 'PLAIT_TEST_RANK=$OMPI_COMM_WORLD_RANK exec "$@"' sh "$program" --gtest_brief=1 \
    --gtest_filter=RandomFailures.OnOwnRank >"$PLAIT_TEST_FOLDER/output" 2>&1 &
  job=$!
  for ((tries = 0; tries < 1000; ++tries)); do
    [[ $(find "$PLAIT_TEST_FOLDER" -name 'began_*' | wc -l) == 4 ]] && break
    sleep 0.02
  done
  mapfile -t ranks < <(pgrep -P "$job")
  victim=${ranks[RANDOM % 4]}
  sleep "0.0$((RANDOM % 10))"
  kill "-$signal" "$victim"
  for ((tries = 0; tries < 1500; ++tries)); do
    [[ -z $(running "${ranks[@]/$victim/}") ]] && break
    sleep 0.02
  done
  if [[ -n $(running "${ranks[@]/$victim/}") ]]; then
    echo "round $round: after $signal of one rank, others wait for ever" >&2
    return 1
  fi
  kill -KILL "$victim" 2>/dev/null || true
  end_mpirun "$job"
  if grep -E 'Failure|wrong' "$PLAIT_TEST_FOLDER/output" >&2; then return 1; fi
}

mpirun=$1 program=$2
for ((round = 0; round < $3; ++round)); do
  strike KILL "$round"
  strike STOP "$round"
done
((stuck == 0)) || echo "mpirun itself did not end after $stuck of $((2 * $3)) strikes, though all ranks had"
