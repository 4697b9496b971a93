#!/usr/bin/env python3
"""Prints the numbers of docs/architecture.md, "The house in numbers": folders, include cycles by room, long functions, and
the CPU seconds that a compiler needs for the umbrella header and an example (best of three; needs an idle machine).

    house.py [--functions]    --functions: lists the functions of more than 40 lines instead
"""

import ast
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

import check_rooms

COMPILER = [os.environ.get("CXX", "g++"), "-std=c++20", "-O1", "-g1", "-I", str(check_rooms.ROOT), "-c"]


def seconds_to_compile(source, folder):
    """Also the size of the code in KB."""
    objects, best = pathlib.Path(folder) / "object.o", None
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([*COMPILER, source, "-o", objects], check=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        best = used if best is None else min(best, used)
    sizes = subprocess.run(["size", objects], check=True, capture_output=True, text=True).stdout.splitlines()[1].split()
    return best, int(sizes[3]) / 1000


# The last line of a function's head, as clang-format lays it out.
HEAD = re.compile(r"^ *(?!.*\b(if|for|while|switch|do|else|namespace|struct|class|enum|union|extern|try|catch)\b)(.*\)|[^=\[]*[)}]|.*->.*)"
                  r"( const| noexcept| override)* \{$")
MOST_LINES = 40


def long_functions():
    """(lines, file, number of the first line) of the functions of the library, its Python module and package."""
    found = []
    for file in [*(check_rooms.ROOT / "plait").rglob("*.*"), *(check_rooms.ROOT / "python").rglob("*.*")]:
        if file.suffix in (".h", ".inl", ".cpp"):
            open_functions, lines = [], file.read_text(encoding="utf-8").splitlines()
            for number, line in enumerate(lines, 1):
                if HEAD.match(line) and "[" not in line:
                    first = number
                    while lines[first - 1].lstrip().startswith(":") or lines[first - 2].endswith((",", "(")):
                        first -= 1
                    open_functions.append((re.match(" *", lines[first - 1])[0], first))
                elif open_functions and line == open_functions[-1][0] + "}":
                    first = open_functions.pop()[1]
                    found.append((number - first + 1, file, first))
        elif file.suffix == ".py":
            found += [(node.end_lineno - node.lineno + 1, file, node.lineno)
                      for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)]
    return sorted(((lines, file.relative_to(check_rooms.ROOT), number) for lines, file, number in found if lines > MOST_LINES), reverse=True)


def main():
    if "--functions" in sys.argv[1:]:
        for lines, file, number in long_functions():
            print(f"{lines} lines: {file}:{number}")
        return
    counts = [len(files) for tree in check_rooms.TREES for files in check_rooms.sources_by_folder(tree).values()]
    crowded = sum(count > check_rooms.MOST_FILES_IN_A_FOLDER for count in counts)
    print(f"{crowded} of {len(counts)} folders have more than {check_rooms.MOST_FILES_IN_A_FOLDER} files")
    largest = {}
    for group in check_rooms.cycles(check_rooms.units_included()):
        room = group[0].split("/")[1]
        largest[room] = max(largest.get(room, 0), len(group))
    print("largest include cycles:", ", ".join(f"{room} {size}" for room, size in sorted(largest.items(), key=lambda each: -each[1])))
    print(f"{len(long_functions())} functions have more than {MOST_LINES} lines")
    with tempfile.TemporaryDirectory() as folder:
        umbrella = pathlib.Path(folder) / "umbrella.cpp"
        umbrella.write_text("#include <plait/plait.h>\n", encoding="utf-8")
        for name, source in (("plait/plait.h", umbrella), ("examples/train_vit.cpp", check_rooms.ROOT / "examples" / "train_vit.cpp")):
            seconds, size = seconds_to_compile(source, folder)
            print(f"{name}: {seconds:.2f} s of CPU, {size:.0f} KB of code")


if __name__ == "__main__":
    main()
