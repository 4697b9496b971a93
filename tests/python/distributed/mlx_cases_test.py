"""Calls with each engine as in MLX's tests: sums have the bits of NumPy's in the order of the ranks (mirrored_cases.md)."""

import os
import unittest

import numpy as np
import plait as pl
import plait.distributed as dist

import ranks
from ranks import begin

SIZE = 4
SMALL = ((7,), (10,), (1024,))
LARGE = (1024, 1024)
DTYPES = ("i8", "u8", "i16", "u16", "i32", "u32", "f32", "f16", "bf16", "c64")


def drawn(dtype, shape, count):
    """The operands of all ranks, which each rank draws alike: up to 10."""
    values = np.random.default_rng(3).uniform(0, 10, (count, *shape)).astype(np.float32)
    if dtype == "c64":
        return pl.asarray(values + 1j * values[::-1], dtype=pl.c64)
    return pl.asarray(np.trunc(values) if dtype[0] in "iu" else values).astype(dtype)


def wide(x):
    """In NumPy, where bf16 is f32."""
    return x.astype("f32").numpy() if x.dtype == pl.bf16 else x.numpy()


def summed(x):
    """In the order of the ranks, narrow numbers in f32, and rounded once."""
    narrow = x.dtype in (pl.bf16, pl.f16)
    total = np.add.reduce(x.astype("f32").numpy() if narrow else x.numpy(), dtype=None if narrow else x.numpy().dtype)
    return wide(pl.asarray(total).astype(x.dtype)) if narrow else total


def halves(rank, size):
    """(the group of ranks that are even or odd as this one, that of two neighbours)."""
    lists = [list(range(first, size, 2)) for first in range(2)], [[first, first + 1] for first in range(0, size, 2)]
    return [dist.split_group(split_ranks=each) for each in lists]


def divided(rank, size):
    every_second, pair = halves(rank, size)
    assert (every_second.size(), every_second.rank(), pair.size(), pair.rank()) == (size // 2, rank // 2, 2, rank % 2)
    # Sums of pairs, gathered by those who have them of each pair.
    x, gathered = pl.full((1, 8), float(rank)), pl.zeros((size // 2, 8))
    dist.all_reduce(x, group=pair)
    dist.all_gather_into_tensor(gathered, x, every_second)
    assert gathered[:, 0].tolist() == [float(4 * i + 1) for i in range(size // 2)] and bool(pl.all(gathered == gathered[:, :1]))


def reduced(rank, size):
    for group in (None, halves(rank, size)[0]):
        count, place = dist.get_world_size(group), dist.get_rank(group)
        for dtype in DTYPES:
            for shape in (*SMALL, LARGE) if group is None and dtype in ("f32", "bf16") else SMALL:
                everyone = drawn(dtype, shape, count)
                for op, expected in (("SUM", summed(everyone)), ("MAX", None), ("MIN", None)):
                    if dtype == "c64" and op != "SUM":
                        continue  # complex numbers have no order here
                    x = everyone[place].copy()
                    dist.all_reduce(x, getattr(dist.ReduceOp, op), group)
                    found = {"MAX": np.maximum, "MIN": np.minimum}.get(op)
                    np.testing.assert_array_equal(wide(x), expected if found is None else found.reduce(wide(everyone)))


def gathered_and_scattered(rank, size):
    for group in (None, halves(rank, size)[0]):
        count = dist.get_world_size(group)
        for dtype in DTYPES:
            y = pl.zeros((2 * count, 2, 4), dtype=dtype)
            dist.all_gather_into_tensor(y, pl.ones((2, 2, 4), dtype=dtype), group)
            assert y.dtype == pl.DType(dtype) and bool(pl.all(y == 1))
    for dtype in ("f32", "f16", "bf16"):
        for shape in ((8,), (64,), (1024,), LARGE)[:3 if dtype == "f16" else 4]:
            everyone = drawn(dtype, shape, size)
            part = pl.zeros((shape[0] // size, *shape[1:]), dtype=dtype)
            dist.reduce_scatter_tensor(part, everyone[rank])
            expected = summed(everyone) if shape is not LARGE else None
            if expected is None:  # all_reduce computes it
                x = everyone[rank].copy()
                dist.all_reduce(x)
                expected = wide(x)
            np.testing.assert_array_equal(wide(part), np.split(expected, size)[rank])


def sent(rank, size):
    """Around a ring: even ranks send first."""
    right, left = (rank + 1) % size, (rank - 1) % size
    for dtype in DTYPES:
        for shape in (*SMALL, LARGE) if dtype == "u8" else SMALL:
            everyone = drawn(dtype, shape, size)
            z = pl.zeros(shape, dtype=dtype)
            if rank % 2 == 0:
                dist.send(everyone[rank], right)
                dist.recv(z, left)
            else:
                dist.recv(z, left)
                dist.send(everyone[rank], right)
            assert bool(pl.all(z == everyone[left]))
    # Two that send to each other in turn what they received, doubled.
    pair, x = halves(rank, size)[1], pl.ones(10)
    for turn in range(10):
        if turn % 2 == pair.rank():
            dist.send(2 * x, group_dst=1 - pair.rank(), group=pair)
        else:
            dist.recv(x, group_src=1 - pair.rank(), group=pair)
    assert bool(pl.all(x == (1024 if pair.rank() == 0 else 512)))


def all_cases():
    rank, size = begin()
    for case in (divided, reduced, gathered_and_scattered, sent):
        case(rank, size)
        dist.barrier()


class MlxCases(ranks.OnEachEngine, unittest.TestCase):
    file, size = os.path.abspath(__file__), SIZE


if __name__ == "__main__":
    ranks.main(globals())
