"""Exchanges .npy and .npz files with NumPy in both directions.

Usage: npy_oracle.py PATH_OF_ORACLE_TOOL (see oracle_tool.cpp), which reads each file and writes the contents to another
file. Exits with 1 if anything differs.
"""

import io
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import ml_dtypes
import numpy as np
from numpy.lib import format as npy_format

NUMBERS = [np.dtype(name) for name in (
    "?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")]
NARROW = [np.dtype(t) for t in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)]
KEY = np.dtype([("key", "<u8", (2,))])
SHAPES = [(), (0,), (1,), (7,), (2, 3), (4, 0, 2), (3, 1, 5, 2), (70_000, 5)]


class Oracle:
    def __init__(self, tool, folder):
        self.tool = tool
        self.source, self.target = folder / "from", folder / "to"
        self.checks = 0
        self.failures = []

    def run(self, command):
        """The tool's error message; empty if it succeeds."""
        result = subprocess.run([self.tool, command, self.source, self.target], stderr=subprocess.PIPE, check=False)
        return result.stderr.decode() if result.returncode else ""

    def expect(self, what, actual, expected):
        self.checks += 1
        if actual != expected:
            self.failures.append(f"{what}: Plait gives {actual!r}, expected {expected!r}")

    def expect_same(self, what, actual, expected):
        same = (actual.dtype.newbyteorder("="), actual.shape) == (expected.dtype.newbyteorder("="), expected.shape)
        self.expect(what, same and in_native_order(actual).tobytes() == in_native_order(expected).tobytes(), True)

    def expect_failure(self, what, command, part):
        message = self.run(command)
        self.expect(f"{what}: {message}", part in message, True)


def in_native_order(array):
    return array.astype(array.dtype.newbyteorder("="), order="C")


def sample(dtype, shape, random):
    count = int(np.prod(shape, dtype=np.int64))
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    return np.frombuffer(random.bytes(count * dtype.itemsize), dtype).reshape(shape)


def saved(array, **options):
    file = io.BytesIO()
    npy_format.write_array(file, array, **options)
    return file.getvalue()


def check_npy(oracle, what, content, array):
    """Plait reads the file, and writes it as NumPy would in row-major order and native byte order."""
    oracle.source.write_bytes(content)
    message = oracle.run("npy")
    oracle.expect(what, message, "")
    if not message:
        oracle.expect(f"{what}: the bytes", oracle.target.read_bytes() == saved(in_native_order(array)), True)


def check_arrays(oracle, random):
    for dtype in [*NUMBERS, *NARROW, KEY]:
        for shape in SHAPES:
            array = sample(dtype, shape, random)
            check_npy(oracle, f"{dtype}{shape}", saved(array), array)
            fortran = array.copy(order="F")
            check_npy(oracle, f"{dtype}{shape} in Fortran order", saved(fortran), array)
            if dtype in NARROW:
                continue
            for order in "<>":
                turned = array.astype(dtype.newbyteorder(order))
                check_npy(oracle, f"{turned.dtype}{shape}", saved(turned), array)
                check_npy(oracle, f"{turned.dtype}{shape} in Fortran order", saved(turned.copy(order="F")), array)


def check_versions(oracle, random):
    array = sample(np.dtype("f4"), (3, 5), random)
    for version in ((1, 0), (2, 0), (3, 0)):
        check_npy(oracle, f"version {version}", saved(array, version=version), array)
    long = np.zeros((1,) * 30, np.int16)
    check_npy(oracle, "many sizes", saved(long), long)


def check_refused(oracle):
    for array, part in ((np.array([None, "x"]), "TypeError: "), (np.array(["text"]), "are text"),
                        (np.array(["2020-01-01"], "M8[D]"), "are dates or times"), (np.zeros(3, "f16"), "not a dtype"),
                        (np.zeros(3, [("a", "f4"), ("b", "i2")]), "the elements are records")):
        oracle.source.write_bytes(saved(array, allow_pickle=True))
        oracle.expect_failure(f"an array of {array.dtype}", "npy", part)
    whole = saved(np.arange(6.0))
    for size in range(0, len(whole), 16):
        oracle.source.write_bytes(whole[:size])
        oracle.expect_failure(f"the first {size} bytes of a file", "npy", "ParseError: ")


