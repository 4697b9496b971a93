"""python -m plait run: how ranks end that are interrupted, and which one is shown when several fail."""

import os
import pathlib
import re
import shutil
import signal
import time
import unittest

from plait.inside.distributed.rank_processes import GRACE, is_dist_error

from launching import PREPARED, WAITING, Launching

SAVING = PREPARED + """
import signal
if sys.argv[1:] == ["SIGTERM"]:
    def end(*_):
        raise SystemExit(1)
    signal.signal(signal.SIGTERM, end)
try:
    print("begun", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    print("saved", flush=True)
finally:
    print("finally", flush=True)
"""

STUBBORN = PREPARED + """
import signal
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, _: print(signal.Signals(number).name, flush=True))
print("begun", flush=True)
while True:
    time.sleep(60)
"""

# Rank 1 goes on when all that rank 0 has open is closed: when it has ended.
FOLLOWING = PREPARED + """
from plait import errors
if rank == 0:
    kept = os.open(sys.argv[1], os.O_WRONLY)
    raise errors.DistError("rank 1 has left the group")
with open(sys.argv[1]) as file:
    file.read()
if sys.argv[2] == "kill":
    os.kill(os.getpid(), 9)
try:
    raise ValueError("bad batch")
except ValueError:
    sys.excepthook(*sys.exc_info())
    os._exit(3)
"""


class Interrupted(Launching):
    def expect_lines(self, launcher, *texts):
        """The next lines, in any order."""
        self.assertEqual(sorted(launcher.stdout.readline().rstrip("\n") for _ in texts), sorted(texts))

    def test_ranks_get_the_signal(self):
        for number, lines in ((signal.SIGINT, ("interrupted", "saved", "finally")), (signal.SIGTERM, ("finally",))):
            launcher = self.begin(SAVING, "-n", "2", str(self.file), number.name)
            self.expect_lines(launcher, "[rank 0] begun", "[rank 1] begun")
            launcher.send_signal(number)
            output, errors = launcher.communicate(timeout=60)
            self.assertEqual(launcher.returncode, 128 + number)
            self.assertEqual(sorted(output.splitlines()), sorted(f"[rank {rank}] {line}" for rank in range(2) for line in lines))
            self.assertEqual(errors.count(f"plait run: interrupted by {number.name}"), 1)

    def test_one_more_signal_goes_on(self):
        launcher = self.begin(STUBBORN, str(self.file))
        self.expect_lines(launcher, "[rank 0] begun")
        begin = time.monotonic()
        launcher.send_signal(signal.SIGINT)
        self.expect_lines(launcher, "[rank 0] SIGINT")
        launcher.send_signal(signal.SIGINT)
        self.expect_lines(launcher, "[rank 0] SIGTERM")
        launcher.send_signal(signal.SIGINT)
        launcher.communicate(timeout=60)
        self.assertEqual(launcher.returncode, 130)
        self.assertLess(time.monotonic() - begin, GRACE)

    def test_a_rank_that_goes_on_is_ended(self):
        launcher = self.begin(STUBBORN, str(self.file))
        self.expect_lines(launcher, "[rank 0] begun")
        launcher.send_signal(signal.SIGINT)
        self.expect_lines(launcher, "[rank 0] SIGINT")
        self.expect_lines(launcher, "[rank 0] SIGTERM")
        launcher.send_signal(signal.SIGTERM)
        launcher.communicate(timeout=60)
        self.assertEqual(launcher.returncode, 130)

    def test_what_a_rank_has_left_is_not_waited_for(self):
        text = PREPARED + ("import signal, subprocess\n"
                           "process = subprocess.Popen(['sh', '-c', 'trap \"\" INT; echo $$; exec sleep 60'], stdout=subprocess.PIPE)\n"
                           "print(int(process.stdout.readline()), flush=True)\ntime.sleep(60)\n")
        launcher = self.begin(text, str(self.file))
        processes = self.processes_of(launcher, 1)
        begin = time.monotonic()
        launcher.send_signal(signal.SIGINT)
        launcher.communicate(timeout=60)
        self.assertLess(time.monotonic() - begin, GRACE)
        self.expect_end(processes)

    def test_says_where_the_last_calls_are(self):
        text = PREPARED + ("from plait import distributed as dist\ndist.init_process_group()\ndist.barrier()\nprint('begun', flush=True)\n"
                           "if rank == 0: dist.barrier()\ntime.sleep(60)\n")
        launcher = self.begin(text, "-n", "2", str(self.file))
        self.expect_lines(launcher, "[rank 0] begun", "[rank 1] begun")
        launcher.send_signal(signal.SIGINT)
        _, errors = launcher.communicate(timeout=60)
        self.assertEqual(launcher.returncode, 130)
        folder = pathlib.Path(re.search("plait run: the last calls of the ranks are in (.*)", errors)[1])
        self.addCleanup(shutil.rmtree, folder)
        self.assertEqual(sorted(each.name for each in folder.iterdir()), ["calls_of_rank_0.txt", "calls_of_rank_1.txt"])
        self.assertIn("rank 0: barrier at program.py:7", (folder / "calls_of_rank_0.txt").read_text())
        of_other = (folder / "calls_of_rank_1.txt").read_text()
        self.assertTrue(of_other.startswith("the job was interrupted\n\n"), of_other)
        self.assertIn("rank 1: barrier at program.py:5: done", of_other)

    def test_empty_folders_are_removed(self):
        place = {"TMPDIR": str(self.folder)}
        self.assertEqual(self.run_program("", "--no-python", arguments=[], **place)[0], 2)  # the file is not executable
        self.assertEqual(self.run_program("1 / 0", **place)[0], 1)
        self.assertEqual(self.run_program("", **place)[0], 0)
        launcher = self.begin(WAITING, str(self.file), **place)
        self.processes_of(launcher, 1)
        launcher.send_signal(signal.SIGINT)
        launcher.communicate(timeout=60)
        self.assertEqual(list(self.folder.iterdir()), [self.file])


