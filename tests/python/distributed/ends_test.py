"""plait.distributed: how ranks end, and tensors that only a call holds."""

import multiprocessing
import os
import socket
import sys
import threading
import unittest
import warnings
from unittest import mock

import numpy as np
import plait as pl
import plait.distributed as dist

import ranks
from ranks import expect_error


def stops_with_an_error():
    """The other ranks are told within a second; so are those of mpirun, which ends the job."""
    rank, size = ranks.begin(timeout=60)
    dist.barrier()
    if rank == 1:
        raise LookupError("no data here")
    expect_error(pl.errors.DistError, ["rank 1 was ended by LookupError: no data here"], dist.all_reduce, pl.ones(size))


def sends_last(engine, rank, port):
    """The last thing that it does is a message, as in PyTorch's tutorial."""
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=str(port), PLAIT_THREADS="1")
    dist.init_process_group(engine, rank=rank, world_size=2, timeout=30)
    x = pl.zeros(1)
    if rank == 0:
        dist.send(x + 1, dst=1)
    else:
        dist.recv(x, src=0)
        assert x.item() == 1


class Ends(unittest.TestCase):
    def test_an_error_ends_the_calls_of_others(self):
        for engine in "local", "gloo":
            with self.subTest(engine):
                ranks.run_on(self, engine, __file__, "stops_with_an_error", 3, codes={1: 1})

    def test_an_error_ends_a_job_of_mpirun(self):
        if "mpi" not in pl._core._comm.engines() or ranks.mpirun("-n", "2", "true").returncode != 0:
            self.skipTest("mpirun starts no job here")
        done = ranks.mpirun("-n", "3", sys.executable, __file__, "--rank", "stops_with_an_error",
                            env={**os.environ, "PLAIT_TEST_ENGINE": "mpi", "PLAIT_THREADS": "1"})
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no data here", done.stderr)

    def test_forked_processes_leave_their_groups(self):
        forking = multiprocessing.get_context("fork")
        for engine in "local", "gloo":
            if engine not in pl._core._comm.engines():
                continue
            for _ in range(3):
                port = ranks.free_port()
                processes = [forking.Process(target=sends_last, args=(engine, rank, port)) for rank in range(2)]
                for each in processes:
                    each.start()
                for each in processes:
                    each.join()
                self.assertEqual([each.exitcode for each in processes], [0, 0], engine)


class Held(unittest.TestCase):
    """Calls give tensors values; of one that nothing else holds they are lost."""

    def setUp(self):
        dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
        self.addCleanup(dist.destroy_process_group)

    def test_a_tensor_that_the_call_alone_holds_is_warned_of(self):
        x, w = pl.ones((2, 3)), pl.ones(3).requires_grad()
        pl.sum(w * w).backward()
        for call in (lambda: dist.all_reduce(x[0]), lambda: dist.all_reduce(tensor=w.grad), lambda: dist.all_reduce(w.detach(), dist.ReduceOp.AVG),
                     lambda: dist.reduce_scatter_tensor(x[0], x[0]), lambda: dist.all_gather_into_tensor(x.reshape(6), x),
                     lambda: dist.all_to_all_single(x.T, x.T), lambda: dist.scatter(x[0], [x[1]]), lambda: dist.reduce_scatter(x[0], [x[1]])):
            with self.assertWarnsRegex(UserWarning, "is held nowhere else, so that the values which the call gives it are lost"):
                call()

    def test_others_are_not(self):
        x = pl.ones((2, 3))
        held = {"list": [pl.ones(3)], "model": pl.nn.Linear(2, 2)}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            dist.all_reduce(x)
            dist.all_reduce(tensor=x, op=dist.ReduceOp.MAX)
            dist.all_reduce(held["list"][0], async_op=True).wait()
            for each in pl.tree.leaves(held["model"]):
                dist.all_reduce(each)
            dist.all_reduce(held["model"].weight)
            (lambda tensor: dist.all_reduce(tensor))(pl.ones(2))
            dist.broadcast(x[0], 0)  # the root, which is not written
            dist.all_gather_object([None], {"a": 1})
            dist.broadcast_object_list([1], 0)

    def test_arrays_of_other_libraries_are_named(self):
        expect_error(pl.errors.TypeError, ["expected a Tensor", "plait.asarray(x)"], dist.all_reduce, np.ones(3))

    def test_a_leaf_of_a_tape_is_named(self):
        expect_error(pl.errors.TypeError, ["f32[3] requires a gradient", "x.detach()"], dist.all_reduce, pl.ones(3).requires_grad())


class AnotherStore(unittest.TestCase):
    def test_a_launcher_that_serves_another_store_is_said(self):
        with socket.create_server(("localhost", 0)) as server:
            threading.Thread(target=lambda: server.accept()[0].close(), daemon=True).start()
            variables = {"TORCHELASTIC_USE_AGENT_STORE": "True", "MASTER_ADDR": "localhost", "MASTER_PORT": str(server.getsockname()[1]),
                         "RANK": "0", "WORLD_SIZE": "2"}
            with mock.patch.dict(os.environ, variables):
                expect_error(pl.errors.DistError, ["no store of Plait answers at localhost", "torchrun serves PyTorch's store"],
                             dist.init_process_group, timeout=5)


if __name__ == "__main__":
    ranks.main(globals())
