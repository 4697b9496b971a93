#!/usr/bin/env python3
"""Writes a page for every operation, and an index: signature, types, derivative, batching, oracle, and an example whose
output is tested. `make docs` runs it with the Python module of build/release.

The contents of a page come from the functions of the Python module and their docstrings, the declarations in the
headers of plait/ops, the table of primitives (plait.ops()), docs/examples, and the program that an example records."""

import argparse
import inspect
import os
import pathlib
import re
import sys

import plait

import example_programs
import examples
import headers

ROOT = examples.ROOT
OUT = ROOT / "build" / "docs" / "ops"
RULES = {"partials": "a partial derivative for each operand", "transposes": "a transpose for each operand it is linear in",
         "tangents": "a rule for tangents"}
KINDS = ("floating", "integer", "complex", "boolean", "key")


# ---- Information on a function
def signatures(name):
    """For a Python function: pairs of signature and docstring."""
    function = examples.function_of(name)
    own = getattr(function, "__wrapped__", function)
    overloads = getattr(own, "_overloads", None) or [(inspect.signature(own), inspect.getdoc(own))]
    return [(f"plait.{name}{shown(signature)}", sentence) for signature, sentence in overloads]


def shown(signature):
    """The signature as in a stub: annotations are names of python/stubs, not strings."""
    text = re.sub(r"(: |-> )'((?:[^'\\]|\\.)*)'", lambda found: found[1] + found[2].replace("\\'", "'"), str(signature))
    text = re.sub(r'(: |-> )"([^"]*)"', r"\1\2", text)
    return text.replace("plait._core.", "")


def sentence_of(name):
    """The first paragraph of a function's docstring."""
    return " ".join(signatures(name)[0][1].split("\n\n")[0].split())


def declarations_by_path():
    found = {}
    for each in headers.declarations():
        found.setdefault(each.path.removeprefix("plait."), []).append(each)
    return found


# ---- The table of primitives in words
def dtypes_in_words(dtypes):
    parts = []
    for kind in KINDS:
        of_kind = [each.name for each in dtypes if each.kind == kind]
        is_all = len(of_kind) > 1 and len(of_kind) == sum(each.kind == kind for each in plait.dtypes)
        parts += [f"{kind} ({', '.join(of_kind)})"] if is_all else of_kind
    return ", ".join(parts)


def operands_in_words(primitive):
    least, most = primitive.least_operands, primitive.most_operands
    return f"{least} or more" if most is None else str(least) if least == most else f"{least} to {most}"


def derivative_in_words(primitive):
    if primitive.not_differentiable:
        return f"none: {primitive.not_differentiable}"
    return " and ".join(words for rule, words in RULES.items() if rule in primitive.rules) or "none"


def batching_in_words(primitive):
    if "batching" in primitive.rules:
        return "a rule of its own"
    if primitive.has_signature:
        return "its index signature"
    return "nothing: it has no operands" if primitive.most_operands == 0 else "nothing"


def result_in_words(primitive):
    return {"same": "elementwise, in the dtype of the operands", "truth": "elementwise, of bool",
            "real": "elementwise; of complex numbers in the dtype of their parts"}.get(primitive.elementwise)


def precision_in_words(primitive):
    return {"narrow": "in the narrow dtype", "wide": "in f32"}.get(primitive.precision, "")


def effects_in_words(primitive):
    if primitive.communicates:
        return "communicates along named axes"
    return "by its attributes and operands: `plait-ir effects` tells of a program" if primitive.has_effects else "none"


# ---- Markdown
def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "| " + " | ".join("---" for _ in heads) + " |"]
    return "\n".join(lines + ["| " + " | ".join(cell(each) for each in row) + " |" for row in rows])


def block(language, text):
    return f"```{language}\n{text.rstrip()}\n```"


def link(name):
    return f"[`{name}`]({name}.md)"


def with_fences(text):
    """The text of an example, with indented lines as code blocks."""
    text = text.replace("<BLANKLINE>", "")
    parts = re.split(r"((?:^    .*\n|^\n(?=    ))+)", text.strip("\n") + "\n", flags=re.M)
    fenced = [block("python", re.sub(r"^    ", "", part, flags=re.M).strip("\n")) if part.startswith("    ") else part.strip()
              for part in parts]
    return "\n\n".join(part for part in fenced if part)


