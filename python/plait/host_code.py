"""Analyses host code as Python bytecode: the names that it uses, and calls whose results differ from call to call."""

import collections
import dataclasses
import dis
import functools
import itertools
import operator
import os
import sys
import types

_GLOBALS = {"LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME", "STORE_NAME", "DELETE_NAME"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "IMPORT_FROM", "LOAD_SUPER_ATTR"}
# Functions that read attributes with computed names.
_TAKING_ANY = {"getattr", "setattr", "delattr", "hasattr", "vars", "eval", "exec", "attrgetter", "deepcopy", "copy"}
_ANY_ATTRIBUTE = {"__dict__", "__getattribute__", "__slots__"}

# Functions through which anything can be read or changed.
_REACHING_ALL = {"globals", "locals", "eval", "exec", "dir", "import_module", "modules", "__builtins__", "gc"}

_LIBRARIES = {"plait", "numpy", "scipy", "torch", "jax", "jaxlib", "sklearn", "pandas", "matplotlib", "PIL", "tqdm", "pytest",
              "_pytest", "hypothesis", "ml_dtypes", "builtins"}
_UNSTEADY_MODULES = {"random", "secrets", "numpy.random", "numpy.random.mtrand", "numpy.random._generator"}
_SEEDED = {"default_rng", "Random", "RandomState", "SeedSequence"}  # deterministic if called with arguments
_UNSTEADY = {"time": {"time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time",
                      "process_time_ns", "thread_time", "localtime", "gmtime", "ctime", "asctime"},
             "uuid": {"uuid1", "uuid4"}, "os": {"urandom", "getrandom", "times"}, "posix": {"urandom", "getrandom", "times"},
             "datetime": {"now", "utcnow", "today"}}


@functools.cache
def is_library(module):
    """True if a module is not the user's code: Python's standard library, and large third-party packages."""
    top = (module or "").partition(".")[0]
    if top in sys.stdlib_module_names or top in _LIBRARIES:
        return top != "__main__"
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return ("site-packages" in file or "dist-packages" in file) and not _uses_plait(module)


def is_library_class(cls):
    """The same for a class. A class created by code without a module also claims to be from builtins."""
    is_made_by_code = bool(cls.__flags__ & _HEAP_TYPE)
    return not (cls.__module__ == "builtins" and is_made_by_code) and is_library(cls.__module__)


_HEAP_TYPE = 1 << 9


def _uses_plait(module):
    def is_own(value):
        name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", "")
        return isinstance(name, str) and name.split(".")[0] == "plait"

    return any(is_own(value) for value in list(vars(sys.modules[module]).values()))


@dataclasses.dataclass(frozen=True)
class Names:
    """The names that code uses."""

    globals: tuple
    attributes: tuple
    imports: tuple
    takes_any: bool  # attributes with computed names
    stores: dict  # names of attributes that are assigned, with their lines
    asked: tuple  # string constants that may be names of attributes, in code with computed names
    calls: tuple  # (chain of names, local?, line) of possible calls
    opaque: str  # what gives it access to everything: globals(), eval

    def unsteady(self, function):
        """(reason, file, line) of functions that this one calls and whose results differ from call to call."""
        found = []
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        for chain, is_import, line in self.calls:
            thing = _resolved(chain, is_import, function.__globals__, cells)
            if thing is not None and _is_unsteady(*thing):
                found.append((".".join(chain), function.__code__.co_filename, line))
        return found


def _resolved(chain, is_import, found, cells):
    """(kind, name, owner) of modules and their members that these names resolve to."""
    first, *rest = chain
    if is_import:
        thing = sys.modules.get(first)
    elif first in cells:
        try:
            thing = cells[first].cell_contents
        except ValueError:
            return None
    else:
        thing = found.get(first)
    owner = None
    for name in rest:
        if not isinstance(thing, (types.ModuleType, type)):
            return None
        owner, thing = thing, getattr(thing, name, None)
    return None if thing is None else (thing, rest[-1] if rest else first, owner)


def _is_unsteady(thing, name, owner):
    if isinstance(thing, (types.ModuleType, type)):
        return False
    if thing is os.environ:
        return True
    module = getattr(thing, "__module__", None) or ""
    belongs = getattr(thing, "__self__", None)
    if isinstance(belongs, types.ModuleType):
        module = belongs.__name__
    elif belongs is not None and not isinstance(belongs, type):
        return steady_or_reason(belongs) is not None and type(belongs).__module__ in _UNSTEADY_MODULES
    elif isinstance(belongs, type):
        module = belongs.__module__
    named = getattr(thing, "__name__", name)
    return callable(thing) and (module in _UNSTEADY_MODULES or named in _UNSTEADY.get(module, ()))


