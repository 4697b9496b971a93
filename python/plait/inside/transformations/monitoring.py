"""Transformations that measure updates and pass them on, and one that reduces the rate on a plateau."""

from plait import _core, errors
from plait.inside.help.names import in_words
from plait.inside.optimizers.numbers import is_schedule
from plait.inside.transformations.accumulation import ema
from plait.inside.transformations.combining import Composite, chain
from plait.inside.transformations.scaling import expect_value
from plait.inside.transformations.transformation import (DECAY, POSITIVE, GradientTransformation, Limits, State, expect_dict, expect_function,
                                                    expect_transformation, map_leaves, stateless, update_of, zero_steps)


def snapshot(measure_name, measure):
    """Stores a function of the updates in the state.

    >>> tx = plait.optim.snapshot("norm", plait.optim.global_norm)
    >>> tx.update(plait.tensor([3.0, 4.0]), tx.init(plait.zeros(2)))[1].measurement
    {'norm': 5. : f32[]}
    """
    expect_function("optim.snapshot: measure", measure)
    return GradientTransformation(lambda params: State(measurement={measure_name: measure(params)}),
                                  lambda updates, state, params: (updates, State(measurement={measure_name: measure(updates)})))


class monitor(Composite):  # noqa: N801: optax's names
    """Stores measures of the updates in the state, by name: functions, or transformations such as measure_with_ema.

    >>> tx = plait.optim.monitor({"norm": plait.optim.global_norm})
    >>> tx.update(plait.tensor([3.0, 4.0]), tx.init(plait.zeros(2)))[1].measurements
    {'norm': 5. : f32[]}
    """

    def __init__(self, measures):
        expect_dict("optim.monitor: measures", measures, "functions or transformations by name")
        self.transformations = {name: self._measuring(name, each) for name, each in measures.items()}

    @staticmethod
    def _measuring(name, measure):
        if callable(measure):
            return stateless(lambda updates, params: measure(updates))
        return expect_transformation(f"optim.monitor: {name}", measure)

    def _parts(self):
        return self.transformations.values()

    def init(self, params):
        return State(measurements={}, measure_states=tuple(each.init(params) for each in self.transformations.values()))

    def update(self, updates, state, params=None, **extra):
        rows = [update_of(each, updates, own, params, extra) for each, own in zip(self.transformations.values(), state.measure_states)]
        return updates, State(measurements=dict(zip(self.transformations, (row[0] for row in rows))), measure_states=tuple(row[1] for row in rows))


def measure_with_ema(measure, decay, debias=True, accumulator_dtype=None):
    """The moving average of a measure of the updates, for monitor.

    >>> tx = plait.optim.monitor({"norm": plait.optim.measure_with_ema(plait.optim.global_norm, 0.9)})
    >>> tx.update(plait.tensor([3.0, 4.0]), tx.init(plait.zeros(2)))[1].measurements
    {'norm': 5. : f32[]}
    """
    expect_function("optim.measure_with_ema: measure", measure)
    average = ema(decay, debias, accumulator_dtype)
    begun = GradientTransformation(lambda params: average.init(measure(params)), lambda updates, state, params: average.update(updates, state))
    return chain(stateless(lambda updates, params: measure(updates)), begun)


class reduce_on_plateau(GradientTransformation):  # noqa: N801
    """Scales the updates down when the loss, which `update` gets as value=loss, has not improved for `patience` steps.

    >>> tx = plait.optim.reduce_on_plateau(0.5, patience=1)
    >>> updates, state = tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)), value=plait.tensor(1.0))
    >>> updates, tx.update(plait.tensor([1.0, -2.0]), state, value=plait.tensor(1.0))[0]
    ([ 1. -2.] : f32[2], [ 0.5 -1. ] : f32[2])
    """

    factor: DECAY = 0.1
    patience: POSITIVE = 10
    rtol: Limits(0.0, 1.0 + 2.0**-52) = 1e-4
    atol: POSITIVE = 0.0
    cooldown: POSITIVE = 0
    accumulation_size: Limits(1.0) = 1
    min_scale: POSITIVE = 0.0

    def __setattr__(self, name, value):
        if name in self._limits and is_schedule(value):
            raise errors.ValueError(f"optim.reduce_on_plateau: {name} is {in_words(value)}, expected a number: it is the same in all steps")
        super().__setattr__(name, value)

    def __post_init__(self):
        for condition, message in (((self.factor.is_traced or self.factor.item() > 0), "factor is 0, expected a number above 0"),
                                   (self.rtol.is_traced or self.rtol.item() + self.atol.item() > 0, "rtol and atol are 0, expected one above 0")):
            if not condition:
                raise errors.ValueError(f"optim.reduce_on_plateau: {message}")

    def init(self, params):
        zero = _core.zeros((), dtype=_core.f64)
        return State(scale=zero + 1.0, best_value=zero + float("inf"), plateau_count=zero_steps(), cooldown_count=zero_steps(), count=zero_steps(),
                     avg_value=zero)

    def update(self, updates, state, params=None, value=None, **extra):
        n = self._numbers_at(state.count)
        value = _core.astype(expect_value(self._name(), value), _core.f64)
        count = _core.astype(state.count, _core.f64)
        mean = (count * state.avg_value + value) / (count + 1.0)
        is_due = _core.equal(count + 1.0, n["accumulation_size"])
        better = _core.logical_and(is_due, mean < (1.0 - n["rtol"]) * state.best_value - n["atol"])
        waited = _core.where(better, 0, state.plateau_count + 1)
        cools = state.cooldown_count > 0
        reduces = _core.logical_and(is_due, _core.logical_and(_core.logical_not(cools), _core.equal(waited, _core.astype(n["patience"], _core.i64))))
        reduced = _core.where(reduces, state.scale * n["factor"], state.scale)
        scale = _core.where(is_due, _core.maximum(reduced, _core.where(cools, 0.0, n["min_scale"])), state.scale)
        waited = _core.where(_core.logical_or(cools, reduces), 0, waited)
        cooldown = _core.where(cools, state.cooldown_count - 1, _core.where(reduces, _core.astype(n["cooldown"], _core.i64), 0))
        following = State(scale=scale, best_value=_core.where(better, mean, state.best_value),
                          plateau_count=_core.where(is_due, waited, state.plateau_count),
                          cooldown_count=_core.where(is_due, cooldown, state.cooldown_count),
                          count=_core.where(is_due, 0, state.count + 1), avg_value=_core.where(is_due, 0.0, mean))
        return map_leaves(self._name(), lambda each: _core.astype(scale, each.dtype) * each, updates), following
