"""Devices on which tensors are stored and computed."""

import atexit
import functools
import threading

from plait import _core, errors
from plait.inside.later import Later
from plait.inside.settings.scopes import Scope

on_host = Later("plait.inside.data.images.on_host")

NAMES_OF_OTHERS = ("cpu", "cuda", "gpu", "tpu", "mps", "meta", "xla")  # that other libraries write


class _Within(Scope):
    def __init__(self, name):
        super().__init__(functools.partial(_core._open_device_scope, name))


class _Entered(threading.local):
    def __init__(self):
        self.scopes = []


_entered = _Entered()


class Device:
    """A processor with its memory: "cpu", "cuda" (the first GPU) or "cuda:1". Nothing asks whether the machine has it
    before it is used. Within a `with` block, tensors are made there:

    >>> with plait.Device("cpu"):
    ...     plait.ones(2).device
    plait.Device('cpu')
    """

    __slots__ = ("_name", "__weakref__")

    def __init__(self, name, index=None):
        self._name = _core._device_name(name if index is None else f"{name}:{index}")

    @property
    def type(self):
        """"cpu" or "cuda"."""
        return self._name.split(":")[0]

    @property
    def index(self):
        """The number among the devices of its type; None for the CPU."""
        return int(self._name[5:]) if ":" in self._name else None

    def __eq__(self, other):
        if isinstance(other, str):
            try:
                other = _of_name(_core._device_name(other))
            except errors.DeviceError:
                return False
        return other._name == self._name if isinstance(other, Device) else NotImplemented

    def __hash__(self):
        return hash(self._name)

    def __repr__(self):
        return f"plait.Device({self._name!r})"

    def __str__(self):
        return self._name

    def __reduce__(self):
        return Device, (self._name,)

    def __enter__(self):
        _entered.scopes.append(_Within(self._name).__enter__())
        return self

    def __exit__(self, *ended):
        _entered.scopes.pop().__exit__(*ended)


@functools.cache
def _of_name(name):
    return Device(name)


def device(given=None):
    """The device of that name, or the default device for None."""
    return _of_name(_core._default_device() if given is None else _core._device_name(given))


def devices(kind=None):
    """The devices of the machine, the GPUs first; of one kind if it is given.

    >>> plait.devices("cpu")
    [plait.Device('cpu')]
    """
    gpus = [_of_name(f"cuda:{i}") for i in range(_core._device_count("cuda"))]
    return gpus + [_of_name("cpu")] if kind is None else gpus if device(kind).type == "cuda" else [_of_name("cpu")]


def is_name_of_device(text):
    """True if it is written like a device, of Plait or of another library."""
    return isinstance(text, str) and text.split(":")[0] in NAMES_OF_OTHERS


def moved(tensor, name):
    """The tensor on the device of that full name: itself if it was placed there."""
    is_there = _core._device_of(tensor) == name and not tensor.is_traced and not _core._is_unplaced(tensor)
    return tensor if is_there else _core._to_device(tensor, name)


def beside(scalar, tensor):
    """A scalar on the device of a tensor: those of a gradient may be on several."""
    return scalar if scalar.device == tensor.device else moved(scalar, str(tensor.device))


def placed(tensor, given):
    """A tensor of the host on the given device, or on the default device for None."""
    if given is not None:
        return moved(tensor, _core._device_name(given))
    return tensor if _core._device_of(tensor) == _core._default_device() else _core._on_default_device(tensor)


def synchronize(device=None):
    """Waits until a device has computed all that was started there. An error that it noted is raised.

    >>> plait.synchronize("cpu")
    """
    _core._synchronize(_core._default_device() if device is None else _core._device_name(device))


atexit.register(_core._report_outstanding)


def host_calls():
    """How often the host has computed an operation for a device that has no kernel for it, by the name of the primitive or of the function of
    images.

    >>> plait.host_calls()
    {}
    """
    return {**_core._host_calls(), **on_host.counts}


def _device_of(tensor):
    """Where its elements are, or will be."""
    return _of_name(_core._device_of(tensor))


_core.Tensor.device = property(_device_of)
_core.Tensor.is_cuda = property(lambda tensor: _core._device_of(tensor) != "cpu", doc="True if it is on a GPU.")
