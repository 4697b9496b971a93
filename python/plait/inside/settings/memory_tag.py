"""Names for the memory that a part of a program allocates."""

import functools

from plait import _core
from plait.inside.settings.scopes import Scope


class memory_tag(Scope):
    """`with memory_tag("name"):`, or as a decorator: what this thread allocates is counted under the name. An error about too little memory
    lists the names that hold most, and memory_by_tag all of them.

    >>> with plait.memory_tag("table"):
    ...     table = plait.arange(1000) * 2
    >>> plait.memory_by_tag()["table"]
    8000
    """

    def __init__(self, name):
        super().__init__(functools.partial(_core._open_memory_tag, str(name)))


def memory_by_tag(device=None):
    """The bytes that tensors occupy on a device, by the tag (see memory_tag) under which they were made; "" is without one.

    >>> "" in plait.memory_by_tag("cpu")
    True
    """
    return _core._memory_by_tag(_core._default_device() if device is None else device)
