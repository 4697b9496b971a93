#!/usr/bin/env python3
"""Prints the numbers of docs/architecture.md, "The house in numbers": folders, include cycles by room, long functions, and
the CPU seconds that a compiler needs for the umbrella header and an example (best of three; needs an idle machine).

    house.py [--fix | --check [--without-compiling] | --functions | --headers]
    --fix: writes those that are counted into the table
    --check: fails if the table does not have what is counted, a count is above its limit, or the umbrella header or the example
             is more than LIMITS to compile (part of make lint); --without-compiling leaves the last out
    --functions: lists the functions of more than 40 lines
    --headers: lists the headers of the umbrella that are the most to compile
"""

import ast
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import typing

import check_rooms

COMPILER = [os.environ.get("CXX", "g++"), "-std=c++20", "-O1", "-g1", "-I", str(check_rooms.ROOT), "-c"]


def seconds_to_compile(source, objects):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([*COMPILER, source, "-o", objects], check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def kilobytes_of_code(objects):
    sizes = subprocess.run(["size", objects], check=True, capture_output=True, text=True).stdout.splitlines()[1].split()
    return int(sizes[3]) / 1000


class Limits(typing.NamedTuple):
    megabytes: int
    headers: int
    seconds: float


# The limits of --check. What g++ allocates while it compiles stands for the time: parsing, instantiating templates and
# optimizing all allocate, and unlike times the sum is the same in each run and on each machine, so that the limits can be
# near. They are those of g++ 12, like the number of headers; what grew for a reason may raise them. CPU seconds, which
# also count what allocates nothing, are held by limits that are far: they are multiplied by the time that the standard
# headers take in the same runs, through REFERENCE_SECONDS, which they take on an idle machine.
LIMITS = {"plait/plait.h": Limits(485, 690, 2.5), "examples/train_vit.cpp": Limits(540, 460, 8.0)}
GCC = 12
STANDARD_HEADERS = "algorithm chrono complex functional map memory mutex optional ranges set span sstream string unordered_map variant vector"
REFERENCE_SECONDS = 0.5

# Collected garbage would depend on the memory of the machine.
REPORT = ["-H", "-ftime-report", "--param", "ggc-min-heapsize=8000000"]


def sources(folder):
    umbrella = folder / "umbrella.cpp"
    umbrella.write_text("#include <plait/plait.h>\n", encoding="utf-8")
    return {"plait/plait.h": umbrella, "examples/train_vit.cpp": check_rooms.ROOT / "examples" / "train_vit.cpp"}


def standard_headers(folder):
    reference = folder / "reference.cpp"
    reference.write_text("".join(f"#include <{header}>\n" for header in STANDARD_HEADERS.split()), encoding="utf-8")
    return reference


def cost_to_compile(source, objects):
    """(megabytes that g++ allocates, number of headers that it opens)."""
    command = [*COMPILER, *REPORT, source, "-o", objects]
    report = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stderr
    total = re.search(r"^ *TOTAL .* (\d+)([kM])", report, re.MULTILINE)
    if not total:
        sys.exit(f"{COMPILER[0]} does not report what it allocates; g++ does: CXX=g++ scripts/house.py")
    return int(total[1]) / (1 if total[2] == "M" else 1000), len(re.findall(r"^\.+ ", report, re.MULTILINE))


def seconds_scaled(places, folder):
    """{name: CPU seconds, as on a machine that compiles the standard headers in REFERENCE_SECONDS}; where the first ones exceed a
    limit, medians of three."""
    reference, ratios = standard_headers(folder), {name: [] for name in places}
    for _ in range(3):
        unit = seconds_to_compile(reference, folder / "object.o")
        for name, source in places.items():
            ratios[name].append(seconds_to_compile(source, folder / "object.o") / unit)
        seconds = {name: statistics.median(each) * REFERENCE_SECONDS for name, each in ratios.items()}
        if all(seconds[name] <= LIMITS[name].seconds for name in places):
            break
    return seconds


def compile_problems(folder):
    places = sources(folder)
    seconds = seconds_scaled(places, folder)
    version = subprocess.run([COMPILER[0], "-dumpversion"], check=True, capture_output=True, text=True).stdout.strip()
    for name, limits in LIMITS.items():
        megabytes, headers = cost_to_compile(places[name], folder / "object.o")
        print(f"   {name}: {megabytes:.0f} MB allocated by the compiler (at most {limits.megabytes}), {headers} headers (at most {limits.headers}), "
              f"{seconds[name]:.1f} s of CPU, scaled (at most {limits.seconds})")
        if seconds[name] > limits.seconds:
            yield f"{name}: takes {seconds[name]:.1f} s of CPU to compile, scaled, where {limits.seconds} may be"
        if version.split(".")[0] != str(GCC):
            print(f"   {name}: megabytes and headers are not held, as the limits are those of g++ {GCC}, and this is version {version}")
            continue
        if megabytes > limits.megabytes:
            yield (f"{name}: the compiler allocates {megabytes:.0f} MB, where {limits.megabytes} may be: "
                   "it instantiates more templates, or parses more code")
        if headers > limits.headers:
            yield f"{name}: includes {headers} headers, directly or not, where {limits.headers} may be"


def costly_headers(least=4):
    """Yields (megabytes, headers) of the headers of the umbrella, in its order; the first ones pay for what they share with
    later ones. Groups of headers below `least` together are left out."""
    headers, known = check_rooms.public_headers(), {}
    with tempfile.TemporaryDirectory() as folder:
        source = standard_headers(pathlib.Path(folder))
        standard = source.read_text(encoding="utf-8")

        def megabytes_of_first(count):
            if count not in known:
                source.write_text(standard + "".join(f'#include "{header}"\n' for header in headers[:count]), encoding="utf-8")
                known[count] = cost_to_compile(source, pathlib.Path(folder) / "object.o")[0]
            return known[count]

        ranges = [(0, len(headers))]
        while ranges:
            begin, end = ranges.pop()
            megabytes = megabytes_of_first(end) - megabytes_of_first(begin)
            if end - begin == 1 and megabytes >= least:
                yield megabytes, headers[begin]
            elif megabytes >= least:
                middle = (begin + end) // 2
                ranges += [(middle, end), (begin, middle)]


# The head of a function, as clang-format lays it out: up to its bracket, and not that of a class, a statement or a lambda.
HEAD_ENDS = re.compile(r"^(?! *//)(.*\)|[^=]*[)}]|.*->.*)( const| noexcept| override)* \{$")
NOT_HEADS = re.compile(r"\b(if|for|while|switch|do|else|namespace|struct|class|enum|union|extern|try|catch)\b"
                       r"|(?<!operator)\[[^\[\]]*(\[[^\[\]]*\][^\[\]]*)*\] ?[({<]")
MOST_LINES = 40


def functions_of_cpp(lines):
    """(number of lines, number of the first line) of each function; lambdas belong to the function around them."""
    for last, line in enumerate(lines):
        if not HEAD_ENDS.match(line):
            continue
        first = last
        while lines[first].lstrip().startswith(":") or lines[first - 1].endswith((",", "(")):
            first -= 1
        if NOT_HEADS.search(" ".join(lines[first:last + 1])):
            continue
        indent = re.match(" *", lines[first])[0]
        # The body is further to the right, but for the preprocessor.
        end = next(number for number in range(last + 1, len(lines) + 1)
                   if number == len(lines) or re.match(rf" {{0,{len(indent)}}}[^ #]", lines[number]))
        if lines[end:end + 1] == [indent + "}"]:
            yield end - first + 1, first + 1


def long_functions():
    """(lines, file, number of the first line) of the functions of the library, its Python module and package."""
    found = []
    for file in [*(check_rooms.ROOT / "plait").rglob("*.*"), *(check_rooms.ROOT / "python").rglob("*.*")]:
        if file.suffix in (".h", ".inl", ".cpp"):
            lines = file.read_text(encoding="utf-8").splitlines()
            found += [(count, file, first) for count, first in functions_of_cpp(lines)]
        elif file.suffix == ".py":
            found += [(node.end_lineno - node.lineno + 1, file, node.lineno)
                      for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)]
    return sorted(((lines, file.relative_to(check_rooms.ROOT), number) for lines, file, number in found if lines > MOST_LINES), reverse=True)


