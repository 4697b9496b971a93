"""jit(f): a function that is recorded once and then run from the record (docs/jit.md)."""

import collections
import dataclasses
import functools
import itertools
import threading
import warnings

from . import _core, errors
from .handed import handed
from .host_reach import Reach, unwrapped
from .host_state import Snapshot
from .interop import asarray
from .items import Item
from .later import Later
from .tree import flatten

np = Later("numpy")


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


_MOST_RECORDS_FOR_ONE = 8  # of one argument or value outside, before that is reported


class _Finish:
    """The result of a recorded call of its leaves, and what the host code changed outside of its arguments."""

    def __init__(self, structure, numbers, writes):
        self.structure, self._numbers, self._writes = structure, numbers, writes

    def finish(self, leaves, places, call):
        count = len(self.structure)
        # Where the host code has run its own writes are there, but for derivatives that go through.
        if not call.has_run or _core._is_followed(leaves):
            written = iter(leaves[count:])
            for write in self._writes:
                write.again(places, list(itertools.islice(written, len(write.structure or ()))))
        return self.structure.unflatten([each.item() if i in self._numbers else each for i, each in enumerate(leaves[:count])])


class _Lending:
    """While one is there, tensors outside hold what is recorded. Other threads that call jitted functions wait."""

    _lock = threading.RLock()
    thread = None  # which has lent some

    def __init__(self, tensors, contents):
        self._tensors, self._contents = tensors, contents

    def __enter__(self):
        if not self._tensors:
            return self
        self._lock.acquire()
        self._earlier, _Lending.thread = _Lending.thread, threading.get_ident()
        self._own = [_core._exchange(tensor, content) for tensor, content in zip(self._tensors, self._contents)]
        return self

    def __exit__(self, *_):
        if not self._tensors:
            return
        for tensor, content, own in zip(self._tensors, self._contents, self._own):
            if _core._is_same(tensor, content):  # else host code has assigned to it
                _core._exchange(tensor, own)
        _Lending.thread = self._earlier
        self._lock.release()

    @classmethod
    def wait(cls):
        if cls.thread is not None and cls.thread != threading.get_ident():
            with cls._lock:
                pass


def _agree(arrays, others):
    """Whether NumPy's arrays have the same elements."""
    return len(arrays) == len(others) and all(_frozen(now) == was for was, now in zip(arrays, others))


def _frozen(array):
    """What tells arrays of NumPy with other elements apart."""
    array = np.asarray(array)
    return array.dtype.str, array.shape, tuple(array.ravel().tolist()) if array.dtype.hasobject else array.tobytes()


