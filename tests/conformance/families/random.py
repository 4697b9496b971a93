"""Random numbers: compared bit by bit with an implementation of Philox in NumPy, and distributions derived from
them."""

import zlib

import numpy as np
import plait
import scipy.special
import scipy.stats
from plait.inside.arrays.interop import numpy_dtype

from suite.cases import Sample, case, numbers

FAMILY = "random"
MASK = np.uint64(0xFFFFFFFF)
KEYS = [dtype for dtype in plait.dtypes if dtype.kind == "key"]
WHOLE = [dtype for dtype in plait.dtypes if dtype.kind == "integer"]
SEED, CHILD, FOLD = 0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0


def philox(low, high, key):
    """Blocks of four words, for counters of (low, high) and keys, all arrays of u64."""
    low, high, key = np.broadcast_arrays(np.uint64(low), np.uint64(high), np.uint64(key))
    shift = np.uint64(32)
    c = [low & MASK, low >> shift, high & MASK, high >> shift]
    first, second = key & MASK, key >> shift
    for _ in range(10):
        p, q = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(q >> shift) ^ c[1] ^ first, q & MASK, (p >> shift) ^ c[3] ^ second, p & MASK]
        first, second = (first + np.uint64(0x9E3779B9)) & MASK, (second + np.uint64(0xBB67AE85)) & MASK
    return np.stack(c, -1).astype(np.uint32)


def words_of(keys):
    """The two words of each key."""
    pairs = np.ascontiguousarray(keys).view(np.uint64).reshape(*keys.shape, 2)
    return pairs[..., 0], pairs[..., 1]


def derived(keys, numbers, purpose):
    first, second = words_of(keys) if keys is not None else (np.uint64(0), np.uint64(0))
    blocks = philox(numbers, second, first ^ np.uint64(purpose))
    return blocks.view(numpy_dtype(plait.key)).reshape(blocks.shape[:-1])


def unsigned(numbers):
    return numbers.astype(np.int64).view(np.uint64) if numbers.dtype != np.uint64 else numbers


def split(keys, count=2):
    return derived(keys[..., None], np.arange(count, dtype=np.uint64), CHILD)


