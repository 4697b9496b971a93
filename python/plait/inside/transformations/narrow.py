"""Training with narrow types: the scale of an f16 loss, Adam's moments in 8 bits."""

from plait import _core, errors
from plait.inside.optimizers.numbers import TINY
from plait.inside.optimizers.schedule import known
from plait.inside.transformations.clipping import are_finite
from plait.inside.transformations.combining import chain
from plait.inside.transformations.conditions import Wrapping
from plait.inside.transformations.moments import Adaptive, bias
from plait.inside.transformations.scaling import add_decayed_weights, scale_by_learning_rate
from plait.inside.transformations.transformation import DECAY, POSITIVE, Limits, State, expect_transformation, map_leaves, square, zero_steps


class loss_scale(Wrapping):  # noqa: N801: lower-case as optax's transformations
    """Dynamic scaling of an f16 loss: the loss is multiplied by `optimizer.loss_scale`, and `update` divides the gradients by it. A gradient
    that is not finite skips the step and multiplies the scale by backoff_factor, down to min_scale; after growth_interval good steps the
    scale grows.

    >>> model = plait.tensor([1.0, -2.0])
    >>> optimizer = plait.optim.Optimizer(plait.optim.loss_scale(plait.optim.sgd(0.1), 1024.0), model)
    >>> gradient = plait.grad(lambda model: optimizer.loss_scale * plait.sum(model))(model)
    >>> optimizer.update(model, gradient)[0]
    [ 0.9 -2.1] : f32[2]
    >>> optimizer.update(model, gradient * float("inf"))[1].loss_scale
    512. : f32[]
    """

    growth_interval: Limits(1.0)
    growth_factor: Limits(1.0)
    backoff_factor: DECAY
    min_scale: Limits(TINY)

    def __init__(self, inner, initial_scale=2.0**16, growth_interval=2000, growth_factor=2.0, backoff_factor=0.5, min_scale=1.0):
        self.growth_interval, self.growth_factor, self.backoff_factor = growth_interval, growth_factor, backoff_factor
        self.initial_scale, self.min_scale = _scale("initial_scale", initial_scale), min_scale
        if known(min_scale) is not None and self.initial_scale < min_scale:
            raise errors.ValueError.with_hint(f"optim.loss_scale: initial_scale is {initial_scale}, expected min_scale, {min_scale}, or more",
                                              f"pass min_scale={initial_scale} or less")
        self.inner = expect_transformation("optim.loss_scale", inner)

    def init(self, params):
        return State(count=zero_steps(), loss_scale=_core.full((), self.initial_scale, dtype=_core.f32), good_steps=zero_steps(),
                     skipped=zero_steps(), inner_state=self.inner.init(params))

    def update(self, updates, state, params=None, **extra):
        n = self._numbers_at(state.count)
        unscaled = map_leaves(self._name(), lambda each: each / _core.astype(state.loss_scale, each.dtype), updates)
        is_good = are_finite(unscaled)
        zeros = map_leaves(self._name(), _core.zeros_like, unscaled)
        made, inner = self._update_if(is_good, unscaled, state.inner_state, params, extra, zeros)
        steps = _core.where(is_good, state.good_steps + 1, 0)
        grows = _core.astype(steps, _core.f64) >= n["growth_interval"]
        factor = _core.where(is_good, _core.where(grows, n["growth_factor"], 1.0), n["backoff_factor"])
        wanted = state.loss_scale * _core.astype(factor, _core.f32)
        scale = _core.maximum(_core.where(_core.isfinite(wanted), wanted, state.loss_scale), _core.astype(n["min_scale"], _core.f32))
        return made, State(count=state.count + 1, loss_scale=scale, good_steps=_core.where(grows, 0, steps),
                           skipped=state.skipped + _core.astype(_core.logical_not(is_good), _core.i64), inner_state=inner)


def _scale(name, value):
    if not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise errors.ValueError(f"optim.loss_scale: {name} is {value!r}, expected a number above 0")
    return float(value)


_BLOCK = 256


def _blocks(x):
    flat = _core.reshape(x, (-1,))
    missing = -x.size % _BLOCK
    flat = _core.concat([flat, _core._made_beside(flat, _core.zeros((missing,), dtype=flat.dtype))], axis=0) if missing else flat
    return _core.reshape(flat, (-1, _BLOCK))


def encode(x, most, power):
    """Codes of blocks of 256 and their largest magnitudes: sign · most · |x / largest|^(1 / power), rounded."""
    blocks = _blocks(x)
    largest = _core.max(_core.absolute(blocks), axis=1, keepdims=True)
    part = _core.absolute(blocks) / _core.where(largest > 0, largest, 1.0)
    return _core.round(_core.sign(blocks) * most * part ** (1.0 / power)), largest


def decode(codes, largest, most, power, like):
    blocks = _core.sign(codes) * (_core.absolute(codes) / most) ** power * largest
    return _core.reshape(_core.reshape(blocks, (-1,))[:like.size], like.shape)


_MU, _NU = (127.0, 2.0), (255.0, 4.0)  # the largest code, and the power


class scale_by_adam_8bit(Adaptive):  # noqa: N801
    """As scale_by_adam, with 8 bits for each element of the moments, and one f32 for each block of 256. With m the largest magnitude of its
    block, an element x of mu is off by at most (√(|x| m) + m / 508) / 127, and one of nu by at most 2 (⁴√(x / m) + 1 / 510)³ m / 255.

    >>> tx = plait.optim.scale_by_adam_8bit()
    >>> updates, state = tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))
    >>> updates, state.mu.dtype, state.nu.dtype
    ([ 1. -1.] : f32[2], plait.i8, plait.u8)
    """

    b1: DECAY = 0.9
    b2: DECAY = 0.999
    eps: POSITIVE = 1e-8
    eps_root: POSITIVE = 0.0
    _kept = ("mu", "mu_scale", "nu", "nu_scale")

    def _begin(self, weight, n):
        if weight.dtype.kind == "complex":
            raise errors.TypeError(f"{self._name()}: a weight is complex, expected real numbers")
        blocks = -(-weight.size // _BLOCK)
        return [_core._made_beside(weight, _core.zeros((blocks, each), dtype=dtype))
                for dtype, each in ((_core.i8, _BLOCK), (_core.f32, 1), (_core.u8, _BLOCK), (_core.f32, 1))]

    def _one(self, n, update, mu, mu_scale, nu, nu_scale):
        mu = n.mix("b1", decode(mu, mu_scale, *_MU, update), update)
        nu = n.mix("b2", decode(nu, nu_scale, *_NU, update), square(update))
        made = mu / bias(n, "b1") / (_core.sqrt(nu / bias(n, "b2") + n.eps_root) + n.eps)
        return made, *encode(mu, *_MU), *encode(nu, *_NU)


def adamw_8bit(learning_rate, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, weight_decay=1e-4, mask=None):
    """AdamW with moments of 8 bits.

    >>> tx = plait.optim.adamw_8bit(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.10001  0.09999] : f32[2]
    """
    return chain(scale_by_adam_8bit(b1, b2, eps, eps_root), add_decayed_weights(weight_decay, mask), scale_by_learning_rate(learning_rate))
