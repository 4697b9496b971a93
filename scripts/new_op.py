#!/usr/bin/env python3
"""Begins a new operation: copies every entry of one that it is like, under the new name, to where the other
stands, and lists what to edit.

    scripts/new_op.py cbrt --like expm1        copies
    scripts/new_op.py cbrt --like expm1 --check    copies nothing, and lists which places lack the new name

The copied entries are the primitive's declaration, its function, header, binding, example, conformance case, program
for the fuzzer and refusals. Each still computes what the other does: edit them in the order in which they are listed,
then run `make format` and the tests that are printed."""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]

# Where each operation has an entry, in the order in which one is written: what is done there, and the files.
PLACES = [
    ("declare the primitive and its derivative; call it from the function", ["plait/ops/**/*.cpp"]),
    ("declare the function, with a comment where the name does not say all", ["plait/ops/**/*.h"]),
    ("describe it to Python users in one sentence", ["python/bindings/*.cpp"]),
    ("show an example; its result is checked", ["docs/examples/*.md"]),
    ("give a program that uses it, which tests damage", ["tests/fuzz/corpus/text/ops/*.plait"]),
    ("name its oracle and the range to draw from", ["tests/conformance/families/*.py"]),
    ("list what it refuses", ["tests/ops/refusals/refusals_*.cpp"]),
]
BRACKETS = {"(": ")", "[": "]", "{": "}"}


def end_of_balanced(text, begin):
    """Behind the bracket that closes the one at `begin`; text in quotes and comments does not count."""
    depth, at = 0, begin
    while at < len(text):
        if skipped := re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*').match(text, at):
            at = skipped.end()
            continue
        depth += (text[at] in BRACKETS) - (text[at] in BRACKETS.values())
        at += 1
        if depth == 0:
            return at
    raise ValueError("a bracket is not closed")


def end_of_statement(text, begin):
    """Behind the semicolon, or the body, that ends a statement of C++, with a comment on its line."""
    at = begin
    while text[at] != ";":
        at = end_of_balanced(text, at) if text[at] in BRACKETS else at + 1
        if text[at - 1] == "}" and re.match(r"[ \t]*\n", text[at:]):
            return text.index("\n", at) + 1
    return text.index("\n", at) + 1


def comment_above(text, begin):
    """Where the comment lines above a line begin."""
    while above := re.search(r"(?:^|\n)([ \t]*//[^\n]*\n)$", text[:begin]):
        if "----" in above[1]:
            break
        begin = above.start(1)
    return begin


def cpp_entries(text, name):
    for found in re.finditer(rf"^ *const ir::Primitive& {name}\b", text, re.M):
        yield comment_above(text, found.start()), end_of_statement(text, found.start())
    for found in re.finditer(rf"^(?!return)[A-Za-z][\w:<>&, ]* {name}\(", text, re.M):
        yield comment_above(text, found.start()), end_of_statement(text, found.start())
    for found in re.finditer(rf'^( *)\{{"{name}",', text, re.M):
        begin = found.end(1)
        end = end_of_balanced(text, begin)
        if text[end] == ",":
            yield found.start(), text.index("\n", end) + 1
    for found in re.finditer(rf'(?<!^)(?<! )[ {{](\{{"{name}", {name}\}}, )', text, re.M):  # in a line of several
        yield found.start(1), found.end(1)


def page_entries(text, name):
    if found := re.search(rf"^## {name}\n.*?(?=^## |\Z)", text, re.M | re.S):
        yield found.span()


def program_entries(text, name):
    for found in re.finditer(rf"^func @\w*\b{name}\b\w*\(.*?^\}}\n\n?", text, re.M | re.S):
        yield found.span()


def case_entries(text, name):
    for found in re.finditer(rf'^\w+\("{name}"', text, re.M):
        end = end_of_balanced(text, text.index("(", found.start()))
        yield found.start(), text.index("\n", end) + 1


ENTRIES = {".cpp": cpp_entries, ".h": cpp_entries, ".md": page_entries, ".plait": program_entries, ".py": case_entries}


def files_of(patterns):
    return sorted(file for pattern in patterns for file in ROOT.glob(pattern))


def entries_in(file, name):
    text = file.read_text(encoding="utf-8")
    return text, sorted(set(ENTRIES[file.suffix](text, name)))


def copy_entries(file, like, name):
    """Writes the copies; the lines at which they begin."""
    text, spans = entries_in(file, like)
    lines = []
    for begin, end in reversed(spans):
        copy = re.sub(rf"\b{like}\b", name, text[begin:end])
        text = text[:end] + copy + text[end:]
    file.write_text(text, encoding="utf-8")
    for begin, _ in entries_in(file, name)[1]:
        lines.append(text.count("\n", 0, begin) + 1)
    return lines


def other_files(like):
    """That name the other operation besides: often by choice."""
    out = subprocess.run(["git", "grep", "-lwF", like, "--", "python", "plait", "tests", "bench"], cwd=ROOT,
                         capture_output=True, text=True, check=True).stdout.split()
    own = {str(file.relative_to(ROOT)) for _, patterns in PLACES for file in files_of(patterns)}
    return [file for file in out if file not in own and not file.endswith(".plir")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="the new operation, as C++ and Python call it")
    parser.add_argument("--like", required=True, metavar="OP", help="an operation whose entries are copied")
    parser.add_argument("--check", action="store_true", help="copy nothing; say where the new name is missing")
    arguments = parser.parse_args()
    if not re.fullmatch(r"[a-z][a-z0-9_]*", arguments.name):
        parser.error(f"{arguments.name} is not a valid name of an operation: small letters, digits and _")
    missing = False
    for number, (task, patterns) in enumerate(PLACES, start=1):
        files = [file for file in files_of(patterns) if entries_in(file, arguments.like)[1]]
        if number == 1 and not files:
            parser.error(f"no source of plait/ops declares {arguments.like}")
        print(f"{number}. {task}")
        for file in files:
            path = file.relative_to(ROOT)
            if arguments.check:
                has = bool(entries_in(file, arguments.name)[1])
                missing |= not has
                print(f"   {path}: {'has it' if has else 'MISSING'}")
            elif entries_in(file, arguments.name)[1]:
                print(f"   {path}: has it already")
            else:
                print("".join(f"   {path}:{line}\n" for line in copy_entries(file, arguments.like, arguments.name)), end="")
    print(f"Where {arguments.like} is named besides (methods of tensors, faster kernels, autocast, benchmarks), as you choose:")
    print("".join(f"   {file}\n" for file in other_files(arguments.like)), end="")
    print("Then: make format && make build && make test, or of these first:\n"
          "   ctest --preset release -R 'ops.(Table|Refus|Hostile)|conformance|python.(surface|examples|docstrings)'")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
