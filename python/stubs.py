#!/usr/bin/env python3
"""stubs.py FOLDER: writes the stubs of the package in FOLDER into it. Stubs of C++ functions are generated; those of
Python code and of classes are in python/stubs."""

import argparse
import inspect
import pathlib
import re
import sys

OWN = pathlib.Path(__file__).resolve().parent / "stubs"
HEADER = '''from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, overload

from . import ArrayLike, DTypeLike, Device, Size, Tensor
'''


PLACE_OF_METHODS = "    # What is made from functions is written here by python/stubs.py."


def text_of_parameter(parameter):
    annotation = parameter.annotation
    default = ""
    if parameter.default is not inspect.Parameter.empty:
        is_shown = parameter.default is None or isinstance(parameter.default, (bool, int, float, str, tuple))
        default = f" = {parameter.default!r}" if is_shown and repr(parameter.default) not in ("inf", "nan", "-inf") else " = ..."
        if parameter.default is None and not annotation.endswith("None"):
            annotation += " | None"
    stars = "*" if parameter.kind is inspect.Parameter.VAR_POSITIONAL else ""
    return f"{stars}{parameter.name}: {qualified(annotation)}{default}"


def qualified(annotation):
    """bool and the like are dtypes in the namespace."""
    return re.sub(r"\bbool\b", "builtins.bool", annotation)


def text_of_call(name, signature, tuples, is_method=False):
    parts, is_after_star = ["self"] * is_method, False
    for parameter in list(signature.parameters.values())[is_method:]:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            is_after_star = True
        elif parameter.kind is inspect.Parameter.KEYWORD_ONLY and not is_after_star:
            parts.append("*")
            is_after_star = True
        parts.append(text_of_parameter(parameter))
    result = signature.return_annotation
    if isinstance(result, type):
        tuples[f"_{result.__name__}"] = result
        result = f"_{result.__name__}"
    return f"def {name}({', '.join(parts)}) -> {result}: ..."


def calls_of(function):
    """The overloads of a function, and variants with names of other libraries."""
    return [signature for signature, _ in function._overloads] + list(function._variants)


def text_of_methods(cls, tuples):
    """The methods that are generated from functions. In the class, int and the like are methods."""
    lines = []
    for name, value in sorted(vars(cls).items()):
        if not name.startswith("_") and hasattr(value, "_overloads"):
            calls = [text_of_call(name, signature, tuples, True) for signature in calls_of(value)]
            lines += [f"    @overload\n    {call}" if len(calls) > 1 else f"    {call}" for call in calls]
    return re.sub(r"(?<![\w.])(bool|int|float|complex)\b(?!\()", r"builtins.\1", "\n".join(lines))


def text_of_module(module, known, tuples=()):
    """All functions that are not in `known`."""
    tuples, lines, names = dict(tuples), [], {}
    for name, value in sorted(vars(module).items()):
        value = getattr(value, "__wrapped__", value)
        if name.startswith("_") or name in known or not hasattr(value, "_overloads"):
            continue
        if value in names:
            lines.append(f"{name} = {names[value]}")
            continue
        names[value] = name
        calls = [text_of_call(name, signature, tuples) for signature in calls_of(value)]
        lines += [f"@overload\n{call}" for call in calls] if len(calls) > 1 else calls
    classes = ["\n".join([f"class {name}(NamedTuple):", *(f"    {field}: Tensor" for field in each._fields)]) + "\n"
               for name, each in sorted(tuples.items())]
    return "\n".join(["", *classes, *lines, ""])


def dtypes(plait):
    names = [name for name, value in sorted(vars(plait).items()) if isinstance(value, plait.DType)]
    constants = [f"{name}: DType" for name in names] + ["dtypes: tuple[DType, ...]"]
    numbers = [f"{name}: builtins.float" for name in ("e", "inf", "nan", "pi")]
    return "\n".join(["", *constants, *numbers, "newaxis: None", "__array_api_version__: str", ""])


def names_in(stub):
    return set(re.findall(r"^(?:def |class )?(\w+)\b(?=[:(]| =)", stub, re.M))


def write(folder):
    sys.path.insert(0, str(folder.parent))
    import plait

    main = (OWN / "plait.pyi").read_text(encoding="utf-8")
    tuples = {}
    main = main.replace(PLACE_OF_METHODS, text_of_methods(plait.Tensor, tuples))
    main += text_of_module(plait, names_in(main), tuples) + dtypes(plait) + f"__all__ = {plait.__all__!r}\n"
    (folder / "__init__.pyi").write_text(main, encoding="utf-8")
    for name in ("nn", "optim", "tree"):
        (folder / f"{name}.pyi").write_text((OWN / f"{name}.pyi").read_text(encoding="utf-8"), encoding="utf-8")
    for name in ("fft", "linalg", "random"):
        text = "import builtins\n" + HEADER + text_of_module(getattr(plait, name), set())
        (folder / f"{name}.pyi").write_text(text, encoding="utf-8")
    (folder / "py.typed").touch()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    write(parser.parse_args().folder.resolve())


if __name__ == "__main__":
    main()
