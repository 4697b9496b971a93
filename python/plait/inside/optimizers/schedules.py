"""Learning rates as functions of the step, with optax's names and arguments, and warmups of further kinds."""

import math

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.optimizers.numbers import expect_flag, number
from plait.inside.optimizers.schedule import (
    ANY, POSITIVE, SHAPES, Curve, Schedule, expect_option, expect_in_order, expect_schedules, known)


class Joined(Schedule):
    """Schedules one after another; each begins at step 0 at its boundary."""

    _static = ("schedules",)

    def __init__(self, schedules, boundaries):
        self.schedules = expect_schedules("join_schedules", schedules)
        if not isinstance(boundaries, (list, tuple)) or len(boundaries) != len(schedules) - 1:
            raise errors.ValueError(f"join_schedules: boundaries is {boundaries!r}, expected {len(schedules) - 1} numbers, one less than schedules")
        expect_in_order("join_schedules", "boundaries", boundaries)
        self.boundaries = tuple(boundaries)

    def _at(self, step):
        made = asarray(self.schedules[0](step), dtype=_core.f64)
        for boundary, each in zip(self.boundaries, self.schedules[1:]):
            made = _core.where(step < boundary, made, asarray(each(step - boundary), dtype=_core.f64))
        return made


def join_schedules(schedules, boundaries):
    """Schedules one after another: each is called with the steps since its boundary.

    >>> schedule = plait.optim.join_schedules([plait.optim.constant_schedule(1.0), plait.optim.linear_schedule(1.0, 0.0, 4)], [2])
    >>> schedule(plait.arange(5))
    [1.   1.   1.   0.75 0.5 ] : f64[5]
    """
    return Joined(schedules, boundaries)


def constant_schedule(value):
    """The same number at each step.

    >>> plait.optim.constant_schedule(0.1)(7)
    0.1 : f64[]
    """
    return Curve(_constant, "constant_schedule", {"value": value})


def _constant(step, value):
    return value + _core.zeros_like(step)


def polynomial_schedule(init_value, end_value, power, transition_steps, transition_begin=0):
    """From init_value to end_value over transition_steps, which begin at transition_begin: end + (init - end) (1 - t)^power.

    >>> plait.optim.polynomial_schedule(1.0, 0.0, 2, 4)(plait.arange(6))
    [1.     0.5625 0.25   0.0625 0.     0.    ] : f64[6]
    """
    if known(transition_steps) == 0:  # as for a warmup of no steps
        return constant_schedule(init_value)
    begin = max(transition_begin, 0) if known(transition_begin) is not None else transition_begin
    return Curve(_polynomial, "polynomial_schedule", {"init_value": init_value, "end_value": end_value, "power": power,
                                                      "transition_steps": transition_steps, "transition_begin": begin})


def _polynomial(step, init_value, end_value, power, steps, begin):
    left = 1 - _core.minimum(_core.maximum(step - begin, 0.0), steps) / steps
    return (init_value - end_value) * left**power + end_value


def linear_schedule(init_value, end_value, transition_steps, transition_begin=0):
    """From init_value to end_value along a line, over transition_steps, which begin at transition_begin.

    >>> plait.optim.linear_schedule(1.0, 0.0, 4)(plait.arange(6))
    [1.   0.75 0.5  0.25 0.   0.  ] : f64[6]
    """
    return polynomial_schedule(init_value, end_value, 1, transition_steps, transition_begin)


def exponential_decay(init_value, transition_steps, decay_rate, transition_begin=0, staircase=False, end_value=None):
    """init_value · decay_rate^(step / transition_steps), with whole powers if staircase, and not beyond end_value.

    >>> plait.optim.exponential_decay(1.0, 2, 0.25)(plait.arange(4))
    [1.    0.5   0.25  0.125] : f64[4]
    """
    number("exponential_decay: transition_steps", transition_steps, *POSITIVE)
    expect_flag("exponential_decay: staircase", staircase)
    if known(decay_rate) == 0:
        return constant_schedule(init_value)
    begin = max(transition_begin, 0) if known(transition_begin) is not None else transition_begin
    return Curve(_exponential, "exponential_decay", {"init_value": init_value, "transition_steps": transition_steps, "decay_rate": decay_rate,
                                                     "transition_begin": begin}, staircase=staircase, end_value=end_value)


def _exponential(step, init_value, steps, rate, begin, is_staircase, end_value):
    power = _core.maximum(step - begin, 0.0) / steps
    made = init_value * rate ** (_core.floor(power) if is_staircase else power)
    if end_value is None:
        return made
    return _core.where(rate < 1, _core.maximum(made, end_value), _core.minimum(made, end_value))


