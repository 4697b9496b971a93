"""Times Plait's models and those of PyTorch and JAX (../shared/peers, which exists where the project is developed; without it only
Plait is timed). Results are compared with PyTorch's first (agreement.py). Then runs alternate, each in a process of its own, and
Plait's median is compared with that of the fastest peer.

    PYTHONPATH=build/bench/python .venv/bin/python bench/models/compare.py vit_train gpt_train --dtypes fp32

A row has the median of a call, its ratio to the fastest peer's, the fraction of the peak speed of 2048 x 2048 products (for cases
that consist of products), the first call, which compiles, and the peak memory. A peer that fails or takes too long is reported. The
exit status is 1 if Plait fails or returns other results.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

import peers

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "peers"))
from workers import text_of  # noqa: E402

# Options of each case: dtypes, batches, layers that JAX may scan, outputs that agreement.py compares, denormals, which
# JAX flushes.
CASES = {"vit_train": "dtype batch layers outputs", "gpt_train": "dtype batch layers outputs", "vit_infer": "dtype batch layers outputs",
         "mlp_train": "dtype batch", "pointwise": "dtype", "per_sample_grad": "", "scan_gru": "denormals", "dynamic_length": "",
         "eager_overhead": "", "eager_grad_overhead": ""}
OURS = {"plait": ["bench_plait.py"], "plait-flush": ["bench_plait.py", "--flush-denormals"]}
PEERS = {"torch-eager": ["bench_torch.py"], "torch-compile": ["bench_torch.py", "--compile"],
         "torch-autotune": ["bench_torch.py", "--compile", "--mode", "max-autotune"], "jax": ["bench_jax.py"],
         "jax-scan": ["bench_jax.py", "--scan-layers"]}
USUAL = ["torch-eager", "torch-compile", "jax", "jax-scan"]
DTYPES = ["fp32", "bf16"]
# By contender, case and dtype: why there is no result.
WITHOUT = {("jax", "eager_grad_overhead", "fp32"): "has no such case", ("jax", "mlp_train", "bf16"): "computes this in fp32"}


# ---- Processes.


class Failed(Exception):
    """Why there are no figures."""


def last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:200] if lines else "says nothing"


def line_of(command, environment, limit):
    """The last line of a process, as JSON. After the time limit the process and its children are ended."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        output, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise Failed(f"took longer than {limit:g} s") from None
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if lines:
        return json.loads(lines[-1])
    if process.returncode == 0:
        raise Failed(last_line(errors))
    ended = f"signal {-process.returncode}" if process.returncode < 0 else f"status {process.returncode}"
    raise Failed(f"{ended}: {last_line(errors)}")


