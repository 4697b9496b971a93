"""trace(f)(*args): the program of a Python function. Arguments and results are trees of tensors: tuples, lists,
dicts, dataclasses, Modules and records; what is no tensor or array in them is a constant of the program."""

import dataclasses
import functools
import re

from . import _core, errors
from ._core import Tensor
from .module import Module
from .records import Record

_LEAF = object()  # where a tensor stands in a tree


def _is_leaf(value):
    return isinstance(value, (Tensor, Spec)) or hasattr(value, "__array_interface__")


def _children(value):
    """The names and values of a node, and how to make one of other values; None for what is no node."""
    if isinstance(value, dict):
        return list(value.items()), lambda values: dict(zip(value, values))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return list(zip(value._fields, value)), lambda values: type(value)(*values)
    if isinstance(value, (list, tuple)):
        return list(enumerate(value)), type(value)
    if isinstance(value, Record):
        return [("record", value._tensor)], lambda values: type(value)._of(values[0])
    if isinstance(value, Module):
        return list(value.__dict__.items()), value._with_values
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return [(n, getattr(value, n)) for n in names], lambda values: dataclasses.replace(value, **dict(zip(names, values)))
    return None


def flatten(tree, path=""):
    """The leaves with their paths, and the tree with _LEAF in their places."""
    if _is_leaf(tree):
        return [(path, tree)], _LEAF
    node = _children(tree)
    if node is None:
        return [], tree
    leaves, skeletons = [], []
    for name, child in node[0]:
        below, skeleton = flatten(child, f"{path}.{name}" if path else str(name))
        leaves += below
        skeletons.append(skeleton)
    return leaves, node[1](skeletons)


def unflatten(skeleton, leaves):
    """The tree with the next of the iterator `leaves` in each place."""
    if skeleton is _LEAF:
        return next(leaves)
    node = _children(skeleton)
    if node is None:
        return skeleton
    return node[1]([unflatten(child, leaves) for _, child in node[0]])


@dataclasses.dataclass(frozen=True)
class Spec:
    """The type of a tensor that is not there yet, as the IR writes it: Spec("f32[n, 3]")."""

    type: str

    def __str__(self):
        return self.type


class Program:
    """What a function does, as text(), and again on other tensors of the same types."""

    def __init__(self, recorded, arguments=None, results=None):
        self._recorded, self._arguments, self._results = recorded, arguments, results

    @staticmethod
    def parse(text):
        """A program as text() writes it; it takes tensors and gives a list of them."""
        return Program(_core.RecordedProgram.parse(text))

    @staticmethod
    def from_bytes(content):
        return Program(_core.RecordedProgram.from_bytes(content))

    def text(self):
        return self._recorded.text()

    def bytes(self):
        return self._recorded.bytes()

    def grad(self, by=0, with_value=False, stop_gradients=()):
        """The program of the gradient of its one result by a parameter, or by several. The values with the labels
        `stop_gradients` count as constant."""
        several = isinstance(by, (tuple, list))
        recorded = self._recorded.grad(list(by) if several else [by], with_value, list(stop_gradients))
        return Program(recorded, self._arguments, None if several or with_value else _LEAF)

    def autocast(self, dtype=_core.bf16):
        """The program with products in a narrow dtype, and what needs it in f32."""
        return Program(self._recorded.autocast(dtype), self._arguments, self._results)

    @property
    def hidden_inputs(self):
        """Tensors that the function used without being given them; the last parameters of the program."""
        return self._recorded.hidden_inputs()

    def __call__(self, *arguments):
        leaves, skeleton = flatten(arguments)
        if self._arguments is not None and not _same(skeleton, self._arguments):
            raise errors.TypeError("the arguments differ from those of the trace in more than their tensors: "
                                   f"{skeleton} instead of {self._arguments}")
        results = self._recorded.run([leaf for _, leaf in leaves])
        return results if self._results is None else unflatten(self._results, iter(results))

    def __repr__(self):
        return self.text()


def _same(a, b, path=""):
    """Whether two trees without their leaves are alike."""
    if type(a) is not type(b):
        return False
    nodes = _children(a), _children(b)
    if nodes[0] is None:
        try:
            return a is b or bool(a == b)
        except Exception as error:
            raise errors.TypeError(f"{path or 'a tree'} is a {type(a).__name__}, of which two cannot be compared: {error}\n"
                                   "  hint: let == of that class give a bool, or keep one object in both trees") from error
    (ours, _), (theirs, _) = nodes
    return len(ours) == len(theirs) and all(
        name == other and _same(child, its, f"{path}.{name}" if path else str(name))
        for (name, child), (other, its) in zip(ours, theirs))


def trace(function, name=None):
    """trace(f)(*args) records what f does with tensors of these types."""

    @functools.wraps(function)
    def traced(*arguments):
        leaves, skeleton = flatten(arguments)
        result_tree = None

        def of_leaves(tensors):
            nonlocal result_tree
            results, result_tree = flatten(function(*unflatten(skeleton, iter(tensors))))
            return [result for _, result in results]

        types = [leaf if isinstance(leaf, (Tensor, Spec)) else _core.borrow(leaf) for _, leaf in leaves]
        labels = [re.sub(r"[^A-Za-z0-9_.]", "_", f"arg{path}") for path, _ in leaves]
        recorded = _core._record(name or "main", of_leaves, types, labels)
        return Program(recorded, skeleton, result_tree)

    return traced
