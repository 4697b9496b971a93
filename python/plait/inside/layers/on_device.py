"""The argument device= of layers."""

import functools
import inspect

from plait.inside.arrays.devices import Device


def on_device(init):
    """An __init__ that has the argument device=, too: where the layer's tensors are made, by default on the default device."""
    signature = inspect.signature(init)

    @functools.wraps(init)
    def made(self, *arguments, device=None, **named):
        if device is None:
            return init(self, *arguments, **named)
        with device if isinstance(device, Device) else Device(device):
            return init(self, *arguments, **named)

    added = inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default=None)
    made.__signature__ = signature.replace(parameters=[*signature.parameters.values(), added])
    return made
