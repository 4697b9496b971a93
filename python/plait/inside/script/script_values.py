"""The values of variables while a scripted function is recorded, and checks for changes that cannot be recorded."""

import collections
import threading
import types

from plait import _core, errors
from plait._core import Tensor
from plait.inside.arrays.interop import asarray
from plait.inside.jit.host_code import module_of
from plait.inside.jit.lending import Lending

_NUMBERS = (bool, int, float, complex)
_MOST_UNROLLED = 16  # remaining steps of a range if a tensor decides whether there are more
_MOST_ROUNDS = 12


class _State(threading.local):
    depth = 0  # the number of nested branches and steps that are being recorded
    floating = None  # the dtype of floats that differ between paths

    def __init__(self):
        self.running = []
        self.origins = {}  # tensors that may be one of the caller's: themselves and the caller's, by id
        self.uncertain = {}  # those of which this depends on a tensor, and their names


_state = _State()


def _error(kind, message, place, hint):
    error = kind(f"{kind.__name__}: {message}, at {place}\n  hint: {hint}")
    error.message, error.hint, error.location = message, hint, place
    return error


def origin_of(tensor):
    """The caller's tensor that this one is, or may be; None if there is none."""
    if not isinstance(tensor, Tensor):
        return None
    known = _state.origins.get(id(tensor))
    if known is not None:
        return known[1]
    is_given = Lending.lends(tensor) or any(leaf is tensor for call in _state.running for leaf in call.leaves)
    return tensor if is_given else None


def note_uncertain(tensor, leaves, name):
    """A tensor that is one of these, as another tensor decides: it may not be assigned into if one of them is the caller's."""
    origin = next((each for each in map(origin_of, leaves) if each is not None), None)
    if origin is not None:
        _state.origins[id(tensor)] = tensor, origin
        _state.uncertain[id(tensor)] = name


def expect_certain(tensor):
    if id(tensor) in _state.uncertain:
        name = _state.uncertain[id(tensor)]
        name, own = ("the tensor", "x") if name.startswith("__") or not name.isidentifier() else (name, name)
        raise errors.TypeError.with_hint(f"{name} is assigned into, but a tensor decides whether it is the caller's tensor or another one",
                                         f"{own} = {own} * 1 makes a tensor of its own, which may be assigned into")


class _Unbound:
    """The value of an unassigned variable."""

    def __repr__(self):
        return "no value"


_UNBOUND = _Unbound()


class _Lost:
    """The value of a variable that differs incompatibly between two paths; using it is an error."""

    def __init__(self, kind, message, place, hint):
        self._given = kind, message, place, hint

    def error(self):
        return _error(*self._given)


class _Again(BaseException):
    """Raised to restart the recording."""

    def __init__(self, owner):
        self.owner = owner


# ---- Values of variables: numbers and tensors in a tree.


def _spread(value):
    """The numbers and tensors of a tree, and the structure of everything else."""
    return _core._flatten(value, numbers=True)


def _is_number(leaf):
    return type(leaf) in _NUMBERS


def _as_leaf(leaf):
    return leaf if _is_number(leaf) or isinstance(leaf, Tensor) else asarray(leaf)


def _are_same(a, b):
    """True if two leaves are interchangeable."""
    return a is b or (_is_number(a) and type(a) is type(b) and repr(a) == repr(b))


def _text(value):
    """A value as a message shows it."""
    if isinstance(value, Tensor):
        return f"{value.dtype}[{', '.join(str(each) for each in value.shape)}]"
    if _is_number(value) or value is None or isinstance(value, str):
        return repr(value)
    if value is _UNBOUND:
        return "without a value"
    if isinstance(value, _Lost):
        return "of two kinds"
    leaves, _ = _spread(value)
    return f"a {type(value).__name__}" + (f" of {', '.join(_text(each) for each in leaves[:6])}" if leaves else "")


def _default_dtype(*kinds):
    kind = max(kinds, key=_NUMBERS.index)
    floating = _state.floating or _core.f32
    if kind is complex:
        return _core.c128 if floating == _core.f64 else _core.c64
    return {bool: _core.boolean, int: _core.i64, float: floating}[kind]


def _common(a, b):
    """(dtype, shape) that two leaves, either of them a number, can both have; None if there is none."""
    if _is_number(a) and _is_number(b):
        return _default_dtype(type(a), type(b)), ()
    if _is_number(a) or _is_number(b):
        number, tensor = (a, b) if _is_number(a) else (b, a)
        return _core.promote(tensor.dtype, type(number)), tuple(tensor.shape)
    fits = a.dtype == b.dtype and a.ndim == b.ndim and all(p == q for p, q in zip(a.shape, b.shape))
    return (a.dtype, tuple(a.shape)) if fits else None


def _as(leaf, dtype, shape):
    tensor = asarray(leaf, dtype)
    return _core.broadcast_to(tensor, shape) if shape and not tensor.ndim else tensor


def _type_of(leaf):
    return (leaf.dtype, tuple(leaf.shape))


