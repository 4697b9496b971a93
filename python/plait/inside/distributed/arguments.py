"""Arguments of calls, checked before anything is sent: each error names the call, the argument, and what was expected."""

import builtins
import datetime
import math
import numbers
import operator
import sys

from plait import _core, errors
from plait.inside.folder import FOLDER
from plait.inside.help.names import in_words
from plait.inside.help.warning import warn

NO_TIMEOUT = -1.0
MOST_SECONDS = 1e9
MOST_INT = 2**31 - 1


# ---- Numbers, text, bytes.


def seconds_of(function, timeout):
    """A timedelta, or a number of seconds, as seconds; None as NO_TIMEOUT."""
    if timeout is None:
        return NO_TIMEOUT
    if isinstance(timeout, datetime.timedelta):
        timeout = timeout.total_seconds()
    if isinstance(timeout, bool) or not isinstance(timeout, numbers.Real):
        raise errors.TypeError(f"{function}: timeout is {in_words(timeout)}, expected a timedelta or seconds")
    if not timeout > 0:
        raise errors.ValueError(f"{function}: the timeout is {timeout} s, expected more than 0")
    return float(min(timeout, MOST_SECONDS))


def integer_of(function, what, value, least=-2**63, most=2**63 - 1):
    """An integer, of Python or NumPy, within limits."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except (builtins.TypeError, builtins.ValueError):
        number = None
    if number is None:
        raise errors.TypeError(f"{function}: {what} is {in_words(value)}, expected an integer")
    if not least <= number <= most:
        limits = f"{least} or more" if most >= MOST_INT and number < least else f"{least} to {most}"
        raise errors.ValueError(f"{function}: {what} is {in_words(number)}, expected {limits}")
    return number


def integers_of(function, what, values, least, most, kind="ranks"):
    """A list of integers, from anything that has several but text."""
    try:
        listed = None if isinstance(values, (str, bytes, bytearray, memoryview, dict)) else list(values)
    except (builtins.TypeError, builtins.ValueError):
        listed = None
    if listed is None:
        raise errors.TypeError(f"{function}: {what} is {in_words(values)}, expected a list of {kind}")
    return [integer_of(function, f"{what}[{i}]", value, least, most) for i, value in enumerate(listed)]


def expect_different(function, what, ranks):
    """ValueError if a rank appears twice."""
    for i, rank in enumerate(ranks):
        if rank in ranks[:i]:
            raise errors.ValueError(f"{function}: {what}[{i}] is {rank}, which is named before")
    return ranks


def flag_of(function, what, value):
    """True or False."""
    if not isinstance(value, bool):
        raise errors.TypeError(f"{function}: {what} is {in_words(value)}, expected True or False")
    return value


def text_of(function, what, value):
    """A str that has a form as UTF-8."""
    if not isinstance(value, str):
        raise errors.TypeError(f"{function}: {what} is {in_words(value)}, expected a str")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise errors.ValueError(f"{function}: {what} is {in_words(value)}, which is not Unicode text") from None
    return value


def texts_of(function, what, values):
    """A list of str: keys."""
    if not isinstance(values, (list, tuple, set, frozenset)):
        raise errors.TypeError(f"{function}: {what} is {in_words(values)}, expected a list of str")
    return [text_of(function, f"{what}[{i}]", value) for i, value in enumerate(values)]


def bytes_of(function, what, value):
    """A value of a store: bytes as they are, a str as UTF-8."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if not isinstance(value, str):
        raise errors.TypeError.with_hint(f"{function}: {what} is {in_words(value)}, expected bytes or a str", f"str({what}) is the text of a number")
    return text_of(function, what, value).encode()


def expect_none(function, hint, **arguments):
    """ValueError for arguments of PyTorch's that mean nothing here."""
    for what, value in arguments.items():
        if value is not None:
            raise errors.ValueError.with_hint(f"{function}: {what} is {in_words(value)}, expected None", hint)


