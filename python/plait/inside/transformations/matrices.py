"""Transformations with second-order information: Muon, Sophia."""

import dataclasses
import math
from numbers import Real

from plait import _core, errors
from plait.inside.optimizers.numbers import expect_flag
from plait.inside.transformations.accumulation import whole
from plait.inside.transformations.descents import adamw
from plait.inside.transformations.clipping import as_key
from plait.inside.transformations.combining import chain, partition
from plait.inside.transformations.conditions import Wrapping
from plait.inside.transformations.matrix_views import in_matrices, views_of
from plait.inside.transformations.moments import Adaptive
from plait.inside.transformations.scaling import add_decayed_weights, scale_by_learning_rate
from plait.inside.transformations.transformation import (DECAY, OPTIONAL, POSITIVE, Columns, GradientTransformation, Numbers, PerWeight, State, cast_like,
                                                    expect_transformation, map_leaves, update_of, zero_steps)
from plait.inside.transforms.batching import vmap
from plait.inside.transforms.control import cond
from plait.inside.transforms.derivatives import grad, jvp
from plait.random import key as make_key, split_key, uniform

_COEFFICIENTS = {"standard": ((3.4445, -4.775, 2.0315),),
                 "dion": ((4.0848, -6.8946, 2.927), (3.9505, -6.3029, 2.6377), (3.7418, -5.5913, 2.3037), (2.8769, -3.1427, 1.2046),
                          (2.8366, -3.0525, 1.2012))}
_MOST_STEPS = 99  # as in optim.Muon


def _rows_of(ns_coeffs, ns_steps):
    """The coefficients of each step."""
    if isinstance(ns_coeffs, str):
        if ns_coeffs not in _COEFFICIENTS:
            raise errors.ValueError(f"optim.scale_by_muon: ns_coeffs is {ns_coeffs!r}, expected one of {list(_COEFFICIENTS)}, or three numbers")
        rows = _COEFFICIENTS[ns_coeffs]
    else:
        given = list(ns_coeffs) if isinstance(ns_coeffs, (list, tuple)) else []
        rows = tuple(map(tuple, given)) if all(isinstance(each, (list, tuple)) for each in given) else (tuple(given),)
    if not rows or any(len(row) != 3 or not all(isinstance(each, Real) for each in row) for row in rows) or 1 < len(rows) and len(rows) > ns_steps:
        raise errors.ValueError(f"optim.scale_by_muon: ns_coeffs is {ns_coeffs!r}, expected three numbers, or three for each of {ns_steps} steps")
    return rows * ns_steps if len(rows) == 1 else rows


def _orthogonal(x, rows, preconditioning, eps):
    """Newton–Schulz iterations towards the nearest orthogonal matrix."""
    is_tall = x.shape[0] > x.shape[1]
    x = _core.swapaxes(x, 0, 1) if is_tall else x
    if preconditioning == "frobenius":
        x = x / (_core.sqrt(_core.sum_of_squares(x)) + eps)
    for i, (a, b, c) in enumerate(rows):
        gram = _core.matmul(x, _core.swapaxes(x, 0, 1))
        if i == 0 and preconditioning != "frobenius":
            size = _core.sum(_core.absolute(gram), axis=1, keepdims=True) if preconditioning == "aol" else _core.sqrt(_core.sum_of_squares(gram))
            factor = _core.rsqrt(_core.maximum(size, 1e-8))
            x, gram = x * factor, gram * factor * (_core.swapaxes(factor, 0, 1) if preconditioning == "aol" else factor)
        x = a * x + _core.matmul(b * gram + c * _core.matmul(gram, gram), x)
    return _core.swapaxes(x, 0, 1) if is_tall else x


class _scale_by_muon(Adaptive):  # noqa: N801: optax's names
    ns_coeffs: object = (3.4445, -4.775, 2.0315)
    ns_steps: int = 5
    beta: DECAY = 0.95
    eps: POSITIVE = 1e-8
    mu_dtype: object = None
    _: dataclasses.KW_ONLY
    nesterov: bool = True
    adaptive: bool = False
    preconditioning: str = "frobenius"
    in_batches: bool = False
    _kept = ("mu",)

    def __post_init__(self):
        whole("optim.scale_by_muon: ns_steps", self.ns_steps, most=_MOST_STEPS)
        for name in "nesterov", "adaptive":
            expect_flag(f"optim.scale_by_muon: {name}", getattr(self, name))
        _rows_of(self.ns_coeffs, self.ns_steps)
        if self.preconditioning not in ("frobenius", "schatten", "aol"):
            raise errors.ValueError(f"optim.scale_by_muon: preconditioning is {self.preconditioning!r}, expected 'frobenius', 'schatten' or 'aol'")

    def _at(self, n, t, columns):
        return {"bias": 1.0 - n["beta"] ** t, "next_bias": 1.0 - n["beta"] ** (t + 1.0)}

    def _one(self, n, update, mu):
        if len(update.shape) != 2 and not (self.in_batches and len(update.shape) == 3):
            raise errors.ShapeError.with_hint(f"optim.scale_by_muon: a weight is {list(update.shape)}, expected a matrix",
                                              "optim.muon treats matrices with Muon, and all else with Adam")
        mu = n.mix("beta", mu, update)
        mean = n.mix("beta", mu / n.next_bias, update / n.bias) if self.nesterov else mu / n.bias
        rows = _rows_of(self.ns_coeffs, self.ns_steps)
        orthogonal = lambda x: _orthogonal(x, rows, self.preconditioning, n.eps)  # noqa: E731
        made = orthogonal(mean) if len(mean.shape) == 2 else vmap(orthogonal)(mean)
        return _core.sum(mean * made) * made if self.adaptive else made, mu


