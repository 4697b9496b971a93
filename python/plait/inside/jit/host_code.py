"""Analyses host code as Python bytecode: the names that it uses, and calls whose results differ from call to call."""

import builtins
import collections
import dataclasses
import dis
import functools
import importlib.util
import itertools
import os
import sys
import sysconfig
import types

from plait.inside.jit.host_effects import OUTSIDE_METHODS, UNSTEADY_METHODS, is_outside, kind_of, method_of_path, tells_time

# Contents of modules that are handled elsewhere, or have no state.
_NAMED = (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType)
_CONTAINERS = (list, dict, set, bytearray, collections.deque)
_GLOBALS = {"LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME", "STORE_NAME", "DELETE_NAME"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "IMPORT_FROM", "LOAD_SUPER_ATTR"}
# Functions that read attributes with computed names.
_INSPECTING = {"getattr_static", "getmembers", "getmembers_static"}
_TAKING_ANY = {"getattr", "setattr", "delattr", "hasattr", "vars", "eval", "exec", "attrgetter", "methodcaller", "deepcopy", "copy"} | _INSPECTING
_TAKING_ANY_AS_ATTRIBUTES = {"getattr", "setattr", "vars", "attrgetter", "methodcaller", "deepcopy", "format", "format_map"} | _INSPECTING
_ANY_ATTRIBUTE = {"__dict__", "__getattribute__", "__slots__"}

# Functions and methods that make a text of any object.
_FORMING_TEXT = {"str", "repr", "ascii", "format", "format_map", "print", "pprint", "pformat", "substitute", "safe_substitute", "vformat",
                 "__str__", "__repr__", "__format__", "__mod__", "mod", "urlencode", "writerow", "writerows", "getMessage",
                 "format_exception", "format_exception_only"}
_FORMATTING = {"FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC"}

# Functions through which anything can be read or changed.
_REACHING_ALL = {"globals", "locals", "eval", "exec", "dir", "import_module", "__import__", "modules", "__builtins__", "gc"}
_REACHING_ALL_AS_ATTRIBUTES = {"modules", "import_module", "__import__", "__globals__", "f_globals", "f_locals", "f_builtins"}

_LIBRARIES = {"plait", "numpy", "scipy", "torch", "jax", "jaxlib", "sklearn", "pandas", "matplotlib", "PIL", "tqdm", "pytest",
              "_pytest", "hypothesis", "ml_dtypes", "builtins", "nanobind"}
