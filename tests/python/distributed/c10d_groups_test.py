"""Groups of ranks, and calls that some ranks do not make, as in PyTorch's tests (mirrored_cases.md)."""

import os
import tempfile
import time
import unittest

import numpy as np
import plait as pl
import plait.distributed as dist

import ranks
from ranks import begin, expect_error

SIZE = 4
OUTSIDE = dist.GroupMember.NON_GROUP_MEMBER


def gathered(value, group=None):
    """The values of all ranks of a group, in their order."""
    parts = [pl.zeros(1, dtype="i64") for _ in range(dist.get_world_size(group))]
    dist.all_gather(parts, pl.asarray(np.array([value])), group)
    return [int(each[0]) for each in parts]


# ---- Groups.


def members(rank, size):
    assert gathered(rank) == list(range(size))
    engine, some = dist.get_backend(), dist.new_group([1, 2])
    if rank in (1, 2):
        assert dist.get_backend(some) == engine == some.name() and some.size() == 2 and dist.get_rank(some) == rank - 1
        assert dist.get_group_rank(some, 2) == 1 and dist.get_global_rank(some, 1) == 2 and dist.get_process_group_ranks(some) == [1, 2]
        expect_error(pl.errors.ValueError, ["get_group_rank", "rank 0 is not in the group"], dist.get_group_rank, some, 0)
        expect_error(pl.errors.ValueError, ["get_global_rank", "expected 0 to 1"], dist.get_global_rank, some, 2)
    else:
        assert some is OUTSIDE and dist.get_world_size(some) == dist.get_rank(some) == -1
        expect_error(pl.errors.ValueError, ["get_backend: this process is not in the group"], dist.get_backend, some)
    every = dist.new_group()
    assert (dist.get_world_size(every), dist.get_rank(every)) == (size, rank)
    for group in (some, every):
        dist.destroy_process_group(group)


def divided(rank, size):
    own, both = dist.new_subgroups(2)
    assert own.size() == 2 and len(both) == 2 and gathered(rank, own) == [rank - rank % 2, rank - rank % 2 + 1]
    by_lists, listed = dist.new_subgroups_by_enumeration([[0, 2], [1, 3]])
    assert by_lists is listed[rank % 2] and gathered(rank, by_lists) == [rank % 2, rank % 2 + 2]
    alone, each = dist.new_subgroups(group_size=1, group=by_lists)
    assert len(each) == 2 and gathered(rank, alone) == [rank]
    for group in (alone, *listed, *both):
        dist.destroy_process_group(group)
    for said, call, given in (("expected 1 to 4", dist.new_subgroups, 100), ("4 ranks cannot be divided into groups of 3", dist.new_subgroups, 3),
                              ("[1][0] is 4, expected 0 to 3", dist.new_subgroups_by_enumeration, [[0, 1], [size, 2]]),
                              ("[0][0] is -1, expected 0 to 3", dist.new_subgroups_by_enumeration, [[-1, -2], [-3, -4]]),
                              ("rank 1 is in ranks_per_subgroup_list[1] and ", dist.new_subgroups_by_enumeration, [[0], [1, 2], [1, 3]])):
        expect_error(pl.errors.ValueError, [said], call, given)


def by_members_alone(rank, size):
    """Ranks that call together are those of the group; who is not in it gets nothing, and waits for none."""
    mine = [rank, (rank + 2) % size]
    assert dist.new_group([each for each in range(size) if each not in mine], use_local_synchronization=True) is OUTSIDE
    group = dist.new_group(mine, use_local_synchronization=True)
    assert dist.get_process_group_ranks(group) == sorted(mine) and dist.get_group_rank(group, rank) == sorted(mine).index(rank)
    pair = [rank - rank % 2, rank - rank % 2 + 1]
    twins = [dist.new_group(pair, use_local_synchronization=True) for _ in range(2)]
    assert [gathered(rank, each) for each in (*twins, group)] == [pair, pair, sorted(mine)] and twins[0].group_name != twins[1].group_name
    backwards = dist.new_group(range(size - 1, -1, -1), sort_ranks=False)
    assert gathered(rank, backwards) == dist.get_process_group_ranks(backwards) == list(range(size - 1, -1, -1))


