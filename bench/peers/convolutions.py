"""Times convolutions with kernels of 3 x 3 and their gradients, as they are in ResNets and U-Nets: Plait with and without Winograd's algorithm
(the setting `winograd`) and PyTorch, each in a process of its own with two threads, in turn. Errors are those of a whole result beside f64,
relative.

    PYTHONPATH=build/bench/python .venv/bin/python bench/peers/convolutions.py [WORDS...]      only layers whose names contain one of the words
        --dtype bf16                of arrays (f32)
        --rounds N                  runs of each (9)
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

# images, inputs, outputs, size
LAYERS = [
    (8, 64, 64, 56), (8, 128, 128, 28), (8, 256, 256, 14), (8, 512, 512, 7), (32, 64, 64, 16), (32, 128, 128, 8), (32, 256, 256, 4),
    (32, 512, 512, 2), (16, 64, 64, 16), (4, 64, 64, 56), (4, 128, 128, 28), (4, 256, 256, 14), (4, 512, 512, 7),
    (8, 32, 32, 64), (8, 64, 64, 32), (8, 128, 128, 16), (8, 256, 256, 8), (8, 384, 128, 16), (8, 96, 32, 64), (1, 64, 64, 56), (1, 256, 256, 14),
    (1, 512, 512, 7), (1, 64, 64, 224), (8, 16, 16, 64), (8, 8, 8, 128)]
KINDS = ["forward", "input", "kernel"]


SIDES = {"winograd": {"PLAIT_WINOGRAD": "on"}, "direct": {"PLAIT_WINOGRAD": "off"}, "torch": {}}


def drawn(images, inputs, outputs, size):
    """The input, the kernels and a gradient by the result."""
    numbers = np.random.default_rng(0)
    shapes = (images, inputs, size, size), (outputs, inputs, 3, 3), (images, outputs, size, size)
    return [numbers.standard_normal(shape).astype(np.float32) for shape in shapes]


# ---- The process of a side: reads the number of a layer, a kind and how to compute, writes the seconds or the name of a file.


def plait_side(dtype):
    import plait as pl

    def forward(x, w, g):
        return pl.conv2d(x, w, padding=1)

    def by_input(x, w, g):
        return pl.grad(lambda y: pl.sum(pl.conv2d(y, w, padding=1).astype("f32") * g))(x)

    def by_kernel(x, w, g):
        return pl.grad(lambda v: pl.sum(pl.conv2d(x, v, padding=1).astype("f32") * g))(w)

    functions = [pl.jit(f) for f in (forward, by_input, by_kernel)]
    return (lambda a: pl.asarray(a).astype(dtype)), lambda kind, *given: functions[KINDS.index(kind)](*given), lambda y: y.astype("f32").numpy()


def torch_side(dtype):
    import torch

    torch.set_num_threads(2)
    gradients, kind_of = torch.nn.grad, {"f32": torch.float32, "bf16": torch.bfloat16, "f64": torch.float64}

    def run(kind, x, w, g):
        if kind == "forward":
            return torch.nn.functional.conv2d(x, w, padding=1)
        if kind == "input":
            return gradients.conv2d_input(x.shape, w, g, padding=1)
        return gradients.conv2d_weight(x, w.shape, g, padding=1)

    return (lambda a: torch.tensor(a).to(kind_of[dtype])), run, lambda y: y.float().numpy() if dtype != "f64" else y.numpy()


def serve(side, dtype):
    given, run, numbers = torch_side(dtype) if side == "torch" else plait_side(dtype)
    seen, arrays = None, None
    for line in sys.stdin:
        layer, kind, path = json.loads(line)
        if layer != seen:
            seen, arrays = layer, [given(a) for a in drawn(*layer)]
        begin = time.perf_counter()
        result = run(kind, *arrays)
        seconds = time.perf_counter() - begin
        if path:
            np.save(path, numbers(result))
        print(seconds, flush=True)


# ---- The table.


class Side:
    def __init__(self, side, dtype):
        environment = os.environ | SIDES.get(side, {}) | {"PLAIT_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
        command = [sys.executable, __file__, "--serve", side, "--dtype", dtype]
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, layer, kind, path=None):
        print(json.dumps([layer, kind, path]), file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())


def error_of(found, exact):
    return np.sqrt(np.mean((found - exact) ** 2)) / exact.std()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("words", nargs="*")
    options.add_argument("--dtype", choices=("f32", "bf16", "f64"), default="f32")
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--serve", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.serve:
        return serve(chosen.serve, chosen.dtype)
    sides, exact_side = {side: Side(side, chosen.dtype) for side in SIDES}, Side("torch", "f64")
    print(f"{'layer':34}", *(f"{side:>11}" for side in sides), "  torch / winograd   errors")
    with tempfile.TemporaryDirectory() as folder:
        for layer in LAYERS:
            for kind in KINDS:
                name = f"{kind} {layer[0]} x {layer[1]} -> {layer[2]}, {layer[3]}"
                if chosen.words and not any(word in name for word in chosen.words):
                    continue
                exact_side.run(layer, kind, f"{folder}/exact.npy")
                for side, process in sides.items():
                    process.run(layer, kind, f"{folder}/{side}.npy")
                errors = [error_of(np.load(f"{folder}/{side}.npy"), np.load(f"{folder}/exact.npy")) for side in sides]
                times = [[process.run(layer, kind) for process in sides.values()] for _ in range(chosen.rounds)]
                medians = [statistics.median(each) * 1e3 for each in zip(*times)]
                print(f"{name:34}", *(f"{each:8.3f} ms" for each in medians), f"{medians[2] / medians[0]:12.2f}      ", *(f"{e:.1e}" for e in errors),
                      flush=True)


if __name__ == "__main__":
    main()