def natural_exp_decay(init_value, decay_rate, transition_steps, staircase=False):
    """init_value · exp(-decay_rate · step / transition_steps).

    >>> round(plait.optim.natural_exp_decay(1.0, 1.0, 10)(10).item(), 4)
    0.3679
    """
    expect_flag("natural_exp_decay: staircase", staircase)
    return Curve(_natural, "natural_exp_decay", {"init_value": init_value, "decay_rate": decay_rate, "transition_steps": transition_steps},
                 staircase=staircase)


def _natural(step, init_value, rate, steps, is_staircase):
    power = step / steps
    return init_value * _core.exp(-rate * (_core.floor(power) if is_staircase else power))


def cosine_decay_schedule(init_value, decay_steps, alpha=0.0, exponent=1.0):
    """From init_value to alpha · init_value along half a cosine, over decay_steps.

    >>> plait.optim.cosine_decay_schedule(1.0, 4)(plait.arange(0, 6, 2)).round(3)
    [1.  0.5 0. ] : f64[3]
    """
    return Curve(_cosine_decay, "cosine_decay_schedule", {"init_value": init_value, "decay_steps": decay_steps, "alpha": alpha, "exponent": exponent})


def _cosine_decay(step, init_value, steps, alpha, exponent):
    wave = 0.5 * (1 + _core.cos(math.pi * _core.minimum(step, steps) / steps))
    return init_value * ((1 - alpha) * wave**exponent + alpha)


def inverse_sqrt_schedule(peak_value, warmup_steps, init_value=0.0):
    """Rises along a line to peak_value over warmup_steps, then falls as peak_value · sqrt(warmup_steps / step).

    >>> plait.optim.inverse_sqrt_schedule(1.0, 4)(plait.tensor([0, 2, 4, 16]))
    [0.  0.5 1.  0.5] : f64[4]
    """
    return Curve(_inverse_sqrt, "inverse_sqrt_schedule", {"peak_value": peak_value, "transition_steps": warmup_steps, "init_value": init_value})


def _inverse_sqrt(step, peak_value, steps, init_value):
    falling = peak_value * _core.sqrt(steps / _core.maximum(step, steps))
    return _core.where(step < steps, init_value + (peak_value - init_value) * step / steps, falling)


def _boundaries(name, given):
    """The boundaries and the scales, sorted."""
    if given is None:
        return (), ()
    if not isinstance(given, dict) or not all(known(each) is not None for pair in given.items() for each in pair):
        raise errors.TypeError.with_hint(f"{name}: boundaries_and_scales is {given!r}, expected a dict from steps to factors", "{1000: 0.1}")
    expect_in_order(name, "boundaries_and_scales", sorted(given))
    if not all(scale >= 0 for scale in given.values()):
        raise errors.ValueError(f"{name}: boundaries_and_scales is {given!r}, expected factors of 0 or more")
    return tuple(sorted(given)), tuple(given[each] for each in sorted(given))


def piecewise_constant_schedule(init_value, boundaries_and_scales=None):
    """init_value, multiplied by each scale from its boundary on.

    >>> plait.optim.piecewise_constant_schedule(1.0, {2: 0.5, 3: 0.5})(plait.arange(5))
    [1.   1.   0.5  0.25 0.25] : f64[5]
    """
    boundaries, scales = _boundaries("piecewise_constant_schedule", boundaries_and_scales)
    return Curve(_piecewise_constant, "piecewise_constant_schedule", {"init_value": init_value, "boundaries": boundaries, "scales": scales})


def _piecewise_constant(step, value, boundaries, scales):
    value = value + _core.zeros_like(step)
    for boundary, scale in zip(boundaries, scales):
        value = _core.where(step < boundary, value, value * scale)
    return value


def piecewise_interpolate_schedule(interpolate_type, init_value, boundaries_and_scales=None):
    """Goes through init_value, multiplied by each scale at its boundary, along lines ("linear") or half cosines ("cosine").

    >>> plait.optim.piecewise_interpolate_schedule("linear", 1.0, {2: 0.5, 4: 2.0})(plait.arange(6))
    [1.   0.75 0.5  0.75 1.   1.  ] : f64[6]
    """
    name = "piecewise_interpolate_schedule"
    expect_option(name, "interpolate_type", interpolate_type, ("linear", "cosine"))
    boundaries, scales = _boundaries(name, boundaries_and_scales)
    return Curve(_piecewise, name, {"init_value": init_value, "boundaries": boundaries, "scales": scales}, interpolate_type=interpolate_type)


