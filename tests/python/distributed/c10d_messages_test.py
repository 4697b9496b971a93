"""Messages and objects with each engine, as in PyTorch's tests (mirrored_cases.md)."""

import os
import unittest

import numpy as np
import plait as pl
import plait.distributed as dist

import ranks
from ranks import begin, expect_error

SIZE = 4


def full(shape, value):
    return pl.full(shape, float(value))


def holds(x, value):
    return bool(pl.all(x == value))


# ---- Messages.


def in_turn(rank, size):
    """Each in turn sends to all others, then with tags."""
    for source in range(size):
        if source == rank:
            for other in (each for each in range(size) if each != rank):
                dist.send(full((rank + 1,) * 3, rank), other)
                dist.send(pl.full((5,), rank - 2j, dtype="c64"), other, tag=rank)
        else:
            x, y = full((source + 1,) * 3, -1), pl.zeros(5, dtype="c64")
            assert dist.recv(x, source) == source and dist.recv(y, source, tag=source) == source
            assert holds(x, source) and holds(y, source - 2j)


def tags(rank, size):
    """Messages are received by their tags, in another order than they were sent."""
    if rank == 0:
        works = [dist.isend(full(3, tag), 1, tag=tag) for tag in (0, 1, 2**31 - 1)]
        assert all(work.wait() for work in works)
    elif rank == 1:
        for tag in (2**31 - 1, 0, 1):
            x = full(3, -1)
            dist.recv(x, 0, tag=tag)
            assert holds(x, float(np.float32(tag)))


def from_any(rank, size):
    """Each receives two messages of each other one, without naming it: by recv and by irecv."""
    senders = {"recv": [], "irecv": []}
    for receiver in range(size):
        if receiver != rank:
            for _ in senders:
                dist.send(full(10, rank), receiver, tag=1)
            continue
        for _ in range(size - 1):
            x, y = full(10, -1), full(10, -1)
            senders["recv"].append(dist.recv(x, tag=1))
            work = dist.irecv(y, tag=1)
            assert work.wait() and work.is_completed()
            senders["irecv"].append(work._source_rank())
            assert holds(x, senders["recv"][-1]) and holds(y, senders["irecv"][-1])
    expected = [each for each in range(size) if each != rank for _ in senders]
    assert sorted(senders["recv"] + senders["irecv"]) == expected, senders


def begun_together(rank, size):
    """One sends to all, one receives from all, and all to all."""
    if rank == 0:
        works = [dist.isend(full((other,) * 3, 10), other) for other in range(1, size)]
        received = [full((other,) * 3, -1) for other in range(1, size)]
        works += [dist.irecv(x, other) for other, x in enumerate(received, 1)]
    else:
        received = [full((rank,) * 3, -1)]
        works = [dist.irecv(received[0], 0), dist.isend(full((rank,) * 3, 10), 0)]
    assert all(work.wait() and work.is_completed() for work in works) and all(holds(x, 10) for x in received)
    others = [each for each in range(size) if each != rank]
    works, received = [dist.isend(full(1, rank), other) for other in others], [full(1, -1) for _ in others]
    works += [dist.irecv(x, other) for x, other in zip(received, others, strict=True)]
    assert all(work.wait() for work in works) and [int(x[0]) for x in received] == others


def batches(rank, size):
    for tagged in (False, True):
        listed, received = [], {}
        for other in (each for each in range(size) if each != rank):
            received[other] = full((other + 1,) * 3, -1)
            listed.append(dist.P2POp(dist.irecv, received[other], other, tag=other if tagged else 0))
            listed.append(dist.P2POp(dist.isend, full((rank + 1,) * 3, rank), other, tag=rank if tagged else 0))
        assert all(work.wait() for work in dist.batch_isend_irecv(listed)) and all(holds(x, other) for other, x in received.items())
    x = full(size, -1)
    ring = [dist.P2POp(dist.isend, full(size, rank), (rank + 1) % size), dist.P2POp(dist.irecv, x, (rank - 1) % size)]
    assert all(work.wait() for work in dist.batch_isend_irecv(ring)) and holds(x, (rank - 1) % size)
    if rank in (1, 2):  # and not rank 0
        x = full(3 - rank, -1)
        pair = [dist.P2POp(dist.irecv, x, group_peer=3 - rank), dist.P2POp(dist.isend, full(rank, rank), group_peer=3 - rank)]
        assert all(work.wait() for work in dist.batch_isend_irecv(pair)) and holds(x, 3 - rank)


