"""Stores, addresses, and names of reductions and engines, as in PyTorch's tests (mirrored_cases.md)."""

import copy
import datetime
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import plait as pl
import plait.distributed as dist
from plait.inside.distributed.process_groups import _get_default_store

from ranks import expect_error, free_port

TIMEOUT = datetime.timedelta(seconds=0.25)


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.addCleanup(lambda: dist.is_initialized() and dist.destroy_process_group())

    def stores(self):
        """One of each kind, empty."""
        yield dist.HashStore()
        yield dist.FileStore(str(self.folder / "store"), 1)
        yield dist.PrefixStore("part", dist.FileStore(str(self.folder / "other"), 1))
        yield dist.TCPStore("localhost", 0, 1, True)
        yield dist.PrefixStore("part", dist.TCPStore("localhost", 0, 1, True))

    def late(self, call, *arguments, seconds=TIMEOUT.total_seconds(), said=()):
        start = time.monotonic()
        expect_error(pl.errors.DistError, said, call, *arguments)
        self.assertLess(abs(time.monotonic() - start - seconds), 1.5)


class Stores(InAFolder):
    def test_set_get_add_delete(self):
        for store in self.stores():
            with self.subTest(store):
                for amount in (1, 2, 3):
                    store.add("count", amount)
                for i in range(3):
                    store.set(f"key{i}", f"value{i}")
                self.assertEqual([store.add("sum", each) for each in range(1, 7)], [1, 3, 6, 10, 15, 21])
                self.assertEqual([store.get(key) for key in ("count", "key0", "key1", "key2", "sum")], [b"6", b"value0", b"value1", b"value2", b"21"])
                self.assertEqual(store.num_keys(), 5)  # no keys of its own are counted
                store.set("-key", "7")
                self.assertEqual((store.get("-key"), store.num_keys(), store.delete_key("-key"), store.num_keys()), (b"7", 6, True, 5))
                self.assertEqual([store.delete_key(key) for key in ("-key", "count", "key0")], [False, True, True])
                store.set_timeout(TIMEOUT)
                self.late(store.get, "count", said=["count"])
                self.assertEqual((store.num_keys(), store.check(["sum", "key2"]), store.check(["sum", "key0"])), (3, True, False))

    def test_compare_set(self):
        for store in self.stores():
            with self.subTest(store):
                self.assertEqual(store.compare_set("key", "other", "new"), b"other")  # a key that is not set: the expected value
                self.assertFalse(store.check(["key"]))
                store.set("key", "value")
                self.assertEqual([store.compare_set("key", expected, "new") for expected in ("other", "value", "value")], [b"value", b"new", b"new"])
                self.assertEqual((store.compare_set("unset", "", "first"), store.get("unset")), (b"first", b"first"))

    def test_wait_and_several_keys(self):
        for store in self.stores():
            with self.subTest(store):
                self.late(store.wait, ["bad", "worse"], TIMEOUT, said=["bad", "worse"])
                store.add("good", 1)
                store.wait(["good"])
                store.set("whole", "po")
                for key, value in (("whole", "tato"), ("parts", "po"), ("parts", "tato")):
                    store.append(key, value)
                self.assertEqual(store.multi_get(["whole", "parts"]), [b"potato"] * 2)
                store.multi_set(["a", "b"], ["po", b"\0tato"])
                self.assertEqual(store.multi_get(["b", "a"]), [b"\0tato", b"po"])
                store.set_timeout(20)
                setting = threading.Timer(0.05, store.set, ["late", "value"])
                setting.start()
                store.wait(["late"])
                self.assertEqual(store.get("late"), b"value")
                setting.join()

    def test_prefixes(self):
        for store in (dist.HashStore(), dist.FileStore(str(self.folder / "f"), 1), dist.TCPStore("localhost", 0, 1, True)):
            inner = dist.PrefixStore("inner", dist.PrefixStore("outer", store))
            self.assertIs(inner.underlying_store.underlying_store, store)
            inner.multi_set(["a", "b"], ["x", "y"])
            inner.append("a", "z")
            self.assertEqual(store.multi_get(["outer/inner/a", "outer/inner/b"]), [b"xz", b"y"])

    def test_clients(self):
        """Several clients of a server, whether their number is known or not."""
        for size in (5, None):
            server = dist.TCPStore("localhost", 0, size, True, wait_for_workers=False)
            server.set("key", "value")
            for i in range(4):
                client = dist.TCPStore("localhost", server.port, size, timeout=TIMEOUT * 40, wait_for_workers=False)
                self.assertEqual(client.get("key"), b"value")
                client.set(f"new{i}", "first")
                self.assertEqual(client.compare_set(f"new{i}", "first", "next"), b"next")
            self.assertEqual([server.get(f"new{i}") for i in range(4)], [b"next"] * 4)

    def test_servers_and_clients_that_do_not_come(self):
        self.late(dist.TCPStore, "localhost", 0, 2, True, TIMEOUT, said=["1 of 2 processes connected"])
        dist.TCPStore("localhost", 0, 2, True, TIMEOUT, wait_for_workers=False)
        self.late(dist.TCPStore, "localhost", free_port(), 2, False, TIMEOUT, said=["cannot connect to localhost"])
        self.late(dist.TCPStore, "no.such.host.invalid", 23456, 2, False, TIMEOUT, said=["no.such.host.invalid"])
        server = dist.TCPStore("localhost", 0, 1, True)
        expect_error(pl.errors.DistError, ["cannot listen", str(server.port)], dist.TCPStore, "localhost", server.port, 1, True)
        expect_error(pl.errors.ValueError, ["world_size is 0"], dist.TCPStore, "localhost", server.port, 0)

    def test_files_are_removed(self):
        """By the last of as many stores as there are processes."""
        path = self.folder / "store"
        first, second = dist.FileStore(str(path), 2), dist.FileStore(str(path), 2)
        first.set("key", "value")
        self.assertEqual(second.get("key"), b"value")
        del first
        self.assertTrue(path.exists())
        del second
        self.assertFalse(path.exists())