def _piecewise(step, value, boundaries, scales, shape):
    made, begin = value + _core.zeros_like(step), _core.zeros((), dtype=_core.f64)
    for boundary, scale in zip(boundaries, scales):
        part = (step - begin) / _core.maximum(boundary - begin, 1.0)
        made = _core.where(step < begin, made, SHAPES[shape](value, value * scale, part))
        value, begin = value * scale, boundary
    return _core.where(step < begin, made, value)


def _expect_onecycle(name, steps, **fractions):
    if known(steps) is None or not 0 < steps < 2**53:
        raise errors.ValueError(f"{name}: transition_steps is {steps!r}, expected a positive number")
    for each, value in fractions.items():
        number(f"{name}: {each}", value, *(ANY if each == "peak_value" else POSITIVE))


def linear_onecycle_schedule(transition_steps, peak_value, pct_start=0.3, pct_final=0.85, div_factor=25.0, final_div_factor=1e4):
    """Rises along a line from peak_value / div_factor to the peak at pct_start of the steps, falls back until pct_final, and then to the
    beginning divided by final_div_factor.

    >>> plait.optim.linear_onecycle_schedule(10, 1.0)(plait.tensor([0, 3, 10])).round(6)
    [4.e-02 1.e+00 4.e-06] : f64[3]
    """
    _expect_onecycle("linear_onecycle_schedule", transition_steps, peak_value=peak_value, pct_start=pct_start, pct_final=pct_final,
                     div_factor=div_factor, final_div_factor=final_div_factor)
    return piecewise_interpolate_schedule("linear", peak_value / div_factor, {
        int(pct_start * transition_steps): div_factor, int(pct_final * transition_steps): 1.0 / div_factor, transition_steps: 1.0 / final_div_factor})


def cosine_onecycle_schedule(transition_steps, peak_value, pct_start=0.3, div_factor=25.0, final_div_factor=1e4):
    """Rises along half a cosine from peak_value / div_factor to the peak at pct_start of the steps, and falls to the beginning divided by
    final_div_factor.

    >>> plait.optim.cosine_onecycle_schedule(10, 1.0)(plait.tensor([0, 3, 10])).round(6)
    [4.e-02 1.e+00 4.e-06] : f64[3]
    """
    _expect_onecycle("cosine_onecycle_schedule", transition_steps, peak_value=peak_value, pct_start=pct_start, div_factor=div_factor,
                     final_div_factor=final_div_factor)
    return piecewise_interpolate_schedule("cosine", peak_value / div_factor, {
        int(pct_start * transition_steps): div_factor, int(transition_steps): 1.0 / (div_factor * final_div_factor)})


def warmup_constant_schedule(init_value, peak_value, warmup_steps):
    """Rises along a line from init_value to peak_value over warmup_steps, and stays there.

    >>> plait.optim.warmup_constant_schedule(0.0, 1.0, 2)(plait.arange(4))
    [0.  0.5 1.  1. ] : f64[4]
    """
    return linear_schedule(init_value, peak_value, warmup_steps)


def _total(name, warmup_steps, decay_steps):
    """The number of steps after the warmup."""
    number(f"{name}: warmup_steps", warmup_steps, *ANY)
    number(f"{name}: decay_steps", decay_steps, *ANY)
    if known(warmup_steps) is not None and known(decay_steps) is not None and not warmup_steps < decay_steps:
        raise errors.ValueError(f"{name}: decay_steps is {decay_steps}, expected more than warmup_steps, {warmup_steps}: it counts all steps")
    return decay_steps - warmup_steps


def warmup_cosine_decay_schedule(init_value, peak_value, warmup_steps, decay_steps, end_value=0.0, exponent=1.0):
    """Rises along a line from init_value to peak_value over warmup_steps, then falls to end_value along half a cosine until
    decay_steps.

    >>> plait.optim.warmup_cosine_decay_schedule(0.0, 1.0, 2, 6)(plait.arange(0, 8, 2)).round(3)
    [0.  1.  0.5 0. ] : f64[4]
    """
    left = _total("warmup_cosine_decay_schedule", warmup_steps, decay_steps)
    number("warmup_cosine_decay_schedule: peak_value", peak_value, *ANY)
    number("warmup_cosine_decay_schedule: end_value", end_value, *ANY)
    alpha = 0.0 if known(peak_value) == 0 else end_value / peak_value
    return Joined([linear_schedule(init_value, peak_value, warmup_steps), cosine_decay_schedule(peak_value, left, alpha, exponent)], [warmup_steps])


