"""The result of `x.item()` in recorded host code: a number that may not be known yet."""

import numbers
import operator

from . import _core
from ._core import Tensor
from .later import Later

np = Later("numpy")

_PYTHONS = {"boolean": bool, "integer": int, "floating": float}
_DEFAULTS = {"boolean": _core.boolean, "integer": _core.i64, "floating": _core.f32}
_LEAST, _GREATEST = -(2**63), 2**63 - 1


class Item:
    """The one number of a tensor, used instead of the bool, int or float that `item()` returns in eager code. A
    comparison is a guard. Floats are added, multiplied and divided in the record, and act like Python numbers beside
    a tensor. Any other use reads the number."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor):
        self._tensor = tensor

    @property
    def _kind(self):
        return self._tensor.dtype.kind

    @property
    def _default_dtype(self):
        return _DEFAULTS[self._kind]

    def _number(self):
        return self._tensor._read()

    def _constant(self, dtype=_core.f64):
        """A tensor of it, constant for derivatives like a Python number."""
        return _core.astype(_core.stop_gradient(self._tensor), dtype)

    def _beside(self, tensor):
        """Its replacement beside a tensor, whose dtype it takes if possible."""
        if self._kind == "integer" and tensor.dtype.kind == "integer" and tensor.dtype != _core.i64:
            return self._number()  # may be out of range of that dtype
        return self._constant(_core.promote(tensor.dtype, _PYTHONS[self._kind]))

    def __bool__(self):
        return _core._truth(self._tensor)

    def __float__(self):
        return float(self._number())

    def __int__(self):
        return int(self._number())

    def __complex__(self):
        return complex(self._number())

    def __index__(self):
        return operator.index(self._number())

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self._number(), dtype)

    def __hash__(self):
        return hash(self._number())

    def __repr__(self):
        return repr(self._number())

    def __str__(self):
        return str(self._number())

    def __format__(self, spec):
        return format(self._number(), spec)

    def __neg__(self):
        return Item(-self._constant()) if self._kind == "floating" else -self._number()

    def __pos__(self):
        return self if self._kind == "floating" else +self._number()

    def __abs__(self):
        return Item(_core.absolute(self._constant())) if self._kind == "floating" else abs(self._number())

    def __invert__(self):
        return ~self._number()

    def __round__(self, digits=None):
        return round(self._number(), digits)

    def __trunc__(self):
        return int(self._number())

    def __divmod__(self, other):
        return divmod(self._number(), _number_of(other))

    def __rdivmod__(self, other):
        return divmod(other, self._number())

    def __getattr__(self, name):  # is_integer, real and the like
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._number(), name)


numbers.Number.register(Item)
_core._declare_item(Item)


def _number_of(value):
    return value._number() if isinstance(value, Item) else value


def _kind_of(value):
    if isinstance(value, Item):
        return value._kind
    return "floating" if isinstance(value, float) else "complex" if isinstance(value, complex) else "integer"


def _as_tensor(value, dtype):
    return value._constant(dtype) if isinstance(value, Item) else value


def _compared(name, a, b):
    """A guard, if both are numbers that the dtype can represent."""
    kinds = {_kind_of(a), _kind_of(b)}
    if "complex" in kinds or (isinstance(b, int) and not _LEAST <= b <= _GREATEST):
        return getattr(operator, name)(a._number(), b)
    dtype = _core.f64 if "floating" in kinds else _core.i64
    return _core._truth(getattr(operator, name)(a._constant(dtype), _as_tensor(b, dtype)))


def _computed(name, a, b):
    """Computes in the record if one of them is a float and both are real; integers may grow beyond every dtype."""
    kinds = {_kind_of(a), _kind_of(b)}
    if name not in ("add", "sub", "mul", "truediv") or "floating" not in kinds or "complex" in kinds:
        return getattr(operator, name)(_number_of(a), _number_of(b))
    if name == "truediv" and b == 0:
        raise ZeroDivisionError("float division by zero")
    a, b = (each if isinstance(each, Item) else float(each) for each in (a, b))
    return Item(getattr(operator, name)(_as_tensor(a, _core.f64), _as_tensor(b, _core.f64)))


def _operator(name, apply, is_reflected=False):
    def compute(self, other):
        if isinstance(other, Tensor):
            mine = self._beside(other)
            return getattr(operator, name)(*((other, mine) if is_reflected else (mine, other)))
        if not isinstance(other, (Item, int, float, complex)):
            return NotImplemented
        return apply(name, *((other, self) if is_reflected else (self, other)))

    return compute


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Item, f"__{_name}__", _operator(_name, _compared))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor"):
    setattr(Item, f"__{_name.rstrip('_')}__", _operator(_name, _computed))
    setattr(Item, f"__r{_name.rstrip('_')}__", _operator(_name, _computed, is_reflected=True))
