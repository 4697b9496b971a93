"""python -m plait run."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

from plait.distributed import is_backend_available

from launching import PREPARED, WAITING, Launching
from ranks import free_port, mpirun


class Launch(Launching):
    def test_runs_ranks(self):
        text = PREPARED + ("import plait as pl\nfrom plait import distributed as dist\n"
                           "dist.init_process_group()\nx = pl.ones(2) * rank\ndist.all_reduce(x)\n"
                           "print(x.tolist(), sys.argv[1:], os.environ['LOCAL_RANK'], os.environ['WORLD_SIZE'])\n")
        code, output, errors = self.run_program(text, "-n", "3", arguments=("--lr", "0.1"))
        self.assertEqual(code, 0, errors)
        self.assertEqual(sorted(output.splitlines()), [f"[rank {rank}] [3.0, 3.0] ['--lr', '0.1'] {rank} 3" for rank in range(3)])

    def test_backends(self):
        text = PREPARED + ("import plait as pl\nfrom plait import distributed as dist\n"
                           "dist.init_process_group(sys.argv[1])\nx = pl.ones(200_000) * rank\ndist.all_reduce(x, op=dist.premul_sum(0.5))\n"
                           "print(dist.get_backend(), float(x[0]), float(x[-1]))\n")
        for backend in ("gloo", "local", "cpu:gloo"):
            if not is_backend_available(backend):
                continue
            code, output, errors = self.run_program(text, "-n", "3", "--no-prefix", arguments=(backend,))
            self.assertEqual(code, 0, errors)
            self.assertEqual(output.splitlines(), [f"{backend.removeprefix('cpu:')} 1.5 1.5"] * 3)

    @unittest.skipUnless(shutil.which("mpirun.openmpi") and is_backend_available("mpi"), "there is no Open MPI")
    def test_mpirun(self):
        self.file.write_text("import sys\nimport plait as pl\nfrom plait import distributed as dist\ndist.init_process_group(*sys.argv[1:])\n"
                             "x = pl.ones(3)\ndist.all_reduce(x)\n"
                             "sys.stdout.write(f'{dist.get_backend()} {dist.get_rank()} {float(x[0])}\\n')\n")
        if mpirun("-n", "2", "true").returncode != 0:
            self.skipTest("mpirun starts no job here")
        for backend in ("mpi", "gloo", "local"):
            done = mpirun("-n", "3", sys.executable, self.file, backend)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(done.stdout.splitlines()), [f"{backend} {rank} 3.0" for rank in range(3)])

    def test_says_where_the_last_calls_are(self):
        text = PREPARED + ("import plait as pl\nfrom plait import distributed as dist\ndist.init_process_group()\ndist.barrier()\n"
                           "if rank == 1: sys.exit(0)\ndist.all_reduce(pl.ones(3))\n")
        code, _, errors = self.run_program(text, "-n", "2")
        self.assertEqual(code, 1)
        folder = pathlib.Path(re.search("the last calls of the ranks are in (.*)", errors)[1])
        self.addCleanup(shutil.rmtree, folder)
        said = (folder / "calls_of_rank_0.txt").read_text()
        for part in ("rank 1 has left the group", "world, rank 0: barrier at program.py:6: done after", "all_reduce(sum) of f32[3]", ": failed after"):
            self.assertIn(part, said)

    def test_bench(self):
        for operation in ("all_reduce", "all_gather", "sendrecv"):
            done = subprocess.run([sys.executable, "-m", "plait", "bench", "comm", "--operation", operation, "-e", "1K", "--iterations", "3"],
                                  capture_output=True, text=True, timeout=100, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = [line.split() for line in done.stdout.splitlines()[3:]]
            self.assertEqual([row[0] for row in rows], ["8" if operation == "all_gather" else "4", "16", "64", "256", "1024"])
            self.assertEqual({row[-1] for row in rows}, {"0"})

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

    def test_output_that_nobody_reads(self):
        launcher = self.begin("for i in range(100000): print('x' * 50, i)\n", "-n", "2", str(self.file))
        launcher.stdout.readline()
        launcher.stdout.close()
        self.assertEqual(launcher.wait(60), 128 + signal.SIGPIPE)
        self.assertIn("plait run: the ranks were ended, as their output cannot be written: Broken pipe", launcher.stderr.read())
        launcher.stderr.close()

    def test_output_of_any_bytes(self):
        text = PREPARED + "sys.stdout.buffer.write(b'\\xe4\\xbd\\xa0 \\xff\\n')\nfor i in range(20000): print('z' * 30)\nsys.stdout.write('end')\n"
        self.file.write_text(text)
        launcher = subprocess.run([sys.executable, "-m", "plait", "run", str(self.file)], capture_output=True, timeout=60,
                                  env={**os.environ, "PYTHONIOENCODING": "ascii"})
        self.assertEqual((launcher.returncode, launcher.stderr), (0, b""))
        self.assertEqual(launcher.stdout, b"[rank 0] \xe4\xbd\xa0 \xff\n" + (b"[rank 0] " + b"z" * 30 + b"\n") * 20000 + b"[rank 0] end\n")

    def test_a_slow_reader_gets_all(self):
        launcher = self.begin("for i in range(1500): print('x' * 50, i)\n", str(self.file))
        time.sleep(3)  # the rank has ended, and its last lines wait
        self.assertEqual(len(launcher.communicate(timeout=60)[0].splitlines()), 1500)
        self.assertEqual(launcher.returncode, 0)

    def test_processes_that_ranks_start_end(self):
        for code in (3, 0):
            text = PREPARED + ("import subprocess\nprocess = subprocess.Popen(['sleep', '60'])\nprint(process.pid, flush=True)\n"
                               f"if rank == 0: sys.exit({code})\ntime.sleep(1)\n")
            begin = time.monotonic()
            found, output, errors = self.run_program(text, "-n", "2")
            self.assertEqual(found, code, errors)
            self.assertLess(time.monotonic() - begin, 20)
            self.expect_end([int(line.split()[-1]) for line in output.splitlines()])

    def test_says_that_it_has_launched(self):
        text = "from plait import distributed as dist\nprint(dist.is_torchelastic_launched(), dist.get_node_local_rank())\n"
        code, output, errors = self.run_program(text)
        self.assertEqual((code, output), (0, "[rank 0] True 0\n"), errors)

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
        for options, part in ((["-n", "0"], "plait run: -n is 0, expected 1 rank or more\n"), (["--rendezvous", "here"], "expected host:port"),
                              (["--nodes", "2"], "needs a port"),
                              (["--nodes", "2", "--node-rank", "2", "--rendezvous", "localhost:1"], "--node-rank is 2 of --nodes 2")):
            code, _, errors = self.run_program("", *options)
            self.assertEqual(code, 2)
            self.assertNotIn("runpy", errors)
            self.assertIn(part, errors)


if __name__ == "__main__":
    unittest.main()