def refused(rank, size):
    x, other, world, again = pl.ones(2), (rank + 1) % size, dist.group.WORLD, dist.new_group()
    for parts, call, *arguments in (
            (["dst is this rank"], dist.send, rank), (["group_dst"], lambda: dist.send(x, other, group_dst=other)),
            (["dst is this rank"], lambda: dist.send(x, group_dst=rank)), (["dst is missing"], lambda: dist.send(x)),
            (["both src and group_src"], lambda: dist.recv(x, src=other, group_src=other)),
            (["P2POp: op is"], lambda: dist.P2POp(dist.broadcast, x, other)), (["p2p_op_list is [1, 2]"], lambda: dist.batch_isend_irecv([1, 2])),
            (["of another group"], lambda: dist.batch_isend_irecv([dist.P2POp(dist.isend, x, other, each) for each in (world, again)]))):
        expect_error(pl.errors.ValueError, parts, call, *([x, *arguments] if arguments else []))


def in_a_group(rank, size):
    """By the ranks of all, and by those of the group."""
    pair = dist.new_group([1, 3])
    if rank in (1, 3):
        x, other = full(10, -1), 4 - rank
        if rank == 1:
            dist.send(full(10, 1), 3, pair)
            assert dist.recv(x, group=pair) == 3 and holds(x, 3)
        else:
            assert dist.recv(x, group_src=0, group=pair) == 1 and holds(x, 1)
            dist.send(full(10, 3), group_dst=0, group=pair)
        dist.batch_isend_irecv([dist.P2POp(dist.isend, full(2, rank), other, pair), dist.P2POp(dist.irecv, y := full(2, -1), other, pair)])[1].wait()
        assert holds(y, other)


# ---- Objects.


OBJECTS = ({"key1": 3, "key2": 4, "key3": {"nested": True}}, "foo", [1, 2, True, "string", [4, 5, "nested"]], (None, 2**70, b"\0"))


def everyones_objects(rank, group, members):
    size = len(members)
    place, first = members.index(rank), members[0]
    everyone = [None] * size
    dist.all_gather_object(everyone, OBJECTS[place % len(OBJECTS)], group=group)
    assert everyone == [OBJECTS[each % len(OBJECTS)] for each in range(size)]
    gathered = [None] * size if rank == first else None
    dist.gather_object(obj=rank, object_gather_list=gathered, dst=first, group=group)
    assert gathered == (members if rank == first else None)
    listed = list(OBJECTS) if rank == first else [None] * len(OBJECTS)
    dist.broadcast_object_list(listed, src=first, group=group, device="cpu")
    assert listed == list(OBJECTS)
    for given in (members, [{"of": each} for each in members] if rank == first else [None] * size):  # others' lists are not read
        scattered = [None]
        dist.scatter_object_list(scattered, given, src=first, group=group)
        assert scattered == [members[place] if given is members else {"of": rank}]
    if rank == first:
        dist.send_object_list(list(OBJECTS), members[1], group=group)
    elif place == 1:
        listed = [None] * len(OBJECTS)
        assert dist.recv_object_list(listed, first, group=group) == first and listed == list(OBJECTS)


class OfTests:
    """A class of the program: not data, which is refused where it is sent."""


def objects(rank, size):
    everyones_objects(rank, None, list(range(size)))
    pair = [rank - rank % 2, rank - rank % 2 + 1]  # two groups side by side
    everyones_objects(rank, dist.new_group(pair, use_local_synchronization=True), pair)
    everyone = [None] * size
    for thing in (OfTests(), print, lambda: 1):
        expect_error(pl.errors.TypeError, ["cannot be sent"], dist.all_gather_object, everyone, thing)
    expect_error(pl.errors.ValueError, ["expected 1 or more"], dist.scatter_object_list, [], list(range(size)), 0)
    if rank != 0:
        expect_error(pl.errors.ValueError, [f"object_gather_list is given on rank {rank}; rank 0 gathers"], dist.gather_object, 1, everyone)
    dist.barrier()
    everyone = [None] * size
    dist.all_gather_object(everyone, np.arange(rank))
    assert [each.tolist() for each in everyone] == [list(range(each)) for each in range(size)]


def all_cases():
    rank, size = begin()
    for case in (in_turn, tags, from_any, begun_together, batches, refused, in_a_group, objects):
        case(rank, size)
        dist.barrier()


class C10dMessages(ranks.OnEachEngine, unittest.TestCase):
    file, size = os.path.abspath(__file__), SIZE


if __name__ == "__main__":
    ranks.main(globals())
