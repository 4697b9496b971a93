"""Trees as checkpoints have them: the tensors by path, and what else a tree consists of, as text."""

import functools
import re
import types
import zlib

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.trees.buffers import Names
from plait.inside.trees.module import Module
from plait.inside.trees.patterns import expect_distinct
from plait.tree import flatten


def parts_of(what, tree):
    """(tensors, same, parts), all by path. `same` has the further paths of a tensor that is at several places, with its first one. `parts` has
    a text for each part: the class of a node, the type of a tensor, a static value; those that a restored tree takes from the tree it is
    like (the mode, marks of buffers and of frozen weights) are left out."""
    leaves, structure = flatten(tree)
    expect_distinct(what, structure.paths)
    tensors, same, parts, first, classes, following = {}, {}, {}, {}, {}, iter(leaves)
    for role, path, it in structure._parts():
        if role == "node":
            parts[path], classes[path] = _name_of(it), it
        elif role == "constant":
            if not _is_mode(path, it, classes):
                parts[path] = text_of(it)
        else:
            leaf = next(following)
            parts[path], own = _type_of(leaf), first.setdefault(id(leaf), path)
            if own == path:
                tensors[path] = _tensor_of(what, path, leaf)
            else:
                same[path] = own
    return tensors, same, parts


def _is_mode(path, value, classes):
    owner, _, name = path.rpartition(".")
    return type(value) is Names or name == "training" and type(value) is bool and issubclass(classes.get(owner, object), Module)


def _type_of(leaf):
    leaf = leaf if isinstance(leaf, _core.Tensor) else asarray(leaf)
    return f"{leaf.dtype.name}[{', '.join(map(str, leaf.shape))}]"


def _tensor_of(what, path, leaf):
    made = asarray(leaf)
    if made.is_traced:
        raise errors.ValueError.with_hint(f"{what}: {path or 'the tensor'} is being recorded, and has no values yet",
                                          "call it outside of jit and other transforms, with what the function returns")
    return made


# ---- Texts of static values: equal for equal values, in another process too.


def text_of(value, depth=3):
    """A static value; a function with the values that it captures."""
    if isinstance(value, bool) or value is None or isinstance(value, (str, bytes)):
        return _short(repr(value))
    for number in int, float, complex:
        if isinstance(value, number):
            return repr(number(value))
    if type(value).__module__ == "numpy" and hasattr(value, "item") and not hasattr(value, "__len__"):
        return text_of(value.item())  # a number of NumPy's
    if isinstance(value, (set, frozenset)):
        return _short("{" + ", ".join(sorted(text_of(each) for each in value)) + "}")
    if isinstance(value, type):
        return _name_of(value)
    if isinstance(value, functools.partial):
        return f"partial({_all_of((value.func, *value.args), depth)}, {_all_of(value.keywords.items(), depth)})"
    if isinstance(value, types.MethodType):
        return f"{_name_of(type(value.__self__))}.{value.__name__}"
    if isinstance(value, types.FunctionType):
        return _of_function(value, depth)
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    if isinstance(value, _core.Tensor) or hasattr(value, "__array_interface__"):
        return _type_of(value)
    text = repr(value)
    return _name_of(type(value)) if re.search(r" at 0x[0-9a-f]+", text) else _short(text)


def _name_of(cls):
    """A class without its module, which is another one when a script is imported."""
    return cls.__qualname__.rpartition("<locals>.")[2]


def _short(text):
    return text if len(text) <= 200 else f"{text[:80]}… (checksum {zlib.crc32(text.encode()):08x})"


def _all_of(values, depth):
    return ", ".join(text_of(each, depth - 1) if not isinstance(each, tuple) else f"({_all_of(each, depth)})" for each in values) if depth else "…"


def _of_function(function, depth):
    name = _name_of(function)
    if name.endswith("<lambda>"):  # its code is its only name
        name = f"lambda with the code {_checksum_of_code(function.__code__):08x}"
    captured = [each for cell in function.__closure__ or () for each in _in_cell(cell)]
    return _short(f"{name} with {_all_of(captured, depth)}" if captured else name)


def _in_cell(cell):
    try:
        return [cell.cell_contents]
    except ValueError:  # nothing yet
        return []


def _checksum_of_code(code):
    constants = [_checksum_of_code(each) if isinstance(each, types.CodeType) else text_of(each) for each in code.co_consts]
    return zlib.crc32(repr((constants, code.co_names, code.co_varnames)).encode(), zlib.crc32(code.co_code))
