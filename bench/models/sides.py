"""Cases that several libraries compute: processes that alternate, results that are compared with PyTorch's first, and rows that are printed.

    PYTHONPATH=build/bench/python .venv/bin/python bench/models/solvers.py adaptive --rounds 1

The files of cases have CASES, and end with `main(__doc__, __file__, CASES)`. Weights and inputs are drawn once, by PyTorch, and saved; a process
imports its own library only.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import resource
import statistics
import sys
import tempfile
import time
import typing

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parents[1] / "examples"), str(HERE.parent / "peers")]
SIDES = ("plait", "torch", "torch-compile", "jax")
ALLOWED = {"fp32": 1e-3, "bf16": 1e-1}


@dataclasses.dataclass
class Case:
    """data() draws weights and inputs, as arrays by name; those whose names begin with "weights." are a state. A side of `sides` is a function of
    them, and returns (run, results): run() computes a step, and waits for it; results() are arrays by name after the first step. `absent` says why a
    side is missing, `apart` how far results may be from PyTorch's."""

    data: typing.Callable
    sides: dict
    absent: dict = dataclasses.field(default_factory=dict)
    apart: float = ALLOWED["fp32"]


def measured(run, repeat, seconds=60):
    """Times the first call, a call that does not count, and `repeat` calls: after `seconds` it stops as soon as there are three. With the peak memory
    of the process, in MB."""
    times, begin = [], time.perf_counter()
    while len(times) < repeat + 2 and (len(times) < min(repeat, 3) + 2 or time.perf_counter() - begin < seconds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"first_s": times[0], "median_s": statistics.median(times[2:]), "peak_mb": peak}


# ---- Processes, and their rows.


def alternated(sides, rounds, told):
    """Figures of sides whose processes alternate, or {"why": …}; told(side) is the line of a process."""
    from compare import Failed

    lines, why = {}, {}
    for number in range(rounds):
        for side in sides if number % 2 == 0 else sides[::-1]:
            if side in why:
                continue
            try:
                line = told(side)
            except Failed as failed:
                line = {"why": str(failed)}
            if "why" in line:
                why[side] = line["why"]
            else:
                lines.setdefault(side, []).append(line)
    figures = {side: {"why": why[side]} for side in why}
    for side in lines.keys() - why.keys():
        figures[side] = {name: statistics.median(line[name] for line in lines[side]) for name in ("first_s", "median_s", "peak_mb")}
    return {side: figures[side] for side in sides}


def show(figures, others):
    """Prints the rows of a case; returns Plait's ratio to the fastest of the other sides, or None."""
    fastest = min((figures[side]["median_s"] for side in others if "median_s" in figures.get(side, {})), default=None)
    for side, each in figures.items():
        if "why" in each:
            print(f"  {side:15} {each['why']}", flush=True)
            continue
        ratio = "" if fastest is None else f"{each['median_s'] / fastest:5.2f}"
        print(f"  {side:15} {1e3 * each['median_s']:8.4g} ms  {ratio:5}  first {each['first_s']:6.2f} s  {each['peak_mb']:6.0f} MB", flush=True)
    return figures["plait"]["median_s"] / fastest if fastest and "median_s" in figures.get("plait", {}) else None