# ---- Changes that are refused where a tensor decides.


_PLAIN = (*_NUMBERS, str, bytes, type(None), Tensor, types.ModuleType, types.BuiltinFunctionType, type)


def _contents(value):
    """The contents of a mutable object; None for anything else."""
    if isinstance(value, dict):
        return [part for pair in value.items() for part in pair]
    if isinstance(value, (list, set, collections.deque)):
        return list(value)
    if isinstance(value, (tuple, *_PLAIN)) or not hasattr(value, "__dict__"):
        return None
    if module_of(type(value)).split(".")[0] in ("builtins", "plait", "numpy") or isinstance(value, types.FunctionType):
        return None
    return [part for pair in vars(value).items() for part in pair]


class _Watch:
    """A snapshot of the lists, dicts, sets, objects and tensors that a function can reach."""

    def __init__(self, function):
        self._seen = {}
        self._tensors = {}  # and their contents, by id
        self._read_function(function, 0)

    def _read_function(self, function, depth):
        if id(function) in self._seen:
            return
        self._seen[id(function)] = (function, "", None)
        is_own = str(function.__globals__.get("__name__")).startswith("plait.inside.script.")
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:  # empty
                continue
            if not is_own:
                self._read_value(name, value, depth)
            elif isinstance(value, types.FunctionType):
                self._read_function(value, depth)
        if is_own:
            return
        for name in function.__code__.co_names:
            value = function.__globals__.get(name)
            if isinstance(value, (list, dict, set, collections.deque, Tensor)):
                self._read_value(name, value, depth)

    def _read_value(self, path, value, depth):
        if isinstance(value, Tensor):
            self._tensors.setdefault(id(value), (value, value._share()))
            return
        if depth > 4 or len(self._seen) > 5000 or isinstance(value, _PLAIN) or id(value) in self._seen:
            return
        if isinstance(value, types.FunctionType):
            if module_of(value).split(".")[0] not in ("plait", "numpy"):
                self._read_function(value, depth + 1)
            return
        contents = _contents(value)
        if contents is not None:
            self._seen[id(value)] = (value, path, contents)
        elif not isinstance(value, tuple) and _core._children(value) is not None:  # a layer
            for leaf in _core._flatten(value)[0]:
                self._read_value(path, leaf, depth)
        for each in value if isinstance(value, tuple) else contents or ():
            self._read_value(path, each, depth + 1)

    def written(self):
        """The tensors that were assigned into (x[i] = y), by id."""
        return {key: tensor for key, (tensor, content) in self._tensors.items() if not _core._is_same(tensor, content)}

    def restore(self):
        for key, tensor in self.written().items():
            _core._exchange(tensor, self._tensors[key][1])

    def check(self, site):
        for value, path, before in self._seen.values():
            if before is None:
                continue
            now = _contents(value)
            if len(now) == len(before) and all(a is b for a, b in zip(now, before)):
                continue
            new = now[len(before):]
            is_cache = not isinstance(value, (list, set, collections.deque)) and all(a is b for a, b in zip(now, before))
            if not isinstance(value, dict):  # an attribute that hides one of the class is not a new one
                is_cache = is_cache and not any(hasattr(type(value), name) for name in new[::2])
            if is_cache and not any(isinstance(leaf, Tensor) for each in new for leaf in _spread(each)[0]):
                continue
            kind = type(value).__name__
            what = f"{path} is a {kind}" if path == "self" or _core._children(value) is not None else f"a {kind} that {path} leads to"
            what = what if isinstance(value, (list, dict, set, collections.deque)) else f"an attribute of {path}, a {kind},"
            joint = ", and is" if what.startswith(path) else " is"
            raise _error(errors.TypeError, f"{what}{joint} changed where a tensor decides how often that happens ({site.text})",
                         site.place, "it would happen once, while the program is recorded: put tensors into variables, write into one "
                         "by out[i] = ..., or collect the results of steps with plait.scan or plait.map")


class _Region:
    """Active while a branch or a step is recorded. At its end tensors have their earlier contents again: those that were assigned into are
    results of the branch or the step."""

    def __init__(self, site, function):
        self._site, self._function = site, function

    def __enter__(self):
        self._watch = _Watch(self._function)
        _state.depth += 1
        return self

    def __exit__(self, *_):
        _state.depth -= 1
        self._watch.restore()

    def run(self):
        """Calls the function, and checks what it has changed."""
        result = self._function()
        self.check()
        return result

    def check(self):
        self._watch.check(self._site)

    def written(self):
        return self._watch.written()


def _truth(test, place):
    """A Python bool, or a bool[] that is being recorded."""
    if not isinstance(test, Tensor) or not _core._is_staging():
        return bool(test)
    if test.ndim:
        if test.size != 1:
            raise _error(errors.TypeError, f"a condition is {_text(test)}, expected one truth value", place,
                         "reduce it by plait.all or plait.any, or choose by element with plait.where")
        test = _core.reshape(test, ())
    return test if test.dtype == _core.boolean else test != 0
