"""The common part of logs: log(step, values), flush, close, `with`."""

import builtins
import operator
import os

from plait import errors
from plait.inside.help.names import in_words


def plain(name, value):
    """The bool, int, float or string that a value is, or a tensor of one element. Of a recorded number, this is the number itself."""
    if hasattr(value, "item"):
        try:
            value = value.item()
        except (builtins.ValueError, builtins.RuntimeError):
            if all(size == 1 for size in value.shape):  # another reason: it is batched, for example
                raise
            raise errors.ValueError.with_hint(f"log: {name} has the shape {list(value.shape)}, expected one number",
                                              "log its mean, or a histogram of it") from None
    for kind in bool, int, float:
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, str):
        return value
    if hasattr(value, "__float__"):
        return float(value)
    raise errors.TypeError(f"log: {name} is {type(value).__name__}, expected a number, True, False or a string")


def number(name, value):
    found = plain(name, value)
    if isinstance(found, str):
        raise errors.TypeError(f"log: {name} is {in_words(found)}, expected a number")
    return float(found)


def step_from(step):
    """None is step 0, as PyTorch has it."""
    if step is None:
        return 0
    try:
        found = operator.index(step.item() if hasattr(step, "item") else step)
    except builtins.TypeError:
        raise errors.TypeError(f"log: the step is {in_words(step)}, expected an integer") from None
    if not -1 << 63 <= found < 1 << 63:
        raise errors.ValueError(f"log: the step is {found}, which does not fit into i64")
    return found


def encoded(path):
    try:
        found = os.fsencode(path)
    except builtins.TypeError:
        raise errors.TypeError(f"expected a path, not {in_words(path)}") from None
    except builtins.UnicodeError:
        raise errors.ValueError(f"the path {path!a} is not UTF-8") from None
    if b"\0" in found:
        raise errors.ValueError(f"the path {in_words(path)} has a zero byte")
    return found


class Log:
    """The base of logs. `resume` is None or the step from which the run continues."""

    def __init__(self, core):
        self._core = core

    def log(self, step, values):
        """Writes named values of a step: numbers, True, False, strings, and tensors of one element."""
        if not hasattr(values, "items"):
            raise errors.TypeError.with_hint(f"log: expected a dict of values, not {type(values).__name__}", 'log(step, {"loss": loss})')
        self._core.log(step_from(step), {name: plain(name, value) for name, value in values.items()})

    def flush(self):
        """Returns when all is on the disk. Only a power failure needs this: what is logged survives the process."""
        self._core.flush()

    def close(self):
        """Flushes, and ends the log."""
        self._core.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self.close()

    def __reduce__(self):
        raise errors.TypeError.with_hint(f"a {type(self).__name__} cannot be copied or pickled: only one process writes it",
                                         "open another log in each process")


def resumed_step(resume):
    return None if resume is None else step_from(resume)
