#!/usr/bin/env bash
# run_on_hosts.sh NETLAB PROGRAM LOSS: runs the tests of the engine gloo among hosts that lose packets; each host is a rank
# of all of them. Exit status 77 where no hosts can be made.
set -euo pipefail
# shellcheck source=tests/comm/own_ranks.sh
source "$(dirname "$0")/own_ranks.sh"

export PLAIT_TEST_ENGINE=auto PLAIT_TEST_RANKS=4
# shellcheck disable=SC2016
"$1" -n 4 --loss "$3" -- sh -c 'PLAIT_TEST_RANK=$NETLAB_HOST exec "$@"' sh "$2" --gtest_brief=1 \
  --gtest_filter="$OWN_RANK_TESTS:*AsThreads/4"
