"""jit(f): a function that is recorded once and then run from the record (docs/jit.md)."""

import dataclasses
import functools
import itertools
import types

from . import _core, errors
from .interop import asarray
from .items import Item
from .tree import flatten


@dataclasses.dataclass(frozen=True)
class Dynamic:
    """A size that is a symbol from the first call on: of an argument's tensors along an axis, or of the one leaf
    "blocks.0.weight" of it. Sizes of one name are the same.

    >>> total = plait.jit(plait.sum, dynamic=[plait.Dynamic(argument=0, axis=0)])
    >>> for size in 2, 3, 4: _ = total(plait.ones(size))
    >>> plait.stats(total).traces
    1
    """

    argument: int = 0
    axis: int = 0
    leaf: str = ""
    name: str = ""
    at_least: int = 0
    at_most: int | None = None
    divisor: int = 1


@dataclasses.dataclass(frozen=True)
class JitStats:
    """How often a jitted function was recorded and run, and why it was recorded again.

    >>> plait.stats(plait.jit(plait.sin)).hits
    0
    """

    traces: int
    hits: int
    failed_guards: int
    host_runs: int
    pieces: int
    retraces: tuple
    text: str

    def __str__(self):
        return self.text


# ---- What a function finds outside of its arguments. It is looked at again at each call.


