#!/usr/bin/env python3
"""Checks the rooms: which room may include which, what public headers include, the sizes of include cycles, how many files a
folder has, that primitives are named by handles, that switches over structures have no default, and that the README of compile
lists the passes. With --fix it writes plait/plait.h first."""

import collections
import pathlib
import re
import sys

# A room may include itself and the rooms in the rows above it, but no other room of its row.
ROWS = [
    ["core"],
    ["ir"],
    ["tensor"],
    ["ops"],
    ["transform"],
    ["compile"],
    ["cpu", "cuda"],
    ["io"],
    ["comm"],
    ["nn", "optim", "metrics", "data", "text", "serve"],
]

# Public headers are in plait/<room>; those below plait/<room>/inside are for the sources of Plait only, and are not
# installed.
INSIDE = re.compile(r"plait/[a-z]+/inside/")

MOST_FILES_IN_A_FOLDER = 30

# State set by scopes on a thread is in plait/core/ambient.h. Other thread-local variables are caches of a thread, or belong
# to it; they are in these files, for these reasons.
AMBIENT = "plait/core/ambient.h"
OF_A_THREAD = {
    "plait/core/error.cpp": "counts the errors that this thread has shown",
    "plait/core/location.cpp": "caches which return addresses are in users' code, without a lock",
    "plait/core/log.cpp": "is set while a sink runs, so that what it logs is not passed to it again",
    "plait/core/inside/system/interruption.cpp": "the time when this thread asked for interruptions last",
    "plait/core/system/deep_stack.cpp": "the limits of the stack that this thread runs on",
    "plait/core/system/thread_team.cpp": "the part that this thread has in its team",
    "plait/ir/value.cpp": "the values that this thread is about to free, so that freeing does not recurse",
    "plait/tensor/apply.cpp": "caches inferred types, without a lock",
    "plait/tensor/memory/memory.cpp": "caches small blocks, without a lock",
    "plait/tensor/tracing/derivation.cpp": "the nodes that this thread is about to free, so that freeing does not recurse",
    "plait/transform/autocast.cpp": "interns the names of operations, without a lock",
    "plait/transform/programs.cpp": "caches programs with tapes; their functions are made on this thread",
    "plait/transform/inside/derivatives/derived_cache.cpp": "caches derivatives of functions, without a lock",
    "plait/transform/inside/derivatives/linear_function.cpp": "caches recorded tangents, without a lock",
    "plait/transform/inside/derivatives/tangents.cpp": "caches sums of records, without a lock",
    "plait/cpu/inside/codegen/llvm_code.cpp": "the code that this thread emits, for the operators of its lanes",
    "python/bindings/errors/errors.cpp": "the C++ exception that passes through Python on this thread",
}

# A unit is a header and the sources of its name, wherever they are in its room. At most this many units may include each other
# in a cycle.
MOST_IN_A_CYCLE = 5

ROOT = pathlib.Path(__file__).resolve().parent.parent
UMBRELLA = "plait/plait.h"
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def row_of(room):
    return next((number for number, row in enumerate(ROWS) if room in row), None)


def includes_of(file):
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if match := INCLUDE.match(line):
            yield number, match.group(1)


def problem_with(room, included):
    """The reason why a source of `room` may not include `included`; None if it may."""
    if included.startswith(("tests/", "tools/", "examples/", "bench/")):
        return f"the library does not include {included}"
    if not included.startswith("plait/"):
        return None
    if included == UMBRELLA:
        return "the umbrella is for users; include what is used"
    if not (ROOT / included).exists():
        return f"{included} is not there"
    other = included.split("/")[1]
    if other == room or row_of(other) < row_of(room):
        return None
    return f"room {room} may not include {included}: {other} is not above it"


def room_problems():
    for folder in sorted(path for path in (ROOT / "plait").iterdir() if path.is_dir()):
        if row_of(folder.name) is None:
            yield f"plait/{folder.name}: no such room (ROWS in scripts/check_rooms.py lists them)"
            continue
        for file in sorted([path for end in ("h", "inl", "cpp") for path in folder.rglob(f"*.{end}")]):
            for number, included in includes_of(file):
                if problem := problem_with(folder.name, included):
                    yield f"{file.relative_to(ROOT)}:{number}: {problem}"