def parser_of(description, names):
    """The options that all files of cases have."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(names)} (all)")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each side (3)")
    parser.add_argument("--repeat", type=int, default=7, help="steps that each times (7)")
    parser.add_argument("--sides", nargs="*", default=SIDES, choices=SIDES, help="all")
    parser.add_argument("--json", type=pathlib.Path, help="a file for the figures")
    parser.add_argument("--only", nargs="+", help=argparse.SUPPRESS)
    return parser


def parsed(parser, names):
    options = parser.parse_args()
    for case in options.cases:
        if case not in names:
            parser.error(f"there is no case {case}; there are {', '.join(names)}")
    os.environ.setdefault("THREADS", str(len(os.sched_getaffinity(0))))
    return options


def environment():
    """That of a process: the number of threads of each library."""
    threads = os.environ["THREADS"]
    names = ("PLAIT_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    single = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"} if threads == "1" else {}
    return os.environ | dict.fromkeys(names, threads) | {"JAX_PLATFORMS": "cpu"} | single


# ---- Cases with `data` and `sides`.


def distance(found, wanted, before=None):
    """How far a result is from PyTorch's, relative to it; that of a weight is relative to the way of its elements that moved, beyond the rounding of
    these."""
    import numpy as np

    found, wanted = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    if found.shape != wanted.shape:
        return float("inf")
    if before is not None:
        moved = (wanted != before) | (found != before)
        found, wanted, before = found[moved], wanted[moved], np.asarray(before, np.float64)[moved]
    apart = float(np.linalg.norm(found - wanted))
    if before is None:
        apart /= max(float(np.linalg.norm(wanted)), 1e-30)
    else:
        apart = max(0.0, apart - 2.0**-24 * float(np.linalg.norm(wanted))) / max(float(np.linalg.norm(wanted - before)), 1e-12)
    return apart if apart == apart else float("inf")


def prepare(case, folder):
    """Saves the data, and PyTorch's results."""
    import numpy as np
    import torch

    torch.set_num_threads(int(os.environ["THREADS"]))
    torch.manual_seed(0)
    data = case.data()
    np.savez(f"{folder}/data.npz", **data)
    run, results = case.sides["torch"](data)
    run()
    np.savez(f"{folder}/wanted.npz", **results())
    return {}


def begun(case, side, folder):
    """(run, results) of a side, with the data that was saved."""
    import numpy as np

    if side.startswith("torch"):
        import torch

        torch.set_num_threads(int(os.environ["THREADS"]))
    return case.sides[side](dict(np.load(f"{folder}/data.npz")))


def compared(case, side, folder):
    """The largest distance of a result, and its name."""
    import numpy as np

    run, results = begun(case, side, folder)
    run()
    found, wanted, data = results(), np.load(f"{folder}/wanted.npz"), np.load(f"{folder}/data.npz")
    if found.keys() != set(wanted.files):
        return {"apart": float("inf"), "at": f"names: {sorted(found.keys() ^ set(wanted.files))[:5]}"}
    apart = {name: distance(found[name], wanted[name], data[name] if name in data.files else None) for name in found}
    worst = max(apart, key=apart.get)
    return {"apart": apart[worst], "at": worst}


def rows_of(name, case, options, told):
    """The rows of a case: figures by side."""
    from compare import Failed

    told(name, "prepare")
    apart, figures = {}, {}
    for side in options.sides:
        if side not in case.sides:
            figures[side] = {"why": case.absent.get(side, "has no such case")}
        elif side != "torch":
            try:
                apart[side] = told(name, "compare", side)
                if not apart[side]["apart"] <= case.apart:
                    figures[side] = {"why": f"NOT AS PYTORCH: apart by {apart[side]['apart']:.1e} at {apart[side]['at']}"}
            except Failed as failed:
                figures[side] = {"why": f"FAILED: {failed}"}
    text = ", ".join(f"{side} {each['apart']:.1e}" for side, each in apart.items())
    print(f"{name}: the results of a step are apart from PyTorch's by {text or 'nothing'} (at most {case.apart:.0e})", flush=True)
    timed = [side for side in options.sides if side not in figures]
    figures |= alternated(timed, options.rounds, lambda side: told(name, "time", side))
    return {side: figures[side] for side in options.sides}


def main(description, file, cases):
    parser = parser_of(description, cases)
    options = parsed(parser, cases)
    if options.only:
        folder, name, action, *side = options.only
        actions = {"prepare": lambda: prepare(cases[name], folder), "compare": lambda: compared(cases[name], *side, folder),
                   "time": lambda: measured(begun(cases[name], *side, folder)[0], options.repeat)}
        return print(json.dumps(actions[action]()))
    from compare import line_of

    rows, goes_wrong = {}, False
    for name in options.cases or cases:
        with tempfile.TemporaryDirectory() as folder:
            def told(*action):
                return line_of([sys.executable, file, "--repeat", str(options.repeat), "--only", folder, *action], environment(), 600)

            figures = rows_of(name, cases[name], options, told)
        rows[name] = {"sides": figures, "ratio": show(figures, SIDES[1:])}
        goes_wrong |= "why" in figures.get("plait", {})
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1))
    return sys.exit(1 if goes_wrong else 0)
