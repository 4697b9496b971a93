"""The examples of docs/examples: a heading `## name` for each function of plait, and below it a doctest.
tests/python/package/examples_test.py runs them, and scripts/manual/docs.py puts them on the pages, with the programs that they
record (example_programs.py)."""

import contextlib
import dataclasses
import doctest
import functools
import io
import math
import pathlib
import re
import sys

import numpy as np
import plait
from plait.inside.help import manual

import headers

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER_NAME = pathlib.Path("docs", "examples")
FOLDER = ROOT / FOLDER_NAME
PLACES = {"": plait, "fft.": plait.fft, "linalg.": plait.linalg, "random.": plait.random}
# The family of functions that no header of plait/ops declares under that name.
OTHERS = "python"
CALLED_IN_CPP = {"std": "stddev"}
NUMBER = re.compile(r"-?(?:\b\d+\.?\d*(?:e[-+]?\d+)?|\binf\b|\bnan\b)")
PARSER = doctest.DocTestParser()


def place_of(family):
    """The file of its examples, in a folder like that of its header."""
    header = next(headers.HEADERS.rglob(f"{family}.h"), None)
    folder = FOLDER_NAME if header is None else FOLDER_NAME / header.parent.relative_to(headers.HEADERS)
    return f"{folder / family}.md"


@dataclasses.dataclass
class Example:
    """The text below one heading."""

    name: str
    family: str
    text: str
    line: int

    @property
    def place(self):
        return place_of(self.family)

    def statements(self):
        return [part for part in PARSER.parse(self.text) if not isinstance(part, str)]

    def doctest(self):
        return PARSER.get_doctest(self.text, {"plait": plait, "np": np}, self.name, self.place, self.line)


class Checker(doctest.OutputChecker):
    """Numbers need only be close: their last digits depend on the processor and its libraries."""

    def check_output(self, want, got, optionflags):
        if super().check_output(want, got, optionflags):
            return True
        words = ["".join(NUMBER.sub("#", text).split()) for text in (want, got)]
        numbers = [[float(each) for each in NUMBER.findall(text)] for text in (want, got)]
        return words[0] == words[1] and all(map(_near, *numbers))


def _near(a, b):
    return a == b or math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6) or (math.isnan(a) and math.isnan(b))


def read():
    """The examples in the order of their files."""
    return [Example(*each) for each in manual.read(FOLDER)]


def function_of(name):
    """The function that a heading names; None if there is none in plait."""
    path, _, last = name.rpartition(".")
    place = PLACES.get(path + "." if path else "")
    return getattr(place, last, None) if place else None


def is_of_core(name, function):
    """True for a public function of C++."""
    return type(getattr(function, "__wrapped__", function)).__name__ in ("Function", "nb_func") and not name.startswith("_")


@functools.cache
def families():
    """For each public function of plait, by name, the headers that declare it; the first one is its family."""
    declared = {}
    for each in headers.declarations():
        declared.setdefault(each.path.removeprefix("plait."), set()).add(each.header)
    found = {}
    for prefix, place in PLACES.items():
        for last, function in vars(place).items():
            name = prefix + last
            if is_of_core(last, function) or (name in declared and "plait." + name not in headers.ELSEWHERE):
                found[name] = declared.get(CALLED_IN_CPP.get(name, name), {OTHERS})
    return found


def aliases_of(name):
    """Other names of the same function."""
    return [other for other in families() if other != name and function_of(other) is function_of(name)]


def problems():
    """Error messages: functions without examples, and examples of functions that do not exist."""
    expected, found = families(), {}
    for example in read():
        if example.name in found:
            yield f"{example.place}: {example.name} appears twice"
        found[example.name] = example
        if example.name not in expected and example.name not in plait.ops():
            yield f"{example.place}: plait.{example.name} is not a function of plait (or is another name of one)"
        elif example.name in expected and example.family not in expected[example.name]:
            yield f"{example.place}: {example.name} belongs in {place_of(min(expected[example.name]))}"
        elif example.name in expected and not re.search(rf"\bplait\.{re.escape(example.name)}\b", example.text):
            yield f"{example.place}: the example of {example.name} does not call it"
    for name in sorted(set(expected) - set(found)):
        if any(other in found for other in aliases_of(name)):
            continue
        yield (f"plait.{name} has no example: add `## {name}` with a doctest to {place_of(min(expected[name]))} "
               "(scripts/manual/docs.py --fill writes what it gives)")


def failures(example):
    """doctest's report if the result of an example differs; "" if all results agree."""
    report = []
    runner = doctest.DocTestRunner(Checker(), verbose=False, optionflags=doctest.ELLIPSIS)
    runner.run(example.doctest(), out=report.append)
    return "".join(report)


def printed_by(statement, scope):
    """The output of one statement."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(statement.source, "<example>", "single"), scope)  # noqa: S102
        except Exception as error:  # as doctest formats it
            sys.stdout.write(f"Traceback (most recent call last):\n    ...\n{type(error).__module__}.{type(error).__name__}: {error}\n")
    return out.getvalue()


def filled(text):
    """The text of an example with the missing results inserted."""
    scope, parts = {"plait": plait, "np": np}, []
    for part in PARSER.parse(text):
        if isinstance(part, str):
            parts.append(part)
            continue
        given = printed_by(part, scope).replace("\n\n", "\n<BLANKLINE>\n")
        lines = part.source.splitlines()
        parts += [f"{' ' * part.indent}{'>>> ' if k == 0 else '... '}{line}\n" for k, line in enumerate(lines)]
        parts += [f"{' ' * part.indent}{line}\n" if line else "\n" for line in (part.want or given).splitlines()]
    return "".join(parts)


def fill():
    """Writes missing results of examples into their files."""
    for file in sorted(FOLDER.rglob("*.md")):
        parts = re.split(r"^(## \S+\n)", file.read_text(encoding="utf-8"), flags=re.M)
        parts[2::2] = [filled(text) for text in parts[2::2]]
        file.write_text("".join(parts), encoding="utf-8")