# ---- Pages
class Pages:
    """All pages, by name: of functions, of primitives, or of both if they have the same name."""

    def __init__(self, folder):
        self.folder = folder
        self.table = plait.ops()
        self.families = examples.families()
        self.examples = {each.name: each for each in examples.read()}
        for example in list(self.examples.values()):
            if example.name in self.families:
                self.examples |= {alias: example for alias in examples.aliases_of(example.name) if alias not in self.examples}
        self.declarations = declarations_by_path()
        self.calls = {name: example_programs.calls_in(each) for name, each in self.examples.items()}
        self.programs = {name: example_programs.programs_of(calls) for name, calls in self.calls.items()}
        self.primitives = {name: sorted({each for text in texts for each in example_programs.instructions_of(text)} & set(self.table))
                           for name, texts in self.programs.items()}

    def names(self):
        return sorted(set(self.families) | set(self.table))

    def to_source(self, path):
        return f"[{path}]({os.path.relpath(ROOT / path, self.folder)})"

    def page(self, name):
        parts = list(self.of_function(name)) if name in self.families else [f"# {name}"]
        if name in self.table:
            parts += self.of_primitive(self.table[name], has_title=name not in self.families)
        return "\n\n".join(part for part in [*parts, "[All operations](index.md)"] if part) + "\n"

    def of_function(self, name):
        yield f"# plait.{name}"
        for call, sentence in signatures(name):
            yield block("python", call)
            yield sentence
        aliases = examples.aliases_of(name)
        if aliases:
            yield "Also called " + ", ".join(map(link, aliases)) + "."
        yield from self.in_cpp(name)
        yield "## Example"
        yield with_fences(self.examples[name].text) if name in self.examples else "None yet."
        yield from self.types(name)
        yield from self.made_of(name)

    def types(self, name):
        """The dtypes that the first call of the example accepts, found by recording it with each."""
        groups = {}
        for dtype, result in self.calls[name][0].dtypes().items() if self.calls.get(name) else ():
            groups.setdefault("the same" if result == dtype.name else result, []).append(dtype)
        if groups:
            yield "## Types"
            yield table(("operands", "result"), [(dtypes_in_words(of), result) for result, of in groups.items()])

    def in_cpp(self, name):
        declared = self.declarations.get(examples.CALLED_IN_CPP.get(name, name), [])
        for header in sorted({each.header for each in declared}):
            lines = []
            for each in declared:
                if each.header == header:
                    lines += [each.comment, each.text] if each.comment else [each.text]
            yield f"In C++, from {self.to_source(headers.header_of(header).relative_to(headers.ROOT))}:"
            yield block("cpp", "\n".join(lines))

    def made_of(self, name):
        primitives = [self.table[each] for each in self.primitives.get(name, [])]
        if not primitives:
            return
        yield "## Derivative and batching"
        yield "Recorded, the example is what follows; its derivative and batching are those of its primitives."
        yield block("plait", "\n\n".join(self.programs[name]))
        yield table(("primitive", "derivative", "batched by", "checked against"),
                    [(link(each.name), derivative_in_words(each), batching_in_words(each), each.oracle) for each in primitives])

    def of_primitive(self, primitive, has_title):
        if not has_title:
            yield f"## The primitive `{primitive.name}`"
        yield primitive.summary
        attributes = [f"`{name}`" + ("" if default is None else f" = `{default}`") for name, default in primitive.attributes.items()]
        says = {"operands": operands_in_words(primitive),
                "dtypes": dtypes_in_words(primitive.takes) if primitive.most_operands != 0 else "",
                "attributes": ", ".join(attributes), "result": result_in_words(primitive),
                "in a program": self.instruction_of(primitive.name),
                "derivative": derivative_in_words(primitive), "batched by": batching_in_words(primitive),
                "by autocast": precision_in_words(primitive),
                "effects": effects_in_words(primitive), "checked against": primitive.oracle}
        yield table(("", ""), [(what, is_so) for what, is_so in says.items() if is_so])
        if has_title and primitive.name in self.examples:
            yield "## Example"
            yield with_fences(self.examples[primitive.name].text)
        users = [name for name, used in self.primitives.items() if primitive.name in used and name != primitive.name]
        if users:
            yield "In the examples of " + ", ".join(link(each) for each in sorted(users)) + "."

    def instruction_of(self, name):
        """An instruction of that primitive from the program of an example; "" if there is none."""
        lines = (line for of_example in self.programs.values() for text in of_example for line in text.split("\n"))
        return next((f"`{line.strip()}`" for line in lines if example_programs.instructions_of(line) == [name]), "")

    def index(self):
        yield "# Operations"
        yield (f"{len(self.families)} functions, by the header that declares them, and the {len(self.table)} "
               "[primitives](#primitives) that they are made of. `plait.ops()` and `plait-ir ops` list those too.")
        for family in sorted({min(each) for each in self.families.values()}):
            yield f"## {family}"
            yield self.introduction(family)
            members = sorted(name for name, of in self.families.items() if min(of) == family)
            yield table(("function", ""), [(link(name), sentence_of(name)) for name in members])
        yield "## Primitives"
        yield table(("primitive", "", "derivative", "batched by", "checked against"),
                    [(link(each.name), each.summary, derivative_in_words(each), batching_in_words(each), each.oracle)
                     for each in self.table.values()])

    def introduction(self, family):
        """The introduction from the header of a family."""
        if family == examples.OTHERS:
            return "What only the Python module has."
        text = headers.header_of(family).read_text(encoding="utf-8")
        comment = re.match(r"(?://[^\n]*\n)*", text)[0]
        first = re.sub(r"^// ?", "", comment, flags=re.M).split("\n\n")[0]
        return " ".join(first.split())

    def write(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        for former in self.folder.glob("*.md"):
            former.unlink()
        for name in self.names():
            (self.folder / f"{name}.md").write_text(self.page(name), encoding="utf-8")
        (self.folder / "index.md").write_text("\n\n".join(self.index()) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=OUT, help="the folder of the pages (build/docs/ops)")
    parser.add_argument("--fill", action="store_true",
                        help="instead: add the missing results of examples to docs/examples; check them before you keep them")
    options = parser.parse_args()
    if options.fill:
        examples.fill()
        return 0
    problems = list(examples.problems())
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    pages = Pages(options.out.resolve())
    pages.write()
    print(f"   {len(pages.families)} functions and {len(pages.table)} primitives, {len(pages.names())} pages: {os.path.relpath(options.out / 'index.md')}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
