#!/usr/bin/env python3
"""Begins a new operation: copies every entry of one that it is like, under the new name, to where the other stands, and
lists what to edit; or says where an operation's entries are missing, or not edited yet.

    scripts/new_op.py sinc2 --like expm1    copies
    scripts/new_op.py --check sinc2         copies nothing; exits with 1 if something is missing

Both names are those of the functions that users call. Copy an operation of the family (the source of plait/ops) that the new one
belongs to, with as many operands, and a derivative that is as simple: entr for an elementwise function. The copies still say
what the other does, each under a line with TODO(new op): edit them in the order in which they are listed, and delete these lines, which
the check counts. docs/architecture.md says what each place is for."""

import argparse
import dataclasses
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BRACKETS = {"(": ")", "[": "]", "{": "}"}


@dataclasses.dataclass
class Operation:
    """The names of an operation in the sources."""

    function: str
    primitive: str = ""  # that the function applies; "" if it is composed of others
    member: str = ""  # the primitive in the table of its family
    declaration: str = ""

    @property
    def names(self):
        return [name for name in dict.fromkeys((self.function, self.primitive)) if name]

    @property
    def has_own_rows(self):
        """True if it is declared with its function: then refusals and random programs have it by the table."""
        return re.search(rf"\bplait::{self.function},|\.function = plait::{self.function}\b", self.declaration) is not None

    @property
    def has_own_case(self):
        """True if its declaration says all of its conformance case: an elementwise one with one function as its oracle."""
        is_elementwise = re.search(r"\b(?:unary|binary|bits_of|comparison|declare_function|of_complex)\(|\.elementwise = ", self.declaration)
        return bool(is_elementwise) and re.search(r'"(?:numpy|scipy)(?:\.\w+)+"', self.declaration) is not None


@dataclasses.dataclass
class Place:
    """Where each operation has an entry, in the order in which one is written."""

    task: str
    files: list  # patterns
    entries: object  # (text, operation) -> the spans of its entries
    of_table: object = lambda operation: False  # true if the declaration says all of it, so that no entry is needed
    optional: bool = False  # left to those operations whose example has it
    edits: str = ""  # in which the copy still says what the other operation does; "" if the name is all


# ---- Reading sources.


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


def statements(text, pattern):
    for found in re.finditer(pattern, text, re.M):
        yield comment_above(text, found.start()), end_of_statement(text, found.start())


def functions(text, operation):
    yield from statements(text, rf"^(?!return)[A-Za-z][\w:<>&, ]* {operation.function}\(")


def functions_alone(text, operation):
    """Without the comment above, which may be of several functions."""
    for found in re.finditer(rf"^(?!return)[A-Za-z][\w:<>&, ]* {operation.function}\(", text, re.M):
        yield found.start(), end_of_statement(text, found.start())


def declarations(text, operation):
    """The primitive in the table of its family, and its handle."""
    if operation.member:
        for begin, end in statements(text, rf"^ +const ir::Primitive& {operation.member} ="):
            if f'"{operation.primitive}"' in text[begin:end]:  # other families may have a member of this name
                yield begin, end
    if operation.primitive:
        yield from statements(text, rf"^const ir::Primitive& {operation.primitive}_primitive\(\)")


def sources(text, operation):
    yield from declarations(text, operation)
    yield from functions(text, operation)


def rows(text, operation):
    """Rows of tables that begin with the name, in quotes or as a handle."""
    for name in operation.names:
        for found in re.finditer(rf'\{{(?:"{name}"|{name}_primitive(?:\(\))?),', text):
            yield found.start(), end_of_balanced(text, found.start())


def kernels(text, operation):
    """Rows of tables, and registrations of loops."""
    yield from rows(text, operation)
    for name in operation.names:
        for found in re.finditer(rf'^ +add\w*<[^\n]*>\(kernels, "{name}"[^\n]*\);\n', text, re.M):
            yield found.span()


def loop_names(text, operation):
    """The name in the lists of elementwise loops, with a space before or behind it."""
    for name in operation.names:
        for found in re.finditer(rf'(?<=\w) {name}(?=[ "])|(?<="){name} ', text):
            yield found.span()


def pages(text, operation):
    if found := re.search(rf"^## {operation.function}\n.*?(?=^## |\Z)", text, re.M | re.S):
        yield found.span()


def programs(text, operation):
    """The program of its name, or the first one that has it."""
    name = operation.names[-1]
    with_it = [found for found in re.finditer(r"^func @([\w.]+)\(.*?^\}\n\n?", text, re.M | re.S)
               if re.search(rf"^ +(?:%[^=\n]*= )?{name} ", found[0], re.M)]
    for found in [each for each in with_it if each[1] == name] or with_it[:1]:
        yield found.span()