def headers_of_the_library():
    return sorted(str(file.relative_to(ROOT)) for file in (ROOT / "plait").rglob("*.h"))


def public_headers():
    return [header for header in headers_of_the_library() if header != UMBRELLA and not INSIDE.match(header)]


def public_problems():
    """Public headers may include public headers only: nothing else is installed."""
    for header in public_headers():
        for number, included in includes_of(ROOT / header):
            if INSIDE.match(included):
                yield f"{header}:{number}: a public header may not include {included}, which is not installed"


def umbrella():
    """The text of plait.h."""
    lines = [f'#include "{header}"' for header in public_headers()]
    return "\n".join(["// All of Plait that users call. Written by scripts/check_rooms.py --fix.", "#pragma once", "", *lines, ""])


def umbrella_problems():
    if (ROOT / UMBRELLA).read_text(encoding="utf-8") != umbrella():
        yield f"{UMBRELLA} is not all public headers: scripts/check_rooms.py --fix"


def unit_of(name):
    """room/stem of a path below plait; names are unique within a room (name_problems)."""
    path = pathlib.PurePosixPath(name)
    return f"{path.parts[1]}/{path.stem}"


def units_included():
    """{unit: units that its header or source includes}."""
    included_by = collections.defaultdict(set)
    for file in sorted(path for end in ("h", "inl", "cpp") for path in (ROOT / "plait").rglob(f"*.{end}")):
        name = str(file.relative_to(ROOT))
        if name == UMBRELLA:
            continue
        unit = unit_of(name)
        included_by[unit] |= {unit_of(other) for _, other in includes_of(file) if other.startswith("plait/")} - {unit}
    return included_by


def cycles(graph):
    """The strongly connected components with more than one node, largest first (Tarjan, 1972, with an explicit
    stack)."""
    order, low, stack, on_stack, groups = {}, {}, [], set(), []
    for root in graph:
        if root in order:
            continue
        calls = [(root, iter(sorted(graph[root])))]
        order[root] = low[root] = len(order)
        stack.append(root)
        on_stack.add(root)
        while calls:
            node, rest = calls[-1]
            after = next(rest, None)
            if after is None:
                calls.pop()
                if calls:
                    low[calls[-1][0]] = min(low[calls[-1][0]], low[node])
                if low[node] == order[node]:
                    group = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        on_stack.discard(group[-1])
                    groups.append(sorted(group))
            elif after not in order:
                order[after] = low[after] = len(order)
                stack.append(after)
                on_stack.add(after)
                calls.append((after, iter(sorted(graph.get(after, ())))))
            elif after in on_stack:
                low[node] = min(low[node], order[after])
    return sorted((group for group in groups if len(group) > 1), key=len, reverse=True)


def cycle_problems():
    for group in cycles(units_included()):
        if len(group) > MOST_IN_A_CYCLE:
            yield f"{len(group)} units include each other in a circle, where {MOST_IN_A_CYCLE} may: {', '.join(group)}"


TREES = ("plait", "python", "tests", "docs", "scripts", "tools", "examples", "bench", "cmake")
# Within each of these, the names of sources are unique.
WITH_UNIQUE_NAMES = ("plait", "python/plait", "python/bindings")
SOURCES = (".h", ".inl", ".cpp", ".py")


def files_by_folder():
    """{folder: files in it} of the folders below TREES."""
    folders = collections.defaultdict(list)
    for path in sorted(path for tree in TREES for path in (ROOT / tree).rglob("*")):
        is_cached = any(part == "__pycache__" or part.startswith(".") for part in path.relative_to(ROOT).parts[:-1])
        if path.is_file() and not is_cached:
            folders[path.parent].append(path)
    return folders


def crowded_folders():
    """(folder, number of its files) of those that have too many."""
    return [(folder, len(files)) for folder, files in files_by_folder().items() if len(files) > MOST_FILES_IN_A_FOLDER]


def folder_problems():
    for folder, count in crowded_folders():
        yield f"{folder.relative_to(ROOT)}: {count} files; put some into a folder of their own (at most {MOST_FILES_IN_A_FOLDER})"