class _Call:
    """One call: its arguments, and what its function finds outside, looked at where that becomes needed."""

    def __init__(self, jitted, first, arguments, named):
        self.jitted, self.first, self.given, self.named = jitted, first, arguments, named
        self.leaves = None  # until it is looked at
        self.has_run = False  # whether the host code has
        self._snapshot = None

    def look(self):
        if self.leaves is not None:
            return
        self.named = dict(sorted(self.named.items()))
        self._numbers = {}  # whole numbers among the arguments, by place or name: handed over as sizes
        arguments = tuple(self._as_leaf(i, each) for i, each in enumerate(self.given))
        named = {name: self._as_leaf(name, each) for name, each in self.named.items()}
        first, self._arguments = flatten(arguments)
        second, self._named = flatten(named)
        self.leaves, self.outside = first + second, []
        self.reach = _NO_REACH
        if self.jitted._by_host is None:
            self._look_outside(arguments, named)

    def _as_leaf(self, place, value):
        """Numbers among the arguments themselves count as tensors, whole ones as sizes; all else is static."""
        if isinstance(value, (float, complex)):
            return asarray(value)
        sign = _core._whole_number(value)
        if sign == 0:
            return value
        self._numbers[place] = sign
        return _core._size_argument(value)

    def _look_outside(self, arguments, named):
        roots = [("", self.jitted._holder, "function")]
        roots += [("self" if i == 0 else f"first {i}", self.first, i) for i in range(len(self.first))]
        roots += [(f"arg{path}", holder, key) for path, holder, key in _constants_in(arguments)]
        roots += [(f"named.{path}", holder, key) for path, holder, key in _constants_in(named)]
        self.reach = Reach(roots)
        self._found, self.arrays, self.shared = {}, [], []
        by_identity = {}
        for path, found in self.reach.values.items():
            leaves, structure = flatten(found.value)
            arrays = []
            for leaf, of_leaf in zip(leaves, structure.paths):
                if not isinstance(leaf, _core.Tensor):
                    arrays.append(_frozen(leaf))
                    continue
                self.shared.append(by_identity.setdefault(id(leaf), len(self.shared)))
                if self.shared[-1] == len(self.shared) - 1:
                    self.outside.append(leaf)
                    self._outside_paths = getattr(self, "_outside_paths", [])
                    self._outside_paths.append("outside." + ".".join(filter(None, (path, of_leaf))))
            self.arrays += arrays
            self._found[path] = (structure, *arrays)
        self.leaves = self.leaves + self.outside

    def paths(self):
        self.look()
        outside = getattr(self, "_outside_paths", [])
        return [f"arg{path}" for path in self._arguments.paths] + [f"named.{path}" for path in self._named.paths] + outside

    def key(self):
        """What makes it another one to be recorded."""
        self.look()
        self._arguments._expect_hashable("f.arg")
        self._named._expect_hashable("f.named")
        numbers = tuple(self._numbers.items())
        if self.reach is _NO_REACH:
            return self._arguments, self._named, numbers
        if self.reach.opaque is None:
            self._expect_hashable_outside()
        if self.reach.opaque is not None:
            self.jitted._run_by_host(self.reach.opaque)
            self.leaves = None
            return self.key()
        return (self._arguments, self._named, numbers, tuple(self._found.items()), tuple(self.shared), tuple(self.reach.kinds))

    def _expect_hashable_outside(self):
        for path, (structure, *_) in self._found.items():
            try:
                structure._expect_hashable(path)
            except errors.TypeError as error:
                self.reach.opaque = str(error).split("\n")[0]
                return

    # ---- The host code.

    def host(self, given):
        """The function of these leaves: the leaves of what it gives, and what makes the result of them."""
        self.look()
        if self._snapshot is not None:
            self._snapshot.restore()
        elif self.reach is not _NO_REACH:
            self._snapshot = Snapshot(self.reach)
        self.has_run = True
        try:
            return self._run(given, as_numbers=False)
        except Exception as error:  # noqa: BLE001: host code may not know sizes that are symbols
            if isinstance(error, errors.Error) or not self._has_symbols(given):
                raise
            if self._snapshot is not None:
                self._snapshot.restore()
            return self._run(given, as_numbers=True)

    def _has_symbols(self, given):
        return any(isinstance(size, _core.Dim) for each in given[:len(self.leaves) - len(self.outside)] if each.ndim == 2
                   for size in each.shape[:1]) and bool(self._numbers)

    def _run(self, given, as_numbers):
        leaves, lent = iter(given), given[len(given) - len(self.outside):]
        arguments = self._arguments.unflatten(itertools.islice(leaves, len(self._arguments)))
        named = self._named.unflatten(itertools.islice(leaves, len(self._named)))

        def number(place, value):
            if place not in self._numbers:
                return value
            size = int(value.shape[0]) if as_numbers else value.shape[0]
            return size if self._numbers[place] == 1 else -size

        arguments = tuple(number(i, each) for i, each in enumerate(arguments))
        named = {name: number(name, each) for name, each in named.items()}
        expect_unchanged = handed((arguments, named), self.jitted._name, ("arg", "named."))
        with _Lending(self.outside, lent):
            result = self.jitted._called(*self.first, *arguments, **named)
            expect_unchanged(result)
            leaves, structure, numbers = _results(result)
            writes, written = self._writes(lent, result)
        return leaves + written, _Finish(structure, numbers, writes) if writes or numbers else structure

    def _writes(self, lent, result):
        """What was changed outside; where that cannot be done again the host code is run from here on."""
        if self._snapshot is None:
            return (), []
        content = {id(tensor): given for tensor, given in zip(self.outside, lent)}
        writes, written, refused = self._snapshot.changes(content)
        if refused is not None:
            self.jitted._run_by_host(refused)
            return (), []
        return tuple(writes), _results(written)[0]

    def remember(self, key, donated):
        """Has the next call of the kind recognised at a glance."""
        if self.reach is _NO_REACH:
            dicts, shared, arrays = [], [], []
        else:
            dicts, shared, arrays = self.reach.attribute_dicts(), self.shared, self.arrays
        self.jitted._cache.remember(self.first, self._sample(self.given), self._sample(self.named), self.reach.functions,
                                    self.reach.places, dicts, shared, arrays, _agree, key, donated)

    @staticmethod
    def _sample(arguments):
        """The arguments, with tensors in place of floats."""
        def tensor(value):
            return asarray(value) if isinstance(value, (float, complex)) else value

        return ({name: tensor(value) for name, value in arguments.items()} if isinstance(arguments, dict) else
                tuple(map(tensor, arguments)))


