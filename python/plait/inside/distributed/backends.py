"""Names of engines, which PyTorch calls backends."""

from plait import _core, errors
from plait.inside.arrays.devices import devices
from plait.inside.distributed.arguments import text_of
from plait.inside.help.names import in_words

NAMES = ("auto", "local", "gloo", "mpi", "nccl")


class Backend(str):
    """Names of backends: Backend("GLOO") is "gloo", as Backend.GLOO is.

    >>> plait.distributed.Backend("GLOO") == plait.distributed.Backend.GLOO == "gloo"
    True
    """

    UNDEFINED, LOCAL, GLOO, MPI, NCCL = "undefined", "local", "gloo", "mpi", "nccl"

    def __new__(cls, name):
        return text_of("Backend", "name", name).lower()


def _engines():
    """Those of this build."""
    return tuple(_core._comm.engines())


def _for_device(function, backend, name):
    """The name in cpu:gloo or cuda:nccl. A group has one engine, for the CPU or for GPUs."""
    pairs = [each.partition(":") for each in name.split(",")]
    for device, _, engine in pairs:
        if device != ("cuda" if engine == "nccl" else "cpu") or len(pairs) > 1:
            raise errors.ValueError.with_hint(f"{function}: backend is {in_words(backend)}, expected one name, for the tensors of one kind of device",
                                              "nccl moves tensors of GPUs, the others those of the cpu; groups of both may have the same ranks")
    return pairs[0][2]


def engine_of(function, backend):
    """The name of an engine in lower case: auto for None."""
    if backend is None:
        return "auto"
    name = text_of(function, "backend", backend).lower()
    name = _for_device(function, backend, name) if ":" in name else name
    if name == Backend.UNDEFINED:
        return "auto"
    if name not in NAMES:
        raise errors.ValueError(f"{function}: backend is {in_words(backend)}, expected one of {', '.join(NAMES)}")
    return name


def is_backend_available(backend):
    """True if this build has the backend of that name, and for nccl the machine a GPU."""
    name = text_of("is_backend_available", "backend", backend).lower()
    if name in ("nccl", "cuda:nccl"):
        return bool(devices("cuda"))
    return name.removeprefix("cpu:") in _engines()


def is_gloo_available():
    """True if this build has the backend gloo."""
    return is_backend_available("gloo")


def is_mpi_available():
    """True if this build has the backend mpi."""
    return is_backend_available("mpi")


def is_nccl_available():
    """True if the machine has a GPU: NCCL's library is opened when a group is made."""
    return is_backend_available("nccl")
