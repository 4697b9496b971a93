#!/usr/bin/env bash
# Builds and runs the demos.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

step "Building the demos in build/release" build_release plait-spine-demo \
  plait-train-classifier plait-train-vit
step "Programs as text" build/release/bin/plait-spine-demo
step "Learning to tell clothes apart: two layers" build/release/bin/plait-train-classifier
step "Learning to tell clothes apart: a vision transformer, jitted" build/release/bin/plait-train-vit
