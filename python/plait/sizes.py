"""Makes Dim, a symbolic size, behave like an int: sums and products stay symbolic, quotients and fractions are
computed in the record, and any other use reads the number and leaves a guard."""

import math
import numbers
import operator

from . import _core
from ._core import Dim
from .items import Item
from .later import Later

np = Later("numpy")

_MOST_FACTORS = 8
_OWN = {name: getattr(Dim, f"__{name}__") for name in ("add", "sub", "mul", "floordiv", "mod", "repr", "hash")}


def _as_item(value):
    """A size as a float in the record."""
    if type(value) is not Dim:
        return value
    return Item(_core.astype(_core.add(value, _core.zeros((), dtype=_core.i64)), _core.f64))


def _number_of(value):
    return int(value) if type(value) is Dim else value


def _computed(name, a, b):
    if any(isinstance(each, (float, complex, Item)) for each in (a, b)) and name in ("add", "sub", "mul", "truediv"):
        return getattr(operator, name)(_as_item(a), _as_item(b))
    if name == "truediv":
        if b == 0:
            raise ZeroDivisionError("division by zero")
        return _as_item(a) / _as_item(b)
    if name in _OWN and not (name in ("floordiv", "mod") and type(b) is not Dim and b <= 0):
        return _OWN[name](a, b)
    if name == "pow" and type(b) is int and 1 <= b <= _MOST_FACTORS:
        return math.prod([a] * (b - 1), start=a)
    return getattr(operator, name)(_number_of(a), _number_of(b))


def _operator(name, is_reflected=False):
    def apply(self, other):
        if type(other) is not Dim and not isinstance(other, (int, float, complex, Item)):
            return NotImplemented
        return _computed(name, *((other, self) if is_reflected else (self, other)))

    return apply


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor", "divmod"):
    _plain = _name.rstrip("_")
    if _name == "divmod":
        Dim.__divmod__ = lambda a, b: (a // b, a % b)
        Dim.__rdivmod__ = lambda a, b: (b // a, b % a)
        continue
    setattr(Dim, f"__{_plain}__", _operator(_name))
    setattr(Dim, f"__r{_plain}__", _operator(_name, is_reflected=True))


def _shown(size, spec=""):
    """The number, if it is known."""
    try:
        return format(int(size), spec)
    except ValueError:
        return format(_OWN["repr"](size), spec)


def _hash(size):
    try:
        return hash(int(size))
    except ValueError:
        return _OWN["hash"](size)


Dim.__neg__ = lambda size: size * -1
Dim.__pos__ = lambda size: size
Dim.__abs__ = lambda size: size if size >= 0 else -size
Dim.__invert__ = lambda size: ~int(size)
Dim.__round__ = lambda size, digits=None: size if digits is None else round(int(size), digits)
Dim.__trunc__ = Dim.__floor__ = Dim.__ceil__ = lambda size: size
Dim.__str__ = Dim.__repr__ = _shown
Dim.__array__ = lambda size, dtype=None, copy=None: np.asarray(int(size), dtype)  # for NumPy's functions
Dim.__format__ = _shown
Dim.__hash__ = _hash
numbers.Integral.register(Dim)
