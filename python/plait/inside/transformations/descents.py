"""Optimizers as transformations: optax's aliases."""

from plait import _core
from plait.inside.optimizers.numbers import expect_flag
from plait.inside.transformations.accumulation import ema, trace
from plait.inside.transformations.clipping import add_noise, differentially_private_aggregate
from plait.inside.transformations.combining import chain, masked
from plait.inside.transformations.moments import (scale_by_acprop, scale_by_adam, scale_by_adamax, scale_by_adan, scale_by_ademamix, scale_by_adopt,
                                             scale_by_amsgrad, scale_by_belief, scale_by_lion, scale_by_radam, scale_by_simplified_ademamix,
                                             scale_by_yogi)
from plait.inside.transformations.scaling import add_decayed_weights, scale_by_learning_rate, scale_by_polyak, scale_by_sign, scale_by_trust_ratio
from plait.inside.transformations.squares import scale_by_optimistic_gradient
from plait.inside.transformations.transformation import POSITIVE, PerWeight, identity


def sgd(learning_rate, momentum=None, nesterov=False, accumulator_dtype=None):
    """Gradient descent, with momentum if it is given.

    >>> tx = plait.optim.sgd(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [-0.1  0.2] : f32[2]
    """
    expect_flag("optim.sgd: nesterov", nesterov)
    first = identity() if momentum is None else trace(momentum, nesterov, accumulator_dtype)
    return chain(first, scale_by_learning_rate(learning_rate))


def adam(learning_rate, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None, *, nesterov=False):
    """Adam.

    >>> tx = plait.optim.adam(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [-0.1  0.1] : f32[2]
    """
    return chain(scale_by_adam(b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov), scale_by_learning_rate(learning_rate))


def adamw(learning_rate, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None, weight_decay=1e-4, mask=None, *, nesterov=False):
    """Adam with decoupled weight decay; a mask says of which weights.

    >>> tx = plait.optim.adamw(0.1, weight_decay=0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.11000001  0.09      ] : f32[2]
    """
    return chain(scale_by_adam(b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov), add_decayed_weights(weight_decay, mask),
                 scale_by_learning_rate(learning_rate))


def adabelief(learning_rate, b1=0.9, b2=0.999, eps=1e-16, eps_root=1e-16, *, nesterov=False):
    """AdaBelief.

    >>> tx = plait.optim.adabelief(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.11111112  0.11111112] : f32[2]
    """
    return chain(scale_by_belief(b1, b2, eps, eps_root, nesterov=nesterov), scale_by_learning_rate(learning_rate))


def adamax(learning_rate, b1=0.9, b2=0.999, eps=1e-8):
    """Adamax: Adam by the maximum norm.

    >>> tx = plait.optim.adamax(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.1  0.1] : f32[2]
    """
    return chain(scale_by_adamax(b1, b2, eps), scale_by_learning_rate(learning_rate))


def adamaxw(learning_rate, b1=0.9, b2=0.999, eps=1e-8, weight_decay=1e-4, mask=None):
    """Adamax with decoupled weight decay.

    >>> tx = plait.optim.adamaxw(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.10001  0.09999] : f32[2]
    """
    return chain(scale_by_adamax(b1, b2, eps), add_decayed_weights(weight_decay, mask), scale_by_learning_rate(learning_rate))


def adan(learning_rate, b1=0.98, b2=0.92, b3=0.99, eps=1e-8, eps_root=1e-8, weight_decay=0.0, mask=None):
    """Adan: Adam with Nesterov's momentum of the change of the gradient.

    >>> tx = plait.optim.adan(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.1  0.1] : f32[2]
    """
    return chain(scale_by_adan(b1, b2, b3, eps, eps_root), add_decayed_weights(weight_decay, mask), scale_by_learning_rate(learning_rate))


def lion(learning_rate, b1=0.9, b2=0.99, mu_dtype=None, weight_decay=1e-3, mask=None):
    """Lion: the sign of an averaged gradient.

    >>> tx = plait.optim.lion(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.1001  0.0999] : f32[2]
    """
    return chain(scale_by_lion(b1, b2, mu_dtype), add_decayed_weights(weight_decay, mask), scale_by_learning_rate(learning_rate))


def amsgrad(learning_rate, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None, bias_correction_mu=True, bias_correction_nu=True):
    """Adam with the maximum of its second moments.

    >>> tx = plait.optim.amsgrad(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.1  0.1] : f32[2]
    """
    return chain(scale_by_amsgrad(b1, b2, eps, eps_root, mu_dtype, bias_correction_mu, bias_correction_nu), scale_by_learning_rate(learning_rate))


