"""Values that host code may hold without being checked at each call: immutable objects, known by their classes, and objects of
libraries whose contents are fully visible, since they are written in Python. For anything else the host code runs at each call."""

import collections
import enum
import functools
import io
import operator
import sys
import types

from plait.inside.jit.host_code import is_library_class, module_of
from plait.inside.jit.host_effects import UNSTEADY_MODULES, is_logger
from plait.inside.trees.module import Module

PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))

_DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType, types.MethodDescriptorType, types.WrapperDescriptorType,
                types.ClassMethodDescriptorType)
_FIXED = (*PLAIN, object, range, slice, type(NotImplemented), types.CodeType, types.GenericAlias, types.UnionType, operator.itemgetter,
          type(collections.namedtuple("_Pair", "first").first), *_DESCRIPTORS)
# Classes of libraries whose objects are immutable; None for all of a module.
_FIXED_CLASSES = {
    "datetime": None, "decimal": {"Decimal"}, "fractions": {"Fraction"}, "uuid": {"UUID"}, "ipaddress": None, "pathlib": None,
    "pathlib._local": None, "re": {"Pattern", "Match"}, "zoneinfo": {"ZoneInfo"}, "typing": None, "typing_extensions": None,
    "dataclasses": None, "_struct": {"Struct"}, "string.templatelib": None, "inspect": {"Signature", "Parameter"},
    "torch": {"dtype", "device", "layout", "memory_format", "finfo", "iinfo", "Size"}}
# Libraries whose callables are functions, unless they are classes written in Python; arrays of one of them are immutable too.
_FUNCTIONS_OF = {"numpy", "scipy", "jax", "jaxlib"}
_FIXED_ALL_OF = {"jaxlib", "ml_dtypes"}
# Possible bases of a user's class: their contents are compared, or inspected for each object.
_LOOKED_AT = (int, float, complex, str, bytes, tuple, list, dict, set, frozenset, BaseException, functools.partial, type)
# Where code calls these by their names, the attributes that it may look up are known (Names.takes_any).
LOOKING_UP = (getattr, setattr, hasattr, delattr, vars)
_TAKERS = (*LOOKING_UP, dir, globals, locals, eval, exec, object.__getattribute__, object.__setattr__, object.__delattr__, type.__getattribute__,
           type.__setattr__)
# Entries of every class.
OF_CLASSES = {"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__slots__", "__qualname__", "__class__"}
_READERS = tuple(cls.__getattribute__ for cls in (object, types.SimpleNamespace, BaseException, dict, list, tuple))
_VIEWS = (type({}.keys()), type({}.values()), type({}.items()), types.MappingProxyType)
_HEAP_TYPE = 1 << 9


def attributes_of(thing):
    """The dict of its attributes, if it has one."""
    try:
        attributes = object.__getattribute__(thing, "__dict__")
    except AttributeError:
        return None
    return attributes if isinstance(attributes, dict) else None


def is_fixed(value):
    """True if it is immutable."""
    cls = type(value)
    if cls in _FIXED or isinstance(value, (type, types.ModuleType)) or is_logger(value):  # handled elsewhere
        return not any(value is each for each in _TAKERS)
    if isinstance(value, types.BuiltinFunctionType):
        return not any(value is each for each in _TAKERS)
    if isinstance(value, enum.Enum):
        return is_library_class(cls)
    module = module_of(cls)
    if not module or module.split(".")[0] in ("plait", "nanobind"):
        return True
    return _is_fixed_class(cls) or _is_fixed_of_numbers(value, cls, module.split(".")[0])


def _is_fixed_class(cls):
    names = _FIXED_CLASSES.get(module_of(cls), ())
    return names is None or cls.__name__ in names


def _is_fixed_of_numbers(value, cls, library):
    """For array libraries: dtypes, and callables that hold no function of the user (as ufuncs of `frompyfunc` do)."""
    if library in _FIXED_ALL_OF:
        return True
    if library == "numpy" and (cls.__name__ in ("finfo", "iinfo") or any(base.__name__ == "dtype" for base in cls.__mro__)):
        return True
    if cls.__name__ == "ufunc":
        return not value.__name__.endswith(" (vectorized)")
    return library in _FUNCTIONS_OF and callable(value) and not is_of_python(cls) and module_of(cls) not in UNSTEADY_MODULES


