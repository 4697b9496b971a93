"""Images on other devices. What is plain arithmetic is computed there; all else by the host, on a copy, and its result goes back."""

import functools
import threading

from plait import _core
from plait.inside.arrays.devices import moved
from plait.inside.arrays.interop import asarray

_lock = threading.Lock()
counts = {}  # for each name, how often the host has computed it for a device


def is_on_gpu(image):
    """True for a tensor that is not on the host."""
    return isinstance(image, _core.Tensor) and image.is_cuda


def on_host(name, compute, *operands):
    """compute(operands…) on the host; its results are where the first operand is. Counted, and logged once for each name."""
    place = _core._device_of(operands[0])
    if place == "cpu":
        return compute(*operands)
    with _lock:
        counts[name] = counts.get(name, 0) + 1
        is_first = counts[name] == 1
    if is_first:
        _core._log_host_call(name, place)
    made = compute(*(_placed(each, "cpu") for each in operands))
    return tuple(_placed(each, place) for each in made) if isinstance(made, tuple) else _placed(made, place)


def _placed(value, name):
    return moved(value, name) if isinstance(value, _core.Tensor) else value


def _normalize(image, mean, std):
    mean, std = (asarray(each, image.dtype, device=image.device).reshape(-1, 1, 1) for each in (mean, std))
    return (image - mean) / std


def _to_dtype(image, dtype, scale):
    dtype = _core.DType(dtype)
    if scale and image.dtype.kind != dtype.kind:
        return None if image.dtype != _core.u8 else _core.astype(image, dtype) / 255
    return None if scale and dtype.kind == "integer" else _core.astype(image, dtype)


_BY_OPERATIONS = {"normalize": _normalize, "to_dtype": _to_dtype, "horizontal_flip": lambda image: _core.flip(image, -1),
                  "vertical_flip": lambda image: _core.flip(image, -2)}


def _computed(name, image, *numbers):
    compute = getattr(_core._images, name)
    if name in _BY_OPERATIONS and image.is_cuda:
        compute(_core.zeros((*image.shape[-3:-2], 1, 1), dtype=image.dtype, device="cpu"), *numbers)  # refuses what the host refuses
        made = _BY_OPERATIONS[name](image, *numbers)
        if made is not None:
            return made
    return on_host(name, compute, image, *numbers)


class _Images:
    """The functions of images in C++, for images on any device."""

    def __getattr__(self, name):
        return functools.partial(_computed, name)


images = _Images()
