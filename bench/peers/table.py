"""Times every operation in Plait, NumPy, PyTorch and JAX: each library in a process of its own, with the same number of threads.
Results are compared first, then runs alternate, and Plait's median is divided by that of the fastest peer. The operations are
listed in operations.py, with the reasons for those that may be slower.

    table.py [WORDS...]         only the operations whose names contain one of the words
        --sizes 1k,100k,16M     --dtypes f32,bf16,i32
        --threads N             of each library (2)
        --rounds N              runs of each library at most (7)
        --seconds S             for the runs of one cell (0.5); the whole then takes about 25 minutes
        --json FILE             write the figures to FILE
        --markdown FILE         write the table to FILE
        --list                  list the operations
"""

import argparse
import collections
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

import operations
from workers import Worker, array_of, serve, text_of, timed

GOAL = 1.25  # largest allowed ratio of Plait's time to the fastest other's, from GOAL_FROM elements on
GOAL_FROM = operations.SIZES["100k"]
COMPARED = 1 << 18  # elements of a result that are compared, evenly spaced
SLOW = 1.0  # seconds above which a library is skipped, if the fastest takes a quarter of that
LEAST_SECONDS = {"1k": 0.002, "100k": 0.01, "16M": 0.01}
PATIENCE = 60  # seconds allowed for the first run of a cell


# ---- Library process.


def parts_of(result):
    if isinstance(result, (tuple, list)):
        return [part for each in result for part in parts_of(each)]
    return [array_of(result)]


