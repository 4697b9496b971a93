"""Invalid capsules: each is refused before its memory is read."""

import ctypes
import random
import subprocess
import sys
import unittest

import plait


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Lent(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("rank", ctypes.c_int32), ("dtype", DType),
                ("sizes", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Lent), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", Lent)]


NEW = ctypes.pythonapi.PyCapsule_New
NEW.restype, NEW.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
MEMORY = (ctypes.c_float * 64)(*range(64))
BIG = 2**62
F32 = (2, 32, 1)


class Capsule:
    """Provides such a capsule, and keeps alive everything that it points to."""

    def __init__(self, sizes=(2, 3), strides=None, data=ctypes.addressof(MEMORY), device=(1, 0), rank=None, dtype=F32, offset=0,
                 versioned=True, major=1, has_sizes=True):
        def integers(values):
            return (ctypes.c_int64 * len(values))(*values)

        def pointer(values):
            return ctypes.cast(values, ctypes.POINTER(ctypes.c_int64))

        self.kept = integers(sizes), integers(strides or ())
        lent = Lent(data, Device(*device), len(sizes) if rank is None else rank, DType(*dtype),
                    pointer(self.kept[0]) if has_sizes else None, None if strides is None else pointer(self.kept[1]), offset)
        self.managed = Versioned(major, 0, None, None, 0, lent) if versioned else Managed(lent, None, None)
        self.name = b"dltensor_versioned" if versioned else b"dltensor"

    def __dlpack__(self, **_):
        return NEW(ctypes.addressof(self.managed), self.name, None)

    def __dlpack_device__(self):
        return 1, 0


TAKEN = {
    "plain": ({}, [[0, 1, 2], [3, 4, 5]]),
    "strided": ({"strides": (4, 2)}, [[0, 2, 4], [4, 6, 8]]),
    "backwards": ({"sizes": (3,), "strides": (-1,), "offset": 8}, [2, 1, 0]),
    "broadcast": ({"sizes": (3,), "strides": (0,)}, [0, 0, 0]),
    "offset": ({"sizes": (2,), "offset": 12}, [3, 4]),
    "not aligned": ({"sizes": (1,), "dtype": (1, 16, 1), "offset": 3}, None),
    "empty": ({"sizes": (0, 3)}, []),
    "empty without memory": ({"sizes": (2, 0), "data": None}, [[], []]),
    "a stride that does not count": ({"sizes": (1, 2), "strides": (BIG, 1)}, [[0, 1]]),
    "without dimensions": ({"sizes": ()}, 0),
    "without dimensions or sizes": ({"sizes": (), "has_sizes": False}, 0),
}
REFUSED = {
    "a size below 0": {"sizes": (-1,)},
    "sizes below 0, whose product is not": {"sizes": (-2, -3)},
    "the least size": {"sizes": (-(2**63),)},
    "a large size": {"sizes": (2**63 - 1,)},
    "sizes whose product is too large": {"sizes": (2**32, 2**32)},
    "sizes whose product is too large beside 0": {"sizes": (0, 2**62, 2**62)},
    "sizes whose bytes are too many": {"sizes": (2**61,)},
    "a large stride": {"sizes": (3,), "strides": (2**62,)},
    "strides that reach too far": {"sizes": (2**30, 2**30), "strides": (2**40, 2**40)},
    "a stride that reaches below 0": {"sizes": (3,), "strides": (-(2**60),)},
    "no memory": {"data": None},
    "no sizes": {"has_sizes": False},
    "an offset beyond memory": {"offset": 2**64 - 8},
    "an offset that wraps to the beginning": {"offset": 2**63},
    "dimensions below 0": {"rank": -1},
    "too many dimensions": {"sizes": (1,) * 65},
    "dimensions without end": {"rank": 2**31 - 1},
    "no bits": {"dtype": (2, 0, 1)},
    "odd bits": {"dtype": (2, 31, 1)},
    "an unknown code": {"dtype": (200, 32, 1)},
    "two at a time": {"dtype": (2, 32, 2)},
    "none at a time": {"dtype": (2, 32, 0)},
    "another device": {"device": (2, 0)},
    "no device": {"device": (-1, 0)},
    "a later version": {"major": 2},
    "no version": {"major": 0},
}


def fuzz(seed, count=20000):
    """Only memory of TAKEN may be read: capsules that point outside of it must be refused."""
    draw = random.Random(seed)
    numbers = [0, 1, 2, 3, -1, -2, 7, 2**31, 2**32, 2**61, 2**62, 2**63 - 1, -(2**63), -(2**62), 2**40]
    kept = []
    for _ in range(count):
        rank = draw.randrange(5)
        sizes = [draw.choice(numbers) for _ in range(rank)]
        given = {"sizes": sizes, "versioned": draw.random() < 0.5,
                 "strides": None if draw.random() < 0.4 else [draw.choice(numbers) for _ in range(rank)],
                 "dtype": F32 if draw.random() < 0.7 else (draw.randrange(14), draw.choice([0, 1, 8, 16, 32, 64, 128]), draw.choice([1, 1, 0, 4])),
                 "offset": draw.choice([0, 0, 16, 2**63, 2**64 - 1, 2**62]),
                 "data": draw.choice([ctypes.addressof(MEMORY), ctypes.addressof(MEMORY), None, 2**63, 2**64 - 4]),
                 "rank": draw.choice([None, None, None, -1, 65, 2**31 - 1])}
        capsule = Capsule(**given)
        kept.append(capsule)  # longer than the tensor, as a real producer does
        try:
            x = plait.from_dlpack(capsule)
            assert all(size >= 0 for size in x.shape), given
        except (plait.Error, BufferError):
            pass


class Capsules(unittest.TestCase):
    def test_taken(self):
        for versioned in (True, False):
            for name, (given, wanted) in TAKEN.items():
                with self.subTest(name, versioned=versioned):
                    capsule = Capsule(**given, versioned=versioned)
                    found = plait.from_dlpack(capsule).numpy().tolist()
                    if wanted is not None:
                        self.assertEqual(found, wanted)

    def test_refused(self):
        for versioned in (True, False):
            for name, given in REFUSED.items():
                if "major" in given and not versioned:
                    continue
                with self.subTest(name, versioned=versioned), self.assertRaises((BufferError, plait.DeviceError)):
                    plait.from_dlpack(Capsule(**given, versioned=versioned))

    def test_what_is_said_of_missing_memory(self):
        with self.assertRaisesRegex(BufferError, "DLPack: the memory is missing"):
            plait.from_dlpack(Capsule(data=None))

    def test_requests_that_are_no_numbers(self):
        for named, word in (({"max_version": ()}, "max_version: expected two integers"), ({"max_version": {}}, "max_version: expected two"),
                            ({"max_version": ("1", 0)}, "expected an integer, not str"), ({"dl_device": [1]}, "dl_device: expected two integers"),
                            ({"stream": 2**64}, "does not fit into 64 bits"), ({"stream": "1"}, "expected an integer, not str")):
            with self.subTest(**named), self.assertRaisesRegex((plait.TypeError, plait.ValueError), word):
                plait.ones(3).__dlpack__(**named)

    def test_random_ones(self):
        """In a separate process, since a capsule that is wrongly accepted reads invalid memory."""
        done = subprocess.run([sys.executable, __file__, "7"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    fuzz(int(sys.argv[1])) if sys.argv[1:2] == ["7"] else unittest.main()
