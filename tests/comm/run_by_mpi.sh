#!/usr/bin/env bash
# run_by_mpi.sh MPIRUN PROGRAM: runs the tests of the engine mpi; each process that mpirun starts is a rank of all of them.
set -euo pipefail
# shellcheck source=tests/comm/own_ranks.sh
source "$(dirname "$0")/own_ranks.sh"

expect_mpirun "$1"
export PLAIT_TEST_ENGINE=mpi PLAIT_TEST_RANKS=8
# shellcheck disable=SC2016
"$1" "${as_root[@]}" --oversubscribe -n 8 -x PLAIT_TEST_FOLDER -x PLAIT_TEST_ENGINE -x PLAIT_TEST_RANKS \
  sh -c 'PLAIT_TEST_RANK=$OMPI_COMM_WORLD_RANK exec "$@"' sh "$2" --gtest_brief=1 --gtest_filter="$OWN_RANK_TESTS"
