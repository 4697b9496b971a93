"""Weights that are computed from others each time they are read: weight_norm, spectral_norm and custom parametrizations. The
attribute of the layer is computed, so any layer works; names of tensors are PyTorch's, parametrizations.weight.original0."""

from plait import _core, errors
from plait.inside.help.unused import expect_model_used
from plait.inside.layers.checks import is_number
from plait.inside.models.containers import ModuleDict
from plait.inside.models.state import freeze, freeze_in, owner_of
from plait.inside.transforms.derivatives import no_grad
from plait.inside.trees.buffers import Buffer
from plait.inside.trees.computed import forget_pruning, is_computed, is_pruned, original_of
from plait.inside.trees.module import Module, copy_of
from plait.inside.trees.patterns import as_patterns, chosen
from plait.tree import flatten


class Parametrized(Module):
    """One computed attribute: the original tensors, and how it is computed from them."""

    def __init__(self, parametrization, value):
        originals = parametrization.right_inverse(value) if hasattr(parametrization, "right_inverse") else value
        self._count = len(originals) if isinstance(originals, tuple) else None
        self._assign(originals)
        setattr(self, "0", parametrization)

    def _assign(self, originals):
        if self._count is None:
            self.original = originals
        else:
            for i, each in enumerate(originals):
                setattr(self, f"original{i}", each)

    def get(self):
        parametrization = getattr(self, "0")
        if self._count is None:
            return parametrization(self.original)
        return parametrization(*(getattr(self, f"original{i}") for i in range(self._count)))

    def set(self, value):
        """Assigns originals that give this value."""
        parametrization = getattr(self, "0")
        if not hasattr(parametrization, "right_inverse"):
            raise errors.TypeError.with_hint(f"{type(parametrization).__name__} has no right_inverse, so the weight that it computes cannot be set",
                                             "set parametrizations.weight.original")
        self._assign(parametrization.right_inverse(value))


def parametrize(model, pattern, parametrization):
    """The model whose weights with names that match the pattern are computed: parametrization(original). Each gets a copy of the
    parametrization. If it has a method right_inverse, the original is right_inverse(weight), otherwise the weight; a tuple
    is several originals.

    >>> class Positive(plait.Module):
    ...     def __call__(self, original):
    ...         return plait.exp(original)
    ...     def right_inverse(self, weight):
    ...         return plait.log(weight)
    >>> layer = plait.nn.parametrize(plait.nn.LayerNorm(2), "weight", Positive())
    >>> layer.weight, list(plait.nn.state(layer))
    ([1. 1.] : f32[2], ['bias', 'parametrizations.weight.original'])
    """
    return parametrized("parametrize", model, pattern, lambda owner, name, value: copy_of(parametrization))


def remove_parametrizations(model, pattern="*"):
    """The model whose computed weights with names that match the pattern, such as "0.weight", are plain tensors of the values that
    they have.

    >>> layer = plait.nn.weight_norm(plait.nn.Linear(2, 3))
    >>> list(plait.nn.state(plait.nn.remove_parametrizations(layer)))
    ['bias', 'weight']
    """
    made, what = copy_of(model), "nn.remove_parametrizations"
    computed = {f"{path}.{name}" if path else name: (owner, name)
                for path, owner in _modules(made) for name in vars(owner).get("parametrizations", {}).keys()}
    for path in chosen(what, as_patterns(what, pattern), computed, "computed weight"):
        owner, name = computed[path]
        make_plain(owner, name, owner.parametrizations[name].get())
    expect_model_used(what)
    return made


def make_plain(module, name, value):
    """Assigns a tensor to an attribute of a Module, which is not computed afterwards: a buffer, or frozen, if what it was computed from is."""
    is_buffer = is_frozen = False
    if is_pruned(module, name):
        original = original_of(name)
        is_buffer, is_frozen = original in module._buffers, original in module._frozen
        forget_pruning(module, name)
    elif is_computed(module, name):
        is_frozen = bool(module.parametrizations[name]._frozen)
        del module.parametrizations[name]
        if not len(module.parametrizations):
            del module.parametrizations
    setattr(module, name, Buffer(value) if is_buffer else value)
    if is_frozen:
        freeze_in(module, name)


def _modules(tree, path=""):
    if isinstance(tree, Module):
        yield path, tree
    for name, child in list(_core._children(tree) or ()):
        yield from _modules(child, f"{path}.{name}" if path else str(name))


def matching(what, model, pattern):
    """(path, tensor) of each tensor of the model whose path matches."""
    leaves, structure = flatten(model)
    found = set(chosen(f"nn.{what}", as_patterns(f"nn.{what}", pattern), structure.paths))
    return [(path, leaf) for path, leaf in zip(structure.paths, leaves) if path in found]


