"""Objects as bytes, for calls that pass objects: data alone, so that nothing that is received can run code."""

import re
import struct

from plait import _core, errors
from plait.inside.arrays.interop import asarray, numpy_dtype
from plait.inside.help.names import in_words
from plait.inside.later import Later

np = Later("numpy")

MOST_LEVELS = 200  # lists in lists: reading takes as many calls within calls
KINDS = "biufcSUmM"  # NumPy's letters for numbers, text and dates
DTYPE = re.compile(r"[<>|=]?[a-zA-Z?][0-9]{0,9}(\[[0-9]{0,9}[a-zA-Z]+\])?")  # <f8, |S3, <M8[ns]
_PLAIN = {type(None), bool, int, float, complex, str, bytes, bytearray}
_CONSTANTS = {None: b"n", True: b"t", False: b"f"}
_CONTAINERS = {list: b"l", tuple: b"u", set: b"s", frozenset: b"z"}
_KINDS_OF_CONTAINERS = {tag: kind for kind, tag in _CONTAINERS.items()}


def _sized(data):
    return struct.pack("<Q", len(data)) + data


def _is_of_numpy(dtype):
    """False of dtypes that other libraries have added: their names are not known everywhere."""
    try:
        return np.dtype(dtype.str) == dtype
    except TypeError:
        return False


class _Writer:
    """Writes an object, part by part, and knows where in it a part is."""

    def __init__(self, function):
        self.function = function
        self.parts = []
        self.path = []  # (a form, what it shows) from the object to the part that is written
        self.open = set()  # containers that are being written

    def place(self):
        """The part that is written, in words: "a key of the object[3]"."""
        text = "the object"
        for form, shown in self.path:
            text = form.format(text, shown if isinstance(shown, int) else in_words(shown))
        return text

    def write(self, value):
        kind = type(value)
        if kind in _CONTAINERS or kind is dict:
            self.container(value, kind)
        elif kind in _PLAIN:
            self.parts.append(self.plain(value, kind))
        elif isinstance(value, (_core.Tensor, np.ndarray, np.generic)):
            self.parts.append(self.array(value, kind))
        else:
            raise self.refusal(value, "send numbers, text, bytes, tensors, arrays, and lists, tuples, sets and dicts of them")

    def container(self, value, kind):
        if id(value) in self.open:
            raise errors.ValueError.with_hint(f"{self.function}: {self.place()} contains itself", "send objects without cycles")
        if len(self.path) >= MOST_LEVELS:
            raise errors.ValueError.with_hint(f"{self.function}: the object has lists and dicts in more than {MOST_LEVELS} others",
                                              "send one that is less deep, such as a list of its parts")
        self.open.add(id(value))
        self.parts.append((b"m" if kind is dict else _CONTAINERS[kind]) + struct.pack("<Q", len(value)))
        if kind is dict:
            for key, each in value.items():
                self.part("a key of {}", None, key)
                self.part("{}[{}]", key, each)
        else:
            form = "{}[{}]" if kind in (list, tuple) else "an item of {}"
            for i, each in enumerate(value):
                self.part(form, i, each)
        self.open.discard(id(value))

    def part(self, form, shown, value):
        self.path.append((form, shown))
        self.write(value)
        self.path.pop()

    def plain(self, value, kind):
        """The bytes of a number, text or bytes."""
        if value is None or kind is bool:
            return _CONSTANTS[value]
        if kind is int:
            return b"i" + _sized(value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))
        if kind in (float, complex):
            return (b"d" + struct.pack("<d", value)) if kind is float else (b"c" + struct.pack("<dd", value.real, value.imag))
        if kind is str:
            return b"x" + _sized(value.encode("utf-8", "surrogatepass"))
        return (b"b" if kind is bytes else b"a") + _sized(bytes(value))

    def array(self, value, kind):
        """The bytes of a tensor, an array, or a scalar of NumPy, which stays one."""
        if kind is _core.Tensor:
            return b"T" + encode(self.function, (value.dtype.name, tuple(value.shape), value.numpy().tobytes()))
        if not isinstance(value, np.generic) and kind is not np.ndarray:
            raise self.refusal(value, "send np.asarray(x), the array alone, and beside it what else it has")
        if value.dtype.kind not in KINDS or not _is_of_numpy(value.dtype):
            raise self.refusal(value, "send arrays of numbers, text or dates")
        if isinstance(value, np.generic):
            array = np.asarray(value)
            return b"S" + encode(self.function, (array.dtype.str, array.tobytes()))
        return b"N" + encode(self.function, (value.dtype.str, value.shape, value.tobytes()))

    def refusal(self, value, hint):
        shown = in_words(value)
        shown = shown if shown.startswith("of the type") else f"{shown}, of the type {type(value).__name__}"
        return errors.TypeError.with_hint(f"{self.function}: {self.place()} is {shown}, which cannot be sent", hint)


