"""Functions of gradient trees that make gradients smaller."""

import math

from plait import _core, errors
from plait.inside.arrays.devices import beside
from plait.inside.help.unused import expect_used
from plait.inside.optimizers.grouped import wide_of
from plait.inside.optimizers.numbers import expect_flag, number
from plait.inside.settings.anomaly import check_finite
from plait.inside.trees.sharing import distinct
from plait.tree import flatten, map as map_tree


def get_total_norm(gradient, norm_type=2.0, error_if_nonfinite=False):
    """The norm of all tensors of a gradient together, as if they were one vector. With error_if_nonfinite a NaN or an infinity in the
    gradient is a CheckError, which names the tensor by its path.

    >>> plait.optim.get_total_norm({"w": plait.tensor([3.0]), "b": plait.tensor(4.0)})
    5. : f32[]
    """
    return _norm("get_total_norm", gradient, norm_type, error_if_nonfinite)


def _norm(name, gradient, norm_type, error_if_nonfinite):
    if not isinstance(norm_type, (int, float)) or not norm_type > 0:
        raise errors.ValueError(f"{name}: norm_type is {norm_type!r}, expected a positive number")
    expect_flag(f"{name}: error_if_nonfinite", error_if_nonfinite)
    norm_type = float(norm_type)
    leaves = distinct(_tensors(name, gradient)).values
    if error_if_nonfinite:
        check_finite(gradient, "the gradient")
        return check_finite(_norm(name, gradient, norm_type, False), "the norm of the gradient")
    dtype = _core.f64 if any(wide_of(leaf.dtype) == _core.f64 for leaf in leaves) else _core.f32
    sizes = [_core.astype(_core.absolute(leaf), dtype) for leaf in leaves]
    if norm_type == math.inf:
        return _core.max(_core.stack([beside(_core.max(each), leaves[0]) for each in sizes]))
    total = sum((beside(_core.sum(each**norm_type), leaves[0]) for each in sizes[1:]), _core.sum(sizes[0] ** norm_type))
    return _core.sqrt(total) if norm_type == 2 else total ** (1 / norm_type)


def _tensors(name, gradient):
    leaves = [leaf for leaf in flatten(gradient)[0] if isinstance(leaf, _core.Tensor) and leaf.dtype.kind in ("floating", "complex")]
    if not leaves:
        raise errors.ValueError(f"{name}: the gradient has no tensors")
    return leaves


def clip_grad_norm(gradient, max_norm, norm_type=2.0, error_if_nonfinite=False):
    """(gradient, norm): a gradient whose total norm is at most max_norm, and the norm that it had. With error_if_nonfinite a NaN or an
    infinity in the gradient is a CheckError, which names the tensor by its path.

    >>> plait.optim.clip_grad_norm({"w": plait.tensor([3.0, 0.0]), "b": plait.tensor(4.0)}, 1.0)
    ({'w': [0.6 0. ] : f32[2], 'b': 0.8 : f32[]}, 5. : f32[])
    """
    norm = _norm("clip_grad_norm", gradient, norm_type, error_if_nonfinite)
    factor = _core.minimum(number("clip_grad_norm: max_norm", max_norm) / (_core.astype(norm, _core.f64) + 1e-6), 1.0)
    expect_used("clip_grad_norm", "gradient, norm = plait.optim.clip_grad_norm(gradient, ...)", "the clipped gradient and its norm")
    return map_tree(lambda leaf: _scaled(leaf, factor), gradient), norm


def _scaled(leaf, factor):
    if not isinstance(leaf, _core.Tensor) or leaf.dtype.kind not in ("floating", "complex"):
        return leaf
    return _core.astype(leaf * _core.astype(beside(factor, leaf), wide_of(leaf.dtype)), leaf.dtype)


def clip_grad_value(gradient, clip_value):
    """A gradient whose elements are from -clip_value to clip_value.

    >>> plait.optim.clip_grad_value(plait.tensor([3.0, -0.5]), 1.0)
    [ 1.  -0.5] : f32[2]
    """
    _tensors("clip_grad_value", gradient)
    limit = number("clip_grad_value: clip_value", clip_value)

    def clipped(leaf):
        if not isinstance(leaf, _core.Tensor) or leaf.dtype.kind != "floating":
            return leaf
        most = _core.astype(limit, leaf.dtype)
        return _core.clip(leaf, -most, most)

    expect_used("clip_grad_value", "gradient = plait.optim.clip_grad_value(gradient, ...)", "the clipped gradient")
    return map_tree(clipped, gradient)
