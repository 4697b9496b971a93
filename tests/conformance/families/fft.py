"""Fourier transforms of any length."""

import numpy as np
import plait

from suite.cases import Sample, case

FAMILY = "fft"
LENGTHS = [((8,), 0), ((7,), 0), ((1,), 0), ((3, 12), 1), ((30, 2), 0), ((2, 97, 2), 1), ((0, 4), 1), ((1024,), 0), ((1009,), 0)]
SCALES = ["none", "root", "length"]


def divided(result, length, scale):
    return result / {"none": 1, "root": np.sqrt(length), "length": length}[scale]


def fft(x, axis, inverse=False, scale="none"):
    if x.size == 0:
        return x
    length = x.shape[axis]
    return divided(np.fft.ifft(x, axis=axis) * length if inverse else np.fft.fft(x, axis=axis), length, scale)


def rfft(x, axis, scale="none"):
    if x.size == 0:
        shape = list(x.shape)
        shape[axis] = shape[axis] // 2 + 1
        return np.zeros(shape, np.complex128)
    return divided(np.fft.rfft(x, axis=axis), x.shape[axis], scale)


def irfft(x, axis, size, scale="none"):
    if x.size == 0:
        shape = list(x.shape)
        shape[axis] = size
        return np.zeros(shape)
    return divided(np.fft.irfft(x, size, axis=axis) * size, size, scale)


def magnitude(x, **attributes):
    return np.float64(np.sum(np.abs(x))) / max(1, x.size) ** 0.5 + 1


def half(shape, axis):
    return tuple(size // 2 + 1 if k == axis else size for k, size in enumerate(shape))


case("fft", fft, family=FAMILY, large=False, tolerance="sum", scale=magnitude, samples=[
    Sample((shape,), {"axis": axis, "inverse": k % 2 == 1, "scale": SCALES[k % 3]}) for k, (shape, axis) in enumerate(LENGTHS)])


def complex_of(dtype, attributes):
    return {"f32": plait.c64, "f64": plait.c128}[dtype.name]


case("rfft", rfft, family=FAMILY, large=False, tolerance="sum", scale=magnitude, result_dtype=complex_of, samples=[
    Sample((shape,), {"axis": axis, "scale": SCALES[k % 3]}) for k, (shape, axis) in enumerate(LENGTHS)])
case("irfft", irfft, family=FAMILY, large=False, tolerance="sum", scale=magnitude, samples=[
    Sample((half(shape, axis),), {"axis": axis, "size": shape[axis], "scale": SCALES[k % 3]})
    for k, (shape, axis) in enumerate(LENGTHS)])
