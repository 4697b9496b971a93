"""Times the same work in Plait, NumPy, PyTorch and JAX: outputs are compared first, then runs alternate, each library in a
process of its own, and medians are compared.

    compare.py [WORDS...]       only the cases whose names contain one of the words
        --rounds N              runs of each contender (15)
        --json FILE             also write the figures to FILE
        --list                  list the cases
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import cases
from workers import Worker, array_of, serve, text_of, timed


def work(contender):
    """The process that runs one library."""
    library = cases.load(contender)

    def begin(name, file):
        each = cases.CASES[name]
        given = cases.arguments(each, contender, library)
        one = each.run[contender]
        np.save(file, array_of(one(library, *given)))
        return lambda: one(library, *given), "ready"

    serve(begin)


def agree(name, results, tolerance):
    wanted = results["plait"]
    for contender, result in results.items():
        if result.shape != wanted.shape or not np.allclose(result, wanted, rtol=tolerance, atol=tolerance):
            raise SystemExit(f"{name}: {contender} gives another result than plait")


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
    """Compares the C++ programs eager_<contender> in `folder`, which have the same cases."""
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
