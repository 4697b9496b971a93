"""A training step of a GPT within less and less memory: what it needs beside arguments and results, and how long it takes.

    PYTHONPATH=build/bench/python .venv/bin/python bench/models/memory_budget.py

The model has six layers of 384, the batch is 8 x 256, in f32.
"""

import pathlib
import statistics
import sys
import time

import plait as pl

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))

from models import GPT

BUDGETS = (None, 0.75, 0.5, 0.4)


def loss_of(model, ids):
    return pl.cross_entropy(model(ids[:, :-1]).reshape(-1, 256), ids[:, 1:].reshape(-1))


def main():
    model = GPT(context=256, width=384, depth=6, heads=6, key=pl.random.key(0))
    ids = pl.random.randint(pl.random.key(1), (8, 257), 0, 256)
    derived = pl.value_and_grad(loss_of)
    program = pl.trace(derived)(model, ids)
    steps = {budget: pl.jit(derived, memory_budget=budget) for budget in BUDGETS}
    losses = {budget: step(model, ids)[0].item() for budget, step in steps.items()}
    if max(losses.values()) - min(losses.values()) > 1e-5 * max(losses.values()):
        sys.exit(f"the losses differ: {losses}")
    times = {budget: [] for budget in BUDGETS}
    for _ in range(5):
        for budget, step in steps.items():
            begin = time.perf_counter()
            step(model, ids)[0].item()
            times[budget].append(time.perf_counter() - begin)
    print("| memory budget | temporaries | a step | to the step without |\n| --- | --- | --- | --- |")
    without = statistics.median(times[None])
    for budget in BUDGETS:
        taken = statistics.median(times[budget])
        temporaries = program.memory(memory_budget=budget).temporaries
        print(f"| {budget or 'none'} | {temporaries / 1e6:.0f} MB | {taken * 1e3:.0f} ms | {taken / without:.2f} |")


if __name__ == "__main__":
    main()
