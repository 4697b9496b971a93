"""Devices on which tensors are stored."""

from plait import errors


class Device:
    """A processor with its memory.

    >>> plait.ones(2).device
    plait.Device('cpu')
    """

    __slots__ = ("_name", "__weakref__")

    def __init__(self, name):
        self._name = name

    def __eq__(self, other):
        return other._name == self._name if isinstance(other, Device) else other == self._name

    def __hash__(self):
        return hash(self._name)

    def __repr__(self):
        return f"plait.Device({self._name!r})"

    def __str__(self):
        return self._name


CPU = Device("cpu")
NAMES_OF_OTHERS = ("cpu", "cuda", "gpu", "tpu", "mps", "meta", "xla")  # that other libraries write


def device(given=None):
    """The given device, or the one of that name; the default device for None."""
    if given is None or given == CPU:
        return CPU
    raise errors.DeviceError(f"unknown device {str(given)!r}; the only device is 'cpu'")