@functools.lru_cache(maxsize=4096)
def names_in(code):
    found, texts = {"globals": {}, "attributes": {}, "imports": {}}, {}
    stores, calls, imported = {}, [], {}
    takes_any, opaque = False, ""
    chain, is_import, line = None, False, code.co_firstlineno
    for instruction in dis.get_instructions(code):
        name, value = instruction.opname, instruction.argval
        line = instruction.positions.lineno or line if instruction.positions else line
        if name in _GLOBALS:
            found["globals"][value] = None
            takes_any = takes_any or value in _TAKING_ANY
            opaque = opaque or (value if value in _REACHING_ALL else "")
        elif name in _ATTRIBUTES:
            found["attributes"][value] = None
            takes_any = takes_any or value in _ANY_ATTRIBUTE or value in ("attrgetter", "deepcopy", "format", "format_map")
            opaque = opaque or (value if value in ("modules", "import_module") else "")
        elif name == "IMPORT_NAME":
            found["imports"][value] = None
        elif name == "LOAD_CONST":
            _add_texts(value, texts)
        if name == "STORE_ATTR":
            stores.setdefault(value, line)
        if name.startswith("STORE") and isinstance(value, str):
            if name == "STORE_FAST" and chain is not None and is_import and len(chain) == 1:
                imported[value] = chain[0]
        # A chain of names, such as random.random.
        if name in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "IMPORT_NAME"):
            chain, is_import = (value,), name == "IMPORT_NAME"
        elif name == "LOAD_FAST" and value in imported:
            chain, is_import = (imported[value],), True
        elif name in ("LOAD_ATTR", "LOAD_METHOD") and chain is not None:
            chain = (*chain, value)
        elif name not in ("CACHE", "EXTENDED_ARG", "PUSH_NULL", "COPY_FREE_VARS", "RESUME"):
            chain = None
        if name in ("PRECALL", "CALL", "CALL_FUNCTION", "CALL_METHOD") and calls and calls[-1][0][-1] in _SEEDED and instruction.arg:
            calls.pop()  # called with a seed
        if chain is not None:
            calls = [each for each in calls if each[0] != chain[:-1] or each[2] != line]
            calls.append((chain, is_import, line))
    inner = [names_in(each) for each in code.co_consts if isinstance(each, types.CodeType)]
    for each in inner:
        for kind, names in found.items():
            names |= dict.fromkeys(getattr(each, kind))
        stores = {**each.stores, **stores}
        calls += each.calls
    takes_any = takes_any or any(each.takes_any for each in inner)
    asked = dict.fromkeys(itertools.chain(texts if takes_any else (), *(each.asked for each in inner)))
    return Names(tuple(found["globals"]), (*found["attributes"], *texts), tuple(found["imports"]), takes_any, stores, tuple(asked),
                 tuple(calls), opaque or next((each.opaque for each in inner if each.opaque), ""))


def _add_texts(constant, names):
    """Adds names by which attributes may be read: getattr(x, "name")."""
    if isinstance(constant, str):
        if constant.isidentifier():
            names[constant] = None
    elif isinstance(constant, (tuple, frozenset)):
        for each in constant:
            _add_texts(each, names)


_TAKERS = (getattr, setattr, hasattr, vars, dir, globals, locals, eval, exec)
_VIEWS = (type({}.keys()), type({}.values()), type({}.items()), types.MappingProxyType)


def steady_or_reason(value):
    """None if the object is constant as long as it is the same object; otherwise its kind."""
    cls = type(value)
    module = cls.__module__ or ""
    if hasattr(cls, "__next__"):
        return f"an iterator ({cls.__name__}), of which each call takes more"
    if module in _UNSTEADY_MODULES or (cls.__name__ in ("Generator", "RandomState") and module.startswith("numpy.random")):
        return f"a source of random numbers ({cls.__name__})"
    if isinstance(value, (operator.attrgetter, operator.itemgetter, operator.methodcaller)) or any(value is each for each in _TAKERS):
        return "a function that asks for attributes"
    if cls in _VIEWS or any(base.__module__ == "_ctypes" for base in cls.__mro__):
        return f"a {cls.__name__}, which shows what others change"
    if isinstance(value, (bytearray, memoryview, collections.deque)) or cls.__name__ in ("array",) and module == "array":
        return f"a {cls.__name__}, whose contents may change"
    if module in ("queue", "_queue", "_io", "io", "_thread", "threading", "_contextvars", "contextvars", "weakref", "asyncio",
                  "multiprocessing.queues") and cls.__name__ not in ("lock", "RLock", "Lock", "Condition", "Event", "Thread"):
        return f"a {cls.__name__}, whose state nobody can see"
    return None
