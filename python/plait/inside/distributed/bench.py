"""python -m plait bench comm: times calls among ranks, with the columns of nccl-tests."""

import argparse
import os
import time

import numpy as np

import plait
from plait import _core
from plait.inside.distributed import launch
from plait.inside.distributed import process_groups as groups

_comm = _core._comm

# Bytes on the busiest link for each byte of the size, of n ranks.
BUS = {"all_reduce": lambda n: 2 * (n - 1) / n, "all_gather": lambda n: (n - 1) / n, "reduce_scatter": lambda n: (n - 1) / n,
       "all_to_all": lambda n: (n - 1) / n, "broadcast": lambda n: 1, "reduce": lambda n: 1, "sendrecv": lambda n: 1}
REDUCTIONS = ("all_reduce", "reduce_scatter", "reduce")
HEADER = ("size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong")
UNITS = ("(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "")
WIDTHS = (12, 12, 6, 6, 6, 10, 8, 8, 8)


def number_of_bytes(text):
    """4, 64K, 256M, 1G."""
    unit = {"K": 10, "M": 20, "G": 30}.get(text[-1:].upper())
    return int(text[:-1]) << unit if unit else int(text)


def call_of(operation, length, dtype, inner):
    """(elements of the result, a function that makes one call and returns its result, the value of each of its elements)."""
    n, rank = inner.size(), inner.rank()
    count = max(1, length // plait.zeros(1, dtype=dtype).nbytes)
    part = max(1, count // n)
    x, own, rows = (plait.ones(sizes, dtype=dtype) for sizes in ((count,), (part,), (n, part)))

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
    spent = plait.asarray(np.array([(time.perf_counter() - begin) / calls]))
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
        wrong = int((np.asarray(call().numpy(), "f8") != expected).sum())
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


def parser():
    made = argparse.ArgumentParser(prog="python -m plait bench comm", description="Times a call among ranks, which it starts, for growing sizes. The columns "
                                   "are those of nccl-tests: algbw is size / time, busbw what the busiest link moves. A call of one rank after another is "
                                   "timed as the slowest rank sees it, and its first result is compared with what is right (#wrong).")
    made.add_argument("what", choices=["comm"], help="calls among ranks")
    made.add_argument("-n", type=int, default=2, help="ranks, unless a launcher has started them (2)")
    made.add_argument("--operation", choices=sorted(BUS), default="all_reduce", help="all_reduce")
    made.add_argument("--engine", default="auto", help="auto, local, gloo, mpi (auto)")
    made.add_argument("--dtype", default="f32", help="f32")
    made.add_argument("-b", "--min-bytes", type=number_of_bytes, default=4, metavar="SIZE", help="the first size: 4, 64K, 1M (4)")
    made.add_argument("-e", "--max-bytes", type=number_of_bytes, default=256 << 20, metavar="SIZE", help="the last size (256M)")
    made.add_argument("-f", "--factor", type=int, default=4, help="from one size to the next (4)")
    made.add_argument("--iterations", type=int, default=0, metavar="N", help="calls for each size (2000 to 10, by size)")
    return made


def main(arguments):
    """The command, with its arguments."""
    given = parser().parse_args(arguments)
    if given.factor < 2 or given.min_bytes < 1 or given.n < 1:
        parser().error("expected a factor of 2 or more, a size of 1 or more, and at least one rank")
    if any(name in os.environ for name in ("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")):
        return run(given)
    return launch.main(["-n", str(given.n), "--no-prefix", "-m", "plait", "bench", *arguments])