def samples(rank, size):
    """Each rank has as many, also of few; the ranks are those of the group of all."""
    for count in (100 + size + 1, size // 2 - 1):
        for drop in (False, True):
            sampler = dist.DistributedSampler(range(count), drop_last=drop)
            share = -(-(count - size) // size) if drop and count % size else -(-count // size)
            assert (sampler.num_samples, len(list(sampler)), sampler.total_size) == (share, share, share * size)
            assert (sampler.num_replicas, sampler.rank) == (size, rank) and gathered(sampler.num_samples) == [share] * size


def described(rank, size):
    world = dist.group.WORLD
    assert (world.group_desc, dist.new_group().group_desc, dist.new_group(group_desc="pairs").group_desc) == ("default_pg", "undefined", "pairs")
    for i in range(2):
        part = dist.split_group(world, [[0, 1]])
        assert part is OUTSIDE if rank > 1 else part.group_desc == f"default_pg:split:{i}" and gathered(rank, part) == [0, 1]


def destroyed(rank, size):
    """All groups together, of which one has calls in progress, and one has made none."""
    used, unused = dist.new_group(), dist.new_group([0, 1])
    gathered(rank, used)
    time.sleep(0.2 if rank == 1 else 0)
    numbers = [pl.full((200_000,), float(i)) for i in range(8)]
    for x in numbers:  # not waited for
        dist.all_reduce(x, group=used, async_op=True)
        dist.broadcast(x.copy(), 2, async_op=True)
    dist.destroy_process_group()
    assert [float(x[-1]) for x in numbers] == [float(size * i) for i in range(8)]
    for group in (None, used, unused if rank < 2 else used):
        expect_error(pl.errors.ValueError, ["all_reduce: "], dist.all_reduce, pl.ones(1), group=group)


def of_groups():
    rank, size = begin()
    for case in (members, divided, by_members_alone, samples, described, destroyed):
        case(rank, size)
    assert begin() == (rank, size) and gathered(rank) == list(range(size))


def again_in_a_store():
    place = {"rank": int(os.environ["RANK"]), "world_size": int(os.environ["WORLD_SIZE"])}
    store = dist.FileStore(os.environ["PLACE"], place["world_size"])
    for prefix in ("first", "second"):
        dist.init_process_group("gloo", store=dist.PrefixStore(prefix, store), **place)
        assert gathered(place["rank"]) == [0, 1]
        dist.destroy_process_group()
        expect_error(pl.errors.ValueError, ["all_reduce"], dist.all_reduce, pl.ones(1))
    store.add("ended", 1)
    while int(store.get("ended")) < 2:
        time.sleep(0.01)


# ---- Who does not come.


def late(seconds, absent, call, *arguments, **options):
    """The call ends at the deadline, and says who has not come."""
    start = time.monotonic()
    expect_error(pl.errors.DistError, [f"did not end within {seconds} s", *absent], call, *arguments, **options)
    assert 0.9 * seconds <= time.monotonic() - start < seconds + 1.5, time.monotonic() - start


def absent_from_groups(rank, size):
    """Timeouts of a group, of a part, of one call; the group of all goes on."""
    part, every, patient = (dist.new_group([1, 2], timeout=0.6), dist.new_group(timeout=0.6), dist.new_group(timeout=300))
    if rank == 1:
        late(0.6, ["barrier"], dist.barrier, part)
    if rank == 0:
        late(0.6, ["barrier", "rank 1", "2", "3"], dist.barrier, every)
        late(0.05, ["barrier", "rank 1"], dist.barrier, patient, timeout=0.05)
        start = time.monotonic()
        expect_error(pl.errors.DistError, ["barrier"], dist.barrier, patient)  # it is dead
        assert time.monotonic() - start < 1
    dist.barrier()


def absent_from_barriers(rank, size):
    """monitored_barrier says who has not come: in groups, and of several all."""
    for all_ranks in (False, True):
        for _ in range(10):
            dist.all_reduce(pl.full((10,), float(rank)))
        dist.monitored_barrier(timeout=20, wait_all_ranks=all_ranks)
    pair = dist.new_group([0, 1])
    if rank == 0:
        late(0.1, ["barrier", "rank 1"], dist.monitored_barrier, pair, 0.1)
    elif rank > 1:
        dist.monitored_barrier(pair, 0.1)
    every, others, another = (dist.new_group() for _ in range(3))
    if rank == 0:  # others wait in a call of another group
        late(0.3, ["barrier", "rank 1", "2", "3"], dist.monitored_barrier, others, 0.3, True)
    else:
        late(0.3, ["all_reduce"], dist.all_reduce, pl.ones(3), group=another, timeout=0.3)
    if rank in (0, 3):
        late(0.6, ["barrier", "rank 1", "2"], dist.monitored_barrier, every, 0.6, wait_all_ranks=True)
    expect_error(pl.errors.ValueError, ["the timeout is 0"], dist.monitored_barrier, timeout=0)
    dist.barrier()


def absent_from_a_new_group(rank, size):
    start = time.monotonic()
    if rank < 3:
        expect_error(pl.errors.DistError, ["rank 3"], dist.new_group, timeout=0.6)
        assert 0.5 <= time.monotonic() - start < 2.1
    else:
        time.sleep(1.5)


def absences():
    rank, size = begin()
    for case in (absent_from_groups, absent_from_barriers, absent_from_a_new_group):
        case(rank, size)


class C10dGroups(unittest.TestCase):
    def on(self, engine, *functions):
        for function in functions:
            with self.subTest(function.__name__):
                ranks.run_on(self, engine, os.path.abspath(__file__), function.__name__, SIZE)

    def test_local(self):
        self.on("local", of_groups, absences)

    def test_gloo(self):
        self.on("gloo", of_groups, absences)

    def test_mpi(self):
        self.on("mpi", of_groups)

    def test_again_in_a_store(self):
        with tempfile.TemporaryDirectory() as folder:
            ranks.run(self, os.path.abspath(__file__), "again_in_a_store", 2, environment={"PLACE": f"{folder}/store"})


if __name__ == "__main__":
    ranks.main(globals())
