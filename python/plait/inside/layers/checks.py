"""Checks of the numbers that layers are constructed with."""

import math
import operator
from numbers import Real

from plait import _core, errors
from plait.inside.help.names import in_words

MOST_LAYERS = 65_536  # layers of a stack


def name_of(layer):
    """The public name of a layer's class, or of the one that it derives from: nn.Conv2d."""
    found = (each.__name__ for each in type(layer).__mro__ if each.__module__.startswith("plait.") and not each.__name__.startswith("_"))
    return f"nn.{next(found)}"


def whole(layer, name, value, least=0, most=None):
    """The value as an int that is `least` or more, and `most` at most."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise errors.TypeError(f"{name_of(layer)}: {name} is {value!r}, expected an integer")
    if number < least or (most is not None and number > most):
        raise errors.ValueError(f"{name_of(layer)}: {name} is {number}, expected " + (f"{least} or more" if most is None else f"{least} to {most}"))
    return number


def each(layer, name, value, count, least=0):
    """One integer for each of `count` dimensions: of a single one, or of as many."""
    if not isinstance(value, (tuple, list)):
        return (whole(layer, name, value, least),) * count
    if len(value) != count:
        raise errors.ValueError(f"{name_of(layer)}: {name} has {len(value)} numbers, expected one or {count}")
    return tuple(whole(layer, name, number, least) for number in value)


def is_number(value):
    """True of real numbers, Python's, NumPy's and tensors of one element."""
    return isinstance(value, Real) and not isinstance(value, bool) or hasattr(value, "dtype")


def number(layer, name, value, least=-math.inf):
    """A number that is `least` or more, and not NaN."""
    if not is_number(value):
        raise errors.TypeError(f"{name_of(layer)}: {name} is {value!r}, expected a number")
    if not value >= least:
        raise errors.ValueError(f"{name_of(layer)}: {name} is {value}, expected " + ("a number" if least == -math.inf else f"{least:g} or more"))
    return value


def positive(layer, name, value):
    if not number(layer, name, value) > 0:
        raise errors.ValueError(f"{name_of(layer)}: {name} is {value}, expected a number above 0")
    return value


def probability(layer, name, value, kind="a probability"):
    if not 0 <= number(layer, name, value) <= 1:
        raise errors.ValueError(f"{name_of(layer)}: {name} is {value}, expected {kind}, from 0 to 1")
    return value


def one_of(layer, name, value, options):
    if value not in tuple(options):
        listed = ", ".join(str(option) for option in options)
        raise errors.ValueError(f"{name_of(layer)}: {name} is {value!r}, expected one of {listed}")
    return value


def multiple(layer, name, value, of, by):
    """ValueError unless the value is a multiple of `by`, which is the number of `of`."""
    if value % by:
        raise errors.ValueError(f"{name_of(layer)}: {name} is {value}, expected a multiple of the {by} {of}")


def expect_dimensions(layer, x, *counts):
    """ShapeError unless the tensor has one of these numbers of dimensions."""
    if x.ndim not in counts:
        listed = " or ".join(str(count) for count in counts)
        shape = ", ".join(str(size) for size in x.shape)
        raise errors.ShapeError(f"{name_of(layer)}: the input is [{shape}], expected {listed} dimensions")


def expect_indices(layer, what, indices, expected):
    """TypeError unless they are integers; CheckError if one is negative, which would count from the end."""
    if indices.dtype.kind != "integer":
        raise errors.TypeError(f"{name_of(layer)}: the {what} are {indices.dtype.name}[{', '.join(map(str, indices.shape))}], expected {expected}")
    _core.check(indices >= 0, f"{name_of(layer)}: the {what} are negative somewhere, expected {expected}")


def is_empty(x):
    """True if a tensor has no elements, as far as its sizes are known."""
    return any(isinstance(size, int) and size == 0 for size in x.shape)


def function(layer, name, value, kind="a function"):
    if not callable(value):
        raise errors.TypeError(f"{name_of(layer)}: {name} is {in_words(value)}, expected {kind}")
    return value


def flag(layer, name, value):
    if not isinstance(value, bool):
        raise errors.TypeError(f"{name_of(layer)}: {name} is {value!r}, expected True or False")
    return value
