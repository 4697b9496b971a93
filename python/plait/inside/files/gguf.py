"""GGUF files."""

from plait import _core
from plait.inside.files.file_arguments import Opened, loaded, path_of


def load_gguf(path, *, device=None):
    """The tensors of a GGUF file, {name: tensor}. Quantised ones are dequantised to f32; plait.io.open_gguf reads single ones, and the
    metadata.

    >>> import tempfile
    >>> tensor = b"".join([(1).to_bytes(8, "little"), b"x", (1).to_bytes(4, "little"), (2).to_bytes(8, "little"), bytes(4), bytes(8)])
    >>> header = b"GGUF" + (3).to_bytes(4, "little") + (1).to_bytes(8, "little") + bytes(8) + tensor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/x.gguf", "wb") as file:
    ...         _ = file.write(header.ljust(64, b"\\0") + np.float32([1, 2]).tobytes())
    ...     plait.io.load_gguf(f"{folder}/x.gguf")
    {'x': [1. 2.] : f32[2]}
    """
    return loaded(_core._load_gguf(path_of("load_gguf", path)), device)


def open_gguf(path):
    """An open GGUF file: a context manager with keys(), get_tensor(name), get_type(name), get_shape(name) and metadata(), which is a dict
    of numbers, texts and lists.

    >>> import tempfile
    >>> entry = (4).to_bytes(8, "little") + b"year" + (4).to_bytes(4, "little") + (2026).to_bytes(4, "little")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/x.gguf", "wb") as file:
    ...         _ = file.write(b"GGUF" + (3).to_bytes(4, "little") + bytes(8) + (1).to_bytes(8, "little") + entry)
    ...     with plait.io.open_gguf(f"{folder}/x.gguf") as file:
    ...         file.metadata(), file.keys()
    ({'year': 2026}, [])
    """
    return GGUFFile(path)


class GGUFFile(Opened):
    """An open GGUF file, as plait.io.open_gguf returns it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/x.gguf", "wb") as file:
    ...         _ = file.write(b"GGUF" + (3).to_bytes(4, "little") + bytes(16))
    ...     with plait.io.GGUFFile(f"{folder}/x.gguf") as file:
    ...         len(file), "x" in file
    (0, False)
    """

    _open = staticmethod(_core._open_gguf)