def cases(text, operation):
    for found in re.finditer(rf'^\w+\("{operation.names[-1]}"', text, re.M):
        end = end_of_balanced(text, text.index("(", found.start()))
        yield found.start(), text.index("\n", end) + 1


PLACES = [
    Place("declare the primitive: what it computes, its derivative, its oracle, and its numbers (ir::Numerics) where they are not the usual "
          "ones; call it from the function", ["plait/ops/**/*.cpp"], sources, edits="comment, summary, oracle, body, derivative"),
    Place("declare the function, with a comment where the name does not say all", ["plait/ops/**/*.h"], functions_alone, edits="comment, parameters"),
    Place("register its kernel: required if the primitive has no body or evaluator; otherwise faster than the loops around its body",
          ["plait/cpu/inside/register*.cpp", "plait/cpu/inside/elementwise/*_kernels.cpp"], kernels, optional=True, edits="kernel"),
    Place("list its elementwise loops", ["tests/cpu/elementwise_loops_test.cpp"], loop_names, optional=True),
    Place("describe it to Python users in one sentence", ["python/bindings/functions/*.cpp"], rows, edits="sentence"),
    Place("show an example; docs.py --fill writes its result", ["docs/examples/**/*.md"], pages, edits="example"),
    Place("give a program that uses it, which tests damage", ["tests/fuzz/corpus/text/ops/*.plait"], programs, edits="program"),
    Place("compare it with its oracle", ["tests/conformance/families/*.py"], cases, lambda operation: operation.has_own_case,
          edits="case"),
    Place("list what it refuses", ["tests/ops/refusals/refusals_*.cpp"], rows, lambda operation: operation.has_own_rows, edits="refusals"),
    Place("use it in random programs", ["tests/support/programs/step_kinds*.cpp"], rows, lambda operation: operation.has_own_rows, optional=True,
          edits="step"),
]


def files_of(patterns):
    return sorted(file for pattern in patterns for file in ROOT.glob(pattern))


def operation_of(name):
    """The operation whose function has that name; None if there is none."""
    operation = None
    for file in files_of(["plait/ops/**/*.cpp", "plait/ops/**/*.h"]):
        text = file.read_text(encoding="utf-8")
        for begin, end in functions(text, Operation(name)):
            operation = operation or Operation(name)
            applied = re.search(r"\w+_(?:ops|functions)\(\)\.(\w+)", text[begin:end])
            declared = applied and next(statements(text, rf"^ +const ir::Primitive& {applied[1]} ="), None)
            if declared:
                declaration = text[slice(*declared)]
                operation = Operation(name, re.search(r'"(\w+)"', declaration)[1], applied[1], declaration)
    return operation


# ---- Copying.


LIBRARIES = ("std::", "special::", "numpy.", "scipy.special.", "np.")  # their functions keep their names


def renamed(text, like, name):
    def unless_of_library(found):
        return found[0] if text[:found.start()].endswith(LIBRARIES) else name + (found[1] or "")

    for old in sorted(like.names, key=len, reverse=True):
        text = re.sub(rf"\b{old}(_primitive)?\b", unless_of_library, text)
    if like.member:
        text = re.sub(rf"(const ir::Primitive& |_(?:ops|functions)\(\)\.){like.member}\b", rf"\g<1>{name}", text)
    return text


def copy_of(text, like, name, suffix):
    copy = renamed(text, like, name)
    if suffix == ".plait":
        return re.sub(r"^func @[\w.]+", f"func @{name}", copy)
    if suffix == ".md":  # without its results
        copy = "\n".join(line for line in copy.split("\n") if not line.startswith("    ") or line[4:7] in (">>>", "..."))
    return copy


MARK = "TODO(new op)"
COMMENTS = {".plait": "; {}", ".py": "# {}", ".md": "<!-- {} -->"}  # others: // {}


def marked(copy, place, suffix, indent):
    """The copy under a line that says what to edit in it."""
    if not place.edits:
        return copy
    line = COMMENTS.get(suffix, "// {}").format(f"{MARK}: {place.edits}; then delete this line")
    return f"{line}\n{indent}{copy}"