# ---- The table of docs/architecture.md.

PAGE = check_rooms.ROOT / "docs" / "architecture.md"
ROOMS_OF_CYCLES = ["ops", "transform", "ir", "tensor", "core", "io", "text"]
OTHER_CYCLES = 4  # most units in a cycle of the rooms that the table does not name
MOST_LONG_FUNCTIONS = 60


def largest_cycles():
    """{room: units in its largest include cycle}."""
    largest = {}
    for group in check_rooms.cycles(check_rooms.units_included()):
        room = group[0].split("/")[0]
        largest[room] = max(largest.get(room, 0), len(group))
    return largest


def lines_of_largest_source(room):
    return max(len(file.read_text(encoding="utf-8").splitlines()) for file in (check_rooms.ROOT / "plait" / room).rglob("*.cpp"))


def files_with(pattern, files):
    return sum(len(re.findall(pattern, file.read_text(encoding="utf-8"))) > 0 for file in files)


def counted_rows():
    """(first words of the row, its last cell, problem) of each row that is counted without compiling; the problem is "" within the
    limits."""
    crowded = len(check_rooms.crowded_folders())
    yield "folders with more than 30 files", f"{crowded} of {len(check_rooms.files_by_folder())}", "none may" if crowded else ""
    largest = largest_cycles()
    others = {room: size for room, size in largest.items() if room not in ROOMS_OF_CYCLES and size > OTHER_CYCLES}
    yield ("units that include each other in the largest circle", ", ".join(str(largest.get(room, 1)) for room in ROOMS_OF_CYCLES),
           f"the table does not have {others}" if others else "")
    long = len(long_functions())
    yield f"functions of more than {MOST_LINES} lines", str(long), f"{MOST_LONG_FUNCTIONS} may" if long > MOST_LONG_FUNCTIONS else ""
    yield "largest source of `transform`, of `compile`", ", ".join(str(lines_of_largest_source(room)) for room in ("transform", "compile")), ""
    switches = files_with(r"switch \([^\n]*structure(\(\))?\) \{", (check_rooms.ROOT / "plait" / "transform").rglob("*.cpp"))
    yield "switches over `ir::Structure` in `transform`", str(switches), "one may" if switches > 1 else ""
    names = subprocess.run(["git", "grep", "-lw", "expm1", "--", ":!*.md"], cwd=check_rooms.ROOT, capture_output=True, text=True, check=False)
    if names.returncode == 0:
        yield "files that name `expm1`", str(len(names.stdout.splitlines())), ""


