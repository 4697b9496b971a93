"""Analyses host code as Python bytecode: the names that it uses, and calls whose results differ from call to call."""

import builtins
import dataclasses
import dis
import functools
import itertools
import sys
import types

from plait.inside.jit.host_effects import OUTSIDE_METHODS, is_outside, kind_of, method_of_path

_GLOBALS = {"LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME", "STORE_NAME", "DELETE_NAME"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "IMPORT_FROM", "LOAD_SUPER_ATTR"}
# Functions that read attributes with computed names.
_TAKING_ANY = {"getattr", "setattr", "delattr", "hasattr", "vars", "eval", "exec", "attrgetter", "deepcopy", "copy"}
_ANY_ATTRIBUTE = {"__dict__", "__getattribute__", "__slots__"}

# Functions through which anything can be read or changed.
_REACHING_ALL = {"globals", "locals", "eval", "exec", "dir", "import_module", "modules", "__builtins__", "gc"}

_LIBRARIES = {"plait", "numpy", "scipy", "torch", "jax", "jaxlib", "sklearn", "pandas", "matplotlib", "PIL", "tqdm", "pytest",
              "_pytest", "hypothesis", "ml_dtypes", "builtins", "nanobind"}
_SEEDED = {"default_rng", "Random", "RandomState", "SeedSequence"}  # with arguments their results are the same each time


@functools.cache
def is_library(module):
    """True if a module is not the user's code: Python's standard library, and large third-party packages."""
    top = (module or "").partition(".")[0]
    if top in sys.stdlib_module_names or top in _LIBRARIES:
        return top != "__main__"
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return ("site-packages" in file or "dist-packages" in file) and not _uses_plait(module)


def module_of(thing):
    """The name of the module where a class or a function was defined; "" if it is unknown, as for functions of the core, whose
    class has a descriptor of that name."""
    module = getattr(thing, "__module__", None)
    return module if isinstance(module, str) else ""


def is_library_class(cls):
    """The same for a class. A class that was created without a module counts as one of builtins."""
    if not isinstance(cls.__module__, str):  # functions of the core
        return True
    is_made_by_code = bool(cls.__flags__ & _HEAP_TYPE)
    return not (cls.__module__ == "builtins" and is_made_by_code) and is_library(cls.__module__)


_HEAP_TYPE = 1 << 9


def _uses_plait(module):
    def is_own(value):
        name = value.__name__ if isinstance(value, types.ModuleType) else module_of(value)
        return name.split(".")[0] == "plait"

    return any(is_own(value) for value in list(vars(sys.modules[module]).values()))


@dataclasses.dataclass(frozen=True)
class Names:
    """The names that code uses."""

    globals: tuple
    attributes: tuple
    imports: tuple
    takes_any: bool  # reads attributes with computed names
    stores: dict  # lines that assign to attributes, by name
    asked: tuple  # strings that may be names of attributes that the code looks up
    calls: tuple  # (chain of names, local?, line) of possible calls
    opaque: str  # the function by which it can reach anything: globals(), eval
    methods: tuple  # (name, line) of methods that reach outside of the program, of any object

    def unsteady(self, function):
        """(what, kind as in host_effects.py, file, line) of what the function uses and no record can contain."""
        file = function.__code__.co_filename
        found = []
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        for chain, is_import, line in self.calls:
            thing = _resolved(chain, is_import, function.__globals__, cells)
            if thing is None:
                continue
            kind, method = kind_of(*thing), method_of_path(thing[0], self.attributes)
            if method is not None:
                found.append((f"{chain[0]}.{method}()", "outside", file, line))
            elif kind is not None:
                found.append((".".join(chain) + "()" * callable(thing[0]), kind, file, line))
        named = {(what.rpartition(".")[2], line) for what, _, _, line in found}
        return found + [(f"{name}()", "outside", file, line) for name, line in self.methods if (f"{name}()", line) not in named]


def _resolved(chain, is_import, found, cells):
    """(object, its name) for names of modules and their contents."""
    first, *rest = chain
    if is_import:
        thing = sys.modules.get(first)
    elif first in cells:
        try:
            thing = cells[first].cell_contents
        except ValueError:
            return None
    else:
        thing = found[first] if first in found else vars(builtins).get(first)
    for name in rest:
        if is_outside(thing) or method_of_path(thing, (name,)):
            return thing, name
        if not isinstance(thing, (types.ModuleType, type)):
            return None
        thing = getattr(thing, name, None)
    return None if thing is None else (thing, rest[-1] if rest else first)