def name_problems(tree):
    places = collections.defaultdict(list)
    for file in sorted((ROOT / tree).rglob("*.*")):
        if file.suffix in SOURCES and file.name != "__init__.py":
            places[file.name].append(str(file.relative_to(ROOT)))
    for paths in places.values():
        if len(paths) > 1:
            yield f"{' and '.join(paths)}: one name for {len(paths)} files"


# A handle (plait/ops/inside/primitives.h) does not compile where it is misspelt; a name in quotes just never matches.
BY_TEXT = re.compile(r'primitive\("|\bprimitive(?:\(\))?(?:\.|->)name\s*[!=]=')


def handle_problems():
    for file in sorted(path for end in ("h", "inl", "cpp") for path in (ROOT / "plait").rglob(f"*.{end}")):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
            if BY_TEXT.search(line):
                yield (f"{file.relative_to(ROOT)}:{number}: names a primitive by text; compare it with its handle "
                       "(plait/ops/inside/primitives.h), or read a property of its declaration")


# A switch over ir::Structure lists all of them, so that the compiler reports each place where a new one is missing.
SWITCH = re.compile(r"^( *)switch \([^\n]*structure(?:\(\))?\) \{\n(.*?)^\1\}", re.MULTILINE | re.DOTALL)


def switches_with_default(text):
    """The number of the line of each."""
    for found in SWITCH.finditer(text):
        if re.search(rf"^{found[1]}  default:", found[2], re.MULTILINE):
            yield text.count("\n", 0, found.start()) + 1


def structure_problems():
    for file in sorted((ROOT / "plait").rglob("*.cpp")):
        for number in switches_with_default(file.read_text(encoding="utf-8")):
            yield f"{file.relative_to(ROOT)}:{number}: a switch over ir::Structure lists all cases instead of a default"


def thread_problems():
    folders = [ROOT / "plait", ROOT / "python" / "bindings"]
    files = sorted(path for folder in folders for end in ("h", "inl", "cpp") for path in folder.rglob(f"*.{end}"))
    named = {str(file.relative_to(ROOT)) for file in files if "thread_local" in file.read_text(encoding="utf-8")}
    for name in sorted(named - {AMBIENT} - set(OF_A_THREAD)):
        yield f"{name}: what a scope sets on its thread is a member of {AMBIENT}; a cache is listed in scripts/check_rooms.py"
    for name in sorted(set(OF_A_THREAD) - named):
        yield f"{name}: listed in scripts/check_rooms.py, but has no thread-local variable"


PASSES = "plait/compile/pass.cpp"
TABLE_OF_PASSES = "plait/compile/README.md"
FOLDER_OF_PASSES = "plait/compile/inside/passes"


def pass_problems(sources, table):
    """The passes of kPasses and the sources of their folder, compared with the table of the README."""
    found = re.search(r"^constexpr Pass kPasses\[\] = \{\n(.*?)^\};", sources, re.MULTILINE | re.DOTALL)
    passes = re.findall(r'^    \{"(\w+)",', found[1], re.MULTILINE) if found else []
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE))
    if not passes or list(rows) != passes:
        yield f"{TABLE_OF_PASSES}: the table has the passes {', '.join(rows)}, {PASSES} has {', '.join(passes)}"
    for file in sorted((ROOT / FOLDER_OF_PASSES).glob("*.cpp")):
        if f"`{file.name}`" not in table:
            yield f"{TABLE_OF_PASSES}: does not name {file.name}"


def main():
    if sys.argv[1:] == ["--fix"]:
        (ROOT / UMBRELLA).write_text(umbrella(), encoding="utf-8")
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in (PASSES, TABLE_OF_PASSES)]
    names = [problem for tree in WITH_UNIQUE_NAMES for problem in name_problems(tree)]
    problems = [*room_problems(), *public_problems(), *umbrella_problems(), *cycle_problems(), *folder_problems(), *names, *handle_problems(),
                *structure_problems(), *thread_problems(), *pass_problems(*texts)]
    good = f"   every include leads to a room above, public headers to public ones, and no cycle has more than {MOST_IN_A_CYCLE} units"
    print("\n".join(problems) if problems else good)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
