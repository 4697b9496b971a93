"""jit(f): a function that is recorded once and then run from the record (docs/jit.md)."""

import dataclasses
import functools
import types

from . import _core, errors
from .interop import asarray
from .items import Item
from .tracing import _LEAF, _children, _is_leaf, flatten, unflatten


@dataclasses.dataclass(frozen=True)
class Dynamic:
    """A size that is a symbol from the first call on: of an argument's tensors along an axis, or of the one leaf
    "blocks.0.weight" of it. Sizes of one name are the same."""

    argument: int = 0
    axis: int = 0
    leaf: str = ""
    name: str = ""
    at_least: int = 0
    at_most: int | None = None
    divisor: int = 1


@dataclasses.dataclass(frozen=True)
class JitStats:
    traces: int
    hits: int
    failed_guards: int
    host_runs: int
    pieces: int
    retraces: tuple
    text: str

    def __str__(self):
        return self.text


# ---- What makes two trees alike but for their tensors.


def _key_of(skeleton, path):
    if skeleton is _LEAF:
        return _LEAF
    node = _children(skeleton)
    if node is not None:
        return (type(skeleton), tuple((name, _key_of(child, f"{path}.{name}")) for name, child in node[0]))
    if isinstance(skeleton, set):
        return (set, frozenset(skeleton))
    try:
        hash(skeleton)
    except TypeError:
        raise errors.TypeError(f"{path} is a {type(skeleton).__name__}, which is no tensor and cannot be hashed: "
                               "jit could not tell whether it is another one next time") from None
    return (type(skeleton), skeleton)


# ---- What a function finds outside of its arguments. It is looked at again at each call.


def _names_in(code):
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_in(constant)
    return names


def _unwrapped(value):
    """The function itself, behind what keeps the package's lines out of tracebacks."""
    return value.__wrapped__ if isinstance(value, _core._Boundary) else value


def _users_function(value):
    """What is looked into: the user's functions, and those of them that are jitted; None for all else."""
    value = _unwrapped(value)
    if isinstance(value, Jitted) and not value._first:
        value = value._function
    is_users = isinstance(value, types.FunctionType) and (value.__module__ or "").split(".")[0] not in ("plait", "numpy")
    return value if is_users else None


def _found_by(function):
    """Names and values of what a function finds outside of its arguments."""
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        try:
            yield name, cell.cell_contents
        except ValueError:  # empty as yet
            pass
    for name in sorted(_names_in(code) & function.__globals__.keys()):
        yield name, function.__globals__[name]
    for i, value in enumerate(function.__defaults__ or ()):
        yield f"default {i}", value
    for name, value in (function.__kwdefaults__ or {}).items():
        yield f"default {name}", value


class _Outside:
    """The cells and globals of a function, and of the functions that it finds there."""

    def __init__(self, function):
        self.values = {}  # by path
        self.functions = []
        self._look_at(function)

    def _look_at(self, function):
        if function in self.functions:
            return
        self.functions.append(function)
        for name, value in _found_by(function):
            further = _users_function(value)
            if further is not None:
                self._look_at(further)
            else:
                self.values[self._path(function, name)] = value

    def _path(self, function, name):
        number = self.functions.index(function)
        return name if number == 0 else f"{function.__name__} {number}.{name}"

    def with_values(self, function, values):
        """The function as it would be if it found those, and a list of what to do when it has run."""
        made, afterwards = {}, []

        def remade(function, name, value):
            further = _users_function(value)
            return values.get(self._path(function, name), value) if further is None else again(further)

        def again(function):
            if function in made:
                return made[function]
            found = dict(function.__globals__)
            new = types.FunctionType(function.__code__, found, function.__name__, None,
                                     tuple(types.CellType() for _ in function.__closure__ or ()) or None)
            made[function] = new
            theirs = {name: remade(function, name, value) for name, value in _found_by(function)}
            cells = list(zip(function.__closure__ or (), new.__closure__ or ()))
            for name, (_, place) in zip(function.__code__.co_freevars, cells):
                if name in theirs:
                    place.cell_contents = theirs[name]
            found.update((name, theirs[name]) for name in _names_in(function.__code__) & found.keys())
            new.__defaults__ = tuple(theirs[f"default {i}"] for i in range(len(function.__defaults__ or ()))) or None
            new.__kwdefaults__ = {name: theirs[f"default {name}"] for name in function.__kwdefaults__ or {}} or None
            before = dict(found)
            contents = [_contents(place) for _, place in cells]

            def write_back():
                for name, value in found.items():
                    if name not in before or before[name] is not value:
                        function.__globals__[name] = value
                for (cell, place), earlier in zip(cells, contents):
                    if _contents(place) is not earlier:
                        cell.cell_contents = place.cell_contents

            afterwards.append(write_back)
            return new

        return again(function), afterwards