_OF_PYTHON = tuple(path + os.sep for path in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), os.path.dirname(os.__file__)})
# With arguments their results are the same each time.
SEEDED = {"default_rng", "Random", "RandomState", "SeedSequence", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"}


def is_library(module):
    """True if a module is not the user's code: Python's standard library, large third-party packages, and installed packages that do
    not use Plait."""
    return (kind := _kind_of_module(module)) == "library" or kind == "installed" and not _package_uses_plait(module.partition(".")[0])


def is_installed(module):
    """True for the Python code of the latter (host_libraries.py)."""
    return _kind_of_module(module) == "installed" and not _package_uses_plait(module.partition(".")[0])


@functools.cache
def is_compiled(module):
    """True for a module of an installed package that is not written in Python, and of which nothing else is known."""
    top, file = (module or "").partition(".")[0], getattr(sys.modules.get(module), "__file__", None) or ""
    return _kind_of_module(module) == "library" and top not in sys.stdlib_module_names and top not in _LIBRARIES and not file.endswith(".py")


@functools.cache
def _kind_of_module(module):
    top = (module or "").partition(".")[0]
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    if top in _LIBRARIES or (top in sys.stdlib_module_names and (not file or file.startswith(_OF_PYTHON))):  # not a user's trace.py
        return "library" if top != "__main__" else "own"
    if "site-packages" not in file and "dist-packages" not in file:
        return "own"
    return "installed" if file.endswith(".py") or _uses_plait(module) else "library"


_PACKAGES = {}  # by name: whether one of its modules uses Plait, and how many modules were loaded when it was asked


def _package_uses_plait(top):
    uses, count = _PACKAGES.get(top, (False, 0))
    if not uses and count != len(sys.modules):
        count = len(sys.modules)
        modules = [name for name in list(sys.modules) if name == top or name.startswith(f"{top}.")]
        uses = any(map(_uses_plait, filter(_is_complete, modules)))
        _PACKAGES[top] = uses, count
    return uses


def _is_complete(module):
    """False while it is being imported."""
    found = sys.modules.get(module)
    return isinstance(found, types.ModuleType) and not getattr(getattr(found, "__spec__", None), "_initializing", False)


def module_of(thing):
    """The name of the module where a class or a function was defined; "" if it is unknown, as for functions of the core, whose
    class has a descriptor of that name."""
    module = getattr(thing, "__module__", None)
    return module if isinstance(module, str) else ""


def is_library_class(cls):
    """The same for a class."""
    if not isinstance(cls.__module__, str):  # functions of the core
        return True
    is_made_by_code = bool(cls.__flags__ & _HEAP_TYPE)
    if is_made_by_code and cls.__module__ in ("builtins", "types", "abc"):  # made by type(), new_class() or ABCMeta() with that as its module
        return vars(sys.modules[cls.__module__]).get(cls.__name__) is cls
    return is_library(cls.__module__)


_HEAP_TYPE = 1 << 9


@functools.cache
def _uses_plait(module):
    def is_own(value):
        try:
            name = value.__name__ if isinstance(value, types.ModuleType) else module_of(value)
        except Exception:  # noqa: BLE001: of an object that stands for another one
            return False
        return name.split(".")[0] == "plait"

    return any(is_own(value) for value in list(vars(sys.modules[module]).values()))


@dataclasses.dataclass(frozen=True)
class Names:
    """The names that code uses."""

    globals: tuple
    attributes: tuple
    imports: tuple  # (module, names that are imported from it)
    takes_any: bool  # reads attributes with computed names
    stores: dict  # lines that assign to attributes, by name
    asked: tuple  # strings that may be names of attributes that the code looks up
    calls: tuple  # (chain of names, local?, line) of possible calls
    assigned: tuple  # (chain of names, local?, line) of assignments to attributes
    opaque: str  # the function by which it can reach anything: globals(), eval
    methods: tuple  # (name, kind as in host_effects.py, line) of methods that no record can contain, of any object
    seeded: tuple  # like calls: calls that have a seed
    asks_type: bool  # calls type(x), of something that may be a number
    forms_text: bool  # may format an object, or print it
    matches: bool  # has patterns of classes
    lines: dict  # the first line of each name

    def unsteady(self, function):
        """(what, kind as in host_effects.py, file, line) of what the function uses and no record can contain."""
        file, cells = function.__code__.co_filename, _cells_of(function)
        found, restores = [], any(chain[-1] == "catch_warnings" for chain, *_ in self.calls)
        for chain, is_import, line in self.calls:
            thing = _resolved(chain, is_import, function.__globals__, cells)
            if thing is None:
                continue
            kind, method = kind_of(*thing), method_of_path(thing[0], self.attributes)
            kind = "value" if kind is None and tells_time(thing[0], self.attributes) else kind
            if method is not None:
                found.append((f"{chain[0]}.{method}()", "outside", file, line))
            elif kind is not None and not (restores and module_of(thing[0]) == "warnings"):
                found.append((".".join(chain) + "()" * callable(thing[0]), kind, file, line))
        for (*chain, name), is_import, line in self.assigned:
            owner = _resolved(chain, is_import, function.__globals__, cells)
            if owner is not None and isinstance(owner[0], types.ModuleType) and is_library(owner[0].__name__):
                found.append((".".join((*chain, name)), "outside", file, line))
        named = {(what.rpartition(".")[2], line) for what, _, _, line in found}
        return found + [(f"{name}()", kind, file, line) for name, kind, line in self.methods if (f"{name}()", line) not in named]

    def named(self, function):
        """(object, chain of names, whether the chain ends there) for all that chains of names lead to."""
        cells = _cells_of(function)
        for chain, is_import, _ in (*self.calls, *self.seeded):
            for i in range(1, len(chain) + 1):
                found = _resolved(chain[:i], is_import, function.__globals__, cells)
                if found is not None:
                    yield found[0], chain[:i], i == len(chain)

    def held_by_libraries(self, function):
        """(holder, name, name of the module, whether it is code) of values in modules of libraries that may be others at the next call, such
        as sys.argv, and of functions, classes and modules."""
        cells = _cells_of(function)
        for chain, is_import, _ in self.calls:
            for i in range(1, len(chain)):
                owner = _resolved(chain[:i], is_import, function.__globals__, cells)
                if owner is None or not isinstance(owner[0], types.ModuleType):
                    break
                module = owner[0]
                is_property = chain[i] not in vars(module) and type(module) is not types.ModuleType
                value = getattr(module, chain[i], None) if is_property else vars(module).get(chain[i])
                is_code = isinstance(value, _NAMED)
                is_held = type(value) in _CONTAINERS or not is_installed(module.__name__)
                if is_library(module.__name__) and is_held and not is_outside(value):
                    yield module if is_property else vars(module), chain[i], module.__name__, is_code


def _cells_of(function):
    return dict(zip(function.__code__.co_freevars, function.__closure__ or ()))


def _resolved(chain, is_import, found, cells):
    """(object, its name) for names of modules and their contents."""
    first, *rest = chain
    if is_import:
        thing = loaded(first, found)
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
        if name in _ANY_ATTRIBUTE and isinstance(thing, types.ModuleType):
            return thing, name
        if not isinstance(thing, (types.ModuleType, type)) and module_of(type(thing)) != "datetime":
            return None
        thing = getattr(thing, name, None)
    return None if thing is None else (thing, rest[-1] if rest else first)


def loaded(name, found):
    """The module that an import names in code with these globals; None if it is not loaded."""
    return sys.modules.get(absolute(name, found))


def absolute(name, found):
    """The whole name of a module that an import names in code with these globals. A relative name begins with dots."""
    package = found.get("__package__") or found.get("__name__", "").rpartition(".")[0]
    if name.startswith(".") and not package:
        return None
    try:
        return importlib.util.resolve_name(name, package)
    except ImportError:
        return None


@functools.lru_cache(maxsize=4096)
def names_in(code):
    reader, chains, line = _NameReader(), _ChainReader(), code.co_firstlineno
    constants = [None, None]
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_CONST":
            constants = [constants[1], instruction.argval]
        elif instruction.opname == "IMPORT_NAME":  # after its level
            instruction = instruction._replace(argval="." * constants[0] + instruction.argval)
            reader.imports[instruction.argval, constants[1] or ()] = None
        line = instruction.positions.lineno or line if instruction.positions else line
        reader.read(instruction.opname, instruction.argval, line)
        reader.forms_text = reader.forms_text or instruction.opname in _FORMATTING or instruction.argrepr in ("%", "%=")
        reader.matches = reader.matches or instruction.opname == "MATCH_CLASS"
        chains.read(instruction, line)
    inner = [names_in(each) for each in code.co_consts if isinstance(each, types.CodeType)]
    return reader.names(inner, chains, _asks_type(code))


class _NameReader:
    """Reads instructions one after another, and collects the names in them."""

    def __init__(self):
        self.globals, self.attributes, self.imports, self.texts, self.lines = {}, {}, {}, {}, {}
        self.takes_any, self.opaque, self.forms_text, self.matches = False, "", False, False
        self.stores, self.methods = {}, []

    def read(self, name, value, line):
        if name in _GLOBALS:
            self.globals[value] = None
            self.takes_any = self.takes_any or value in _TAKING_ANY
            self.opaque = self.opaque or (value if value in _REACHING_ALL else "")
        elif name in _ATTRIBUTES:
            self.attributes[value] = None
            self.takes_any = self.takes_any or value in _ANY_ATTRIBUTE or value in _TAKING_ANY_AS_ATTRIBUTES
            self.opaque = self.opaque or (value if value in _REACHING_ALL_AS_ATTRIBUTES else "")
            if name in ("LOAD_ATTR", "LOAD_METHOD") and (value in OUTSIDE_METHODS or value in UNSTEADY_METHODS):
                self.methods.append((value, "outside" if value in OUTSIDE_METHODS else "value", line))
        elif name == "LOAD_CONST":
            _add_texts(value, self.texts)
        if name in _GLOBALS or name in _ATTRIBUTES:
            self.forms_text = self.forms_text or value in _FORMING_TEXT
        if name == "STORE_ATTR":
            self.stores.setdefault(value, line)
        if isinstance(value, str) and name.startswith("LOAD_") and name != "LOAD_CONST":
            self.lines.setdefault(value, line)

    def names(self, inner, chains, asks_type):
        """With those of the functions within."""
        def all_of(kind):
            return tuple(dict.fromkeys(itertools.chain(getattr(self, kind), *(getattr(each, kind) for each in inner))))

        takes_any = self.takes_any or any(each.takes_any for each in inner)
        stores, lines = self.stores, self.lines
        for each in inner:
            stores, lines = {**each.stores, **stores}, {**each.lines, **lines}
        return Names(
            globals=all_of("globals"), attributes=(*all_of("attributes"), *self.texts), imports=all_of("imports"), takes_any=takes_any,
            stores=stores, asked=tuple(dict.fromkeys(itertools.chain(self.texts if takes_any else (), *(each.asked for each in inner)))),
            calls=(*chains.calls, *itertools.chain.from_iterable(each.calls for each in inner)),
            assigned=(*chains.assigned, *itertools.chain.from_iterable(each.assigned for each in inner)),
            opaque=self.opaque or next((each.opaque for each in inner if each.opaque), ""),
            methods=(*self.methods, *itertools.chain.from_iterable(each.methods for each in inner)),
            seeded=(*chains.seeded, *itertools.chain.from_iterable(each.seeded for each in inner)), lines=lines,
            asks_type=asks_type or any(each.asks_type for each in inner),
            forms_text=self.forms_text or any(each.forms_text for each in inner),
            matches=self.matches or any(each.matches for each in inner))


_CALLS = ("CALL", "CALL_KW", "CALL_FUNCTION", "CALL_METHOD")
_WITHOUT_EFFECT = ("CACHE", "EXTENDED_ARG", "PRECALL", "PUSH_NULL", "NOP", "RESUME")


def _asks_type(code):
    """True if code calls type(x), or map(type, x), where x may be a number that is an argument: not of its self or a global."""
    if "type" not in code.co_names:
        return False
    found = [each for each in dis.get_instructions(code) if each.opname not in _WITHOUT_EFFECT]
    for i, each in enumerate(found):
        if (each.opname, each.argval) != ("LOAD_GLOBAL", "type"):
            continue
        is_called = each.arg & 1
        if found[i - 1].argval == "map" if not is_called else not _is_of_another(found[i + 1:]):
            return True
    return False


def _is_of_another(found):
    """True if these instructions load a constant, a global or self for `type`, or an attribute of one, or several arguments."""
    first, *rest = found
    parts = list(itertools.takewhile(lambda each: each.opname in ("LOAD_ATTR", "LOAD_METHOD"), rest))
    end = rest[len(parts)]
    is_one = end.opname in _CALLS and end.arg == 1
    if first.opname == "LOAD_CONST":
        return True
    return is_one and (first.opname == "LOAD_GLOBAL" or first.opname.startswith("LOAD_") and first.argval in ("self", "cls"))


class _ChainReader:
    """Reads instructions one after another, and collects chains of names that may be called, such as random.random."""

    def __init__(self):
        self.calls, self.assigned, self.seeded = [], [], []  # (chain, is it of an import?, line)
        self._chain, self._is_import = None, False
        self._module, self._is_from = None, False  # that the last import named
        self._imported = {}  # chains by local variable
        self._depth, self._may_have_seed = 0, {}  # depth of the stack; calls that may receive a seed, by the depth after them
        self._last = None  # argument, if it is a constant
        self._before = None  # the last instruction

    def read(self, instruction, line):
        name, value = instruction.opname, instruction.argval
        if name == "STORE_FAST" and self._chain is not None and self._is_import:
            self._import_as(value)
        if name in ("STORE_ATTR", "DELETE_ATTR") and self._chain is not None:
            self.assigned.append(((*self._chain, value), self._is_import, line))
        self._follow(name, value)
        self._before = name
        self._depth += dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
        if name in _CALLS:
            self._take_seed(instruction.arg)
        elif name not in ("CACHE", "KW_NAMES", "PRECALL"):
            self._last = (value,) if name == "LOAD_CONST" else None
        if self._chain is not None:
            self._forget(self._chain[:-1])
            self.calls.append((self._chain, self._is_import, line))
            if self._chain[-1] in SEEDED:
                self._may_have_seed[self._depth - 1] = self.calls[-1]  # two entries of the stack are called, and leave a result

    def _forget(self, chain):
        """Forgets the last chain, if it is this one."""
        while self.calls and self.calls[-1][0] == chain:
            self.calls.pop()

    def _import_as(self, variable):
        self._forget(self._chain)
        top = self._chain[0].partition(".")[0]
        self._imported[variable] = (top,) if len(self._chain) == 1 and top == variable else self._chain

    def _take_seed(self, count):
        """Forgets the function that is called now, if it has a seed, which None is not."""
        call = self._may_have_seed.pop(self._depth, None)
        if call in self.calls and count and not (count == 1 and self._last == (None,)):
            self.calls.remove(call)
            self.seeded.append(call)

    def _follow(self, name, value):
        if name in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "IMPORT_NAME"):
            self._chain, self._is_import = (value,), name == "IMPORT_NAME"
            if self._is_import:
                self._module, self._is_from = value, self._last != (None,)
        elif name == "IMPORT_FROM":  # also for import a.b as c
            self._chain, self._is_import = (self._module, value) if self._is_from else (self._module,), True
        elif name == "POP_TOP" and self._before == "SWAP" and self._is_import and not self._is_from:
            return
        elif name == "SWAP" and self._before == "IMPORT_FROM":
            return
        elif name == "LOAD_FAST" and value in self._imported:
            self._chain, self._is_import = self._imported[value], True
        elif name in ("LOAD_ATTR", "LOAD_METHOD") and self._chain is not None:
            self._chain = (*self._chain, value)
        elif name not in ("CACHE", "EXTENDED_ARG", "PUSH_NULL", "COPY_FREE_VARS", "RESUME"):
            self._chain = None


def _add_texts(constant, names):
    """Adds names by which attributes may be read: getattr(x, "name")."""
    if isinstance(constant, str):
        if all(map(str.isidentifier, parts := constant.split("."))):
            names.update(dict.fromkeys(parts))
    elif isinstance(constant, (tuple, frozenset)):
        for each in constant:
            _add_texts(each, names)
