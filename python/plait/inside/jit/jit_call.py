"""One call of a jitted function: its arguments, the state that its host code finds outside of them, and its host code, which runs
while it is recorded (docs/jit.md)."""

import inspect
import itertools

from plait import _core, errors
from plait.inside.arrays.sizes import noting
from plait.inside.jit.host_reach import Reach
from plait.inside.jit.host_state import Snapshot, source_of
from plait.inside.jit.jit_arguments import Needed, Origin, SizedArgument, agree, argument_of, frozen, sample, shared
from plait.inside.jit.jit_fresh import Refused, standing_in
from plait.inside.jit.jit_integers import Lent, Sized
from plait.inside.jit.jit_results import Finish, results_of
from plait.inside.jit.lending import Lending
from plait.inside.jit.settling import settled
from plait.inside.jit.static_values import keys_told_apart, told_apart
from plait.inside.transforms.changing_bodies import jitting
from plait.inside.trees.given import Handed
from plait.inside.trees.sharing import distinct
from plait.tree import flatten


class NeedsSizes(errors.ValueError):
    """Host code failed with symbolic sizes: it is recorded with numbers, or raises the same error again."""

    def __init__(self, error):
        super().__init__(f"{type(error).__name__}: {error}")
        self.message, self.error = str(self), error


class ByHost(BaseException):
    """A result or a change of state of a call inside of another transform cannot be created again: its host code runs."""


class NoTree(Exception):
    """An argument has no leaves and no structure, or nothing of a function can be recorded: it is called without a record, with the
    reason for a warning, if there is one."""


NO_REACH = Reach([])


def _invalid(place):
    return errors.ValueError.with_hint(f"{place} is a tensor of a recording that has ended, and has no value",
                                       "a function that was recorded before has put it there: remove it")