def stream(keys, count_of_bytes):
    """The first bytes of each key's stream."""
    first, second = words_of(keys)
    blocks = philox(np.arange(-(-count_of_bytes // 16), dtype=np.uint64), second[..., None], first[..., None])
    return np.ascontiguousarray(blocks).view(np.uint8).reshape(*keys.shape, -1)[..., :count_of_bytes]


def bits(keys, sizes, dtype):
    to = numpy_dtype(dtype)
    count = int(np.prod(sizes, dtype=int))
    return np.ascontiguousarray(stream(keys, count * to.itemsize)).view(to).reshape((*keys.shape, *sizes))


def values(keys, distribution, sizes, dtype):
    count = int(np.prod(sizes, dtype=int))
    mantissa = {"f64": 52, "f32": 23, "f16": 10, "bf16": 7, "f8e4m3": 3, "f8e5m2": 2}[dtype.name]
    size = dtype.itemsize if distribution == "uniform" else max(4, dtype.itemsize)
    whole = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[size]
    drawn = np.ascontiguousarray(stream(keys, (count + count % 2) * size)).view(whole).reshape(*keys.shape, count + count % 2)
    if distribution == "uniform":
        result = (drawn >> whole(8 * size - mantissa - 1)).astype(np.float64) * 2.0 ** -(mantissa + 1)
    else:
        result = transformed(drawn, distribution)
    return result[..., :count].reshape((*keys.shape, *sizes))


def transformed(drawn, distribution):
    if drawn.dtype == np.uint32:
        middle, unit = (drawn.astype(np.float64) + 0.5) / 2**32, drawn / 2.0**32
        size = -np.log(((drawn >> 1).astype(np.float64) + 0.5) / 2**31)
    else:
        middle, unit = ((drawn >> np.uint64(12)).astype(np.float64) + 0.5) / 2**52, (drawn >> np.uint64(11)) / 2.0**53
        size = -np.log(middle)
    if distribution == "normal":
        radius, angle = np.sqrt(-2 * np.log(middle[..., ::2])), 2 * np.pi * unit[..., 1::2]
        return np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1).reshape(drawn.shape)
    if distribution == "laplace":
        return np.where(drawn % 2 == 0, size, -size)
    return -np.log(-np.log(middle)) if distribution == "gumbel" else -np.log(middle)


def add(name, oracle, samples, dtypes=KEYS, **options):
    case(name, oracle, family=FAMILY, large=False, wide=None, dtypes=tuple(dtypes), special=False,
         samples=[Sample(operands, attributes) for operands, attributes in samples], **options)


add("key_of_seed", lambda seeds: derived(None, unsigned(seeds), SEED), [(((),), {}), (((5,),), {}), (((0,),), {})], WHOLE)
add("split_key", split, [(((),), {}), (((3,),), {"count": 5}), (((2, 2),), {"count": 1}), (((2,),), {"count": 0})])
add("fold_in", lambda keys, numbers: derived(keys, unsigned(numbers), FOLD),
    [((shape, shape), {}) for shape in ((), (4,), (2, 3), (0,))], WHOLE, operand_dtypes=lambda dtype: [KEYS[0], dtype],
    result_dtype=lambda dtype, attributes: KEYS[0])
add("random_bits", bits, [(((),), {"sizes": [7], "dtype": plait.u32}), (((2,),), {"sizes": [3, 5], "dtype": plait.u64}),
                          (((),), {"sizes": [], "dtype": plait.u8}), (((3,),), {"sizes": [0], "dtype": plait.u16}),
                          (((),), {"sizes": [100_003], "dtype": plait.u16})])
FLOATS = [dtype for dtype in plait.dtypes if dtype.kind == "floating"]
add("random_values", values, [
    (((2,),), {"distribution": d, "sizes": [3, 7], "dtype": dtype}) for d in ("uniform", "normal", "exponential", "laplace", "gumbel")
    for dtype in FLOATS] + [(((),), {"distribution": "normal", "sizes": [100_003], "dtype": plait.f32})],
    tolerance="normalised", scale=lambda *_, **attributes: np.float64(4), result_dtype=lambda dtype, attributes: attributes["dtype"])


# ---- Rejection sampling: statistical properties, and the order in which attempts use bits.
def check_integers(operands, results, attributes):
    drawn, count = results[0], attributes["count"]
    if drawn.shape != (*operands[0].shape, *attributes["sizes"]) or drawn.dtype != np.int64:
        return f"gives {drawn.dtype}{drawn.shape}"
    if drawn.size and (drawn.min() < 0 or drawn.max() >= count):
        return f"from {drawn.min()} to {drawn.max()} of {count}"
    return None


def high_product(keys, sizes, count):
    """Lemire's method; for small `count` a rejection has probability count / 2^64, so none is expected here."""
    drawn = bits(keys, sizes, plait.u64)
    low, high = drawn & MASK, drawn >> np.uint64(32)
    return ((high * np.uint64(count) + (low * np.uint64(count) >> np.uint64(32))) >> np.uint64(32)).astype(np.int64)


add("random_integers", high_product, [(((),), {"sizes": [1_000], "count": 7}), (((2,),), {"sizes": [3, 5], "count": 1000}),
                                      (((),), {"sizes": [], "count": 1}), (((2,),), {"sizes": [0], "count": 3})])


# The values for this key, which must not change in later versions.
A_KEY = np.array((1, 2), np.uint64).view(numpy_dtype(plait.key)).reshape(())
KNOWN = {"random_permutation": 209419236, "truncated_normal": 1570807123, "random_gamma": 1042653728, "random_poisson": 592641313,
         "random_binomial": 2230223775, "random_multinomial": 2859481115}


def check_known(name, drawn):
    found = zlib.crc32(np.ascontiguousarray(drawn).tobytes())
    return None if KNOWN.get(name) == found else f"other numbers than before for the key (1, 2): their CRC-32 is {found}"


def check_permutation(operands, results, attributes):
    drawn, count = results[0], attributes["count"]
    if drawn.shape != (*operands[0].shape, count) or not np.array_equal(np.sort(drawn, -1), np.broadcast_to(np.arange(count), drawn.shape)):
        return f"{drawn} is not a permutation of {count}"
    if count == 100:
        return check_known("random_permutation", drawn)
    if count == 5 and drawn.ndim == 2:  # each value is equally frequent at each place
        table = np.stack([np.bincount(drawn[:, place], minlength=count) for place in range(count)])
        if scipy.stats.chisquare(table.ravel()).pvalue < 1e-6:
            return f"places of elements are not alike often: {table.tolist()}"
    return None


add("random_permutation", None, [(((),), {"count": 30}), ((A_KEY,), {"count": 100}), (((3_000,),), {"count": 5}), (((),), {"count": 0}), (((2,),), {"count": 1})],
    check=check_permutation)


def check_truncated(operands, results, attributes):
    drawn, low, high = results[0].astype(np.float64), attributes["low"], attributes["high"]
    if results[0].dtype != numpy_dtype(attributes["dtype"]) or drawn.shape != (*operands[0].shape, *attributes["sizes"]):
        return f"gives {results[0].dtype}{drawn.shape}"
    if drawn.size and (drawn.min() < low or drawn.max() > high):
        return f"from {drawn.min()} to {drawn.max()}, outside {low} … {high}"
    if attributes["sizes"] == [100]:
        return check_known("truncated_normal", results[0])
    if drawn.size > 1_000 and scipy.stats.kstest(drawn.ravel(), scipy.stats.truncnorm(low, high).cdf).pvalue < 1e-6:
        return "another distribution"
    return None


add("truncated_normal", None, [
    ((A_KEY,), {"sizes": [100], "low": -1.0, "high": 2.0, "dtype": plait.f32}),
    (((),), {"sizes": [20_000], "low": -1.0, "high": 0.5, "dtype": plait.f64}), (((2,),), {"sizes": [3_000], "low": 2.0, "high": 3.0, "dtype": plait.f32}),
    (((),), {"sizes": [], "low": -2.0, "high": 2.0, "dtype": plait.f16}), (((3,),), {"sizes": [0], "low": -2.0, "high": 2.0, "dtype": plait.f32})],
    check=check_truncated)


# ---- Distributions with parameters, one per element
LEAST_CHANCE = 1e-6


def with_sizes(name, check):
    """The check of the numbers, after that of the sizes; a sample of 100 numbers is compared with known values instead."""

    def checked(operands, results, attributes):
        drawn, shape = results[0], operands[-1].shape
        if drawn.shape != shape:
            return f"gives {drawn.dtype}{drawn.shape}, not {shape}"
        if drawn.size == 100:
            return check_known(name, drawn.astype(np.float32))
        return check(operands, drawn, attributes) if drawn.size else None

    return checked


def by_parameters(*arrays):
    """The indices of each combination of parameters."""
    flat = np.stack([np.ravel(each).astype(np.float64) for each in arrays], -1)
    for row in np.unique(flat, axis=0):
        yield row, (flat == row).all(-1)


def check_gamma(operands, drawn, attributes):
    for (a,), places in by_parameters(operands[1]):
        x = drawn.ravel()[places].astype(np.float64)
        log_x = x if attributes.get("log") else np.log(x)
        if a < 0.01:  # where x underflows: log x + log Γ(a + 1) / a is exponentially distributed, with scale 1/a
            chance = scipy.stats.kstest(-log_x * a, scipy.stats.expon.cdf).pvalue
        else:
            chance = scipy.stats.kstest(np.exp(log_x), scipy.stats.gamma(a).cdf).pvalue
        if chance < LEAST_CHANCE:
            return f"another distribution for {a}"
    return None


def gamma_path(moved, operands, results, attributes):
    """Along a quantile, computed from the accurate tail."""
    a, there = operands[1], moved[1]
    x = np.exp(results[0]) if attributes.get("log") else results[0]
    low, high = scipy.special.gammainc(a, x), scipy.special.gammaincc(a, x)
    x = np.where(low < 0.5, scipy.special.gammaincinv(there, low), scipy.special.gammainccinv(there, high))
    return [np.log(x) if attributes.get("log") else x]


def parametric(name, samples, check, **options):
    add(name, None, samples, FLOATS, check=with_sizes(name, check), **options)


KEY_DTYPE = KEYS[0]
SHAPES = np.repeat([0.3, 1.0, 2.5, 40.0], 2_000)
parametric("random_gamma", [
    ((A_KEY, np.repeat([0.1, 2.0], 50)), {}), ((A_KEY, SHAPES), {}), ((A_KEY, np.repeat([1e-5, 0.5, 1e9], 2_000)), {"log": True}),
    (((), (7,)), {}), (((2,), (2, 3)), {"log": True}), (((), ()), {}), (((3,), (3, 0)), {})],
    check_gamma, low=0.3, high=6.0, operand_dtypes=lambda dtype: [KEY_DTYPE, dtype], path=gamma_path,
    once=(1,))


def slope_of_gamma(a, log_x):
    """By four-point differences in the logarithm of the parameter."""
    x, step = np.exp(log_x), 1e-3

    is_upper = scipy.special.gammaincc(a, x) < 0.5

    def along(factor):
        there = a * np.exp(factor * step)
        return np.where(is_upper, scipy.special.gammaincc(there, x), -scipy.special.gammainc(there, x))

    rise = (8 * (along(1) - along(-1)) - (along(2) - along(-2))) / (12 * step)
    return rise / (a * np.exp(a * log_x - x - scipy.special.gammaln(a)))


case("random_gamma_slope", slope_of_gamma, family=FAMILY, low=(0.3, -0.5), high=(6.0, 2.0), special=False, extended=False,
     tolerance="function", scale=lambda a, log_x: 1e6 * slope_of_gamma(a, log_x), fixed=(0, 1))


def check_counts(distribution):
    def check(operands, drawn, attributes):
        for parameters, places in by_parameters(*operands[1:]):
            x, expected = drawn.ravel()[places], distribution(*parameters)
            edges = np.unique(expected.ppf(np.linspace(0.02, 0.98, 25)))
            shares = np.diff(np.concatenate([[0], expected.cdf(edges), [1]]))
            seen = np.bincount(np.searchsorted(edges, x), minlength=len(shares))
            kept = shares * len(x) > 5  # bins without weight are empty
            if len(shares) > 1 and scipy.stats.chisquare(seen[kept], shares[kept] / shares[kept].sum() * seen[kept].sum()).pvalue < LEAST_CHANCE:
                return f"another distribution for {parameters}"
        return None

    return check


def as_i64(dtype, attributes):
    return plait.i64


parametric("random_poisson", [
    ((A_KEY, np.repeat([3.0, 50.0], 50)), {}), ((A_KEY, np.repeat([0.0, 0.5, 9.0, 11.0, 200.0], 4_000)), {}),
    (((), (7,)), {}), (((2,), (2, 3)), {}), (((), ()), {}), (((3,), (3, 0)), {})],
    check_counts(scipy.stats.poisson), low=0.0, high=30.0, operand_dtypes=lambda dtype: [KEY_DTYPE, dtype], result_dtype=as_i64)


def trials(random, shape, dtype, operand):
    return numbers(0, 40 if dtype.kind == "integer" else 1)(random, shape, dtype, operand)


COUNTS = np.repeat(np.array([10, 10, 1000, 300], np.int64), 4_000)
parametric("random_binomial", [
    ((A_KEY, np.repeat(np.array([9, 300], np.int64), 50), np.repeat([0.25, 0.75], 50)), {}),
    ((A_KEY, COUNTS, np.repeat([0.25, 0.75, 0.5, 0.125], 4_000)), {}), (((), (7,), (7,)), {}), (((2,), (2, 3), (2, 3)), {}),
    (((), (), ()), {}), (((3,), (3, 0), (3, 0)), {})],
    check_counts(scipy.stats.binom), draw=trials, operand_dtypes=lambda dtype: [KEY_DTYPE, plait.i64, dtype], result_dtype=as_i64)


def check_multinomial(operands, drawn, attributes):
    count, weights = operands[1:]
    if not np.array_equal(drawn.sum(-1), count):
        return "not all trials fall into a category"
    if count.ndim == 1 and len(count) > 1_000:
        expected = weights[0].astype(np.float64) / weights[0].astype(np.float64).sum() * count.sum()
        if scipy.stats.chisquare(drawn.sum(0), expected).pvalue < LEAST_CHANCE:
            return f"{drawn.sum(0)}, where {expected} are expected"
    return None


parametric("random_multinomial", [
    ((A_KEY, np.full(25, 60, np.int64), np.tile([1.0, 2.0, 0.0, 5.0], (25, 1))), {}),
    ((A_KEY, np.full(3_000, 20, np.int64), np.tile([1.0, 2.0, 3.0, 0.5], (3_000, 1))), {}),
    (((), (7,), (7, 3)), {}), (((2,), (2, 3), (2, 3, 4)), {}), (((), (), (5,)), {}), (((3,), (3, 0), (3, 0, 2)), {})],
    check_multinomial, draw=trials, operand_dtypes=lambda dtype: [KEY_DTYPE, plait.i64, dtype], result_dtype=as_i64)


def check_drawn(operands, results, attributes):
    """The default stream is that of seed 0 unless it was seeded; how far it has advanced is unknown."""
    root = derived(None, np.uint64(0), SEED)
    children = derived(root, np.arange(100_000, dtype=np.uint64), CHILD)
    return None if results[0] in children else "no key of the default stream"


add("draw_key", None, [((), {})], check=check_drawn, repeatable=False)
