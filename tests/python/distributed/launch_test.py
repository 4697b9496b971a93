"""python -m plait run."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PREPARED = "import os, sys, time\nrank = int(os.environ['RANK'])\n"
WAITING = PREPARED + "print(os.getpid(), flush=True)\ntime.sleep(60)\n"


def is_alive(process):
    try:
        os.kill(process, 0)
        return True
    except ProcessLookupError:
        return False


class Launch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "program.py"

    def begin(self, text, *options):
        self.file.write_text(text)
        return subprocess.Popen([sys.executable, "-m", "plait", "run", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run_program(self, text, *options, arguments=()):
        process = self.begin(text, *options, str(self.file), *arguments)
        output, errors = process.communicate(timeout=100)
        return process.returncode, output, errors

    def test_runs_ranks(self):
        text = PREPARED + ("import plait as pl\nfrom plait import distributed as dist\n"
                           "dist.init_process_group()\nx = pl.ones(2) * rank\ndist.all_reduce(x)\n"
                           "print(x.tolist(), sys.argv[1:], os.environ['LOCAL_RANK'], os.environ['WORLD_SIZE'])\n")
        code, output, errors = self.run_program(text, "-n", "3", arguments=("--lr", "0.1"))
        self.assertEqual(code, 0, errors)
        self.assertEqual(sorted(output.splitlines()), [f"[rank {rank}] [3.0, 3.0] ['--lr', '0.1'] {rank} 3" for rank in range(3)])

    def test_shows_the_first_failure(self):
        begin = time.monotonic()
        code, _, errors = self.run_program(PREPARED + "if rank == 1: raise KeyError('lost')\ntime.sleep(60)\n", "-n", "3")
        self.assertEqual(code, 1)
        self.assertIn("[rank 1] KeyError: 'lost'", errors)
        self.assertIn("plait run: rank 1 failed with exit code 1:\n  Traceback", errors)
        self.assertLess(time.monotonic() - begin, 30)

    def test_returns_the_code(self):
        self.assertEqual(self.run_program(PREPARED + "sys.exit(7 if rank == 0 else 0)", "-n", "2")[0], 7)
        code, _, errors = self.run_program(PREPARED + "os.kill(os.getpid(), 9)", "-n", "1")
        self.assertEqual(code, 137)
        self.assertIn("rank 0 was ended by SIGKILL", errors)

    def test_ends_ranks_that_ignore_signals(self):
        text = PREPARED + "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nif rank == 1: time.sleep(0.5); sys.exit(3)\ntime.sleep(60)\n"
        self.assertEqual(self.run_program(text, "-n", "2")[0], 3)

    def processes_of(self, launcher, count):
        return [int(launcher.stdout.readline().split()[-1]) for _ in range(count)]

    def expect_end(self, processes):
        end = time.monotonic() + 20
        while any(is_alive(each) for each in processes):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def test_is_interrupted(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            launcher = self.begin(WAITING, "-n", "2", str(self.file))
            processes = self.processes_of(launcher, 2)
            launcher.send_signal(number)
            launcher.communicate(timeout=60)
            self.assertEqual(launcher.returncode, code)
            self.expect_end(processes)

    def test_is_killed(self):
        launcher = self.begin(WAITING, "-n", "2", str(self.file))
        processes = self.processes_of(launcher, 2)
        launcher.kill()
        launcher.communicate(timeout=60)
        self.expect_end(processes)

    def test_several_hosts(self):
        text = PREPARED + ("from plait import distributed as dist\ndist.init_process_group()\n"
                           "print(dist.get_rank(), dist.get_world_size())\ndist.barrier()\n")
        self.file.write_text(text)
        place = ["--nodes", "2", "-n", "2", "--rendezvous", f"localhost:{free_port()}"]
        launchers = [self.begin(text, *place, "--node-rank", str(node), str(self.file)) for node in range(2)]
        outputs = [launcher.communicate(timeout=100) for launcher in launchers]
        self.assertEqual([launcher.returncode for launcher in launchers], [0, 0], outputs)
        self.assertEqual(sorted(line for output, _ in outputs for line in output.splitlines()), [f"[rank {rank}] {rank} 4" for rank in range(4)])

    def test_refuses_options(self):
        for options, part in ((["-n", "0"], "0 ranks"), (["--rendezvous", "here"], "expected host:port"), (["--nodes", "2"], "needs a port"),
                              (["--nodes", "2", "--node-rank", "2", "--rendezvous", "localhost:1"], "host 2 of 2")):
            code, _, errors = self.run_program("", *options)
            self.assertEqual(code, 2)
            self.assertIn(part, errors)


def free_port():
    import ranks

    return ranks.free_port()


if __name__ == "__main__":
    unittest.main()