def list_of(function, what, value, count=None, least=0):
    """A list, whose items the call sets."""
    if not isinstance(value, list):
        raise errors.TypeError(f"{function}: {what} is {in_words(value)}, expected a list")
    if count is not None and len(value) != count:
        raise errors.ValueError(f"{function}: {what} has {len(value)} items, expected {count}, one for each rank")
    if len(value) < least:
        raise errors.ValueError(f"{function}: {what} has {len(value)} items, expected {least} or more")
    return value


# ---- Tensors.


def shown(tensor):
    """A tensor by its type: f32[2, 3]."""
    return f"{tensor.dtype.name}[{', '.join(map(str, tensor.shape))}]"


def tensor_of(function, what, tensor):
    """A tensor that has its values now."""
    if not isinstance(tensor, _core.Tensor):
        message = f"{function}: {what} is {in_words(tensor)}, expected a Tensor"
        if hasattr(tensor, "__dlpack__") or hasattr(tensor, "__array__"):
            raise errors.TypeError.with_hint(message, "x = plait.asarray(x) is one, whose new values do not reach the array that it was made of")
        raise errors.TypeError(message)
    if tensor.is_traced:
        raise errors.TypeError.with_hint(
            f"{function}: {what}, {shown(tensor)}, is part of a function that is transformed, where calls to other ranks are not recorded",
            "call it outside of jit, grad and vmap")
    return tensor


def _references(value):
    return sys.getrefcount(value)


# The references to an argument of a function of users that its call alone holds; -1 where the interpreter does not count those of variables.
_in_call = _core._boundary(lambda value: _references(value))
_kept = object()
_OF_TEMPORARY = _in_call(object())
if _in_call(_kept) <= _OF_TEMPORARY:
    _OF_TEMPORARY = -1


def written_of(function, what, tensor):
    """The same, of a tensor that the call gives values: an argument of the function that calls this one. Warns if a user has called it with a
    tensor that nothing else holds."""
    if sys.getrefcount(tensor) <= _OF_TEMPORARY and not sys._getframe(2).f_code.co_filename.startswith(FOLDER):
        warn(f"{function}: {what} is held nowhere else, so that the values which the call gives it are lost: an index, a method and .grad make new "
             "tensors. Keep it: y = x[0], the call with y, x[0] = y")
    return tensor_of(function, what, tensor)


def tensors_of(function, what, tensors, count=None):
    """A list of tensors: with a count, one for each rank."""
    if not isinstance(tensors, (list, tuple)):
        raise errors.TypeError(f"{function}: {what} is {in_words(tensors)}, expected a list of tensors")
    if count is not None and len(tensors) != count:
        raise errors.ValueError(f"{function}: {what} has {len(tensors)} tensors, expected {count}, one for each rank")
    return [tensor_of(function, f"{what}[{i}]", tensor) for i, tensor in enumerate(tensors)]


def expect_same_dtype(function, what, tensor, other_what, other):
    """TypeError if two tensors differ in dtype: nothing is converted on the way."""
    if tensor.dtype != other.dtype:
        raise errors.TypeError.with_hint(f"{function}: {what} is {shown(tensor)} where {other_what} is {shown(other)}, expected one dtype",
                                         f"convert one of them before: x.astype(plait.{other.dtype.name})")


def expect_same_type(function, what, tensor, other_what, other):
    """The same, and ShapeError if they differ in shape."""
    expect_same_dtype(function, what, tensor, other_what, other)
    if tuple(tensor.shape) != tuple(other.shape):
        fits = math.prod(tensor.shape) == math.prod(other.shape)
        hint = "reshape one of them before: x.reshape(y.shape)" if fits else (
            f"make it by plait.zeros({tuple(other.shape)}, dtype=plait.{other.dtype.name})")
        raise errors.ShapeError.with_hint(f"{function}: {what} is {shown(tensor)} where {other_what} is {shown(other)}, expected one shape", hint)


def expect_alike(function, what, tensors, other_what, other, own_place=None):
    """The same for each tensor of a list. With the place of this rank, those at other places, of other ranks, may have another shape."""
    for i, tensor in enumerate(tensors):
        expect = expect_same_type if own_place in (None, i) else expect_same_dtype
        expect(function, f"{what}[{i}]", tensor, other_what, other)