def lamb(learning_rate, b1=0.9, b2=0.999, eps=1e-6, eps_root=0.0, weight_decay=0.0, mask=None):
    """LAMB: Adam scaled by the norm of each weight, for large batches.

    >>> tx = plait.optim.lamb(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.09999998  0.10000002] : f32[2]
    """
    return chain(scale_by_adam(b1, b2, eps, eps_root), add_decayed_weights(weight_decay, mask), scale_by_trust_ratio(),
                 scale_by_learning_rate(learning_rate))


def lars(learning_rate, weight_decay=0.0, weight_decay_mask=True, trust_coefficient=0.001, eps=0.0, trust_ratio_mask=True, momentum=0.9,
         nesterov=False):
    """LARS: momentum scaled by the norm of each weight, for large batches.

    >>> tx = plait.optim.lars(1.0)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.00063246  0.00126491] : f32[2]
    """
    ratio = scale_by_trust_ratio(trust_coefficient=trust_coefficient, eps=eps)
    return chain(add_decayed_weights(weight_decay, weight_decay_mask), masked(ratio, trust_ratio_mask), scale_by_learning_rate(learning_rate),
                 trace(momentum, nesterov))


def noisy_sgd(learning_rate, eta=0.01, gamma=0.55, key=None, *, seed=None):
    """Gradient descent with noise that decreases.

    >>> tx = plait.optim.noisy_sgd(0.1, eta=0.0, key=plait.random.key(0))
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.1  0.2] : f32[2]
    """
    return chain(add_noise(eta, gamma, key, seed=seed), scale_by_learning_rate(learning_rate))


def sign_sgd(learning_rate):
    """Descent along the signs of the gradient.

    >>> tx = plait.optim.sign_sgd(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.1  0.1] : f32[2]
    """
    return chain(scale_by_sign(), scale_by_learning_rate(learning_rate))


def signum(learning_rate, beta=0.9, accumulator_dtype=None):
    """Descent along the signs of the averaged gradient.

    >>> tx = plait.optim.signum(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.1  0.1] : f32[2]
    """
    return chain(ema(beta, False, accumulator_dtype), scale_by_sign(), scale_by_learning_rate(learning_rate))


def optimistic_gradient_descent(learning_rate, alpha=1.0, beta=1.0):
    """Gradient descent with the change of the gradient added.

    >>> tx = plait.optim.optimistic_gradient_descent(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.1  0.2] : f32[2]
    """
    return chain(scale_by_optimistic_gradient(alpha, beta), scale_by_learning_rate(learning_rate))


def optimistic_adam_v2(learning_rate, *, alpha=1.0, beta=1.0, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None, nesterov=True):
    """Adam with the change of its direction added.

    >>> tx = plait.optim.optimistic_adam_v2(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.14736842  0.14736842] : f32[2]
    """
    return chain(scale_by_adam(b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov), scale_by_optimistic_gradient(alpha, beta),
                 scale_by_learning_rate(learning_rate))


def radam(learning_rate, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, threshold=5.0, *, nesterov=False):
    """Rectified Adam.

    >>> tx = plait.optim.radam(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.1  0.2] : f32[2]
    """
    return chain(scale_by_radam(b1, b2, eps, eps_root, threshold, nesterov=nesterov), scale_by_learning_rate(learning_rate))


def yogi(learning_rate, b1=0.9, b2=0.999, eps=1e-3):
    """Yogi: Adam whose second moment grows slowly.

    >>> tx = plait.optim.yogi(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.09985114  0.0999371 ] : f32[2]
    """
    return chain(scale_by_yogi(b1, b2, eps), scale_by_learning_rate(learning_rate))


def polyak_sgd(max_learning_rate=1.0, scaling=1.0, f_min=0.0, eps=0.0, variant="sps"):
    """Gradient descent with Polyak's rate; `update` needs the loss: value=loss.

    >>> tx = plait.optim.polyak_sgd(10.0)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)), value=plait.tensor(2.5))[0]
    [-0.5  1. ] : f32[2]
    """
    return chain(sgd(scaling), scale_by_polyak(f_min, max_learning_rate, eps, variant))


