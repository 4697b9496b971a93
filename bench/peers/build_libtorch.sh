#!/usr/bin/env bash
# build_libtorch.sh PYTHON OUTPUT: compiles eager_libtorch.cpp against PyTorch's wheel.
set -euo pipefail
cd "$(dirname "$0")"
root=$("$1" -c 'import os, torch; print(os.path.dirname(torch.__file__))')
abi=$("$1" -c 'import torch; print(int(torch._C._GLIBCXX_USE_CXX11_ABI))')
exec g++ -std=c++20 -O2 "-D_GLIBCXX_USE_CXX11_ABI=$abi" eager_libtorch.cpp -o "$2" \
  -isystem "$root/include" -isystem "$root/include/torch/csrc/api/include" \
  -L"$root/lib" "-Wl,-rpath,$root/lib" -ltorch -ltorch_cpu -lc10
