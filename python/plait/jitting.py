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
from .given import Handed
from .host_reach import Reach, unwrapped
from .host_state import Snapshot, source_of
from .items import Item
from .jit_arguments import FLOATS, Argument, Fixed, Needed, Origin, agree, frozen, sample, shared, weak
from .jit_fresh import Refused, standing_in
from .jit_results import Finish, results_of
from .jit_stats import JitStats, Reasons, differences
from .settling import settled
from .sizes import noting
from .sharing import distinct
from .static_values import keys_told_apart, told_apart
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


_UNSTEADY = "gives another value at each call", "draw by plait.random, or hand the value over as an argument"
_OUTSIDE = ("reads or changes what is outside of the program",
            "do it outside of the jitted function; what pl.callback does is done at every run of the record")
_MOST_RECORDS_FOR_ONE = 8  # of one argument or value outside, before that is reported


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


class _Call:
    """One call: its arguments, and what its function finds outside, looked at where that becomes needed."""

    leaves = None  # until it is looked at
    has_run = False  # whether the host code has
    has_written = False  # what the record says of state outside
    writes_into_trees = False
    written = {}  # tensors that the host code has put outside, by their numbers among the leaves
    _needed = None  # what was raised where host code needed the number of an argument
    _snapshot = None
    _is_refused = False  # what it gives or leaves behind cannot be made again
    _is_inside = False  # of what follows or records its arguments, and would not see what else it leaves behind

    def __init__(self, jitted, first, given, named):
        self.jitted, self.first, self.given, self.named = jitted, first, given, named

    def look(self):
        if self.leaves is not None:
            return
        self._exact, self.differs_more_than_seen = [], False
        # By path.
        self.arguments = {f"arg{i}": self._argument(f"arg{i}", each) for i, each in enumerate(self.given)}
        self.arguments |= {f"named.{name}": self._argument(name, each) for name, each in sorted(self.named.items())}
        self.leaves = [leaf for each in self.arguments.values() for leaf in each.leaves]
        self.arrays, self._found, self.reach = [], {}, _NO_REACH
        self._paths = [f"{name}.{path}" if path else name for name, each in self.arguments.items() for path in each.structure.paths]
        if self.jitted._by_host is None:
            self._look_outside()
        self.shared = shared(self.leaves)

    def _argument(self, name, value):
        try:
            argument = Argument(value)
        except RecursionError:
            raise NoTree(f"{name} holds itself") from None
        self._look_at_constants(name, argument.structure, value)
        return argument

    def _look_at_constants(self, name, structure, tree):
        """Adds to the key what equal values differ in. Sizes that are symbols belong to what is being recorded: a function that is
        given some is part of that record."""
        constants = [value for _, value in structure._objects()]
        if any(type(value) is _core.Dim for value in constants):
            raise NoTree("")
        found, keys = told_apart(constants), keys_told_apart(tree)
        self.differs_more_than_seen = self.differs_more_than_seen or bool(found)
        if found or keys:
            self._exact.append((f"{name}, as told apart", (found, keys)))

    def _look_outside(self):
        roots = [("", self.jitted._holder, "function")]
        roots += [("self" if i == 0 else f"first {i}", self.first, i) for i in range(len(self.first))]
        self.reach = Reach(roots, {name: each.value for name, each in self.arguments.items()})
        for path, found in self.reach.values.items() if self.reach.opaque is None else ():
            leaves, structure = flatten(found.value)
            self._look_at_constants(f"outside.{path}", structure, found.value)
            arrays = []
            for leaf, of_leaf in zip(leaves, structure.paths):
                if isinstance(leaf, _core.Tensor):
                    self.leaves.append(leaf)
                    self._paths.append("outside." + (f"{path}.{of_leaf}" if of_leaf else path))
                else:
                    arrays.append(frozen(leaf))
            self.arrays += arrays
            self._found[path] = (structure, *arrays)

    def expect_inside(self):
        self._is_inside = _core._is_tracing() or _core._is_followed([leaf for leaf in self.leaves if type(leaf) is _core.Tensor])

    def paths(self):
        self.look()
        return self._paths

    def key(self):
        """(name, value) of all that makes it another one to be recorded."""
        self.look()
        for name, each in self.arguments.items():
            each.structure._expect_hashable(f"f.{name}")
        arguments = tuple((name, each.key) for name, each in self.arguments.items())
        arguments += (("tensors that are one", self.shared),) if self.shared else ()
        arguments += (("the order of named arguments", tuple(self.named)),) if self._has_order() else ()
        if self.reach is _NO_REACH:
            return (*arguments, *self._exact)
        opaque = self.reach.opaque or self._unhashable_outside()
        if opaque is not None:
            self.jitted._run_by_host(opaque)
            self.leaves = None
            return self.key()
        outside = tuple((f"outside.{path}", found[0] if len(found) == 1 else found) for path, found in self._found.items())
        return *arguments, *self._exact, *outside, ("code", tuple(self.reach.kinds)), ("objects that are one", tuple(self.reach.pattern))

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
        is_as_it_is = given and not self.has_run and self.jitted._runs_as_it_is(given)
        self.has_run = True
        try:
            result = self._run(given, as_numbers=False)
            self.jitted._reasons.as_it_is += bool(is_as_it_is)
            return result
        except Exception as error:  # noqa: BLE001: host code may not know numbers that are symbols
            return self._run_with_numbers(given, error)

    def _run_with_numbers(self, given, error):
        """The same where that has failed, with numbers in the place of floats, whole numbers or all sizes that are symbols."""
        places = itertools.accumulate((len(each.leaves) for each in self.arguments.values()), initial=0)
        symbols = [(name, each) for (name, each), place in zip(self.arguments.items(), places) if each.is_recorded(given, place)]
        floats = {name for name, each in symbols if each.is_weak and self.jitted._modes.get(name) is None}
        if floats:
            raise Needed(self, floats, is_certain=False)
        if isinstance(error, errors.Error):
            raise error
        if any(each.sign for _, each in symbols):
            self.take_back()
            try:
                return self._run(given, as_numbers=True)
            except Exception as again:  # noqa: BLE001: likewise
                error = again
        if not self.jitted._fullgraph and any(type(size) is _core.Dim for leaf in given for size in leaf.shape):
            raise NeedsSizes(error)
        error.args = settled(error.args)
        raise error

    def need(self, names):
        """Called where host code needs the number of a float among the arguments."""
        if any(self.jitted._modes.get(name) is None for name in names):
            self._needed = Needed(self, names)
            raise self._needed

    def take_back(self):
        if self._snapshot is not None:
            self._snapshot.restore()

    def _run(self, given, as_numbers):
        each_of, copies = iter(given), _core._HandedCopies()
        handed_over, made = {}, []
        for name, each in self.arguments.items():
            origin = Origin(self, frozenset([name])) if each.is_weak else None
            handed_over[name] = each.of(list(itertools.islice(each_of, len(each.leaves))), as_numbers, copies, origin)
            if isinstance(handed_over[name], Handed):
                made.append(handed_over[name])
                handed_over[name] = made[-1].tree
        lent = {id(leaf): (leaf, content) for leaf, content in reversed(list(zip(self.leaves, given)))
                if isinstance(leaf, _core.Tensor) and not _core._is_same(leaf, content)}
        arguments = [handed_over[f"arg{i}"] for i in range(len(self.given))]
        named = {name: handed_over[f"named.{name}"] for name in self.named}
        with _Lending(lent.values()), noting(self.jitted._reasons.places):
            result = self.jitted._called(*self.first, *arguments, **named)
            if self._needed is not None:  # and host code has caught what was raised
                raise self._needed
            for each in made:
                each.expect_unchanged(self.jitted._name, result)
            writes, written = self._writes({key: content for key, (_, content) in lent.items()})
            leaves, structure, numbers, given = results_of(result, self._with_stand_ins)
            if self._is_refused and self._is_inside:
                raise ByHost
            once = distinct(leaves + written)
            self.written = dict(zip(once.places[len(leaves):], written))
            leaves = [leaf._share() for leaf in once.values]  # what it holds now
        is_plain = not writes and not numbers and not given and len(once.values) == len(structure)
        return leaves, structure if is_plain else Finish(structure, once, numbers, given, writes)

    def _with_stand_ins(self, result):
        """Where it holds an object that nobody can make again the host code is run from here on."""
        if self._snapshot is None or self._is_refused:
            return result
        try:
            return standing_in(result, self._source_of)
        except Refused as refused:
            where, what = refused.args
            self._refuse(f"its result holds {what}{where and ' at ' + where}, which is made anew at each call")
            return result

    def _source_of(self, value):
        """Where an object was before the call, as writes tell it; None if it was not there."""
        return source_of(value, self.reach, {name: each.value for name, each in self.arguments.items()})

    def _refuse(self, reason):
        self._is_refused = True
        self.jitted._run_by_host(reason)

    def _writes(self, lent):
        """What was changed outside; where that cannot be done again the host code is run from here on."""
        if self._snapshot is None:
            return (), []
        writes, written, refused = self._snapshot.changes(lent)
        if refused is not None:
            self._refuse(refused)
            return (), []
        return tuple(writes), results_of(written)[0]

    def value_at(self, place):
        """What is at a place that a write names: an argument, by name, or one outside."""
        if place.startswith("named."):
            return self.named[place[len("named."):]]
        return self.given[int(place[len("arg"):])]

    def remember(self, key, donated):
        """Has the next call of the kind recognised at a glance."""
        dicts = self.reach.attribute_dicts()
        shared = [i for pair in self.shared for i in pair]
        named = {name: sample(each) for name, each in sorted(self.named.items())}
        self.jitted._cache.remember(self.first, tuple(map(sample, self.given)), named,
                                    self.reach.functions, self.reach.places, dicts, shared, self.arrays, agree, key, donated)