class Addresses(InAFolder):
    def test_default_store(self):
        """It has the timeout of the group."""
        for method in (f"file://{self.folder}/place", f"tcp://127.0.0.1:{free_port()}"):
            dist.init_process_group("gloo", init_method=method, world_size=1, rank=0, timeout=TIMEOUT)
            self.late(_get_default_store().get, "no such key", said=["no such key"])
            dist.destroy_process_group()

    def test_one_does_not_come(self):
        """With each kind of store: the rank that waits says who is missing."""
        stores = (dist.HashStore(), dist.FileStore(str(self.folder / "store")), dist.TCPStore("localhost", 0, is_master=True))
        for store, engine in zip(stores, ("local", "gloo", "local"), strict=True):
            with self.subTest(store):
                self.late(lambda engine=engine, store=store: dist.init_process_group(engine, store=store, rank=1, world_size=3, timeout=0.4),
                          seconds=0.4, said=["rank 0, 2 did not join the group within 0.4 s"])

    def test_environment(self):
        """rank and world_size are in the environment, in the address or in the call."""
        known = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": str(free_port())}
        for absent, method, options in (((), None, {}), (("WORLD_SIZE",), None, {"world_size": 1}), (("RANK",), None, {"rank": 0}),
                                        (("RANK", "WORLD_SIZE"), None, {"rank": 0, "world_size": 1}), (("WORLD_SIZE",), "env://?world_size=1", {}),
                                        (("RANK",), "env://?rank=0", {}), (("RANK", "WORLD_SIZE"), "env://?rank=0&world_size=1", {}),
                                        (("RANK",), "env://?rank=0", {"rank": 0})):
            with self.subTest(f"without {absent}, {method}"), mock.patch.dict(os.environ, known):
                for name in absent:
                    del os.environ[name]
                dist.init_process_group(init_method=method, **options)
                self.assertEqual((dist.get_rank(), dist.get_world_size()), (0, 1))
                dist.destroy_process_group()

    def test_refused(self):
        file = f"file://{self.folder}/place"
        for method, said in (("invalid://", "expected env://"), ("file://?rank=0&world_size=1", "expected the absolute path"),
                             (f"{file}?world_size=1", "needs rank"), (f"{file}?rank=0", "world_size"),
                             ("tcp://127.0.0.1?rank=0&world_size=1", "no port"),
                             ("tcp://127.0.0.1:23456?world_size=1", "needs rank"), ("tcp://127.0.0.1:23456?rank=0", "world_size")):
            with self.subTest(method):
                expect_error(pl.errors.ValueError, ["init_process_group: ", said], dist.init_process_group, init_method=method)
        for address, options in (("rank=1&world_size=2", {"rank": 0}), ("rank=0&world_size=3", {"world_size": 2}),
                                 ("rank=1", {"rank": 0, "world_size": 2})):
            with self.subTest(address):
                expect_error(pl.errors.ValueError, ["init_process_group: ", "in tcp://127.0.0.1:23456?"], dist.init_process_group,
                             init_method=f"tcp://127.0.0.1:23456?{address}", timeout=1, **options)

    def test_without_a_backend_and_an_end(self):
        """A group of its own, never destroyed: the process ends. Loggers are left as they are."""
        text = ("import logging\nimport plait.distributed as dist\nbefore = list(logging.root.handlers)\n"
                "dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())\nassert logging.root.handlers == before\n"
                "print(dist.get_backend())")
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "local\n"), done.stderr)

    def test_local_rank(self):
        with mock.patch.dict(os.environ, {"LOCAL_RANK": "3"}):
            self.assertEqual((dist.get_node_local_rank(fallback_rank=123), dist.get_node_local_rank()), (3, 3))


