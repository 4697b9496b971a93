"""Finds the state outside of its arguments that a function's host code can read, by analysing the code of the
function and of everything that it can call (docs/jit.md)."""

import builtins
import collections
import dataclasses
import functools
import sys
import types

from plait import _core
from plait.inside.jit.host_ambient import AMBIENT, Facts, Met, facts_of
from plait.inside.jit.host_code import absolute, is_installed, is_library, is_library_class, module_of, names_in
from plait.inside.jit.host_constants import (LOOKING_UP, OF_CLASSES, PLAIN, array_or_none, attributes_of, changing_or_none, has_class_in_sight,
                                              hidden_base, is_fixed, is_of_python, is_read_by_library, members_of_library)
from plait.inside.jit.host_effects import is_logger, is_path, method_of_path
from plait.inside.jit.host_libraries import Installed, is_installed_class
from plait.inside.jit.host_values import Held, is_seeded
from plait.inside.trees.module import Module

ABSENT = object()


_BAGS = (types.SimpleNamespace,)
_DESCRIPTORS = (property, staticmethod, classmethod, functools.cached_property, functools.partialmethod, functools.singledispatchmethod)
_CODE = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
_MOST_PLACES = 20_000


def unwrapped(value):
    """The function without the wrapper that removes the package's frames from tracebacks."""
    return value.__wrapped__ if isinstance(value, _core._Boundary) else value


def is_array(value):
    """True for NumPy arrays and similar ones."""
    return hasattr(type(value), "__array_interface__")


@dataclasses.dataclass
class Found:
    """A tree of tensors and constants that was found outside of the arguments."""

    place: int  # index into Reach.places
    value: object


