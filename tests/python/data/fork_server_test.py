"""The process that forks workers: it has imported Plait, has one thread, and workers do without it where it cannot be there."""

import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np
import plait as pl
from plait.data import DataLoader

PACKAGE = str(pathlib.Path(pl.__file__).parents[1])
IS_IMPORTED = "int('plait/_core' in open(f'/proc/{os.getppid()}/maps').read())"  # by the server
SCRIPT = """
import os, sys
PATHS
import plait as pl

class Places(pl.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return index, os.getppid(), TRACE

if __name__ == "__main__":
    BEFORE
    loader = pl.data.DataLoader(Places(), 2, num_workers=2, worker="process")
    rows = [row for batch in loader for row in zip(*(column.tolist() for column in batch))]
    assert [row[0] for row in rows] == [0, 1, 2, 3], rows
    print(pl.__file__, rows[0][2])
"""


class Draws(pl.data.Dataset):
    """Random numbers that a worker draws without a key, its parent, and the threads of that."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return np.random.random(), random.random(), os.getppid(), len(os.listdir(f"/proc/{os.getppid()}/task")), os.getpid()


class Slow(pl.data.Dataset):
    """The parent of the worker, after a while."""

    def __len__(self):
        return 60

    def __getitem__(self, index):
        time.sleep(0.02)
        return os.getppid()


class Nested(pl.data.Dataset):
    """Samples that begin processes."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return next(iter(DataLoader(range(8), 2, num_workers=1, worker="process")))


class Preloaded(unittest.TestCase):
    def test_workers_are_of_one_server_with_one_thread(self):
        batches = [batch for _ in range(2) for batch in DataLoader(Draws(), 1, num_workers=3, worker="process")]
        numpys, pythons, parents, threads, pids = (np.concatenate(column) for column in zip(*batches))
        self.assertEqual(len(set(parents.tolist())), 1)
        self.assertNotEqual(parents[0], os.getpid())
        self.assertEqual(set(threads.tolist()), {1})
        self.assertEqual(len(set(pids.tolist())), 6)
        for drawn in (numpys, pythons):  # no state of a generator was forked
            self.assertEqual(len(set(drawn.tolist())), len(drawn))

    def test_workers_have_no_workers(self):
        with self.assertRaisesRegex(pl.DistError, "a worker process cannot have worker processes of its own(.|\n)*num_workers=0"):
            next(iter(DataLoader(Nested(), 2, num_workers=1, worker="process")))

    def test_several_threads_begin_loaders(self):
        found, failed = [], []

        def read():
            try:
                found.append([batch.tolist() for batch in DataLoader(range(20), 5, num_workers=2, worker="process")])
            except BaseException as error:  # noqa: BLE001: it is reported below
                failed.append(error)

        threads = [threading.Thread(target=read) for _ in range(6)]
        for thread in threads:
            thread.start()
        x = pl.ones((200, 200))
        for _ in range(50):
            x = (x @ x) / 200.0  # the thread team works meanwhile
        for thread in threads:
            thread.join()
        self.assertEqual((failed, found), ([], [[list(range(i, i + 5)) for i in range(0, 20, 5)]] * 6))

    def test_processes_go_on_without_it(self):
        for is_persistent in False, True:
            loader = DataLoader(Slow(), 1, num_workers=2, worker="process", persistent_workers=is_persistent)
            batches = iter(loader)
            os.kill(next(batches).item(), 9)
            self.assertEqual(len(list(batches)), len(loader) - 1)
            for _ in range(2):
                self.assertEqual(len(list(loader)), len(loader))

    def test_a_process_that_dies_without_it(self):
        batches = iter(DataLoader(Slow(), 1, num_workers=1, worker="process"))
        server = next(batches).item()
        worker = next(int(each) for each in pathlib.Path(f"/proc/{server}/task/{server}/children").read_text().split())
        os.kill(server, 9)
        os.kill(worker, 9)
        with self.assertRaisesRegex(pl.errors.DistError, r"worker process 0 has ended with exit code that is unknown, since the fork server"):
            list(batches)

    def test_one_that_dies_is_begun_again(self):
        first = next(iter(DataLoader(Draws(), 1, num_workers=1, worker="process")))[2].item()
        for _ in range(3):
            os.kill(first, 9)
            second = next(iter(DataLoader(Draws(), 1, num_workers=1, worker="process")))[2].item()
            self.assertNotEqual(first, second)
            first = second