_scale_by_muon.__name__ = "scale_by_muon"


def scale_by_muon(ns_coeffs=(3.4445, -4.775, 2.0315), ns_steps=5, beta=0.95, eps=1e-8, mu_dtype=None, *, nesterov=True, adaptive=False,
                  preconditioning="frobenius", weight_dimension_numbers=None):
    """Muon: the averaged gradient of a matrix, made orthogonal. weight_dimension_numbers says which axes of other weights are rows and
    columns: MuonDimensionNumbers, a tree of them, or a function that returns one for the weights; further axes are a batch of matrices.

    >>> tx = plait.optim.scale_by_muon()
    >>> tx.update(plait.tensor([[1.0, 0.0], [0.0, 0.5]]), tx.init(plait.zeros((2, 2))))[0]
    [[0.6887624 0.       ]
     [0.        1.1141641]] : f32[2, 2]
    """
    made = _scale_by_muon(ns_coeffs, ns_steps, beta, eps, mu_dtype, nesterov=nesterov, adaptive=adaptive, preconditioning=preconditioning,
                          in_batches=weight_dimension_numbers is not None)
    return made if weight_dimension_numbers is None else in_matrices("optim.scale_by_muon", made, weight_dimension_numbers)


class _scale_by_shape(PerWeight):  # noqa: N801
    consistent_rms: OPTIONAL = None

    def _one(self, n, update):
        rows, columns = update.shape[-2:]
        if self.consistent_rms is None:
            return math.sqrt(max(1.0, columns / max(rows, 1))) * update
        return math.sqrt(max(rows, columns)) * n.consistent_rms * update


_scale_by_shape.__name__ = "muon"


def muon(learning_rate, ns_coeffs=(3.4445, -4.775, 2.0315), ns_steps=5, beta=0.95, eps=1e-8, weight_decay=0.0, weight_decay_mask=None,
         mu_dtype=None, *, nesterov=True, adaptive=False, preconditioning="frobenius", adam_b1=0.9, adam_b2=0.999, adam_eps_root=0.0,
         adam_weight_decay=0.0, adam_learning_rate=None, muon_weight_dimension_numbers=None, consistent_rms=None):
    """Muon for matrices, AdamW for all other weights. muon_weight_dimension_numbers says which weights are matrices, and by which axes:
    MuonDimensionNumbers, a tree of them that is None for AdamW's weights, or a function that returns one.

    >>> tx = plait.optim.muon(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.14736842  0.14736842] : f32[2]
    """
    numbers = muon_weight_dimension_numbers
    orthogonal = [_scale_by_muon(ns_coeffs, ns_steps, beta, eps, mu_dtype, nesterov=nesterov, adaptive=adaptive, preconditioning=preconditioning,
                                 in_batches=numbers is not None), _scale_by_shape(consistent_rms)]
    orthogonal = orthogonal if numbers is None else [in_matrices("optim.muon", chain(*orthogonal), numbers)]
    of_matrices = chain(*orthogonal, add_decayed_weights(weight_decay, weight_decay_mask), scale_by_learning_rate(learning_rate))
    of_others = adamw(learning_rate if adam_learning_rate is None else adam_learning_rate, adam_b1, adam_b2, eps, adam_eps_root, mu_dtype,
                      adam_weight_decay, nesterov=nesterov)

    def labels(params):
        return Columns("optim.muon", params).tree(["adam" if each is None else "muon" for each in views_of("optim.muon", numbers, params)])

    return partition({"muon": of_matrices, "adam": of_others}, labels)


class hutchinson_estimator_diag_hessian(GradientTransformation):  # noqa: N801
    """Returns an estimate of the diagonal of the Hessian instead of the updates; `update` needs obj_fn, the loss as a function of the weights.

    >>> tx = plait.optim.hutchinson_estimator_diag_hessian()
    >>> x = plait.tensor([1.0, 2.0])
    >>> tx.update(x, tx.init(x), x, obj_fn=lambda x: plait.sum(x ** 3))[0]
    [ 6. 12.] : f32[2]
    """

    def __init__(self, random_seed=None):
        self.key = make_key(0) if random_seed is None else as_key("optim.hutchinson_estimator_diag_hessian", random_seed)

    def init(self, params):
        return State(key=self.key)

    def update(self, updates, state, params=None, obj_fn=None, **extra):
        self._expect_params(params)
        if obj_fn is None:
            raise errors.TypeError.with_hint(f"{self._name()}: obj_fn is missing", "update(model, gradient, obj_fn=lambda model: loss(model, x))")
        columns = Columns(self._name(), params)
        key, *keys = split_key(state.key, len(columns.leaves) + 1)
        signs = columns.tree([_core.where(uniform(each, leaf.shape) < 0.5, _core.full((), -1.0, dtype=leaf.dtype), 1.0)
                              for each, leaf in zip(keys, columns.leaves)])
        product = jvp(grad(obj_fn), (params,), (signs,))[1]
        return map_leaves(self._name(), lambda a, b: a * b, product, signs), State(key=key)


