"""Compares Plait's dtypes with NumPy, ml_dtypes and the Array API's strict implementation.

Usage: dtype_oracle.py PATH_OF_ORACLE_TOOL (see oracle_tool.cpp). Exits with 1 if anything differs.
"""

import itertools
import math
import subprocess
import sys

import array_api_strict
import ml_dtypes
import numpy as np

NARROW = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f8e4m3": ml_dtypes.float8_e4m3fn,
          "f8e5m2": ml_dtypes.float8_e5m2}
FLOATS = {"f64": np.float64, "f32": np.float32, **NARROW}
INTEGERS = {f"{kind[0]}{bits}": np.dtype(f"{kind}{bits}").type
            for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
COMPLEXES = {"c64": np.complex64, "c128": np.complex128}
DTYPES = {**FLOATS, **INTEGERS, "bool": np.bool_, **COMPLEXES}
SIGNED = [name for name in INTEGERS if name[0] == "i"]
SCALARS = {"bool": True, "int": 1, "float": 1.0, "complex": 1j}


class Oracle:
    def __init__(self, tool):
        self.tool = tool
        self.checks = 0
        self.failures = []

    def run(self, *arguments, data=b""):
        return subprocess.run([self.tool, *arguments], input=data, capture_output=True, check=True).stdout

    def rows(self, *arguments):
        return [line.split() for line in self.run(*arguments).decode().splitlines()]

    def expect(self, what, actual, expected):
        self.checks += 1
        if actual != expected:
            self.failures.append(f"{what}: Plait gives {actual}, expected {expected}")

    def expect_same_bits(self, what, source, actual, expected):
        """Bitwise equality, except for the payloads of NaNs."""
        self.checks += actual.size
        word = np.dtype(f"u{actual.dtype.itemsize}") if actual.dtype.kind != "c" else None
        if word is None:  # complex numbers consist of two parts
            word = np.dtype(f"u{actual.dtype.itemsize // 2}")
            part = np.float32 if actual.dtype == np.complex64 else np.float64
            source, actual, expected = (np.repeat(source, 2), actual.view(part), expected.view(part))
        wrong = actual.view(word) != expected.view(word)
        if is_inexact(actual.dtype):
            wrong &= ~(np.isnan(actual.astype(np.float64)) & np.isnan(expected.astype(np.float64)))
        for i in np.flatnonzero(wrong)[:3]:
            self.failures.append(f"{what} of {source[i]!r}: Plait gives {actual[i]!r}, expected {expected[i]!r}")

    def convert(self, source_name, source, target_name):
        data = self.run("convert", source_name, target_name, data=source.tobytes())
        return np.frombuffer(data, DTYPES[target_name])


def is_inexact(dtype):
    return np.dtype(dtype).kind in "fcV" or np.dtype(dtype).type in NARROW.values()


def check_names_and_limits(oracle):
    for name, long_name, kind, size in oracle.rows("dtypes"):
        if name == "key":
            continue
        oracle.expect(f"dtype {name}", (np.dtype(DTYPES[name]).name, np.dtype(DTYPES[name]).itemsize),
                      (long_name, int(size)))
    seen = set()
    for name, bits, *limits in oracle.rows("limits"):
        seen.add(name)
        if name in INTEGERS:
            info = np.iinfo(INTEGERS[name])
            oracle.expect(f"limits of {name}", [int(bits), *map(int, limits)], [info.bits, info.min, info.max])
        else:
            info = ml_dtypes.finfo(DTYPES[name])
            expected = [info.eps, info.max, info.smallest_normal, info.smallest_subnormal]
            oracle.expect(f"limits of {name}", [int(bits), *map(float.fromhex, limits)],
                          [info.bits, *map(float, expected)])
    oracle.expect("dtypes with limits", seen, set(DTYPES) - {"bool"})


def expected_beyond_array_api(a, b):
    """The result according to the header of promotion.h where the Array API defines none; "-" for a TypeError."""
    if "key" in (a, b):
        return "-"
    for x, y in ((a, b), (b, a)):
        if x == "bool":
            return y
        if x == "u64" and y in SIGNED:
            return "f32"
        if x in INTEGERS and (y in FLOATS or y in COMPLEXES):
            return y
        if x in ("f8e4m3", "f8e5m2") and y in FLOATS and y[:2] != "f8":
            return y
        if x in ("f16", "bf16", "f8e4m3", "f8e5m2") and y in COMPLEXES:
            return y
        if x in ("f16", "bf16") and y in ("f32", "f64"):
            return y
    if {a, b} == {"f16", "bf16"}:
        return "f32"
    if {a, b} == {"f8e4m3", "f8e5m2"}:
        return "-"
    return a if a == b else None


def array_api_dtype(name):
    if name in NARROW or name not in DTYPES:
        return None
    return getattr(array_api_strict, np.dtype(DTYPES[name]).name)


def array_api_promotion(a, b):
    """None where the standard leaves it undefined."""
    a, b = (array_api_dtype(x) if isinstance(x, str) else x for x in (a, b))
    if a is None or b is None:
        return None
    try:
        result = array_api_strict.result_type(a, b)
    except TypeError:
        return None
    return next(name for name in DTYPES if array_api_dtype(name) == result)


def check_promotions(oracle):
    rows = {(a, b): result for a, b, result in oracle.rows("promotions")}
    oracle.expect("pairs of dtypes", len(rows), (len(DTYPES) + 1) ** 2)
    defined = 0
    for (a, b), result in rows.items():
        expected = array_api_promotion(a, b)
        defined += expected is not None
        oracle.expect(f"promotion of {a} and {b}", result, expected or expected_beyond_array_api(a, b))
        if expected is not None:
            oracle.expect(f"NumPy's promotion of {a} and {b}", np.dtype(DTYPES[result]),
                          np.promote_types(DTYPES[a], DTYPES[b]))
        elif a in FLOATS and b in FLOATS:
            try:
                theirs = np.promote_types(DTYPES[a], DTYPES[b])
            except np.exceptions.DTypePromotionError:
                continue
            if {a, b} != {"f8e5m2", "f16"}:  # NumPy can promote these two to f32 only
                oracle.expect(f"ml_dtypes' promotion of {a} and {b}", np.dtype(DTYPES[result]), theirs)
    # 4 signed and 4 unsigned integers without u64 with signed ones, bool, 4 real and complex floats
    oracle.expect("pairs that the Array API defines", defined, 64 - 8 + 1 + 16)


def expected_with_scalar(name, kind):
    """JAX's rule, with the default dtypes i64 and f32."""
    if name == "key":
        return "-"
    order = ["bool", "int", "float", "complex"]
    own = "bool" if name == "bool" else "int" if name in INTEGERS else "float" if name in FLOATS else "complex"
    if order.index(kind) <= order.index(own):
        return name
    return {"int": "i64", "float": "f32", "complex": "c128" if name == "f64" else "c64"}[kind]


def check_scalars(oracle):
    rows = oracle.rows("scalars")
    oracle.expect("pairs of dtype and scalar", len(rows), (len(DTYPES) + 1) * len(SCALARS))
    for name, kind, result in rows:
        what = f"promotion of {name} and a scalar {kind}"
        oracle.expect(what, result, expected_with_scalar(name, kind))
        theirs = array_api_promotion(name, SCALARS[kind])
        if theirs is not None:
            oracle.expect(what, result, theirs)


def all_patterns(name):
    itemsize = np.dtype(NARROW[name]).itemsize
    return np.arange(256**itemsize, dtype=f"u{itemsize}").view(NARROW[name])


def dense_f32(random):
    """Every exponent with random mantissas with many trailing zeros, so that ties are frequent."""
    exponents = np.arange(256, dtype=np.uint32) << 23
    mantissas = random.integers(0, 1 << 23, 600, dtype=np.uint32)
    mantissas &= np.uint32(0xFFFFFFFF) << random.integers(0, 23, 600, dtype=np.uint32)
    ends = np.array([0, 1, 2, 0x7FFFFF, 0x7FFFFE, 0x400000, 0x400001, 0x3FFFFF], dtype=np.uint32)
    words = (exponents[:, None] | np.concatenate([mantissas, ends])[None, :]).ravel()
    return np.concatenate([words, words | np.uint32(1 << 31)]).view(np.float32)


def halfway_points(name, dtype):
    """The midpoints between neighbouring numbers of the format, and their neighbours in dtype."""
    values = np.unique(all_patterns(name).astype(np.float64))
    values = values[np.isfinite(values)]
    step = values[-1] - values[-2]
    values = np.concatenate([values, [values[-1] + step]])
    halves = ((values[1:] + values[:-1]) / 2).astype(dtype)
    points = np.concatenate([halves, np.nextafter(halves, dtype(np.inf)), np.nextafter(halves, dtype(-np.inf))])
    return np.concatenate([points, -points])


def rounded_exactly(name, source):
    """The nearest value of the format, by search: an independent rounding of f64 values."""
    patterns = all_patterns(name)[: 1 << (8 * np.dtype(NARROW[name]).itemsize - 1)]  # without sign
    values = patterns.astype(np.float64)
    count = np.flatnonzero(np.isfinite(values))[-1] + 1  # finite values come first, in ascending order
    values = values[:count]
    past_max = patterns[count]  # infinity, or NaN if the format has none
    magnitude = np.abs(source)
    below = np.clip(np.searchsorted(values, magnitude, side="right") - 1, 0, count - 1)
    above = np.append(values, 2 * values[-1] - values[-2])[below + 1]
    middle = (values[below] + above) / 2
    up = (magnitude > middle) | ((magnitude == middle) & (below % 2 == 1))
    index = np.where(np.isnan(source), count, np.where(magnitude == np.inf, count, below + up))
    words = np.append(patterns[:count], past_max)[index]
    unsigned = words.view(f"u{words.dtype.itemsize}")
    sign = np.signbit(source).astype(unsigned.dtype) << (8 * unsigned.dtype.itemsize - 1)
    result = (unsigned | sign).view(NARROW[name])
    return np.where(np.isnan(source), np.array(np.nan).astype(NARROW[name]), result)


def check_formats(oracle, random):
    for name, dtype in NARROW.items():
        patterns = all_patterns(name)
        for wide in ("f32", "f64"):
            decoded = oracle.convert(name, patterns, wide)
            oracle.expect_same_bits(f"{name} to {wide}", patterns, decoded, patterns.astype(DTYPES[wide]))
            back = oracle.convert(wide, decoded, name)
            oracle.expect_same_bits(f"{name} to {wide} and back", patterns, back, patterns)
        source = np.concatenate([dense_f32(random), halfway_points(name, np.float32)])
        expected = source.astype(dtype)
        encoded = oracle.convert("f32", source, name)
        oracle.expect_same_bits(f"f32 to {name}", source, encoded, expected)
        oracle.expect_same_bits(f"f32 to {name}, exactly", source, encoded,
                                rounded_exactly(name, source.astype(np.float64)))
        # ml_dtypes rounds f64 twice on its way to bf16, so f64 is compared with the exact rounding.
        wide = np.concatenate([halfway_points(name, np.float64), random.standard_normal(20000),
                               np.ldexp(random.standard_normal(20000), random.integers(-1074, 1023, 20000)),
                               [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1.7976931348623157e308]])
        oracle.expect_same_bits(f"f64 to {name}", wide, oracle.convert("f64", wide, name),
                                rounded_exactly(name, wide))
        for narrow, narrow_dtype in NARROW.items():
            expected = patterns.astype(np.float32).astype(narrow_dtype)
            oracle.expect_same_bits(f"{name} to {narrow}", patterns, oracle.convert(name, patterns, narrow), expected)


def integers(name, random):
    info = np.iinfo(INTEGERS[name])
    edges = [info.min, info.min + 1, 0, 1, 2, info.max - 1, info.max]
    powers = [s * 2**p + d for p in range(info.bits) for d in (-1, 0, 1) for s in (1, -1)]
    near_ties = [2**62 + 2**54, 2**62 + 2**54 + 1, 2**62 + 2**54 - 1, 2**61 + 2**37 + 1, -(2**62) - 2**54 - 1]
    values = [v for v in edges + powers + near_ties if info.min <= v <= info.max]
    return np.concatenate([np.array(values, dtype=INTEGERS[name]),
                           random.integers(info.min, info.max, 500, dtype=INTEGERS[name], endpoint=True)])


def exact_from_integer(value, name):
    """Rounds an integer once, through f64 with the discarded bits made sticky."""
    magnitude = abs(int(value))
    drop = max(0, magnitude.bit_length() - 53)
    kept = magnitude >> drop << drop
    if kept != magnitude:
        kept |= 1 << drop
    return math.copysign(float(kept), int(value)) if value else 0.0


def check_integer_conversions(oracle, random):
    for source_name in INTEGERS:
        source = integers(source_name, random)
        for name, dtype in {**INTEGERS, "f64": np.float64, "f32": np.float32, "bool": np.bool_, **COMPLEXES}.items():
            oracle.expect_same_bits(f"{source_name} to {name}", source, oracle.convert(source_name, source, name),
                                    source.astype(dtype))
        exact = np.array([exact_from_integer(v, source_name) for v in source])
        for name in NARROW:
            oracle.expect_same_bits(f"{source_name} to {name}", source, oracle.convert(source_name, source, name),
                                    rounded_exactly(name, exact))
    bools = np.array([False, True])
    for name, dtype in DTYPES.items():
        oracle.expect_same_bits(f"bool to {name}", bools, oracle.convert("bool", bools, name), bools.astype(dtype))


def to_integer(value, info):
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return info.max if value > 0 else info.min
    return min(max(math.trunc(value), info.min), info.max)


def check_float_to_others(oracle, random):
    for source_name, dtype in FLOATS.items():
        if source_name in NARROW:
            source = all_patterns(source_name)
        else:
            edges = [s * (2.0**p + d) for p in range(66) for d in (-1, -0.5, 0, 0.5, 1) for s in (1, -1)]
            source = np.array([*edges, 0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 1e-30]).astype(dtype)
            source = np.concatenate([source, (random.standard_normal(500) * 300).astype(dtype)])
        for name, target in INTEGERS.items():
            info = np.iinfo(target)
            expected = np.array([to_integer(float(v), info) for v in source], dtype=target)
            oracle.expect_same_bits(f"{source_name} to {name}", source, oracle.convert(source_name, source, name),
                                    expected)
        oracle.expect_same_bits(f"{source_name} to bool", source, oracle.convert(source_name, source, "bool"),
                                source.astype(np.float64) != 0)
        for name, target in COMPLEXES.items():
            expected = source.astype(np.float64).astype(target)
            oracle.expect_same_bits(f"{source_name} to {name}", source, oracle.convert(source_name, source, name),
                                    expected)


def check_complex(oracle):
    parts = [0.0, -0.0, 1.5, -2.25, 300.0, 1e-300, 1e300, np.inf, -np.inf, np.nan]
    values = np.array([complex(a, b) for a, b in itertools.product(parts, parts)], dtype=np.complex128)
    sources = {"c128": values, "c64": values.astype(np.complex64)}
    for source_name, source in sources.items():
        for name, dtype in DTYPES.items():
            actual = oracle.convert(source_name, source, name)
            if name in COMPLEXES:
                expected = source.astype(dtype)
            elif name == "bool":
                expected = source != 0
            else:
                real = source.real.copy()
                expected = oracle.convert("f64" if source_name == "c128" else "f32", real, name)
            oracle.expect_same_bits(f"{source_name} to {name}", source, actual, expected)


def digits_of(text):
    return text.lower().lstrip("-").split("e")[0].replace(".", "").strip("0")


def check_texts(oracle, random):
    """Texts must be as short as NumPy's shortest ones, and parse to the same bits."""
    samples = {name: all_patterns(name) for name in NARROW}
    samples["f32"] = random.integers(0, 1 << 32, 20000, dtype=np.uint32).view(np.float32)
    samples["f64"] = random.integers(0, 1 << 64, 20000, dtype=np.uint64).view(np.float64)
    for name, source in samples.items():
        lines = oracle.run("text", name, data=source.tobytes()).decode().splitlines()
        data = oracle.run("parse", name, data="\n".join(lines).encode())
        oracle.expect(f"texts of {name}, read back", data == source.tobytes(), True)
        if name not in ("f16", "f32", "f64"):
            continue
        for value, line in zip(source, lines):
            if not np.isfinite(value):
                continue
            shortest = np.format_float_scientific(value, unique=True, trim="-")
            # Large integers are written out if that takes no more characters.
            fewest = len(line) <= len(shortest) and (
                len(digits_of(line)) == len(digits_of(shortest)) or line.lstrip("-").isdigit())
            oracle.expect(f"{line} is as short as {shortest} of {name}", fewest, True)


def main():
    np.seterr(all="ignore")  # overflows and NaNs are intended
    oracle = Oracle(sys.argv[1])
    random = np.random.default_rng(1)
    check_names_and_limits(oracle)
    check_promotions(oracle)
    check_scalars(oracle)
    check_formats(oracle, random)
    check_integer_conversions(oracle, random)
    check_float_to_others(oracle, random)
    check_complex(oracle)
    check_texts(oracle, random)
    for failure in oracle.failures[:40]:
        print(failure)
    print(f"{oracle.checks} checks, {len(oracle.failures)} failures")
    return 1 if oracle.failures else 0


if __name__ == "__main__":
    sys.exit(main())
