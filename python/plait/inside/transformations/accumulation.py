"""Transformations that accumulate updates over steps."""

from plait import _core, errors
from plait.inside.optimizers.numbers import ABOVE_ONE
from plait.inside.transformations.transformation import DECAY, Limits, PerWeight


class trace(PerWeight):  # noqa: N801: optax's names
    """Momentum: the sum of all updates, decayed.

    >>> tx = plait.optim.trace(0.9)
    >>> _, state = tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))
    >>> tx.update(plait.tensor([1.0, -2.0]), state)[0]
    [ 1.9 -3.8] : f32[2]
    """

    decay: Limits(0.0, ABOVE_ONE)
    nesterov: bool = False
    accumulator_dtype: object = None
    _kept = ("trace",)

    def _begin(self, weight, n):
        return [_core.zeros_like(_core.astype(weight, self.accumulator_dtype or weight.dtype))]

    def _one(self, n, update, trace):
        trace = update + n.decay * trace
        return update + n.decay * trace if self.nesterov else trace, trace


class ema(PerWeight):  # noqa: N801
    """The exponential moving average of the updates, without bias.

    >>> tx = plait.optim.ema(0.9)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [ 1. -2.] : f32[2]
    """

    decay: DECAY
    debias: bool = True
    accumulator_dtype: object = None
    _kept = ("ema",)
    _begin = trace._begin

    def _at(self, n, t, columns):
        return {"bias": 1.0 - n["decay"] ** t}

    def _one(self, n, update, ema):
        ema = n.mix("decay", ema, update)
        return ema / n.bias if self.debias else ema, ema


def whole(what, value, least=1, most=2**63 - 1):
    """A number of steps as i64[], a traced one as it is; ValueError if it is not from the least to the most."""
    if isinstance(value, _core.Tensor):
        return _core.astype(value, _core.i64)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise errors.ValueError(f"{what} is {value!r}, expected an integer: " + (f"{least} or more" if most == 2**63 - 1 else f"{least} to {most}"))
    return _core.full((), value, dtype=_core.i64)