_NO_REACH = Reach([])


class NeedsSizes(errors.ValueError):
    """Host code failed with sizes that are symbols: it is recorded with numbers, or raises the same again."""

    def __init__(self, error):
        super().__init__(f"{type(error).__name__}: {error}")
        self.message, self.error = str(self), error


class ByHost(BaseException):
    """What a call inside of another transform gives or leaves behind cannot be made again: it is run by its host code."""


_RUNNING_LATER = inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction


class NoTree(Exception):
    """An argument has no leaves and no structure, or there is nothing to be recorded of a function: it is called as it is. With
    the reason, where a warning says so."""


class Jitted:
    """What jit gives."""

    _is_jitted = True  # for who looks into it (host_reach.py)

    def __init__(self, function, *, donate, **options):
        functools.update_wrapper(self, function, updated=())
        self._called = unwrapped(function)
        self._holder = {"function": self._called}
        self._runs_later = any(is_one(self._called) for is_one in _RUNNING_LATER)
        self._donate = (donate,) if isinstance(donate, (int, str)) else tuple(donate)
        self._name, self._options = options["name"], options
        self._most_structures, self._fullgraph = options["most_structures"], options["fullgraph"]
        self._cache = _core._Jit(**options, donates=bool(self._donate))
        self._by_host = None  # why its host code is run at each call, where that is so
        self._records, self._latest = {}, None  # keys that were seen, in order, and the last one
        self._times = collections.Counter()  # how often each argument or value outside has made another record
        self._warned, self._reasons = set(), Reasons()
        self._modes = {}  # by name of a float among the arguments: "constant" where host code needs its number, "read" where too often

    def __call__(self, *arguments, **named):
        return self._call((), arguments, named)

    def _call(self, first, arguments, named):
        _Lending.wait()
        try:
            if self._runs_later:
                raise NoTree("it is a generator or a coroutine, whose code runs after the call")
            if not FLOATS.isdisjoint(map(type, arguments)) or named and not FLOATS.isdisjoint(map(type, named.values())):
                return self._call_with_floats(first, arguments, named)
            return self._call_of(_Call(self, first, arguments, named))
        except NoTree as refused:
            reason = str(refused)
        return self._call_as_it_is(reason, first, arguments, named)

    def _call_as_it_is(self, reason, first, arguments, named):
        if reason and reason not in self._warned:
            self._warn_of_host_code(reason)
            self._warned.add(reason)
        return self._called(*first, *arguments, **named)

    def _call_of(self, call):
        try:
            result = self._cache.again(call.first, call.given, call.named, call)
            return self._at_first(call) if result is NotImplemented else result
        except NeedsSizes as refused:
            raise refused.error from None

    def _call_with_floats(self, first, arguments, named):
        given = tuple(self._handed(f"arg{i}", each) for i, each in enumerate(arguments))
        call = _Call(self, first, given, {name: self._handed(f"named.{name}", each) for name, each in named.items()})
        try:
            return self._call_of(call)
        except Needed as raised:
            if raised.owner is not call:
                raise
            needed = raised
        # Outside of the handler: what is raised now does not speak of it.
        call.take_back()
        earlier = dict(self._modes)
        self._modes.update(dict.fromkeys(needed.names, "constant"))
        try:
            return self._call_with_floats(first, arguments, named)
        except Exception:
            if not needed.is_certain:
                self._modes = earlier
            raise

    def _handed(self, name, value):
        if type(value) not in FLOATS or (type(value) is Item and value._kind in ("boolean", "integer")):
            return value
        if self._modes.get(name) != "constant" or (self._by_host is not None and type(value) is not Item):
            return weak(value)
        return Fixed(value._number() if type(value) is Item else value)

    def _at_first(self, call):
        key = self._key_of(call)
        donated = self._donated(call) if self._donate else []
        call.expect_inside()
        try:
            result = self._cache.run(key, call.leaves, call, call.reach.places, self._by_host is not None, donated)
        except ByHost:
            call.take_back()
            return self._call_of(_Call(self, call.first, call.given, call.named))
        if call.has_run:
            return result
        # What a glance does not see: which lists are one, how objects compare, in which order arguments were named.
        if call.writes_into_trees or call.reach.has_own_equality or call.differs_more_than_seen or call._has_order():
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
        self._records.pop(key, None)
        self._records[key], self._latest = None, key
        if len(self._records) > self._most_structures:  # made anew: hashes of the user's objects may have changed
            self._records = dict.fromkeys(list(self._records)[1:])
        return key

    def _note_record(self, key):
        """Counts what it is that differs from the last call."""
        earlier = self._latest
        if earlier is None:
            return
        names = differences(earlier, key)
        self._reasons.note(earlier, key, names)
        for name in names:
            self._times[name] += 1
            if self._times[name] != _MOST_RECORDS_FOR_ONE:
                continue
            if self._modes.get(name) == "constant":
                self._modes[name] = "read"
                self._warn(f"{self._name} runs its host code for other values of {name}, since it needs its number and that has differed "
                           f"{_MOST_RECORDS_FOR_ONE} times\n  hint: make it a tensor")
            elif name.startswith("outside."):
                self._run_by_host(f"{name.removeprefix('outside.')} has differed {_MOST_RECORDS_FOR_ONE} times")
            elif name.startswith(("arg", "named.")):
                self._warn(f"{self._name} has been recorded {_MOST_RECORDS_FOR_ONE} times for other values of {name}\n"
                           "  hint: make what differs a tensor, or an argument of its own that is a number: these values do not count")

    def _run_by_host(self, reason, is_said=False):
        if self._by_host is not None:
            return
        self._warn_of_host_code(reason, is_said)
        self._by_host = reason
        self._cache.forget()

    def _warn_of_host_code(self, reason, is_said=False):
        if self._fullgraph:
            raise errors.ValueError(f"{self._name}: {reason}: its host code would be run at each call, which `fullgraph` rules out\n"
                                    "  hint: hand such state over as an argument, and give it back")
        if not is_said:
            self._warn(f"{self._name} runs its host code at each call, since {reason}\n"
                       "  hint: hand such state over as an argument, and give it back; stats(f) says how calls were run")

    def _warn_of(self, lines):
        """Of calls whose result differs from call to call, or that reach what is outside of the program."""
        for what, kind, file, line in lines:
            reason, hint = _UNSTEADY if kind == "value" else _OUTSIDE
            self._run_by_host(f"{what} at {file}:{line} {reason}", is_said=True)
            if (what, file, line) not in self._warned:
                self._warned.add((what, file, line))
                self._warn(f"{self._name} runs its host code at each call, since {what} {reason}\n  hint: {hint}", file, line)

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

    def _runs_as_it_is(self, given):
        """Whether the host code runs on tensors, for other reasons than that it was asked for."""
        return self._by_host is None and not self._options["disable"] and not any(leaf.is_traced for leaf in given)

    def stats(self):
        traces, hits, failed, host_runs, pieces, retraces, text = self._cache.stats()
        retraces = tuple((self._reasons.reworded(why), times) for why, times in retraces)
        text = self._reasons.reworded(text)
        if self._by_host is not None:
            retraces += ((self._by_host, 1),)
            text += f"\n  its host code is run at each call, since {self._by_host}"
        return JitStats(traces, hits, failed, host_runs, pieces, retraces, text)


def _jitted_again(function, donate, options):
    return Jitted(function, donate=donate, **options)


class _JittedMethod:
    """A jitted function of a class, of one of its objects: what that holds is state outside of the arguments."""

    def __init__(self, jitted, owner):
        self.__func__, self.__self__ = jitted, owner

    def __call__(self, *arguments, **named):
        return self.__func__._call((self.__self__,), arguments, named)

    def __getattr__(self, name):
        return getattr(self.__func__, name)


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
    if not callable(getattr(function, "stats", None)):
        raise errors.TypeError(f"stats: expected what jit gives, not {type(function).__name__}")
    return function.stats()
