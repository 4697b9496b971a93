"""Optimizers as transformations: optax's aliases of those that divide by squares."""

from plait import _core
from plait.inside.optimizers.numbers import expect_flag
from plait.inside.transformations.accumulation import ema, trace
from plait.inside.transformations.clipping import clip_by_block_rms
from plait.inside.transformations.combining import chain
from plait.inside.transformations.scaling import add_decayed_weights, scale, scale_by_learning_rate, scale_by_param_block_rms
from plait.inside.transformations.squares import (scale_by_adadelta, scale_by_cocob, scale_by_factored_rms, scale_by_madgrad, scale_by_novograd,
                                             scale_by_rms, scale_by_rprop, scale_by_rss, scale_by_sm3, scale_by_stddev)
from plait.inside.transformations.transformation import identity


def adadelta(learning_rate=None, rho=0.9, eps=1e-6, weight_decay=0.0, weight_decay_mask=None):
    """Adadelta.

    >>> tx = plait.optim.adadelta(1.0)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.00316226  0.00316227] : f32[2]
    """
    return chain(add_decayed_weights(weight_decay, weight_decay_mask), scale_by_adadelta(rho, eps), scale_by_learning_rate(learning_rate))


def adagrad(learning_rate, initial_accumulator_value=0.1, eps=1e-7):
    """Adagrad.

    >>> tx = plait.optim.adagrad(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.09534626  0.09877297] : f32[2]
    """
    return chain(scale_by_rss(initial_accumulator_value, eps), scale_by_learning_rate(learning_rate))


def novograd(learning_rate, b1=0.9, b2=0.25, eps=1e-6, eps_root=0.0, weight_decay=0.0):
    """NovoGrad: momentum of gradients over their norms.

    >>> tx = plait.optim.novograd(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.04472134  0.08944268] : f32[2]
    """
    return chain(scale_by_novograd(b1, b2, eps, eps_root, weight_decay), scale_by_learning_rate(learning_rate))


def sm3(learning_rate, momentum=0.9):
    """SM3: Adagrad that keeps a maximum for each row and column.

    >>> tx = plait.optim.sm3(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.01  0.01] : f32[2]
    """
    return chain(scale_by_sm3(momentum), scale_by_learning_rate(learning_rate))


def rprop(learning_rate, eta_minus=0.5, eta_plus=1.2, min_step_size=1e-6, max_step_size=50.0):
    """Rprop: steps of their own size for each element.

    >>> tx = plait.optim.rprop(0.1)
    >>> _, state = tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))
    >>> tx.update(plait.tensor([1.0, -2.0]), state)[0]
    [-0.1  0.1] : f32[2]
    """
    return chain(scale_by_rprop(learning_rate, eta_minus, eta_plus, min_step_size, max_step_size), scale(-1.0))


def madgrad(learning_rate, momentum=0.9, weight_decay=0.0, eps=1e-6):
    """MADGRAD: dual averaging with the cube root of the squares.

    >>> tx = plait.optim.madgrad(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.02154446  0.02714431] : f32[2]
    """
    return chain(add_decayed_weights(weight_decay), scale_by_madgrad(learning_rate, momentum, eps))


def cocob(learning_rate=1.0, alpha=100.0, eps=1e-8, weight_decay=0.0, mask=None):
    """COCOB: bets on the sign of the gradient, without a rate.

    >>> tx = plait.optim.cocob(1.0)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.00999999  0.00999999] : f32[2]
    """
    return chain(add_decayed_weights(weight_decay, mask), scale_by_learning_rate(learning_rate, flip_sign=False), scale_by_cocob(alpha, eps))


def rmsprop(learning_rate, decay=0.9, eps=1e-8, initial_scale=0.0, eps_in_sqrt=True, centered=False, momentum=None, nesterov=False,
            bias_correction=False):
    """RMSprop, centred or not, with momentum if it is given.

    >>> tx = plait.optim.rmsprop(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [-0.31622776  0.31622776] : f32[2]
    """
    expect_flag("optim.rmsprop: centered", centered)
    expect_flag("optim.rmsprop: nesterov", nesterov)
    first = (scale_by_stddev if centered else scale_by_rms)(decay, eps, initial_scale, eps_in_sqrt, bias_correction)
    return chain(first, scale_by_learning_rate(learning_rate), identity() if momentum is None else trace(momentum, nesterov))


def adafactor(learning_rate=None, min_dim_size_to_factor=128, decay_rate=0.8, decay_offset=0, multiply_by_parameter_scale=True,
              clipping_threshold=1.0, momentum=None, dtype_momentum=_core.f32, weight_decay_rate=None, eps=1e-30, factored=True,
              weight_decay_mask=None):
    """Adafactor: the second moment of a large matrix as the means of its rows and columns.

    >>> tx = plait.optim.adafactor(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.1  0.1] : f32[2]
    """
    expect_flag("optim.adafactor: multiply_by_parameter_scale", multiply_by_parameter_scale)
    parts = [scale_by_factored_rms(factored, decay_rate, decay_offset, min_dim_size_to_factor, eps)]
    if clipping_threshold is not None:
        parts.append(clip_by_block_rms(clipping_threshold))
    if learning_rate is not None:
        parts.append(scale_by_learning_rate(learning_rate, flip_sign=False))
    if multiply_by_parameter_scale:
        parts.append(scale_by_param_block_rms())
    if momentum is not None:
        parts.append(ema(momentum, False, dtype_momentum))
    if weight_decay_rate is not None:
        parts.append(add_decayed_weights(weight_decay_rate, weight_decay_mask))
    return chain(*parts, scale(-1.0))