class scale_by_sophia(Wrapping):  # noqa: N801
    """Sophia: divides the averaged gradient by an averaged diagonal of the Hessian, and clips. `update` needs what hessian_diagonal_fn does.

    >>> tx = plait.optim.scale_by_sophia()
    >>> x = plait.tensor([1.0, 2.0])
    >>> tx.update(x, tx.init(x), x, obj_fn=lambda x: plait.sum(x ** 3))[0]
    [1. 1.] : f32[2]
    """

    b1: DECAY
    b2: DECAY
    eps: POSITIVE
    gamma: POSITIVE
    clip_threshold: OPTIONAL

    def __init__(self, b1=0.965, b2=0.99, eps=1e-8, gamma=0.01, clip_threshold=1.0, update_interval=10, hessian_diagonal_fn=None, mu_dtype=None, verbose=False,
                 print_win_rate_every_n_steps=0):
        if verbose or print_win_rate_every_n_steps:
            raise errors.ValueError.with_hint("optim.scale_by_sophia: nothing is printed, expected verbose=False and print_win_rate_every_n_steps=0",
                                              "plait.print in hessian_diagonal_fn prints at each call")
        self.b1, self.b2, self.eps, self.gamma, self.clip_threshold = b1, b2, eps, gamma, clip_threshold
        self.update_interval, self.mu_dtype = whole("optim.scale_by_sophia: update_interval", update_interval), mu_dtype
        inner = hutchinson_estimator_diag_hessian() if hessian_diagonal_fn is None else hessian_diagonal_fn
        self.inner = expect_transformation("optim.scale_by_sophia", inner)

    def init(self, params):
        zeros = map_leaves(self._name(), _core.zeros_like, params)
        mu = cast_like(zeros, params) if self.mu_dtype is None else map_leaves(self._name(), lambda each: _core.astype(each, self.mu_dtype), zeros)
        return State(count=zero_steps(), mu=mu, nu=cast_like(zeros, params), hessian_fn_state=self.inner.init(params))

    def update(self, updates, state, params=None, **extra):
        self._expect_params(params)
        n, t = self._numbers_at(state.count), _core.astype(state.count + 1, _core.f64)

        def mixed(decay, old, new):
            return map_leaves(self._name(), lambda old, new: Numbers({"decay": decay}, new.dtype).mix("decay", old, new), old, new)

        mu = mixed(n["b1"], state.mu, updates)
        correction = 1.0 - n["b1"] ** t

        def step(mean, diagonal):
            gamma, eps, by = (_core.astype(each, mean.dtype) for each in (n["gamma"], n["eps"], correction))
            made = mean / by / _core.maximum(gamma * diagonal, eps)
            most = n.get("clip_threshold")
            return made if most is None else _core.clip(made, -_core.astype(most, mean.dtype), _core.astype(most, mean.dtype))

        made = map_leaves(self._name(), step, mu, state.nu)

        def renewed(*_):
            diagonal, inner = update_of(self.inner, updates, state.hessian_fn_state, params, extra)
            return cast_like(mixed(n["b2"], state.nu, diagonal), state.nu), inner

        nu, inner = cond(_core.equal(state.count % self.update_interval, 0), renewed, lambda *_: (state.nu, state.hessian_fn_state))
        return made, State(count=state.count + 1, mu=cast_like(mu, state.mu), nu=nu, hessian_fn_state=inner)


def sophia(learning_rate, b1=0.965, b2=0.99, eps=1e-8, weight_decay=1e-4, weight_decay_mask=None, gamma=0.01, clip_threshold=1.0,
           update_interval=10, hessian_diagonal_fn=None, mu_dtype=None, verbose=False, print_win_rate_every_n_steps=0):
    """Sophia with decoupled weight decay.

    >>> tx = plait.optim.sophia(0.1)
    >>> x = plait.tensor([1.0, 2.0])
    >>> tx.update(x, tx.init(x), x, obj_fn=lambda x: plait.sum(x ** 3))[0]
    [-0.10001    -0.10002001] : f32[2]
    """
    return chain(scale_by_sophia(b1, b2, eps, gamma, clip_threshold, update_interval, hessian_diagonal_fn, mu_dtype, verbose,
                                 print_win_rate_every_n_steps),
                 add_decayed_weights(weight_decay, weight_decay_mask), scale_by_learning_rate(learning_rate))
