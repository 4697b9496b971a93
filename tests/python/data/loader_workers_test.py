"""Loaders whose workers are threads: failures, timeouts, and their end. Arguments of loaders that are refused."""

import gc
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest
import weakref

import numpy as np
import plait as pl
from plait.data import DataLoader

import loading_cases as cases
from loading_cases import Failing, Numbers, Slow, WORKERS, numbers


def run_script(text, **named):
    """Runs a program with the package and these modules."""
    folder = os.path.dirname(os.path.abspath(__file__))
    path = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, check=False, timeout=120,
                          env={**os.environ, "PYTHONPATH": path}, **named)


class Workers(unittest.TestCase):
    def test_an_error_names_the_sample_and_the_line_and_is_passed_by(self):
        for options in WORKERS:
            with self.subTest(options):
                loader = DataLoader(Failing(12, {5}, KeyError("colour")), 2, **options)
                found, batches = [], iter(loader)
                while True:
                    try:
                        found.append(next(batches).tolist())
                    except StopIteration:
                        break
                    except KeyError as error:
                        self.assertEqual(error.args, ("colour",))
                        self.assertRegex("\n".join(error.__notes__), r"sample 5, at .*loading_cases.py:\d+, in __getitem__")
                        self.assertEqual(loader.state_dict()["place"], 6)
                self.assertEqual(found, [[0, 1], [2, 3], [6, 7], [8, 9], [10, 11]])
                self.assertEqual(loader.epoch, 1)

    def test_an_error_of_plait_begins_with_the_sample(self):
        for options in WORKERS:
            with self.assertRaisesRegex(pl.ValueError, "^sample 3: bad") as caught:
                list(DataLoader(pl.data.mapped(range(4), _refusing), 2, **options))
            self.assertTrue(caught.exception.message.startswith("sample 3: bad"))
            with self.assertRaisesRegex(pl.ShapeError, "the batch of samples 0, 1: .*f32.3.*the first sample of its batch has f32.2") as caught:
                list(DataLoader([np.zeros(2, np.float32), np.zeros(3, np.float32)], 2, **options))
            self.assertNotIn("threading.py", str(caught.exception))

    def test_exceptions_that_end_loops_do_not_end_ours(self):
        for options in WORKERS:
            with self.assertRaisesRegex(RuntimeError, "StopIteration"):
                list(DataLoader(Failing(4, {1}, StopIteration()), 2, **options))
        with self.assertRaises(SystemExit):
            list(DataLoader(Failing(4, {1}, SystemExit(3)), 2, num_workers=1))

    def test_a_failing_init_is_raised(self):
        with self.assertRaisesRegex(RuntimeError, "no worker 0"):
            list(DataLoader(range(4), num_workers=1, worker_init_fn=cases.failing_init))

    def test_init_is_called_in_each(self):
        seen = []
        loader = DataLoader(range(9), num_workers=3, worker_init_fn=seen.append, persistent_workers=True)
        for _ in range(3):
            list(loader)
        self.assertEqual(sorted(seen), [0, 1, 2])
        loader.close()

    def test_timeout(self):
        loader = DataLoader(Slow(8, 2, 1.0), 2, num_workers=2, timeout=60)
        batches = iter(loader)
        self.assertEqual(next(batches).tolist(), [0, 1])
        loader.timeout = 0.1
        with self.assertRaisesRegex(pl.IoError, "not ready after 0.1 s"):
            next(batches)
        loader.timeout = 60
        self.assertEqual(numbers(batches), [[2, 3], [4, 5], [6, 7]])

    def test_without_order_a_slow_batch_is_overtaken(self):
        def make():
            return DataLoader(Slow(20, 3, 0.5), 2, num_workers=2, in_order=False)

        loader, found, states = make(), [], []
        for batch in loader:
            found.append(batch.tolist())
            states.append((loader.state_dict(), loader.state()))
        self.assertEqual(sorted(found), [[i, i + 1] for i in range(0, 20, 2)])
        self.assertGreater(found.index([2, 3]), 1)
        for taken in 2, 7:
            for state in states[taken - 1]:
                again = make()
                again.load_state_dict(state)
                self.assertEqual(sorted(found[:taken] + numbers(again)), sorted(found))
        state = next(each for each, _ in states if each.get("done"))
        with self.assertRaisesRegex(pl.ValueError, "batch size 2, whose batches were in no order .* batch size 5"):
            DataLoader(range(20), 5).load_state_dict(state)
        with self.assertRaisesRegex(pl.ValueError, "no batch begins there"):
            DataLoader(range(20), 5).load_state_dict({**state, "division": []})

    def test_without_order_the_state_is_of_its_rank(self):
        def make(ranks, rank, in_order=False, size=2):
            return DataLoader(range(24), size, rank=rank, world_size=ranks, in_order=in_order)

        loader = make(3, 1)
        batches = iter(loader)
        next(batches)
        ordered = make(3, 1, in_order=True)  # it goes on, and its places differ from those of other ranks still
        ordered.load_state_dict(loader.state_dict())
        next(iter(ordered))
        for saved in loader, ordered:
            for state in saved.state_dict(), saved.state():
                make(3, 1).load_state_dict(state)
                for other in make(3, 0), make(2, 1), make(4, 1), make(3, 1, size=4):
                    with self.assertRaisesRegex(pl.ValueError, "(?s)the state is of rank 1 of 3, batch size 2.*in_order=True"):
                        other.load_state_dict(state)
        list(batches)
        make(4, 2).load_state_dict(loader.state_dict())  # the next epoch
        self.assertNotIn("division", loader.state_dict())
        whole = make(1, 0)
        next(iter(whole))
        make(3, 0).load_state_dict(whole.state_dict())  # none is done out of order

    def test_the_first_batch_is_there_soon(self):
        loader, times = DataLoader(Numbers(1000), 8, num_workers=2), []
        for _ in range(5):
            begin = time.monotonic()
            next(iter(loader))
            times.append(time.monotonic() - begin)
        self.assertLess(min(times), 0.05)

    def threads(self):
        return [each for each in threading.enumerate() if each.name.startswith("plait-data")]

    def test_no_thread_is_left(self):
        for taken in (0, 1, 3, 100):
            for _ in zip(range(taken), DataLoader(range(50), num_workers=3)):
                pass
            gc.collect()
            self.assertEqual(self.threads(), [])
        loader = DataLoader(range(50), num_workers=3, persistent_workers=True)
        for _ in range(3):
            list(loader)
            self.assertEqual(len(self.threads()), 3)
        iterator = iter(loader)
        next(iterator)
        del loader, iterator
        gc.collect()
        self.assertEqual(self.threads(), [])

    def test_nothing_is_kept(self):
        class Sample:
            pass

        class Samples(pl.data.Dataset):
            made = []

            def __len__(self):
                return 40

            def __getitem__(self, index):
                sample = Sample()
                self.made.append(weakref.ref(sample))
                return sample

        loader = DataLoader(Samples(), 2, num_workers=2, collate_fn=list)
        for _ in zip(range(5), loader):
            pass
        del _
        gc.collect()
        self.assertEqual([each() for each in Samples.made if each() is not None], [])

    def test_thousands_of_batches_leak_nothing(self):
        loader = DataLoader(pl.data.TensorDataset(pl.zeros((3000, 64))), num_workers=2)
        plain = DataLoader(Failing(3000, {7}, ValueError("x")), num_workers=2)

        def epoch():
            for _ in loader:
                pass
            batches = iter(plain)
            for _ in range(3000):
                try:
                    next(batches)
                except ValueError:
                    pass
            gc.collect()
            return len(gc.get_objects()), _resident()

        epoch()
        (objects, bytes_before), (objects_after, bytes_after) = epoch(), epoch()
        self.assertLess(objects_after - objects, 200)
        self.assertLess(bytes_after - bytes_before, 8 << 20)

    def test_the_interpreter_ends_while_they_work(self):
        for end in "", "sys.exit(3)", "raise ValueError('mine')", "del loader", "os._exit(3)":
            with self.subTest(end):
                done = run_script(f"""
                    import os, sys, time
                    import plait as pl
                    from loading_cases import Slow
                    def busy(x):
                        end = time.monotonic() + 0.2
                        while time.monotonic() < end:
                            sum(range(100))
                        return x
                    loader = pl.data.DataLoader(pl.data.mapped(Slow(100, 3, 0.2), busy), 2, num_workers=4, persistent_workers=True)
                    other = iter(pl.data.DataLoader(range(1000), num_workers=2))
                    batches = iter(loader)
                    next(other), next(batches)
                    {end}
                    """)
                self.assertEqual(done.returncode, {"": 0, "del loader": 0, "raise ValueError('mine')": 1}.get(end, 3), done.stderr)
                self.assertEqual(done.stderr.count("Traceback"), 1 if "raise" in end else 0, done.stderr)

    def test_ctrl_c_while_waiting(self):
        done = run_script("""
            import os, signal, threading, time
            import plait as pl
            from loading_cases import Slow
            loader = pl.data.DataLoader(Slow(10, 2, 2.0), 2, num_workers=1)
            batches = iter(loader)
            next(batches)
            threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            begin = time.monotonic()
            try:
                next(batches)
            except KeyboardInterrupt:
                print("interrupted", time.monotonic() - begin < 1.8, [batch.tolist() for batch in batches])
            """)
        self.assertEqual(done.stdout, "interrupted True [[2, 3], [4, 5], [6, 7], [8, 9]]\n", done.stderr)

    def test_a_forked_process_gets_none_and_may_begin_its_own(self):
        done = run_script("""
            import os, gc
            import plait as pl
            loader = pl.data.DataLoader(range(100), 10, num_workers=3, persistent_workers=True)
            batches = iter(loader)
            next(batches)
            child = os.fork()
            if child == 0:
                try:
                    next(batches)
                    os._exit(5)
                except pl.ValueError as error:
                    assert "forked" in str(error), error
                del batches
                gc.collect()
                own = [batch.tolist() for batch in pl.data.DataLoader(range(4), 2, num_workers=2)]
                assert own == [[0, 1], [2, 3]]
                print("child ends", flush=True)
                raise SystemExit(0)
            _, status = os.waitpid(child, 0)
            print(status, len(list(batches)))
            """)
        self.assertEqual(done.stdout, "child ends\n0 9\n", done.stderr)

    def test_they_work_in_parallel(self):
        loader = DataLoader(cases.Places(), 1, num_workers=4)
        self.assertEqual(len({ident.item() for _, ident in loader}), 4)
        few = DataLoader(cases.Places(), 16, num_workers=4)  # with few batches, each thread makes samples
        self.assertGreater(len({ident for _, idents in few for ident in idents.tolist()}), 2)

    def test_an_iteration_that_lost_its_workers_does_not_seem_to_end(self):
        loader = DataLoader(range(6), 2, num_workers=1, persistent_workers=True)
        with self.assertRaisesRegex(pl.ValueError, "a later iteration has begun"):
            for _ in loader:
                list(loader)
        with self.assertRaisesRegex(pl.ValueError, "a later iteration has begun"):
            list(zip(loader, loader))
        ended, first = iter(loader), loader
        self.assertEqual(len(list(ended)), 3)
        self.assertEqual(len(list(first)), 3)
        self.assertEqual(list(ended), [])
        loader.close()

    def test_threads_may_share_an_iteration(self):
        for options in {}, {"num_workers": 2}:
            batches, found = iter(DataLoader(range(2000), **options)), []
            switch = sys.getswitchinterval()
            sys.setswitchinterval(1e-6)
            threads = [threading.Thread(target=lambda: found.extend(each.item() for each in batches)) for _ in range(4)]  # noqa: B023
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            sys.setswitchinterval(switch)
            self.assertEqual(sorted(found), list(range(2000)))

    def test_no_thread_is_left_after_a_failing_init(self):
        with self.assertRaises(RuntimeError):
            list(DataLoader(range(4), num_workers=2, worker_init_fn=cases.failing_init))
        gc.collect()
        self.assertEqual([each for each in threading.enumerate() if each.name.startswith("plait-data")], [])

    def test_a_loader_is_pickled_with_its_place(self):
        loader = DataLoader(range(6), 2, num_workers=1, persistent_workers=True)
        batches = iter(loader)
        next(batches)
        again = pickle.loads(pickle.dumps(loader))
        again.load_state_dict(again.state_dict())
        self.assertEqual(numbers(again), [[2, 3], [4, 5]])
        loader.close()


