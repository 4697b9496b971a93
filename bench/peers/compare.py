"""Times Plait beside NumPy and PyTorch, doing the same work: outputs are compared first, then runs alternate, each library
in a process of its own, and medians are compared.

    compare.py [WORDS...]       only the cases whose name has one of the words
        --rounds N              runs of each contender (15)
        --json FILE             write the figures there too
        --list                  the cases
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import cases

LEAST_SECONDS = 0.02  # of one timing, which repeats short runs


def array_of(result):
    """What a library gave, as an array that NumPy can save."""
    if hasattr(result, "detach"):
        result = result.detach()
        result = result.float() if str(result.dtype) == "torch.bfloat16" else result
    array = np.asarray(result)
    if array.dtype.kind == "V":  # bf16, which NumPy saves as bytes
        import plait

        array = np.asarray(plait.astype(result, plait.f32))
    return array


def work(contender):
    """The process that runs one library: asked over standard input, answers in lines."""
    library = cases.load(contender)
    run = None
    for line in sys.stdin:
        command, *rest = line.rstrip("\n").split("\t")
        if command == "case":
            each = cases.CASES[rest[0]]
            given = cases.arguments(each, contender, library)
            one = each.run[contender]
            run = lambda: one(library, *given)  # noqa: E731
            np.save(rest[1], array_of(run()))
            print("ready", flush=True)
        else:
            count = int(rest[0])
            start = time.perf_counter()
            for _ in range(count):
                run()
            print((time.perf_counter() - start) / count, flush=True)


class Worker:
    """A library's process, or a program of C++ that speaks the same way."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def ask(self, *words):
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.process.args} ended while it was asked {words}")
        return answer.strip()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def agree(name, results, tolerance):
    wanted = results["plait"]
    for contender, result in results.items():
        if result.shape != wanted.shape or not np.allclose(result, wanted, rtol=tolerance, atol=tolerance):
            raise SystemExit(f"{name}: {contender} gives another result than plait")


def timed(workers, rounds):
    """Seconds of one run, by contender: medians of runs that alternate."""
    counts = {}
    for contender, worker in workers.items():
        first = float(worker.ask("run", 1))
        counts[contender] = max(1, min(1000, round(LEAST_SECONDS / max(first, 1e-7))))
    seconds = {contender: [] for contender in workers}
    for number in range(rounds):
        order = list(workers) if number % 2 == 0 else list(workers)[::-1]
        for contender in order:
            seconds[contender].append(float(workers[contender].ask("run", counts[contender])))
    return {contender: statistics.median(each) for contender, each in seconds.items()}


def compare(each, rounds, folder):
    workers = {contender: Worker([sys.executable, __file__, "--worker", contender]) for contender in each.contenders}
    try:
        results = {}
        for contender, worker in workers.items():
            file = os.path.join(folder, f"{contender}.npy")
            worker.ask("case", each.name, file)
            results[contender] = np.load(file)
        agree(each.name, results, each.tolerance)
        return timed(workers, rounds)
    finally:
        for worker in workers.values():
            worker.close()


def compare_programs(folder, rounds):
    """Programs of C++ in `folder`: eager_<contender>, which know the same cases."""
    programs = {path.name.removeprefix("eager_"): path for path in sorted(pathlib.Path(folder).glob("eager_*"))}
    names = subprocess.run([programs["plait"], "--list"], capture_output=True, text=True, check=True).stdout.split("\n")
    for line in filter(None, names):
        name, goal, calls = line.split("\t")
        workers = {contender: Worker([str(path), name]) for contender, path in programs.items()}
        try:
            values = {contender: float(worker.ask("result")) for contender, worker in workers.items()}
            if max(values.values()) - min(values.values()) > 1e-3 * abs(values["plait"]):
                raise SystemExit(f"{name}: the results differ: {values}")
            yield name, float(goal), int(calls), timed(workers, rounds)
        finally:
            for worker in workers.values():
                worker.close()


def text_of(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def show(name, goal, calls, seconds):
    others = {contender: each for contender, each in seconds.items() if contender != "plait"}
    fastest = min(others, key=others.get)
    ratio = seconds["plait"] / others[fastest]
    told = ", ".join(f"{contender} {text_of(each / calls)}" for contender, each in seconds.items())
    verdict = "" if ratio <= goal else "   <- above the goal"
    print(f"{name:52} {ratio:5.2f} of {fastest:6} (goal {goal:.2f})  {told}{verdict}", flush=True)
    return {"case": name, "ratio": ratio, "goal": goal, "fastest_other": fastest,
            "seconds_per_call": {contender: each / calls for contender, each in seconds.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--programs", help="a folder of eager_plait, eager_libtorch")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(options.worker)
    chosen = [each for each in cases.CASES.values()
              if not options.words or any(word in each.name for word in options.words)]
    if options.list:
        return print("\n".join(each.name for each in chosen))
    shown = []
    if options.programs:
        shown += [show(*each) for each in compare_programs(options.programs, options.rounds)]
    with tempfile.TemporaryDirectory() as folder:
        for each in chosen:
            shown.append(show(each.name, each.goal, each.calls, compare(each, options.rounds, folder)))
    missed = [each["case"] for each in shown if each["ratio"] > each["goal"]]
    print(f"{len(shown)} cases, {len(missed)} above their goal")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(shown, indent=1) + "\n")


if __name__ == "__main__":
    main()
