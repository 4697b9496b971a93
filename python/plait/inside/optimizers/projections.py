"""Projections of the weights of a tree, all together, onto sets: the nearest tree of the set."""

from plait import _core, errors
from plait.inside.arrays.simplex import onto_simplex
from plait.inside.help.names import in_words
from plait.inside.optimizers.flat_weights import FlatWeights
from plait.inside.transformations.transformation import squared_norm


def _number(name, what, given):
    """A number, or a tensor of one."""
    is_number = isinstance(given, (int, float)) or isinstance(given, _core.Tensor) and not given.ndim
    if isinstance(given, bool) or not is_number:
        raise errors.TypeError(f"optim.{name}: {what} is {in_words(given)}, expected a number")
    return given


def projection_non_negative(tree):
    """Negative numbers as 0.

    >>> plait.optim.projection_non_negative({"w": plait.tensor([1.0, -2.0])})
    {'w': [1. 0.] : f32[2]}
    """
    weights = FlatWeights("optim.projection_non_negative", tree)
    return weights.tree([_core.relu(each) for each in weights.leaves])


def projection_box(tree, lower, upper):
    """Each number clipped to its limits, which are numbers, or trees of them.

    >>> plait.optim.projection_box({"w": plait.tensor([1.0, -2.0])}, -0.5, {"w": plait.tensor([0.5, 2.0])})
    {'w': [ 0.5 -0.5] : f32[2]}
    """
    return _boxed("projection_box", tree, lower, upper)


def projection_hypercube(tree, scale=1.0):
    """Each number clipped to 0 and `scale`.

    >>> plait.optim.projection_hypercube({"w": plait.tensor([1.5, -2.0])})
    {'w': [1. 0.] : f32[2]}
    """
    return _boxed("projection_hypercube", tree, 0.0, _number("projection_hypercube", "scale", scale))


def projection_linf_ball(tree, scale=1.0):
    """Each number clipped to -scale and scale.

    >>> plait.optim.projection_linf_ball({"w": plait.tensor([1.5, -2.0])})
    {'w': [ 1. -1.] : f32[2]}
    """
    scale = _number("projection_linf_ball", "scale", scale)
    return _boxed("projection_linf_ball", tree, -scale, scale)


def projection_simplex(tree, scale=1.0):
    """The nearest numbers of 0 or more that sum to `scale`.

    >>> plait.optim.projection_simplex({"w": plait.tensor([1.0, 0.5])})
    {'w': [0.75 0.25] : f32[2]}
    """
    weights, scale = FlatWeights("optim.projection_simplex", tree), _number("projection_simplex", "scale", scale)
    return weights.of_flat(scale * onto_simplex(weights.flat() / scale))


def projection_l1_sphere(tree, scale=1.0):
    """The nearest numbers whose absolute values sum to `scale`.

    >>> plait.optim.projection_l1_sphere({"w": plait.tensor([1.0, -0.5])})
    {'w': [ 0.75 -0.25] : f32[2]}
    """
    weights, scale = FlatWeights("optim.projection_l1_sphere", tree), _number("projection_l1_sphere", "scale", scale)
    return weights.of_flat(_onto_l1_sphere(weights.flat(), scale))


def projection_l1_ball(tree, scale=1.0):
    """The nearest numbers whose absolute values sum to at most `scale`.

    >>> plait.optim.projection_l1_ball({"w": plait.tensor([0.25, -0.5])})
    {'w': [ 0.25 -0.5 ] : f32[2]}
    """
    weights, scale = FlatWeights("optim.projection_l1_ball", tree), _number("projection_l1_ball", "scale", scale)
    x = weights.flat()
    return weights.of_flat(_core.where(_core.sum(_core.absolute(x)) <= scale, x, _onto_l1_sphere(x, scale)))


def projection_l2_sphere(tree, scale=1.0):
    """The numbers scaled, so that their norm is `scale`.

    >>> plait.optim.projection_l2_sphere({"w": plait.tensor([3.0, 4.0])})
    {'w': [0.6 0.8] : f32[2]}
    """
    weights, scale = FlatWeights("optim.projection_l2_sphere", tree), _number("projection_l2_sphere", "scale", scale)
    return weights.scaled(scale / _core.sqrt(squared_norm(weights.leaves)))


def projection_l2_ball(tree, scale=1.0):
    """The numbers scaled down, if their norm is above `scale`.

    >>> plait.optim.projection_l2_ball({"w": plait.tensor([3.0, 4.0])}, 10.0)
    {'w': [3. 4.] : f32[2]}
    """
    weights, scale = FlatWeights("optim.projection_l2_ball", tree), _number("projection_l2_ball", "scale", scale)
    return weights.scaled(scale / _core.sqrt(_core.maximum(squared_norm(weights.leaves), scale**2)))


def projection_vector(x, a):
    """The nearest multiple of the tree a.

    >>> plait.optim.projection_vector({"w": plait.tensor([3.0, 4.0])}, {"w": plait.tensor([2.0, 0.0])})
    {'w': [3. 0.] : f32[2]}
    """
    weights = FlatWeights("optim.projection_vector", x)
    directions = weights.of_tree("a", a)
    factor = _dot(weights.leaves, directions) / _dot(directions, directions)
    return weights.tree([each * _core.astype(factor, each.dtype) for each in directions])


def projection_hyperplane(x, a, b):
    """The nearest tree whose product with the tree a is b.

    >>> plait.optim.projection_hyperplane({"w": plait.tensor([3.0, 4.0])}, {"w": plait.tensor([2.0, 0.0])}, 2.0)
    {'w': [1. 4.] : f32[2]}
    """
    return _moved_along("projection_hyperplane", x, a, b, lambda step: step)


def projection_halfspace(x, a, b):
    """The nearest tree whose product with the tree a is at most b.

    >>> plait.optim.projection_halfspace({"w": plait.tensor([3.0, 4.0])}, {"w": plait.tensor([2.0, 0.0])}, 8.0)
    {'w': [3. 4.] : f32[2]}
    """
    return _moved_along("projection_halfspace", x, a, b, lambda step: _core.minimum(step, 0.0))


def _boxed(name, tree, lower, upper):
    weights = FlatWeights(f"optim.{name}", tree)
    rows = zip(weights.leaves, weights.of("lower", lower), weights.of("upper", upper))
    return weights.tree([_core.clip(each, least, most) for each, least, most in rows])


def _onto_l1_sphere(x, scale):
    return _core.sign(x) * scale * onto_simplex(_core.absolute(x) / scale)


def _dot(xs, ys):
    return sum(_core.sum(x * y) for x, y in zip(xs, ys))


def _moved_along(name, x, a, b, bounded):
    weights, b = FlatWeights(f"optim.{name}", x), _number(name, "b", b)
    directions = weights.of_tree("a", a)
    step = bounded((b - _dot(weights.leaves, directions)) / _dot(directions, directions))
    return weights.tree([each + _core.astype(step, each.dtype) * direction for each, direction in zip(weights.leaves, directions)])
