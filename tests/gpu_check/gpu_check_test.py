"""Records cases of one family, and replays them on the emulated device: none differs, and one that is wrong is found."""

import os
import subprocess
import sys
import tempfile
import unittest

import plait

PROGRAM = sys.argv.pop(1)


def run(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True)


class GpuCheck(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.cases = os.path.join(cls.folder.name, "cases.safetensors")
        recorded = run(sys.executable, "record_cases.py", cls.cases, "linear")
        assert recorded.returncode == 0, recorded.stdout + recorded.stderr

    def test_recorded_cases_equal_the_cpus(self):
        replayed = run(PROGRAM, "replay", self.cases)
        self.assertEqual(replayed.returncode, 0, replayed.stdout + replayed.stderr)
        self.assertRegex(replayed.stdout, r"^\d+ cases, 0 failures")

    def test_results_that_differ_are_found(self):
        with plait.io.open_safetensors(self.cases) as file:
            exact = {number: "0" + line[line.index(" "):] for number, line in file.metadata().items() if number.isdigit()}
        path = os.path.join(self.folder.name, "exact.safetensors")
        plait.io.save_safetensors(path, plait.io.load_safetensors(self.cases), exact)
        replayed = run(PROGRAM, "replay", path)
        self.assertEqual(replayed.returncode, 1, replayed.stdout + replayed.stderr)
        self.assertRegex(replayed.stdout, r"matmul f32 .* instead of ")

    def test_a_damaged_case_is_a_failure_and_the_others_go_on(self):
        with plait.io.open_safetensors(self.cases) as file:
            lines = {number: line for number, line in file.metadata().items() if number.isdigit()}
        tensors = plait.io.load_safetensors(self.cases)
        tensors["0.program"] = tensors["0.program"][:-3]
        path = os.path.join(self.folder.name, "damaged.safetensors")
        plait.io.save_safetensors(path, tensors, lines)
        replayed = run(PROGRAM, "replay", path)
        self.assertRegex(replayed.stdout, rf"(?m)^{len(lines)} cases, 1 failures")

    def test_the_device_is_described(self):
        self.assertIn("sm_90", run(PROGRAM, "device").stdout)

    def test_calls_among_the_gpus_are_right(self):
        checked = run(PROGRAM, "nccl")
        self.assertEqual((checked.returncode, checked.stdout), (0, "NCCL 22809, 2 ranks, 0 failures\n"), checked.stderr)

    def test_small_operations_are_timed(self):
        timed = run(PROGRAM, "speed", "add 16 f32", "0.01")
        self.assertRegex(timed.stdout, r'"name": "add 16 f32", "microseconds": [\d.]+, "mean": 0\.')


if __name__ == "__main__":
    unittest.main()