@functools.lru_cache(maxsize=4096)
def _names_in(code):
    """The names of globals, perhaps, in order."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= set(_names_in(constant))
    return sorted(names)


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


_ABSENT = object()


def _places(function):
    """(name, holder, key) of each place outside of its arguments where a function finds a value, or would."""
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        yield name, cell, None
    for name in _names_in(code):
        yield name, function.__globals__, name
    for i in range(len(function.__defaults__ or ())):
        yield f"default {i}", function.__defaults__, i
    for name in function.__kwdefaults__ or {}:
        yield f"default {name}", function.__kwdefaults__, name


def _found_by(function):
    """Names and values of what a function finds outside of its arguments."""
    for name, holder, key in _places(function):
        value = _core._value_at(holder, key, _ABSENT)
        if value is not _ABSENT:
            yield name, value


class _Outside:
    """The cells and globals of a function, and of the functions that it finds there."""

    def __init__(self, function):
        self.values = {}  # by path
        self.functions = []
        self.places = []  # (holder, key, whether a function is there that is looked into)
        self._look_at(function)

    def _look_at(self, function):
        if function in self.functions:
            return
        self.functions.append(function)
        for name, holder, key in _places(function):
            value = _core._value_at(holder, key, _ABSENT)
            further = _users_function(value)
            self.places.append((holder, key, further is not None))
            if further is not None:
                self._look_at(further)
            elif value is not _ABSENT:
                self.values[self._path(function, name)] = value

    def trees(self):
        """The leaves and the structure of each value, by path."""
        return {path: flatten(value) for path, value in self.values.items()}

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
            found.update((name, theirs[name]) for name in _names_in(function.__code__) if name in found)
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


def _function_of(callable_):
    """The plain function that is called, and what is handed to it first."""
    callable_ = _unwrapped(callable_)
    if isinstance(callable_, types.MethodType):
        return callable_.__func__, (callable_.__self__,)
    if isinstance(callable_, types.FunctionType):
        return callable_, ()
    own = _unwrapped(getattr(type(callable_), "__call__", None))
    if isinstance(own, types.FunctionType) and _core._children(callable_) is not None:
        return own, (callable_,)
    return None, ()


class _Call:
    """One call: its arguments, and what its function finds outside, looked at where that becomes needed."""

    def __init__(self, jitted, arguments, named):
        self.jitted, self.arguments, self.named = jitted, jitted._first + arguments, named
        self.leaves = None  # until it is looked at
        self.has_run = False  # whether the host code has

    def look(self):
        if self.leaves is not None:
            return
        self.arguments = tuple(map(_number_as_tensor, self.arguments))
        self.named = {name: _number_as_tensor(value) for name, value in sorted(self.named.items())}
        first, self._arguments = flatten(self.arguments)
        second, self._named = flatten(self.named)
        self._outside = None if self.jitted._function is None else _Outside(self.jitted._function)
        self._found = self._outside.trees() if self._outside else {}
        self.leaves = first + second + [leaf for leaves, _ in self._found.values() for leaf in leaves]

    def paths(self):
        self.look()
        outside = [f"outside.{name}" + (f".{path}" if path else "") for name, (_, structure) in self._found.items()
                   for path in structure.paths]
        return [f"arg{path}" for path in self._arguments.paths] + [f"named.{path}" for path in self._named.paths] + outside

    def key(self):
        """What makes it another one to be recorded."""
        self.look()
        self._arguments._expect_hashable("f.arg")
        self._named._expect_hashable("f.named")
        functions = tuple(function.__code__ for function in self._outside.functions) if self._outside else ()
        return self._arguments, self._named, tuple(self._counting(self._found).items()), functions

    def _counting(self, found):
        """The structures of what is found outside, but for what the function gives other values itself."""
        counting = {name: structure for name, (_, structure) in found.items() if name not in self.jitted._changed}
        for name, structure in counting.items():
            structure._expect_hashable(name)
        return counting

    def host(self, given):
        """The function of these leaves: the leaves and the structure of what it gives."""
        self.has_run = True
        self.look()
        jitted, given = self.jitted, iter(given)

        def next_of(structure):
            return structure.unflatten(itertools.islice(given, len(structure)))

        arguments, named = next_of(self._arguments), next_of(self._named)
        if jitted._function is None:
            return _results(jitted._called(*arguments, **named))
        before = self._counting(self._found)
        tensors = {name: next_of(structure) for name, (_, structure) in self._found.items() if len(structure)}
        function, afterwards = self._outside.with_values(jitted._function, tensors)
        try:
            result = function(*arguments, **named)
        finally:
            for each in afterwards:
                each()
        # What the function changes itself, a counter or a list of results, does not make it another one.
        after = self._counting(_Outside(jitted._function).trees())
        changed = {name for name, earlier in before.items() if name not in after or after[name] != earlier}
        if changed:
            earlier = self.key()
            jitted._change(changed)
            jitted._known_as[self.key()] = jitted._known_as.get(earlier, earlier)
        return _results(result)

    def remember(self, key, donated):
        """Has the next call of the kind recognised at a glance."""
        functions, places = (self._outside.functions, self._outside.places) if self._outside else ([], [])
        self.jitted._cache.remember(self.arguments, self.named, functions, places, key, donated)


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
        call = _Call(self, arguments, named)
        result = self._cache.again(self._first, arguments, named, call)
        return self._at_first(call) if result is NotImplemented else result

    def _at_first(self, call):
        key = call.key()
        key = self._known_as.get(key, key)
        donated = self._donated(call) if self._donate else []
        result = self._cache.run(key, call.leaves, call, donated)
        if not call.has_run:
            call.remember(key, donated)
        return result

    def _donated(self, call):
        """Numbers of the leaves that are donated."""
        wanted = []
        for each in self._donate:
            given = call.named if isinstance(each, str) else range(len(call.arguments))
            if each not in given:
                raise errors.ValueError(f"{self._name}: argument {each} is to be donated, and there are "
                                        f"{len(call.arguments)} by place, and by name {sorted(call.named)}")
            wanted.append(f"named.{each}" if isinstance(each, str) else f"arg{each}")
        return [i for i, path in enumerate(call.paths())
                if any(path == each or path.startswith(each + ".") for each in wanted)]

    def _change(self, names):
        self._changed |= names
        self._cache.forget()

    def __get__(self, owner, kind=None):
        return self if owner is None else types.MethodType(self, owner)

    def stats(self):
        return JitStats(*self._cache.stats())


def _results(tree):
    """The leaves of what a function gives, and its structure, with the numbers of items in their places."""
    leaves, structure = flatten(_with_numbers(tree))
    return [asarray(leaf) for leaf in leaves], structure


def _with_numbers(tree):
    leaves, structure = _core._flatten(tree, numbers=True)
    if not any(isinstance(leaf, Item) for leaf in leaves):
        return tree
    return structure.unflatten([leaf._number() if isinstance(leaf, Item) else leaf for leaf in leaves])


def _number_as_tensor(argument):
    """Floats among the arguments themselves count as tensors; whole numbers and all else are static."""
    return asarray(argument) if isinstance(argument, (float, complex)) else argument


def jit(function=None, *, name=None, dynamic=(), donate=(), fullgraph=False, disable=False, backend="compiler",
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
    """How often a jitted function was recorded and run, and why it was recorded again.

    >>> double = plait.jit(lambda x: x * 2)
    >>> for size in 2, 2, 3: _ = double(plait.ones(size))
    >>> print(plait.stats(double))
    2 recorded, 1 hits, 0 guards failed, 0 runs of the host code
      the size arg0.0 is 3, and was 2
    """
    return function.stats()