def copy_entries(file, place, like, name):
    """Writes the copies, each behind its original; the lines at which they begin."""
    text = file.read_text(encoding="utf-8")
    begins = []
    for begin, end in sorted(set(place.entries(text, like)), reverse=True):
        copy = copy_of(text[begin:end], like, name, file.suffix)
        if place.entries in (rows, kernels) and text[begin] == "{":
            indent = " " * (begin - text.rfind("\n", 0, begin) - 1)
            copy = f",\n{indent}" + marked(copy, place, file.suffix, indent)
        else:
            copy = marked(copy, place, file.suffix, "")
        begins = [end, *(at + len(copy) for at in begins)]
        text = text[:end] + copy + text[end:]
    file.write_text(text, encoding="utf-8")
    return [text.count("\n", 0, at) + 1 + text.startswith(",\n", at) for at in begins]


def copy_all(like, name):
    for number, place in enumerate(PLACES, start=1):
        print(f"{number}. {place.task}")
        copied = [f"   {file.relative_to(ROOT)}:{line}\n" for file in files_of(place.files) for line in copy_entries(file, place, like, name)]
        print("".join(copied), end="")
        if not copied and place.of_table(like):
            print(f"   nothing, as for {like.function}: the declaration says it"
                  + (", if its oracle is one function of NumPy or SciPy" if place.entries is cases else ""))
    print(f"Where {like.function} is named besides (methods of tensors, faster kernels, benchmarks), as you choose:")
    print("".join(f"   {file}\n" for file in other_files(like)), end="")
    print("Add tests of what its oracle does not show, and a line to CHANGELOG.md, the newest first. Then:\n"
          "   make format && make build && PYTHONPATH=build/release/python .venv/bin/python scripts/manual/docs.py --fill\n"
          f"   scripts/new_op.py --check {name} && ctest --preset release -R '{short_tests(like.function, Sources.read())}'\n"
          "   make test")


def other_files(like):
    """That name the other operation besides: often by choice."""
    found = subprocess.run(["git", "grep", "-lwF", like.function, "--", "python", "plait", "tests", "bench"], cwd=ROOT,
                           capture_output=True, text=True, check=False)  # in a copy without history there are none
    out = found.stdout.split()
    own = {str(file.relative_to(ROOT)) for place in PLACES for file in files_of(place.files)}
    return [file for file in out if file not in own and not file.endswith(".plir")]


# ---- The tests of an operation.


CASES = "tests/conformance/families/*.py"
PLUMBING = {"shape", "create", "effects"}  # families of primitives that most functions apply besides their own


def topic_of(file):
    return next(part for part in reversed(file.parent.parts) if part != "inside")


@dataclasses.dataclass
class Sources:
    """The functions of plait/ops, with the primitives that each names."""

    bodies: dict  # {(topic, name): text}
    topics: dict  # {name: topics that have a function of this name}
    texts: dict  # {name of a table's function: text of its file}
    cases: dict  # {family: text}

    @staticmethod
    def read():
        sources = Sources({}, {}, {}, {file.stem: file.read_text(encoding="utf-8") for file in files_of([CASES])})
        head = re.compile(r"^(?!return|using|namespace|struct|template|static)[A-Za-z][\w:<>&*, ]*?[ &*](?:\w+::)?(\w+)\(", re.M)
        for file in files_of(["plait/ops/**/*.cpp"]):
            text, topic = file.read_text(encoding="utf-8"), topic_of(file)
            for found in head.finditer(text):
                body = text[found.start():end_of_statement(text, found.start())]
                sources.bodies[topic, found[1]] = sources.bodies.get((topic, found[1]), "") + body
                sources.topics.setdefault(found[1], set()).add(topic)
                sources.texts[found[1]] = text
        return sources

    def public_topics(self, function):
        def declares(header):
            return f" {function}(" in header.read_text(encoding="utf-8")

        return sorted(topic for topic in self.topics.get(function, ())
                      if any(map(declares, files_of([f"plait/{topic}/*.h", f"plait/ops/{topic}/*.h"]))))

    def called(self, body):
        """The (topic, name) of the functions of plait/ops that a body may call."""
        return [(topic, name) for name in dict.fromkeys(re.findall(r"\b(\w+)\(", body)) for topic in sorted(self.topics.get(name, ()))]

    def primitives(self, body):
        """(primitive, its declaration) for each member of a table, and each handle, that a body names."""
        for table, member in re.findall(r"(\w+_(?:ops|functions|primitives))\(\)\.(\w+)", body):
            text = self.texts.get(table, "")
            designated = re.search(rf'\.{member} =[^"]*"(\w+)"', text)
            members = list(statements(text, rf"^ +const ir::Primitive& {member} =")) or list(statements(text, r"^ +const ir::Primitive& \w+ ="))
            if designated:
                yield designated[1], ""
            elif not members:
                yield member, ""
            for declaration in [] if designated else [text[begin:end] for begin, end in members]:
                if name := re.search(r'"(\w+)"', declaration):
                    yield name[1], declaration
        for handle in re.findall(r"\b(\w+)_primitive\b", body):
            yield handle, ""

    def family(self, primitive, declaration):
        """The family with the primitive's case; None if none has it."""
        is_special = "Accuracy::special" in declaration or ("declare_function(" in declaration and "Accuracy::" not in declaration)
        in_table = Operation(primitive, declaration=declaration).has_own_case and ("special" if is_special else "elementwise")
        return self.family_with(rf'^\w+\("{primitive}"') or in_table or self.family_with(rf'"{primitive}"')

    def family_with(self, pattern):
        return next((family for family, text in self.cases.items() if re.search(pattern, text, re.M)), None)

    def families(self, functions_called):
        found = {self.family(*primitive) for each in functions_called for primitive in self.primitives(self.bodies[each])}
        return found - {None}