def environment_of(options):
    threads = str(options.threads)
    names = ("THREADS", "PLAIT_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return os.environ | dict.fromkeys(names, threads) | {"JAX_PLATFORMS": "cpu"}


def command_of(contender, case, dtype, options):
    folder, (program, *flags) = (HERE, OURS[contender]) if contender in OURS else (peers.FOLDER, PEERS[contender])
    command = [sys.executable, str(folder / program), *flags, case, "--dtype", dtype, "--repeat", str(options.repeat)]
    return command + (["--batch", str(options.batch)] if options.batch and "batch" in CASES[case] else [])


# ---- Peak performance of the processor.


def time_products(dtype):
    """Multiplications and additions per second of a 2048 x 2048 product, in the fastest of three libraries."""
    import numpy as np
    import plait as pl
    import torch

    side = 2048
    array = np.random.default_rng(1).standard_normal((side, side), np.float32)
    a, b = pl.asarray(array), torch.from_numpy(array)
    ways = [lambda: a @ a, lambda: b @ b, lambda: array @ array]
    if dtype == "bf16":
        a, b = a.astype(pl.bf16), b.bfloat16()
        ways.pop()
    best = 0
    for way in ways:
        for _ in range(7):
            start = time.perf_counter()
            way()
            best = max(best, 2 * side**3 / (time.perf_counter() - start))
    print(json.dumps({"a_second": best}))


def products_a_second(dtype, options):
    try:
        return line_of([sys.executable, __file__, "--time-products", dtype], environment_of(options), options.limit)["a_second"]
    except Failed as failed:
        print(f"no products of {dtype} to compare with: {failed}")
        return None


def transformer_products(tokens, length, width, depth):
    """Multiplications and additions of the products in a forward pass, for this many tokens in sequences of a length."""
    return depth * tokens * (2 * 12 * width * width + 4 * length * width)


def products_in(case, batch):
    """The same for a case; None if it does not consist of products. The backward pass has twice as many."""
    if case in ("vit_train", "vit_infer"):
        width, patches = 768, 196
        forward = batch * (transformer_products(patches + 1, patches + 1, width, 12) + 2 * patches * width * width + 2 * width * 1000)
        return forward * (3 if case == "vit_train" else 1)
    if case == "gpt_train":
        return 3 * batch * (transformer_products(256, 256, 384, 6) + 2 * 256 * 384 * 256)
    return None


# ---- One case.


def agreement(case, dtype, options):
    """The result of agreement.py; None if it does not compare the case."""
    if "outputs" not in CASES[case] or not peers.are_there() or options.skip_outputs:
        return None
    command = [sys.executable, str(HERE / "agreement.py"), case, "--dtype", dtype]
    try:
        return line_of(command, environment_of(options), options.limit)
    except Failed as failed:
        return {"agrees": False, "why": str(failed)}


def text_of_agreement(told):
    if told is None:
        return "outputs are not compared"
    if "why" in told:
        return f"OUTPUTS WERE NOT COMPARED: {told['why']}"
    each = ", ".join(f"{name} {told['apart'][name]:.1e} (at most {limit:.0e})" for name, limit in told["allowed"].items())
    return f"{'as PyTorch' if told['agrees'] else 'NOT AS PYTORCH'}: apart by {each}"


def contenders_of(case, options):
    chosen = [each for each in options.peers if each != "jax-scan" or "layers" in CASES[case]] if peers.are_there() else []
    return [*(each for each in OURS if each == "plait" or "denormals" in CASES[case]), *chosen]


def timed(case, dtype, options):
    """Figures by contender, or why there are none."""
    runs, failed = {}, {}
    contenders = contenders_of(case, options)
    for contender in contenders:
        if why := WITHOUT.get((contender, case, dtype)):
            failed[contender] = why
    for number in range(options.rounds):
        for contender in contenders if number % 2 == 0 else contenders[::-1]:
            if contender in failed:
                continue
            try:
                runs.setdefault(contender, []).append(line_of(command_of(contender, case, dtype, options), environment_of(options), options.limit))
            except Failed as why:
                failed[contender] = str(why)
    figures = {contender: {"why": failed[contender]} for contender in contenders if contender in failed}
    for contender, lines in runs.items():
        if contender not in failed:
            figures[contender] = {"median_s": statistics.median(line["median_s"] for line in lines),
                                  "first_s": statistics.median(line["first_s"] for line in lines),
                                  "peak_rss_mb": max(line["peak_rss_mb"] for line in lines), "rounds": len(lines), "batch": lines[0].get("batch")}
    return {contender: figures[contender] for contender in contenders}


def judged(case, dtype, figures, a_second):
    """The row of a case, with ratios and the fraction of peak speed."""
    others = {contender: each["median_s"] for contender, each in figures.items() if contender not in OURS and "median_s" in each}
    fastest = min(others, key=others.get) if others else None
    for contender, each in figures.items():
        if "median_s" in each:
            each["ratio"] = each["median_s"] / others[fastest] if fastest else None
            from_products = products_in(case, each["batch"])
            each["of_products"] = from_products / each["median_s"] / a_second if from_products and a_second else None
    return {"case": case, "dtype": dtype, "fastest_other": fastest, "ratio": figures["plait"].get("ratio"), "contenders": figures}


def show(row):
    for contender, each in row["contenders"].items():
        if "why" in each:
            print(f"  {contender:15} {each['why']}", flush=True)
            continue
        ratio = "     " if each["ratio"] is None else f"{each['ratio']:5.2f}"
        part = "      " if each["of_products"] is None else f"{100 * each['of_products']:4.0f} %"
        print(f"  {contender:15} {text_of(each['median_s']):>8}  {ratio}  {part}  first {each['first_s']:6.2f} s  {each['peak_rss_mb']:6} MB", flush=True)


def versions():
    def of(name):
        try:
            return f"{name} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            return f"no {name}"

    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "a processor")
    return f"{model}, {', '.join(map(of, ('torch', 'jax', 'numpy')))}, Python {sys.version.split()[0]}"


