"""NaN and infinities: finding them, and where they come from."""

import functools

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.settings.scopes import Scope


def check_finite(x, name=""):
    """CheckError if x, or a tensor in it (a model, gradients), holds a NaN or an infinity. The error names the tensor
    (and its path in the tree), the number of such elements, the index of the first one, and your line. Returns x.

    Like check it is an instruction where it is recorded (jit, trace, vmap, control flow), and is never removed.

    >>> loss = plait.check_finite(plait.tensor(0.5), "loss")
    >>> plait.check_finite({"scale": plait.ones(2), "bias": plait.log(plait.tensor([1.0, 0.0]))}, "gradients")
    Traceback (most recent call last):
        ...
    plait.errors.CheckError: CheckError: check_finite of f32[2]: gradients.bias has 1 inf among 2 elements, the first at [1], at ...
      hint: ...
    """
    if not isinstance(name, str):
        raise errors.TypeError(f"check_finite: name: expected a string, not {type(name).__name__}")
    leaves, structure = _core._flatten(x, numbers=True)
    for path, leaf in zip(structure.paths, leaves):
        if not isinstance(leaf, int):
            _core._check_finite(asarray(leaf), ".".join(part for part in (name, path) if part))
    return x


def _open(nan, inf):
    if _core._is_tracing():
        raise errors.TypeError("detect_anomaly: it applies to calls, and cannot be recorded\n"
                               "  hint: put it around the call of the jitted or traced function")
    return _core._detect_anomaly(nan, inf)


class detect_anomaly(Scope):
    """`with detect_anomaly():`, or as a decorator: the first NaN or infinity that appears is a CheckError. It names the
    operation, its operands, and your line; in a backward pass, the line of the forward operation.

    Values that you write yourself (a mask of -inf) are not anomalies. `inf=False` finds NaN only, and
    detect_anomaly(False) turns detection off temporarily. It applies to this thread: to eager operations, and to jitted
    functions, which meanwhile run instruction by instruction and therefore more slowly. The environment variable
    PLAIT_DETECT_ANOMALY=on does the same for the whole process. Corresponds to PyTorch's detect_anomaly and JAX's
    jax_debug_nans.

    >>> with plait.detect_anomaly():
    ...     plait.grad(lambda x: plait.sum(plait.sqrt(x)))(plait.tensor([4.0, 0.0]))
    Traceback (most recent call last):
        ...
    plait.errors.CheckError: CheckError: divide...: returned 1 inf among 2 elements, the first at [1], ... in the backward pass of sqrt ...
      hint: ...
    """

    def __init__(self, enabled=True, *, inf=True):
        super().__init__(functools.partial(_open, bool(enabled), bool(inf)))