class Reach:
    """The state outside of its arguments that the host code of a function, and everything that it can call, can read.

    Functions, methods, classes, modules and objects are entered: the values of names that occur in the code found so far are
    inspected in turn. Everything else is a tree of tensors and constants, or an immutable value (host_constants.py); if it is
    neither, it is `opaque`."""

    def __init__(self, roots, arguments=(), caches=()):
        """`roots`: (path, holder, key) of what is called; `arguments`: trees by path, in which constants may be entered;
        `caches`: identities of memoised functions that are being inspected."""
        self.places = []  # (holder, key, whether it is entered) in order
        self.values = {}  # Found, by path
        self.functions = []  # their code may be replaced
        self.kinds = []  # code and classes, in order: part of the key
        self.pattern = []  # for each place or container, the number of its object in the order of discovery
        self.has_own_equality = False  # some object may equal one with other contents
        self.lines = []  # (what, kind, file, line) of calls that no record can hold (host_effects.py)
        self.unloaded = set()  # modules that the code imports and that are not loaded yet
        self.opaque = None  # the reason if it is unknown what the host code reads
        self.asks_type = False  # it calls type(x) of something that may be a number
        self.met = Met()  # ambient state
        self.holders = []  # (what, its path): attributes are looked up there by the names below
        self._names, self._takes_any, self._writers = {}, False, []
        self._caches, self._has_cache = caches, False
        self.memoised = []  # functions of functools.lru_cache
        self._held, self._installed, self._namespaces = Held(), Installed(), {id(vars(builtins))}
        self.placed, self._kept = {}, set()  # numbers of places, by (identity of the holder, key); those that are always compared
        self._stores, self._met = {}, {}
        self._nodes = []  # (node of a tree that may have attributes beside its children, names of these, path)
        self._classes, self._constructed = [], []  # entered ones; those that may be instantiated
        self._noted_namespaces, self.matches = {}, False
        self._entered, self._alive, self._looked_up, self._given_places = {}, [], set(), set()
        self._find(roots, arguments)

    def _find(self, roots, arguments):
        for path, holder, key in roots:
            self._add(holder, key, path)
        of_roots = len(self._nodes)
        for path in arguments:
            self._held.add(arguments[path], path)
            self._enter_parts(arguments[path], path, {})
        of_arguments = self._nodes[of_roots:]
        self._settle()
        self._enter_formatters()
        self._add_ambient()
        if self._takes_any and of_arguments:
            self._note_opaque(f"it looks up computed names, and {of_arguments[0][2]} may have attributes that are not in its tree")
        if self._has_cache and "cache_info" in self._names:
            self._note_opaque("a function counts its cache hits (cache_info)")
        self.lines += self._held.lines(self._names, self._takes_any, self.functions)
        self._note_writers()

    # ---- Places.

    def _enter_formatters(self):
        """The user's functions by which NumPy makes texts."""
        numpy = sys.modules.get("numpy") if self.met.makes_texts_of_arrays() else None
        for name in ("formatter", "override_repr") if numpy else ():
            if (given := numpy.get_printoptions()[name]) is not None:
                self._enter_or_add(given, f"NumPy's {name}")
                self._settle()

    def _add_ambient(self):
        for name in self.met.names():
            self._add(AMBIENT, name, f"settings of {name}")
        for each in self.replaceable():
            for key in facts_of(each, self._names | self._installed.names):
                self._add(Facts(each), key, f"{each.__name__}.{key.removeprefix('of ')}", is_inspected=False)

    def _add(self, holder, key, path, is_inspected=True, is_held=True):
        if (id(holder), key) in self.placed:
            if is_held:  # asked for by code of the user
                self._kept.add(self.placed[id(holder), key])
            return
        if len(self.places) > _MOST_PLACES:
            self._note_opaque(f"it can reach more than {_MOST_PLACES} values")
            return
        self.placed[id(holder), key] = len(self.places)
        self._alive.append(holder)
        value = _core._value_at(holder, key, ABSENT)
        self.met.note(value)
        if key != "__class__" and is_held:
            self._held.add(value, path, is_named=isinstance(holder, types.CellType) or id(holder) in self._namespaces)
        entered = value is not ABSENT and self._enter(value, path)
        self.places.append((holder, key, entered))
        if entered:
            self._note_identity(value)
        if value is not ABSENT and not entered:
            place = len(self.places) - 1
            self.values[self._free(path)] = Found(place, value)
            if is_inspected:
                self._enter_parts(value, path, {})

    def _add_same(self, holder, key, value):
        """Adds a place whose value must be the same object, and is not inspected here."""
        if (id(holder), key) not in self.placed:
            if isinstance(value, _CODE) or callable(value) and is_fixed(value):
                self.kinds.append(value)
            self.placed[id(holder), key] = len(self.places)
            self._alive.append(holder)
            self.places.append((holder, key, True))
            self._note_identity(value)

    def _enter_or_add(self, value, path):
        """Inspects a value that has no place of its own: it is entered, or gets a place."""
        self._held.add(value, path)
        if not self._enter(value, path) and id(value) not in self._given_places and type(value) not in PLAIN:
            self._given_places.add(id(value))
            self._add((value,), 0, path)

    def _note_opaque(self, reason):
        self.opaque = self.opaque or reason

    def _note_writers(self):
        """Logs and paths that were found by attribute, in code whose line is not known."""
        for value, path in self._writers if not self.lines else ():
            method = method_of_path(value, self._names)
            if is_logger(value) or method:
                what = "writes a log" if is_logger(value) else f"is a path, whose {method}() may be called"
                self._note_opaque(f"{path} {what}")

    def _note_identity(self, value):
        """Notes the identity of an object: host code can see whether two are the same object."""
        self._alive.append(value)
        self.pattern.append(self._met.setdefault(id(value), len(self._met)))

    def _free(self, path):
        """The path, with a number appended if it is already used."""
        free, number = path, 1
        while free in self.values:
            number += 1
            free = f"{path} ({number})"
        return free

    def _settle(self):
        """Looks up each name in each holder, until nothing new is found."""
        done = None
        while done != (now := (len(self.holders), len(self._names), len(self._stores), self._takes_any, len(self._constructed), len(self._nodes),
                               self._installed.progress())):
            done = now
            for value, children, path in self._nodes if self._takes_any else ():
                own = attributes_of(value)
                self._look_up(value, [name for name in own if isinstance(name, str) and name not in children], own, path)
            for holder, path in list(self.holders):
                _LOOKUPS[_holder_kind(holder)](self, holder, path)
            self._installed.settle(self, self._names)

    def watching(self):
        """Notes which state of installed code is read within and counts as constant."""
        return self._installed.unseen.watching(self.placed, bool(self._installed.functions))

    def ran(self):
        """The code of these functions that has run within; None if that is not known."""
        codes = self._installed.unseen.ran()
        return codes and codes & {each.__code__ for each in (*self.functions, *self._installed.functions)}

    def compared(self, ran):
        """(functions and classes, places, dicts by their sizes) that the next call compares, where this code has run. Places that it need not
        compare have None at the end."""
        found = None if ran is None else self._installed.irrelevant(self.functions, ran)
        dropped, unsearched = found or (set(), set())
        if dropped:
            dropped = (dropped | self._facts_of_others(dropped)) - self._kept
        functions = [each for each in self.replaceable() if found is None or isinstance(each, type) or each.__code__ in ran]
        places = [(*place[:2], None) if number in dropped else place for number, place in enumerate(self.places)] if dropped else self.places
        dicts = [each for each in (*self.attribute_dicts(), *self.namespaces()) if id(each) not in unsearched]
        return functions, places, dicts

    def unseen(self):
        """(name by which host code leads there, what it is, file, line) of that state."""
        return self._installed.unseen.read(self.functions)

    def attribute_dicts(self):
        """The attribute dicts of the entered objects: an object with other attributes requires another record."""
        return [own for holder, *_ in (*self.holders, *self._installed.objects) if not isinstance(holder, (types.ModuleType, type))
                and (own := attributes_of(holder)) is not None]

    def replaceable(self):
        """Functions whose code and defaults, and classes whose bases may be replaced."""
        return [*self.functions, *self._installed.functions, *self._classes]

    def _facts_of_others(self, dropped):
        """The numbers of places with facts of installed functions that no place holds, beside those that are dropped."""
        held = {id(_core._value_at(*place[:2], ABSENT)) for number, place in enumerate(self.places) if number not in dropped}
        others = {id(each) for each in self._installed.functions} - held
        return {number for number, (holder, *_) in enumerate(self.places) if isinstance(holder, Facts) and id(holder._of) in others}

    def classes(self):
        """The entered classes that are not those of Python and of large libraries."""
        return [cls for cls in self._classes if not is_library_class(cls) or is_installed_class(cls)]

    def namespaces(self):
        """Dicts of names: with another number of them, code may find others."""
        noted = list(self._noted_namespaces.values())
        if not self._takes_any:
            return noted
        modules = [vars(holder) for holder, _ in self.holders if isinstance(holder, types.ModuleType) and not is_library(holder.__name__)]
        classes = {id(owner): owner for cls, _ in self.holders if isinstance(cls, type) for owner in cls.__mro__ if not is_library_class(owner)}
        return [*noted, *modules, *map(vars, classes.values()), *(attributes_of(value) for value, _, _ in self._nodes)]

    def _look_up(self, owner, found, holder, path):
        """Adds the names that are new for this owner."""
        for name in found:
            if (id(owner), name) not in self._looked_up:
                self._looked_up.add((id(owner), name))
                self._add(holder, name, f"{path}.{name}" if path else name)

    def _known_names(self, attributes):
        """Those of these attributes whose names occur in the code, or in that of installed functions, which may be given the object."""
        return [name for name in attributes if name in self._names or name in self._installed.names]

    def _asked_names(self, attributes):
        """The same, or all if the code computes names."""
        if not self._takes_any:
            return self._known_names(attributes)
        return [name for name in attributes if isinstance(name, str) and (name not in _OF_MODULES or name in self._names)]

    def _in_object(self, value, path):
        own = attributes_of(value)
        if own is not None:
            takes_any = self._takes_any or is_read_by_library(type(value))
            names = [name for name in own if isinstance(name, str)] if takes_any else self._known_names(own)
            self._look_up(value, [*names, *self._new_names(value, own)], own, path)
        if isinstance(value, BaseException):
            self._look_up(value, self._known_names(members_of_library(type(value))), value, path)
            self._look_up(value, ["__notes__"] if self._known_names(["add_note"]) else [], attributes_of(value), path)
        for cls in type(value).__mro__:
            slots = [name for name, each in vars(cls).items() if isinstance(each, types.MemberDescriptorType)]
            is_library = is_library_class(cls)
            if not is_library or is_of_python(cls):
                self._look_up(value, slots if self._takes_any or is_library else self._known_names(slots), value, path)

    def _new_names(self, value, own):
        """Attributes that the code may assign to an object which does not have them yet, or whose existence it
        tests."""
        classes = [vars(cls) for cls in type(value).__mro__]
        return [name for name in self._stores if name not in own and not any(name in each for each in classes)]

    def note_namespace(self, owner, names):
        """Notes a dict of names: with another number of them, code may find others there."""
        self._alive.append(owner)
        self._noted_namespaces[id(owner)] = names

    def _in_class(self, cls, path):
        takes_all = is_read_by_library(cls)
        for owner in cls.__mro__:
            if vars(owner).get("_is_protocol"):
                self._names |= dict.fromkeys(name for name in vars(owner) if not name.startswith("_"))
            if "__subclasses__" in self._names or "__subclasses__" in self._installed.names:
                for each in type.__subclasses__(owner) if owner is not object else ():
                    self._enter(each, each.__name__)
            if self.matches:
                self._names |= dict.fromkeys(vars(owner).get("__match_args__", ()))
            if not is_library_class(owner) or is_installed_class(owner):
                self.note_namespace(owner, vars(owner))
            if is_library_class(owner):
                if is_installed_class(owner):
                    self._installed.look_up(self, owner, vars(owner), owner.__name__, self._names, self._takes_any)
                continue
            special = [name for name, each in vars(owner).items()
                       if (takes_all or name.startswith("__")) and (callable(each) or hasattr(type(each), "__get__"))
                       and (name not in _CONSTRUCTORS or cls in self._constructed)]
            names = [*special, *self._asked_names(vars(owner))]
            # Looks up in each class separately, since super() finds members that a subclass hides.
            self._look_up(owner, [name for name in names if name not in OF_CLASSES or name in self._names and name == "__annotations__"], owner,
                          owner.__name__)

    def _in_module(self, module, path):
        self.note_namespace(module, vars(module))
        if is_library(module.__name__):
            self._installed.look_up(self, vars(module), vars(module), path, self._names, self._takes_any)
            return
        self._namespaces.add(id(vars(module)))
        names = [*self._asked_names(vars(module)), *(["__getattr__"] if "__getattr__" in vars(module) else [])]
        self._look_up(module, names, vars(module), path)

    def _in_function(self, function, path):
        own = vars(function)
        self._look_up(function, [*self._asked_names(own), *self._new_names(function, own)], own, path)

    # ---- Entering objects.

    def _enter(self, value, path):
        """True if the value is not a tree but an object whose members are visited."""
        value = unwrapped(value)
        if id(value) in self._entered:
            return self._entered[id(value)]
        enter = _enter_of(value)
        if enter is None:
            return False
        self._entered[id(value)] = True
        self._alive.append(value)
        enter(self, value, path)
        return True

    def _enter_parts(self, value, path, seen):
        """Enters the objects in a tree, and the classes of its nodes."""
        if type(value) in PLAIN or isinstance(value, _core.Tensor):
            return
        if id(value) in seen:
            self._note_identity(value)
            if not seen[id(value)]:
                self._note_opaque(f"{path} holds itself")
            return
        seen[id(value)] = False  # true if its contents were all inspected
        children = _core._children(value)
        if children is None:
            self._enter_constant(value, path, seen)
        else:
            self._enter_node(value, children, path, seen)
        seen[id(value)] = True

    def _enter_constant(self, value, path, seen):
        self.met.note(value)
        if is_array(value):
            self._enter_array(value, path)
        elif isinstance(value, slice):
            for name in "start", "stop", "step":
                self._enter_or_add(getattr(value, name), f"{path}.{name}")
        elif isinstance(value, (set, frozenset)):
            self._enter_members(value, path, seen)
            self._enter_container(value, path)
        elif self._enter(value, path):
            self._note_identity(value)
            self.has_own_equality = self.has_own_equality or type(value).__eq__ is not object.__eq__
        elif is_logger(value) or is_path(value):
            self._writers.append((value, path))
        elif (reason := changing_or_none(value)) is not None:
            self._note_opaque(f"{path} is {reason}")

    def _enter_node(self, value, children, path, seen):
        if not isinstance(value, tuple):
            self._note_identity(value)
        if isinstance(value, dict):
            self._enter_members(value, path, seen)
        if type(value) not in (list, tuple, dict):
            self._enter_class_of(value)
            self._enter_container(value, path)
            if not isinstance(value, (Module, types.SimpleNamespace)) and attributes_of(value) is not None:
                self._nodes.append((value, {name for name, _ in children}, path))
        for name, child in children:
            if not (isinstance(value, functools.partial) and is_seeded(value)):
                self._held.add(child, f"{path}.{name}")
            self._enter_parts(child, f"{path}.{name}", seen)

    def _enter_members(self, members, path, seen):
        """The same for elements of sets and keys, which are not part of the tree."""
        for each in members:
            self._held.add(each, path)
            is_plain = isinstance(each, tuple) and all(type(part) in PLAIN for part in each)
            if isinstance(each, _core.Tensor) or (not is_plain and _core._children(each) is not None):
                self._enter_or_add(each, path)
            else:
                self._enter_parts(each, path, seen)

    def _enter_container(self, value, path):
        """The attributes of an object of a class that is derived from list, dict or set."""
        if isinstance(value, collections.defaultdict) and value.default_factory is not None:
            self._enter_or_add(value.default_factory, f"{path}.default_factory")
        if isinstance(value, (list, tuple, dict, set, frozenset)) and not is_library_class(type(value)):
            self.holders.append((value, path))

    def _enter_array(self, value, path):
        reason = array_or_none(value)
        if reason is not None:
            self._note_opaque(f"{path} is {reason}")
        if not is_library_class(type(value)):
            self._enter_class_of(value)
            self.holders.append((value, path))

    def _take_names(self, code):
        names = names_in(code)
        if names.opaque:
            self._note_opaque(f"its code uses {names.opaque}, which can reach anything")
        self._names |= dict.fromkeys(names.attributes)
        self._stores |= dict.fromkeys((*names.stores, *names.asked))
        self._takes_any = self._takes_any or names.takes_any
        self.met.forms_text = self.met.forms_text or names.forms_text
        self.matches = self.matches or names.matches
        return names

    def _enter_function(self, function, path):
        name = function.__name__
        for place, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if function.__module__ == "functools" and place in _OF_DISPATCH:
                continue
            self._add(cell, None, place if not path else f"{path}.{place}")
        if is_library(module := function.__globals__.get("__name__", "")):
            if is_installed(module):
                self._installed.enter(function)
            return  # only closures of library functions are visited
        names = self._take_names(function.__code__)
        self.asks_type = self.asks_type or (names.asks_type and name not in _TELLING and "type" not in function.__globals__)
        self.functions.append(function)
        self.kinds.append(function.__code__)
        self._namespaces.add(id(function.__globals__))
        for each in names.globals:
            self._add(function.__globals__, each, each)
            if each not in function.__globals__ and each in vars(builtins):
                self._add(vars(builtins), each, each, is_inspected=vars(builtins)[each] not in LOOKING_UP)
        for module, members in names.imports:
            self._enter_import(absolute(module, function.__globals__) or module, members)
        for i in range(len(function.__defaults__ or ())):
            self._add(function.__defaults__, i, f"{name}.default {i}")
        for each in function.__kwdefaults__ or {}:
            self._add(function.__kwdefaults__, each, f"{name}.default {each}")
        self.holders.append((function, name))
        for holder, each, module, is_code in names.held_by_libraries(function):
            value = _core._value_at(holder, each, ABSENT)
            if is_code or callable(value) and is_fixed(value):
                self.add_code(holder, each)
            elif type(value) in PLAIN or not is_fixed(value):
                self._add(holder, each, f"{module}.{each}")
        self.lines += names.unsteady(function)
        self._held.add_names(names, function)
        self._installed.note_named(names, function)

    def add_code(self, holder, name):
        """Adds a function, class or module in a module of a library."""
        value = _core._value_at(holder, name, ABSENT)
        self._add_same(holder, name, value)
        self.met.note(value)

    def _enter_import(self, name, members):
        module = sys.modules.get(name)
        if module is None:
            self.unloaded.add(name)
            return
        self._add_same(sys.modules, name, module)
        if hasattr(module, "__path__") and "__getattr__" not in vars(module):
            self.unloaded.update(f"{name}.{each}" for each in members if each not in vars(module))
        if not self._enter(module, name):
            self._enter_constant(module, name, {})

    def _enter_method(self, method, path):
        if not self._enter(method.__func__, ""):
            self._held.add(method.__func__, path)
        self._add(method, "__self__", "self" if not path else f"{path}.self")

    def _enter_partial(self, partial, path):
        if not is_seeded(partial):
            self._enter_or_add(partial.func, path)
        if type(partial) is not functools.partial and not is_library_class(type(partial)):
            self._enter_object(partial, path)
        self._add_same(partial, "func", partial.func)
        self._add_same(partial, "args", partial.args)
        self.note_namespace(partial, partial.keywords)
        for i in range(len(partial.args)):
            self._add(partial.args, i, f"{path}.args.{i}")
        for name in partial.keywords:
            self._add(partial.keywords, name, f"{path}.{name}")
        self.kinds.append(tuple(partial.keywords))

    def _enter_class(self, cls, path):
        self._constructed.append(cls)
        self._add_class(cls)

    def _enter_module(self, module, path):
        self.holders.append((module, module.__name__))
        if type(module) is not types.ModuleType:
            self._enter_class_of(module)

    def _enter_descriptor(self, descriptor, path):
        for name in ("fget", "fset", "fdel", "__func__", "func", "dispatcher"):
            inner = getattr(descriptor, name, None)
            if inner is not None:
                self._enter_or_add(inner, path)
        if isinstance(descriptor, functools.partialmethod):
            self._add(descriptor, "args", f"{path}.args")
            self._add(descriptor, "keywords", f"{path}.keywords")

    def _enter_memoised(self, function, path):
        """Enters a memoised function. Which results it keeps is not visible, so they must depend on its arguments only."""
        self._has_cache = True
        self.memoised.append(function)
        self._enter_or_add(function.__wrapped__, path)
        if id(function) in self._caches:
            return
        inner = Reach([(path, (function.__wrapped__,), 0)], caches=(*self._caches, id(function)))
        changing = [name for name, found in inner.values.items() if not inner._is_steady(found)]
        if inner.opaque is not None or inner.lines or changing:
            what = f" and uses {changing[0]}" if changing else ""
            self._note_opaque(f"{path or function.__name__} caches its results (functools.lru_cache){what}")

    def _is_steady(self, found):
        """True if the value is a function or class of a library, or a constant in the defaults of a function."""
        holder = self.places[found.place][0]
        is_default = isinstance(holder, tuple) and type(found.value) in PLAIN
        if found.place in self._installed.places:
            return True
        is_function = isinstance(found.value, (type, types.ModuleType, types.BuiltinFunctionType)) or callable(found.value)
        return is_default or (is_function and is_fixed(found.value))

    def _enter_class_of(self, value):
        """Enters the class for its methods, except those that create an object."""
        if _enter_of(type(value)) is not None:
            self._add_class(type(value))

    def _add_class(self, cls):
        if any(each is cls for each in self._classes):
            return
        self._classes.append(cls)
        self.kinds.append(cls.__mro__)
        self.holders.append((cls, cls.__name__))
        metaclass = type(cls)
        if not is_library_class(metaclass) or is_installed_class(metaclass):
            self._add_class(metaclass)

    def _enter_object(self, value, path):
        self._enter_class_of(value)
        self.holders.append((value, path))
        if isinstance(value, BaseException):
            self._add(value, "args", f"{path}.args")
        if has_class_in_sight(value) and (not is_library_class(type(value)) or is_installed_class(type(value))):
            self._add(value, "__class__", f"{path}.__class__")
            if (own := attributes_of(value)) is not None:
                self._add_same(value, "__dict__", own)
        if is_library_class(type(value)):
            return
        hidden = hidden_base(type(value))
        if hidden is not None:
            self._note_opaque(f"{path} is a {type(value).__name__}, whose contents are not visible as a {hidden.__name__}")

    def _enter_builtin_method(self, method, path):
        """A method of a list or a dict, for example."""
        self._add(method, "__self__", path)

    def _enter_jitted(self, jitted, path):
        self._enter_or_add(jitted._called, path)

    def _enter_own(self, value, path):
        """Objects of the package that hold functions: custom rules, recursive functions."""
        own = vars(value)
        self._look_up(value, [name for name, each in own.items() if callable(each)], own, path)


