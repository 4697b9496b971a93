#!/usr/bin/env bash
# sanitized.sh: builds the first rooms alone (core and ir: threads, settings, parsers, programs) with AddressSanitizer and UBSan, or
# with ThreadSanitizer, in turn by commit, and runs their tests. `make asan` and `make tsan` do so with all rooms.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

export PLAIT_LAST_ROOM=ir
exec scripts/test.sh "$(sanitizer_in_turn)"
