"""jit(f): a function that is recorded once and then run from the record (docs/jit.md)."""

import collections
import copy
import dataclasses
import functools
import inspect
import itertools
import threading
import warnings

from . import _core, errors
from .applied import Applied, is_tree
from .given import Handed
from .host_reach import Reach, unwrapped
from .host_state import Snapshot, without_sizes
from .interop import asarray
from .items import Item
from .later import Later
from .sharing import distinct
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

    def __init__(self, structure, once, numbers, writes):
        self.structure, self._once, self._numbers, self._writes = structure, once, numbers, writes

    def finish(self, leaves, places, call):
        count = len(self._once.values)
        # Where the host code has run its own writes are there, but for derivatives that go through.
        if self._writes and (not call.has_run or _core._is_followed(leaves)):
            written = iter(leaves[count:])
            values = [write.value(places, call, list(itertools.islice(written, write.count))) for write in self._writes]
            for write, value in zip(self._writes, values):
                write.again(places, call, value)
            call.has_written = True
            call.writes_into_trees = any(write.names is not None for write in self._writes)
        results = self._once.spread(leaves[:count])
        return self.structure.unflatten([each.item() if i in self._numbers else each for i, each in enumerate(results)])


class _Lending:
    """While one is there, tensors hold what is recorded instead of them. Other threads that call jitted functions wait."""

    _lock = threading.RLock()
    thread = None  # which has lent some

    def __init__(self, lent):
        self._lent = list(lent)  # (tensor, content)

    def __enter__(self):
        if self._lent:
            self._lock.acquire()
            self._earlier, _Lending.thread = _Lending.thread, threading.get_ident()
            self._own = [_core._exchange(tensor, content) for tensor, content in self._lent]
        return self

    def __exit__(self, *_):
        if not self._lent:
            return
        for (tensor, content), own in zip(self._lent, self._own):
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


class _Argument:
    """One of a call: its leaves, and what it is for the host code."""

    def __init__(self, value):
        self.value, self.sign = value, _core._whole_number(value)
        if isinstance(value, (float, complex)):  # numbers among the arguments themselves count as tensors
            self.leaves, self.structure, self.is_own = [asarray(value)], _LEAF, False
        elif self.sign != 0:  # whole ones are handed over as sizes
            self.leaves, self.structure, self.is_own = [_core._size_argument(value)], _LEAF, False
        else:
            self.leaves, self.structure = flatten(value)
            # Else there are arrays of NumPy, in whose place are tensors: the host code has a copy.
            self.is_own = all(type(leaf) is _core.Tensor for leaf in self.leaves)

    def of(self, given, as_numbers, copies):
        """With these leaves, which its own tensors hold already where it is handed over as it is."""
        if self.is_own:
            return self.value
        if self.sign == 0:
            return Handed(self.structure, [copies.add(leaf) for leaf in given])
        size = int(given[0].shape[0]) if as_numbers else given[0].shape[0]
        return size if self.sign == 1 else -size


