"""The time until the first batch of loaders with new worker processes, by phase.

    PYTHONPATH=build/bench/python .venv/bin/python bench/data/worker_start.py

Each row is a way to begin two processes, with the least and the median of the loaders in milliseconds: until the processes have begun, and from
there until the first batch. The first loader of a program also waits for the fork server, unless the program does something else meanwhile. The
rows before them are programs of their own, which time what a new interpreter does.
"""

import argparse
import statistics
import subprocess
import sys
import time
from multiprocessing import forkserver

COUNT, BATCH = 64, 8
PROGRAMS = {"a new interpreter": "pass", "the same, with NumPy": "import numpy", "the same, with Plait": "import plait"}
WAYS = {"processes that persist": {"persistent_workers": True}, "fork server that has imported Plait": {}, "fork server that has not": {},
        "new interpreters (spawn)": {"multiprocessing_context": "spawn"}}


def shown(name, *columns):
    print(f"{name:38}", *(f"{1e3 * min(column):8.1f} {1e3 * statistics.median(column):8.1f}" for column in columns))


def first_batch(loader):
    """(seconds until the processes have begun, seconds from there until the first batch)."""
    start = time.perf_counter()
    batches = iter(loader)
    begun = time.perf_counter()
    next(batches)
    made = time.perf_counter()
    for _ in batches:
        pass
    return begun - start, made - begun


def measure(way, rounds):
    """In a process of its own, since a program has one fork server."""
    if way == "fork server that has not":
        forkserver.set_forkserver_preload([])
        forkserver.ensure_running()
    import plait as pl

    def loader():
        return pl.data.DataLoader(range(COUNT), BATCH, num_workers=2, worker="process", **WAYS[way])

    persistent, start = loader(), time.perf_counter()
    first_batch(persistent)
    begin = time.perf_counter() - start
    times = [first_batch(persistent if WAYS[way].get("persistent_workers") else loader()) for _ in range(rounds)]
    shown(f"{way}", *zip(*times))
    shown("    its first loader", [begin])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="loaders of each way (15)")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        return measure(options.way, options.rounds)
    print(f"{'':38} {'least':>8} {'median':>8} {'least':>8} {'median':>8}")
    for name, program in PROGRAMS.items():
        times = []
        for _ in range(options.rounds):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True)
            times.append(time.perf_counter() - start)
        shown(name, times)
    for way in WAYS:
        subprocess.run([sys.executable, __file__, "--way", way, "--rounds", str(options.rounds)], check=True)


if __name__ == "__main__":
    main()
