"""Mixed precision within a `with` block or a decorated function."""

import functools

from plait import _core, errors
from plait.inside.arrays.devices import NAMES_OF_OTHERS, device
from plait.inside.settings.scopes import Scope


class autocast(Scope):
    """`with autocast():`, or as a decorator: products in bf16 (or f16), sums and exponentials in f32.

    `narrow` and `wide` are the names of the primitives that are, in place of the usual ones. The device_type is "cpu".

    >>> with plait.autocast():
    ...     (plait.ones((2, 2)) @ plait.ones((2, 2))).dtype
    plait.bf16
    """

    def __init__(self, dtype=_core.bf16, *, device_type=None, narrow=None, wide=None):
        device(device_type)
        if isinstance(dtype, str) and dtype.split(":")[0] in NAMES_OF_OTHERS:
            raise errors.TypeError.with_hint(f"autocast: {dtype!r} is not a dtype", "plait.autocast(dtype=plait.bf16); the only device is the CPU")
        super().__init__(functools.partial(_core._open_autocast, dtype, narrow, wide))
