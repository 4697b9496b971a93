"""plait.distributed: where processes find each other, again and again, and addresses that are not such places."""

import os
import pathlib
import signal
import tempfile
import time
import unittest
from unittest import mock

import plait as pl
import plait.distributed as dist

import ranks
from ranks import expect_error


def used(times=20, **options):
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    for i in range(times):
        dist.init_process_group(timeout=20, **options)
        x = pl.full((2,), float(i + rank))
        dist.all_reduce(x)
        assert x.tolist() == [sum(i + each for each in range(size))] * 2
        if i % 5 == 4:
            dist.barrier(dist.new_group())
        if i % 3 == rank:
            time.sleep(0.01)  # others leave, and come again, before
        dist.destroy_process_group()


def env():
    used()


def addresses():
    place = {"rank": int(os.environ["RANK"]), "world_size": int(os.environ["WORLD_SIZE"])}
    used(init_method=f"tcp://localhost:{os.environ['MASTER_PORT']}", **place)
    used(init_method=f"tcp://localhost:{os.environ['MASTER_PORT']}?rank={place['rank']}&world_size={place['world_size']}")
    used(init_method=f"file://{os.environ['PLACE']}", **place)


def by_turns():
    """One rank has had groups of its own before, which the others have not."""
    if os.environ["RANK"] == "0":
        for _ in range(3):
            dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
            dist.destroy_process_group()
    env()
    place = {"rank": int(os.environ["RANK"]), "world_size": int(os.environ["WORLD_SIZE"])}
    used(init_method=f"file://{os.environ['PLACE']}", **place)


def killed():
    used(3)
    dist.init_process_group(timeout=20)
    dist.barrier()
    if dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    expect_error(pl.errors.DistError, ["rank 1 has ended"], dist.barrier)


class Places(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name) / "place"

    def run_ranks(self, function, size=3, **options):
        ranks.run(self, os.path.abspath(__file__), function.__name__, size, environment={"PLACE": str(self.place)}, **options)

    def test_env_again(self):
        self.run_ranks(env)

    def test_addresses_again(self):
        self.run_ranks(addresses)
        self.assertFalse(self.place.exists())

    def test_groups_of_one_rank_before(self):
        self.run_ranks(by_turns, 2)

    def test_killed(self):
        self.run_ranks(killed, 2, codes={1: -signal.SIGKILL})


class NoPlaces(unittest.TestCase):
    def refused(self, said, kind=pl.errors.ValueError, **options):
        begin = time.monotonic()
        expect_error(kind, [f"init_process_group: {said}"], dist.init_process_group, timeout=20, **options)
        self.assertLess(time.monotonic() - begin, 5)

    def test_ranks_are_checked_before_connecting(self):
        for rank, size, said in (("1", "1", "rank is 1 where world_size is 1, expected 0 to 0"), ("-1", "1", "rank is -1 where"),
                                 ("0", "0", "world_size is 0"),
                                 ("x", "1", "the environment variable RANK is 'x', expected an integer")):
            with mock.patch.dict(os.environ, {"RANK": rank, "WORLD_SIZE": size, "MASTER_PORT": str(ranks.free_port())}):
                self.refused(said)
        self.refused("rank is 2 where", store=dist.HashStore(), rank=2, world_size=2)
        self.refused("rank is '0', expected an integer", pl.errors.TypeError, store=dist.HashStore(), rank="0", world_size=1)

    def test_addresses(self):
        for method, said in (("file://name", "expected the absolute path of a file: file:///path/to/file"),
                             ("file://there/name", "expected the absolute path"), ("name", "expected env://"),
                             ("tcp://localhost", "which has no port"), ("tcp://:5", "which has no host"),
                             ("tcp://localhost:99999", "Port out of range"), ("tcp://localhost:0", "the port is 0"),
                             ("tcp://localhost:5?rank=x", "rank in tcp://localhost:5?rank=x is 'x'")):
            rank = -1 if "rank" in method else 0
            with self.subTest(method):
                expect_error(pl.errors.ValueError, ["init_process_group: ", said], dist.init_process_group, init_method=method, rank=rank,
                             world_size=2, timeout=5)
        self.refused("init_method is 5, expected a str", pl.errors.TypeError, init_method=5)
        self.refused("device_id is 0, expected None", store=dist.HashStore(), rank=0, world_size=1, device_id=0)
        self.assertFalse(dist.is_initialized())

    def test_local_rank(self):
        with mock.patch.dict(os.environ, {"LOCAL_RANK": "2"}):
            self.assertEqual(dist.get_node_local_rank(), 2)
        with mock.patch.dict(os.environ):
            os.environ.pop("LOCAL_RANK", None)
            os.environ.pop("TORCHELASTIC_RUN_ID", None)
            self.assertEqual(dist.get_node_local_rank(4), 4)
            expect_error(pl.errors.ValueError, ["get_node_local_rank: the environment variable LOCAL_RANK is not set"], dist.get_node_local_rank)
            self.assertFalse(dist.is_torchelastic_launched())


if __name__ == "__main__":
    ranks.main(globals())