@functools.lru_cache(maxsize=4096)
def names_in(code):
    reader, chains, line = _NameReader(), _ChainReader(), code.co_firstlineno
    for instruction in dis.get_instructions(code):
        line = instruction.positions.lineno or line if instruction.positions else line
        reader.read(instruction.opname, instruction.argval, line)
        chains.read(instruction.opname, instruction.argval, instruction.arg, line)
    inner = [names_in(each) for each in code.co_consts if isinstance(each, types.CodeType)]
    return reader.names(inner, chains.calls)


class _NameReader:
    """Reads instructions one after another, and collects the names in them."""

    def __init__(self):
        self.globals, self.attributes, self.imports, self.texts = {}, {}, {}, {}
        self.takes_any, self.opaque = False, ""
        self.stores, self.methods = {}, []

    def read(self, name, value, line):
        if name in _GLOBALS:
            self.globals[value] = None
            self.takes_any = self.takes_any or value in _TAKING_ANY
            self.opaque = self.opaque or (value if value in _REACHING_ALL else "")
        elif name in _ATTRIBUTES:
            self.attributes[value] = None
            self.takes_any = self.takes_any or value in _ANY_ATTRIBUTE or value in ("attrgetter", "deepcopy", "format", "format_map")
            self.opaque = self.opaque or (value if value in ("modules", "import_module") else "")
            if value in OUTSIDE_METHODS and name in ("LOAD_ATTR", "LOAD_METHOD"):
                self.methods.append((value, line))
        elif name == "IMPORT_NAME":
            self.imports[value] = None
        elif name == "LOAD_CONST":
            _add_texts(value, self.texts)
        if name == "STORE_ATTR":
            self.stores.setdefault(value, line)

    def names(self, inner, calls):
        """With those of the functions within."""
        def all_of(kind):
            return tuple(dict.fromkeys(itertools.chain(getattr(self, kind), *(getattr(each, kind) for each in inner))))

        takes_any = self.takes_any or any(each.takes_any for each in inner)
        stores = self.stores
        for each in inner:
            stores = {**each.stores, **stores}
        return Names(
            globals=all_of("globals"), attributes=(*all_of("attributes"), *self.texts), imports=all_of("imports"), takes_any=takes_any,
            stores=stores, asked=tuple(dict.fromkeys(itertools.chain(self.texts if takes_any else (), *(each.asked for each in inner)))),
            calls=(*calls, *itertools.chain.from_iterable(each.calls for each in inner)),
            opaque=self.opaque or next((each.opaque for each in inner if each.opaque), ""),
            methods=(*self.methods, *itertools.chain.from_iterable(each.methods for each in inner)))


class _ChainReader:
    """Reads instructions one after another, and collects chains of names that may be called, such as random.random."""

    def __init__(self):
        self.calls = []  # (chain, is it of an import?, line)
        self._chain, self._is_import = None, False
        self._module = None  # that the last import named
        self._imported = {}  # chains by local variable

    def read(self, name, value, argument, line):
        if name == "STORE_FAST" and self._chain is not None and self._is_import:
            self._imported[value] = self._chain
        self._follow(name, value)
        if name in ("PRECALL", "CALL", "CALL_FUNCTION", "CALL_METHOD") and self.calls and self.calls[-1][0][-1] in _SEEDED and argument:
            self.calls.pop()  # called with a seed
        if self._chain is not None:
            self.calls = [each for each in self.calls if each[0] != self._chain[:-1] or each[2] != line]
            self.calls.append((self._chain, self._is_import, line))

    def _follow(self, name, value):
        if name in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "IMPORT_NAME"):
            self._chain, self._is_import = (value,), name == "IMPORT_NAME"
            self._module = value if self._is_import else self._module
        elif name == "IMPORT_FROM":
            self._chain, self._is_import = (self._module, value), True
        elif name == "LOAD_FAST" and value in self._imported:
            self._chain, self._is_import = self._imported[value], True
        elif name in ("LOAD_ATTR", "LOAD_METHOD") and self._chain is not None:
            self._chain = (*self._chain, value)
        elif name not in ("CACHE", "EXTENDED_ARG", "PUSH_NULL", "COPY_FREE_VARS", "RESUME"):
            self._chain = None


def _add_texts(constant, names):
    """Adds names by which attributes may be read: getattr(x, "name")."""
    if isinstance(constant, str):
        if constant.isidentifier():
            names[constant] = None
    elif isinstance(constant, (tuple, frozenset)):
        for each in constant:
            _add_texts(each, names)
