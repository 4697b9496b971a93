"""Objects as bytes, for calls that pass objects: data alone, so that nothing that is received can run code."""

import struct

from plait import _core, errors
from plait.inside.arrays.interop import asarray, numpy_dtype
from plait.inside.help.names import in_words
from plait.inside.later import Later

np = Later("numpy")

_CONSTANTS = {None: b"n", True: b"t", False: b"f"}
_CONTAINERS = {list: b"l", tuple: b"u", set: b"s", frozenset: b"z"}


def _sized(data):
    return struct.pack("<Q", len(data)) + data


def encode(function, value):
    """The bytes of an object. TypeError for kinds of objects that are not data."""
    kind = type(value)
    if value is None or kind is bool:
        return _CONSTANTS[value]
    if kind is int:
        return b"i" + _sized(value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))
    if kind in (float, complex):
        return (b"d" + struct.pack("<d", value)) if kind is float else (b"c" + struct.pack("<dd", value.real, value.imag))
    if kind is str:
        return b"x" + _sized(value.encode("utf-8", "surrogatepass"))
    if kind in (bytes, bytearray):
        return (b"b" if kind is bytes else b"a") + _sized(bytes(value))
    if kind in _CONTAINERS:
        return _CONTAINERS[kind] + struct.pack("<Q", len(value)) + b"".join(encode(function, each) for each in value)
    if kind is dict:
        return b"m" + struct.pack("<Q", len(value)) + b"".join(encode(function, each) for pair in value.items() for each in pair)
    if isinstance(value, _core.Tensor):
        return b"T" + encode(function, (value.dtype.name, tuple(value.shape), value.numpy().tobytes()))
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufcSUmM":
        return b"N" + encode(function, (value.dtype.str, value.shape, value.tobytes()))
    raise errors.TypeError.with_hint(f"{function}: {in_words(value)} cannot be sent",
                                     "send numbers, text, bytes, tensors, arrays, and lists, tuples, sets and dicts of them")


class _Reader:
    def __init__(self, data):
        self.data, self.place = data, 0

    def take(self, count):
        taken = self.data[self.place:self.place + count]
        if len(taken) < count:
            raise errors.ParseError(f"byte {self.place}: expected {count} bytes, {len(taken)} are left")
        self.place += count
        return taken

    def numbers(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))

    def sized(self):
        return self.take(self.numbers("<Q")[0])

    def count(self):
        (count,) = self.numbers("<Q")
        if count > len(self.data) - self.place:
            raise errors.ParseError(f"byte {self.place}: {count} items, {len(self.data) - self.place} bytes are left")
        return count

    def array(self):
        name, shape, data = self.value()
        if np.dtype(name).kind not in "biufcSUmM":
            raise errors.ParseError(f"{name!r} is not a dtype of numbers or text")
        return np.frombuffer(bytearray(data), name).reshape(shape)

    def tensor(self):
        name, shape, data = self.value()
        return asarray(np.frombuffer(bytearray(data), numpy_dtype(_core.DType(name))).reshape(shape))

    def value(self):
        tag = bytes(self.take(1))
        if tag in (b"n", b"t", b"f"):
            return {b"n": None, b"t": True, b"f": False}[tag]
        if tag in (b"l", b"u", b"s", b"z"):
            return {b"l": list, b"u": tuple, b"s": set, b"z": frozenset}[tag](self.value() for _ in range(self.count()))
        read = {b"i": lambda: int.from_bytes(self.sized(), "little", signed=True), b"d": lambda: self.numbers("<d")[0],
                b"c": lambda: complex(*self.numbers("<dd")), b"x": lambda: bytes(self.sized()).decode("utf-8", "surrogatepass"),
                b"b": lambda: bytes(self.sized()), b"a": lambda: bytearray(self.sized()),
                b"m": lambda: dict((self.value(), self.value()) for _ in range(self.count())),
                b"T": self.tensor, b"N": self.array}.get(tag)
        if read is None:
            raise errors.ParseError(f"byte {self.place - 1}: {tag!r} is not a kind of object")
        return read()


def decode(data):
    """The object of the bytes. ParseError for malformed ones."""
    reader = _Reader(memoryview(data))
    try:
        value = reader.value()
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise errors.ParseError(f"byte {reader.place}: {error}") from None
    if reader.place != len(data):
        raise errors.ParseError(f"{len(data) - reader.place} bytes follow the object")
    return value
