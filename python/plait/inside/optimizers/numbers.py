"""The numbers of optimizers: rates, betas, decays. Each is a tensor in the optimizer's tree, or a function of the step."""

import math

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.help.names import in_words
from plait.inside.trees.module import Module

TINY, ABOVE_ONE = 5e-324, 1.0 + 2**-52  # limits for numbers above 0, and up to 1


def is_schedule(value):
    return callable(value) and not isinstance(value, _core.Tensor)


def number(what, value, least=0.0, below=math.inf):
    """A number as an f64[] tensor, so that another value needs no new record; a schedule, which maps steps to numbers, as it is.
    ValueError if a number that is known is not in [least, below)."""
    if is_schedule(value):
        return _own(value)
    if isinstance(value, _core.Tensor) and tuple(value.shape) == () and not is_known(value):
        return _core.astype(value, _core.f64)
    given = value.item() if hasattr(value, "item") and not getattr(value, "shape", ()) else value
    is_number = isinstance(given, (int, float)) and not isinstance(given, bool)
    if not is_number:
        raise _no_number(f"{what} is {in_words(value)}, expected a number{_shown(least, below)}, or a schedule", what, value)
    if not least <= given < below:
        raise errors.ValueError(f"{what} is {value!r}, expected a number{_shown(least, below)}")
    return _core.astype(asarray(value), _core.f64) if isinstance(value, _core.Tensor) else asarray(float(given), dtype=_core.f64)


def _own(schedule):
    """A copy: jit would record again when a schedule that is at two places comes apart."""
    if not isinstance(schedule, Module):
        return schedule
    leaves, structure = _core._flatten(schedule)
    return structure.unflatten([leaf.copy() for leaf in leaves])


def _no_number(message, what, value):
    """The error for a value that is neither a number nor a schedule."""
    if hasattr(value, "lr") and hasattr(value, "update"):
        name = what.split(":")[0]
        example = "plateau = ReduceLROnPlateau(0.1); optimizer.lr = plateau.lr" if name == "ReduceLROnPlateau" else (
            f"schedule = {name}(0.1, …); optimizer.lr = schedule")
        return errors.ValueError.with_hint(message, f"the first argument is the rate: {example}")
    if hasattr(value, "lr") and hasattr(value, "step"):
        return errors.ValueError.with_hint(message, "lr is a number: plateau = plateau.step(loss); optimizer.lr = plateau.lr")
    return errors.ValueError(message)


def pair(what, value, form="two numbers"):
    """The two values of a list or tuple."""
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise errors.TypeError(f"{what} is {in_words(value)}, expected {form}")
    return value


def expect_flag(label, value):
    """TypeError unless the value is True or False."""
    if not isinstance(value, bool):
        raise errors.TypeError(f"{label} is {in_words(value)}, expected True or False")


def is_known(value):
    """False of tensors that are recorded or batched."""
    if value.is_traced:
        return False
    try:
        value.item()
    except errors.Error:
        return False
    return True


def _shown(least, below):
    """The limits in words."""
    if (least, below) == (-math.inf, math.inf):
        return ""
    if below == math.inf:
        return " above 0" if least == TINY else f": {least:g} or more"
    if below == TINY:
        return ": 0 or less"
    if (least, below) == (TINY, ABOVE_ONE):
        return " above 0, at most 1"
    return f": from {least:g} to 1" if below == ABOVE_ONE else f": from {least:g} to below {below:g}"


def number_at(value, step):
    """The number at a step, as f64[]. A schedule gets the step as f64[], so that what it computes is f64."""
    if isinstance(value, _core.Tensor):
        return value
    return asarray(value(_core.astype(asarray(step), _core.f64)), dtype=_core.f64)
