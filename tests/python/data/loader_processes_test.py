"""Loaders whose workers are processes."""

import glob
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
import plait as pl
from plait.data import DataLoader

import loading_cases as cases
from loading_cases import Failing, Killed, Lines, Numbers, Places, Slow, Trees, numbers

FOLDER = os.path.dirname(os.path.abspath(__file__))


def loader_of(dataset, batch_size=2, num_workers=1, **options):
    return DataLoader(dataset, batch_size, num_workers=num_workers, worker="process", **options)


def plain(value):
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return (value.dtype.name, value.shape, value.tolist()) if isinstance(value, pl.Tensor) else value


class Processes(unittest.TestCase):
    def test_make_the_batches_that_threads_make(self):
        for make in (lambda **options: DataLoader(Numbers(13), 3, True, seed=4, **options), lambda **options: DataLoader(Trees(), 4, **options),
                     lambda **options: DataLoader(pl.data.mapped(Numbers(5), _first), 2, pad_last=True, **options)):
            here = [plain(list(each)) for each in [make()] * 2]
            for count in (1, 3):
                loader = make(num_workers=count, worker="process", persistent_workers=True)
                self.assertEqual([plain(list(each)) for each in [loader] * 2], here)
                loader.close()

    def test_work_in_other_processes(self):
        loader = loader_of(Places(), 1, num_workers=3)
        pids = {pid.item() for pid, _ in loader}
        self.assertEqual(len(pids), 3)
        self.assertNotIn(os.getpid(), pids)
        self.wait_for_end(pids)

    def wait_for_end(self, pids):
        for _ in range(100):
            left = [pid for pid in pids if os.path.exists(f"/proc/{pid}")]
            if not left:
                return
            time.sleep(0.1)
        self.fail(f"{left} still run")

    def test_an_error_of_a_reader_has_no_line_of_pythons_modules(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/cat")
            file = pl.io.encode_jpeg(np.zeros((3, 40, 40), "u1"))
            for name, content in ("1", file), ("2", file[:-50]):
                with open(f"{folder}/cat/{name}.jpg", "wb") as image:
                    image.write(content)
            with open(f"{folder}/x.jsonl", "w", encoding="utf-8") as rows:
                rows.write('{"a": 1}\n{"a":\n')
            for dataset in pl.data.ImageFolder(folder), pl.io.JsonlFile(f"{folder}/x.jsonl"), pl.data.JsonlStream(f"{folder}/x.jsonl"):
                for options in {"num_workers": 1}, {"num_workers": 1, "worker": "process"}, {"num_workers": 3, "worker": "process"}:
                    with self.subTest(type(dataset).__name__, **options), self.assertRaises(pl.ParseError) as caught:
                        list(DataLoader(dataset, 1, **options))
                    error = caught.exception
                    self.assertEqual((error.location, error.__notes__), ("", ["sample 1"]))
                    self.assertRegex(str(error), r"^sample 1: ParseError: ")
                    self.assertNotRegex(f"{error}{error.message}", r", at \S+\.py")

    def test_spawned_ones(self):
        loader = loader_of(Numbers(6), 2, multiprocessing_context="spawn")
        self.assertEqual(numbers(loader), numbers(DataLoader(Numbers(6), 2)))

    def test_of_streams(self):
        for make in Lines, lambda size: pl.data.mapped(Lines(size), cases.with_key):
            here = plain(list(DataLoader(make(11), 3)))
            self.assertEqual(plain(list(loader_of(make(11), 3))), here)
        loader = loader_of(Lines(11), 3)
        next(iter(loader))
        self.assertEqual(loader.state_dict(), {"seed": 0, "epoch": 0, "place": 3, "size": -1, "source": {"offset": 3}})
        loader.load_state_dict(loader.state_dict())
        self.assertEqual(numbers(loader), [[3, 4, 5], [6, 7, 8], [9, 10]])
        batches = iter(loader_of(Lines(6, bad=3)))
        self.assertEqual(next(batches).tolist(), [0, 1])
        with self.assertRaisesRegex(ValueError, "line 3 is not readable") as caught:
            next(batches)
        self.assertIn("sample 3, at ", caught.exception.__notes__[0])
        self.assertEqual(numbers(batches), [[4, 5]])

    def test_persist_between_epochs(self):
        loader = loader_of(Places(), 4, persistent_workers=True)
        pids = [{pid for batch, _ in loader for pid in batch.tolist()} for _ in range(2)]
        self.assertEqual(pids[0], pids[1])
        next(iter(loader))  # whose other batches are dropped
        self.assertEqual({pid for batch, _ in loader for pid in batch.tolist()}, pids[0])
        del loader
        self.wait_for_end(pids[0])

    def test_large_batches_of_growing_sizes(self):
        dataset = [np.full(size, size, np.float32) for size in (1, 1 << 20, 10, 5 << 20, 0)]
        for size, batch in zip((1, 1 << 20, 10, 5 << 20, 0), loader_of(dataset, 1)):
            self.assertEqual((batch.shape, bool(pl.all(batch == size))), ((1, size), True))

    def test_batches_outlive_the_loader(self):
        loader = loader_of([np.full(1000, i) for i in range(20)], 1)
        batches = list(loader)
        del loader
        self.assertEqual([batch[0, 999].item() for batch in batches], list(range(20)))

    def test_an_error_is_raised_here(self):
        loader = loader_of(Failing(8, {2}, KeyError("colour")))
        batches, found = iter(loader), []
        for _ in range(4):
            try:
                found.append(next(batches).tolist())
            except KeyError as error:
                self.assertEqual(error.args, ("colour",))
                self.assertRegex(error.__notes__[0], r"^sample 2, at .*loading_cases.py:\d+, in __getitem__$")
                self.assertRegex(str(error.__cause__), r"(?s)Traceback.*loading_cases.py.*raise self.error.*KeyError: 'colour'")
        self.assertEqual(found, [[0, 1], [4, 5], [6, 7]])
        with self.assertRaisesRegex(RuntimeError, "Unpicklable: 1 and 2"):
            list(loader_of(cases.FailingOddly()))
        with self.assertRaisesRegex(pl.ValueError, "^sample 1: bad"):
            list(loader_of(pl.data.mapped([0, 1], _refused)))

    def test_a_failing_init_is_raised(self):
        with self.assertRaisesRegex(RuntimeError, "no worker 0"):
            list(loader_of(range(4), worker_init_fn=cases.failing_init))

    def test_what_cannot_be_sent_is_an_error(self):
        class Local(pl.data.Dataset):
            def __len__(self):
                return 1

        for loader in loader_of(Local()), loader_of(range(2), collate_fn=lambda samples: samples):
            with self.assertRaisesRegex(pl.TypeError, 'cannot be sent to worker processes: .*[lL]ocal[\\s\\S]*worker="thread"'):
                iter(loader)
        with self.assertRaisesRegex(AttributeError, "has no attribute 'Gone'|Gone"):
            list(loader_of(_Gone()))
        with self.assertRaisesRegex(TypeError, "pickle"):
            list(loader_of(range(2), collate_fn=_generator))

    def test_one_that_dies_is_an_error_and_replaced(self):
        for how, text in (("SIGKILL", r"-9 \(SIGKILL\)[\s\S]*too little memory"), ("exit", "7, while"), ("SIGSEGV", r"-11 \(SIGSEGV\)")):
            with self.subTest(how):
                batches, found = iter(loader_of(Killed(8, 3, how))), []
                for _ in range(4):
                    try:
                        found.append(next(batches).tolist())
                    except pl.DistError as error:
                        self.assertRegex(str(error), f"worker process 0 has ended with exit code {text}")
                        self.assertIn("while it worked on samples 2, 3", str(error))
                self.assertEqual(found, [[0, 1], [4, 5], [6, 7]])

    def test_a_stream_goes_on_in_another_process(self):
        batches, found = iter(loader_of(pl.data.mapped(Lines(8), Killing(3)))), []
        for _ in range(5):
            try:
                found.append(next(batches).tolist())
            except pl.DistError:
                found.append("died")
            except StopIteration:
                break
        self.assertEqual(found[:2], [[0, 1], "died"])

    def test_timeout(self):
        batches = iter(loader_of(Slow(6, 2, 1.0), timeout=20))
        self.assertEqual(next(batches).tolist(), [0, 1])
        batches._loader.timeout = 0.1
        with self.assertRaisesRegex(pl.IoError, "not ready after 0.1 s"):
            next(batches)
        batches._loader.timeout = 20
        self.assertEqual(numbers(batches), [[2, 3], [4, 5]])

    def test_hundreds_of_batches_leak_nothing(self):
        loader = loader_of([np.zeros(10_000)] * 400, 1, persistent_workers=True)

        def used():
            for _ in loader:
                pass
            return len(os.listdir("/proc/self/fd"))

        self.assertEqual(used(), used())
        loader.close()


class Killing:
    """Kills its process at a number."""

    def __init__(self, bad):
        self.bad = bad

    def __call__(self, number):
        if number == self.bad:
            os.kill(os.getpid(), signal.SIGKILL)
        return number


class _Gone:
    """Its class is not found in the other process."""

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return index

    def __reduce__(self):
        return getattr, (_Module(), "Gone")


class _Module:
    pass


def _first(sample):
    return sample[0]


def _refused(x):
    if x == 1:
        cases.refuse()
    return x


def _generator(samples):
    return (each for each in samples)


class Ends(unittest.TestCase):
    """Nothing is left of a program that ends, however it ends."""

    script = """
import os, signal, sys, time
import plait as pl
from loading_cases import Slow, Places

if __name__ == "__main__":
    loader = pl.data.DataLoader(Places(), 1, num_workers=2, worker="process", persistent_workers=True)
    other = pl.data.DataLoader(Slow(100, 2, 100.0), 1, num_workers=2, worker="process")
    pids = {pid.item() for pid, _ in loader}
    batches = iter(loader), iter(other)
    next(batches[0]), next(batches[1])
    print(*pids, flush=True)
    END
"""

    def run_to(self, end, stop=None):
        """The return code, and the processes that were there."""
        path = os.pathsep.join([FOLDER, *filter(None, [os.environ.get("PYTHONPATH")])])
        file = os.path.join(self.folder, "script.py")
        with open(file, "w", encoding="utf-8") as script:
            script.write(self.script.replace("END", end))
        temporary = os.path.join(self.folder, "temporary")
        os.mkdir(temporary)
        process = subprocess.Popen([sys.executable, file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                                   env={**os.environ, "PYTHONPATH": path, "TMPDIR": temporary})
        line = process.stdout.readline()
        pids = [int(pid) for pid in line.split()]
        if stop is not None:
            stop(process)
        _, said = process.communicate(timeout=100)
        self.assertEqual(len(pids), 2, said)
        for _ in range(100):
            left = _session(process.pid)
            if not left:
                break
            time.sleep(0.1)
        self.assertEqual(left, [], said)
        self.assertEqual(os.listdir(temporary), [])
        self.assertEqual([name for name in set(os.listdir("/dev/shm")) - self.shared if name.startswith(("psm_", "plait"))], [])
        return process.returncode, said

    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder, self.shared = made.name, set(os.listdir("/dev/shm"))

    def test_regularly(self):
        code, said = self.run_to("pass")
        self.assertEqual((code, said), (0, ""))

    def test_by_an_exception(self):
        code, said = self.run_to("raise ValueError('mine')")
        self.assertEqual((code, said.count("Traceback")), (1, 1), said)

    def test_by_ctrl_c(self):
        code, said = self.run_to("next(batches[1]), next(batches[1]), time.sleep(100)", lambda process: (time.sleep(0.5), os.killpg(process.pid, signal.SIGINT)))
        self.assertEqual((code, said.count("Traceback"), "KeyboardInterrupt" in said), (-signal.SIGINT, 1, True), said)

    def test_by_a_kill(self):
        code, _ = self.run_to("time.sleep(100)", lambda process: (time.sleep(0.2), process.kill()))
        self.assertEqual(code, -signal.SIGKILL)

    def test_by_termination(self):
        code, _ = self.run_to("time.sleep(100)", lambda process: (time.sleep(0.2), process.terminate()))
        self.assertEqual(code, -signal.SIGTERM)

    def test_without_the_guard_of_main(self):
        script = "import plait as pl\nlist(pl.data.DataLoader(range(4), 2, num_workers=1, worker='process'))"
        file = os.path.join(self.folder, "unguarded.py")
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(script)
        done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False, timeout=100)
        self.assertEqual(done.returncode, 1)
        self.assertIn('needs if __name__ == "__main__":', done.stderr)


def _session(leader):
    """The processes of a session."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8") as file:
                state, _, _, session, *_ = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(session) == leader and state != "Z":
            found.append(path)
    return found


if __name__ == "__main__":
    signal.alarm(550)  # a deadlock must not last longer than the time of the test
    unittest.main()
