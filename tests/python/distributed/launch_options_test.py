"""Options of python -m plait, run and bench comm: torchrun's names, and mistakes, which are one line before any rank is started."""

import contextlib
import io
import os
import subprocess
import sys
import unittest
from unittest import mock

import plait as pl
from plait.inside.distributed import bench, launch_options

from launching import PREPARED, Launching
from ranks import expect_error, free_port

OF_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "SLURM_PROCID")


def plait(*arguments):
    environment = {name: value for name, value in os.environ.items() if name not in OF_RANKS}
    return subprocess.run([sys.executable, "-m", "plait", *arguments], capture_output=True, text=True, timeout=100, check=False, env=environment)


def parsed(*arguments):
    return launch_options.parser().parse_args([*arguments, "program.py"])


def checked(*arguments):
    given = parsed(*arguments)
    launch_options.expect_usable(given, launch_options.place_of(given)[1])


class NamesOfTorchrun(Launching):
    def test_a_command_line(self):
        port = free_port()
        text = PREPARED + "print(*(os.environ[name] for name in ('LOCAL_RANK', 'WORLD_SIZE', 'MASTER_ADDR', 'MASTER_PORT')), *sys.argv[1:])\n"
        code, output, errors = self.run_program(text, "--nproc_per_node=2", "--nnodes=1", "--node_rank=0", "--master_addr=localhost",
                                                f"--master_port={port}", arguments=("--node_rank", "7"))
        self.assertEqual(code, 0, errors)
        self.assertEqual(sorted(output.splitlines()), [f"[rank {rank}] {rank} 2 localhost {port} --node_rank 7" for rank in range(2)])

    def test_numbers_of_ranks(self):
        cores = len(os.sched_getaffinity(0))
        for options in (["--nproc_per_node", "auto"], ["--nproc_per_node=cpu"], ["-n", "auto"], ["--nproc-per-node", "cpu"]):
            self.assertEqual(parsed(*options).nproc_per_node, cores)
        self.assertEqual(plait("run", "-n", "gpu", "program.py").stderr.splitlines()[-1].partition("error: ")[2],
                         "argument -n/--nproc-per-node: expected a number of ranks, or auto or cpu for one on each core, not 'gpu'")

    def test_places(self):
        for options, place in (([], ("localhost", 0)), (["--standalone"], ("localhost", 0)), (["--master_port", "7"], ("localhost", 7)),
                               (["--nnodes", "2", "--master_addr", "a"], ("a", 29500)), (["--master-addr=a", "--master-port=7"], ("a", 7)),
                               (["--rendezvous", "[::1]:7"], ("::1", 7))):
            self.assertEqual(launch_options.place_of(parsed(*options)), place)
        for options, said in ((["--rendezvous", "a:1", "--master_port", "2"], "both --rendezvous and --master_addr"),
                              (["--standalone", "--nodes", "2"], "--standalone is for one host"), (["--master_port", "70000"], "the port is 70000")):
            expect_error(pl.errors.ValueError, ["plait run: ", said], checked, *options)

    def test_programs(self):
        self.assertEqual(launch_options.command_of(parsed("--no_python")), ["program.py"])
        self.assertEqual(launch_options.command_of(parsed("--module"))[1:], ["-u", "-m", "program.py"])

    def test_help(self):
        said = launch_options.parser().format_help()
        options, _, other = said.partition("torchrun's names work too: ")
        for name in ("--nproc_per_node", "--nnodes", "--node_rank", "--master_addr", "--master_port", "--standalone", "--no_python"):
            self.assertNotIn(name, options)
            self.assertIn(name, other)


class Mistakes(unittest.TestCase):
    def test_commands(self):
        done = plait("runn", "-n", "2", "program.py")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        usage, said = done.stderr.splitlines()
        for part in ("run -n N program", "bench comm", "--cmake-dir"):
            self.assertIn(part, usage)
        self.assertTrue(said.endswith("unknown command 'runn'; did you mean run?"), said)
        self.assertTrue(plait("other").stderr.endswith("unknown command 'other'\n"))
        self.assertTrue(plait().stderr.endswith("expected a command or an option\n"))
        self.assertIn("times calls among ranks", plait("--help").stdout)

    def test_no_program(self):
        done = plait("run", "-n", "2")
        self.assertEqual(done.returncode, 2)
        self.assertTrue(done.stderr.endswith("the following arguments are required: program\n"), done.stderr)

    def expect_one_line(self, arguments, said):
        """The launcher ends with 2, and has started nothing."""
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), mock.patch.object(bench.launch, "main", lambda _: self.fail("ranks are started")):
            with self.assertRaises(SystemExit) as ended:
                bench.main(["comm", *arguments])
        self.assertEqual((ended.exception.code, errors.getvalue().count("\n")), (2, 1), errors.getvalue())
        self.assertIn(said, errors.getvalue())

    def test_bench(self):
        for arguments, said in (
                ("--engine foo", "expected one of auto, local"), ("--dtype foo", "expected a dtype of numbers, as f32 or float32, not 'foo'"),
                ("--dtype flot32", "did you mean 'float32'?"), ("-b 1Q", "expected a size, as 4, 64K, 256M or 1G, not '1Q'"),
                ("-b 1M -e 4", "--max-bytes is 4, and --min-bytes 1048576"), ("--iterations -1", "--iterations is -1, expected 0"),
                ("-f 1", "--factor is 1, expected 2"), ("-b 0", "--min-bytes is 0"), ("-n 0", "-n is 0")):
            self.expect_one_line(arguments.split(), said)
        done = plait("bench", "comm", "-b", "1Q")
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)

    @unittest.skipUnless(pl.distributed.is_mpi_available(), "this build has no Open MPI")
    def test_bench_of_mpi_without_mpirun(self):
        with mock.patch.dict(os.environ):
            for name in OF_RANKS:
                os.environ.pop(name, None)
            self.expect_one_line(["--engine", "mpi", "-n", "3"], "the engine mpi needs ranks that mpirun starts: mpirun -n 3")

    def test_bench_of_dtypes(self):
        self.assertEqual(bench.parser().parse_args(["comm", "--dtype", "float32"]).dtype, "f32")
        for given, shown in (("float8_e4m3fn", "f8e4m3"), ("complex64", "c64"), ("bool", "bool")):
            done = plait("bench", "comm", "--dtype", given, "-b", "8", "-e", "8", "--iterations", "2")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            row = done.stdout.splitlines()[-1].split()
            self.assertEqual((row[0], row[2], row[-1]), ("8", shown, "0"))


if __name__ == "__main__":
    unittest.main()
