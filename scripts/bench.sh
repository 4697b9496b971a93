#!/usr/bin/env bash
# Builds and runs the benchmarks of every room; arguments are passed to each (--benchmark_filter=...). Without
# arguments it then compares Plait with other libraries: some cases (bench/peers/compare.py), every operation on 100k
# elements (bench/peers/table.py, which alone tries all sizes), convolutions, models (bench/models/compare.py), with the time until a
# step of ViT-base can run, training steps of layers and optimizers (bench/models/training.py), images, decoding, a
# recommender, derivatives and solvers, and files, loaders, transforms and tokenizers (bench/data, bench/text).
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

step "Building the benchmarks in build/bench" build bench
for program in build/bench/plait_bench_*; do
  [[ -x $program ]] || die "There are no benchmarks in bench/*/ yet."
  step "$(basename "$program")" "$program" "$@"
done

if (($# == 0)); then
  python=.venv/bin/python programs=build/bench/peers
  step "Compiling against PyTorch's C++" bench/peers/build_libtorch.sh "$PWD/$python" \
    "$PWD/$programs/eager_libtorch"
  PYTHONPATH=build/bench/python step 'Compared with NumPy and PyTorch' \
    "$python" bench/peers/compare.py --programs "$programs" --json build/bench/peers.json
  PYTHONPATH=build/bench/python step 'Every operation, compared with NumPy, PyTorch and JAX' \
    "$python" bench/peers/table.py --sizes 100k --seconds 0.2 --json build/bench/table.json
  PYTHONPATH=build/bench/python step 'Convolutions of 3 x 3, compared with PyTorch' \
    "$python" bench/peers/convolutions.py
  PYTHONPATH=build/bench/python step 'Models, compared with PyTorch and JAX' \
    "$python" bench/models/compare.py --json build/bench/models.json
  PYTHONPATH=build/bench/python step "Time until a step of ViT-base can run" \
    "$python" bench/models/bench_plait.py vit_train --first
  PYTHONPATH=build/bench/python step 'Training steps, compared with PyTorch and JAX' \
    "$python" bench/models/training.py
  for part in 'vision:Models of images' 'generation:Decoding, and an encoder of mixed lengths' 'recommender:A recommender' \
    'derivatives:Derivatives of an MLP' 'solvers:Loops of small steps'; do
    PYTHONPATH=build/bench/python step "${part#*:}, compared with PyTorch and JAX" "$python" "bench/models/${part%%:*}.py"
  done
  step 'Processes, compared with Gloo, Open MPI and PyTorch' "$python" bench/processes/compare.py
  PYTHONPATH=build/bench/python step 'Files of training runs, compared with PyTorch' \
    "$python" bench/data/files.py
  PYTHONPATH=build/bench/python step 'Loaders, compared with PyTorch' \
    "$python" bench/data/loaders.py
  PYTHONPATH=build/bench/python step 'Images from files, compared with PyTorch and torchvision' \
    "$python" bench/data/images.py
  PYTHONPATH=build/bench/python step 'A training step of ViT-base with images from files' \
    "$python" bench/data/images.py --train
  PYTHONPATH=build/bench/python step 'Transforms of images, compared with torchvision' \
    "$python" bench/data/transforms_bench.py
  PYTHONPATH=build/bench/python step 'Tokenizers, compared with Hugging Face' \
    "$python" bench/text/tokenizer_bench.py
fi
