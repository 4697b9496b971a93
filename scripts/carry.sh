#!/usr/bin/env bash
# Copies the dependencies of a bare build (-DPLAIT_CARRIED=ON), besides a compiler and CMake, into carried/: fmt,
# CLI11 and Highway, which are headers, and GoogleTest's sources. The folder can be copied to any machine.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

rm -rf .setup/carried
mkdir -p .setup/carried/{fmt,CLI11,highway}/include .setup/carried/googletest
cp -r /usr/include/fmt .setup/carried/fmt/include/
cp -r /usr/include/CLI .setup/carried/CLI11/include/
cp -r /usr/include/hwy .setup/carried/highway/include/
cp -r /usr/src/googletest/{CMakeLists.txt,googletest} .setup/carried/googletest/
for package in libfmt-dev libcli11-dev libhwy-dev googletest; do
  cp "/usr/share/doc/$package/copyright" ".setup/carried/$package.copyright"
done
rm -rf carried
mv .setup/carried carried
say "   carried/ contains fmt, CLI11, Highway and GoogleTest ($(du -sh carried | cut -f1))"
