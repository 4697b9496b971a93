#!/usr/bin/env bash
# setup.sh SET...: installs the missing Debian packages of the sets (scripts/packages/SET.txt).
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

(($#)) || die "usage: scripts/setup.sh SET..., with sets: $(basename -s .txt scripts/packages/*.txt | xargs)"
files=()
for set in "$@"; do
  [[ -f scripts/packages/$set.txt ]] || die "setup.sh: no package set '$set' (scripts/packages/$set.txt)"
  files+=("scripts/packages/$set.txt")
done
mapfile -t wanted < <(sed 's/#.*//' "${files[@]}" | xargs -n1 | sort -u)

if ! command -v dpkg-query >/dev/null; then
  say "   This is not Debian: install the equivalents of these packages yourself: ${wanted[*]}"
  exit 0
fi
mapfile -t installed < <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null |
  sed -n 's/^installed //p' | sort -u)
mapfile -t missing < <(comm -23 <(printf '%s\n' "${wanted[@]}") <(printf '%s\n' "${installed[@]}"))
if ((${#missing[@]} == 0)); then
  say "   all ${#wanted[@]} packages are installed"
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    die "   Debian packages are missing, and there is neither root nor sudo. As root, run:
     apt-get update && apt-get install --no-install-recommends ${missing[*]}"
  fi
  as_root=(sudo)
fi
say "   installing ${missing[*]}"
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Lock::Timeout=300 \
    -o Dpkg::Use-Pty=0 "$@"
}
mkdir -p .setup
log=.setup/apt.log
if ! { apt update && apt install --yes --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 30 "$log" >&2
  die "   apt-get failed (all of its output: $log)"
fi