_NO_REACH = Reach([])


def _constants_in(arguments):
    """(path, holder, key) of what is handed over as a constant, and may be entered."""
    found, holder = [], []

    def visit(value, path):
        if isinstance(value, _core.Tensor) or type(value) in (bool, int, float, complex, str, bytes, type(None)):
            return
        children = _core._children(value)
        if children is None:
            if not hasattr(value, "__array_interface__"):
                holder.append(value)
                found.append((path, holder, value))
            return
        if type(value) not in (list, tuple, dict):
            holder.append(type(value))
            found.append((f"{path}'s class", holder, type(value)))
        for name, child in children:
            visit(child, f"{path}.{name}" if path else str(name))

    visit(arguments, "")
    constants = tuple(holder)
    return [(path, constants, i) for i, (path, *_) in enumerate(found)]


class Jitted:
    """What jit gives."""

    _is_jitted = True  # for who looks into it (host_reach.py)

    def __init__(self, function, *, donate, **options):
        functools.update_wrapper(self, function, updated=())
        self._called = unwrapped(function)
        self._holder = {"function": self._called}
        self._donate = (donate,) if isinstance(donate, (int, str)) else tuple(donate)
        self._name = options["name"]
        self._most_structures = options["most_structures"]
        self._cache = _core._Jit(**options, donates=bool(self._donate))
        self._by_host = None  # why its host code is run at each call, where that is so
        self._records = collections.OrderedDict()  # keys that were seen
        self._times = collections.Counter()  # how often each argument or value outside has made another record
        self._warned = set()

    def __call__(self, *arguments, **named):
        return self._call((), arguments, named)

    def _call(self, first, arguments, named):
        _Lending.wait()
        call = _Call(self, first, arguments, named)
        result = self._cache.again(first, arguments, named, call)
        return self._at_first(call) if result is NotImplemented else result

    def _at_first(self, call):
        key = self._key_of(call)
        donated = self._donated(call) if self._donate else []
        result = self._cache.run(key, call.leaves, call, call.reach.places, self._by_host is not None, donated)
        if not call.has_run:
            call.remember(key, donated)
        return result

    def _key_of(self, call):
        key = call.key()
        if key not in self._records:
            self._warn_of(call.reach.lines)
            self._note_record(key)
            if self._by_host is not None and call.reach is not _NO_REACH:  # since it has differed too often
                call.leaves = None
                key = call.key()
        self._records[key] = None
        self._records.move_to_end(key)
        if len(self._records) > self._most_structures:
            self._records.popitem(last=False)
        return key

    def _note_record(self, key):
        """Counts what it is that differs from the last call."""
        if not self._records:
            return
        for name, is_outside in _differences(next(reversed(self._records)), key):
            self._times[name] += 1
            if self._times[name] != _MOST_RECORDS_FOR_ONE:
                continue
            if is_outside:
                self._run_by_host(f"{name} has differed {_MOST_RECORDS_FOR_ONE} times")
            else:
                self._warn(f"{self._name} has been recorded {_MOST_RECORDS_FOR_ONE} times for other values of {name}\n"
                           "  hint: hand over a tensor or a float, whose value does not count")

    def _run_by_host(self, reason, is_said=False):
        if self._by_host is not None:
            return
        self._by_host = reason
        self._cache.forget()
        if not is_said:
            self._warn(f"{self._name} runs its host code at each call, since {reason}\n"
                       "  hint: hand such state over as an argument, and give it back; stats(f) says how calls were run")

    def _warn_of(self, lines):
        """Of calls whose result differs from call to call."""
        for what, file, line in lines:
            self._run_by_host(f"{what}() at {file}:{line} gives another value at each call", is_said=True)
            if (what, file, line) not in self._warned:
                self._warned.add((what, file, line))
                self._warn(f"{self._name} runs its host code at each call, since {what}() gives another value at each\n"
                           "  hint: draw by plait.random, or hand the value over as an argument", file, line)

    def _warn(self, message, file=None, line=None):
        """At a line of the user's: by default where the function begins."""
        code = getattr(getattr(self._called, "__func__", self._called), "__code__", None)
        if file is None and code is not None:
            file, line = code.co_filename, code.co_firstlineno
        warnings.warn_explicit(message, errors.HostStateWarning, file or self._name, line or 1)

    def _donated(self, call):
        """Numbers of the leaves that are donated."""
        wanted = []
        for each in self._donate:
            given = call.named if isinstance(each, str) else range(len(call.given))
            if each not in given:
                raise errors.ValueError(f"{self._name}: argument {each} is to be donated, and there are "
                                        f"{len(call.given)} by place, and by name {sorted(call.named)}")
            wanted.append(f"named.{each}" if isinstance(each, str) else f"arg{each}")
        return [i for i, path in enumerate(call.paths())
                if any(path == each or path.startswith(each + ".") for each in wanted)]

    def __get__(self, owner, kind=None):
        return self if owner is None else _JittedMethod(self, owner)

    def stats(self):
        traces, hits, failed, host_runs, pieces, retraces, text = self._cache.stats()
        if self._by_host is not None:
            retraces += ((self._by_host, 1),)
            text += f"\n  its host code is run at each call, since {self._by_host}"
        return JitStats(traces, hits, failed, host_runs, pieces, retraces, text)


