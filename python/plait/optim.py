"""Optimizers, as Modules whose state consists of trees like the model's. Nothing is changed in place: `update`
returns the model and the optimizer of the next step, so it works the same eagerly and in jitted functions. Formulas
and names are PyTorch's."""

import copy as _copy
import math as _math

from plait import _core, errors as _errors
from plait.inside.arrays.interop import asarray as _asarray
from plait.inside.help.names import of_module as _of_module
from plait.inside.trees.buffers import of_structure as _buffers
from plait.inside.trees.given import expect_tree as _expect_tree
from plait.inside.trees.module import Module as _Module
from plait.inside.trees.roles import expect_in_place as _expect_in_place, mark_parameters as _mark_parameters
from plait.inside.trees.sharing import Distinct as _Distinct
from plait.tree import flatten as _flatten, map as _map

__getattr__ = _of_module(__name__)


def _is_inexact(leaf):
    return leaf.dtype.kind in ("floating", "complex")


def _which_are_trained(leaves, structure):
    """For each leaf of a model, whether it is a weight: not integers, and not buffers."""
    return [not is_buffer and _is_inexact(leaf) for leaf, is_buffer in zip(leaves, _buffers(structure))]


def _trained(tree):
    leaves, structure = _flatten(tree)
    return [leaf for leaf, is_trained in zip(leaves, _which_are_trained(leaves, structure)) if is_trained and isinstance(leaf, _core.Tensor)]


def _zeros_like(params):
    """Zeros for everything that is trained, and None for buffers."""
    leaves, structure = _flatten(_map(_asarray, params))
    once = _Distinct(leaves, [(id(leaf), is_buffer) for leaf, is_buffer in zip(leaves, _buffers(structure))])
    zeros = [_core.zeros_like(leaf) if _is_inexact(leaf) else leaf for leaf in once.values]
    return structure.unflatten([None if is_buffer else zero for zero, is_buffer in zip(once.spread(zeros), _buffers(structure))])


def _by_path(name, what, params, tree):
    """The leaves of a tree that correspond to those of the parameters, (path, leaf, whether it is trained); None for leaves that are
    not trained."""
    leaves, structure = _flatten(tree)
    found = dict(zip(structure.paths, leaves))
    paths = [path for path, *_ in params]
    for path, value, is_trained in params:
        other = found.get(path)
        if not is_trained:
            continue
        if other is None:
            raise _errors.ValueError(f"{name}: {what} has no {path!r}, which the model has; its leaves are {list(found)[:8]}")
        if tuple(other.shape) != tuple(value.shape):
            raise _errors.ShapeError(f"{name}: {path or 'the model'} is {list(value.shape)}, {what} of it {list(other.shape)}")
    for path in found.keys() - set(paths):
        raise _errors.ValueError.with_hint(f"{name}: {what} has {path!r}, which the model does not have; its leaves are {paths[:8]}", _NO_WEIGHTS)
    return [found.get(path) for path in paths]


_NO_WEIGHTS = "Python numbers and NumPy arrays in a Module are not weights: plait.tensor(2.0) is one"


def _wide(dtype):
    return dtype if dtype == _core.f64 or dtype.kind == "complex" else _core.f32


