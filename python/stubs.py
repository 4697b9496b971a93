#!/usr/bin/env python3
"""stubs.py FOLDER: writes the stubs of the package in FOLDER into it. Stubs of C++ functions and of layers, optimizers and
metrics are generated; those of other Python code, and of what needs types of its own, are in python/stubs."""

import argparse
import ast
import inspect
import pathlib
import re
import sys
import textwrap

OWN = pathlib.Path(__file__).resolve().parent / "stubs"
HEADER = '''from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, overload

from . import ArrayLike, DTypeLike, Device, Size, Tensor
'''


PLACE_OF_METHODS = "    # Methods made from functions are written here by python/stubs.py."


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


# ---- Classes and functions of Python code: layers, optimizers, metrics.

PYTHON_HEADER = '''import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Self, TypeVar, overload

from . import ArrayLike, DType, DTypeLike, Module, Tensor

_T = TypeVar("_T")

'''
# The types of parameters by their names; of others by their defaults.
PARAMETERS = {"x": "ArrayLike", "dtype": "DTypeLike", "shape": "Sequence[int]", "target": "ArrayLike", "model": "Any",
              "targets": "ArrayLike", "predictions": "ArrayLike", "lr": "Any", "generator": "Any",
              **dict.fromkeys(("kernel_size", "stride", "padding", "dilation", "output_size", "output_padding"), "Any")}
SPECIAL = ("__init__", "__call__", "__len__", "__iter__", "__getitem__", "__setitem__", "__delitem__", "__contains__", "__add__")
# Layers whose call does not always return one tensor.
SEVERAL = {"RNN", "GRU", "LSTM", "LSTMCell", "MultiheadAttention", "Attention", "MoE", "AdaptiveLogSoftmaxWithLoss", "Sequential",
           *(f"{kind}{rank}d" for kind in ("MaxPool", "AdaptiveMaxPool", "FractionalMaxPool") for rank in (1, 2, 3))}
RESULTS = {"__init__": "None", "__len__": "int", "__iter__": "Iterator[Any]", "__contains__": "builtins.bool", "__setitem__": "None",
           "__delitem__": "None", "__add__": "Self"}


def type_of_parameter(parameter):
    default = parameter.default
    by_default = {bool: "builtins.bool", int: "int", float: "builtins.float", str: "str"}.get(type(default), "Any")
    if parameter.name == "key" and parameter.kind is inspect.Parameter.KEYWORD_ONLY:
        return "Tensor | None"
    return PARAMETERS.get(parameter.name, by_default)


def text_of_python_parameter(parameter):
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    default = "" if parameter.default is inspect.Parameter.empty else " = ..."
    kind = "Any" if stars else type_of_parameter(parameter)
    if parameter.default is None and kind not in ("Any", "Tensor | None"):
        kind += " | None"
    return f"{stars}{parameter.name}: {kind}{default}"


def text_of_python_function(name, function, result):
    parts, is_after_star = [], False
    for i, parameter in enumerate(inspect.signature(function).parameters.values()):
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            is_after_star = True
        elif parameter.kind is inspect.Parameter.KEYWORD_ONLY and not is_after_star:
            parts.append("*")
            is_after_star = True
        parts.append(parameter.name if i == 0 and parameter.name in ("self", "cls") else text_of_python_parameter(parameter))
    return f"def {name}({', '.join(parts)}) -> {result}: ..."


def attributes_of(cls):
    """The names that __init__ assigns to self."""
    found = {}
    for owner in reversed(cls.__mro__[:-1]):
        begin = vars(owner).get("__init__")
        begin = getattr(begin, "__wrapped__", begin)
        if not owner.__module__.startswith("plait") or not inspect.isfunction(begin):
            continue
        if begin.__code__.co_filename.startswith("<"):  # generated: it assigns its parameters
            found.update(dict.fromkeys(list(inspect.signature(begin).parameters)[1:]))
            continue
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(begin)))):
            is_target = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            if is_target and isinstance(node.value, ast.Name) and node.value.id == "self" and not node.attr.startswith("_"):
                found[node.attr] = None
    return list(found)


def has_moved_parameters(function, theirs):
    """True if a parameter of the base's method is at another place in that of the class, which type checkers refuse."""
    mine, bases = ([each.name for each in inspect.signature(method).parameters.values() if each.kind is each.POSITIONAL_OR_KEYWORD]
                   for method in (function, theirs))
    return any(name in mine and mine.index(name) != place for place, name in enumerate(bases))