def parametrized(what, model, pattern, make):
    made = copy_of(model)
    for path, value in matching(what, made, pattern):
        owner, name = owner_of(what, made, path)
        if "." in name or not isinstance(value, _core.Tensor) or value.dtype.kind not in ("floating", "complex"):
            raise errors.TypeError(f"nn.{what}: {path} is not a weight that is an attribute of a Module")
        computed = Parametrized(make(owner, name, value), value)
        if name in owner._frozen or name in owner._buffers:  # its sources are not trained either
            computed = freeze(computed)
        delattr(owner, name)
        if "parametrizations" not in vars(owner):
            owner.parametrizations = ModuleDict()
        owner.parametrizations[name] = computed
    expect_model_used(f"nn.{what}", depth=3)
    return made


# ---- Norms.


class _WeightNorm(Module):
    def __init__(self, dim):
        self.dim = dim

    def __call__(self, g, v):
        return v * (g / self._norm(v))

    def right_inverse(self, weight):
        return self._norm(weight), weight

    def _norm(self, v):
        axes = None if self.dim is None else tuple(axis for axis in range(v.ndim) if axis != self.dim % v.ndim)
        return _core.sqrt(_core.sum(_core.square(v), axis=axes, keepdims=self.dim is not None))


def weight_norm(model, pattern="weight", dim=0):
    """The model whose weights with names that match the pattern are g v / ‖v‖, with a g for each slice along `dim` (None: one g).

    >>> layer = plait.nn.weight_norm(plait.nn.Linear(2, 3))
    >>> [(name, value.shape) for name, value in plait.nn.state(layer).items()][1:]
    [('parametrizations.weight.original0', (3, 1)), ('parametrizations.weight.original1', (3, 2))]
    """
    if dim is not None and not isinstance(dim, int):
        raise errors.TypeError(f"nn.weight_norm: dim is {dim!r}, expected an integer or None")
    if dim == -1:  # as in PyTorch
        dim = None
    for path, leaf in matching("weight_norm", model, pattern):
        if dim is not None and not -leaf.ndim <= dim < leaf.ndim:
            raise errors.IndexError(f"nn.weight_norm: dim is {dim}, out of range for {path}, {list(leaf.shape)}")
    return parametrized("weight_norm", model, pattern, lambda owner, name, value: _WeightNorm(dim))


_MOST_STEPS = 65_536


class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations, dim, eps, key):
        self.n_power_iterations, self.dim, self.eps = n_power_iterations, dim, eps
        if weight.ndim > 1:
            matrix, keys = self._matrix(weight), _core.random.split_key(key, 2)
            u, v = (self._unit(_core.random.normal(keys[i], (size,), dtype=weight.dtype)) for i, size in enumerate(matrix.shape))
            u, v = self._power(matrix, u, v, 15)
            self._u, self._v = Buffer(u), Buffer(v)

    def _matrix(self, weight):
        return _core.reshape(_core.moveaxis(weight, self.dim, 0), (weight.shape[self.dim], -1))

    def _unit(self, x):
        return _core.normalize(x, 2.0, 0, self.eps)

    def _power(self, matrix, u, v, steps):
        for _ in range(steps):
            u = self._unit(matrix @ v)
            v = self._unit(_core.matrix_transpose(matrix) @ u)
        return u, v

    def __call__(self, weight):
        if weight.ndim == 1:
            return self._unit(weight)
        matrix = self._matrix(weight)
        if self.training:
            with no_grad():
                self._u, self._v = self._power(_core.stop_gradient(matrix), self._u, self._v, self.n_power_iterations)
        return weight / _core.dot(self._u, matrix @ self._v)

    def right_inverse(self, weight):
        return weight


def spectral_norm(model, pattern="weight", n_power_iterations=1, eps=1e-12, dim=None, *, key=None):
    """The model whose weights with names that match the pattern are divided by their largest singular value, which each read in
    training mode estimates further by power iteration: the vectors are buffers of the model. Rows of the matrix are along `dim`: 0, or
    1 for transposed convolutions.

    >>> layer = plait.nn.spectral_norm(plait.nn.Linear(3, 3), n_power_iterations=50, key=plait.random.key(1))
    >>> round(plait.linalg.norm(layer.weight, 2).item(), 3)
    1.0
    """
    if not isinstance(n_power_iterations, int) or not 1 <= n_power_iterations <= _MOST_STEPS:
        raise errors.ValueError(f"nn.spectral_norm: n_power_iterations is {n_power_iterations!r}, expected 1 to {_MOST_STEPS}")
    if not is_number(eps) or not eps >= 0:
        raise errors.ValueError(f"nn.spectral_norm: eps is {eps}, expected 0 or more")

    def of(owner, name, value):
        rows = dim if dim is not None else 1 if type(owner).__name__.startswith("ConvTranspose") else 0
        if value.ndim > 1 and not -value.ndim <= rows < value.ndim:
            raise errors.IndexError(f"nn.spectral_norm: dim is {rows}, out of range for {list(value.shape)}")
        return _SpectralNorm(value, n_power_iterations, rows, eps, _core.random.draw_key() if key is None else key)

    return parametrized("spectral_norm", model, pattern, of)
