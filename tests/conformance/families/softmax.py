"""Softmax, and rows standardised to mean 0 and variance 1."""

import numpy as np
import scipy.special

from suite.cases import Sample, case

FAMILY = "softmax"
SHAPES = [((7,), 0), ((1,), 0), ((3, 5), 0), ((3, 5), 1), ((2, 0, 3), 2), ((2, 3, 4), 1), ((33, 300), 1), ((1_001, 1_003), 1)]
ROWS = np.array([[1, np.inf, 2], [-np.inf, 1, 2], [-np.inf] * 3, [1, np.nan, 2], [1000.0, 999.0, -1000.0]])


def softmax(x, axis, masked_is_zero=False):
    if x.shape[axis] == 0:
        return x
    result = scipy.special.softmax(x, axis)
    masked = np.all(np.isneginf(x), axis, keepdims=True)
    return np.where(masked & masked_is_zero, 0, result).astype(x.dtype)


samples = [Sample((shape,), {"axis": axis}, large=shape[0] > 1_000) for shape, axis in SHAPES]
case("softmax", softmax, family=FAMILY, large=False, tolerance="normalised",
     samples=samples + [Sample(((4, 3),), {"axis": 1, "masked_is_zero": True})],
     specials=[Sample((ROWS,), {"axis": 1}), Sample((ROWS,), {"axis": 1, "masked_is_zero": True})])
case("log_softmax", lambda x, axis, masked_is_zero=False: scipy.special.log_softmax(x, axis) if x.size else x, family=FAMILY,
     large=False, tolerance="normalised", scale=lambda x, axis, masked_is_zero=False: np.max(x, axis, keepdims=True, initial=0), samples=samples)


def standardize(x, epsilon, is_centred=True):
    mean = np.mean(x, -1, keepdims=True) if is_centred else 0
    scale = 1 / np.sqrt(np.mean((x - mean) ** 2, -1) + epsilon)
    return (x - mean) * scale[..., None], scale


case("standardize", standardize, family=FAMILY, large=False, tolerance="normalised",
     scale=lambda x, epsilon, is_centred=True: np.float64(4),
     samples=[Sample((shape,), {"epsilon": 1e-5, "is_centred": centred}) for shape in ((7,), (3, 5), (2, 3, 4), (0, 3), (33, 300))
              for centred in (True, False)])
