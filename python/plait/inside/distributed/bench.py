"""python -m plait bench comm: times calls among ranks, with the columns of nccl-tests."""

import argparse
import os
import time

import numpy as np

import plait
from plait import _core, errors
from plait.inside.arrays.devices import moved
from plait.inside.distributed import launch, launch_options
from plait.inside.distributed import process_groups as groups

_comm = _core._comm

# Bytes on the busiest link for each byte of the size, of n ranks.
BUS = {"all_reduce": lambda n: 2 * (n - 1) / n, "all_gather": lambda n: (n - 1) / n, "reduce_scatter": lambda n: (n - 1) / n,
       "all_to_all": lambda n: (n - 1) / n, "broadcast": lambda n: 1, "reduce": lambda n: 1, "sendrecv": lambda n: 1}
REDUCTIONS = ("all_reduce", "reduce_scatter", "reduce")
HEADER = ("size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong")
UNITS = ("(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "")
WIDTHS = (12, 12, 8, 6, 6, 10, 8, 8, 8)


# ---- Values of options.


def number_of_bytes(text):
    """4, 64K, 256M, 1G."""
    unit = {"K": 10, "M": 20, "G": 30}.get(text[-1:].upper())
    try:
        return int(text[:-1]) << unit if unit else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a size, as 4, 64K, 256M or 1G, not {text!r}") from None


def name_of_dtype(text):
    """The short name: f32 of float32."""
    try:
        return plait.zeros(1, dtype=text).dtype.name
    except errors.Error as error:
        suggestion = f"; {error.hint}" if error.hint.startswith("did you mean") else ""
        raise argparse.ArgumentTypeError(f"expected a dtype of numbers, as f32 or float32, not {text!r}{suggestion}") from None


def name_of_engine(text):
    """That of an engine of this build."""
    names = ("auto", *_comm.engines())
    if text.lower() not in names:
        raise argparse.ArgumentTypeError(f"expected one of {', '.join(names)}, not {text!r}")
    return text.lower()


# ---- Calls, and their times.


def call_of(operation, length, dtype, inner):
    """(elements of the result, a function that makes one call and returns its result, the value of each of its elements)."""
    n, rank = inner.size(), inner.rank()
    count = max(1, length // plait.zeros(1, dtype=dtype).nbytes)
    part = max(1, count // n)
    x, own, rows = (moved(plait.ones(sizes, dtype=dtype), inner.device()) for sizes in ((count,), (part,), (n, part)))

    def sendrecv():
        sent = _comm.send(x, (rank + 1) % n, inner, 0, -1.0, True)
        received = _comm.recv(x, (rank + n - 1) % n, inner, 0, -1.0, False)[0]
        sent.wait(-1.0)
        return received

    calls = {"all_reduce": (count, lambda: _comm.all_reduce(x, ("sum", 1.0), inner, -1.0, False), n),
             "reduce": (count, lambda: _comm.reduce(x, 0, ("sum", 1.0), inner, -1.0, False), n if rank == 0 else 1),
             "broadcast": (count, lambda: _comm.broadcast(x, 0, inner, -1.0, False), 1),
             "all_gather": (n * part, lambda: _comm.all_gather(own, inner, -1.0, False), 1),
             "reduce_scatter": (n * part, lambda: _comm.reduce_scatter(rows, ("sum", 1.0), inner, -1.0, False), n),
             "all_to_all": (n * part, lambda: _comm.all_to_all(rows, inner, -1.0, False), 1),
             "sendrecv": (count, sendrecv, 1)}
    return calls[operation]


def timed(call, calls, inner):
    """Seconds of one call, on the slowest rank."""
    _comm.barrier(inner, -1.0, False)
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    spent = moved(plait.asarray(np.array([(time.perf_counter() - begin) / calls])), inner.device())
    return float(_comm.all_reduce(spent, ("max", 1.0), inner, -1.0, False)[0])


def row(cells):
    return "".join(f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()


def run(given):
    """One rank: rank 0 prints a row for each size."""
    groups.init_process_group(given.engine)
    inner = groups.group.WORLD._inner
    n, operation = inner.size(), given.operation
    if inner.rank() == 0:
        print(f"# {operation} of {n} ranks, engine {inner.engine()}")
        print(row(HEADER), row(UNITS), sep="\n", flush=True)
    length = given.min_bytes
    while length <= given.max_bytes:
        count, call, expected = call_of(operation, length, given.dtype, inner)
        result = np.asarray(moved(call(), "cpu").numpy(), "c16" if given.dtype.startswith("c") else "f8")
        wrong = int((result != (1 if given.dtype == "bool" else expected)).sum())
        calls = given.iterations or (2000 if length <= 64 << 10 else 100 if length <= 4 << 20 else 10)
        for _ in range(calls // 4):
            call()
        seconds = timed(call, calls, inner)
        size = count * plait.zeros(1, dtype=given.dtype).nbytes
        rate = size / seconds / 1e9
        if inner.rank() == 0:
            root = "0" if operation in ("broadcast", "reduce") else "-1"
            reduction = "sum" if operation in REDUCTIONS else "none"
            print(row((size, count, given.dtype, reduction, root, f"{seconds * 1e6:.2f}", f"{rate:.2f}", f"{rate * BUS[operation](n):.2f}", wrong)),
                  flush=True)
        length *= given.factor
    groups.destroy_process_group()


# ---- The command.


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"{self.prog}: {message} (--help lists the options)\n")


def parser():
    made = _Parser(prog=f"{launch_options.COMMAND} bench comm", description="Times a call among ranks, which it starts, for growing sizes. The "
                   "columns are those of nccl-tests: algbw is size / time, busbw what the busiest link moves. A call of one rank after another is "
                   "timed as the slowest rank sees it, and its first result is compared with what is right (#wrong).")
    made.add_argument("comm", choices=["comm"], help="calls among ranks")
    made.add_argument("-n", type=int, default=2, help="ranks, unless a launcher has started them (2)")
    made.add_argument("--operation", choices=sorted(BUS), default="all_reduce", help="all_reduce")
    made.add_argument("--engine", type=name_of_engine, default="auto", help="auto, local, gloo, mpi, nccl (auto)")
    made.add_argument("--dtype", type=name_of_dtype, default="f32", help="as f32 or float32 (f32)")
    made.add_argument("-b", "--min-bytes", type=number_of_bytes, default=4, metavar="SIZE", help="the first size: 4, 64K, 1M (4)")
    made.add_argument("-e", "--max-bytes", type=number_of_bytes, default=256 << 20, metavar="SIZE", help="the last size (256M)")
    made.add_argument("-f", "--factor", type=int, default=4, help="from one size to the next (4)")
    made.add_argument("--iterations", type=int, default=0, metavar="N", help="calls for each size (2000 to 10, by size)")
    return made


def _expect_usable(given):
    """Ends the command, with one line, where values do not fit together: before ranks are started, each of which would say so."""
    for name, value, least in (("-n", given.n, 1), ("--factor", given.factor, 2), ("--min-bytes", given.min_bytes, 1),
                               ("--iterations", given.iterations, 0)):
        if value < least:
            parser().error(f"{name} is {value}, expected {least} or more")
    if given.max_bytes < given.min_bytes:
        parser().error(f"--max-bytes is {given.max_bytes}, and --min-bytes {given.min_bytes}, expected the last size to be the larger one")
    if given.engine == "mpi" and not any(name in os.environ for name in ("OMPI_COMM_WORLD_SIZE", "PMIX_RANK")):
        parser().error(f"the engine mpi needs ranks that mpirun starts: mpirun -n {given.n} {launch_options.COMMAND} bench comm --engine mpi")


def main(arguments):
    """The command, with its arguments."""
    given = parser().parse_args(arguments)
    _expect_usable(given)
    if _comm.launch_variable("RANK") is not None:
        return run(given)
    return launch.main(["-n", str(given.n), "--no-prefix", "-m", "plait", "bench", *arguments])