def _refusing(x):
    if x == 3:
        cases.refuse()
    return x


def _resident():
    with open("/proc/self/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Refusals(unittest.TestCase):
    def refused(self, text, kind=pl.Error, **options):
        with self.assertRaisesRegex(kind, text):
            DataLoader(options.pop("dataset", range(5)), **options)

    def test_options(self):
        self.refused("batch_size is 0, expected 1 or more", batch_size=0)
        self.refused("batch_size is 1.5, expected an integer", batch_size=1.5)
        self.refused("num_workers is -1", num_workers=-1)
        self.refused("num_workers is 5000, expected 0 to 1024", num_workers=5000)
        self.refused("prefetch_factor is 0", num_workers=1, prefetch_factor=0)
        self.refused("prefetch_factor needs workers", prefetch_factor=2)
        self.refused("persistent_workers needs workers", persistent_workers=True)
        self.refused("timeout is -1", timeout=-1)
        self.refused("timeout is 'x'", timeout="x")
        self.refused("the rank is 2, expected 0 to 1", rank=2, world_size=2)
        self.refused("world_size is 0", world_size=0)
        self.refused("worker is 'fiber', expected 'thread' or 'process'", worker="fiber")
        self.assertEqual(len(DataLoader(range(3), pin_memory=True)), 3)
        self.refused("unknown device 'gpu0'", device="gpu0")
        self.refused("hint: seed=0", generator=3)
        self.refused("the seed is -1", seed=-1)
        self.refused("the seed is 1.5", seed=1.5)
        self.refused("collate_fn is 3, expected a function", collate_fn=3)
        self.refused("a sampler has an order", sampler=[0], shuffle=True)
        self.refused("sampler is 3, expected indices", sampler=3)
        self.refused("a batch sampler has its own batches", batch_sampler=[[0]], batch_size=2)
        self.refused("pad_last needs a batch_size", batch_sampler=[[0]], pad_last=True)
        self.refused("drop_last and pad_last need a batch_size", batch_size=None, drop_last=True)
        self.refused("has no length", dataset=3)
        self.refused("locks that they hold stay locked", worker="process", num_workers=1, multiprocessing_context="fork")
        self.refused("expected 'forkserver' or 'spawn'", worker="process", num_workers=1, multiprocessing_context="threads")
        self.refused("the workers are threads[\\s\\S]*worker=\"process\"", num_workers=1, multiprocessing_context="spawn")
        self.refused("an iterable dataset has its own order", dataset=iter([]), shuffle=True)


if __name__ == "__main__":
    signal.alarm(550)  # a deadlock must not last longer than the time of the test
    unittest.main()
