"""Low-rank adapters of Linear layers."""

from plait import _core, errors
from plait.inside.help.unused import expect_model_used
from plait.inside.layers.checks import number, probability, whole
from plait.inside.layers.dropped import dropped
from plait.inside.layers.linear import Linear
from plait.inside.layers.on_device import on_device
from plait.inside.models.parametrizations import make_plain
from plait.inside.models.quantized import QuantizedLinear
from plait.inside.models.replaced import replaced
from plait.inside.layers.first_weights import drawn, uniform_weights
from plait.inside.trees.buffers import Buffer, of_structure, trained_among
from plait.inside.trees.module import Module, copy_of


class LoRALinear(Module):
    """A Linear that is not trained, `base`, plus a product of low rank that is: alpha / rank * lora_B @ lora_A, with dropout
    of its inputs. lora_B [out_features, rank] begins with zeros, so that the layer begins as its base.

    >>> layer = plait.nn.LoRALinear(6, 4, rank=2)
    >>> gradient = plait.grad(lambda layer: plait.sum(layer(plait.ones((3, 6)))))(layer)
    >>> gradient.base.weight, gradient.lora_A.shape, gradient.lora_B.shape
    (None, (2, 6), (4, 2))
    """

    @on_device
    def __init__(self, in_features, out_features, rank=8, alpha=None, dropout=0.0, bias=True, *, key=None, dtype=_core.f32):
        keys = _core.random.split_key(drawn(key), 2)
        self._set_up(Linear(in_features, out_features, bias, key=keys[0], dtype=dtype), rank, alpha, dropout, keys[1])

    @classmethod
    def from_linear(cls, layer, rank=8, alpha=None, dropout=0.0, *, key=None):
        """An adapter of a Linear or a QuantizedLinear.

        >>> plait.nn.LoRALinear.from_linear(plait.nn.Linear(6, 4), rank=2).weight.shape
        (4, 6)
        """
        made = cls.__new__(cls)
        made._set_up(layer, rank, alpha, dropout, drawn(key))
        return made

    def _set_up(self, base, rank, alpha, dropout, key):
        whole(self, "rank", rank, 1)
        probability(self, "dropout", dropout)
        outputs, inputs = base.weight.shape
        dtype = base.weight.dtype
        self.base = Buffer(base)
        self.lora_A = uniform_weights((rank, inputs), max(inputs, 1) ** -0.5, key, dtype)
        self.lora_B = _core.zeros((outputs, rank), dtype=dtype)
        self.rank, self.alpha, self.dropout = rank, rank if alpha is None else number(self, "alpha", alpha), dropout

    @property
    def weight(self):
        """The weight that the layer has as a whole."""
        return self.base.weight + (self.lora_B @ self.lora_A) * (self.alpha / self.rank)

    def __call__(self, x, *, key=None):
        """The output for x [..., in_features]; key is for dropout."""
        inner = _core.linear(dropped(self, x, self.dropout, key), self.lora_A)
        return self.base(x) + _core.linear(inner, self.lora_B) * (self.alpha / self.rank)

    def merged(self):
        """A Linear with the weight of the whole, to be trained.

        >>> type(plait.nn.LoRALinear(6, 4).merged()).__name__
        'Linear'
        """
        made = self.base.dequantized() if isinstance(self.base, QuantizedLinear) else copy_of(self.base)
        make_plain(made, "weight", self.weight)
        return made


def lora(model, pattern="*", rank=8, alpha=None, dropout=0.0, *, key=None):
    """The model with a LoRALinear in place of each Linear, or QuantizedLinear, whose path matches the pattern, as in file
    names, or one of several. Their base weights are not trained anymore; all else is as before, a LoRALinear that is there already, too.

    >>> model = plait.nn.Sequential(plait.nn.Linear(4, 8), plait.relu, plait.nn.Linear(8, 2))
    >>> model = plait.nn.lora(model, "0", rank=2)
    >>> [type(layer).__name__ for layer in model if isinstance(layer, plait.Module)]
    ['LoRALinear', 'Linear']
    """
    state, bases = [drawn(key)], {}

    def make(layer, path):
        state[0], own = _core.random.split_key(state[0], 2)
        bases.update({id(leaf): path for leaf in _core._flatten(layer)[0]})
        return LoRALinear.from_linear(layer, rank, alpha, dropout, key=own)

    adapted = replaced("nn.lora", model, (Linear, QuantizedLinear), make, pattern, closed=(LoRALinear,))
    leaves, structure = _core._flatten(adapted)
    for path, trained in trained_among(bases, leaves, structure, of_structure(structure)):
        raise errors.ValueError.with_hint(f"nn.lora: {path} has a tensor that is trained at {trained}, too",
                                          f"freeze it first: plait.nn.freeze(model, {trained!r})")
    expect_model_used("nn.lora")
    return adapted


def merge_lora(model):
    """The model with a Linear in place of each LoRALinear, whose weight includes the product.

    >>> model = plait.nn.lora(plait.nn.Sequential(plait.nn.Linear(4, 8), plait.nn.Linear(8, 2)), rank=2)
    >>> [type(layer).__name__ for layer in plait.nn.merge_lora(model)]
    ['Linear', 'Linear']
    """
    merged = replaced("nn.merge_lora", model, (LoRALinear,), lambda layer, _: layer.merged())
    expect_model_used("nn.merge_lora")
    return merged