def encode(function, value):
    """The bytes of an object. TypeError for kinds of objects that are not data, ValueError for cycles, and for objects that are too deep."""
    writer = _Writer(function)
    writer.write(value)
    return b"".join(writer.parts)


class _Reader:
    def __init__(self, data):
        self.data, self.place = data, 0
        self.readers = {b"i": lambda: int.from_bytes(self.sized(), "little", signed=True), b"d": lambda: self.numbers("<d")[0],
                        b"c": lambda: complex(*self.numbers("<dd")), b"x": lambda: bytes(self.sized()).decode("utf-8", "surrogatepass"),
                        b"b": lambda: bytes(self.sized()), b"a": lambda: bytearray(self.sized()), b"n": lambda: None, b"t": lambda: True,
                        b"f": lambda: False, b"T": self.tensor, b"N": self.array, b"S": self.scalar}

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
        return self.numpy(self.dtype(name), shape, data)

    def scalar(self):
        name, data = self.value()
        return self.numpy(self.dtype(name), (), data)[()]

    def tensor(self):
        name, shape, data = self.value()
        return asarray(self.numpy(numpy_dtype(_core.DType(name)), shape, data))

    def dtype(self, name):
        if not isinstance(name, str) or not DTYPE.fullmatch(name):  # NumPy evaluates parts of others
            raise errors.ParseError(f"byte {self.place}: {name!r:.50} is not a dtype")
        dtype = np.dtype(name)
        if dtype.kind not in KINDS:
            raise errors.ParseError(f"byte {self.place}: {dtype} is not a dtype of numbers, text or dates")
        return dtype

    def numpy(self, dtype, shape, data):
        if not isinstance(data, bytes):
            raise errors.ParseError(f"byte {self.place}: expected the bytes of an array")
        made = np.ndarray(shape, dtype, bytearray(data))
        if made.nbytes != len(data):
            raise errors.ParseError(f"byte {self.place}: {len(data)} bytes of an array that has {made.nbytes}")
        return made

    def value(self):
        tag = bytes(self.take(1))
        if tag == b"m":
            made = {}
            for _ in range(self.count()):
                key = self.value()
                made[key] = self.value()
            return made
        if tag in _KINDS_OF_CONTAINERS:
            items = []
            for _ in range(self.count()):
                items.append(self.value())
            return _KINDS_OF_CONTAINERS[tag](items)
        read = self.readers.get(tag)
        if read is None:
            raise errors.ParseError(f"byte {self.place - 1}: {tag!r} is not a kind of object")
        return read()


def decode(data):
    """The object of the bytes. ParseError for malformed ones."""
    reader = _Reader(memoryview(data))
    try:
        value = reader.value()
    except errors.ParseError:
        raise
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError, MemoryError, SystemError) as error:
        raise errors.ParseError(f"byte {reader.place}: {error}") from None
    if reader.place != len(data):
        raise errors.ParseError(f"{len(data) - reader.place} bytes follow the object")
    return value
