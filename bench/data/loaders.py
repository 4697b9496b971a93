"""Loaders beside PyTorch's DataLoader: the same dataset, batch size and number of workers; the sums of an epoch are compared first, then
epochs alternate.

    PYTHONPATH=build/bench/python .venv/bin/python bench/data/loaders.py

A row has the samples per second of the medians, and the ratio to PyTorch's. `tensors` is TensorDataset of 60,000 images of 28 x 28 bytes;
`samples` is a class whose __getitem__ is Python, with NumPy; `first` is the time until the first batch of an epoch. --leaks draws a million
batches and prints the memory before and after them.
"""

import argparse
import gc
import resource
import statistics
import time

import numpy as np

COUNT, BATCH = 60_000, 128
_RANDOM = np.random.default_rng(0)
IMAGES, LABELS = _RANDOM.integers(0, 256, (COUNT, 28, 28), np.uint8), _RANDOM.integers(0, 10, COUNT)


class Samples:
    """Python code for each sample."""

    def __init__(self, count=COUNT // 4):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        image = IMAGES[index].astype(np.float32) / 255
        return (image - image.mean()) / (image.std() + 1e-3), int(LABELS[index])


def loaders(case, workers):
    """Ours, and PyTorch's."""
    import plait as pl
    import torch
    from torch.utils import data as theirs

    named = {"batch_size": BATCH, "shuffle": True, "num_workers": workers}
    persistent = {"persistent_workers": True} if workers else {}
    if case == "tensors":
        ours = pl.data.DataLoader(pl.data.TensorDataset(pl.asarray(IMAGES), pl.asarray(LABELS)), **named)
        dataset = theirs.TensorDataset(torch.from_numpy(IMAGES), torch.from_numpy(LABELS))
        return {"plait": ours}, theirs.DataLoader(dataset, **named, **persistent)
    found = {"plait": pl.data.DataLoader(Samples(), **named)}
    if workers:
        found["plait, processes"] = pl.data.DataLoader(Samples(), **named, worker="process", persistent_workers=True)
    return found, theirs.DataLoader(Samples(), **named, **persistent)


def epoch(loader):
    """(seconds until the first batch, seconds, the sums of labels and images)."""
    start, first, labels, images = time.perf_counter(), None, 0, 0.0
    for x, y in loader:
        first = first or time.perf_counter() - start
        labels, images = labels + int(np.asarray(y).sum()), images + float(np.asarray(x)[:, 0, 0].sum(dtype=np.float64))
    return first, time.perf_counter() - start, (labels, round(images, 1))


def measure(case, workers, rounds):
    import torch

    torch.set_num_threads(1)
    ours, theirs = loaders(case, workers)
    sides = {"torch": theirs, **ours}
    sums = {name: epoch(loader)[2] for name, loader in sides.items()}
    assert len(set(sums.values())) == 1, sums
    times = {name: [] for name in sides}
    for _ in range(rounds):
        for name, loader in sides.items():
            times[name].append(epoch(loader)[:2])
    count, (first, base) = len(theirs.dataset), (statistics.median(each) for each in zip(*times["torch"]))
    for name in ours:
        mine, whole = (statistics.median(each) for each in zip(*times[name]))
        print(f"{case}, {workers} workers, {name}: {count / whole:,.0f} samples/s, {base / whole:.2f} of PyTorch's {count / base:,.0f}; "
              f"first batch {1e3 * mine:.1f} ms, PyTorch's {1e3 * first:.1f}")


def leaks(batches):
    import plait as pl

    loader = pl.data.DataLoader(pl.data.TensorDataset(pl.asarray(LABELS)), batch_size=4, shuffle=True, num_workers=2)
    drawn, marks = 0, []
    while drawn < batches:
        for _ in loader:
            drawn += 1
            if drawn in (batches // 10, batches):
                gc.collect()
                marks.append(int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 2**20)
    print(f"memory after {batches // 10:,} batches {marks[0]:.1f} MiB, after {batches:,} {marks[-1]:.1f} MiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="epochs that count (5)")
    parser.add_argument("--leaks", type=int, nargs="?", const=1_000_000, help="only draw so many batches (1,000,000)")
    options = parser.parse_args()
    if options.leaks:
        return leaks(options.leaks)
    for case in "tensors", "samples":
        for workers in 0, 1, 2:
            measure(case, workers, options.rounds)


if __name__ == "__main__":
    main()
