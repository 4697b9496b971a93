#!/usr/bin/env bash
# Builds and runs the demos.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

step "Building the demos in build/release" build_release plait-spine-demo \
  plait-train-classifier plait-train-vit
step "Programs as text" build/release/bin/plait-spine-demo
step "Classifying images of clothes: two layers" build/release/bin/plait-train-classifier
step "Classifying images of clothes: a vision transformer, jitted" build/release/bin/plait-train-vit