class _Call:
    """One call: its arguments, and what its function finds outside, looked at where that becomes needed."""

    def __init__(self, jitted, first, given, named):
        self.jitted, self.first, self.given, self.named = jitted, first, given, named
        self.leaves = None  # until it is looked at
        self.has_run = False  # whether the host code has
        self.has_written = False  # what the record says of state outside
        self.writes_into_trees = False
        self._snapshot = None

    def look(self):
        if self.leaves is not None:
            return
        # By path.
        self.arguments = {f"arg{i}": _Argument(each) for i, each in enumerate(self.given)}
        self.arguments |= {f"named.{name}": _Argument(each) for name, each in sorted(self.named.items())}
        self.leaves = [leaf for each in self.arguments.values() for leaf in each.leaves]
        self.arrays, self._found, self.reach = [], {}, _NO_REACH
        self._paths = [f"{name}.{path}" if path else name for name, each in self.arguments.items() for path in each.structure.paths]
        if self.jitted._by_host is None:
            self._look_outside()
        self.shared = _shared(self.leaves)

    def _look_outside(self):
        roots = [("", self.jitted._holder, "function")]
        roots += [("self" if i == 0 else f"first {i}", self.first, i) for i in range(len(self.first))]
        self.reach = Reach(roots, {name: each.value for name, each in self.arguments.items()})
        for path, found in self.reach.values.items():
            leaves, structure = flatten(found.value)
            arrays = []
            for leaf, of_leaf in zip(leaves, structure.paths):
                if isinstance(leaf, _core.Tensor):
                    self.leaves.append(leaf)
                    self._paths.append("outside." + (f"{path}.{of_leaf}" if of_leaf else path))
                else:
                    arrays.append(_frozen(leaf))
            self.arrays += arrays
            self._found[path] = (structure, *arrays)

    def paths(self):
        self.look()
        return self._paths

    def key(self):
        """(name, value) of all that makes it another one to be recorded."""
        self.look()
        for name, each in self.arguments.items():
            each.structure._expect_hashable(f"f.{name}")
        arguments = tuple((name, (each.structure, each.sign) if each.sign else each.structure) for name, each in self.arguments.items())
        arguments += (("tensors that are one", self.shared),) if self.shared else ()
        arguments += (("the order of named arguments", tuple(self.named)),) if self._has_order() else ()
        if self.reach is _NO_REACH:
            return arguments
        opaque = self.reach.opaque or self._unhashable_outside()
        if opaque is not None:
            self.jitted._run_by_host(opaque)
            self.leaves = None
            return self.key()
        outside = tuple((f"outside.{path}", found[0] if len(found) == 1 else found) for path, found in self._found.items())
        return *arguments, *outside, ("code", tuple(self.reach.kinds)), ("objects that are one", tuple(self.reach.pattern))

    def _has_order(self):
        """Whether the function sees in which order arguments were named."""
        code = getattr(getattr(self.jitted._called, "__func__", self.jitted._called), "__code__", None)
        return len(self.named) > 1 and (code is None or bool(code.co_flags & inspect.CO_VARKEYWORDS))

    def _unhashable_outside(self):
        for path, (structure, *_) in self._found.items():
            try:
                structure._expect_hashable(path)
            except errors.TypeError as error:
                return str(error).split("\n")[0]
        return None

    # ---- The host code.

    def host(self, given):
        """The function of these leaves: the leaves of what it gives, and what makes the result of them."""
        self.look()
        if self._snapshot is not None:
            self._snapshot.restore()
        elif self.reach is not _NO_REACH:
            self._snapshot = Snapshot(self.reach, {name: each.value for name, each in self.arguments.items() if each.is_own})
        self.has_run = True
        try:
            return self._run(given, as_numbers=False)
        except Exception as error:  # noqa: BLE001: host code may not know sizes that are symbols
            if isinstance(error, errors.Error) or not self._takes_symbols(given):
                raise
            if self._snapshot is not None:
                self._snapshot.restore()
            return self._run(given, as_numbers=True)

    def _takes_symbols(self, given):
        """Whether a whole number among the arguments is a symbol."""
        places = itertools.accumulate((len(each.leaves) for each in self.arguments.values()), initial=0)
        return any(each.sign and type(given[place].shape[0]) is _core.Dim for place, each in zip(places, self.arguments.values()))

    def _run(self, given, as_numbers):
        each_of, copies = iter(given), _core._HandedCopies()
        handed_over, made = {}, []
        for name, each in self.arguments.items():
            handed_over[name] = each.of(list(itertools.islice(each_of, len(each.leaves))), as_numbers, copies)
            if isinstance(handed_over[name], Handed):
                made.append(handed_over[name])
                handed_over[name] = made[-1].tree
        lent = {id(leaf): (leaf, content) for leaf, content in reversed(list(zip(self.leaves, given)))
                if isinstance(leaf, _core.Tensor) and not _core._is_same(leaf, content)}
        arguments = [handed_over[f"arg{i}"] for i in range(len(self.given))]
        named = {name: handed_over[f"named.{name}"] for name in self.named}
        with _Lending(lent.values()):
            result = self.jitted._called(*self.first, *arguments, **named)
            for each in made:
                each.expect_unchanged(self.jitted._name, result)
            leaves, structure, numbers = _results(result)
            once = distinct(leaves)
            writes, written = self._writes({key: content for key, (_, content) in lent.items()})
            leaves = [leaf._share() for leaf in once.values + written]  # what it holds now
        is_plain = not writes and not numbers and len(once.values) == len(structure)
        return leaves, structure if is_plain else _Finish(structure, once, numbers, writes)

    def _writes(self, lent):
        """What was changed outside; where that cannot be done again the host code is run from here on."""
        if self._snapshot is None:
            return (), []
        writes, written, refused = self._snapshot.changes(lent)
        if refused is not None:
            self.jitted._run_by_host(refused)
            return (), []
        return tuple(writes), _results(written)[0]

    def value_at(self, place):
        """What is at a place that a write names: an argument, by name, or one outside."""
        if place.startswith("named."):
            return self.named[place[len("named."):]]
        return self.given[int(place[len("arg"):])]

    def remember(self, key, donated):
        """Has the next call of the kind recognised at a glance."""
        dicts = self.reach.attribute_dicts()
        shared = [i for pair in self.shared for i in pair]
        named = {name: _sample(each) for name, each in sorted(self.named.items())}
        self.jitted._cache.remember(self.first, tuple(map(_sample, self.given)), named,
                                    self.reach.functions, self.reach.places, dicts, shared, self.arrays, _agree, key, donated)


