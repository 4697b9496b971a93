"""plait run: starts a program as several ranks, and ends them together."""

import argparse
import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from plait import errors
from plait.inside.distributed.stores import TCPStore

GRACE = 5  # seconds from SIGTERM to SIGKILL
LINES_KEPT = 40  # last lines of errors, shown for the first rank that fails

DESCRIPTION = """Starts a program as several ranks, with the environment variables that plait.distributed.init_process_group reads, those of
torchrun: RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, GROUP_RANK, MASTER_ADDR, MASTER_PORT. Each line of output begins with its rank. When a rank
fails the others are ended, its last lines are shown again, and its exit code is returned."""


def parser():
    made = argparse.ArgumentParser(prog="python -m plait run", description=DESCRIPTION)
    made.add_argument("-n", "--nproc-per-node", type=int, default=1, metavar="N", help="ranks on this host (1)")
    made.add_argument("--nodes", type=int, default=1, metavar="N", help="hosts, on each of which this command runs (1)")
    made.add_argument("--node-rank", type=int, default=0, metavar="K", help="which of the hosts this is, from 0 (0)")
    made.add_argument("--rendezvous", default="localhost:0", metavar="HOST:PORT", help="where host 0 is reached; port 0 is any that is free")
    made.add_argument("-m", "--module", action="store_true", help="the program is a Python module, as in python -m")
    made.add_argument("--no-python", action="store_true", help="the program is not a Python file")
    made.add_argument("--no-prefix", action="store_true", help="lines of output do not begin with their rank")
    made.add_argument("program", help="a Python file, unless it is executable and has another ending")
    made.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the program")
    return made


def command_of(given):
    """The command line of a rank."""
    if given.module:
        return [sys.executable, "-u", "-m", given.program, *given.arguments]
    if given.no_python or (not given.program.endswith(".py") and os.access(given.program, os.X_OK)):
        return [given.program, *given.arguments]
    return [sys.executable, "-u", given.program, *given.arguments]


def _die_with_the_launcher():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _adopt():
    """Processes whose parent has ended become children of this one, which sees them end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


class Output:
    """Where lines of all ranks are written, as the bytes that they are. After a failure nothing is: ranks are read on, as they would wait."""

    locks = {}  # one for both streams if they are one file

    def __init__(self, stream):
        if stream is not None:
            stream.flush()
        self.descriptor = os.open(os.devnull, os.O_WRONLY) if stream is None else stream.fileno()  # None: it was closed before
        status = os.fstat(self.descriptor)
        self.lock = self.locks.setdefault((status.st_dev, status.st_ino), threading.Lock())
        self.failure = None

    def write(self, data):
        with self.lock:
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
        return self.lock.locked()


class Rank:
    """A process, whose output is passed on line by line."""

    def __init__(self, rank, command, environment, outputs, has_prefix=True):
        self.rank = rank
        self.prefix = b"[rank %d] " % rank if has_prefix else b""
        self.last_errors = []
        self.passed = 0  # pieces of output
        self.process = subprocess.Popen(command, bufsize=0, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        start_new_session=True, preexec_fn=_die_with_the_launcher)
        self.outputs = outputs
        self.readers = [threading.Thread(target=self._pass_on, args=streams, daemon=True)
                        for streams in zip((self.process.stdout, self.process.stderr), outputs, (None, self.last_errors), strict=True)]
        for reader in self.readers:
            reader.start()

    def _pass_on(self, source, output, kept):
        rest = b""
        # The interpreter may end while another process holds the pipe open: no object with a lock reads it.
        while received := os.read(source.fileno(), 1 << 16):
            *lines, rest = (rest + received).split(b"\n")
            self._show(lines, output, kept)
        if rest:
            self._show([rest], output, kept)

    def _show(self, lines, output, kept):
        output.write(b"".join(b"%b%b\n" % (self.prefix, line) for line in lines))
        self.passed += 1
        if kept is not None:
            kept += lines
            del kept[:-LINES_KEPT]

    def code(self):
        """How the process ended; None before. It stays a process that has ended, so that no other one has its number."""
        ended = os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def signal(self, number):
        """Sends a signal to the process and all that it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    def is_gone(self):
        """True if the process, and all that it has started, have ended."""
        if self.process.poll() is None:
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
        for reader in self.readers:
            passed = None
            while reader.is_alive() and (any(each.is_writing() for each in self.outputs) or passed != self.passed and time.monotonic() < deadline):
                passed = self.passed
                reader.join(1)


def _end(ranks):
    """Ends the ranks and the processes that they have started, also those of ranks that have ended: by SIGTERM, then by SIGKILL."""
    left = list(ranks)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for rank in left:
            rank.signal(number)
        deadline = time.monotonic() + GRACE
        while (left := [rank for rank in left if not rank.is_gone()]) and time.monotonic() < deadline:
            time.sleep(0.02)


