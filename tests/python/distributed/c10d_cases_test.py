"""Calls of all ranks as in PyTorch's tests of c10d: in the group of all, of some ranks, and another one of all, with each engine
(mirrored_cases.md)."""

import os
import time
import unittest

import numpy as np
import plait as pl
import plait.distributed as dist

import ranks
from ranks import begin, expect_error

SIZE, SOME = 4, [1, 2]
REDUCED = {"SUM": np.add, "PRODUCT": np.multiply, "MIN": np.minimum, "MAX": np.maximum, "BAND": np.bitwise_and, "BOR": np.bitwise_or,
           "BXOR": np.bitwise_xor}


def cube(width, value, dtype=np.float32):
    return np.full((width,) * 3, value, dtype)


def varied(rank, *shape, dtype=np.float32):
    """Small numbers, whose sums are exact in each dtype."""
    made = (np.arange(np.prod(shape, dtype=int)).reshape(shape) * 5 + rank * 3) % 7
    return (made + 1j * ((made + rank) % 5) if np.dtype(dtype).kind == "c" else made).astype(dtype)


def expect(x, expected):
    np.testing.assert_array_equal(x.numpy(), expected)


def expect_all(tensors, expected):
    for x, value in zip(tensors, expected, strict=True):
        expect(x, value)


def tensors(arrays):
    return [pl.asarray(each) for each in arrays]


class Case:
    """A group, its ranks, and this rank, while those that are not in it do nothing."""

    def __init__(self, group, members):
        self.group, self.members, self.rank = group, members, dist.get_rank()
        self.size, self.place = len(members), members.index(self.rank)

    def of_all(self, make):
        return [make(rank) for rank in self.members]


def groups():
    world = list(range(SIZE))
    return (None, world), (dist.new_group(SOME), SOME), (dist.new_group(), world)


def in_groups(*functions):
    rank, _ = begin()
    for group, members in groups():
        for function in functions if rank in members else ():
            try:
                function(Case(group, members))
            except Exception as error:
                error.add_note(f"{function.__name__} among {members}")
                raise
        dist.barrier()


# ---- Reductions.


def reductions(case):
    """One value of the root and another one of the others, with each root; the second of two calls, too."""
    for op, of_root, of_others in (("SUM", 3, 10), ("PRODUCT", 3, 2), ("MIN", 70, 1), ("MIN", 1, 70), ("MAX", -1, 10), ("MAX", 11, -10)):
        for root in case.members:
            everyone = case.of_all(lambda rank: cube(root + 1, of_root if rank == root else of_others))
            mine, expected = everyone[case.place], REDUCED[op].reduce(everyone)
            x, y = tensors([mine, mine])
            dist.all_reduce(x, getattr(dist.ReduceOp, op), case.group)
            work = dist.all_reduce(y, getattr(dist.ReduceOp, op), case.group, async_op=True)
            work.wait()
            expect_all((x, y), [expected] * 2)
            x, y = tensors([mine, mine])
            for each in (x, y):
                dist.reduce(each, root, getattr(dist.ReduceOp, op), case.group)
            expect_all((x, y), [expected if case.rank == root else mine] * 2)
            dist.reduce(x, op=dist.ReduceOp.MAX, group=case.group, group_dst=case.members.index(root))


def reductions_of_bits(case):
    """One bit that all have; numbers of which each rank has others."""
    inputs = [("BAND", lambda rank, i=i: rank | 1 << i) for i in range(4)]
    inputs += [(op, lambda rank, i=i, op=op: REDUCED[op].reduce(np.arange(rank * i, rank * i + i))) for op in ("BOR", "BXOR") for i in range(1, 5)]
    for op, make in inputs:
        for dtype in (np.int32, np.int8, np.uint8, np.int64):
            everyone = case.of_all(lambda rank: np.array([make(rank)], dtype))
            x = pl.asarray(everyone[case.place])
            dist.all_reduce(x, getattr(dist.ReduceOp, op), case.group)
            expect(x, REDUCED[op].reduce(everyone))
    x = pl.asarray(cube(2, case.place + 1))
    dist.all_reduce(x, dist.ReduceOp.AVG, case.group)
    expect(x, cube(2, (case.size + 1) / 2))
    factor = 0.5 if case.place == 0 else 2
    x = pl.ones(3)
    dist.all_reduce(x, dist.ReduceOp.PREMUL_SUM(factor), case.group)
    expect(x, [0.5 + 2 * (case.size - 1)] * 3)


