"""plait.distributed: calls among processes, compared with NumPy."""

import datetime
import os
import random
import signal
import time
import unittest
import warnings

import numpy as np
import plait as pl
import plait.distributed as dist
from plait.inside.distributed.encoding import decode, encode
from plait.inside.distributed.process_groups import _get_default_store

import ranks
from ranks import expect_error


def values(rank, *shape, dtype=np.float32):
    return ((np.arange(np.prod(shape, dtype=int)) * 3 + rank * 7) % 11).reshape(shape).astype(dtype)


def tensor(rank, *shape, dtype=np.float32):
    return pl.asarray(values(rank, *shape, dtype=dtype))


def expect(x, expected):
    np.testing.assert_array_equal(x.numpy(), expected)


def calls():
    dist.init_process_group()
    rank, size = dist.get_rank(), dist.get_world_size()
    everyone = range(size)
    for shape in ((), (1,), (3, 5), (0, 4), (50_001,)):
        for dtype in (np.float32, np.int64, np.uint8, np.float64):
            all_values = [values(each, *shape, dtype=dtype) for each in everyone]
            x = tensor(rank, *shape, dtype=dtype)
            dist.broadcast(x, size - 1)
            expect(x, all_values[-1])
            for op, reduced in (("SUM", np.add), ("MAX", np.maximum), ("MIN", np.minimum), ("PRODUCT", np.multiply)):
                x = tensor(rank, *shape, dtype=dtype)
                dist.all_reduce(x, getattr(dist.ReduceOp, op))
                expect(x, reduced.reduce(all_values, dtype=dtype))
            x = tensor(rank, *shape, dtype=dtype)
            dist.reduce(x, 0)
            expect(x, np.add.reduce(all_values, dtype=dtype) if rank == 0 else all_values[rank])
            parts = [pl.asarray(np.zeros(shape, dtype)) for _ in everyone]
            dist.all_gather(parts, tensor(rank, *shape, dtype=dtype))
            for part, expected in zip(parts, all_values, strict=True):
                expect(part, expected)
            dist.gather(tensor(rank, *shape, dtype=dtype), parts if rank == 1 else None, 1)
            x = pl.asarray(np.zeros(shape, dtype))
            dist.scatter(x, [tensor(each, *shape, dtype=dtype) for each in everyone] if rank == 0 else None, 0)
            expect(x, all_values[rank])
            dist.reduce_scatter(x, [tensor(rank + each, *shape, dtype=dtype) for each in everyone])
            expect(x, np.add.reduce([values(rank + each, *shape, dtype=dtype) for each in everyone], dtype=dtype))
            dist.all_to_all(parts, [tensor(rank * size + each, *shape, dtype=dtype) for each in everyone])
            for each, part in enumerate(parts):
                expect(part, values(each * size + rank, *shape, dtype=dtype))
    dist.barrier()
    dist.monitored_barrier(timeout=datetime.timedelta(seconds=10))


def whole_tensors():
    dist.init_process_group()
    rank, size = dist.get_rank(), dist.get_world_size()
    x = tensor(rank, 2, 3)
    stacked, joined = pl.zeros((size, 2, 3)), pl.zeros((2 * size, 3))
    dist.all_gather_into_tensor(stacked, x)
    dist.all_gather_into_tensor(joined, x)
    expected = np.stack([values(each, 2, 3) for each in range(size)])
    expect(stacked, expected)
    expect(joined, expected.reshape(-1, 3))
    out = pl.zeros(2, 3)
    dist.reduce_scatter_tensor(out, joined)
    expect(out, expected[rank] * size)
    # Rank i sends j + 1 rows to rank j.
    sent = sum(range(1, size + 1))
    received = pl.zeros(size * (rank + 1), 2)
    dist.all_to_all_single(received, tensor(rank, sent, 2), [rank + 1] * size, list(range(1, size + 1)))
    begin = sum(range(1, rank + 1))
    expect(received, np.concatenate([values(each, sent, 2)[begin:begin + rank + 1] for each in range(size)]))
    uneven = [pl.zeros(each + 1) for each in range(size)]
    dist.all_gather(uneven, tensor(rank, rank + 1))
    for each, part in enumerate(uneven):
        expect(part, values(each, each + 1))
    out = pl.zeros(rank + 1)
    dist.reduce_scatter(out, [tensor(rank, each + 1) for each in range(size)])
    expect(out, np.add.reduce([values(each, rank + 1) for each in range(size)]))
    several = [tensor(rank, 2), tensor(rank, 3, 2)]
    dist.all_reduce_coalesced(several)
    expect(several[1], np.add.reduce([values(each, 3, 2) for each in range(size)]))
    transposed = tensor(rank, 4, 3).T
    dist.all_reduce(transposed)
    expect(transposed, np.add.reduce([values(each, 4, 3).T for each in range(size)]))
    x = pl.asarray(values(rank, 5), dtype=pl.bf16)
    dist.all_reduce(x, dist.ReduceOp.AVG)
    expect(x.astype(pl.f32), np.add.reduce([values(each, 5) for each in range(size)]) / size)


