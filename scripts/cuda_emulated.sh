#!/usr/bin/env bash
# cuda_emulated.sh: builds Plait, and runs every test of devices on the emulated GPUs: each primitive with each of its
# dtypes, eagerly and under every transform.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

export PLAIT_SHARE=${PLAIT_SHARE:-1}
PLAIT_TEST_PRESET=cuda scripts/test.sh release
PLAIT_CUDA=emulated PYTHONPATH=build/release/python PLAIT_CACHE=$PWD/build/release/test_cache \
  step "Every primitive on the emulated device" .venv/bin/python tests/conformance/run.py devices
step "The kernels that ran, compiled for sm_90" .venv/bin/python scripts/cuda_kernels.py
