"""Processes that run one library each, and their timing."""

import contextlib
import signal
import statistics
import subprocess
import sys
import time

import numpy as np

LEAST_SECONDS = 0.02  # seconds of one timing at least, which repeats short runs


def array_of(result):
    """The result of a library, as an array that NumPy can save."""
    if hasattr(result, "detach"):
        result = result.detach()
        result = result.float() if str(result.dtype) == "torch.bfloat16" else result
    array = np.asarray(result)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array  # NumPy saves bfloat16 as bytes


def serve(begin):
    """The main loop of a worker: reads requests from standard input, and answers in lines. begin(*words) returns the function to
    run, and an answer."""
    run = None
    for line in sys.stdin:
        command, *rest = line.rstrip("\n").split("\t")
        if command == "case":
            run, answer = begin(*rest)
            print(answer, flush=True)
        else:
            count = int(rest[0])
            start = time.perf_counter()
            for _ in range(count):
                run()
            print((time.perf_counter() - start) / count, flush=True)


class Worker:
    """A library's process, or a C++ program with the same protocol. It is stopped between requests: threads that spin for work
    would take processor time from the process that is timed."""

    def __init__(self, command, **options):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, **options)

    def ask(self, *words):
        self.process.send_signal(signal.SIGCONT)
        try:
            return self.answer_to(words)
        finally:
            self.process.send_signal(signal.SIGSTOP)

    def answer_to(self, words):
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.process.args} ended while it was asked {words}")
        return answer.strip()

    def close(self):
        with contextlib.suppress(BrokenPipeError):  # the process has already ended
            self.process.stdin.close()
        self.process.send_signal(signal.SIGCONT)
        self.process.wait()


def timed(workers, rounds, least_seconds=LEAST_SECONDS, most_seconds=None):
    """Seconds of one run, by contender: medians of alternating runs. There are fewer rounds, at least one, if they would take longer
    than `most_seconds`."""
    counts, round_seconds = {}, 0
    for contender, worker in workers.items():
        count, each = 1, float(worker.ask("run", 1))
        while count < (wanted := max(1, min(1000, round(least_seconds / max(each, 1e-7))))) // 2:  # the first run is slow
            count = wanted
            each = float(worker.ask("run", count))
        counts[contender] = wanted
        round_seconds += each * wanted
    if most_seconds is not None:
        rounds = max(1, min(rounds, round(most_seconds / round_seconds)))
    seconds = {contender: [] for contender in workers}
    for number in range(rounds):
        order = list(workers) if number % 2 == 0 else list(workers)[::-1]
        for contender in order:
            seconds[contender].append(float(workers[contender].ask("run", counts[contender])))
    return {contender: statistics.median(each) for contender, each in seconds.items()}


def text_of(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"