class Names(unittest.TestCase):
    OPS = [getattr(dist.ReduceOp, name) for name in ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR")]

    def test_reductions(self):
        makers = dist.premul_sum, dist._make_nccl_premul_sum, dist.ReduceOp.PREMUL_SUM
        scaled = [make(factor) for make in makers for factor in (2.0, pl.tensor(2.0))]
        for op in (*self.OPS, *scaled):
            with self.subTest(op):
                self.assertIsInstance(op, dist.ReduceOp)
                for same in (copy.copy(op), copy.deepcopy(op), pickle.loads(pickle.dumps(op)), dist.ReduceOp(op)):
                    self.assertEqual((same, hash(same), type(same)), (op, hash(op), type(op)))
                self.assertFalse(op == "abc" or op is None or "abc" in (op,) or op != copy.copy(op))
        self.assertEqual({each.factor for each in scaled}, {2.0})
        self.assertEqual(len({*self.OPS, *scaled, dist.premul_sum(3.0)}), 10)
        self.assertNotIn(dist.ReduceOp.SUM, scaled)
        expect_error(pl.errors.ValueError, ["ReduceOp: op is 'mean', which is not a reduction"], dist.ReduceOp, "mean")

    def test_backends(self):
        self.assertEqual([dist.Backend(name) for name in ("GLOO", "gloo", "Mpi")], ["gloo", "gloo", "mpi"])
        for given in (None, 3, ["gloo"]):
            expect_error(pl.errors.TypeError, ["Backend: name is"], dist.Backend, given)
        for backend, said in (("cpu:gloo,cuda:nccl,", "cuda:nccl"), ("cpu:gloo:extra", "expected one of"), ("cpu:gloo,bare", "bare"),
                              ("dummy", "expected one of")):
            expect_error(pl.errors.ValueError, ["init_process_group: backend is", said], dist.init_process_group, backend, store=dist.HashStore(),
                         rank=0, world_size=1)
        self.assertFalse(dist.is_backend_available("dummy"))
        self.assertEqual(dist.is_gloo_available(), dist.is_backend_available("gloo"))

    def test_errors(self):
        """Programs catch them by PyTorch's names, and as RuntimeError."""
        for kind in (dist.DistError, dist.DistBackendError, dist.DistNetworkError, dist.DistStoreError):
            self.assertTrue(issubclass(pl.errors.DistError, kind) and issubclass(kind, RuntimeError))
        store = dist.HashStore()
        store.set_timeout(0.05)
        with self.assertRaises(dist.DistStoreError):
            store.get("key")


if __name__ == "__main__":
    unittest.main()
