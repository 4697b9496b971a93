"""Dim, a size that is an expression, as the int that it represents: sums and products stay expressions, quotients and
fractions are computed in the record, comparisons leave a guard on their outcome, and any other use reads the number,
which leaves a guard on that."""

import contextlib
import math
import numbers
import operator
import sys
import threading

from plait import _core
from plait._core import Dim, Tensor
from plait.inside.arrays.items import Item, as_item, with_numbers
from plait.inside.folder import FOLDER
from plait.inside.later import Later

np = Later("numpy")

_MOST_FACTORS = 8
_BEYOND = 2**62  # sizes are smaller
_COMPARISONS = ("eq", "lt", "le", "gt", "ge")
_OWN = {name: getattr(Dim, f"__{name}__") for name in ("add", "sub", "mul", "floordiv", "mod", "repr", "hash", "index", *_COMPARISONS)}


class _Noted(threading.local):
    places = None  # where host code read a size as a number, by the text of the size; None unless requested


_noted = _Noted()


def _as_item(value):
    return as_item(value) if type(value) is Dim else value


def _number_of(value):
    return int(value) if type(value) is Dim else value


def _is_known(size):
    """True if the number is known: not while a program is recorded for all sizes."""
    return _core._is_known(_core.add(size, _core.zeros((), dtype=_core.i64)))


def _computed(name, a, b):
    if any(isinstance(each, (float, complex, Item)) for each in (a, b)) and name in ("add", "sub", "mul", "truediv"):
        return getattr(operator, name)(_as_item(a), _as_item(b))
    if name == "truediv":
        if b == 0:
            raise ZeroDivisionError("division by zero")
        return _as_item(a) / _as_item(b)
    if name in _OWN and not (name in ("floordiv", "mod") and type(b) is not Dim and (type(b) is not int or b <= 0)):
        return _OWN[name](a, b)
    if name == "pow" and type(b) is int and 1 <= b <= _MOST_FACTORS:
        return math.prod([a] * (b - 1), start=a)
    return getattr(operator, name)(_number_of(a), _number_of(b))


def _operator(name, is_reflected=False):
    def apply(self, other):
        is_array = isinstance(other, Tensor) or hasattr(type(other), "__array_interface__")
        if type(other) is not Dim and (is_array or not isinstance(other, (int, float, complex, Item))):
            if is_array or not _is_known(self):
                return NotImplemented
            return getattr(operator, name)(*((other, int(self)) if is_reflected else (int(self), other)))
        return _computed(name, *((other, self) if is_reflected else (self, other)))

    return apply


@contextlib.contextmanager
def noting(places):
    """Notes where host code reads sizes as numbers: file:line and function."""
    earlier, _noted.places = _noted.places, places
    try:
        yield
    finally:
        _noted.places = earlier


def _note_place(size):
    if _noted.places is None:
        return
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(FOLDER):
        frame = frame.f_back
    if frame is not None:
        _noted.places[_OWN["repr"](size)] = f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"


def _index(size):
    number = _OWN["index"](size)
    _note_place(size)
    return number


def _with_whole(name, size, number):
    """Compared with an integer; for integers outside of the range of sizes, the sign decides."""
    if type(number) is not Dim and abs(number) >= _BEYOND:
        return getattr(operator, name)(0, number)
    found = _OWN[name](size, number)
    if name == "eq":
        _note_place(size)
    return bool(found) if isinstance(found, Tensor) and _core._is_known(found) else found


def _with_float(name, size, number):
    """A size equals a float with an integer value, and is less than another one if it is at most its floor."""
    if not math.isfinite(number) or abs(number) >= _BEYOND:
        return getattr(operator, name)(0, number)
    if number == math.floor(number):
        return _with_whole(name, size, int(number))
    if name == "eq":
        return False
    return _with_whole("le", size, math.floor(number)) if name in ("lt", "le") else _with_whole("ge", size, math.ceil(number))


def _comparison(name):
    def compare(self, other):
        if type(other) is Dim or type(other) is int:
            return _with_whole(name, self, other)
        if isinstance(other, (Item, Tensor)) or hasattr(type(other), "__array_interface__"):
            return NotImplemented
        if isinstance(other, int):  # bool, and classes that are derived from int
            return _with_whole(name, self, int(other))
        if isinstance(other, float):
            return _with_float(name, self, float(other))
        if isinstance(other, numbers.Number):
            return getattr(operator, name)(int(self), other)
        return NotImplemented

    return compare


def _different(self, other):
    equal = Dim.__eq__(self, other)
    return NotImplemented if equal is NotImplemented else not equal


def _power(self, other, modulus=None):
    return _plain_power(self, other) if modulus is None else pow(int(self), _number_of(other), _number_of(modulus))


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor"):
    _plain = _name.rstrip("_")
    setattr(Dim, f"__{_plain}__", _operator(_name))
    setattr(Dim, f"__r{_plain}__", _operator(_name, is_reflected=True))
_plain_power = Dim.__pow__
Dim.__pow__ = _power
for _name in _COMPARISONS:
    setattr(Dim, f"__{_name}__", _comparison(_name))
Dim.__ne__ = _different


def _shown(size, spec=""):
    """The number, if it is known."""
    try:
        return format(int(size), spec)
    except ValueError:
        return format(_OWN["repr"](size), spec)


def _hash(size):
    """As a key a size is its number, which leaves a guard."""
    try:
        return hash(int(size))
    except ValueError:
        return _OWN["hash"](size)


def _divmod(a, b):
    return a // b, a % b


def _rounded(size, digits=None):
    return size if digits is None or operator.index(digits) >= 0 else round(int(size), digits)


def _of_the_number(name):
    return lambda size, *arguments, **named: getattr(int(size), name)(*arguments, **named)


Dim.__index__ = Dim.__int__ = _index
Dim.__float__ = lambda size: float(_index(size))
Dim.__divmod__, Dim.__rdivmod__ = _divmod, lambda a, b: _divmod(b, a)
Dim.__neg__ = lambda size: size * -1
Dim.__pos__ = lambda size: size
Dim.__abs__ = lambda size: size if size >= 0 else -size
Dim.__invert__ = lambda size: ~int(size)
Dim.__round__ = _rounded
Dim.__trunc__ = Dim.__floor__ = Dim.__ceil__ = Dim.conjugate = lambda size: size
Dim.__copy__ = lambda size: size
Dim.__deepcopy__ = lambda size, memo: size
Dim.__complex__ = lambda size: complex(int(size))
Dim.__reduce_ex__ = lambda size, protocol: (int, (int(size),))
Dim.__getnewargs__ = lambda size: (int(size),)
Dim.__str__ = Dim.__repr__ = _shown
Dim.__format__ = lambda size, spec: _shown(size, spec)
Dim.__array__ = lambda size, dtype=None, copy=None: np.asarray(int(size), dtype)  # for NumPy's functions
Dim.__array_ufunc__ = with_numbers(Dim, int)
Dim.__hash__ = _hash
Dim.real, Dim.numerator = property(lambda size: size), property(int)
Dim.imag, Dim.denominator = 0, 1
for _name in ("bit_length", "bit_count", "to_bytes", "as_integer_ratio"):
    setattr(Dim, _name, _of_the_number(_name))
Dim.from_bytes = int.from_bytes
numbers.Integral.register(Dim)