def sample(array):
    """Its shape, and some of its elements as f64."""
    flat = array.reshape(-1)
    flat = np.ascontiguousarray(flat[::max(1, flat.size // COMPARED)])
    return np.array(array.shape), (flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat).astype(np.float64)


def compared(each, result, given):
    parts = parts_of(result)
    if each.seen is not None:
        seen = each.seen(parts[0] if len(parts) == 1 else parts, *(array_of(x) if hasattr(x, "shape") else x for x in given))
        parts = [np.asarray(seen)]
    return [found for part in parts for found in sample(part)]


def ready_to_run(library, each, run, given):
    """The function to time. For JAX, a compiled function of the inputs that are arrays."""
    if library != "jax":
        return lambda: run(*given)
    import jax

    arrays = [i for i, x in enumerate(given) if hasattr(x, "dtype")]

    def on_arrays(*values):
        all_given = list(given)
        for i, value in zip(arrays, values):
            all_given[i] = value
        return run(*all_given)

    compiled = jax.jit(on_arrays)
    values = [given[i] for i in arrays]
    return lambda: jax.block_until_ready(compiled(*values))


def work(name, threads):
    library = operations.load(name)
    if name == "torch":
        library.set_num_threads(threads)

    def begin(operation, size, dtype, file):
        each = operations.OPERATIONS[operation]
        try:
            given = operations.operands(each, operations.SIZES[size], dtype, name, library)
            run = ready_to_run(name, each, lambda *given: each.run[name](library, *given), given)
            start = time.perf_counter()
            signal.alarm(PATIENCE)
            result = run()
            signal.alarm(0)
            seconds = time.perf_counter() - start
            np.savez(file, *compared(each, result, given))
            return run, f"ready\t{seconds}"
        except Exception as error:  # an unsupported dtype, for example
            return None, f"lacks\t{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        finally:
            signal.alarm(0)

    serve(begin)


# ---- Main process.


class Libraries:
    """One process for each library; a process that has ended is restarted."""

    def __init__(self, threads):
        self.threads = threads
        self.workers = {}
        self.absent = [each for each in operations.LIBRARIES if each != "plait" and not self.has(each)]

    @staticmethod
    def has(library):
        return subprocess.run([sys.executable, "-c", f"import {library}"], stderr=subprocess.DEVNULL).returncode == 0

    def worker(self, library):
        if library not in self.workers:
            cores = sorted(os.sched_getaffinity(0))[:self.threads]
            names = ("PLAIT_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
            environment = os.environ | dict.fromkeys(names, str(self.threads)) | {"JAX_PLATFORMS": "cpu"}
            command = [sys.executable, __file__, "--worker", library, "--threads", str(self.threads)]
            self.workers[library] = Worker(command, env=environment, preexec_fn=lambda: os.sched_setaffinity(0, cores))
        return self.workers[library]

    def ask(self, library, *words):
        """The words of the answer, or the error."""
        try:
            answer, _, told = self.worker(library).ask(*words).partition("\t")
            return answer, told
        except (RuntimeError, BrokenPipeError):
            self.workers.pop(library).close()
            return "lacks", "its process ended"

    def close(self):
        for worker in self.workers.values():
            worker.close()


def alike(wanted, found, tolerance):
    if len(wanted) != len(found):
        return False
    for a, b in zip(wanted, found):
        finite = np.abs(a[np.isfinite(a)])
        scale = tolerance * max(1.0, float(finite.mean()) if finite.size else 1.0)
        if a.shape != b.shape or not np.allclose(b, a, rtol=tolerance, atol=scale, equal_nan=True):
            return False
    return True


def load(file):
    with np.load(file) as arrays:
        return [arrays[f"arr_{i}"] for i in range(len(arrays))]


def cell_of(libraries, each, size, dtype, options, folder, too_slow):
    """The figures of an operation at one size and dtype."""
    results, lacks, differs = {}, {}, []
    for library in each.run:
        if library in libraries.absent:
            continue
        if library in too_slow:
            lacks[library] = "slow already at the size before"
            continue
        file = os.path.join(folder, f"{library}.npz")
        answer, told = libraries.ask(library, "case", each.name, size, dtype, file)
        if answer == "ready":
            results[library] = load(file)
        else:
            lacks[library] = told
    cell = {"operation": each.name, "size": size, "dtype": dtype, "lacks": lacks, "differs": differs, "seconds": {}}
    if "plait" not in results:
        return cell
    tolerance = each.tolerance * (20 if dtype == "bf16" else 1)
    for library, result in results.items():
        if not alike(results["plait"], result, tolerance):
            differs.append(library)
    running = {library: libraries.worker(library) for library in results if library not in differs}
    cell["seconds"] = timed(running, options.rounds, LEAST_SECONDS[size], options.seconds)
    others = {library: seconds for library, seconds in cell["seconds"].items() if library != "plait"}
    if others:
        cell["fastest"] = min(others, key=others.get)
        cell["ratio"] = cell["seconds"]["plait"] / others[cell["fastest"]]
    return cell


def slow_ones(cell, next_count):
    """Libraries that would take long at the next size, and are not the fastest at this one."""
    if len(cell["seconds"]) < 2:
        return set()
    factor = next_count / operations.SIZES[cell["size"]]
    least = min(cell["seconds"].values())
    return {library for library, seconds in cell["seconds"].items()
            if library != "plait" and seconds * factor > SLOW and seconds > 4 * least}


def line_of(cell):
    told = ", ".join(f"{library} {text_of(seconds)}" for library, seconds in cell["seconds"].items())
    if "ratio" in cell:
        start = f"{cell['ratio']:7.2f} of {cell['fastest']:6}"
    else:
        start = f"{'no peer' if cell['seconds'] else 'no result':17}"
    if "plait" in cell["lacks"]:
        told += f" plait: {cell['lacks']['plait']}"
    if cell["differs"]:
        told += f"   differs: {', '.join(cell['differs'])}"
    return f"{cell['operation']:24} {cell['dtype']:5} {cell['size']:5} {start} {told}"


def reason_for(cell):
    name, dtype, size = cell["operation"], cell["dtype"], cell["size"]
    for words in (f"{name} {dtype} {size}", f"{name} {dtype}", name):
        if words in operations.REASONS:
            return operations.REASONS[words]
    return None


def means(cells):
    """Geometric means of ratios, by size and dtype, and of all."""
    groups = collections.defaultdict(list)
    for cell in cells:
        if "ratio" in cell:
            groups[cell["size"], cell["dtype"]].append(math.log(cell["ratio"]))
            groups[cell["size"], "all"].append(math.log(cell["ratio"]))
            groups["all", "all"].append(math.log(cell["ratio"]))
    return {group: (math.exp(sum(logs) / len(logs)), len(logs)) for group, logs in groups.items()}


def above_goal(cells):
    slow = [cell for cell in cells if cell.get("ratio", 0) > GOAL and operations.SIZES[cell["size"]] >= GOAL_FROM]
    return sorted(slow, key=lambda cell: -cell["ratio"])


def markdown_of(cells):
    columns = list(dict.fromkeys((cell["dtype"], cell["size"]) for cell in cells))
    columns.sort(key=lambda column: (operations.DTYPES.index(column[0]), list(operations.SIZES).index(column[1])))
    rows = collections.defaultdict(dict)
    for cell in cells:
        if "ratio" in cell:
            rows[cell["operation"]][cell["dtype"], cell["size"]] = f"{cell['ratio']:.2f} {cell['fastest']}"
    lines = ["| operation | " + " | ".join(" ".join(column) for column in columns) + " |", "| --- |" + " --- |" * len(columns)]
    for name, found in rows.items():
        lines.append(f"| {name} | " + " | ".join(found.get(column, "") for column in columns) + " |")
    lines += ["", "| geometric mean | ratio | cells |", "| --- | --- | --- |"]
    lines += [f"| {' '.join(dict.fromkeys(group))} | {mean:.2f} | {count} |" for group, (mean, count) in means(cells).items()]
    slow = above_goal(cells)
    if slow:
        lines += ["", f"Above {GOAL} from 100k on:", "", "| operation | ratio | Plait | fastest other | reason |", "| --- | --- | --- | --- | --- |"]
    for cell in slow:
        seconds = cell["seconds"]
        lines.append(f"| {cell['operation']}, {cell['dtype']}, {cell['size']} | {cell['ratio']:.2f} | {text_of(seconds['plait'])} | "
                     f"{cell['fastest']} {text_of(seconds[cell['fastest']])} | {reason_for(cell) or ''} |")
    return "\n".join(lines) + "\n"


def show_end(cells):
    slow = above_goal(cells)
    print(f"\nAbove {GOAL} from 100k on: {len(slow)} of {len(cells)} cells")
    for cell in slow:
        print(line_of(cell) + (f"   reason: {reason}" if (reason := reason_for(cell)) else ""))
    print("\nGeometric means of the ratios")
    for group, (mean, count) in means(cells).items():
        print(f"{' '.join(dict.fromkeys(group)):12} {mean:5.2f}   of {count} cells")
    unexplained = [cell for cell in slow if reason_for(cell) is None]
    different = [f"{cell['operation']} {cell['dtype']} {cell['size']} ({', '.join(cell['differs'])})" for cell in cells if cell["differs"]]
    print(f"\n{len(unexplained)} cells are above {GOAL} without a reason; in {len(different)} a library gives another result, whose time "
          f"does not count: {'; '.join(different)}")


def write(options, cells):
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(cells, indent=1) + "\n")
    if options.markdown:
        pathlib.Path(options.markdown).write_text(markdown_of(cells))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--sizes", type=lambda text: text.split(","), default=list(operations.SIZES))
    parser.add_argument("--dtypes", type=lambda text: text.split(","), default=list(operations.DTYPES))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--json")
    parser.add_argument("--markdown")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(options.worker, options.threads)
    chosen = [each for each in operations.OPERATIONS.values() if not options.words or any(word in each.name for word in options.words)]
    wanted = [(each, dtype, [size for size in operations.SIZES if size in options.sizes])
              for each in chosen for dtype in each.dtypes if dtype in options.dtypes]
    if options.list:
        return print("\n".join(f"{each.name:24} {' '.join(each.dtypes):14} {' '.join(each.run)}" for each in chosen))
    libraries = Libraries(options.threads)
    if libraries.absent:
        print(f"not installed, so not beside: {', '.join(libraries.absent)}")
    start, cells, total = time.time(), [], sum(len(sizes) for _, _, sizes in wanted)
    try:
        with tempfile.TemporaryDirectory() as folder:
            for each, dtype, sizes in wanted:
                too_slow = set()
                for i, size in enumerate(sizes):
                    cell = cell_of(libraries, each, size, dtype, options, folder, too_slow)
                    cells.append(cell)
                    print(f"{len(cells):4}/{total} {time.time() - start:5.0f} s  {line_of(cell)}", flush=True)
                    if i + 1 < len(sizes):
                        too_slow |= slow_ones(cell, operations.SIZES[sizes[i + 1]])
                write(options, cells)
    finally:
        libraries.close()
    show_end(cells)


if __name__ == "__main__":
    main()
