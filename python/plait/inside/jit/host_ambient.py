"""State that code reads without a name for it: settings of libraries that work on numbers and texts, which classes are registered
with abstract ones, names and bases of functions and classes. As attributes that can be compared."""

import abc
import sys
import types

from plait.inside.jit.host_effects import module_of_callable

_OF_ARRAYS = {"numpy", "scipy", "pandas", "sklearn", "PIL", "jax", "ml_dtypes"}
_TOPS = {"decimal", "_decimal", "torch", "jax", "sklearn", "numpy", "scipy"}
_FORMING_TEXT = (str, repr, format, ascii, print, str.format, str.__mod__)
_MODULES_FORMING_TEXT = {"pprint", "reprlib", "string", "textwrap", "traceback"}
# Those of functions and those of classes.
_OF_FUNCTIONS = ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__")
_OF_CLASSES = ("__name__", "__qualname__", "__module__", "__doc__", "__mro__", "__bases__", "__base__", "mro", "__subclasses__")


def _of_decimals(decimal):
    now = decimal.getcontext()
    return now.prec, now.rounding, now.Emin, now.Emax, now.capitals, now.clamp, sorted(map(str, now.traps.items()))


def _of_torch(torch):
    options, devices = torch._tensor_str.PRINT_OPTS, sys.modules.get("torch.utils._device")
    return (torch.get_default_dtype(), torch.is_grad_enabled(), torch.is_inference_mode_enabled(), getattr(devices, "CURRENT_DEVICE", None),
            options.precision, options.threshold, options.edgeitems, options.linewidth, options.sci_mode)


def _of_jax(jax):
    return jax.config.jax_enable_x64, jax.config.jax_default_matmul_precision, jax.config.jax_numpy_dtype_promotion


# Settings on which the results of these modules depend, if code reaches something of them.
_SETTINGS = {"decimal": _of_decimals, "torch": _of_torch, "jax": _of_jax, "sklearn": lambda sklearn: sklearn.get_config(),
             "scipy.special": lambda special: special.geterr(),
             "scipy.fft": lambda fft: fft.get_workers()}
_TEXTS = "the text of NumPy's arrays"
_CLASSES = "registrations with abstract classes"


class Ambient:
    """Settings of modules, by their names, each as a text that is one object as long as it is the same."""

    __slots__ = ()

    def __getattr__(self, name):
        if name == _TEXTS:
            numpy = sys.modules.get("numpy")
            return sys.intern(repr(numpy and numpy.get_printoptions()))
        if name == _CLASSES:
            return sys.intern(str(abc.get_cache_token()))
        if name not in _SETTINGS:
            raise AttributeError(name)
        module = sys.modules.get(name)
        now = module and _SETTINGS[name](module)
        last, text = _LAST.get(name, (None, ""))
        if now != last or not text:
            text = sys.intern(repr(now))
            _LAST[name] = now, text
        return text

    def __setattr__(self, name, value):
        """Only code of the module can have changed it."""


_LAST = {}  # by module: its settings and their text
AMBIENT = Ambient()


class Met:
    """The ambient state on which code depends, by what it has reached."""

    def __init__(self):
        self.forms_text = False
        self._settings, self._has_arrays, self._has_abstract = {}, False, False

    def note(self, value):
        cls = value if isinstance(value, type) else type(value)
        is_code = isinstance(value, (type, types.ModuleType)) or callable(value)
        module = value.__name__ if isinstance(value, types.ModuleType) else module_of_callable(value if is_code else cls)
        top = module.partition(".")[0]
        if top in _TOPS:
            self._settings |= dict.fromkeys(name for name in _SETTINGS if module == name or module.startswith(f"{name}.") or name == top == "decimal")
        self.forms_text = self.forms_text or _makes_text(value, module)
        self._has_arrays = self._has_arrays or top in _OF_ARRAYS or hasattr(cls, "__array_interface__")
        self._has_abstract = self._has_abstract or isinstance(value, abc.ABCMeta)

    def makes_texts_of_arrays(self):
        return self.forms_text and self._has_arrays

    def names(self):
        """The attributes of AMBIENT that are to be compared."""
        return [*self._settings, *[_TEXTS] * self.makes_texts_of_arrays(), *[_CLASSES] * self._has_abstract]


_CALLED = ("of mro", "of __subclasses__")


class Facts:
    """Names, bases and the like of a function or a class, by the name of the attribute after a prefix: those of a class are
    found by no lookup in its dict."""

    __slots__ = ("_of", "_last")

    def __init__(self, of):
        object.__setattr__(self, "_of", of)
        object.__setattr__(self, "_last", {})

    def __getattr__(self, name):
        value = getattr(self._of, name.removeprefix("of "))
        if name not in _CALLED:
            return value
        value, last = tuple(value()), self._last.get(name)
        if last is None or len(last) != len(value) or any(a is not b for a, b in zip(last, value)):
            self._last[name] = last = value
        return last

    def __setattr__(self, name, value):
        if name not in _CALLED:
            setattr(self._of, name.removeprefix("of "), value)


def facts_of(value, names):
    """The keys for Facts of those attributes that have these names."""
    return [f"of {name}" for name in (_OF_CLASSES if isinstance(value, type) else _OF_FUNCTIONS) if name in names]


def _makes_text(thing, module):
    """True for functions and modules that make a text of any object."""
    if any(thing is each for each in _FORMING_TEXT):
        return True
    if isinstance(thing, (types.BuiltinMethodType, types.MethodWrapperType)):
        return thing.__name__ in ("format", "format_map", "__mod__", "__str__", "__repr__", "__format__")
    return module in _MODULES_FORMING_TEXT