class _Optimizer(_Module):
    """The common base: `_states` names the attributes that are trees like the model, `_step` updates one tensor."""

    _states = ()

    def _begin(self, params, lr, **options):
        """The rate is a tensor, so that another rate needs no new record; the options are static."""
        for name, (value, limit) in {"lr": (lr, _math.inf), **options}.items():
            number = value.item() if isinstance(value, _core.Tensor) else value
            if not 0 <= number < limit:
                raise _errors.ValueError(f"{type(self).__name__}: {name} is {number}, expected a number from 0 to below {limit}")
        self.lr, self.steps = lr, _core.zeros((), dtype=_core.i64)
        what = f"{type(self).__name__}: the model"
        _expect_tree(what, params)
        weights = _trained(_map(_asarray, params))
        if not weights:
            raise _errors.ValueError.with_hint(f"{what} has no weights", _NO_WEIGHTS)
        _mark_parameters(weights)

    def __setattr__(self, name, value):
        if name == "lr" and isinstance(value, (int, float, _core.Tensor)):
            value = _asarray(value, dtype=_core.f64)
        super().__setattr__(name, value)

    def update(self, params, grads=None):
        """The model and the optimizer of the next step."""
        name = type(self).__name__
        if grads is None:
            raise _errors.TypeError.with_hint(f"{name}: the gradient is missing", "loss, gradient = plait.value_and_grad(loss_of)(model), then "
                                              "model, optimizer = optimizer.update(model, gradient)")
        _expect_in_place(name, _trained(params), _trained(grads))
        leaves, structure = _flatten(_map(_asarray, params))
        _expect_tree(f"{name}: the model", params, structure)
        are_trained = _which_are_trained(leaves, structure)
        pairs = list(zip(structure.paths, leaves, are_trained))
        columns = [_by_path(name, "the gradient", pairs, grads)]
        columns += [_by_path(name, each, pairs, getattr(self, each)) for each in self._states if getattr(self, each) is not None]
        following = _copy.copy(self)
        following.steps = self.steps + 1
        numbers = following._numbers()
        once = _Distinct(list(zip(are_trained, leaves, *columns)), list(zip(map(id, leaves), are_trained)))
        self._expect_one_gradient(name, pairs, once.spread([gradient for _, _, gradient, *_ in once.values]), columns[0])
        rows = [following._stepped(numbers, leaf, *others) if is_trained else [leaf, *others[1:]]
                for is_trained, leaf, *others in once.values]
        made = [structure.unflatten(once.spread(column)) for column in zip(*rows)] if rows else [params] * len(columns)
        _mark_parameters(_trained(made[0]))
        for each, state in zip([each for each in self._states if getattr(self, each) is not None], made[1:]):
            setattr(following, each, state)
        return made[0], following

    @staticmethod
    def _expect_one_gradient(name, pairs, of_firsts, gradients):
        for (path, _, is_trained), first, gradient in zip(pairs, of_firsts, gradients):
            if first is not gradient and is_trained:
                raise _errors.ValueError(f"{name}: {path} is a tensor that the model has at two places, but the gradient has different tensors "
                                         "there\n  hint: grad returns one gradient for it; plait.tree.map and plait.jit keep it tied")

    def _stepped(self, numbers, value, gradient, *states):
        """Converts to the dtype of the computation, and back."""
        wide = _wide(value.dtype)
        made = self._step([_core.astype(each, wide) for each in numbers], *(_core.astype(each, wide) for each in (value, gradient, *states)))
        return [_core.astype(each, value.dtype) for each in made]

    def _numbers(self):
        """The numbers of a whole step, as f64."""
        return [self.lr]


class SGD(_Optimizer):
    """Gradient descent: update(model, gradient) returns the next model and the next optimizer.

    >>> model = {"w": plait.tensor([1.0, 2.0])}
    >>> optimizer = plait.optim.SGD(model, lr=0.5)
    >>> model, optimizer = optimizer.update(model, {"w": plait.tensor([1.0, -1.0])})
    >>> model
    {'w': [0.5 2.5] : f32[2]}
    """

    _states = ("velocity",)

    def __init__(self, params, lr=1e-3, momentum=0.0, weight_decay=0.0, nesterov=False):
        self._begin(params, lr, momentum=(momentum, _math.inf), weight_decay=(weight_decay, _math.inf))
        if nesterov and not momentum:
            raise _errors.ValueError("SGD: nesterov needs a momentum\n  hint: pass momentum=0.9")
        self.velocity = _zeros_like(params) if momentum else None
        self.momentum, self.weight_decay, self.nesterov = momentum, weight_decay, nesterov

    def _step(self, numbers, value, gradient, velocity=None):
        direction = gradient + self.weight_decay * value if self.weight_decay else gradient
        if velocity is None:
            return [value - numbers[0] * direction]
        velocity = self.momentum * velocity + direction
        direction = direction + self.momentum * velocity if self.nesterov else velocity
        return [value - numbers[0] * direction, velocity]


