"""Trains ViT and GPT compiled and eagerly, from the same weights and on the same batch, and reports the differences: of the loss in
each step, and of every parameter's distance from its initial value (the norm of the difference by the norm of that distance), the
maximum over all steps.

    PYTHONPATH=build/release/python .venv/bin/python bench/models/check.py --steps 20 --size base

Biases of keys are reported separately: they cancel in softmax, so their gradient is rounding error. The exit status is 1 if a
difference exceeds its tolerance.
"""

import argparse
import copy
import sys
import time

import numpy as np
import plait as pl

from cases import GPT, TRAINED, ViT, narrowed, step

SIZES = {"base": {"vit": {}, "gpt": {}},
         "small": {"vit": {"image": 48, "patch": 8, "width": 96, "depth": 3, "heads": 4, "labels": 10},
                   "gpt": {"vocabulary": 64, "context": 48, "width": 96, "depth": 3, "heads": 4}}}
ALLOWED = {"fp32": {"loss": 1e-5, "parameter": 1e-3}, "bf16": {"loss": 1e-1, "parameter": 3e-1}}


def begun(name, sizes, batch):
    keys = pl.random.split_key(pl.random.key(0), 3)
    if name == "vit":
        model, side = ViT(**sizes, key=keys[0]), sizes.get("image", 224)
        x, y = pl.random.normal(keys[1], (batch, 3, side, side)), pl.random.randint(keys[2], (batch,), 0, sizes.get("labels", 1000))
    else:
        model, most = GPT(**sizes, key=keys[0]), sizes.get("vocabulary", 256)
        ids = pl.random.randint(keys[1], (batch, sizes.get("context", 256) + 1), 0, most)
        x, y = ids[:, :-1], ids[:, 1:]
    return model, TRAINED[f"{name}_train"][1](model), x, y


def parts_of(path, array):
    """A parameter by its name; biases of keys separately."""
    if not path.endswith("qkv.bias"):
        return {path: array}
    query, key, value = array.reshape(3, -1)
    return {path: np.concatenate([query, value]), f"{path} of keys": key}


def apart(model, other, before):
    """The difference of each parameter."""
    found = {}
    for (path, a), (_, b), (_, c) in zip(*map(pl.tree.leaves_with_paths, (model, other, before))):
        a, b, c = (parts_of(path, each.numpy().astype(np.float64)) for each in (a, b, c))
        for name in a:
            found[name] = float(np.linalg.norm(a[name] - b[name]) / max(np.linalg.norm(b[name] - c[name]), 1e-30))
    return found


def most(first, second):
    return {name: max(value, first.get(name, 0.0)) for name, value in second.items()}


def check(name, options):
    """True if all differences are within their tolerances."""
    model, optimizer, x, y = begun(name, SIZES[options.size][name], options.batch)
    ways = {"compiled": pl.jit(narrowed(step, options.dtype), donate=(0, 1)), "eager": narrowed(step, options.dtype)}
    states = {way: copy.deepcopy((model, optimizer)) for way in ways}  # donated arguments are empty afterwards
    seconds, losses, loss_apart, parameters = dict.fromkeys(ways, 0.0), {}, 0.0, {}
    for number in range(options.steps):
        for way, run in ways.items():
            start = time.perf_counter()
            *states[way], loss = run(*states[way], x, y)
            losses[way] = loss.item()
            seconds[way] += time.perf_counter() - start
        here = abs(losses["compiled"] / losses["eager"] - 1)
        loss_apart = max(loss_apart, here)
        now = apart(states["compiled"][0], states["eager"][0], model)
        parameters = most(parameters, now)
        if options.each:
            worst = max(now, key=lambda path: -1 if path.endswith(" of keys") else now[path])
            print(f"  step {number + 1:3}  loss {losses['eager']:.6f}  apart {here:.1e}  {worst} {now[worst]:.1e}", flush=True)
    told = pl.stats(ways["compiled"])
    assert (told.traces, told.hits) == (1, options.steps - 1), told
    allowed = ALLOWED[options.dtype]
    counted = {path: value for path, value in parameters.items() if not path.endswith(" of keys")}
    worst = max(counted, key=counted.get)
    agrees = loss_apart <= allowed["loss"] and counted[worst] <= allowed["parameter"]
    print(f"{name} {options.size}, batch {options.batch}, {options.dtype}, {options.steps} steps: loss {losses['eager']:.6f}, apart by "
          f"{loss_apart:.1e} at most (allowed {allowed['loss']:.0e}); parameters by {counted[worst]:.1e} (allowed "
          f"{allowed['parameter']:.0e}), {worst}; compiled {seconds['compiled']:.1f} s, eager {seconds['eager']:.1f} s"
          f"{'' if agrees else '   <- TOO FAR'}", flush=True)
    if options.parameters:
        print("\n".join(f"  {value:.1e}  {path}" for path, value in sorted(parameters.items(), key=lambda each: -each[1])))
    return agrees


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="vit, gpt (both)")
    parser.add_argument("--steps", type=int, default=20, help="(20)")
    parser.add_argument("--size", choices=SIZES, default="base", help="base: as they are timed (base)")
    parser.add_argument("--batch", type=int, default=2, help="(2)")
    parser.add_argument("--dtype", choices=ALLOWED, default="fp32", help="of products (fp32)")
    parser.add_argument("--each", action="store_true", help="a line for each step")
    parser.add_argument("--parameters", action="store_true", help="a line for each parameter")
    options = parser.parse_args()
    for name in options.models:
        if name not in SIZES["base"]:
            parser.error(f"there is no model {name}; there are {', '.join(SIZES['base'])}")
    for name in "steps", "batch":
        if getattr(options, name) < 1:
            parser.error(f"--{name} is {getattr(options, name)}, expected 1 or more")
    return 0 if all([check(name, options) for name in options.models or SIZES["base"]]) else 1


if __name__ == "__main__":
    sys.exit(main())