def works():
    dist.init_process_group()
    rank, size = dist.get_rank(), dist.get_world_size()
    tensors = [tensor(rank, count) for count in (1, 100, 60_000)]
    all_works = [dist.all_reduce(each, async_op=True) for each in tensors]
    for work, each in zip(all_works, tensors, strict=True):
        assert work.wait() is True and work.is_completed() and work.is_success() and work.exception() is None
        expect(each, np.add.reduce([values(other, each.shape[0]) for other in range(size)]))
    x = pl.zeros(3)
    following, before = (rank + 1) % size, (rank - 1) % size
    batch = dist.batch_isend_irecv([dist.P2POp(dist.isend, tensor(rank, 3), following), dist.P2POp(dist.irecv, x, before)])
    for work in batch:
        work.wait()
    expect(x, values(before, 3))
    if rank == 0:
        senders = set()
        for _ in range(1, size):
            sender = dist.recv(x, tag=5)
            expect(x, values(sender, 3))
            senders.add(sender)
        assert senders == set(range(1, size))
    else:
        dist.send(tensor(rank, 3), 0, tag=5)
    dist.barrier(async_op=True).wait()


def groups():
    dist.init_process_group()
    rank, size = dist.get_rank(), dist.get_world_size()
    odd = dist.new_group(range(1, size, 2))
    if rank % 2 == 0:
        assert odd is dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(odd) == -1
        expect_error(pl.errors.ValueError, ["not in the group"], dist.get_backend, odd)
        nothing_without_a_member(odd)
    else:
        x = tensor(rank, 2)
        dist.broadcast(x, 3, group=odd)
        expect(x, values(3, 2))
        assert dist.get_group_rank(odd, 3) == 1 and dist.get_global_rank(odd, 1) == 3 and dist.get_process_group_ranks(odd) == [1, 3]
        expect_error(pl.errors.ValueError, ["rank 2 is not in the group"], dist.broadcast, x, 2, group=odd)
    own, every = dist.new_subgroups(2)
    assert len(every) == size // 2 and dist.get_world_size(own) == 2
    x = tensor(rank, 2)
    dist.all_reduce(x, group=own)
    expect(x, values(rank, 2) + values(rank ^ 1, 2))
    half = dist.split_group(split_ranks=[[0, 3], [1, 2]])
    x = tensor(rank, 2)
    dist.all_reduce(x, group=half)
    expect(x, values(rank, 2) + values(3 - rank, 2))
    assert dist.group.WORLD.size() == size
    some = dist.split_group(split_ranks=[[2, 1]])  # in this order
    assert some is dist.GroupMember.NON_GROUP_MEMBER if rank in (0, 3) else dist.get_process_group_ranks(some) == [2, 1]
    orders_of_ranks(rank, size)