def _first_failure(ranks, stopped, outputs):
    """(rank, code) of the first rank that fails; (None, 0) when all have ended, the command is stopped, or its output cannot be written."""
    while not stopped and all(each.failure is None for each in outputs):
        codes = [rank.code() for rank in ranks]
        failed = next(((rank, code) for rank, code in zip(ranks, codes, strict=True) if code), None)
        if failed is not None:
            return failed
        if None not in codes:
            break
        time.sleep(0.02)
    return None, 0


def _place_of(text):
    host, separator, port = text.rpartition(":")
    if not separator or not port.isdigit():
        raise errors.ValueError(f"plait run: --rendezvous is {text!r}, expected host:port")
    return host.strip("[]"), int(port)


def environment_of(given, local_rank, host, port, call_log):
    """The variables of a rank."""
    per_node, threads = given.nproc_per_node, max(1, len(os.sched_getaffinity(0)) // given.nproc_per_node)
    values = {"RANK": given.node_rank * per_node + local_rank, "LOCAL_RANK": local_rank, "WORLD_SIZE": given.nodes * per_node,
              "LOCAL_WORLD_SIZE": per_node, "GROUP_RANK": given.node_rank, "NODE_RANK": given.node_rank, "GROUP_WORLD_SIZE": given.nodes,
              "MASTER_ADDR": host, "MASTER_PORT": port, "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RUN_ID": "none"}
    return {"PLAIT_THREADS": str(threads), "PLAIT_CALL_LOG": call_log, **os.environ, **{name: str(value) for name, value in values.items()}}


def _run_ranks(given, host, port, call_log, outputs):
    """(the rank that failed or None, its code, the signals that came) when all have ended."""
    ranks, stopped = [], []
    before = {number: signal.signal(number, lambda number, _: stopped.append(number)) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for local_rank in range(given.nproc_per_node):
            rank = given.node_rank * given.nproc_per_node + local_rank
            ranks.append(Rank(rank, command_of(given), environment_of(given, local_rank, host, port, call_log), outputs, not given.no_prefix))
        failed, code = _first_failure(ranks, stopped, outputs)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _end(ranks)
        for rank in ranks:
            rank.finish()
    return failed, code, stopped


def _report(failed, code, call_log, output):
    """Shows the last lines of a rank that failed, and says where the last calls of the ranks are."""
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"failed with exit code {code}"
    text = f"plait run: rank {failed.rank} {how}{':' if failed.last_errors else ''}\n"
    output.write(text.encode() + b"".join(b"  %b\n" % line for line in failed.last_errors))
    if os.path.isdir(call_log) and os.listdir(call_log):
        output.write(f"plait run: the last calls of the ranks are in {call_log}\n".encode())


def run(given):
    """Runs the ranks of this host, and returns the exit code."""
    host, port = _place_of(given.rendezvous)
    if given.nproc_per_node < 1:
        raise errors.ValueError(f"plait run: -n is {given.nproc_per_node}, expected 1 rank or more")
    if not 0 <= given.node_rank < given.nodes:
        raise errors.ValueError(f"plait run: --node-rank is {given.node_rank} of --nodes {given.nodes}, expected 0 to {given.nodes - 1}")
    if given.nodes > 1 and port == 0:
        raise errors.ValueError("plait run: --rendezvous needs a port where there are several hosts")
    store = TCPStore(host, port, is_master=True) if given.node_rank == 0 else None  # outlives the ranks
    port = store.port if store is not None else port
    outputs = Output(sys.stdout), Output(sys.stderr)
    _adopt()
    # Ranks write their last calls there when one fails.
    chosen = os.environ.get("PLAIT_CALL_LOG")
    call_log = chosen or tempfile.mkdtemp(prefix="plait_calls_")
    failed, code, stopped = _run_ranks(given, host, port, call_log, outputs)
    if not chosen and (failed is None or not os.listdir(call_log)):
        shutil.rmtree(call_log)
    if failed is not None:
        _report(failed, code, call_log, outputs[1])
        return 128 - code if code < 0 else code
    if stopped:
        return 128 + stopped[0]
    unwritten = next((each.failure for each in outputs if each.failure is not None), None)
    if unwritten is None:
        return 0
    outputs[1].write(f"plait run: the ranks were ended, as their output cannot be written: {unwritten.strerror}\n".encode())
    return 128 + signal.SIGPIPE


def main(arguments):
    """The command, with its arguments."""
    try:
        return run(parser().parse_args(arguments))
    except (errors.Error, OSError) as error:
        # The innermost line of the user is that of Python's own runpy.
        location = getattr(error, "location", "")
        print(str(error).replace(f", at {location}", "") if location else error, file=sys.stderr)
        return 2
