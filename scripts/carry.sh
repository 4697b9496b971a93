#!/usr/bin/env bash
# Copies what a bare build (-DPLAIT_CARRIED=ON) needs beside a compiler and CMake into carried/:
# fmt and CLI11, which are headers, and GoogleTest's sources. The folder may be taken to any machine.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

rm -rf carried.new
mkdir -p carried.new/{fmt,CLI11}/include carried.new/googletest
cp -r /usr/include/fmt carried.new/fmt/include/
cp -r /usr/include/CLI carried.new/CLI11/include/
cp -r /usr/src/googletest/{CMakeLists.txt,googletest} carried.new/googletest/
for package in libfmt-dev libcli11-dev googletest; do
  cp "/usr/share/doc/$package/copyright" "carried.new/$package.copyright"
done
rm -rf carried
mv carried.new carried
say "   carried/ holds fmt, CLI11 and GoogleTest ($(du -sh carried | cut -f1))"
