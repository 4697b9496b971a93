#!/usr/bin/env python3
"""Damages lines of the library one at a time, in a copy of the checkout under build/sabotage, and sees that the tests
notice. What is damaged is in tests/transform/damages.txt."""

import argparse
import filecmp
import pathlib
import resource
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPY = ROOT / "build" / "sabotage"
DAMAGES = ROOT / "tests" / "transform" / "damages.txt"
# As GoogleTest's filters are written, which know * and ? only.
NOTICING = ["Forms/Control*", "Vmap*", "Recursion.O*", "Recursion.R*", "Recursion.S*", "Recursion.T*", "Checkpoints*",
            "AssociativeScan*", "Draws*", "Record.*", "NamedAxes*", "ChangingLoop*"]
COPIED = ["CMakeLists.txt", "CMakePresets.json", "cmake", "plait", "tests", "tools", "scripts", "python", "examples",
          "bench", "carried"]


def read_damages():
    """Entries of four lines: what it is, the file, a line (or part of one) in it, and what is put in its place."""
    entries = []
    for block in DAMAGES.read_text().split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith("#")]
        if lines:
            name, file, old, new = (line.strip() for line in lines)
            entries.append((name, file, old, new))
    return entries


def copy_checkout():
    """Files that differ, whatever their times say: a run that was stopped leaves a damaged one."""
    wanted = set()
    for name in COPIED:
        source = ROOT / name
        files = [source] if source.is_file() else [each for each in source.rglob("*") if each.is_file()]
        for file in files:
            copy = COPY / file.relative_to(ROOT)
            wanted.add(copy)
            if not copy.exists() or not filecmp.cmp(file, copy, shallow=False):
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)
                shutil.copymode(file, copy)
    for name in COPIED:
        for copy in (COPY / name).rglob("*"):
            if copy.is_file() and copy not in wanted:
                copy.unlink()


def build():
    return subprocess.run(["ninja", "-C", str(COPY / "build"), "plait_test_transform"], capture_output=True, text=True)


def limit_memory():
    """A recursion that never ends is to end before the machine does."""
    resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))


def notices(filter_):
    test = COPY / "build" / "tests" / "plait_test_transform"
    try:
        run = subprocess.run([test, f"--gtest_filter={filter_}", "--gtest_brief=1"], capture_output=True, timeout=300,
                             preexec_fn=limit_memory)
    except subprocess.TimeoutExpired:
        return "it never ended"
    return None if run.returncode == 0 else "tests fail"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--filter", default=":".join(NOTICING), help="the tests that should notice")
    parser.add_argument("only", nargs="*", help="names of damages; all without one")
    options = parser.parse_args()
    chosen = [entry for entry in read_damages() if not options.only or entry[0] in options.only]
    copy_checkout()
    subprocess.run(["cmake", "-S", COPY, "-B", COPY / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                    "-DPLAIT_TESTS=ON", "-DPLAIT_PYTHON=OFF"], check=True, stdout=subprocess.DEVNULL)
    first = build()
    if first.returncode != 0:
        sys.exit(first.stdout[-3000:])
    if notices(options.filter):
        sys.exit("the tests fail with nothing damaged")
    unnoticed = 0
    for name, file, old, new in chosen:
        path = COPY / file
        text = path.read_text()
        if text.count(old) != 1:
            sys.exit(f"{name}: `{old}` is there {text.count(old)} times in {file}, expected once")
        path.write_text(text.replace(old, new))
        built = build()
        how = notices(options.filter) if built.returncode == 0 else "it does not compile"
        path.write_text(text)
        unnoticed += how is None or how == "it does not compile"
        print(f"   {name}: {how or 'NOT NOTICED'}", flush=True)
    print(f"   {len(chosen)} damages, {unnoticed} not noticed")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
