"""Runs others' suites of tests through the adapters of this folder, and compares what fails with docs/outside.md.

    run.py [--write] [--again] [SUITE...]    autograd, numpy, opdb, jax; --write: puts counts, and what is not listed yet, into
                                             the document; --again: of the last run

JAX_TESTS is the folder of JAX's tests; without it they are not run. Archives and packages are in build/outside
(scripts/outside.sh). Exits with 1 where a test fails, or is skipped for a reason, that the document does not list.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import time

import listed

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build" / "outside"
OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "outcomes", "-c", os.devnull, "--rootdir", str(ROOT), "-W", "ignore",
           "-o", "python_files=test_*.py *_test.py", "--tb=no", "--no-header"]

NUMPY_CORE = ("indexing", "einsum", "numeric", "umath", "shape_base", "function_base", "item_selection")
NUMPY_LIB = ("function_base", "nanfunctions", "shape_base", "index_tricks", "arraysetops", "twodim_base", "ufunclike", "type_check",
             "arraypad", "stride_tricks")
# The parts of test_multiarray that are not about memory, pickles, structured dtypes and the like.
NUMPY_ARRAY = ("ZeroRank", "ScalarIndexing", "Creation", "Bool", "Methods", "Binop", "Subscripting", "FancyIndexing",
               "ArgmaxArgminCommon", "Argmax", "Argmin", "MinMax", "Newaxis", "Clip", "Compress", "Take", "Stats", "Vdot", "Dot",
               "Matmul", "MatmulOperator", "MatmulInplace", "Inner", "Repeat", "Conversion", "Where", "Arange")
JAX_FILES = ("lax_control_flow_test", "custom_api_test", "api_test", "batching_test", "lax_numpy_indexing_test", "lax_numpy_einsum_test",
             "lax_numpy_operators_test", "lax_autodiff_test", "linalg_test", "fft_test")


def numpy_paths():
    import numpy

    folder = pathlib.Path(numpy.__file__).parent
    paths = [folder / "_core" / "tests" / f"test_{name}.py" for name in NUMPY_CORE]
    paths += [folder / "lib" / "tests" / f"test_{name}.py" for name in NUMPY_LIB]
    paths += [folder / "linalg" / "tests" / f"test_{name}.py" for name in ("linalg", "regression")]
    paths += [folder / "fft" / "tests" / f"test_{name}.py" for name in ("pocketfft", "helper")]
    return [*map(str, paths), *(f"{folder}/_core/tests/test_multiarray.py::Test{name}" for name in NUMPY_ARRAY)]


def commands(suite):
    """The command lines of a suite, each with additional environment variables; or a text that says why it is not
    run."""
    pytest = [sys.executable, "-m", "pytest", *OPTIONS]
    if suite == "opdb":
        return [([sys.executable, str(HERE / "opdb_further.py")], {})]
    if suite == "numpy":
        return [([*pytest, "-p", "numpy_names", *numpy_paths()], {})]
    if suite == "autograd":
        archive = next(BUILD.glob("autograd-*/tests"), None)
        if archive is None:
            return "build/outside has no archive of autograd: scripts/outside.sh fetches it"
        return [([*pytest, "-p", "autograd_names", str(archive)], {"PLAIT_AUTOGRAD": str(archive.parent)})]
    folder = os.environ.get("JAX_TESTS")
    if not folder:
        return "JAX_TESTS names no folder of JAX's tests (the folder tests of its repository, of version 0.10.2)"
    files = [pathlib.Path(folder) / f"{name}.py" for name in JAX_FILES]
    missing = [each.name for each in files if not each.exists()]
    if missing:
        return f"JAX_TESTS={folder} has no {', '.join(missing)}"
    return [([*pytest, "-p", "jax_names", str(each)], {}) for each in files]


def outcomes(suite, to_run):
    """The outcome of each test; a run that ended early counts as one more failure."""
    file = BUILD / f"{suite}.jsonl"
    if to_run:
        file.unlink(missing_ok=True)
    paths = [str(HERE), str(BUILD / "site"), os.environ.get("PYTHONPATH", "")]
    found = []
    for command, more in to_run:
        environment = os.environ | more | {"PLAIT_OUTCOMES": str(file), "PYTHONPATH": os.pathsep.join(paths)}
        with open(BUILD / f"{suite}.log", "w", encoding="utf-8") as log:
            status = subprocess.run(command, env=environment, stdout=log, stderr=subprocess.STDOUT, check=False).returncode
        if status not in (0, 1) or not file.exists():
            found.append({"test": f"the run of {pathlib.Path(command[-1]).name}", "outcome": "failed", "reaches": True,
                          "why": f"ended with {status}: build/outside/{suite}.log"})
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return found + [json.loads(line) for line in lines]


def report(suite, found, document):
    """Prints counts by reason and the unlisted tests; returns the number of the latter."""
    counts = collections.Counter(each["outcome"] if each["reaches"] or each["outcome"] != "passed" else "without Plait" for each in found)
    print(f"   {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped, {counts['without Plait']} passed without "
          "asking Plait")
    reasons, unexpected, met = collections.Counter(), [], set()
    for each in found:
        reason = document.reason_of(suite, each)
        if each["outcome"] != "passed" and reason is None:
            unexpected.append(each)
        elif each["outcome"] != "passed":
            reasons[reason] += 1
            met |= document.entries_of(suite, each)
    for reason, count in reasons.most_common():
        print(f"   {count:6} {reason}")
    for each in unexpected[:200]:
        print(f"   NOT LISTED: {each['outcome']} {each['test']}: {each['why'][:160]}")
    for entry in sorted(document.entries(suite) - met):
        print(f"   passes now, and may leave the document: {entry}")
    return len(unexpected)


def main():
    given = sys.argv[1:]
    suites = [each for each in given if not each.startswith("-")] or ["autograd", "numpy", "opdb", "jax"]
    document = listed.Document(ROOT / "docs" / "outside.md")
    unexpected = 0
    for suite in suites:
        start, to_run = time.monotonic(), commands(suite)
        if isinstance(to_run, str):
            print(f"== {suite}: not run: {to_run}")
            continue
        print(f"== {suite}", flush=True)
        found = outcomes(suite, [] if "--again" in given else to_run)
        if "--write" in given:
            document.write(suite, found)
        unexpected += report(suite, found, document)
        print(f"   {time.monotonic() - start:.0f} s")
    if unexpected:
        print(f"{unexpected} outcomes are not in docs/outside.md")
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