def ademamix(learning_rate, b1=0.9, b2=0.999, b3=0.9999, alpha=5.0, eps=1e-8, eps_root=0.0, mu_dtype=None, weight_decay=0.0, mask=None):
    """AdEMAMix: Adam with a second, slow momentum.

    >>> tx = plait.optim.ademamix(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.10005  0.10005] : f32[2]
    """
    return chain(scale_by_ademamix(b1, b2, b3, alpha, eps, eps_root, mu_dtype), add_decayed_weights(weight_decay, mask),
                 scale_by_learning_rate(learning_rate))


def simplified_ademamix(learning_rate, b1=0.99, b2=0.95, alpha=0.0, eps=1e-8, eps_root=0.0, weight_decay=0.0, mask=None):
    """AdEMAMix with one momentum.

    >>> tx = plait.optim.simplified_ademamix(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.1  0.1] : f32[2]
    """
    return chain(scale_by_simplified_ademamix(b1, b2, alpha, eps, eps_root), add_decayed_weights(weight_decay, mask),
                 scale_by_learning_rate(learning_rate))


def acprop(learning_rate, b1=0.9, b2=0.999, eps=1e-16, eps_root=1e-16, weight_decay=0.0, mask=None):
    """ACProp: the gradient over its centred second moment before.

    >>> tx = plait.optim.acprop(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.1  0.2] : f32[2]
    """
    return chain(scale_by_acprop(b1, b2, eps, eps_root), add_decayed_weights(weight_decay, mask), scale_by_learning_rate(learning_rate))


def optimistic_adam(learning_rate, optimism=None, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None, *, nesterov=True):
    """Adam with the change of its direction added, times `optimism`, which is the rate if it is not given.

    >>> tx = plait.optim.optimistic_adam(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.14736842  0.14736842] : f32[2]
    """
    return chain(scale_by_adam(b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov),
                 scale_by_optimistic_gradient(learning_rate, learning_rate if optimism is None else optimism), scale_by_learning_rate(1.0))


def nadam(learning_rate, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None, *, nesterov=True):
    """Adam with Nesterov's momentum.

    >>> tx = plait.optim.nadam(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [-0.14736842  0.14736842] : f32[2]
    """
    return adam(learning_rate, b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov)


def nadamw(learning_rate, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None, weight_decay=1e-4, mask=None, *, nesterov=True):
    """Adam with Nesterov's momentum and decoupled weight decay.

    >>> tx = plait.optim.nadamw(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.14737843  0.14735842] : f32[2]
    """
    return adamw(learning_rate, b1, b2, eps, eps_root, mu_dtype, weight_decay, mask, nesterov=nesterov)


class _fromage_step(PerWeight):  # noqa: N801
    """The step and the decay of Fromage, which follow from the rate."""

    learning_rate: POSITIVE
    _reads_params = True

    def _at(self, n, t, columns):
        return {"factor": 1.0 / _core.sqrt(1.0 + n["learning_rate"] ** 2)}

    def _one(self, n, update, weight):
        return (n.factor - 1.0) * weight - n.learning_rate * n.factor * update


_fromage_step.__name__ = "fromage"


def fromage(learning_rate, min_norm=1e-6):
    """Fromage: steps in proportion to the norm of each weight.

    >>> tx = plait.optim.fromage(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.06789448  0.12090056] : f32[2]
    """
    return chain(scale_by_trust_ratio(min_norm), _fromage_step(learning_rate))


def adopt(learning_rate, b1=0.9, b2=0.9999, eps=1e-6, mu_dtype=None, *, nesterov=False, use_clipping=True, clip_value_fn=None):
    """ADOPT: Adam that divides by the second moment before the gradient.

    >>> tx = plait.optim.adopt(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0. -0.] : f32[2]
    """
    named = {} if clip_value_fn is None else {"clip_value_fn": clip_value_fn}
    return chain(scale_by_adopt(b1, b2, eps, mu_dtype, nesterov=nesterov, use_clipping=use_clipping, **named), scale_by_learning_rate(learning_rate))


def dpsgd(learning_rate, l2_norm_clip, noise_multiplier, seed, momentum=None, nesterov=False):
    """Gradient descent that is differentially private; the gradients have an axis of examples first.

    >>> tx = plait.optim.dpsgd(0.1, 1.0, 0.0, seed=0)
    >>> tx.update(plait.tensor([[3.0, 4.0], [0.5, 0.0]]), tx.init(plait.zeros(2)))[0]
    [-0.055 -0.04 ] : f64[2]
    """
    return chain(differentially_private_aggregate(l2_norm_clip, noise_multiplier, seed=seed), sgd(learning_rate, momentum, nesterov))
