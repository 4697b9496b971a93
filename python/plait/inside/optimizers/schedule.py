"""Schedules: values that are called with a step."""

import math

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.help.names import in_words
from plait.inside.optimizers.numbers import ABOVE_ONE, TINY, is_schedule, number
from plait.inside.trees.closed import Closed

ANY = (-math.inf, math.inf)
POSITIVE = (TINY, math.inf)
FROM_ZERO = (0.0, math.inf)
LIMITS = (dict.fromkeys(("step_size", "T_max", "T_0", "transition_steps", "decay_steps", "step_size_up", "step_size_down", "total_steps", "epochs",
                         "steps_per_epoch", "anneal_epochs"), POSITIVE) |
          dict.fromkeys(("gamma", "total_iters", "milestones", "power", "warmup_steps", "stable_steps"), FROM_ZERO))
OF_SCHEDULES = {("LinearLR", "start_factor"): (TINY, ABOVE_ONE), ("LinearLR", "end_factor"): (0.0, ABOVE_ONE),
                ("ConstantLR", "factor"): (0.0, ABOVE_ONE), ("exponential_decay", "decay_rate"): FROM_ZERO}
SEVERAL = ("boundaries", "scales", "milestones")  # options that are several numbers


class Schedule(Closed):
    """The base of schedules: the value at a step is f64, of the shape of the step. Numbers are tensors of the schedule, so a jitted
    function that is called with another value needs no new record."""

    _static = ()
    _others = ()  # options that may be a word, a flag or None

    def __call__(self, step):
        return self._at(_core.astype(asarray(step), _core.f64))

    def __float__(self):
        raise errors.TypeError.with_hint(f"a {type(self).__name__} is a function of the step, and not one number",
                                         "optimizer.lr(optimizer.steps) is the rate of the next step")

    def __setattr__(self, name, value):
        if name not in self._static and not (name in self._others and isinstance(value, (str, bool, type(None)))):
            value = as_numbers(self._owner(), name, value)
        super().__setattr__(name, value)

    def _owner(self):
        """The name of the schedule."""
        return next(each.__name__ for each in type(self).__mro__ if each.__module__.startswith("plait."))


class Curve(Schedule):
    """A schedule that is a function of the step and of numbers, and of others, which may be words, flags or None."""

    _static = ("formula", "names", "_others", "_name")

    def __init__(self, formula, name, numbers, **others):
        self.formula, self.names, self._others, self._name = formula, (*numbers, *others), tuple(others), name
        for each, value in {**numbers, **others}.items():
            setattr(self, each, value)

    def _owner(self):
        return self._name

    def _at(self, step):
        return self.formula(step, *(getattr(self, each) for each in self.names))


def as_numbers(owner, name, value):
    """An attribute as a number, or a tuple of them, checked."""
    what, limits = f"{owner}: {name}", OF_SCHEDULES.get((owner, name), LIMITS.get(name, ANY))
    if name in SEVERAL and isinstance(value, (list, tuple)):
        return tuple(number(f"{what}[{i}]", each, *limits) for i, each in enumerate(value))
    return number(what, value, *limits)


def expect_schedules(name, schedules):
    """A tuple of schedules, checked."""
    if not isinstance(schedules, (list, tuple)) or not schedules or not all(is_schedule(each) for each in schedules):
        message = f"{name}: schedules is {in_words(schedules)}, expected a list of schedules"
        if not hasattr(schedules, "update"):
            raise errors.TypeError(message)
        raise errors.TypeError.with_hint(message, f"an optimizer is not an argument of a schedule: optimizer.lr = {name}([…], …)")
    return tuple(schedules)


def expect_option(name, what, value, allowed):
    if value not in allowed:
        raise errors.ValueError(f"{name}: {what} is {value!r}, expected {' or '.join(map(repr, allowed))}")


def expect_in_order(name, what, steps):
    """ValueError if steps that are known are below 0, or below the one before."""
    numbers = [each for each in steps if known(each) is not None]
    if any(each < 0 for each in numbers) or numbers != sorted(numbers):
        raise errors.ValueError(f"{name}: {what} has the steps {', '.join(map(str, numbers))}, expected 0 or more, none below the one before")


def known(value):
    """A number as Python's, if it is one; else None."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def linear(start, end, part):
    """From start to end, as part goes from 0 to 1."""
    return (end - start) * part + start


def cosine(start, end, part):
    return end + (start - end) / 2 * (_core.cos(math.pi * part) + 1)


SHAPES = {"linear": linear, "cosine": cosine, "cos": cosine}