def reach_of(functions, arguments):
    """All that functions which are called with these trees, by name, can read outside of them."""
    return Reach([("", (each,), 0) for each in functions], arguments)


_OF_MODULES = {"__builtins__", "__spec__", "__loader__", "__cached__", "__path__", "__file__"}
_CONSTRUCTORS = {"__new__", "__init__", "__post_init__"}
_TELLING = {"__repr__", "__str__", "__format__", "__eq__", "__ne__", "__hash__", "__reduce__", "__reduce_ex__", "__copy__", "__deepcopy__"}
_OF_DISPATCH = {"dispatch_cache", "cache_token"}  # private state of functools.singledispatch


def _holder_kind(holder):
    return (types.FunctionType if isinstance(holder, types.FunctionType) else type if isinstance(holder, type) else
            types.ModuleType if isinstance(holder, types.ModuleType) else object)


_LOOKUPS = {types.FunctionType: Reach._in_function, type: Reach._in_class, types.ModuleType: Reach._in_module,
            object: Reach._in_object}


def _enter_of(value):
    """How it is entered; None for trees."""
    if type(value) in PLAIN or isinstance(value, _core.Tensor):
        return None
    cls = type(value)  # an object may say that it is of another class
    if cls is types.FunctionType:
        return Reach._enter_function
    if cls is types.MethodType:
        return Reach._enter_method
    if issubclass(cls, functools.partial):
        return Reach._enter_partial
    if cls in (types.BuiltinMethodType, types.MethodWrapperType):
        owner = value.__self__
        return None if owner is None or isinstance(owner, (types.ModuleType, type)) else Reach._enter_builtin_method
    if issubclass(cls, type):
        return None if is_library_class(value) and not is_installed_class(value) else Reach._enter_class
    if issubclass(cls, types.ModuleType):
        return None if is_library(value.__name__) and not is_installed(value.__name__) else Reach._enter_module
    if isinstance(value, functools._lru_cache_wrapper):
        return Reach._enter_memoised
    if isinstance(value, _DESCRIPTORS):
        return Reach._enter_descriptor
    if _core._children(value) is not None or is_array(value) or isinstance(value, (set, frozenset)):
        return None
    if isinstance(value, _BAGS) or module_of(type(value)) == "argparse":
        return Reach._enter_object
    if getattr(type(value), "_is_jitted", False):
        return Reach._enter_jitted
    if module_of(type(value)).split(".")[0] == "plait":
        return Reach._enter_own if hasattr(value, "__dict__") else None
    if is_library_class(type(value)):
        is_seen = isinstance(value, BaseException) or (is_of_python(type(value)) and not is_fixed(value))
        return Reach._enter_object if is_seen else None
    return Reach._enter_object
