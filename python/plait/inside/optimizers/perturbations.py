"""Functions smoothed by noise, so that they have derivatives: optax's perturbations."""

from numbers import Real

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.help.names import in_words
from plait.inside.optimizers.numbers import expect_flag, is_known
from plait.inside.transformations.transformation import expect_function, is_inexact
from plait.inside.transforms.batching import vmap
from plait.tree import flatten, map as map_tree

_MOST_SAMPLES = 2**31 - 1


class _Gumbel:
    def sample(self, key, shape, dtype):
        return _core.random.gumbel(key, shape, dtype)

    def log_prob(self, z):
        return -z - _core.exp(-z)


class _Normal:
    def sample(self, key, shape, dtype):
        return _core.random.normal(key, shape, dtype=dtype)

    def log_prob(self, z):
        return -0.5 * _core.square(z)


_NOISES = {"gumbel": _Gumbel(), "normal": _Normal()}


def make_perturbed_fun(fun, num_samples=1000, sigma=0.1, noise="gumbel", use_baseline=True):
    """A function of a random key and a tree of tensors x: the mean of fun(x + sigma z) over samples of noise z. Its derivatives, of any order,
    are estimates by the score function, Σ fun(x + sigma z) ∂ log p(z), so fun itself needs none. With use_baseline fun(x) is subtracted in
    them, so that they vary less. noise is "gumbel", "normal", or an object with sample(key, shape, dtype) and log_prob(z), up to a
    constant. fun is called by vmap.

    >>> smooth = plait.optim.make_perturbed_fun(lambda x: plait.one_hot(plait.argmax(x), 3), 10_000, sigma=1.0)
    >>> x = plait.tensor([0.0, 1.0, 2.0])
    >>> plait.max(plait.abs(smooth(plait.random.key(1), x) - plait.softmax(x, axis=-1))).item() < 0.02
    True
    """
    what = "optim.make_perturbed_fun"
    expect_function(f"{what}: fun", fun)
    if isinstance(num_samples, bool) or not isinstance(num_samples, int):
        raise errors.TypeError(f"{what}: num_samples is {in_words(num_samples)}, expected an integer")
    if not 1 <= num_samples <= _MOST_SAMPLES:
        raise errors.ValueError(f"{what}: num_samples is {num_samples}, expected 1 to {_MOST_SAMPLES}")
    _expect_sigma(what, sigma)
    expect_flag(f"{what}: use_baseline", use_baseline)
    drawn = _noise(what, noise)

    def perturbed(key, x):
        leaves, structure = flatten(asarray(x) if isinstance(x, float) else x)
        _expect_floating(what, leaves, structure)
        at_x = fun(structure.unflatten([_core.stop_gradient(each) for each in leaves])) if use_baseline else None

        def of_sample(key):
            keys = _core.random.split_key(key, max(len(leaves), 1))
            moved = [_core.stop_gradient(each + sigma * drawn.sample(own, tuple(each.shape), each.dtype)) for own, each in zip(keys, leaves)]
            logarithm = sum(_core.sum(drawn.log_prob((there - each) / sigma)) for there, each in zip(moved, leaves))
            box = _core.exp(logarithm - _core.stop_gradient(logarithm))  # 1, with the derivatives of the logarithm
            found = fun(structure.unflatten(moved))
            return map_tree(lambda value, *base: sum(((1 - box) * each for each in base), box * value), found, *([at_x] if use_baseline else []))

        samples = vmap(of_sample)(_core.random.split_key(key, num_samples))
        return map_tree(lambda each: _core.mean(each, axis=0), samples)

    return perturbed


def _expect_sigma(what, sigma):
    is_number = isinstance(sigma, Real) and not isinstance(sigma, bool) or isinstance(sigma, _core.Tensor) and not sigma.ndim
    if not is_number:
        raise errors.TypeError(f"{what}: sigma is {in_words(sigma)}, expected a number")
    if (not isinstance(sigma, _core.Tensor) or is_known(sigma)) and not 0 < float(sigma) < float("inf"):
        raise errors.ValueError(f"{what}: sigma is {sigma}, expected a number above 0")


def _noise(what, noise):
    if isinstance(noise, str) and noise in _NOISES:
        return _NOISES[noise]
    if isinstance(noise, str) or not (hasattr(noise, "sample") and hasattr(noise, "log_prob")):
        raise errors.TypeError(f"{what}: noise is {in_words(noise)}, expected 'gumbel', 'normal', or an object with sample(key, shape, dtype) and log_prob(z)")
    return noise


def _expect_floating(what, leaves, structure):
    if not leaves:
        raise errors.TypeError(f"{what}: x is {structure}, expected a tree of tensors")
    for path, leaf in zip(structure.paths, leaves):
        if not is_inexact(leaf) or leaf.dtype.kind == "complex":
            raise errors.TypeError(f"{what}: {f'x.{path}' if path else 'x'} is {leaf.dtype.name}, expected real floating-point numbers")
