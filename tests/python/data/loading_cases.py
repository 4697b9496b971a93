"""Datasets for tests of loaders, which worker processes import."""

import os
import signal
import sys
import threading
import time

import numpy as np
import plait as pl

WORKERS = ({}, {"num_workers": 1}, {"num_workers": 3}, {"num_workers": 20}, {"num_workers": 3, "prefetch_factor": 1})  # ways to make batches


class Numbers(pl.data.Dataset):
    """Samples are their number, and a random number from their key."""

    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def get(self, index, key):
        return index, pl.random.bits(key, ())


class Trees(pl.data.Dataset):
    """Nested samples with arrays of many dtypes."""

    dtypes = ("bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64")

    def __len__(self):
        return 9

    def __getitem__(self, index):
        arrays = {name: np.arange(6).reshape(2, 3).astype(name) * (index % 2) for name in self.dtypes}
        return {"arrays": arrays, "pair": (np.zeros((0, 3)), [index, float(index)]), "name": f"sample {index}", "tensor": pl.full((2,), index),
                "turned": np.arange(6.0).reshape(2, 3).T + index}


class Failing(pl.data.Dataset):
    """A sample that raises an exception."""

    def __init__(self, size, bad, error):
        self.size, self.bad, self.error = size, bad, error

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        if index in self.bad:
            raise self.error
        return index


class Slow(pl.data.Dataset):
    """A sample that takes long, or until an event."""

    def __init__(self, size, slow, seconds):
        self.size, self.slow, self.seconds = size, slow, seconds

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        if index == self.slow:
            time.sleep(self.seconds)
        return index


class Killed(pl.data.Dataset):
    """A sample during which the process ends, the first time."""

    def __init__(self, size, bad, how, once=None):
        self.size, self.bad, self.how, self.once = size, bad, how, once

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        if index == self.bad and not (self.once and os.path.exists(self.once)):
            if self.once:
                open(self.once, "w", encoding="utf-8").close()
            if self.how == "exit":
                os._exit(7)
            os.kill(os.getpid(), getattr(signal, self.how))
            time.sleep(60)
        return index


class Places(pl.data.Dataset):
    """Samples say which process and thread makes them."""

    def __len__(self):
        return 32

    def __getitem__(self, index):
        time.sleep(0.002)
        return os.getpid(), threading.get_ident() % 2**62


class FailingOddly(pl.data.Dataset):
    """Samples raise an exception that cannot be pickled."""

    def __len__(self):
        return 1

    def __getitem__(self, index):
        raise Unpicklable(1, 2)


class Unpicklable(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


class Lines(pl.data.IterableDataset):
    """A stream of numbers whose iterator saves its place, and counts what it reads."""

    def __init__(self, size, bad=None):
        self.size, self.bad = size, bad

    def __iter__(self):
        return LineIterator(self)


class LineIterator:
    read = 0  # by all

    def __init__(self, lines):
        self.lines, self.offset = lines, 0

    def __next__(self):
        if self.offset >= self.lines.size:
            raise StopIteration
        number, self.offset, LineIterator.read = self.offset, self.offset + 1, LineIterator.read + 1
        if number == self.lines.bad:
            raise ValueError(f"line {number} is not readable")
        return number

    def state_dict(self):
        return {"offset": self.offset}

    def load_state_dict(self, state):
        self.offset = state["offset"]


class Plain(pl.data.IterableDataset):
    """A stream without a state."""

    def __init__(self, size):
        self.size, self.epoch = size, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        yield from range(100 * self.epoch, 100 * self.epoch + self.size)


def with_key(x, key):
    return x, pl.random.bits(key, ())


def init(number):
    print(f"init {number}", file=sys.stderr)


def failing_init(number):
    raise RuntimeError(f"no worker {number}")


def numbers(batches):
    """Batches as lists."""
    return [[part.tolist() for part in batch] if isinstance(batch, tuple) else batch.tolist() for batch in batches]


def flat(batches):
    return [number for batch in numbers(batches) for number in (batch[0] if batch and isinstance(batch[0], list) else batch)]


def refuse():
    raise pl.ValueError("bad")
