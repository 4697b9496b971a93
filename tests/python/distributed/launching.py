"""Starts programs by python -m plait run."""

import os
import pathlib
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


class Launching(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "program.py"

    def begin(self, text, *options, is_text=True, **environment):
        """A launcher, which is ended if the test does not wait for its end."""
        self.file.write_text(text)
        launcher = subprocess.Popen([sys.executable, "-m", "plait", "run", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=is_text,
                                    env={**os.environ, **environment})
        self.addCleanup(self._end, launcher)
        return launcher

    @staticmethod
    def _end(launcher):
        if launcher.poll() is None:
            launcher.kill()
            launcher.wait()
        for each in (launcher.stdout, launcher.stderr):
            each.close()

    def run_program(self, text, *options, arguments=(), **environment):
        process = self.begin(text, *options, str(self.file), *arguments, **environment)
        output, errors = process.communicate(timeout=100)
        return process.returncode, output, errors

    def processes_of(self, launcher, count):
        return [int(launcher.stdout.readline().split()[-1]) for _ in range(count)]

    def expect_end(self, processes):
        end = time.monotonic() + 20
        while any(is_alive(each) for each in processes):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