class FirstFailure(Launching):
    def test_an_error_that_follows_is_not_shown(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        code, _, errors = self.run_program(FOLLOWING, "-n", "2", arguments=(str(pipe), "raise"))
        self.assertEqual(code, 3, errors)
        self.assertIn("[rank 0] plait.errors.DistError", errors)
        self.assertIn("plait run: rank 1 failed with exit code 3:\n  Traceback", errors)
        self.assertTrue(errors.endswith("  ValueError: bad batch\n"), errors)

    def test_a_rank_that_was_killed(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        code, _, errors = self.run_program(FOLLOWING, "-n", "2", arguments=(str(pipe), "kill"))
        self.assertEqual(code, 137, errors)
        self.assertIn("plait run: rank 1 was ended by SIGKILL", errors)

    def test_a_dist_error_alone(self):
        text = PREPARED + "from plait import errors\nif rank == 1: raise errors.DistError('late')\ntime.sleep(60)\n"
        code, _, errors = self.run_program(text, "-n", "2")
        self.assertEqual(code, 1, errors)
        self.assertIn("plait run: rank 1 failed with exit code 1:\n  Traceback", errors)

    def test_is_dist_error(self):
        def failing(error, during=""):
            begin = f"\n{during} exception, another exception occurred:\n\n" if during else ""
            return f"{begin}Traceback (most recent call last):\n  File \"a.py\", line 1\n    call()\n    ^^^^^^\n{error}"

        during, cause = "During handling of the above", "The above exception was the direct cause of the following"
        for text, expected in (
                (failing("plait.errors.DistError: late\n  hint: wait\n"), True),
                (failing("ValueError: after DistError: late\n"), False),
                (failing("KeyboardInterrupt\n"), False),
                (failing("ValueError: bad\n") + failing("plait.errors.DistError: rank 1 has left\n", during), False),
                (failing("plait.errors.DistError: late\n") + failing("RuntimeError: no step\n", cause), True),
                (failing("ValueError: was caught\n") + failing("plait.errors.DistError: late\n"), True),
                (failing("plait.errors.DistError: was caught\n") + failing("KeyError: 'lost'\n"), False),
                ("terminate called after throwing an instance of 'plait::DistError'\n  what():  DistError: late\n", True),
                ("Segmentation fault\n", False), ("", False)):
            self.assertEqual(is_dist_error(text.encode().splitlines()), expected, text)


if __name__ == "__main__":
    unittest.main()
