"""The processes of a host's ranks: their output, how they end, and which of them has failed first."""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import threading
import time

GRACE = 5  # seconds from one signal that ends ranks to the next
OTHERS = 1  # seconds that others have to fail after the first rank
LINES_KEPT = 40  # last lines of errors, shown for the first rank that fails


def _die_with_the_launcher():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def adopt():
    """Processes whose parent has ended become children of this one, which sees them end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


class _File:
    """A file in which one stream or both end."""

    def __init__(self):
        self.lock = threading.Lock()
        self.unended = None  # who has written the last line, if it ends in \r: the next one of that writer replaces it


class Output:
    """Where lines of all ranks are written, as the bytes that they are. After a failure nothing is: ranks are read on, as they would wait."""

    files = {}

    def __init__(self, stream):
        if stream is not None:
            stream.flush()
        self.descriptor = os.open(os.devnull, os.O_WRONLY) if stream is None else stream.fileno()  # None: it was closed before
        status = os.fstat(self.descriptor)
        self.file = self.files.setdefault((status.st_dev, status.st_ino), _File())
        self.failure = None

    def write(self, data, writer=None, ends_line=False):
        """Writes lines, of which the last may end in \\r. With ends_line they begin with the end of the writer's last line."""
        with self.file.lock:
            unended = self.file.unended
            if ends_line and unended is not writer:  # another one has ended it
                data = data.partition(b"\n")[2]
            if data:
                self.file.unended = writer if data.endswith(b"\r") else None
                self._write_all(data if unended in (None, writer) else b"\n" + data)

    def _write_all(self, data):
        left = memoryview(data if self.failure is None else b"")
        while left:
            try:
                left = left[os.write(self.descriptor, left):]
            except BlockingIOError:
                select.select([], [self.descriptor], [])
            except OSError as error:
                self.failure = error
                return

    def is_writing(self):
        return self.file.lock.locked()


class Stream:
    """Passes on the output of a rank line by line, and progress bars, whose lines end in \\r, when the next one begins."""

    def __init__(self, source, output, prefix):
        self.source, self.output, self.prefix = source, output, prefix
        self.last_lines = []
        self.passed = 0  # pieces of output
        self.is_unended = False  # the last line ended in \r
        self.reader = threading.Thread(target=self._pass_on, daemon=True)
        self.reader.start()

    def _pass_on(self):
        unended = []  # pieces of a line that has not ended
        # The interpreter may end while another process holds the pipe open: no object with a lock reads it.
        while received := os.read(self.source.fileno(), 1 << 16):
            unended.append(received)
            if b"\n" not in received and b"\r" not in received:
                continue
            pieces = b"".join(unended).splitlines(keepends=True)
            unended = [] if pieces[-1].endswith((b"\r", b"\n")) else [pieces.pop()]
            self._show(pieces)
        if unended:
            self._show([b"".join(unended) + b"\n"])

    def _show(self, pieces):
        shown, ends_line = [], False
        for piece in pieces:
            text = piece.rstrip(b"\r\n")
            if piece == b"\r":  # bars begin with it
                continue
            if not text and self.is_unended:
                ends_line |= not shown
                shown.append(b"\n")
            else:
                shown += self.prefix, piece
            self.is_unended = piece.endswith(b"\r")
            if not self.is_unended:
                self.last_lines.append(text)
        if shown:
            self.output.write(b"".join(shown), self, ends_line)
        self.passed += 1
        del self.last_lines[:-LINES_KEPT]


class Rank:
    """A process, whose output is passed on."""

    def __init__(self, rank, command, environment, outputs, has_prefix=True):
        self.rank = rank
        prefix = b"[rank %d] " % rank if has_prefix else b""
        self.process = subprocess.Popen(command, bufsize=0, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        start_new_session=True, preexec_fn=_die_with_the_launcher)
        self.streams = [Stream(source, output, prefix) for source, output in zip((self.process.stdout, self.process.stderr), outputs, strict=True)]

    @property
    def last_errors(self):
        """Its last lines of errors."""
        return self.streams[1].last_lines

    def code(self):
        """How the process ended; None before. It stays a process that has ended, so that no other one has its number."""
        ended = os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def follows_others(self):
        """True if the rank, which has failed, ended by a DistError, which it may have because another one has failed."""
        self.streams[1].reader.join(OTHERS / 2)
        return is_dist_error(self.last_errors)

    def signal(self, number):
        """Sends a signal to the process and all that it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    def has_ended(self):
        """True if the process has ended, whatever it has started."""
        return self.process.poll() is not None

    def is_gone(self):
        """True if the process, and all that it has started, have ended."""
        if not self.has_ended():
            return False
        try:
            while os.waitpid(-self.process.pid, os.WNOHANG)[0] != 0:  # those that it has left
                pass
            return False
        except ChildProcessError:
            return True

    def finish(self):
        """Waits until the rest of the output is written. A process that has left the group of the rank may hold the pipes open."""
        deadline = time.monotonic() + GRACE
        for stream in self.streams:
            passed = None
            while stream.reader.is_alive() and (any(each.output.is_writing() for each in self.streams)
                                                or passed != stream.passed and time.monotonic() < deadline):
                passed = stream.passed
                stream.reader.join(1)


def is_dist_error(lines):
    """True if the last traceback in lines of errors is that of a DistError, or of errors that it has led to. Without a traceback: if a line names
    one."""
    first, is_part, in_traceback = None, False, False
    for line in lines:
        if line.startswith(b"Traceback (most"):
            first = first if is_part else None
            in_traceback = True
        elif in_traceback and line[:1].strip():  # the error, after the lines of its traceback
            first = first or line.partition(b":")[0]
            in_traceback = is_part = False
        elif line.startswith((b"During handling of the above", b"The above exception was")):
            is_part = True
    return any(b"DistError: " in line for line in lines) if first is None else first.endswith(b"DistError")


def first_failure(ranks, signals, outputs):
    """(rank, code) of the first rank that fails of itself, or if none does of the first one that fails; (None, 0) when all have ended, a signal has
    come, or the output cannot be written."""
    failed, end = {}, None
    while not signals and all(each.failure is None for each in outputs):
        codes = [rank.code() for rank in ranks]
        for rank, code in zip(ranks, codes, strict=True):
            if code and rank not in failed:
                failed[rank] = code
                end = end or time.monotonic() + OTHERS
                if not rank.follows_others():
                    return rank, code
        if None not in codes or end is not None and time.monotonic() > end:
            break
        time.sleep(0.02)
    return next(iter(failed.items()), (None, 0))


def end_ranks(ranks, signals):
    """Ends the ranks and the processes that they have started, also those of ranks that have ended: by SIGINT if that is the signal that has come,
    by SIGTERM, by SIGKILL. The next one is sent when those before were in vain, or one more signal comes."""
    steps = [signal.SIGINT] if signals[:1] == [signal.SIGINT] else []
    left = list(ranks)
    for number in (*steps, signal.SIGTERM, signal.SIGKILL):
        come, is_last = len(signals), number == signal.SIGKILL
        for rank in left:
            rank.signal(number)
        deadline = time.monotonic() + GRACE
        while (left := [rank for rank in left if not rank.is_gone()]) and time.monotonic() < deadline and (is_last or come == len(signals)):
            # A shell's background processes ignore SIGINT, so what a rank has left is not waited for.
            if number == signal.SIGINT and all(rank.has_ended() for rank in left):
                break
            time.sleep(0.02)