def reached(function, topic, sources):
    """The functions by which it may apply primitives, nearest first: itself, those of its topic that it reaches, and those of other
    topics that these call, with what they call."""
    inside, outside, level = {(topic, function)}, set(), [(topic, function)]
    yield inside
    while level:
        called = [each for caller in level for each in sources.called(sources.bodies[caller])]
        outside.update(each for each in called if each[0] != topic)
        level = [each for each in dict.fromkeys(called) if each[0] == topic and each not in inside]
        inside.update(level)
    yield inside
    yield outside
    yield {each for caller in outside for each in sources.called(sources.bodies[caller])}


def families(function, sources):
    """The families of tests/conformance with the cases of the primitives that the function applies."""
    own = {sources.family_with(rf'^\w+\("{function}"')} - {None}
    found = set(own)
    for topic in sources.public_topics(function):
        for near in reached(function, topic, sources):
            found |= sources.families(near)
            if found - PLUMBING:
                break
    return sorted(found - PLUMBING | own or found)


def short_tests(function, sources):
    """The tests that most of its mistakes fail, which take seconds."""
    conformance = "|".join([*families(function, sources), "functions", "table"])
    return rf"conformance\.({conformance})$|ops\.(Table|Refus|Hostile)|cpu\.ElementwiseLoops|python\.(surface|examples|docstrings)"


# ---- Checking.


def marks():
    """The lines of copies that are not edited yet."""
    for file in sorted({file for place in PLACES for file in files_of(place.files)}):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
            if MARK in line:
                yield f"{file.relative_to(ROOT)}:{number}"


def check(operation):
    """The number of places that lack it, and of copies that are not edited yet."""
    missing = 0
    for number, place in enumerate(PLACES, start=1):
        found = [f"{file.relative_to(ROOT)}" for file in files_of(place.files)
                 if list(place.entries(file.read_text(encoding="utf-8"), operation))]
        needs_none = place.of_table(operation) or (place.entries in (programs, cases) and not operation.primitive)
        has = ", ".join(found) or ("by its declaration" if needs_none else "none, which may be right" if place.optional else "MISSING")
        missing += has == "MISSING"
        print(f"{number}. {place.task}\n   {has}")
    left = list(marks())
    if left:
        print("Copies that are not edited yet:\n" + "\n".join(f"   {each}" for each in left))
    return missing + len(left)


FORMS = "expm1 or add (elementwise), cumsum (along an axis), softmax, sort, matmul, conv2d"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="the operation, as C++ and Python call it")
    parser.add_argument("--like", metavar="OP", help="an operation whose entries are copied")
    parser.add_argument("--check", action="store_true", help="copy nothing; say where the name is missing")
    arguments = parser.parse_args()
    name = arguments.name
    for given in filter(None, (name, arguments.like)):
        if not re.fullmatch(r"[a-z][a-z0-9_]*", given):
            parser.error(f"{given} is not a valid name: small letters, digits and _, as in {FORMS}. Functions of a namespace, such as those of "
                         "linalg and random, are not copied: docs/architecture.md lists their files")
    operation = operation_of(name)
    if arguments.check:
        if operation is None:
            parser.error(f"no source of plait/ops has a function {name}")
        return 1 if check(operation) else 0
    if operation is not None:
        parser.error(f"there is a function {name} already; --check says what it lacks")
    like = arguments.like and operation_of(arguments.like)
    if not like:
        parser.error(f"--like names an operation to copy, such as {FORMS}; no source of plait/ops has a function {arguments.like}")
    copy_all(like, name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
