"""Dropout inside of other layers."""

from plait import _core, errors
from plait.inside.layers.checks import is_number
from plait.inside.layers.first_weights import drawn


def dropped(layer, x, p, key=None):
    """x after dropout, if the layer is in training mode, by the key or else the next of the default stream."""
    return _core.dropout(x, p, drawn(key)) if layer.training and p else x


def expect_probability(layer, p):
    if not is_number(p) or not 0 <= p <= 1:
        raise errors.ValueError(f"nn.{layer}: dropout is {p}, expected 0 to 1")