class Programs(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)

    def run_script(self, paths="", before="", trace="0", environment=None, cwd=None):
        """(the file of the package, the number that a worker made)."""
        script = self.folder / "script.py"
        script.write_text(SCRIPT.replace("PATHS", paths).replace("BEFORE", before or "pass").replace("TRACE", trace), encoding="utf-8")
        environment = {**os.environ, **({"PYTHONPATH": PACKAGE} if environment is None else environment)}
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=200, cwd=cwd or self.folder,
                              env=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        file, number = done.stdout.split()
        self.assertEqual(file, pl.__file__)
        return int(number)

    def test_the_server_has_imported_it(self):
        self.assertEqual(self.run_script(trace=IS_IMPORTED), 1)
        self.assertEqual(self.run_script(trace=IS_IMPORTED, cwd=pathlib.Path(pl.__file__).parents[2]), 1)

    def test_paths_of_the_program_alone(self):
        """A new interpreter does not find the package, or finds another one: the server has the paths of the program."""
        paths = f"sys.path.insert(0, {PACKAGE!r})"
        self.assertEqual(self.run_script(paths, trace=IS_IMPORTED, environment={"PYTHONPATH": ""}), 1)
        (self.folder / "plait").mkdir()
        self.assertEqual(self.run_script(paths, trace=IS_IMPORTED, environment={"PYTHONPATH": ""}), 1)
        (self.folder / "plait" / "__init__.py").write_text("raise SystemExit('another one')", encoding="utf-8")
        self.assertEqual(self.run_script(paths, trace=IS_IMPORTED, cwd=self.folder), 1)

    def test_nothing_is_imported_from_the_current_folder(self):
        """The folder of the script is where the program looks; the current one is not."""
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        for name in "glob", "json", "tokenize", "numpy":
            (elsewhere / f"{name}.py").write_text("raise ValueError('of the current folder')", encoding="utf-8")
        trace = "int(__import__('glob').glob('/etc/host*') != [])"
        self.assertEqual(self.run_script(trace=trace, cwd=elsewhere), 1)
        self.assertEqual(self.run_script(trace=IS_IMPORTED, cwd=elsewhere), 1)

    def test_the_environment_is_that_of_the_program(self):
        trace = "int((os.environ.get('PYTHONPATH'), os.environ.get('PYTHONSAFEPATH')) == (PATH_BEFORE, None) and 'PLAIT_ENVIRONMENT_OF_PROGRAM' not in os.environ)"
        for environment in {"PYTHONPATH": PACKAGE}, {"PYTHONPATH": ""}:
            trace_of = trace.replace("PATH_BEFORE", repr(environment["PYTHONPATH"]))
            paths = f"sys.path.insert(0, {PACKAGE!r})"
            self.assertEqual(self.run_script(paths, trace=trace_of, environment=environment), 1)
            assertion = "before = dict(os.environ); list(pl.data.DataLoader(Places(), 2, num_workers=1, worker='process')); assert os.environ == before"
            self.assertEqual(self.run_script(paths, before=assertion, environment=environment), 0)

    def test_a_forked_process_has_a_server_of_its_own(self):
        before = ("list(pl.data.DataLoader(Places(), 2, num_workers=2, worker='process')); child = os.fork()\n"
                  "    if child == 0:\n"
                  "        list(pl.data.DataLoader(Places(), 2, num_workers=2, worker='process')); os._exit(0)\n"
                  "    assert os.waitpid(child, 0)[1] == 0")
        self.assertEqual(self.run_script(before=before), 0)

    def test_modules_that_the_program_chose_are_kept(self):
        (self.folder / "chosen.py").write_text("import os\nPARENT = os.getpid()\n", encoding="utf-8")
        before = "import multiprocessing; multiprocessing.set_forkserver_preload(['chosen'])"
        trace = "int(__import__('chosen').PARENT == os.getppid())"
        self.assertEqual(self.run_script(before=before, trace=trace, environment={"PYTHONPATH": os.pathsep.join([PACKAGE, str(self.folder)])}), 1)

    def test_a_server_that_runs_already_serves(self):
        before = "from multiprocessing import forkserver; forkserver.set_forkserver_preload([]); forkserver.ensure_running()"
        self.assertEqual(self.run_script(before=before, trace=IS_IMPORTED), 0)


if __name__ == "__main__":
    unittest.main()