def _shared(leaves):
    """(number, that of the first) for each leaf that is the same object as one before."""
    first = {}
    return tuple((i, at) for i, leaf in enumerate(leaves) if (at := first.setdefault(id(leaf), i)) != i)


def _sample(argument):
    """A tensor in place of a float."""
    return asarray(argument) if isinstance(argument, (float, complex)) else argument


_LEAF = _core.Structure()
_NO_REACH = Reach([])


class Jitted:
    """What jit gives."""

    _is_jitted = True  # for who looks into it (host_reach.py)

    def __init__(self, function, *, donate, **options):
        functools.update_wrapper(self, function, updated=())
        self._called = unwrapped(function)
        self._holder = {"function": self._called}
        self._donate = (donate,) if isinstance(donate, (int, str)) else tuple(donate)
        self._name, self._options = options["name"], options
        self._most_structures, self._fullgraph = options["most_structures"], options["fullgraph"]
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
        if call.has_run:
            return result
        # What a glance does not see: which lists are one, how objects compare, in which order arguments were named.
        if call.writes_into_trees or call.reach.has_own_equality or call._has_order():
            return result
        if call.has_written:  # it is remembered as it is now
            call = _Call(self, call.first, call.given, call.named)
            if call.key() != key:
                return result
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
        for name in _differences(next(reversed(self._records)), key):
            self._times[name] += 1
            if self._times[name] != _MOST_RECORDS_FOR_ONE:
                continue
            if name.startswith("outside."):
                self._run_by_host(f"{name.removeprefix('outside.')} has differed {_MOST_RECORDS_FOR_ONE} times")
            elif name.startswith(("arg", "named.")):
                self._warn(f"{self._name} has been recorded {_MOST_RECORDS_FOR_ONE} times for other values of {name}\n"
                           "  hint: make what differs a tensor, or an argument of its own that is a number: these values do not count")

    def _run_by_host(self, reason, is_said=False):
        if self._by_host is not None:
            return
        if self._fullgraph:
            raise errors.ValueError(f"{self._name}: {reason}: its host code would be run at each call, which `fullgraph` rules out\n"
                                    "  hint: hand such state over as an argument, and give it back")
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
            if each not in (call.named if isinstance(each, str) else range(len(call.given))):
                raise errors.ValueError(f"{self._name}: argument {each} is to be donated, and there are "
                                        f"{len(call.given)} by place, and by name {sorted(call.named)}")
            wanted.append(f"named.{each}" if isinstance(each, str) else f"arg{each}")
        return [i for i, path in enumerate(call.paths())
                if any(path == each or path.startswith(each + ".") for each in wanted)]

    def __get__(self, owner, kind=None):
        return self if owner is None else _JittedMethod(self, owner)

    def __deepcopy__(self, memo):
        """Of a model that holds it: that of the copy, with nothing recorded yet."""
        return _jitted_again(copy.deepcopy(self._called, memo), self._donate, self._options)

    def __reduce__(self):
        return _jitted_again, (self._called, self._donate, self._options)

    def stats(self):
        traces, hits, failed, host_runs, pieces, retraces, text = self._cache.stats()
        if self._by_host is not None:
            retraces += ((self._by_host, 1),)
            text += f"\n  its host code is run at each call, since {self._by_host}"
        return JitStats(traces, hits, failed, host_runs, pieces, retraces, text)


