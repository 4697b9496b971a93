"""python -m plait run: output of ranks, above all progress bars, whose lines end in \\r."""

import os
import pathlib
import tempfile
import time
import types
import unittest

from plait.inside.distributed.rank_processes import Output, Stream

from launching import PREPARED, Launching

# A bar as tqdm shows it, which goes on when the file is there.
BAR = PREPARED + """
sys.stdout.write("\\r 10%")
sys.stdout.write("\\r 20%")
sys.stdout.flush()
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
sys.stdout.write("\\r100%\\n")
print("end")
"""


class Bars(Launching):
    def test_a_bar_is_shown_as_it_grows(self):
        go_on = self.folder / "go_on"
        launcher = self.begin(BAR, str(self.file), str(go_on), is_text=False)
        self.assertEqual(launcher.stdout.read(14), b"[rank 0]  10%\r")
        go_on.touch()
        output, errors = launcher.communicate(timeout=60)
        self.assertEqual((launcher.returncode, errors), (0, b""))
        self.assertEqual(output, b"[rank 0]  20%\r[rank 0] 100%\n[rank 0] end\n")


class Streams(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "output"
        self.file = open(self.path, "ab")
        self.addCleanup(self.file.close)
        self.output = Output(self.file)
        self.shown = b""

    def stream(self, name):
        """(a function that writes, the stream) of a rank."""
        source, sink = os.pipe()
        stream = Stream(types.SimpleNamespace(fileno=lambda: source), self.output, b"[%b] " % name)
        self.addCleanup(os.close, source)
        self.addCleanup(stream.reader.join)
        self.addCleanup(os.close, sink)
        return lambda data: os.write(sink, data), stream

    def expect(self, stream, passed, added):
        """The pieces of output that a stream has passed on, and the bytes that were added since the last call."""
        end = time.monotonic() + 20
        while stream.passed < passed:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.001)
        shown = self.path.read_bytes()
        self.assertEqual(shown[len(self.shown):], added)
        self.shown = shown

    def test_lines_of_ranks_are_not_mixed(self):
        (write_a, a), (write_b, b) = self.stream(b"a"), self.stream(b"b")
        write_a(b"\r10%\r20%")
        self.expect(a, 1, b"[a] 10%\r")
        write_a(b"\r30%\r")
        self.expect(a, 2, b"[a] 20%\r[a] 30%\r")
        write_b(b"one\n")
        self.expect(b, 1, b"\n[b] one\n")
        write_a(b"\r40%\r")
        self.expect(a, 3, b"[a] 40%\r")
        write_b(b"1%\r")
        self.expect(b, 2, b"\n[b] 1%\r")
        write_a(b"\n50%\r")  # its line was ended by b's
        self.expect(a, 4, b"\n[a] 50%\r")
        self.output.write(b"plait run: end\n")
        self.expect(a, 4, b"\nplait run: end\n")
        write_a(b"\n")
        self.expect(a, 5, b"")
        write_a(b"\n")
        self.expect(a, 6, b"[a] \n")

    def test_a_newline_ends_a_bar(self):
        write, stream = self.stream(b"a")
        write(b"99%\r")
        self.expect(stream, 1, b"[a] 99%\r")
        write(b"\nend\n")
        self.expect(stream, 2, b"\n[a] end\n")
        write(b"5%\r\n\nmore\n")
        self.expect(stream, 3, b"[a] 5%\r\n[a] \n[a] more\n")

    def test_bars_are_not_last_lines_of_errors(self):
        write, stream = self.stream(b"a")
        write(b"error\n" + b"".join(b"\r%d%%" % i for i in range(100)) + b"\nlast\n")
        self.expect(stream, 1, b"[a] error\n" + b"".join(b"[a] %d%%\r" % i for i in range(99)) + b"[a] 99%\n[a] last\n")
        self.assertEqual(stream.last_lines, [b"error", b"99%", b"last"])


if __name__ == "__main__":
    unittest.main()
