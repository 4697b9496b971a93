"""Adds the examples of docs/examples, which are installed with the package, to docstrings."""

import functools
import pathlib
import re

FOLDER = pathlib.Path(__file__).parent / "examples"


def read(folder=FOLDER):
    """(name, family, text, line) of each, in the order of their files: the text below a heading "## name"."""
    found = []
    for file in sorted(folder.glob("*.md")):
        parts = re.split(r"^## (\S+)\n", file.read_text(encoding="utf-8"), flags=re.M)
        line = parts[0].count("\n") + 1
        for name, text in zip(parts[1::2], parts[2::2]):
            found.append((name, file.stem, text, line))
            line += text.count("\n") + 1
    return found


@functools.cache
def _texts():
    return {name: text.strip("\n") for name, _, text, _ in read()}


def with_example(text, module, name):
    """A docstring, with an example added if it has none."""
    path = f"{module}.{name}".removeprefix("plait.")
    return text if ">>>" in text or path not in _texts() else f"{text}\n\n{_texts()[path]}"