class Call:
    """One call: its arguments, and the state that its function finds outside, which is inspected when needed."""

    leaves = None  # until it is inspected
    has_run = False  # the host code
    was_recorded = False  # it ran, although what it changed may have been taken back since
    has_written = False  # the record, to state outside
    writes_into_trees = False
    written = {}  # tensors that the host code has stored outside, by their numbers among the leaves
    _needed = None  # raised when host code needed the number of an argument
    _snapshot = None
    opaque_argument = None  # why an argument cannot be recorded
    _unrolled = 0  # jitted.unrolled before the host code ran
    _is_refused = False  # its result or its changes cannot be created again
    _is_inside = False  # for a derivative or recording of its arguments, which would not see its other changes

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
        self.arrays, self._found, self.reach = [], {}, NO_REACH
        self._paths = [f"{name}.{path}" if path else name for name, each in self.arguments.items() for path in each.structure.paths]
        if self.jitted._by_host is None:
            self._look_outside()
        self.shared = shared(self.leaves)

    def _argument(self, name, value):
        try:
            argument = argument_of(value)
        except RecursionError:
            raise NoTree(f"{name} holds itself") from None
        self._note_constants(name, argument.structure, argument.value)
        return argument

    def _note_constants(self, name, structure, tree):
        """Adds to the key what distinguishes equal values. Symbolic sizes belong to the current recording: a function that receives
        some is part of that record."""
        constants = [value for _, value in structure._objects()]
        if any(type(value) is _core.Dim for value in constants):
            raise NoTree("")
        found, keys = told_apart(constants), keys_told_apart(tree)
        self.differs_more_than_seen = self.differs_more_than_seen or bool(found)
        if found or keys:
            self._exact.append((f"{name}, as told apart", (found, keys)))
        if structure._objects_twice:
            self._exact.append((f"{name}, arguments that are one object", structure._objects_twice))

    def _look_outside(self):
        roots = [("", self.jitted._holder, "function")]
        roots += [("self" if i == 0 else f"first {i}", self.first, i) for i in range(len(self.first))]
        self.reach = Reach(roots, {name: each.value for name, each in self.arguments.items()})
        if not self.reach.unloaded <= self.jitted.unloaded:
            self.jitted.unloaded = self.reach.unloaded
            raise NoTree("")  # the contents of these modules are not known before the code has imported them
        for path, found in self.reach.values.items() if self.reach.opaque is None else ():
            leaves, structure = flatten(found.value)
            self._note_constants(f"outside.{path}", structure, found.value)
            arrays = []
            for leaf, of_leaf in zip(leaves, structure.paths):
                if isinstance(leaf, _core.Tensor):
                    if _core._is_of_ended_trace(leaf) and not _core._is_known(leaf):
                        raise _invalid(f"{path}.{of_leaf}" if of_leaf else path)
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

    def size_names(self):
        """For each leaf the user's name of the integer that it stands for, "" for tensors."""
        self.look()
        of_places, found = {f"arg{place}": name for name, place in self.jitted._places_of_names(self).items()}, []
        taken = {each.name for each in self.jitted._options["dynamic"]}
        for path, each in self.arguments.items():
            name = of_places.get(path, path.removeprefix("named."))
            signs, names = [each.sign] * len(each.leaves), [name] * len(each.leaves)
            if isinstance(each, SizedArgument):
                signs, names = each.signs, [f"{name}.{below}" for below in each.structure.paths]
            found += ["" if not sign or name in taken else name for sign, name in zip(signs, names)]
        return found + [""] * (len(self.leaves) - len(found))

    def key(self):
        """(name, value) of each part of the key."""
        self.look()
        for name, each in self.arguments.items():
            each.structure._expect_hashable(f"f.{name}")
        arguments = tuple((name, each.key) for name, each in self.arguments.items())
        arguments += (("tensors that are one", self.shared),) if self.shared else ()
        arguments += (("the order of named arguments", tuple(self.named)),) if self._has_order() else ()
        arguments += (("loops that run step by step", self.jitted.unrolled),) if self.jitted.unrolled else ()
        if self.reach is NO_REACH:
            return (*arguments, *self._exact)
        opaque = self.reach.opaque or self._unhashable_outside()
        if opaque is not None:
            if opaque.startswith(tuple(f"{name}{end}" for name in self.arguments for end in " .")):
                self.opaque_argument = opaque
            self.jitted._warn_of(self.reach.lines)  # it may have the same cause
            self.jitted._run_by_host(opaque)
            self.leaves = None
            return self.key()
        outside = tuple((f"outside.{path}", found[0] if len(found) == 1 else found) for path, found in self._found.items())
        return *arguments, *self._exact, *outside, ("code", tuple(self.reach.kinds)), ("objects that are one", tuple(self.reach.pattern))

    def _has_order(self):
        """True if the function sees the order of keyword arguments."""
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
        """The function of these leaves: the leaves of its result, and how to build the result from them."""
        self.look()
        if self._snapshot is not None:
            self._snapshot.restore()
        elif self.reach is not NO_REACH:
            self._snapshot = Snapshot(self.reach, {name: each.value for name, each in self.arguments.items() if each.is_own})
        is_as_it_is = given and not self.has_run and self.jitted._runs_as_it_is(given)
        self.has_run, self._unrolled = True, self.jitted.unrolled
        try:
            result = self._run(given, as_numbers=False)
            self.jitted._reasons.as_it_is += bool(is_as_it_is)
            return result
        except Exception as error:  # noqa: BLE001: host code may not support symbolic numbers
            return self._run_with_numbers(given, error)

    def _run_with_numbers(self, given, error):
        """The same after a failure, with numbers for floats, for integers or for all symbolic sizes."""
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
        """Called when host code needs the number of a float among the arguments."""
        if any(self.jitted._modes.get(name) is None for name in names):
            self._needed = Needed(self, names)
            raise self._needed

    def begin_again(self):
        """Takes back what the host code has changed, so that its record can run in this call, too. False if its changes or results cannot
        be repeated, or if a loop was found to need another record."""
        if self.jitted._by_host is not None or self._is_refused or self.jitted.unrolled != self._unrolled:
            return False
        self.take_back()
        self.has_run, self.written = False, {}
        return True

    def take_back(self):
        if self._snapshot is not None:
            self._snapshot.restore()

    def _run(self, given, as_numbers):
        each_of, copies = iter(given), _core._ArgumentCopies("a jitted function, which has a copy of the NumPy array")
        handed_over, made, lent_trees = {}, [], {}
        for name, each in self.arguments.items():
            origin = Origin(self, frozenset([name])) if each.is_weak else None
            handed_over[name] = each.of(list(itertools.islice(each_of, len(each.leaves))), as_numbers, copies, origin)
            if isinstance(handed_over[name], Handed):
                made.append(handed_over[name])
                handed_over[name] = made[-1].tree
            elif isinstance(handed_over[name], Lent):
                lent_trees[name] = handed_over[name]
                handed_over[name] = lent_trees[name].tree
        lent = {id(leaf): (leaf, content) for leaf, content in reversed(list(zip(self.leaves, given)))
                if isinstance(leaf, _core.Tensor) and not _core._is_same(leaf, content)}
        arguments = [handed_over[f"arg{i}"] for i in range(len(self.given))]
        named = {name: handed_over[f"named.{name}"] for name in self.named}
        with Lending(lent.values()), noting(self.jitted._reasons.places), jitting(self.jitted):
            self.was_recorded = True
            with self.reach.watching():
                result = self.jitted._called(*self.first, *arguments, **named)
            self.jitted.warn_of_unseen(self.reach.unseen())
            if self._needed is not None:  # and host code has caught it
                raise self._needed
            self._expect_unchanged(lent_trees)
            for each in made:
                each.expect_unchanged(self.jitted._name, result)
            writes, written = self._writes({key: content for key, (_, content) in lent.items()})
            leaves, structure, numbers, given = results_of(result, self._with_stand_ins)
            if self._is_refused and self._is_inside:
                raise ByHost
            once = distinct(leaves + written)
            self.written = dict(zip(once.places[len(leaves):], written))
            leaves = [leaf._share() for leaf in once.values]  # the present contents
        is_plain = not writes and not numbers and not given and len(once.values) == len(structure)
        return leaves, structure if is_plain else Finish(structure, once, numbers, given, writes)

    def _expect_unchanged(self, lent_trees):
        """Begins again with the caller's own containers if the host code has changed its copies of them."""
        changed = [name for name, each in lent_trees.items() if not each.is_unchanged()]
        if changed:
            raise Needed(self, changed, mode="changed")

    def _with_stand_ins(self, result):
        """The result, with nodes that create its objects. If one cannot be created, the host code runs at each call from now on."""
        if self._snapshot is None or self._is_refused:
            return result
        try:
            return standing_in(result, self._source_of)
        except Refused as refused:
            where, what = refused.args
            self._refuse(f"its result holds {what}{where and ' at ' + where}, which is created at each call")
            return result

    def _source_of(self, value):
        """The place of an object before the call, as in writes; None if it did not exist."""
        return source_of(value, self.reach, {name: each.value for name, each in self.arguments.items()})

    def _refuse(self, reason):
        self._is_refused = True
        self.jitted._run_by_host(reason)

    def _writes(self, lent):
        """The changes outside; if they cannot be repeated, the host code runs at each call from now on."""
        if self._snapshot is None:
            return (), []
        writes, written, refused = self._snapshot.changes(lent)
        if refused is not None:
            self._refuse(refused)
            return (), []
        return tuple(writes), results_of(written)[0]

    def value_at(self, place):
        """The argument at the place of a write."""
        value = self.named[place[len("named."):]] if place.startswith("named.") else self.given[int(place[len("arg"):])]
        return value.tree if type(value) is Sized else value

    def remember(self, key, donated):
        """Lets the next call of the same kind be recognised without a full comparison."""
        functions, places, dicts = self.reach.compared(self.jitted.ran.get(key))
        shared = [i for pair in self.shared for i in pair]
        named = {name: sample(each) for name, each in sorted(self.named.items())}
        self.jitted._cache.remember(self.first, tuple(map(sample, self.given)), named,
                                    functions, places, dicts, shared, self.arrays, agree, key, donated)