def parsed():
    def listed(known):
        def read(text):
            names = text.split(",") if text else []
            for name in names:
                if name not in known:
                    raise argparse.ArgumentTypeError(f"there is no {name}; there are {', '.join(known)}")
            return names

        return read

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="only these (all that --list names)")
    parser.add_argument("--dtypes", type=listed(DTYPES), default=DTYPES, help="fp32,bf16, of the cases that have them (both)")
    parser.add_argument("--peers", type=listed(PEERS), default=USUAL, help=f"of {','.join(PEERS)} ({','.join(USUAL)}); none where empty")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each contender (3)")
    parser.add_argument("--repeat", type=int, default=5, help="calls that count in each (5)")
    parser.add_argument("--batch", type=int, help="of the cases that have one (8, and 32 of mlp_train)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of each contender (all processors)")
    parser.add_argument("--limit", type=float, default=600, help="seconds for one process (600)")
    parser.add_argument("--skip-outputs", action="store_true", help="does not compare what is computed")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="writes the figures there too")
    parser.add_argument("--list", action="store_true", help="the cases")
    parser.add_argument("--time-products", choices=DTYPES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    for case in options.cases:
        if case not in CASES:
            parser.error(f"there is no case {case}; there are {', '.join(CASES)}")
    for name in "rounds", "repeat", "batch", "threads", "limit":
        if getattr(options, name) is not None and getattr(options, name) <= 0:
            parser.error(f"--{name} is {getattr(options, name):g}, expected a number above 0")
    return options


def main():
    options = parsed()
    if options.time_products:
        return time_products(options.time_products)
    if options.list:
        return print("\n".join(CASES))
    if importlib.util.find_spec("plait") is None:
        sys.exit("there is no module plait here: build it, and say PYTHONPATH=build/bench/python (make bench does both)")
    print(f"{versions()}; {options.threads} threads")
    if not peers.are_there():
        print(f"{peers.MISSING}. So Plait is timed alone, and its outputs are not compared.")
    a_second = {dtype: products_a_second(dtype, options) for dtype in options.dtypes}
    for dtype, number in a_second.items():
        if number:
            print(f"products of {dtype} reach {number / 1e9:.0f} G multiplications and additions a second")
    rows = []
    for case in options.cases or CASES:
        for dtype in options.dtypes if "dtype" in CASES[case] else ["fp32"]:
            told = agreement(case, dtype, options)
            print(f"\n{case}, {dtype}: {text_of_agreement(told)}", flush=True)
            rows.append({"case": case, "dtype": dtype, "agreement": told})
            if told is None or told["agrees"]:
                rows[-1] |= judged(case, dtype, timed(case, dtype, options), a_second.get(dtype))
                show(rows[-1])
            if options.json:
                options.json.write_text(json.dumps({"versions": versions(), "threads": options.threads, "rows": rows}, indent=1) + "\n")
    return summed_up(rows)


def summed_up(rows):
    print()
    for row in rows:
        if row.get("ratio"):
            ours, other = (row["contenders"][each]["median_s"] for each in ("plait", row["fastest_other"]))
            print(f"{row['case']:20} {row['dtype']}  {row['ratio']:5.2f} of {row['fastest_other']:14} {text_of(ours)}, {text_of(other)}")
    wrong = [f"{row['case']} {row['dtype']}" for row in rows
             if row["agreement"] is not None and not row["agreement"]["agrees"] or any("why" in row.get("contenders", {}).get(each, {}) for each in OURS)]
    print(f"{len(rows)} cases" + (f"; Plait fails or gives something else: {', '.join(wrong)}" if wrong else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
