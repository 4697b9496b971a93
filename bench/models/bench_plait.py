"""Plait's part of the benchmarks; PyTorch's and JAX's are bench_torch.py and bench_jax.py (compare.py runs all of them). Prints
one line of JSON: the time of the first call, which records and compiles, the median and the minimum of the later calls in
seconds, and the peak memory of the process.

    PYTHONPATH=build/bench/python .venv/bin/python bench/models/bench_plait.py vit_train --dtype bf16

THREADS=1 in the environment selects one thread.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build/bench/models/first_call"  # bench/models/first_call.cpp
HAVE_PHASES = ("vit_train", "gpt_train")


def measured(run, repeat, seconds):
    """Times the first call, a warm-up call, and `repeat` calls; after `seconds` it stops once there are three."""
    def once():
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    first, _ = once(), once()
    times, start = [], time.perf_counter()
    while len(times) < repeat and (len(times) < 3 or time.perf_counter() - start < seconds):
        times.append(once())
    times.sort()
    return {"first_s": round(first, 4), "median_s": times[len(times) // 2], "min_s": times[0], "runs": len(times)}


def report(name, said, figures):
    peak = {"peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}
    print(json.dumps({"case": name, "peer": "plait", "threads": int(os.environ["PLAIT_THREADS"]), **said, **figures, **peak}), flush=True)


def first_calls(options):
    """The first call here, and by phases in C++: with an empty PLAIT_CACHE, and with the cache that this run has filled."""
    again = [sys.executable, __file__, options.case, "--dtype", options.dtype, "--repeat", "1", "--batch", str(options.batch)]
    phases = [str(options.program), options.case, "--batch", str(options.batch), *(["--bf16"] if options.dtype == "bf16" else [])]
    found = {}

    def told(name, command, environment):
        lines = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
        found[name] = json.loads(lines[-1])

    with tempfile.TemporaryDirectory() as folder:
        for name in "cold", "warm":
            told(name, again, os.environ | {"PLAIT_CACHE": f"{folder}/python"})
            if options.program.exists():
                told(f"{name}_phases", phases, os.environ | {"PLAIT_CACHE": f"{folder}/program"})
    if not options.program.exists():
        print(f"{options.program} is not built, so there are no phases (cmake --build build/bench --target plait_first_call)", file=sys.stderr)
    figures = {f"{name}_first_s": found[name]["first_s"] for name in ("cold", "warm")}
    figures |= {name: phases for name, phases in found.items() if name.endswith("_phases")}
    report(options.case, {"dtype": options.dtype, "batch": options.batch}, figures)


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="?", help="one of those that --list names")
    parser.add_argument("--dtype", choices=("fp32", "bf16"), default="fp32", help="bf16: products in it, weights in f32 (fp32)")
    parser.add_argument("--batch", type=int, help="where the case has one (8; 32 of mlp_train)")
    parser.add_argument("--repeat", type=int, default=5, help="calls that count (5)")
    parser.add_argument("--seconds", type=float, default=60, help="for them; three are made at least (60)")
    parser.add_argument("--flush-denormals", action="store_true", help="numbers too small for their exponent count as 0, as in JAX")
    parser.add_argument("--first", action="store_true", help="only the first call, of processes of their own: with an empty PLAIT_CACHE, "
                        f"and once more; of {' and '.join(HAVE_PHASES)} by phases too, in seconds")
    parser.add_argument("--program", type=pathlib.Path, default=PROGRAM, help="that knows the phases (build/bench/models/first_call)")
    parser.add_argument("--list", action="store_true", help="the cases")
    options = parser.parse_args()
    if options.case is None and not options.list:
        parser.error("say which case; --list names them")
    if options.first and options.case not in HAVE_PHASES:
        parser.error(f"--first is of {' and '.join(HAVE_PHASES)}")
    for name in "batch", "repeat":
        if getattr(options, name) is not None and getattr(options, name) < 1:
            parser.error(f"--{name} is {getattr(options, name)}, expected 1 or more")
    return parser, options


def main():
    parser, options = parsed()
    os.environ["PLAIT_THREADS"] = os.environ.get("THREADS") or os.environ.get("PLAIT_THREADS") or str(len(os.sched_getaffinity(0)))
    if options.first:
        options.batch = options.batch or 8
        return first_calls(options)
    from plait import flush_denormals  # after the number of threads is set
    from cases import CASES

    if options.list:
        return print("\n".join(CASES))
    if options.case not in CASES:
        parser.error(f"there is no case {options.case}; there are {', '.join(CASES)}")
    with flush_denormals(options.flush_denormals):
        run, said = CASES[options.case](options.batch, options.dtype)
        report(options.case, {"dtype": options.dtype, **said}, measured(run, options.repeat, options.seconds))


if __name__ == "__main__":
    main()
