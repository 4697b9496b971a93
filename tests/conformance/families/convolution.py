"""Convolution and its two transposes, as plain sums."""

import itertools

import numpy as np

from suite.cases import Sample, case

FAMILY = "convolution"


def meetings(x_space, w_space, strides, dilation, input_dilation, padding_low, padding_high):
    """(index in out, in w, in x) of all terms, and the spatial sizes of out."""
    spread = [(size - 1) * step + 1 if size else 0 for size, step in zip(x_space, input_dilation)]
    reach = [(size - 1) * step + 1 for size, step in zip(w_space, dilation)]
    out = [max(0, (s + low + high - r) // stride + 1)
           for s, low, high, r, stride in zip(spread, padding_low, padding_high, reach, strides)]
    found = []
    for s in itertools.product(*map(range, out)):
        for k in itertools.product(*map(range, w_space)):
            at = [si * stride + ki * step - low for si, stride, ki, step, low in zip(s, strides, k, dilation, padding_low)]
            if all(a % step == 0 and 0 <= a // step < size for a, step, size in zip(at, input_dilation, x_space)):
                found.append((s, k, tuple(a // step for a, step in zip(at, input_dilation))))
    return found, out


def groups_of(channels, outputs, groups):
    """The channels of x, the outputs and the channels of w that belong to the same group."""
    c, o = channels // groups, outputs // groups
    return [(slice(g * c, (g + 1) * c), slice(g * o, (g + 1) * o)) for g in range(groups)]


def convolution(x, w, groups=1, sizes=(), **geometry):
    found, space = meetings(x.shape[2:], w.shape[2:], **geometry)
    out = np.zeros((x.shape[0], w.shape[0], *space), x.dtype)
    for channels, outputs in groups_of(x.shape[1], w.shape[0], groups):
        for s, k, at in found:
            out[(slice(None), outputs, *s)] += x[(slice(None), channels, *at)] @ w[(outputs, slice(None), *k)].T
    return out


def input_gradient(out, w, sizes, groups=1, **geometry):
    found, _ = meetings(sizes, w.shape[2:], **geometry)
    x = np.zeros((out.shape[0], w.shape[1] * groups, *sizes), out.dtype)
    for channels, outputs in groups_of(x.shape[1], w.shape[0], groups):
        for s, k, at in found:
            x[(slice(None), channels, *at)] += out[(slice(None), outputs, *s)] @ w[(outputs, slice(None), *k)]
    return x


def weight_gradient(x, out, sizes, groups=1, **geometry):
    found, _ = meetings(x.shape[2:], sizes, **geometry)
    w = np.zeros((out.shape[1], x.shape[1] // groups, *sizes), x.dtype)
    for channels, outputs in groups_of(x.shape[1], out.shape[1], groups):
        for s, k, at in found:
            w[(outputs, slice(None), *k)] += out[(slice(None), outputs, *s)].T @ x[(slice(None), channels, *at)]
    return w


def geometry(rank, stride=1, dilation=1, input_dilation=1, low=0, high=0):
    return {"strides": [stride] * rank, "dilation": [dilation] * rank, "input_dilation": [input_dilation] * rank,
            "padding_low": [low] * rank, "padding_high": [high] * rank}


# x, w, attributes
SAMPLES = [
    ((1, 1, 5), (1, 1, 3), geometry(1)), ((2, 3, 7), (4, 3, 3), geometry(1, stride=2, low=1, high=2)),
    ((2, 4, 6), (6, 2, 2), geometry(1, dilation=2) | {"groups": 2}), ((2, 3, 4), (2, 3, 3), geometry(1, input_dilation=2, low=1, high=1)),
    ((2, 3, 6, 5), (4, 3, 3, 2), geometry(2, low=1, high=1)), ((1, 4, 6, 6), (4, 1, 3, 3), geometry(2, stride=2, low=1, high=0) | {"groups": 4}),
    ((1, 2, 4, 3, 4), (3, 2, 2, 2, 2), geometry(3)), ((0, 2, 5), (3, 2, 2), geometry(1)), ((8, 16, 9, 9), (24, 16, 3, 3), geometry(2, low=1, high=1)),
]


def out_shape(x, w, attributes):
    plain = {name: value for name, value in attributes.items() if name != "groups"}
    return (x[0], w[0], *meetings(x[2:], w[2:], **plain)[1])


def magnitude(*operands, **attributes):
    return np.float64(np.sqrt(operands[1].size + operands[0].size) * 12)


def add(name, oracle, samples):
    case(name, oracle, family=FAMILY, large=False, tolerance="sum", scale=magnitude,
         samples=[Sample(operands, attributes) for operands, attributes in samples])


add("convolution", convolution, [((x, w), a) for x, w, a in SAMPLES])
add("convolution_input_gradient", input_gradient, [((out_shape(x, w, a), w), a | {"sizes": list(x[2:])}) for x, w, a in SAMPLES])
add("convolution_weight_gradient", weight_gradient, [((x, out_shape(x, w, a)), a | {"sizes": list(w[2:])}) for x, w, a in SAMPLES])
