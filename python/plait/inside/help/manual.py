"""Adds the examples of docs/examples, which are installed with the package, to docstrings."""

import functools
import inspect
import pathlib
import re
import sys
import types

from plait.inside.folder import FOLDER

EXAMPLES = pathlib.Path(FOLDER) / "examples"


def read(folder=EXAMPLES):
    """(name, family, text, line) of each, in the order of their files: the text below a heading "## name"."""
    found = []
    for file in sorted(folder.rglob("*.md"), key=lambda each: each.stem):
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
    """A docstring: the signature, the text, and an example if it has none itself."""
    path = f"{module}.{name}".removeprefix("plait.")
    text = _with_signature(text, module, name)
    return text if ">>>" in text or path not in _texts() else f"{text}\n\n{_texts()[path]}"


def _with_signature(text, module, name):
    """The docstring of a function with several signatures begins with them."""
    if text.startswith(f"{name}("):
        return text
    for place in (module, "plait.nn", "plait.nn.init", "plait.nn.utils", "plait.nn.utils.prune", "plait.optim", "plait.io"):
        function = getattr(sys.modules.get(place), name, None)
        if _has_text(getattr(function, "__wrapped__", function), text):
            signature = inspect.signature(function)
            plain = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
            return f"{name}{inspect.Signature(plain)}\n\n{inspect.cleandoc(text)}"
    return text


def _has_text(function, text):
    """True if this is its docstring, and not that of a method with the same name."""
    if isinstance(function, types.FunctionType):
        return function.__doc__ == text
    return any(text.startswith(summary) for _, summary in getattr(function, "_overloads", ()))
