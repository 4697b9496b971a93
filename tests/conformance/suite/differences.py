"""Deliberate differences between Plait and the oracle: one list, each with the reason and a library that agrees with
Plait and is called to confirm it. At most 2 % of the primitives may be listed; `run.py table` counts them."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Difference:
    primitive: str
    where: callable  # a mask, as a function of the operands
    reason: str
    agrees: str  # the library
    ask: callable  # a function of the operands at those places: the result of that library


def _torch_lgamma(x):
    import torch  # imported only here: it takes long to load

    return torch.lgamma(torch.from_numpy(x.astype(np.float64))).numpy()


DIFFERENCES = [
    Difference("lgamma", lambda x: np.isneginf(x) | (np.abs(x) < 1e-300), "SciPy gives -inf for -inf, unlike the poles on the "
               "way there, and inf for what is next to 0, where the logarithm is 744", "PyTorch", _torch_lgamma),
]


def known(primitive, operands, actual):
    """A mask of the elements where a listed difference allows Plait's result: the other library returns it too."""
    mask = np.zeros(actual.shape, bool)
    for difference in DIFFERENCES:
        if difference.primitive != primitive or any(x.shape != actual.shape for x in operands):
            continue
        places = np.asarray(difference.where(*operands))
        with np.errstate(all="ignore"):
            theirs = np.asarray(difference.ask(*[x[places] for x in operands]))
            ours = actual[places].astype(theirs.dtype)
            near = np.isclose(ours, theirs.astype(actual.dtype).astype(theirs.dtype), rtol=1e-14, atol=0, equal_nan=True)
        mask[places] |= near
    return mask


def share(primitives):
    """The fraction of the primitives that is listed."""
    return len({difference.primitive for difference in DIFFERENCES}) / len(primitives)