class _JittedMethod:
    """A jitted function of a class, of one of its objects: what that holds is state outside of the arguments."""

    def __init__(self, jitted, owner):
        self.__func__, self.__self__ = jitted, owner

    def __call__(self, *arguments, **named):
        return self.__func__._call((self.__self__,), arguments, named)

    def __getattr__(self, name):
        return getattr(self.__func__, name)


def _differences(earlier, later):
    """(name, whether it is outside of the arguments) of what differs between two keys."""
    for i, what in ((0, "its arguments"), (1, "its named arguments"), (2, "its arguments")):
        if earlier[i] != later[i]:
            yield what, False
    if len(earlier) != len(later) or len(later) < 4:
        return
    before, now = dict(earlier[3]), dict(later[3])
    for name in {**before, **now}:
        if before.get(name) != now.get(name):
            yield name, True


def _results(tree):
    """The leaves of what a function gives, its structure, and which leaves stand for whole numbers: sizes, which need not be
    known while it is recorded. Of items the numbers are taken."""
    leaves, structure = _core._flatten(tree, numbers=True)
    made = {}  # tensors of sizes, by identity

    def plain(leaf):
        if type(leaf) is _core.Dim:
            size = _core.add(leaf, _core.zeros((), dtype=_core.i64))
            return made.setdefault(id(size), size)
        return leaf._number() if isinstance(leaf, Item) else leaf

    if any(type(leaf) is _core.Dim or isinstance(leaf, Item) for leaf in leaves):
        tree = structure.unflatten([plain(leaf) for leaf in leaves])
    leaves, structure = flatten(tree)
    return [asarray(leaf) for leaf in leaves], structure, {i for i, leaf in enumerate(leaves) if id(leaf) in made}


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
