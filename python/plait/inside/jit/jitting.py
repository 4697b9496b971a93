"""jit(f): a function that is recorded once and then run from the record (docs/jit.md)."""

import collections
import copy
import dataclasses
import functools
import inspect
import itertools
import warnings

from plait import _core, errors
from plait.inside.arrays.items import Item
from plait.inside.jit.host_reach import unwrapped
from plait.inside.jit.jit_arguments import FLOATS, Fixed, Needed, weak
from plait.inside.jit.jit_call import NO_REACH, ByHost, Call, NeedsSizes, NoTree
from plait.inside.jit.jit_integers import differ_in_integers, sized
from plait.inside.jit.jit_stats import JitStats, Reasons, differences
from plait.inside.jit.lending import Lending
from plait.inside.transforms.applied import Applied, is_tree
from plait.inside.transforms.recording import Lost
from plait.inside.transforms.tracing import expect_budget


@dataclasses.dataclass(frozen=True)
class Dynamic:
    """A size that is a symbol from the first call on: the size along an axis of an argument's tensors, or only of its
    leaf `leaf` ("blocks.0.weight"). Sizes with the same name are equal.

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


_UNSTEADY = "returns a different value at each call", "use plait.random, or pass the value as an argument"
_OUTSIDE = ("reads or changes state outside of the program",
            "do it outside of the jitted function; plait.callback runs at every run of the record")
_ANYTHING = "can reach anything", "name what the function uses"
_BY_VALUE = "make it a tensor, or a separate argument that is a number: such values need no new record"
_BY_TYPE = "ask isinstance(x, int) instead of type(x): numbers whose type is not asked need no new record"
_MOST_NAMED = 3  # values in one warning
_MOST_RECORDS_FOR_ONE = 8  # records of one argument or value outside, before that is reported


_RUNNING_LATER = inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction


class Jitted:
    """The result of jit."""

    _is_jitted = True  # marks it for host_reach.py

    def __init__(self, function, *, donate, **options):
        functools.update_wrapper(self, function, updated=())
        self._called = unwrapped(function)
        self._holder = {"function": self._called}
        self._runs_later = any(is_one(self._called) for is_one in _RUNNING_LATER)
        self._donate = (donate,) if isinstance(donate, (int, str)) else tuple(donate)
        self._name, self._options = options["name"], options
        self._max_records, self._fullgraph = options["max_records"], options["fullgraph"]
        self._cache = _core._Jit(**options, donates=bool(self._donate))
        self.ran = {}  # by key: the code that ran while it was recorded
        self._by_host = None  # the reason if its host code runs at each call
        self._records, self._latest = {}, None  # earlier keys, in order, and the last one
        self._times = collections.Counter()  # how often each argument or value outside has caused another record
        self._warned, self._reasons = set(), Reasons()
        self.unrolled = 0  # the number of branches and loops that were found to change host state
        self.unloaded = set()  # modules that its code imports and that were not loaded at the last inspection
        # By name of an argument. Of a float: "constant" if host code needs its number, "read" if too often. Of a tuple, list or dict:
        # "sizes" if its integers have differed, "constant" if host code then changes it. Of all of them "exact" if host code calls type().
        self._modes = {}

    def __call__(self, *arguments, **named):
        return self._call((), arguments, named)

    def _call(self, first, arguments, named):
        Lending.wait()
        try:
            if self._runs_later:
                raise NoTree("it is a generator or a coroutine, whose code runs after the call")
            return self._call_recorded(first, arguments, named)
        except NoTree as refused:
            reason = str(refused)
        except errors.TypeError as error:
            if "which cannot be compared" not in str(error):
                raise
            reason = str(error).split("\n")[0]
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
        except Exception:
            if call.opaque_argument is not None and self._by_host == call.opaque_argument:
                self._by_host = None  # None for a call that fails; others have arguments that can be recorded
            raise

    def _call_recorded(self, first, arguments, named):
        call = Call(self, first, arguments, named)
        if self._modes or not FLOATS.isdisjoint(map(type, arguments)) or named and not FLOATS.isdisjoint(map(type, named.values())):
            call.given = tuple(self._handed(f"arg{i}", each) for i, each in enumerate(arguments))
            call.named = {name: self._handed(f"named.{name}", each) for name, each in named.items()}
        try:
            return self._call_of(call)
        except Needed as raised:
            if raised.owner is not call:
                raise
            needed = raised
        # Outside of the handler: errors raised now do not name it as their context.
        call.take_back()
        earlier = dict(self._modes)
        self._modes.update(dict.fromkeys(needed.names, needed.mode))
        try:
            return self._call_recorded(first, arguments, named)
        except Exception:
            if not needed.is_certain:
                self._modes = earlier
            raise

    def _handed(self, name, value):
        if self._modes.get(name) == "sizes" and isinstance(value, (tuple, list, dict)):
            return sized(value) or value
        if self._modes.get(name) == "exact" and self._by_host is None and type(value) is int:
            return Fixed(value)
        if type(value) not in FLOATS or (type(value) is Item and value._kind in ("boolean", "integer")):
            return value
        if self._modes.get(name) not in ("constant", "exact") or (self._by_host is not None and type(value) is not Item):
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
            return self._call_of(Call(self, call.first, call.given, call.named))
        except Lost as lost:
            if self._by_host is not None:
                raise
            call.take_back()
            self._run_by_host(f"{lost.place} is changed in place")
            return self._call_of(Call(self, call.first, call.given, call.named))
        if call.was_recorded:
            self._note_ran(key, call.reach.ran())
        if call.has_run:
            return result
        # Not part of the quick comparison: identities of lists, equality of objects, the order of keyword arguments.
        if call.writes_into_trees or call.reach.has_own_equality or call.differs_more_than_seen or call._has_order():
            return result
        if call.has_written:  # the state is remembered after the writes
            call = Call(self, call.first, call.given, call.named)
            if call.key() != key:
                return result
        call.remember(key, donated)
        return result

    def _note_ran(self, key, codes):
        """Notes for a record which code ran while it was made, along all of its paths."""
        known = self.ran.get(key, codes)
        together = None if known is None or codes is None else known | codes
        if key in self.ran and together != known:
            self._cache.forget()  # known calls compare too little
        self.ran[key] = together

    def _key_of(self, call):
        key = call.key()
        if call.reach.asks_type:
            self._expect_exact(call)
        if key not in self._records:
            self._expect_same_integers(call, key)
            self._warn_of(call.reach.lines)
            self._note_record(key)
            if self._by_host is not None and call.reach is not NO_REACH:  # because it has changed too often
                call.leaves = None
                key = call.key()
        self._records.pop(key, None)
        self._records[key], self._latest = None, key
        if len(self._records) > self._max_records:  # created again: hashes of the user's objects may have changed
            self.ran.pop(next(iter(self._records)), None)
            self._records = dict.fromkeys(list(self._records)[1:])
        return key

    def _expect_exact(self, call):
        """Begins again with constants for numbers that are arguments, since a symbol has another type."""
        names = [name for name, each in call.arguments.items() if each.sign or each.is_weak]
        if names:
            raise Needed(call, names, mode="exact")

    def _expect_same_integers(self, call, key):
        """Begins again if integers in an argument have differed since the last record, and nothing else in it."""
        before, now = dict(self._latest or ()), dict(key)
        names = [name for name in call.arguments if name in before and name not in self._modes and differ_in_integers(before[name], now[name])
                 and sized(call.arguments[name].value) is not None]
        for name in names:
            self._reasons.note_integers(name, before[name], now[name])
        if names:
            raise Needed(call, names, mode="sizes")

    def _note_record(self, key):
        """Counts what differs from the last call."""
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
                self._warn(f"{self._name} runs its host code for new values of {name}, because it needs its number, which has changed "
                           f"{_MOST_RECORDS_FOR_ONE} times\n  hint: make it a tensor")
            elif name.startswith("outside."):
                self._run_by_host(f"{name.removeprefix('outside.')} has differed {_MOST_RECORDS_FOR_ONE} times")
            elif name.startswith(("arg", "named.")):
                hint = _BY_TYPE if self._modes.get(name) == "exact" else _BY_VALUE
                self._warn(f"{self._name} has been recorded {_MOST_RECORDS_FOR_ONE} times for different values of {name}\n  hint: {hint}")

    def _run_by_host(self, reason, is_said=False):
        if self._by_host is not None:
            return
        self._warn_of_host_code(reason, is_said)
        self._by_host = reason
        self._cache.forget()

    def _warn_of_host_code(self, reason, is_said=False):
        if self._fullgraph:
            raise errors.ValueError(f"{self._name}: {reason}: its host code would run at each call, which `fullgraph` forbids\n"
                                    "  hint: pass such state as an argument, and return it")
        if not is_said:
            self._warn(f"{self._name} runs its host code at each call, because {reason}\n"
                       "  hint: pass such state as an argument, and return it; stats(f) shows how calls were run")

    def _warn_of(self, lines):
        """Warns of calls whose result differs from call to call, or that reach outside of the program."""
        for what, kind, file, line in lines:
            reason, hint = {"value": _UNSTEADY, "outside": _OUTSIDE, "anything": _ANYTHING}[kind]
            self._run_by_host(f"{what} at {file}:{line} {reason}" if file else f"{what} {reason}", is_said=True)
            if (what, file, line) not in self._warned:
                self._warned.add((what, file, line))
                self._warn(f"{self._name} runs its host code at each call, because {what} {reason}\n  hint: {hint}", file, line)

    def warn_of_unseen(self, unseen):
        """Warns of state of installed code that is not compared, once for each line of the host code that leads there."""
        by_line = {}
        for origin, what, file, line in unseen if self._by_host is None else ():
            by_line.setdefault((file, line), []).append(what if what.startswith(f"{origin} ") else f"{origin}: {what}")
        for place, found in by_line.items():
            found = [each for each in found if (place, each) not in self._warned]
            self._warned |= {(place, each) for each in found}
            if found:
                more = f", and {len(found) - _MOST_NAMED} more" * (len(found) > _MOST_NAMED)
                self._warn(f"{self._name} has read state of installed code that is not compared at each call: what it was counts as constant: "
                           f"{', '.join(found[:_MOST_NAMED])}{more}\n  hint: pass what may change as an argument", *place)

    def _warn(self, message, file=None, line=None):
        """Warns at a line of the user; by default where the function begins."""
        code = getattr(getattr(self._called, "__func__", self._called), "__code__", None)
        if file is None and code is not None:
            file, line = code.co_filename, code.co_firstlineno
        warnings.warn_explicit(message, errors.HostStateWarning, file or self._name, line or 1)

    def _donated(self, call):
        """Indices of the donated leaves."""
        wanted, places = [], self._places_of_names(call)
        for each in self._donate:
            place = places.get(each, each) if each not in call.named else each
            if place not in (call.named if isinstance(place, str) else range(len(call.given))):
                raise errors.ValueError(f"{self._name}: argument {each!r} cannot be donated: the call has {len(call.given)} positional "
                                        f"argument{'s' if len(call.given) != 1 else ''}"
                                        + "".join(f", {name}" for name in sorted(call.named)))
            wanted.append(f"named.{place}" if isinstance(place, str) else f"arg{place}")
        return [i for i, path in enumerate(call.paths())
                if any(path == each or path.startswith(each + ".") for each in wanted)]

    def _places_of_names(self, call):
        """The numbers of the positional arguments of a call, by their names in the function."""
        try:
            parameters = list(inspect.signature(self._called).parameters.values())[len(call.first):]
        except (ValueError, TypeError):  # a function without a signature
            return {}
        names = itertools.takewhile(lambda each: each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD), parameters)
        return {each.name: i for i, each in enumerate(names) if i < len(call.given)}

    def __get__(self, owner, kind=None):
        return self if owner is None else _JittedMethod(self, owner)

    def __deepcopy__(self, memo):
        """A copy of the function (for a copied model), with nothing recorded yet."""
        return _jitted_again(copy.deepcopy(self._called, memo), self._donate, self._options)

    def __reduce__(self):
        return _jitted_again, (self._called, self._donate, self._options)

    def _runs_as_it_is(self, given):
        """True if the host code runs on concrete tensors, though this was neither requested nor decided before."""
        return self._by_host is None and not self._options["disable"] and not any(leaf.is_traced for leaf in given)

    def stats(self):
        traces, hits, failed, host_runs, pieces, retraces, text = self._cache.stats()
        retraces = tuple((self._reasons.reworded(why), times) for why, times in retraces)
        text = self._reasons.reworded(text)
        if self._by_host is not None:
            retraces += ((self._by_host, 1),)
            text += f"\n  its host code runs at each call, because {self._by_host}"
        return JitStats(traces, hits, failed, host_runs, pieces, retraces, text)


def _jitted_again(function, donate, options):
    return Applied(function, _Records(donate, options)) if is_tree(function) else Jitted(function, donate=donate, **options)


class _JittedMethod:
    """A jitted method bound to an object, whose attributes are state outside of the arguments."""

    _is_bound = True  # for given.py

    def __init__(self, jitted, owner):
        self.__func__, self.__self__ = jitted, owner

    def __call__(self, *arguments, **named):
        return self.__func__._call((self.__self__,), arguments, named)

    def __getattr__(self, name):
        return getattr(self.__func__, name)


class _Records:
    """The part of a jitted Module, or of another callable tree, besides its tree. The model after a training step shares it. Those with
    equal options are equal, so that models can be combined."""

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


def jit(function=None, *, name=None, dynamic=(), donate=(), fullgraph=False, disable=False, backend="compiler",
        mode="default", max_paths=32, max_records=256, repeatable=False, memory_budget=None):
    """A function that is recorded once and then run from the record.

    >>> import plait as pl
    >>> double = pl.jit(lambda x: x * 2)
    >>> print(double(pl.asarray([1.0, 2.0])))
    [2. 4.] : f32[2]

    Arguments and results are trees of tensors; everything else in them is static, except floats that are arguments
    themselves. A size that differs from call to call becomes a symbol. A condition on a tensor has a path for each
    outcome; a function that reads numbers from tensors runs its host code at each call. State that the function reads from
    its closure and globals is checked at each call. Results may reuse the memory of arguments that
    are donated, by numbers or by names; their tensors are empty afterwards. jit of a Module is a tree, whose weights
    are those of the Module. If `repeatable`, the bits of a result do not depend on earlier calls, so a training run that goes
    on from a checkpoint computes what it would have computed without the interruption. With a memory_budget a backward pass
    computes more of the forward pass again, to fit into as many bytes; up to 1, into a share of what it would need beside arguments
    and results. plait.trace(function)(*arguments).memory(memory_budget=...) says what it needs."""
    options = dict(dynamic=tuple(dynamic), fullgraph=fullgraph, disable=disable, backend=backend, mode=mode,
                   max_paths=max_paths, max_records=max_records, repeatable=bool(repeatable),
                   memory_budget=expect_budget("jit", memory_budget))
    if function is None:
        return lambda given: jit(given, name=name, donate=donate, **options)
    return _jitted_again(function, donate, {**options, "name": name or getattr(function, "__name__", "jitted")})


def stats(function):
    """How often a jitted function was recorded and run, and why it was recorded again.

    >>> double = plait.jit(lambda x: x * 2)
    >>> for size in 2, 2, 3: _ = double(plait.ones(size))
    >>> print(plait.stats(double))
    2 recorded, 1 hits, 0 guards failed, 0 runs of the host code
      the size arg0.0 is 3, was 2 before
    """
    if isinstance(function, Applied) and isinstance(function.how, _Records):
        return function.how.jitted.stats()
    if not callable(getattr(function, "stats", None)):
        raise errors.TypeError(f"stats: expected a jitted function, not {type(function).__name__}")
    return function.stats()
