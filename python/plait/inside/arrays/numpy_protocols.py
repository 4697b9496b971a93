"""Handling of NumPy's functions on tensors. Elementwise functions call Plait's, as operators do. All others compute
with the numbers of concrete tensors, as with any array; if a tensor is differentiated or recorded, Plait's function
is called instead."""

import builtins
import inspect

from plait import _core, errors
from plait._core import Tensor
from plait.inside.arrays.interop import to_numpy
from plait.inside.arrays.items import Item
from plait.inside.help.names import nearest
from plait.inside.later import Later

_table = Later("plait.inside.arrays.numpy_functions")
np = Later("numpy")

_OPERANDS = (Tensor, Item, bool, int, float, complex, list, tuple)


def _tensors_in(tree):
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, (list, tuple)):
        for each in tree:
            yield from _tensors_in(each)
    elif isinstance(tree, dict):
        yield from _tensors_in(list(tree.values()))


def _with_arrays(tree):
    """Replaces tensors by arrays of their numbers."""
    if isinstance(tree, Tensor):
        return to_numpy(tree)
    if type(tree) in (list, tuple):
        return type(tree)(map(_with_arrays, tree))
    return {name: _with_arrays(each) for name, each in tree.items()} if type(tree) is dict else tree


def _are_followed(tree):
    return _core._is_followed(list(_tensors_in(tree)))


def _refuse(name, why, ours=None):
    near = f"plait.{ours}, or " if ours else ""
    raise errors.TypeError(f"numpy.{name}: {why}\n  hint: use {near}x.numpy() or stop_gradient(x) if no derivative is needed")


def _refuse_followed(name):
    import plait

    functions = [each for each, value in vars(plait).items() if callable(value) and not isinstance(value, type) and each[0] != "_"]
    own = name.rsplit(".", 1)[-1]
    _refuse(name, "NumPy computes with numbers, but an argument is being differentiated: this would detach the gradient",
            "vmap" if own == "apply_along_axis" else nearest(own, functions, 0.8))


def _ours(function, name, arguments, keywords):
    """Plait's function with NumPy's arguments; unknown arguments are refused."""
    try:
        bound = inspect.signature(function).bind(*arguments, **keywords)
    except builtins.TypeError as error:
        _refuse(name, f"plait does not support this for a tensor that is recorded or differentiated: {error}")
    return function(*bound.args, **bound.kwargs)


def _array_function(self, function, types, arguments, keywords):
    name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
    tensors = list(_tensors_in((arguments, keywords)))
    if any(each.is_traced for each in tensors) or _core._is_followed(tensors):
        ours = _table.FUNCTIONS.get(name)
        if ours is not None:
            return _ours(ours, name, arguments, keywords)
        if _core._is_followed(tensors):
            _refuse_followed(name)
    return function(*_with_arrays(arguments), **_with_arrays(keywords))


_UPDATES = {"add": "add(value)", "subtract": "add(-value)", "multiply": "multiply(value)", "maximum": "max(value)", "minimum": "min(value)"}


def _array_ufunc(self, function, method, *inputs, out=None, **keywords):
    is_other = [not isinstance(each, (*_OPERANDS, np.ndarray, np.generic)) for each in inputs]
    if any(is_other):
        return NotImplemented
    name, ours = function.__name__, None
    if method == "at" and isinstance(inputs[0], Tensor):
        raise errors.TypeError.with_hint(f"numpy.{name}.at: NumPy cannot write into a tensor",
                                         f"x = x.at[index].{_UPDATES.get(name, 'set(value)')} makes a new tensor")
    if method == "__call__" and not keywords:
        ours = _table.ufuncs().get(name)
    elif method == "reduce":
        ours, keywords = _table.REDUCTIONS.get(name), {"axis": 0} | keywords
    elif method == "accumulate":
        ours, keywords = _table.RUNNING.get(name), {"axis": 0} | keywords
    is_followed = _are_followed(inputs)
    is_symbolic = is_followed or any(x.is_traced for x in _tensors_in(inputs))
    if method != "__call__" and not is_symbolic and not keywords.keys() <= {"axis", "keepdims"}:
        ours = None  # NumPy has the other parameters
    is_assigned = out is not None and len(out) == 1 and out[0] is inputs[0]  # array += x
    if out is None or (is_assigned and not isinstance(out[0], Tensor) and is_symbolic):
        if ours is not None:
            return ours(*inputs) if method == "__call__" else _ours(ours, f"{name}.{method}", inputs, keywords)
    elif any(isinstance(each, Tensor) for each in out):
        _refuse(name, "NumPy cannot write into a tensor: omit out=")
    if is_followed:
        _refuse_followed(name)
    written = {} if out is None else {"out": out}
    return getattr(function, method)(*_with_arrays(inputs), **written, **_with_arrays(keywords))


Tensor.__array_function__ = _array_function
Tensor.__array_ufunc__ = _array_ufunc