def warmup_linear_decay_schedule(init_value, peak_value, warmup_steps, decay_steps, end_value=0.0):
    """Rises along a line from init_value to peak_value over warmup_steps, then falls to end_value along a line until decay_steps.

    >>> plait.optim.warmup_linear_decay_schedule(0.0, 1.0, 2, 6)(plait.arange(0, 8, 2))
    [0.  1.  0.5 0. ] : f64[4]
    """
    left = _total("warmup_linear_decay_schedule", warmup_steps, decay_steps)
    return Joined([linear_schedule(init_value, peak_value, warmup_steps), linear_schedule(peak_value, end_value, left)], [warmup_steps])


def warmup_exponential_decay_schedule(init_value, peak_value, warmup_steps, transition_steps, decay_rate, transition_begin=0, staircase=False,
                                      end_value=None):
    """Rises along a line from init_value to peak_value over warmup_steps, followed by exponential_decay.

    >>> plait.optim.warmup_exponential_decay_schedule(0.0, 1.0, 2, 1, 0.5)(plait.arange(5))
    [0.   0.5  1.   0.5  0.25] : f64[5]
    """
    falling = exponential_decay(peak_value, transition_steps, decay_rate, transition_begin, staircase, end_value)
    return Joined([linear_schedule(init_value, peak_value, warmup_steps), falling], [warmup_steps])


def warmup_stable_decay_schedule(peak_value, warmup_steps, stable_steps, decay_steps, init_value=0.0, end_value=0.0, shape="linear"):
    """Rises along a line to peak_value over warmup_steps, stays there for stable_steps, and falls to end_value over decay_steps, along
    a line or half a cosine ("cosine").

    >>> plait.optim.warmup_stable_decay_schedule(1.0, 2, 2, 2)(plait.arange(7))
    [0.  0.5 1.  1.  1.  0.5 0. ] : f64[7]
    """
    name = "warmup_stable_decay_schedule"
    expect_option(name, "shape", shape, ("linear", "cosine"))
    return Curve(_warmup_stable_decay, name, {"peak_value": peak_value, "warmup_steps": warmup_steps, "stable_steps": stable_steps,
                                              "decay_steps": decay_steps, "init_value": init_value, "end_value": end_value}, shape=shape)


def _warmup_stable_decay(step, peak_value, warmup_steps, stable_steps, decay_steps, init_value, end_value, shape):
    part = _core.clip((step - warmup_steps - stable_steps) / decay_steps, 0.0, 1.0)
    rising = init_value + (peak_value - init_value) * step / _core.maximum(warmup_steps, 1.0)
    return _core.where(step < warmup_steps, rising, SHAPES[shape](peak_value, end_value, part))


def sgdr_schedule(cosine_kwargs):
    """Several warmup_cosine_decay_schedules one after another, given by their arguments.

    >>> cycle = {"init_value": 0.0, "peak_value": 1.0, "warmup_steps": 1, "decay_steps": 3}
    >>> plait.optim.sgdr_schedule([cycle, cycle])(plait.arange(7)).round(3)
    [0.  1.  0.5 0.  1.  0.5 0. ] : f64[7]
    """
    if not isinstance(cosine_kwargs, (list, tuple)) or not cosine_kwargs or not all(isinstance(each, dict) for each in cosine_kwargs):
        raise errors.TypeError(f"sgdr_schedule: cosine_kwargs is {cosine_kwargs!r}, expected a list of dicts")
    schedules = [warmup_cosine_decay_schedule(**each) for each in cosine_kwargs]
    return Joined(schedules, [sum(each["decay_steps"] for each in cosine_kwargs[:i + 1]) for i in range(len(schedules) - 1)])


def warmup_cosine(steps, peak, total, warmup=0, least=0.0):
    """A rate that rises linearly to the peak over `warmup` steps, and then falls to the least along a cosine, as a
    function of the number of steps; also in jitted functions.

    >>> [round(plait.optim.warmup_cosine(step, 1.0, total=12, warmup=4).item(), 3) for step in (0, 3, 4, 8, 12)]
    [0.2, 0.8, 1.0, 0.5, 0.0]
    """
    for name, value in {"peak": peak, "total": total, "warmup": warmup, "least": least}.items():
        number(f"warmup_cosine: {name}", value, *ANY)
    if not 0 <= warmup < total:
        raise errors.ValueError(f"warmup_cosine: {total} steps of which {warmup} are warmup; expected more steps than warmup")
    done = _core.astype(asarray(steps), _core.f64)
    progress = _core.clip((done - warmup) / (total - warmup), 0.0, 1.0)
    fall = least + (peak - least) * 0.5 * (1 + _core.cos(progress * math.pi))
    return _core.where(done < warmup, peak * (done + 1) / (warmup + 1), fall)
