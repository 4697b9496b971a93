#!/usr/bin/env bash
# Builds and runs the demo.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

step "Building the demo in build/release" build_release plait-spine-demo
step "Running it" build/release/bin/plait-spine-demo