def complex_numbers(case):
    for dtype in (np.complex64, np.complex128):
        everyone = case.of_all(lambda rank: cube(3, 2 + 3j if rank == case.members[0] else 10 + 11j, dtype))
        for op in ("SUM", "PRODUCT"):
            x = pl.asarray(everyone[case.place])
            dist.all_reduce(x, getattr(dist.ReduceOp, op), case.group)
            np.testing.assert_allclose(x.numpy(), REDUCED[op].reduce(everyone), rtol=1e-6)
        for op in ("MAX", "MIN", "BAND", "BOR", "BXOR"):  # refused before anything is sent
            for call, given in ((dist.all_reduce, x), (dist.all_reduce_coalesced, [x])):
                expect_error(pl.errors.TypeError, ["all_reduce: ", "c64" if dtype == np.complex64 else "c128"], call, given,
                             getattr(dist.ReduceOp, op), case.group)


def booleans(case):
    """Sums are "any", products "all"; what is sent stays as it is."""
    everyone = case.of_all(lambda rank: np.array([True, rank == case.members[0], False]))
    either, both = [True, True, False], [True, False, False]
    for op, expected in (("SUM", either), ("MAX", either), ("PRODUCT", both), ("MIN", both)):
        x, y = tensors([everyone[case.place]] * 2)
        dist.all_reduce(x, getattr(dist.ReduceOp, op), case.group)
        expect(x, expected)
        dist.reduce(y, case.members[0], getattr(dist.ReduceOp, op), case.group)
        expect(y, expected if case.place == 0 else everyone[case.place])
    mine, parts = pl.asarray(everyone[case.place]), [pl.zeros(3, dtype="bool") for _ in case.members]
    dist.all_gather(parts, mine, case.group)
    expect_all([*parts, mine], [*everyone, everyone[case.place]])
    dist.broadcast(mine, case.members[0], case.group)
    expect(mine, everyone[0])


def sums_of_halves(case):
    """Near the limits of f16, a sum is the one of all operands, rounded."""
    chance = np.random.default_rng(7)
    everyone = [(chance.uniform(-1, 1, (10, 1)) * 65504 / SIZE).astype(np.float16) for _ in range(SIZE)][:case.size]
    x = pl.asarray(everyone[case.place])
    dist.all_reduce(x, group=case.group)
    expect(x, np.sum(everyone, axis=0, dtype=np.float32).astype(np.float16))


