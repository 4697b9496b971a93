"""plait run: starts a program as several ranks, and ends them together."""

import argparse
import ctypes
import os
import signal
import subprocess
import sys
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


class Rank:
    """A process, whose output is passed on line by line."""

    def __init__(self, rank, command, environment):
        self.rank = rank
        self.last_errors = []
        self.process = subprocess.Popen(command, bufsize=0, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        start_new_session=True, preexec_fn=_die_with_the_launcher)
        self.readers = [threading.Thread(target=self._pass_on, args=streams, daemon=True)
                        for streams in ((self.process.stdout, sys.stdout, None), (self.process.stderr, sys.stderr, self.last_errors))]
        for reader in self.readers:
            reader.start()

    def _pass_on(self, source, target, kept):
        prefix, rest = f"[rank {self.rank}] ", b""
        # The interpreter may end while another process holds the pipe open: no object with a lock reads it.
        while received := os.read(source.fileno(), 1 << 16):
            *lines, rest = (rest + received).split(b"\n")
            self._show(lines, prefix, target, kept)
        if rest:
            self._show([rest], prefix, target, kept)

    @staticmethod
    def _show(lines, prefix, target, kept):
        texts = [line.decode("utf-8", "replace") for line in lines]
        target.write("".join(f"{prefix}{text}\n" for text in texts))
        target.flush()
        if kept is not None:
            kept += texts
            del kept[:-LINES_KEPT]

    def signal(self, number):
        """Sends a signal to the process and all that it has started."""
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def finish(self):
        """Waits for the rest of the output, which a process that the rank has started may hold open."""
        for reader in self.readers:
            reader.join(1)


def _end(ranks):
    """Ends the ranks that are left: by SIGTERM, then by SIGKILL."""
    for rank in ranks:
        if rank.process.poll() is None:
            rank.signal(signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    for rank in ranks:
        try:
            rank.process.wait(max(0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            rank.signal(signal.SIGKILL)
            rank.process.wait()


def _first_failure(ranks, stopped):
    """Waits until a rank fails, or all have ended, or the command is stopped."""
    while not stopped:
        codes = [rank.process.poll() for rank in ranks]
        failed = next((rank for rank, code in zip(ranks, codes, strict=True) if code), None)
        if failed is not None or None not in codes:
            return failed
        time.sleep(0.02)
    return None


def _place_of(text):
    host, separator, port = text.rpartition(":")
    if not separator or not port.isdigit():
        raise errors.ValueError(f"plait run: --rendezvous is {text!r}, expected host:port")
    return host.strip("[]"), int(port)


def environment_of(given, local_rank, host, port):
    """The variables of a rank."""
    per_node, threads = given.nproc_per_node, max(1, len(os.sched_getaffinity(0)) // given.nproc_per_node)
    values = {"RANK": given.node_rank * per_node + local_rank, "LOCAL_RANK": local_rank, "WORLD_SIZE": given.nodes * per_node,
              "LOCAL_WORLD_SIZE": per_node, "GROUP_RANK": given.node_rank, "NODE_RANK": given.node_rank, "GROUP_WORLD_SIZE": given.nodes,
              "MASTER_ADDR": host, "MASTER_PORT": port, "TORCHELASTIC_USE_AGENT_STORE": "True"}
    return {"PLAIT_THREADS": str(threads), **os.environ, **{name: str(value) for name, value in values.items()}}


def run(given):
    """Runs the ranks of this host, and returns the exit code."""
    host, port = _place_of(given.rendezvous)
    if given.nproc_per_node < 1 or not 0 <= given.node_rank < given.nodes:
        raise errors.ValueError(f"plait run: host {given.node_rank} of {given.nodes} with {given.nproc_per_node} ranks")
    if given.nodes > 1 and port == 0:
        raise errors.ValueError("plait run: --rendezvous needs a port where there are several hosts")
    store = TCPStore(host, port, is_master=True) if given.node_rank == 0 else None  # outlives the ranks
    port = store.port if store is not None else port
    ranks, stopped = [], []
    before = {number: signal.signal(number, lambda number, _: stopped.append(number)) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for local_rank in range(given.nproc_per_node):
            ranks.append(Rank(given.node_rank * given.nproc_per_node + local_rank, command_of(given), environment_of(given, local_rank, host, port)))
        failed = _first_failure(ranks, stopped)
        code = 0 if failed is None else failed.process.returncode
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _end(ranks)
        for rank in ranks:
            rank.finish()
    if failed is None:
        return 128 + stopped[0] if stopped else 0
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"failed with exit code {code}"
    print(f"plait run: rank {failed.rank} {how}{':' if failed.last_errors else ''}", file=sys.stderr)
    for line in failed.last_errors:
        print(f"  {line}", file=sys.stderr)
    return 128 - code if code < 0 else code


def main(arguments):
    """The command, with its arguments."""
    try:
        return run(parser().parse_args(arguments))
    except (errors.Error, OSError) as error:
        print(error, file=sys.stderr)
        return 2