def nothing_without_a_member(group):
    """As in PyTorch: a warning for each kind of call, once."""
    x = pl.ones(2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            assert dist.all_reduce(x, group=group) is None and dist.isend(x, 1, group=group) is None and dist.barrier(group) is None
            assert dist.broadcast(x, 1, group=group, async_op=True) is None and dist.all_gather_object([], 1, group=group) is None
            assert dist.recv(x, 1, group=group) == -1 and dist.recv_object_list([], group=group) == -1
            assert dist.batch_isend_irecv([dist.P2POp(dist.isend, x, 1, group)]) == []
    said = [str(each.message).partition(":")[0] for each in caught]
    assert sorted(said) == sorted(["all_reduce", "isend", "barrier", "broadcast", "all_gather_object", "recv", "recv_object_list", "P2POp",
                                   "batch_isend_irecv"]), said
    assert all(each.filename == __file__ for each in caught)
    expect(x, np.ones(2))
    dist.destroy_process_group(group)


def orders_of_ranks(rank, size):
    ascending, given = dist.new_group([3, 0, 1]), dist.new_group([3, 0, 1], sort_ranks=False, group_desc="a ring")
    if rank != 2:
        assert dist.get_process_group_ranks(ascending) == [0, 1, 3] and dist.get_rank(ascending) == [0, 1, None, 2][rank]
        assert dist.get_process_group_ranks(given) == [3, 0, 1] and given.group_desc == "a ring"
        x = tensor(rank, 2)
        dist.broadcast(x, group_src=0, group=given)
        expect(x, values(3, 2))
    # Ranks of a group divide it, while those that are not in it do something else.
    first = dist.new_group(range(2))
    if rank < 2:
        alone, both = dist.new_subgroups(1, group=first)
        assert dist.get_process_group_ranks(alone) == [rank] and len(both) == 2
    every = dist.new_group()
    assert dist.get_process_group_ranks(every) == list(range(size))
    dist.barrier(every)


def objects():
    dist.init_process_group()
    rank, size = dist.get_rank(), dist.get_world_size()
    mine = {"rank": rank, "text": "é" * rank, "list": [1.5, None, True, (2**70, -1j)], "bytes": b"\0" * rank, "set": {rank},
            "tensor": tensor(rank, 2), "array": values(rank, 3), "bf16": pl.ones(rank, dtype=pl.bf16)}

    def check(found, other):
        assert found["rank"] == other and found["text"] == "é" * other and found["list"] == mine["list"] and found["set"] == {other}
        assert found["bytes"] == b"\0" * other and isinstance(found["array"], np.ndarray) and found["bf16"].dtype == pl.bf16
        expect(found["tensor"], values(other, 2))

    everyone = [None] * size
    dist.all_gather_object(everyone, mine)
    for other, found in enumerate(everyone):
        check(found, other)
    gathered = [None] * size if rank == 1 else None
    dist.gather_object(mine, gathered, 1)
    if rank == 1:
        check(gathered[0], 0)
    items = [mine, rank] if rank == 0 else [None, None]
    dist.broadcast_object_list(items, 0)
    check(items[0], 0)
    assert items[1] == 0
    scattered = [None]
    dist.scatter_object_list(scattered, list(range(10, 10 + size)) if rank == 0 else None, 0)
    assert scattered == [10 + rank]
    if rank == 0:
        dist.send_object_list([mine, "x"], 1)
    elif rank == 1:
        items = [None, None]
        assert dist.recv_object_list(items) == 0
        check(items[0], 0)
    expect_error(pl.errors.TypeError, ["cannot be sent"], dist.all_gather_object, everyone, print)


def destroyed():
    """destroy_process_group leaves all groups; what is held of them says so."""
    dist.init_process_group()
    world, part = dist.group.WORLD, dist.new_group()
    lone = dist.new_group()
    dist.destroy_process_group(lone)
    for use in (lambda: dist.barrier(lone), lambda: dist.get_rank(lone), lone.rank, lone.size, lone.name, lambda: lone.group_name,
                lambda: dist.destroy_process_group(lone), lambda: dist.batch_isend_irecv([dist.P2POp(dist.isend, pl.ones(1), 0, lone)])):
        expect_error(pl.errors.ValueError, ["the group was destroyed"], use)
    dist.barrier(part)
    dist.barrier()
    dist.destroy_process_group()
    assert repr(lone) == repr(part) == repr(world) == "ProcessGroup(destroyed)" and dist.group.WORLD is None
    for each in (world, part):
        expect_error(pl.errors.ValueError, ["all_reduce: the group was destroyed"], dist.all_reduce, pl.ones(1), group=each)
    expect_error(pl.errors.ValueError, ["destroy_process_group: there is no group"], dist.destroy_process_group)
    expect_error(pl.errors.TypeError, ["destroy_process_group: group is 5, expected a ProcessGroup"], dist.destroy_process_group, 5)


def mismatch():
    dist.init_process_group(timeout=datetime.timedelta(seconds=20))
    rank = dist.get_rank()
    begin = time.monotonic()
    parts = ["ranks disagree", "all_reduce(sum) of f32[3]", "all_reduce(sum) of f32[4]", "ranks.py:"]
    expect_error(pl.errors.DistError, parts, dist.all_reduce, pl.ones(3 + rank % 2))
    assert time.monotonic() - begin < 5
    expect_error(pl.errors.DistError, ["ranks disagree"], dist.barrier)


def killed():
    dist.init_process_group()
    if dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.monotonic()
    expect_error(pl.errors.DistError, ["rank 1 has ended", "barrier"], dist.barrier)
    assert time.monotonic() - begin < 5


def late():
    dist.init_process_group()
    if dist.get_rank() == 1:
        _get_default_store().wait(["late"])
        return
    expect_error(pl.errors.DistError, ["did not end within 0.5 s", "called by rank 0", "not by rank 1"], dist.all_reduce, pl.ones(2), timeout=0.5)
    _get_default_store().set("late", "")


def interrupted():
    dist.init_process_group()
    if dist.get_rank() == 0:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        expect_error(KeyboardInterrupt, [], dist.barrier)
        _get_default_store().set("interrupted", "")
    else:
        _get_default_store().wait(["interrupted"])
    expect_error(pl.errors.DistError, ["rank 0 was interrupted in barrier"], dist.barrier)


def train():
    """Data parallel, as in PyTorch's tutorial on distributed applications: each rank has a part of the data, and gradients are averaged."""
    dist.init_process_group()
    rank, size = dist.get_rank(), dist.get_world_size()
    chance = np.random.default_rng(5)
    x, y = chance.normal(size=(64, 8)), chance.integers(0, 3, 64)

    def loss_of(model, x, y):
        return pl.nn.CrossEntropyLoss()(model(x), y)

    def trained(average, part):
        pl.random.seed(1234)
        model = pl.nn.Sequential(pl.nn.Linear(8, 16), pl.nn.ReLU(), pl.nn.Linear(16, 3))
        optimizer = pl.optim.SGD(model, lr=0.1, momentum=0.5)
        step = pl.jit(pl.value_and_grad(loss_of))
        for _ in range(10):
            _, gradients = step(model, *part)
            model, optimizer = optimizer.update(model, average(gradients))
        return pl.nn.state(model)

    def average_gradients(gradients):
        def averaged(gradient):
            dist.all_reduce(gradient, op=dist.ReduceOp.SUM)
            return gradient / size

        return pl.tree.map(averaged, gradients)

    mine = slice(rank * 64 // size, (rank + 1) * 64 // size)
    together = trained(average_gradients, (pl.asarray(x[mine], pl.f32), pl.asarray(y[mine])))
    alone = trained(lambda gradients: gradients, (pl.asarray(x, pl.f32), pl.asarray(y)))
    for name, weight in together.items():
        np.testing.assert_allclose(weight.numpy(), alone[name].numpy(), rtol=2e-5, atol=2e-6)
        first = weight.copy()
        dist.broadcast(first, 0)
        expect(first, weight.numpy())


def ring_all_reduce():
    """The ring of the same tutorial, by isend and recv."""
    dist.init_process_group()
    rank, size = dist.get_rank(), dist.get_world_size()
    sent, received, sum_of_all = tensor(rank, 1000), pl.zeros(1000), tensor(rank, 1000)
    left, right = (rank - 1 + size) % size, (rank + 1) % size
    for i in range(size - 1):
        if i % 2 == 0:
            request = dist.isend(sent, right)
            dist.recv(received, left)
            sum_of_all += received
        else:
            request = dist.isend(received, right)
            dist.recv(sent, left)
            sum_of_all += sent
        request.wait()
    expect(sum_of_all, np.add.reduce([values(each, 1000) for each in range(size)]))


class Distributed(unittest.TestCase):
    def run_ranks(self, function, size=4, **options):
        return ranks.run(self, os.path.abspath(__file__), function.__name__, size, **options)

    def test_calls(self):
        self.run_ranks(calls, 3)

    def test_whole_tensors(self):
        self.run_ranks(whole_tensors)

    def test_works(self):
        self.run_ranks(works)

    def test_groups(self):
        self.run_ranks(groups)

    def test_objects(self):
        self.run_ranks(objects, 3)

    def test_destroyed(self):
        self.run_ranks(destroyed, 2)

    def test_train(self):
        self.run_ranks(train, 2)

    def test_ring_all_reduce(self):
        self.run_ranks(ring_all_reduce)

    def test_mismatch(self):
        self.run_ranks(mismatch)

    def test_late(self):
        self.run_ranks(late, 2)

    def test_interrupted(self):
        self.run_ranks(interrupted, 2)

    def test_killed(self):
        self.run_ranks(killed, 3, codes={1: -signal.SIGKILL})


class Alone(unittest.TestCase):
    def setUp(self):
        dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
        self.addCleanup(lambda: dist.is_initialized() and dist.destroy_process_group())

    def test_refusals(self):
        x = pl.ones(2)
        expect_error(pl.errors.ValueError, ["called before"], dist.init_process_group)
        expect_error(pl.errors.TypeError, ["all_reduce", "expected a Tensor"], dist.all_reduce, [1.0])
        expect_error(pl.errors.TypeError, ["no bor of f32"], dist.all_reduce, x, dist.ReduceOp.BOR)
        expect_error(pl.errors.ValueError, ["op is 'median', which is not a reduction", "SUM"], dist.all_reduce, x, "median")
        expect_error(pl.errors.ValueError, ["rank 3 is not in the group"], dist.broadcast, x, 3)
        expect_error(pl.errors.ValueError, ["2 tensors, expected 1"], dist.all_gather, [x, x], x)
        expect_error(pl.errors.ShapeError, ["all_gather_into_tensor"], dist.all_gather_into_tensor, pl.ones(3), x)
        expect_error(pl.errors.TypeError, ["timeout", "expected a timedelta"], dist.all_reduce, x, timeout="soon")
        expect_error(pl.errors.ValueError, ["the timeout is 0"], dist.all_reduce, x, timeout=0)
        expect_error(pl.errors.TypeError, ["expected a ProcessGroup"], dist.all_reduce, x, group="all")

    def test_transforms_are_refused(self):
        for transform in (pl.jit, pl.grad):
            def f(x):
                dist.all_reduce(x)
                return pl.sum(x)

            expect_error(pl.errors.TypeError, ["all_reduce", "outside of jit, grad and vmap"], transform(f), pl.ones(2))

    def test_stores(self):
        store = dist.HashStore()
        store.set("a", "é")
        self.assertEqual(store.get("a"), "é".encode())
        self.assertEqual(store.compare_set("a", "x", b"y"), "é".encode())
        store.multi_set(["b", "c"], ["1", b"\0"])
        self.assertEqual(store.multi_get(["c", "b"]), [b"\0", b"1"])
        self.assertEqual((store.num_keys(), store.check(["a", "d"]), store.delete_key("a"), store.add("n", 2)), (3, False, True, 2))
        expect_error(pl.errors.DistError, ["\"never\" was not set within 0.1 s"], store.wait, ["never"], datetime.timedelta(seconds=0.1))
        store.set_timeout(0.1)
        self.assertEqual(store.timeout, datetime.timedelta(seconds=0.1))
        expect_error(pl.errors.DistError, ["never"], store.get, "never")

    def test_objects_of_any_bytes(self):
        value = {"a": [1, -2**80, 1.5, 1j, None, True, (b"x", "é", bytearray(b"y"))], 2: {3, frozenset({4})}, "t": pl.ones((2, 0), dtype="bf16"),
                 "m": pl.asarray([True]), "n": np.array(["x", "yz"]), "d": np.array(["2026-01-01"], "M8[D]"), "f": np.float32(2)}
        data = encode("send", value)
        again = decode(data)
        self.assertEqual(encode("send", again), data)
        self.assertIs(type(again["f"]), np.float32)
        chance = random.Random(int(os.environ.get("PLAIT_SEED", 5)))
        for _ in range(2000):
            damaged = bytearray(data)
            for _ in range(chance.randint(1, 3)):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            damaged = damaged[:chance.choice((len(damaged), chance.randrange(len(damaged))))]
            try:
                decode(bytes(damaged))
            except (pl.errors.ParseError, pl.errors.MemoryError):
                pass
        for refused in (print, object(), [lambda: 1], np.array([object()]), np.zeros(1, [("a", "i4")])):
            expect_error(pl.errors.TypeError, ["cannot be sent"], encode, "send", refused)

    def test_environment_is_checked(self):
        dist.destroy_process_group()
        self.assertFalse(dist.is_initialized())
        expect_error(pl.errors.ValueError, ["RANK is not set", "launcher"], dist.init_process_group)
        expect_error(pl.errors.ValueError, ["expected env://"], dist.init_process_group, init_method="udp://x")
        expect_error(pl.errors.ValueError, ["needs rank"], dist.init_process_group, init_method="tcp://localhost:1")
        expect_error(pl.errors.ValueError, ["init_process_group first"], dist.all_reduce, pl.ones(1))
        expect_error(pl.errors.ValueError, ["pigeon", "local"], dist.init_process_group, "pigeon", store=dist.HashStore(), rank=0, world_size=1)


if __name__ == "__main__":
    ranks.main(globals())
