"""The result of `x.item()` in recorded host code: a number that may not be known yet."""

import math
import numbers
import operator

from plait import _core
from plait._core import Dim, Tensor
from plait.inside.later import Later

np = Later("numpy")

_PYTHONS = {"boolean": bool, "integer": int, "floating": float, "complex": complex}
_DEFAULTS = {"boolean": _core.boolean, "integer": _core.i64, "floating": _core.f32, "complex": _core.c64}
_WIDEST = {"boolean": _core.boolean, "integer": _core.i64, "floating": _core.f64, "complex": _core.c128}
_LEAST, _GREATEST = -(2**63), 2**63 - 1


class Item:
    """The only element of a tensor, instead of the bool, int or float that `item()` returns elsewhere, or an argument of a jitted
    function. Comparing it is a guard. Floats are added, multiplied and divided in the record; combined with a tensor, each
    behaves like a number in the code. Any other use reads the number, or runs the host code again with the number if it depends
    on arguments (jit_arguments.py)."""

    __slots__ = ("_tensor", "_origin")

    def __init__(self, tensor, origin=None):
        self._tensor, self._origin = tensor, origin

    @property
    def __class__(self):
        """isinstance sees the class of the number that it represents."""
        return _PYTHONS[self._kind]

    @property
    def _kind(self):
        return self._tensor.dtype.kind

    @property
    def _default_dtype(self):
        return _DEFAULTS[self._kind]

    def _number(self):
        if self._origin is not None:
            self._origin.need()
        return self._tensor._read()

    def _constant(self, dtype=None):
        """A tensor with its value, constant for derivatives like Python numbers."""
        return _core.astype(_core.stop_gradient(self._tensor), dtype or _WIDEST[self._kind])

    def _operand(self):
        """An operand for functions of tensors, which give it a dtype: a tensor unless the number is needed."""
        return self._number() if self._origin is None else self._constant()

    def _beside(self, tensor):
        """Its replacement as an operand beside a tensor, in the dtype of that tensor if possible."""
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
        return Item(-self._constant(), self._origin) if self._kind == "floating" else -self._number()

    def __pos__(self):
        return self if self._kind == "floating" else +self._number()

    def __abs__(self):
        return Item(_core.absolute(self._constant()), self._origin) if self._kind == "floating" else abs(self._number())

    def __invert__(self):
        return ~self._number()

    def __round__(self, digits=None):
        return round(self._number(), digits)

    def __trunc__(self):
        return int(self._number())

    def __floor__(self):
        return math.floor(self._number())

    def __ceil__(self):
        return math.ceil(self._number())

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce_ex__(self, protocol):
        return self._number().__reduce_ex__(protocol)

    def __divmod__(self, other):
        return divmod(self._number(), _number_of(other))

    def __rdivmod__(self, other):
        return divmod(other, self._number())

    def __getattr__(self, name):  # is_integer, real and similar
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._number(), name)


def with_numbers(cls, number_of):
    """For NumPy's functions: the numbers instead of the objects that represent them, with the dtypes of Python numbers."""
    def compute(self, function, method, *operands, **named):
        if any(isinstance(each, Tensor) for each in operands):
            return NotImplemented
        return getattr(function, method)(*(number_of(each) if type(each) is cls else each for each in operands), **named)

    return compute


Item.__array_ufunc__ = with_numbers(Item, Item._number)
numbers.Number.register(Item)
_core._declare_item(Item)


def _number_of(value):
    return value._number() if isinstance(value, Item) else value


def _kind_of(value):
    if isinstance(value, Item):
        return value._kind
    return "floating" if isinstance(value, float) else "complex" if isinstance(value, complex) else "integer"


def _is_no_double(number):
    """True if an integer lies between numbers of f64, so that f64 cannot represent it."""
    return type(number) is int and int(float(number)) != number


def _as_tensor(value, dtype):
    return value._constant(dtype) if isinstance(value, Item) else value


def _compared(name, a, b):
    """A guard, if both are numbers that the dtype can represent."""
    kinds = {_kind_of(a), _kind_of(b)}
    if "complex" in kinds or (not isinstance(b, Item) and isinstance(b, int) and not _LEAST <= b <= _GREATEST) or (a._kind == "floating" and _is_no_double(b)):
        return getattr(operator, name)(a._number(), _number_of(b))
    dtype = _core.f64 if "floating" in kinds else _core.i64
    return _core._truth(getattr(operator, name)(a._constant(dtype), _as_tensor(b, dtype)))


def as_item(size):
    """A size as a float in the record."""
    return Item(_core.astype(_core.add(size, _core.zeros((), dtype=_core.i64)), _core.f64))


def _computed(name, a, b):
    """Computes in the record if one of them is a float and both are real; integers may grow beyond every dtype."""
    kinds = {_kind_of(a), _kind_of(b)}
    if name not in ("add", "sub", "mul", "truediv") or "floating" not in kinds or "complex" in kinds:
        return getattr(operator, name)(_number_of(a), _number_of(b))
    if name == "truediv" and b == 0:
        raise ZeroDivisionError("float division by zero")
    a, b = (each if isinstance(each, Item) else as_item(each) if type(each) is Dim else float(each) for each in (a, b))
    origins = [each._origin for each in (a, b) if isinstance(each, Item)]
    origin = origins[0] if len(origins) == 1 or origins[0] is None else origins[0].joined(origins[1])
    return Item(getattr(operator, name)(_as_tensor(a, _core.f64), _as_tensor(b, _core.f64)), origin)


def _with_other(name, item, other, is_reflected):
    """An operation with something that is not a number of Python itself; NumPy numbers and unknown objects handle it."""
    is_equality = name in ("eq", "ne")
    if hasattr(type(other), "__array_interface__") or (is_equality and not isinstance(other, numbers.Number)):
        return NotImplemented
    return getattr(operator, name)(*((other, item._number()) if is_reflected else (item._number(), other)))


def _operator(name, apply, is_reflected=False):
    def compute(self, other):
        if isinstance(other, Tensor):
            mine = self._beside(other)
            return getattr(operator, name)(*((other, mine) if is_reflected else (mine, other)))
        if not isinstance(other, (Item, int, float, complex)) or hasattr(type(other), "__array_interface__"):
            return _with_other(name, self, other, is_reflected)
        return apply(name, *((other, self) if is_reflected else (self, other)))

    return compute


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Item, f"__{_name}__", _operator(_name, _compared))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor"):
    setattr(Item, f"__{_name.rstrip('_')}__", _operator(_name, _computed))
    setattr(Item, f"__r{_name.rstrip('_')}__", _operator(_name, _computed, is_reflected=True))