def text_of_python_class(name, cls, public, module_class):
    base = next(each for each in cls.__mro__[1:] if each in public or each is module_class or each is object)
    between = cls.__mro__[:cls.__mro__.index(base)]
    inherited = attributes_of(base) if base in public else []
    methods = {}
    for owner in reversed(between):
        methods.update(vars(owner))
    lines = [f"    {each}: Any" for each in attributes_of(cls) if each not in inherited and each not in methods]
    for method, value in methods.items():
        kind, value = type(value), getattr(value, "__wrapped__", value)
        if isinstance(value, property) and not method.startswith("_"):
            lines.append(f"    @property\n    def {method}(self) -> Any: ...")
        function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        if not inspect.isfunction(function) or (method.startswith("_") and method not in SPECIAL):
            continue
        result = RESULTS.get(method, "Tensor" if method == "__call__" and name not in SEVERAL else "Any")
        text = text_of_python_function(method, function, result)
        if method == "update" and list(inspect.signature(function).parameters)[1:2] == ["model"]:
            text = text.replace("model: Any", "model: _T", 1).replace("-> Any", "-> tuple[_T, Self]")
        theirs = getattr(base, method, None)
        theirs = getattr(theirs, "__wrapped__", theirs)
        if inspect.isfunction(theirs) and not method.startswith("_") and has_moved_parameters(function, theirs):
            text += "  # type: ignore[override]"
        decorator = f"    @{kind.__name__}\n" if kind in (classmethod, staticmethod) else ""
        lines.append(f"{decorator}    {text}")
    head = f"class {name}({'Module' if base is module_class else '' if base is object else base.__name__}):".replace("()", "")
    return "\n".join([head, *lines]) if lines else f"{head} ..."


def text_of_python_module(module, known, module_class):
    """All classes and functions that are not in `known`; bases come before the classes that have them."""
    there = {name: getattr(value, "__wrapped__", value) for name, value in vars(module).items() if not name.startswith("_")}
    there = {name: value for name, value in there.items() if name not in known and (isinstance(value, type) or inspect.isfunction(value))}
    classes = {value for value in there.values() if isinstance(value, type)}
    depth = {name: len(value.__mro__) if isinstance(value, type) else 0 for name, value in there.items()}
    lines, names = [], {}
    for name in sorted(there, key=lambda name: (depth[name], name)):
        value = there[name]
        if value in names:
            lines.append(f"{name} = {names[value]}")
            continue
        names[value] = name
        lines.append(text_of_python_class(name, value, classes, module_class) if isinstance(value, type) else
                     text_of_python_function(name, value, "Any"))
    return "\n".join(["", *lines, ""])


def python_modules(plait):
    """The modules whose stubs are generated from Python code, by their names in plait."""
    found = {}

    def add(name, module):
        found[name] = module
        for part, value in vars(module).items():
            if inspect.ismodule(value) and value.__name__ == f"plait.{name}.{part}":
                add(f"{name}.{part}", value)

    for name in ("data", "distributed", "io", "nn", "optim", "metrics", "text"):
        add(name, getattr(plait, name))
    return found


def write_python_module(folder, name, module, module_class):
    own, is_package = OWN / f"{name.replace('.', '_')}.pyi", hasattr(module, "__path__")
    text = own.read_text(encoding="utf-8") if own.exists() else PYTHON_HEADER.replace("from . ", f"from {'.' * (name.count('.') + 1 + is_package)} ")
    text += "".join(f"from . import {part} as {part}\n" for part, value in vars(module).items() if f"plait.{name}.{part}" == getattr(value, "__name__", ""))
    path = folder / name.replace(".", "/") / "__init__.pyi" if is_package else folder / f"{name.replace('.', '/')}.pyi"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text + text_of_python_module(module, names_in(text), module_class) + text_of_all(module), encoding="utf-8")


def text_of_all(module):
    return f"__all__ = {module.__all__!r}\n"


def dtypes(plait):
    names = [name for name, value in sorted(vars(plait).items()) if isinstance(value, plait.DType)]
    constants = [f"{name}: DType" for name in names] + ["dtypes: tuple[DType, ...]"]
    numbers = [f"{name}: builtins.float" for name in ("e", "inf", "nan", "pi")]
    return "\n".join(["", *constants, *numbers, "newaxis: None", "__array_api_version__: str", ""])


def names_in(stub):
    return set(re.findall(r"^(?:def |class )?(\w+)\b(?=[:(]| =)", stub, re.M)) | set(re.findall(r"^from [.]+ import (\w+) as \1$", stub, re.M))


def write(folder):
    sys.path.insert(0, str(folder.parent))
    import plait

    main = (OWN / "plait.pyi").read_text(encoding="utf-8")
    tuples = {}
    main = main.replace(PLACE_OF_METHODS, text_of_methods(plait.Tensor, tuples))
    main += text_of_module(plait, names_in(main), tuples) + dtypes(plait) + text_of_all(plait)
    (folder / "__init__.pyi").write_text(main, encoding="utf-8")
    (folder / "tree.pyi").write_text((OWN / "tree.pyi").read_text(encoding="utf-8") + text_of_all(plait.tree), encoding="utf-8")
    for name, module in python_modules(plait).items():
        write_python_module(folder, name, module, plait.Module)
    for name in ("fft", "linalg", "random"):
        module = getattr(plait, name)
        text = "import builtins\n" + HEADER + text_of_module(module, set()) + text_of_all(module)
        (folder / f"{name}.pyi").write_text(text, encoding="utf-8")
    (folder / "py.typed").touch()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    write(parser.parse_args().folder.resolve())


if __name__ == "__main__":
    main()
