"""Mixed precision within a `with` block or a decorated function."""

import functools

from plait import _core, errors
from plait.inside.arrays.devices import is_name_of_device
from plait.inside.settings.scopes import Scope


class autocast(Scope):
    """`with autocast():`, or as a decorator: products in bf16 (or f16), sums and exponentials in f32.

    `narrow` and `wide` are the names of the primitives that are, in place of the usual ones. With enabled=False nothing is converted. It holds on
    every device, whatever the device_type.

    >>> with plait.autocast():
    ...     (plait.ones((2, 2)) @ plait.ones((2, 2))).dtype
    plait.bf16
    """

    def __init__(self, dtype=_core.bf16, *, device_type=None, enabled=True, narrow=None, wide=None):
        if device_type is not None:
            _core._device_name(device_type)
        if is_name_of_device(dtype):
            raise errors.TypeError.with_hint(f"autocast: {dtype!r} is not a dtype", "plait.autocast(dtype=plait.bf16), which holds on every device")
        if not enabled:
            narrow = wide = ()
        super().__init__(functools.partial(_core._open_autocast, dtype, narrow, wide))