@functools.lru_cache(maxsize=4096)
def is_of_python(cls):
    """True if a class of a library and all its bases are written in Python: then its attributes and slots are the whole state of
    its objects."""
    return all(base is object or not _is_of_c(base) for base in cls.__mro__)


def _is_of_c(cls):
    if not cls.__flags__ & _HEAP_TYPE:
        return True
    new = cls.__dict__.get("__new__")
    if isinstance(new, types.BuiltinFunctionType) and new.__self__ is cls:
        return True
    own = [name for name, each in vars(cls).items() if isinstance(each, _DESCRIPTORS) and each.__objclass__ is cls]
    slots = cls.__dict__.get("__slots__", ())
    slots = (slots,) if isinstance(slots, str) else tuple(slots)
    private = [f"_{cls.__name__.lstrip('_')}{name}" for name in slots if name.startswith("__")]
    return not set(own) <= {"__dict__", "__weakref__", *slots, *private}


def is_read_by_library(cls):
    """True if methods of one of its bases, outside of the user's code, call its methods and read its attributes."""
    return any(base is not Module and is_library_class(base) and base.__module__ != "builtins" for base in cls.__mro__)


def has_class_in_sight(value):
    """True if its `__class__` is read without the user's code."""
    return type(value).__getattribute__ in _READERS


def members_of_library(cls):
    """Names of attributes that bases written in C give its objects, as errno of OSError."""
    kinds = (types.MemberDescriptorType, types.GetSetDescriptorType)
    return [name for base in cls.__mro__[:-1] if is_library_class(base) for name, each in vars(base).items()
            if isinstance(each, kinds) and name not in ("__dict__", "args")]


def hidden_base(cls):
    """The class written in C that a user's class is or is derived from, if the contents of its objects are not visible."""
    for base in cls.__mro__:
        if base is object or not _is_of_c(base):
            continue
        if base.__name__ == "ndarray" or _is_fixed_class(base) or issubclass(base, _LOOKED_AT):
            continue
        return base
    return None


def _named(cls):
    """The name of a class; of a library beyond Python's own with the library, "torch.Tensor"."""
    library = module_of(cls).split(".")[0]
    is_own = not is_library_class(cls) or library in sys.stdlib_module_names
    return cls.__name__ if is_own else f"{library}.{cls.__name__}"


def changing_or_none(value):
    """A description if it may change and the change is not visible; None if it stays the same as long as it is the same object."""
    cls, module = type(value), module_of(type(value))
    if isinstance(value, io.IOBase):
        return f"a stream ({cls.__name__})"
    if module == "weakref":
        return f"a weak reference ({cls.__name__}), whose object may end"
    if hasattr(cls, "__next__"):
        return f"an iterator ({cls.__name__}), which each call advances"
    if module in UNSTEADY_MODULES or (cls.__name__ in ("Generator", "RandomState") and module.startswith("numpy.random")):
        return f"a source of random numbers ({cls.__name__})"
    if isinstance(value, (operator.attrgetter, operator.methodcaller)) or any(value is each for each in _TAKERS):
        return "a function that looks up attributes"
    if cls in _VIEWS or any(module_of(base) == "_ctypes" for base in cls.__mro__):
        return f"a {cls.__name__}, which shows changes made elsewhere"
    if isinstance(value, (bytearray, memoryview, collections.deque)) or (cls.__name__, module) == ("array", "array"):
        return f"a {cls.__name__}, whose contents may change"
    return None if is_fixed(value) else f"a {_named(cls)}, whose state is not visible"


def array_or_none(value):
    """For NumPy arrays and similar ones: the part of the state that is not compared; None if the elements are all of it."""
    cls = type(value)
    if getattr(getattr(value, "dtype", None), "hasobject", False):
        return "an array of objects, which may change"
    if any(base.__name__ == "MaskedArray" for base in cls.__mro__):
        return f"a {cls.__name__}, whose mask may change"
    if is_library_class(cls) and module_of(cls).split(".")[0] not in ("numpy", *_FIXED_ALL_OF):
        return f"a {_named(cls)}, whose state is not visible"
    return None