def _contents(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _has_tensors(skeleton):
    node = _children(skeleton)
    return skeleton is _LEAF or (node is not None and any(_has_tensors(child) for _, child in node[0]))


def _function_of(callable_):
    """The plain function that is called, and what is handed to it first."""
    callable_ = _unwrapped(callable_)
    if isinstance(callable_, types.MethodType):
        return callable_.__func__, (callable_.__self__,)
    if isinstance(callable_, types.FunctionType):
        return callable_, ()
    own = _unwrapped(getattr(type(callable_), "__call__", None))
    if isinstance(own, types.FunctionType) and _children(callable_) is not None:
        return own, (callable_,)
    return None, ()


class Jitted:
    """What jit gives."""

    def __init__(self, function, *, donate, **options):
        functools.update_wrapper(self, function, updated=())
        self._function, self._first = _function_of(function)
        self._called = function
        self._donate = (donate,) if isinstance(donate, (int, str)) else tuple(donate)
        self._name = options["name"]
        self._cache = _core._Jit(**options, donates=bool(self._donate))
        self._changed = set()  # names outside of the function that it has given other values
        self._known_as = {}  # keys without these names, as what was recorded when they still counted

    def __call__(self, *arguments, **named):
        everything = {"arg": self._first + arguments, "named": dict(sorted(named.items()))}
        outside = None
        if self._function is not None:
            outside = _Outside(self._function)
            everything["outside"] = outside.values
        everything = _numbers_as_tensors(everything)
        leaves, skeleton = flatten(everything)
        key = self._key_of(skeleton, outside)
        key = self._known_as.get(key, key)

        def paths():
            return [path.replace("arg.", "arg", 1) if path.startswith("arg.") else path for path, _ in leaves]

        def host(given):
            tree = unflatten(skeleton, iter(given))
            before = self._keys_of_outside(skeleton)
            if self._function is None:
                result = self._called(*tree["arg"], **tree["named"])
            else:
                with_tensors = {name: tree["outside"][name] for name, below in skeleton["outside"].items()
                                if _has_tensors(below)}
                function, afterwards = outside.with_values(self._function, with_tensors)
                try:
                    result = function(*tree["arg"], **tree["named"])
                finally:
                    for each in afterwards:
                        each()
                # What the function changes itself, a counter or a list of results, does not make it another one.
                after = self._keys_of_outside(flatten({"outside": _Outside(self._function).values})[1])
                changed = {name for name, earlier in before.items() if after.get(name) != earlier}
                if changed:
                    self._changed |= changed
                    self._known_as[self._key_of(skeleton, outside)] = key
            results, structure = flatten(_with_numbers(result))
            return [asarray(leaf) for _, leaf in results], structure

        donated = self._donated(everything, leaves) if self._donate else []
        results, structure = self._cache(key, [asarray(leaf) for _, leaf in leaves], paths, host, donated)
        return unflatten(structure, iter(results))

    def _donated(self, everything, leaves):
        """Numbers of the leaves that are donated."""
        wanted = []
        for each in self._donate:
            given = everything["named" if isinstance(each, str) else "arg"]
            if each not in (given if isinstance(each, str) else range(len(given))):
                raise errors.ValueError(f"{self._name}: argument {each} is to be donated, and there are "
                                        f"{len(everything['arg'])} by place, and by name {sorted(everything['named'])}")
            wanted.append(f"named.{each}" if isinstance(each, str) else f"arg.{each}")
        return [i for i, (path, _) in enumerate(leaves)
                if any(path == each or path.startswith(each + ".") for each in wanted)]

    def _keys_of_outside(self, skeleton):
        return {name: _key_of(below, name) for name, below in skeleton.get("outside", {}).items()
                if name not in self._changed}

    def _key_of(self, skeleton, outside):
        given = {name: below for name, below in skeleton.items() if name != "outside"}
        functions = () if outside is None else tuple(function.__code__ for function in outside.functions)
        return _key_of(given, "f"), tuple(self._keys_of_outside(skeleton).items()), functions

    def __get__(self, owner, kind=None):
        return self if owner is None else types.MethodType(self, owner)

    def stats(self):
        return JitStats(*self._cache.stats())


def _with_numbers(tree):
    """A tree with the numbers of items in their places."""
    if isinstance(tree, Item):
        return tree._number()
    node = None if _is_leaf(tree) else _children(tree)
    return tree if node is None else node[1]([_with_numbers(child) for _, child in node[0]])


def _numbers_as_tensors(everything):
    """Floats among the arguments themselves count as tensors; whole numbers and all else are static."""
    def as_tensor(value):
        return asarray(value) if isinstance(value, (float, complex)) else value

    everything["arg"] = tuple(map(as_tensor, everything["arg"]))
    everything["named"] = {name: as_tensor(value) for name, value in everything["named"].items()}
    return everything


def jit(function=None, *, name=None, dynamic=(), donate=(), fullgraph=False, disable=False, backend="evaluator",
        mode="default", most_ways=32, most_structures=256):
    """A function that is recorded once and then run from the record.

    >>> import plait as pl
    >>> double = pl.jit(lambda x: x * 2)
    >>> print(double(pl.asarray([1.0, 2.0])))
    [2. 4.] : f32[2]

    Arguments and results are trees of tensors; what is no tensor in them is static, but floats that are arguments
    themselves. A size that differs from call to call becomes a symbol. A condition on a tensor has a way for each
    outcome; a function that takes numbers out of tensors runs its host code at each call. What the function finds in
    its closure and among its globals is looked at again at each call. Results may take the memory of arguments that
    are donated, by numbers or by names; their tensors hold nothing afterwards."""
    options = dict(dynamic=tuple(dynamic), donate=donate, fullgraph=fullgraph, disable=disable, backend=backend, mode=mode,
                   most_ways=most_ways, most_structures=most_structures)
    if function is None:
        return lambda given: jit(given, name=name, **options)
    return Jitted(function, name=name or getattr(function, "__name__", "jitted"), **options)


def stats(function):
    """How often a jitted function was recorded and run, and why it was recorded again."""
    return function.stats()