def several_together(case):
    shapes = ((1,), (2, 2), (3, 3, 3))
    for op in ("SUM", "PRODUCT", "MIN", "MAX"):
        for count in range(1, 4):
            everyone = case.of_all(lambda rank: [varied(rank, *shape) + 1 for shape in shapes[:count]])
            listed = tensors(everyone[case.place])
            dist.all_reduce_coalesced(listed, getattr(dist.ReduceOp, op), case.group)
            expect_all(listed, [REDUCED[op].reduce(parts) for parts in zip(*everyone, strict=True)])
    twice = [[pl.asarray(np.array([i + case.place]))] * 2 for i in range(2)]  # the same tensor in a list twice
    for work in [dist.all_reduce_coalesced(each, group=case.group, async_op=True) for each in twice]:
        work.wait()
    for i, listed in enumerate(twice):
        expect_all(listed, [[i * case.size + case.size * (case.size - 1) // 2]] * 2)


# ---- Broadcasts, lists, parts.


def broadcasts(case):
    for dtype, value in (("f32", -1e-10), ("f64", -1e-100), ("f16", -0.1), ("bf16", -0.1), ("i8", -2), ("u8", 129), ("i32", -100_000),
                         ("i64", -10**15), ("u64", 2**63 + 1), ("c64", 2 - 3j)):
        for root in case.members:
            sent = pl.full((root + 1,) * 3, value, dtype=dtype)
            x = sent if case.rank == root else pl.zeros((root + 1,) * 3, dtype=dtype)
            dist.broadcast(x, root, case.group)
            assert x.dtype == sent.dtype and bool(pl.all(x == sent))
            y = sent.copy() if case.rank == root else pl.zeros((root + 1,) * 3, dtype=dtype)
            dist.broadcast(y, group=case.group, group_src=case.members.index(root))
            assert bool(pl.all(y == sent))
    empty = pl.zeros(0)
    dist.broadcast(empty, case.members[0], case.group, async_op=True).wait()
    assert empty.shape == (0,)


def gathers_and_scatters(case):
    for dtype in (np.float32, np.complex64):
        for root in case.members:
            is_root, everyone = case.rank == root, case.of_all(lambda rank: varied(rank, root + 1, 2, dtype=dtype))
            zeros = [np.zeros_like(each) for each in everyone]
            for elsewhere in (None, []):
                parts = tensors(zeros) if is_root else elsewhere
                dist.gather(pl.asarray(everyone[case.place]), dst=root, gather_list=parts, group=case.group)
                expect_all(parts or [], everyone if is_root else [])
                x = pl.asarray(zeros[0])
                dist.scatter(x, src=root, scatter_list=tensors(everyone) if is_root else elsewhere, group=case.group)
                expect(x, everyone[case.place])
            columns = pl.asarray(np.repeat(everyone[case.place][:, :1], 2, axis=1))[:, 0]  # strided
            parts = [pl.zeros(root + 1, dtype=columns.dtype) for _ in case.members]
            dist.gather(columns, parts if is_root else None, root, case.group)
            expect_all(parts if is_root else [], [each[:, 0] for each in everyone] if is_root else [])
            dist.all_gather(parts, columns, case.group)
            expect_all(parts, [each[:, 0] for each in everyone])
    if case.group is None:  # rank 0 is the default root
        x, one = pl.zeros(1), pl.asarray(np.array([case.rank], np.float32))
        dist.scatter(x, scatter_list=tensors([np.full(1, each, np.float32) for each in range(SIZE)]) if case.rank == 0 else None)
        parts = [pl.zeros(1) for _ in range(SIZE)] if case.rank == 0 else None
        dist.gather(one, gather_list=parts)
        expect_all([x, *(parts or [])], [one.numpy(), *([[0], [1], [2], [3]] if case.rank == 0 else [])])


def gathers_of_all(case):
    for dtype in (np.float32, np.complex64):
        everyone = case.of_all(lambda rank: varied(rank, 2, 2, dtype=dtype))
        joined, stacked = (pl.asarray(np.full((case.size * 2, 2), -1, dtype)), pl.asarray(np.full((case.size, 2, 2), -1, dtype)))
        for out, expected in ((joined, np.concatenate(everyone)), (stacked, np.stack(everyone))):
            dist.all_gather_into_tensor(out, pl.asarray(everyone[case.place]), case.group)
            expect(out, expected)
        for count in range(1, 4):
            each_list = case.of_all(lambda rank: [varied(rank + i, *(i,) * i, dtype=dtype) for i in range(1, count + 1)])
            outputs = [[pl.asarray(np.full_like(part, -1)) for part in row] for row in each_list]
            dist.all_gather_coalesced(outputs, tensors(each_list[case.place]), case.group)
            for found, expected in zip(outputs, each_list, strict=True):
                expect_all(found, expected)
    with_empty = case.of_all(lambda rank: [cube(2, rank), cube(0, 1), cube(3, rank + 1), cube(0, 1)])
    outputs = [[pl.asarray(part - 1) for part in row] for row in with_empty]
    dist.all_gather_coalesced(outputs, tensors(with_empty[case.place]), case.group, async_op=True).wait()
    for found, expected in zip(outputs, with_empty, strict=True):
        expect_all(found, expected)
    for is_async in (True, False):  # each rank has another size
        uneven = case.of_all(lambda rank: varied(rank, rank + 1, 3, 3))
        outputs = [pl.asarray(np.zeros_like(each)) for each in uneven]
        work = dist.all_gather(outputs, pl.asarray(uneven[case.place]), case.group, is_async)
        assert (work is not None) == is_async and (work is None or work.wait())
        expect_all(outputs, uneven)


def scattered_reductions(case):
    for is_async in (True, False):
        for first in (0, 1):  # rank 0 has an empty part, or one of one row
            everyone = case.of_all(lambda rank: [varied(rank + i, i + first, 3) for i in range(case.size)])
            out = pl.zeros(case.place + first, 3)
            work = dist.reduce_scatter(out, tensors(everyone[case.place]), dist.ReduceOp.SUM, case.group, is_async)
            assert work is None or work.wait()
            expect(out, np.add.reduce([each[case.place] for each in everyone]))
        whole = case.of_all(lambda rank: varied(rank, 20 * case.size, 20))
        for op in ("SUM", "MAX"):
            for shape in ((case.size * 20, 20), (case.size, 20, 20)):  # concatenated, stacked
                out, given = pl.zeros(20, 20), pl.asarray(whole[case.place].reshape(shape))
                work = dist.reduce_scatter_tensor(out, given, getattr(dist.ReduceOp, op), case.group, is_async)
                assert work is None or work.wait()
                expect(out, REDUCED[op].reduce(whole)[20 * case.place:20 * case.place + 20])


def everyone_to_everyone(case):
    size, place = case.size, case.place
    for dtype in (np.float32, np.complex64, bool, np.uint8):
        sent = case.of_all(lambda rank: varied(rank, size, size, dtype=dtype))
        expected = np.stack([each[place] for each in sent])
        out = pl.asarray(np.zeros_like(sent[0]))
        dist.all_to_all_single(out, pl.asarray(sent[place]), group=case.group)
        expect(out, expected)
        dist.all_to_all_single(out, pl.asarray(sent[place].T.copy()).T, group=case.group)  # strided
        expect(out, expected)
        # Rank i sends i + 1 rows to the first, none to some: sizes that differ by both ranks.
        rows = np.array([[(i * 2 + j * 3) % 4 + (j == 0) for j in range(size)] for i in range(size)])
        parts = [[varied(i * size + j, rows[i, j], size, dtype=dtype) for j in range(size)] for i in range(size)]
        out = pl.asarray(np.zeros((rows[:, place].sum(), size), dtype))
        work = dist.all_to_all_single(out, pl.asarray(np.concatenate(parts[place])), rows[:, place].tolist(), rows[place].tolist(), case.group, True)
        work.wait()
        expect(out, np.concatenate([each[place] for each in parts]))
        outputs = [pl.asarray(np.zeros_like(each[place])) for each in parts]
        dist.all_to_all(outputs, tensors(parts[place]), case.group)
        expect_all(outputs, [each[place] for each in parts])


def refused(case):
    """Roots that are not in the group; lists of one tensor less and more, of another dtype, of another shape, or of the wrong rank. Nothing is sent:
    the group goes on."""
    x, root, elsewhere, values = pl.ones(1), case.rank, case.members[case.place - 1], pl.errors.ValueError
    for wrong in (-1, SIZE):
        for call in (dist.broadcast, dist.reduce):
            expect_error(values, [call.__name__, f"rank {wrong} is not in the group"], call, x, wrong, group=case.group)
        for call in (dist.gather, dist.scatter):
            expect_error(values, [call.__name__, f"rank {wrong} is not in the group"], call, x, None, wrong, case.group)
    for count in (case.size - 1, case.size + 1):
        for call in (lambda: dist.gather(x, [x] * count, root, case.group), lambda: dist.scatter(x, [x] * count, root, case.group),
                     lambda: dist.all_gather([x] * count, x, case.group), lambda: dist.reduce_scatter(x, [x] * count, group=case.group),
                     lambda: dist.all_to_all([x] * case.size, [x] * count, case.group)):
            expect_error(values, [f"has {count} tensors, expected {case.size}, one for each rank"], call)
        expect_error(values, [f"has {count} lists"], dist.all_gather_coalesced, [[x]] * count, [x], case.group)
    for other, kind in ((pl.ones(1, dtype="f64"), pl.errors.TypeError), (pl.ones(2), pl.errors.ShapeError)):
        listed = [other] * case.size
        for call, *arguments in ((dist.gather, x, listed, root), (dist.scatter, x, listed, root), (dist.all_gather, listed, x),
                                 (dist.reduce_scatter, x, listed), (dist.all_gather_coalesced, [[other]] * case.size, [x])):
            expect_error(kind, [f"{call.__name__}: "], call, *arguments, group=case.group)
    expect_error(pl.errors.TypeError, ["expected a list of tensors"], dist.all_gather_coalesced, [x] * case.size, [x], case.group)
    for call in (dist.gather, dist.scatter):
        expect_error(values, [call.__name__, f"is given on rank {case.place}"], call, x, [x] * case.size, elsewhere, case.group)
        expect_error(values, [call.__name__, f"is missing on rank {case.place}"], call, x, None, root, case.group)


# ---- Waiting.


def barriers(case):
    """Who comes late is waited for."""
    for late in case.members:
        end = pl.zeros(1, dtype="f64")
        if case.rank == late:
            end = pl.asarray(np.array([time.time() + 0.1]))
        dist.broadcast(end, late, case.group)
        if case.rank == late:
            time.sleep(0.12)
        dist.barrier(case.group)
        assert time.time() >= float(end[0])


def barriers_imply_waiting(case):
    """Calls whose works were dropped are over after a barrier, also after one that was waited for later."""
    for is_async in (False, True):
        numbers = tensors([np.full((100, 100), float(i), np.float32) for i in range(16)])
        parts = [pl.zeros(2) for _ in case.members]
        for each in numbers:
            dist.all_reduce(each, group=case.group, async_op=True)
        dist.all_gather(parts, pl.full((2,), float(case.place)), case.group, async_op=True)
        work = dist.barrier(case.group, async_op=is_async)
        assert work is None or work.wait()
        expect_all([each[0, 0] for each in numbers], [i * case.size for i in range(16)])
        expect_all(parts, [[float(i)] * 2 for i in range(case.size)])
    assert not (case.group or dist.group.WORLD)._pending._works


def many_in_flight(case, count=100):
    """Calls of one element, begun before any is waited for; the root changes."""
    size, place, one = case.size, case.place, lambda value: pl.asarray(np.array([value]))
    begun = []
    for i in range(count):
        root, place_of_root = case.members[i % size], i % size
        is_root, mine = place == place_of_root, one(i + place)
        zeros = [one(-1) for _ in range(size)]
        total = [i * size + size * (size - 1) // 2]
        each = [[i + other] for other in range(size)]
        x = one(i * size + place)
        begun.append((dist.broadcast(x, root, case.group, async_op=True), [x], [[i * size + place_of_root]]))
        x = one(i + place)
        begun.append((dist.all_reduce(x, group=case.group, async_op=True), [x], [total]))
        x = one(i + place)
        begun.append((dist.reduce(x, root, group=case.group, async_op=True), [x], [total if is_root else [i + place]]))
        x = [one(i + place), one(place)]
        begun.append((dist.all_reduce_coalesced(x, group=case.group, async_op=True), x, [total, [size * (size - 1) // 2]]))
        x = one(-1)
        listed = [one(i + root)] * size if is_root else None
        begun.append((dist.scatter(x, listed, root, case.group, async_op=True), [x], [[i + root]]))
        work = dist.gather(mine, zeros if is_root else None, root, case.group, async_op=True)
        begun.append((work, zeros if is_root else [], each if is_root else []))
        zeros = [one(-1) for _ in range(size)]
        begun.append((dist.all_gather(zeros, mine, case.group, async_op=True), zeros, each))
    for work, found, expected in begun:
        assert work.wait() and work.is_completed() and work.is_success()
        expect_all(found, expected)


# ---- The tests.


def all_cases():
    in_groups(reductions, reductions_of_bits, complex_numbers, booleans, sums_of_halves, several_together, broadcasts, gathers_and_scatters,
              gathers_of_all, scattered_reductions, everyone_to_everyone, refused, barriers, barriers_imply_waiting, many_in_flight)


class C10dCases(ranks.OnEachEngine, unittest.TestCase):
    file, size = os.path.abspath(__file__), SIZE


if __name__ == "__main__":
    ranks.main(globals())