class Unseekable(io.RawIOBase):
    """A stream that cannot seek: sizes and checksums follow the data."""

    def __init__(self):
        self.content = bytearray()

    def writable(self):
        return True

    def write(self, data):
        self.content += data
        return len(data)


def check_npz(oracle, what, content, arrays, command="npz"):
    oracle.source.write_bytes(content)
    message = oracle.run(command)
    oracle.expect(what, message, "")
    if message:
        return
    with np.load(oracle.target) as found:
        oracle.expect(f"{what}: the names", sorted(found.files), sorted(arrays))
        for name, array in arrays.items():
            oracle.expect_same(f"{what}: {name}", found[name], array)
    with zipfile.ZipFile(oracle.target) as members:
        oracle.expect(f"{what}: damaged member", members.testzip(), None)
        compressed = {info.compress_type for info in members.infolist()}
    expected = zipfile.ZIP_DEFLATED if command == "npz_compressed" else zipfile.ZIP_STORED
    oracle.expect(f"{what}: methods", compressed <= {expected}, True)


def archive(arrays, save=np.savez):
    file = io.BytesIO()
    save(file, **arrays)
    return file.getvalue()


def archives(arrays, save):
    """The same archive as written by NumPy, as streamed, and with everything in zip64."""
    pipe = Unseekable()
    save(pipe, **arrays)
    limit, zipfile.ZIP64_LIMIT = zipfile.ZIP64_LIMIT, 20
    try:
        far = archive(arrays, save)
    finally:
        zipfile.ZIP64_LIMIT = limit
    return {"plain": archive(arrays, save), "from a pipe": bytes(pipe.content), "zip64": far}


def check_archives(oracle, random):
    arrays = {f"{dtype.name}/{len(shape)}": sample(dtype, shape, random) for dtype in NUMBERS for shape in SHAPES}
    arrays |= {"größe": np.arange(3), "folder/in/folder": np.asfortranarray(arrays["float32/2"])}
    oracle.source.write_bytes(archive({"a": np.arange(3)}))
    has_zlib = "no zlib" not in oracle.run("npz_compressed")
    if not has_zlib:
        print("this build has no zlib: nothing compressed is exchanged")
    for way, content in archives(arrays, np.savez).items():
        check_npz(oracle, f"stored archive {way}", content, arrays)
        if has_zlib:
            check_npz(oracle, f"stored archive {way}, then compressed", content, arrays, "npz_compressed")
    for way, content in archives(arrays, np.savez_compressed).items() if has_zlib else ():
        check_npz(oracle, f"compressed archive {way}", content, arrays)
        check_npz(oracle, f"compressed archive {way}, again", content, arrays, "npz_compressed")
    many = {f"{i}": np.int8(i % 100) for i in range(66_000)}
    few = {name: many[name] for name in ("0", "1", "65999")}
    oracle.source.write_bytes(archive(many))
    oracle.expect("66000 members", oracle.run("npz"), "")
    with np.load(oracle.target) as found:
        oracle.expect("66000 members, saved", len(found.files), len(many))
        for name, array in few.items():
            oracle.expect(f"member {name} of many", found[name], array)


def main():
    random = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        oracle = Oracle(sys.argv[1], pathlib.Path(folder))
        check_arrays(oracle, random)
        check_versions(oracle, random)
        check_refused(oracle)
        check_archives(oracle, random)
    for failure in oracle.failures[:40]:
        print(failure)
    print(f"{oracle.checks} checks, {len(oracle.failures)} failures")
    return 1 if oracle.failures else 0


if __name__ == "__main__":
    sys.exit(main())
