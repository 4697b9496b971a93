"""Images per second of transforms, of Plait and of torchvision's v2 on one thread, in turns in one process; medians of several rounds.

    PYTHONPATH=build/release/python .venv/bin/python bench/data/transforms_bench.py
"""

import argparse
import statistics
import time

import numpy as np
import plait as pl
import torch
from plait.data import transforms as T
from torchvision.transforms import v2

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def photograph(height, width):
    """Pixels [height, width, 3] as a decoder leaves them."""
    y, x = np.mgrid[:height, :width]
    noise = np.random.default_rng(0).normal(0, 8, (height, width, 3))
    waves = np.stack([np.sin(x / (30 + 7 * c)) * np.cos(y / (50 - 9 * c)) for c in range(3)], -1)
    return np.clip(127.5 + 100 * waves + noise, 0, 255).astype("u1")


def cases():
    """(name, transform of Plait, transform of torchvision)."""
    yield ("RandomResizedCrop(224), flip, f32, normalize",
           T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToDtype("f32", scale=True), T.Normalize(MEAN, STD)]),
           v2.Compose([v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]))
    yield ("Resize(256), CenterCrop(224), f32, normalize",
           T.Compose([T.Resize(256), T.CenterCrop(224), T.ToDtype("f32", scale=True), T.Normalize(MEAN, STD)]),
           v2.Compose([v2.Resize(256), v2.CenterCrop(224), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]))
    for name, arguments in (("ColorJitter", (0.4, 0.4, 0.4, 0.1)), ("RandomRotation", (15,)), ("GaussianBlur", (5,)), ("RandAugment", ()), ("TrivialAugmentWide", ())):
        yield (f"CenterCrop(224), {name}", T.Compose([T.CenterCrop(224), getattr(T, name)(*arguments)]),
               v2.Compose([v2.CenterCrop(224), getattr(v2, name)(*arguments)]))


def seconds(call, count):
    """Seconds of a call, in the mean."""
    begin = time.perf_counter()
    for i in range(count):
        call(i)
    return (time.perf_counter() - begin) / count


def compare(ours, theirs, pixels, rounds, count):
    """Median images per second of both, and the median of the quotients of rounds."""
    image, other = pl.asarray(pixels), torch.from_numpy(np.asarray(pixels))
    keys = list(pl.random.split_key(pl.random.key(0), count))
    ours(image, keys[0]), theirs(other)
    pairs = [(seconds(lambda i: ours(image, keys[i]), count), seconds(lambda i: theirs(other), count)) for _ in range(rounds)]
    mine, others = (statistics.median(pair[i] for pair in pairs) for i in (0, 1))
    return 1 / mine, 1 / others, statistics.median(b / a for a, b in pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--count", type=int, default=60, help="images of a round")
    options = parser.parse_args()
    torch.set_num_threads(1)
    pixels = photograph(375, 500).transpose(2, 0, 1)
    print("500 x 375, u8, on one thread: images per second, and how many times as many")
    for name, ours, theirs in cases():
        for layout, given in (("interleaved", pixels), ("planes", np.ascontiguousarray(pixels))):
            torch.manual_seed(0)
            mine, others, times = compare(ours, theirs, given, options.rounds, options.count)
            print(f"{name:46} {layout:12} plait {mine:8.0f}   torchvision {others:8.0f}   {times:5.2f}", flush=True)


if __name__ == "__main__":
    main()
