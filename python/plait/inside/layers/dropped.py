"""Dropout inside of other layers."""

from plait import _core
from plait.inside.layers.first_weights import drawn


def dropped(layer, x, p, key=None):
    """x after dropout, if the layer is in training mode, by the key or else the next of the default stream."""
    return _core.dropout(x, p, drawn(key)) if layer.training and p else x