def table_problems(fix=False):
    """Compares the counted rows with the table, or writes them into it."""
    text = PAGE.read_text(encoding="utf-8")
    for begin, count, problem in counted_rows():
        row = re.search(rf"^(\| {re.escape(begin)}.*\| )([^|\n]*)( \|)$", text, re.MULTILINE)
        if not row:
            yield f"{PAGE.name} has no row '{begin}'"
        elif fix:
            text = text[:row.start()] + row[1] + count + row[3] + text[row.end():]
        elif row[2] != count:
            yield f"{PAGE.name}: {begin}: {row[2]}, but there are {count}: scripts/house.py --fix"
        if problem:
            yield f"{begin}: {count}, where {problem}"
    if fix:
        PAGE.write_text(text, encoding="utf-8")


def check(compiles):
    problems = list(table_problems())
    if compiles:
        with tempfile.TemporaryDirectory() as folder:
            costs = list(compile_problems(pathlib.Path(folder)))
        if costs:
            problems += [*costs,
                         "scripts/house.py --headers lists the headers that are the most to compile, g++ -H what includes what.",
                         "Leave out the include, put the body into a source, or hide the type behind a pointer."]
    if problems:
        print("\n".join([*problems, "The limits are LIMITS and MOST_LONG_FUNCTIONS in scripts/house.py."]))
    return 1 if problems else 0


def main():
    if "--functions" in sys.argv[1:]:
        for lines, file, number in long_functions():
            print(f"{lines} lines: {file}:{number}")
        return 0
    if "--check" in sys.argv[1:]:
        return check("--without-compiling" not in sys.argv[1:])
    if "--headers" in sys.argv[1:]:
        for megabytes, header in costly_headers():
            print(f"{megabytes:.0f} MB: {header}", flush=True)
        return 0
    if "--fix" in sys.argv[1:]:
        problems = list(table_problems(fix=True))
        print("\n".join(problems) if problems else f"   wrote {PAGE.relative_to(check_rooms.ROOT)}")
        return 1 if problems else 0
    for begin, count, _ in counted_rows():
        print(f"{begin}: {count}")
    print("largest include cycles:", ", ".join(f"{room} {size}" for room, size in sorted(largest_cycles().items(), key=lambda each: -each[1])))
    with tempfile.TemporaryDirectory() as folder:
        objects = pathlib.Path(folder) / "object.o"
        for name, source in sources(pathlib.Path(folder)).items():
            seconds = min(seconds_to_compile(source, objects) for _ in range(3))
            print(f"{name}: {seconds:.2f} s of CPU, {kilobytes_of_code(objects):.0f} KB of code")
    return 0


if __name__ == "__main__":
    sys.exit(main())