def _jitted_again(function, donate, options):
    return Applied(function, _Records(donate, options)) if is_tree(function) else Jitted(function, donate=donate, **options)


class _JittedMethod:
    """A jitted function of a class, of one of its objects: what that holds is state outside of the arguments."""

    _is_bound = True  # for who looks into it (given.py)

    def __init__(self, jitted, owner):
        self.__func__, self.__self__ = jitted, owner

    def __call__(self, *arguments, **named):
        return self.__func__._call((self.__self__,), arguments, named)

    def __getattr__(self, name):
        return getattr(self.__func__, name)


class _Records:
    """What jit of a Module, or of another tree that can be called, has besides its tree. What is made of it, the model after a
    step of training, has the same. Those with the same options are alike, so that models go together."""

    name = "jit"

    def __init__(self, donate, options):
        self._told = donate, options
        self.jitted = Jitted(_called_tree, donate=donate, **options)

    def call(self, tree, arguments, named):
        return self.jitted._call((tree,), arguments, named)

    def __eq__(self, other):
        return isinstance(other, _Records) and other._told == self._told

    def __hash__(self):
        return hash(repr(self._told))

    def __reduce__(self):
        return _Records, self._told


def _called_tree(tree, *arguments, **named):
    return tree(*arguments, **named)


def _differences(earlier, later):
    """Names of what differs between two keys."""
    before, now = dict(earlier), dict(later)
    return [name for name in {**before, **now} if name not in before or name not in now or before[name] != now[name]]


def _with_plain_sets(tree):
    """Sets are constants: sizes in them are numbers."""
    if isinstance(tree, (set, frozenset)):
        return without_sizes(tree)
    if type(tree) in (list, tuple):
        return type(tree)(map(_with_plain_sets, tree))
    return {name: _with_plain_sets(each) for name, each in tree.items()} if type(tree) is dict else tree


def _results(tree):
    """The leaves of what a function gives, its structure, and which leaves stand for whole numbers: sizes, which need not be
    known while it is recorded. Of items the numbers are taken."""
    tree = _with_plain_sets(tree)
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
    are donated, by numbers or by names; their tensors hold nothing afterwards. Of a Module it is a tree, whose weights
    are those of the Module."""
    options = dict(dynamic=tuple(dynamic), fullgraph=fullgraph, disable=disable, backend=backend, mode=mode,
                   most_ways=most_ways, most_structures=most_structures)
    if function is None:
        return lambda given: jit(given, name=name, donate=donate, **options)
    return _jitted_again(function, donate, {**options, "name": name or getattr(function, "__name__", "jitted")})


def stats(function):
    """How often a jitted function was recorded and run, and why it was recorded again.

    >>> double = plait.jit(lambda x: x * 2)
    >>> for size in 2, 2, 3: _ = double(plait.ones(size))
    >>> print(plait.stats(double))
    2 recorded, 1 hits, 0 guards failed, 0 runs of the host code
      the size arg0.0 is 3, and was 2
    """
    if isinstance(function, Applied) and isinstance(function.how, _Records):
        return function.how.jitted.stats()
    if not callable(getattr(function, "stats", None)):
        raise errors.TypeError(f"stats: expected what jit gives, not {type(function).__name__}")
    return function.stats()