class Adam(_Optimizer):
    """Adam; weight_decay times the weight is added to the gradient (L2).

    >>> model = plait.nn.Linear(3, 1)
    >>> optimizer = plait.optim.Adam(model, lr=0.1)
    >>> loss = lambda model, x: plait.mean(model(x) ** 2)
    >>> for _ in range(100):
    ...     model, optimizer = optimizer.update(model, plait.grad(loss)(model, plait.ones((1, 3))))
    >>> loss(model, plait.ones((1, 3))).item() < 1e-2
    True
    """

    _states = ("means", "squares")
    _is_decoupled = False

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        betas = tuple(betas) if isinstance(betas, (list, tuple)) else ()
        if len(betas) != 2:
            raise _errors.TypeError(f"{type(self).__name__}: betas: expected two numbers")
        self._begin(params, lr, **{"betas[0]": (betas[0], 1), "betas[1]": (betas[1], 1), "eps": (eps, _math.inf),
                           "weight_decay": (weight_decay, _math.inf)})
        self.means, self.squares = _zeros_like(params), _zeros_like(params)
        self.betas, self.eps, self.weight_decay = betas, eps, weight_decay

    def _numbers(self):
        """The step size, the square root of the bias correction of the second moments, and the factor of decoupled
        weight decay."""
        steps = _core.astype(self.steps, _core.f64)
        first, second = (1 - beta**steps for beta in self.betas)
        return [self.lr / first, _core.sqrt(second), 1 - self.lr * self.weight_decay]

    def _step(self, numbers, value, gradient, mean, square):
        step_size, square_scale, left = numbers
        if value.dtype.kind == "complex":
            raise _errors.TypeError(f"{type(self).__name__}: a weight is {value.dtype.name}, expected real numbers\n  hint: keep real and "
                                    "imaginary parts as separate weights, or use SGD")
        if self.weight_decay and self._is_decoupled:
            value = value * left
        elif self.weight_decay:
            gradient = gradient + self.weight_decay * value
        mean = mean + (1 - self.betas[0]) * (gradient - mean)
        square = self.betas[1] * square + (1 - self.betas[1]) * _core.square(gradient)
        return [value - step_size * mean / (_core.sqrt(square) / square_scale + self.eps), mean, square]


class AdamW(Adam):
    """Adam with decoupled weight decay: each weight is reduced by lr · weight_decay times itself.

    >>> model = plait.tensor([1.0, -2.0])
    >>> plait.optim.AdamW(model, lr=0.5, weight_decay=0.1).update(model, plait.tensor([3.0, 4.0]))[0]
    [ 0.45 -2.4 ] : f32[2]
    """

    _is_decoupled = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2):
        super().__init__(params, lr, betas, eps, weight_decay)


def warmup_cosine(steps, peak, total, warmup=0, least=0.0):
    """A rate that rises linearly to the peak over `warmup` steps, and then falls to the least along a cosine, as a
    function of the number of steps; also in jitted functions.

    >>> [round(plait.optim.warmup_cosine(step, 1.0, total=12, warmup=4).item(), 3) for step in (0, 3, 4, 8, 12)]
    [0.2, 0.8, 1.0, 0.5, 0.0]
    """
    if not 0 <= warmup < total:
        raise _errors.ValueError(f"warmup_cosine: {total} steps of which {warmup} are warmup; expected more steps than warmup")
    done = _core.astype(_asarray(steps), _core.f64)
    way = _core.clip((done - warmup) / (total - warmup), 0.0, 1.0)
    fall = least + (peak - least) * 0.5 * (1 + _core.cos(way * _math.pi))
    return _core.where(done < warmup, peak * (done + 1) / (warmup + 1), fall)
