"""trace(f)(*args): the program of a Python function. Arguments and results are trees of tensors: tuples, lists,
dicts, dataclasses, Modules and records; anything else in them is a constant of the program."""

import dataclasses
import functools
import numbers
import re
import typing

from plait import _core, errors
from plait._core import Structure, Tensor
from plait.inside.transforms.recording import Recording, named
from plait.inside.trees.given import Handed, expect_no_leaks
from plait.inside.trees.sharing import of_one_object
from plait.tree import flatten

def expect_budget(what, budget):
    """A memory_budget as a float, or None: bytes, or up to 1 a share."""
    if budget is None:
        return None
    if isinstance(budget, bool) or not isinstance(budget, numbers.Real):
        raise errors.TypeError(f"{what}: memory_budget is {budget!r}, expected a number of bytes, or a share of at most 1")
    if not budget > 0:
        raise errors.ValueError(f"{what}: memory_budget is {budget}, expected more than 0")
    return float(min(budget, 2**62))


@dataclasses.dataclass(frozen=True)
class Spec:
    """The type of a tensor without numbers, written as in the IR: Spec("f32[n, 3]").

    >>> program = plait.trace(lambda x: plait.sum(x, 0))(plait.Spec("f32[n, 3]"))
    >>> program(plait.ones((4, 3)))
    [4. 4. 4.] : f32[3]
    """

    type: str

    def __post_init__(self):
        if isinstance(self.type, str):
            return
        sizes = f"[{', '.join(map(str, self.type))}]" if isinstance(self.type, (tuple, list)) else "[n, 3]"
        raise errors.TypeError(f"Spec: expected a type as written in the IR, not {type(self.type).__name__}\n"
                               f"  hint: plait.Spec(\"f32{sizes}\")")

    def __str__(self):
        return self.type


_core._declare_in_trees("leaf", Spec)


class Memory(typing.NamedTuple):
    """The bytes that a program needs (Program.memory)."""

    arguments: int
    results: int
    temporaries: int
    peak: int
    is_complete: bool


class Program:
    """A recorded function: it can be printed by text(), and called with other tensors of the same types.

    >>> program = plait.trace(lambda x: x * 2)(plait.tensor(1.0))
    >>> program(plait.tensor(4.0)), program.grad()(plait.tensor(4.0))
    (8. : f32[], 2. : f32[])
    """

    def __init__(self, recorded, arguments=None, results=None):
        if not isinstance(recorded, _core.RecordedProgram):
            raise errors.TypeError(f"Program: expected a recorded program, not {type(recorded).__name__}\n  hint: plait.trace(f)(x) gives a "
                                   "program, and Program.parse(text)")
        self._recorded, self._arguments, self._results = recorded, arguments, results

    @staticmethod
    def parse(text):
        """Parses the output of text(); the program takes tensors and returns a list of them."""
        return Program(_core.RecordedProgram.parse(text))

    @staticmethod
    def from_bytes(content):
        """Reads the output of bytes()."""
        return Program(_core.RecordedProgram.from_bytes(content))

    def text(self):
        """The program in the text form of the IR, with your own lines."""
        return self._recorded.text()

    def bytes(self):
        """The program in its binary form."""
        return self._recorded.bytes()

    def grad(self, by=0, with_value=False, stop_gradients=()):
        """The program of the gradient of its only result with respect to a parameter, or several. Values whose label
        is in `stop_gradients` are treated as constants."""
        several = isinstance(by, (tuple, list))
        recorded = self._recorded.grad(list(by) if several else [by], with_value, list(stop_gradients))
        return Program(recorded, self._arguments, None if several or with_value else Structure())

    def autocast(self, dtype=_core.bf16):
        """The program with products in a narrow dtype, and sensitive operations in f32."""
        return Program(self._recorded.autocast(dtype), self._arguments, self._results)

    def memory(self, memory_budget=None, **sizes):
        """The bytes that the compiled program needs, as jit runs it, before it runs: Memory(arguments, results, temporaries, peak, is_complete).
        Symbolic sizes are given by name. is_complete is False if sizes depend on data or functions call themselves, whose bytes are not counted;
        nor is what single products take while they run. With a memory_budget as jit's.

        >>> step = plait.trace(lambda x: plait.sum(plait.sort(x) * 2, axis=1))
        >>> step(plait.Spec("f32[n, 250]")).memory(n=1000).arguments
        1000000
        """
        arguments, results, temporaries, is_complete = self._recorded.memory(sizes, expect_budget("memory", memory_budget))
        return Memory(arguments, results, temporaries, arguments + results + temporaries, is_complete)

    @property
    def hidden_inputs(self):
        """Tensors that the function captured; they are the last parameters of the program."""
        return self._recorded.hidden_inputs()

    def __call__(self, *arguments):
        leaves, structure = flatten(arguments)
        if self._arguments is not None and (structure != self._arguments or structure._objects_twice != self._arguments._objects_twice):
            raise errors.TypeError("the arguments differ from those of the trace in more than their tensors: "
                                   f"{structure} instead of {self._arguments}")
        results = self._recorded.run(leaves)
        return results if self._results is None else self._results.unflatten(of_one_object(self._results, results))

    def __repr__(self):
        return self.text()


def trace(function, name=None):
    """trace(f)(*args) records the operations of f on tensors of these types.

    >>> program = plait.trace(lambda x: plait.exp(x) * 2)(plait.tensor([0.0, 1.0]))
    >>> program(plait.tensor([1.0, 0.0]))
    [5.4365635 2.       ] : f32[2]
    """

    @functools.wraps(function)
    def traced(*arguments):
        leaves, structure = flatten(arguments)
        result_structure = None

        def of_leaves(tensors):
            nonlocal result_structure
            result = Handed(structure, of_one_object(structure, tensors)).call("trace", function)
            expect_no_leaks("trace", result)
            results, result_structure = flatten(result)
            return results

        types = [leaf if isinstance(leaf, (Tensor, Spec)) else _core.borrow(leaf) for leaf in leaves]
        labels = [re.sub(r"[^A-Za-z0-9_.]", "_", f"arg{path}") for path in structure.paths]
        with Recording("trace", [function], named(arguments)):
            recorded = _core._record(name or "main", of_leaves, types, labels)
        return Program(recorded, structure, result_structure)

    return traced
