#!/usr/bin/env bash
# Creates or updates .venv, the Python environment of the oracle tests, from tests/requirements.txt.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

requirements=tests/requirements.txt
if cmp -s "$requirements" .venv/requirements.txt && .venv/bin/python -c '' 2>/dev/null; then
  say "   .venv is up to date"
  exit 0
fi
# A folder that was moved or is incomplete is created again.
.venv/bin/python -m pip --version >/dev/null 2>&1 || /usr/bin/python3 -m venv --clear .venv
say "   installing $(grep -cv '^ *\(#\|$\)' "$requirements") Python packages and their dependencies"
pip=(.venv/bin/python -m pip install --quiet --disable-pip-version-check)
cache=build/python_packages

# uv downloads and unpacks several packages in parallel, from the index that pip is told to use; its cache is on the same
# disk, so that nothing is copied. PyTorch uses Triton (1 GB) only to compile for GPUs.
install_by_uv() {
  local index=${PIP_INDEX_URL:-$(.venv/bin/python -m pip config get global.index-url 2>/dev/null || true)}
  mkdir -p "$cache"
  echo "triton; python_version < '3'" >"$cache/left_out.txt"
  "${pip[@]}" uv==0.13.9 &&
    .venv/bin/uv pip install --quiet --compile-bytecode --cache-dir "$cache" --python .venv/bin/python \
      ${index:+--default-index "$index"} --overrides "$cache/left_out.txt" -r "$requirements"
}

install_by_uv || "${pip[@]}" -r "$requirements"
rm -rf "$cache"
cp "$requirements" .venv/requirements.txt
