"""Runs functions of a test's file on ranks that are processes."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import plait.distributed as dist
from plait import _core


def free_port():
    with socket.socket() as listening:
        listening.bind(("localhost", 0))
        return listening.getsockname()[1]


def expect_error(kind, expected, function, *arguments, **options):
    try:
        function(*arguments, **options)
    except kind as error:
        missing = [text for text in expected if text not in str(error)]
        assert not missing, f"{missing} not in {error}"
        return
    raise AssertionError("no error")


def run(test, file, function, size, *, codes=None, environment=None, seconds=120):
    """Runs file as `python file --rank function` in `size` processes, with the variables that launchers set. The test fails if one does not
    return 0, or what codes says for its rank. Returns what each has printed."""
    shared = {**os.environ, "MASTER_ADDR": "localhost", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(size), "PLAIT_THREADS": "1",
              **(environment or {})}
    outputs = [tempfile.TemporaryFile() for _ in range(size)]
    processes = [subprocess.Popen([sys.executable, file, "--rank", function], env={**shared, "RANK": str(rank)}, stdout=output,
                                  stderr=subprocess.STDOUT) for rank, output in enumerate(outputs)]
    end = time.monotonic() + seconds
    for process in processes:
        try:
            process.wait(max(0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    texts = []
    for output in outputs:
        output.seek(0)
        texts.append(output.read().decode())
        output.close()
    for rank, (process, text) in enumerate(zip(processes, texts, strict=True)):
        test.assertEqual(process.returncode, (codes or {}).get(rank, 0), f"rank {rank}:\n{text}")
    return texts


AS_ROOT = ["--allow-run-as-root"] if os.geteuid() == 0 else []


def mpirun(*command, **options):
    return subprocess.run(["mpirun.openmpi", *AS_ROOT, "--oversubscribe", *command], capture_output=True, text=True, timeout=100, check=False,
                          **options)


def run_on(test, engine, file, function, size, **options):
    """The same where begin() joins by an engine, which the build may not have."""
    if engine not in _core._comm.engines():
        test.skipTest(f"this build has no {engine}")
    environment = {"PLAIT_TEST_ENGINE": engine, "PLAIT_THREADS": "1"}
    if engine != "mpi":
        run(test, file, function, size, environment=environment, **options)
        return
    if shutil.which("mpirun.openmpi") is None or mpirun("-n", "2", "true").returncode != 0:
        test.skipTest("mpirun starts no job here")
    done = mpirun("-n", str(size), sys.executable, file, "--rank", function, env={**os.environ, **environment})
    test.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class OnEachEngine:
    """Tests that run all_cases of a file on `size` ranks of each engine."""

    file, size = "", 0

    def test_local(self):
        run_on(self, "local", self.file, "all_cases", self.size)

    def test_gloo(self):
        run_on(self, "gloo", self.file, "all_cases", self.size)

    def test_mpi(self):
        run_on(self, "mpi", self.file, "all_cases", self.size)


def begin(**options):
    """Joins the group of all ranks; (the rank, the number of ranks)."""
    dist.init_process_group(os.environ["PLAIT_TEST_ENGINE"], **options)
    return dist.get_rank(), dist.get_world_size()


def main(namespace):
    """The end of a test's file: its tests, or the function of a rank."""
    if sys.argv[1:2] == ["--rank"]:
        namespace[sys.argv[2]]()
    else:
        unittest.main()
