"""The operations of table.py: their inputs for a number of elements and a dtype, and their calls in each library."""

import dataclasses
import functools
import json
import math
import operator
import os
import subprocess
import sys

import numpy as np

LIBRARIES = ("plait", "numpy", "torch", "jax")
SIZES = {"1k": 1 << 10, "100k": 320 * 320, "16M": 1 << 24}
DTYPES = ("f32", "bf16", "i32")


def reasons(*lines):
    """Why an operation may be slower than the fastest peer, by "name", "name dtype" or "name dtype size"; a line may list
    several keys, separated by commas. The most specific key counts."""
    return {cell.strip(): text for cells, text in lines for cell in cells.split(",")}


REASONS = reasons(
    ("erfc, erfinv, asinh, acosh, atanh, power, xlogy, logaddexp",
     "computed in lanes of f64 and rounded once at the end, for accuracy; the peers compute in f32"),
    ("exp f32 100k, log f32 100k, log10 f32 100k, tanh f32 100k, sinh f32 100k",
     "within 2 ulp also for subnormal results, and without fused products; tanh and sinh compute both of their ranges"),
    ("lerp, addcmul, addcdiv, nan_to_num, leaky_relu, isclose, gelu, silu, elu, softplus",
     "several loops, over 1,024 elements at a time; the peer has a loop for just this"),
    ("kron, outer, add a row", "rows of 39 or 320 elements, each of which is a call of the loop"),
    ("sqrt bf16, rsqrt bf16, square bf16, reciprocal bf16, divide bf16, sigmoid bf16, trunc bf16, floor bf16, ceil bf16, diff bf16",
     "three loops over blocks of 512 elements: widened, computed, narrowed; the peer has one"),
    ("linspace", "several loops over f64, so that the last number is the end itself"),
    ("tril, triu", "a mask is made, by which elements are chosen"),
    ("norm f32 100k, norm of rows f32, norm of columns f32", "two operations, the sum of squares and its root"),
    ("permute bf16, transpose bf16", "copies four by four in registers are there for elements of four bytes only"),
    ("scatter_add, index_add, gather, take, take rows, take_along_axis, embedding, bincount, histogram, one_hot",
     "where each index leads is found, checked and written down first: one out of range is an error that changes nothing"),
    ("partition", "all is sorted, where the peer leaves in disorder what is not asked for"),
    ("topk", "one pass over the keys of the elements, on one thread up to 512k; the peer partitions in lanes"),
    ("cummax bf16, cummin bf16", "two passes over a long row, so that threads can share it"),
    ("sort f32", "the numbers become keys that have NaN last and keep -0 apart from 0, and are made of them again"),
    ("unique", "all is sorted; the peer has a table of hashes, which for few different numbers is the faster way"),
    ("pad", "an axis after the other, each of which copies everything"),
    ("divide i32", "both operands are converted to f32 first, in passes of their own"),
    ("fft of rows, rfft of rows", "the numbers of 16 rows are brought into lanes and back, half of the time; the peer has kernels for one row of each length"),
    ("matmul f32", "oneDNN's product; OpenBLAS, as NumPy brings it, is faster on this processor"),
    ("interpolate", "gathers, products and sums, along one axis after the other"),
    ("std, std of rows, std of columns, var, var of rows, var of columns, logsumexp, logsumexp of rows, logsumexp of columns, "
     "nansum, nansum of rows, nansum of columns, count_nonzero",
     "several loops, a block after the other, of which the last one reduces; the peer has a loop for just this"),
    ("mean bf16, mean of rows bf16, mean of columns bf16, norm bf16, norm of rows bf16, norm of columns bf16",
     "blocks are widened to f32 first and added then, since the sum may be beyond bf16"),
    ("sum of columns i32, sum of rows i32, sum i32", "the sum is an i64, as NumPy's and PyTorch's; the faster peer adds in i32"),
    ("softmax bf16, log_softmax bf16, layer_norm bf16, rms_norm bf16, group_norm bf16, batch_norm bf16",
     "widened to f32 and narrowed again in passes of their own"),
    ("attention bf16", "computed in f32, both products and the intermediates; the peer multiplies bf16"),
    ("einsum", "many products of 16 × 64 by 64 × 16, each of which is a call of the library"),
    ("astype i32 bf16, astype bf16 i32", "rounded once, by way of an f32 that remembers what it lost"),
    ("sqrt f32 100k", "the processor's own roots, which on one thread take as long as NumPy's; to hand a half over to another thread takes longer than the peer"),
    ("flip f32 100k, flip i32 100k", "rows are turned around four lanes at a time, as many as every processor has"),
    ("vecdot f32 100k", "each row is a product of matrices of its own"),
    ("randint i32", "each number is made of a counter, so that it is the same on any number of threads; the peer's generator goes on from its state"),
    ("argmax of rows f32 100k, argmin of rows f32 100k", "two passes over a row: its maximum, then the index of it"),
    ("inv, solve, eigh",
     "by OpenBLAS as Debian packages it, on one core"),
)


@dataclasses.dataclass
class Operation:
    name: str
    given: object  # (count, dtype) -> NumPy arrays and other arguments; floats are f32 here, also for bf16
    run: dict  # by library: (library, *given) -> result
    dtypes: tuple
    tolerance: float
    seen: object  # (result, *given) -> the value to compare, if results themselves may differ


OPERATIONS = {}


def function(way, library, common):
    """Turns a function of the library and operands, or the name of one, into a function. JAX's own names are relative to `jax`,
    common ones to `jax.numpy`."""
    if way is None:
        return None
    if isinstance(way, str):
        find = operator.attrgetter(way)
        way = lambda lib, *given: find(lib)(*given)  # noqa: E731
    return functools.partial(on_arrays, way) if library == "jax" and common else way


def on_arrays(way, jax, *given):
    return way(jax.numpy, *given)


def op(name, given, common=None, *, dtypes=("f32", "bf16"), tolerance=1e-3, seen=None, **own):
    """`common` is used for every library without an entry of its own; None marks a library that lacks the operation."""
    run = {}
    for library in LIBRARIES:
        way = function(own.get(library, common), library, library not in own)
        if way is not None:
            run[library] = way
    OPERATIONS[name] = Operation(name, given, run, dtypes, tolerance, seen)


FLOATS, ALL, INTEGERS, ONLY = ("f32", "bf16"), ("f32", "bf16", "i32"), ("i32",), ("f32",)


def load(library):
    """The library, in the process that times it."""
    if library == "numpy":
        return np
    if library == "plait":
        import plait

        return plait
    if library == "torch":
        import torch

        return torch
    import jax
    import jax.scipy.linalg
    import jax.scipy.special

    return jax


def operands(each, count, dtype, library_name, library):
    """The operands as arrays of the library, in the dtype."""
    return [of_library(x, dtype, library_name, library) if isinstance(x, np.ndarray) else x for x in each.given(count, dtype)]


def of_library(x, dtype, name, library):
    is_narrow = dtype == "bf16" and x.dtype == np.float32
    if name == "plait":
        return library.astype(library.asarray(x), library.bf16) if is_narrow else library.asarray(x)
    if name == "torch":
        return library.from_numpy(x).to(library.bfloat16) if is_narrow else library.from_numpy(x)
    if name == "jax":
        return library.numpy.asarray(x, library.numpy.bfloat16 if is_narrow else None)
    if is_narrow:
        raise TypeError("NumPy has no bf16")
    return x


# ---- Inputs of operations.


@functools.lru_cache(maxsize=10)
def draw(kind, shape, dtype, seed):
    """Random numbers of a kind. The array is cached and must not be changed."""
    random = np.random.default_rng(seed)
    if kind == "truth":
        return random.random(shape, np.float32) < 0.5
    if kind.startswith("ids"):  # integers below a number
        return random.integers(0, int(kind[4:]), shape)
    if dtype == "i32":
        low, high = {"above": (1, 1000), "small": (0, 8), "few": (0, 1000)}.get(kind, (-1000, 1000))
        return random.integers(low, high, shape, np.int32)
    if kind in ("unit", "chance", "near one", "small"):
        low, high = {"unit": (-0.99, 0.99), "chance": (0, 1), "near one": (0.999, 1.001), "small": (0, 8)}[kind]
        return random.random(shape, np.float32) * np.float32(high - low) + np.float32(low)
    x = random.standard_normal(shape, np.float32)
    return {"any": lambda: x, "above": lambda: np.abs(x) + np.float32(0.1), "above one": lambda: np.abs(x) + np.float32(1.01),
            "sorted": lambda: np.sort(x)}[kind]()


def flat(count):
    return (count,)


def square(count):
    return (math.isqrt(count),) * 2


def image(count):  # batch, channels, height, width
    side = min(math.isqrt(count // 16), 256)
    return (count // 16 // side // side, 16, side, side)


def of(*kinds, shape=flat, more=()):
    """Arrays of these kinds, followed by `more` unchanged."""
    return lambda count, dtype: [*(draw(kind, shape(count), dtype, i) for i, kind in enumerate(kinds)), *more]


one, two, plane = of("any"), of("any", "any"), of("any", shape=square)
positive = of("above")

# ---- Elementwise.

READ_TABLE = """
import json, plait
print(json.dumps([[name, each.domain[0], [dtype.name for dtype in each.takes]] for name, each in plait.ops().items()
                  if each.elementwise != "no" and each.most_operands == 1 and each.oracle.startswith("numpy.") and hasattr(plait, name)]))
"""


def of_table():
    """(name, domain, dtypes) of Plait's functions of one operand that NumPy has too. They are read in a process of their own,
    once: those that time peers do not load Plait, and inherit the list."""
    if "PEERS_TABLE" not in os.environ:
        read = subprocess.run([sys.executable, "-c", READ_TABLE], capture_output=True, text=True, check=True)
        os.environ["PEERS_TABLE"] = read.stdout
    return json.loads(os.environ["PEERS_TABLE"])


def within(low, high):
    """A kind of numbers of the domain."""
    if high <= 1.5:
        return "chance" if low >= 0 else "unit"
    return "any" if low <= -1 else "above one" if low >= 1 else "above"


for name, domain, takes in of_table():
    if {"f32", "i32"} & set(takes):
        op(name, of(within(*domain)), name, dtypes=tuple(dtype for dtype in DTYPES if dtype in takes))
for name in ("isnan", "isinf", "isfinite", "nan_to_num"):
    op(name, one, name, dtypes=FLOATS)
op("reciprocal", positive, "reciprocal", dtypes=FLOATS)
op("logical_not", of("truth"), "logical_not", dtypes=ONLY)
op("rsqrt", positive, "rsqrt", numpy=lambda np, x: 1 / np.sqrt(x), jax="lax.rsqrt")
op("erf", one, "erf", numpy=None, jax="lax.erf")
op("erfinv", of("unit"), "erfinv", numpy=None, jax="lax.erf_inv")
op("erfc", one, "erfc", numpy=None, jax="lax.erfc")
op("lgamma", positive, "lgamma", numpy=None, jax="lax.lgamma")
op("digamma", positive, "digamma", numpy=None, jax="lax.digamma", tolerance=1e-2)
op("sigmoid", one, "sigmoid", numpy=lambda np, x: 1 / (1 + np.exp(-x)), jax="nn.sigmoid")
op("clip", of("any", more=(-1, 1)), "clip", dtypes=ALL)

for name, given, dtypes in (
        ("add", two, ALL), ("subtract", two, ALL), ("multiply", two, ALL), ("divide", of("any", "above"), ALL),
        ("floor_divide", of("any", "above"), ALL), ("remainder", of("any", "above"), ALL), ("fmod", of("any", "above"), ALL),
        ("maximum", two, ALL), ("minimum", two, ALL), ("hypot", two, FLOATS), ("logaddexp", two, FLOATS),
        ("copysign", two, FLOATS), ("less", two, ALL), ("less_equal", two, ALL), ("greater", two, ALL),
        ("greater_equal", two, ALL), ("not_equal", two, ALL), ("isclose", two, FLOATS)):
    op(name, given, name, dtypes=dtypes, tolerance=1e-2 if name in ("floor_divide", "remainder", "fmod") else 1e-3)
op("power", of("above", "small"), "power", torch="pow", dtypes=ALL)
op("atan2", two, "atan2")
op("equal", two, "equal", torch="eq", dtypes=ALL)
for name in ("logical_and", "logical_or", "logical_xor"):
    op(name, of("truth", "truth"), name, dtypes=ONLY)
for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    op(name, two, name, dtypes=INTEGERS)
for name in ("left_shift", "right_shift"):
    op(name, of("any", "small"), name, torch="bitwise_" + name, dtypes=INTEGERS)
op("where", of("truth", "any", "any"), "where", dtypes=ALL)
lerp = lambda lib, a, b, weight: a + weight * (b - a)  # noqa: E731
op("lerp", of("any", "any", "unit"), lerp, plait="lerp", torch="lerp")
op("addcmul", of("any", "any", "any"), lambda lib, x, a, b: x + a * b, plait="addcmul", torch="addcmul")
op("addcdiv", of("any", "any", "above"), lambda lib, x, a, b: x + a / b, plait="addcdiv", torch="addcdiv")
op("xlogy", of("any", "above"), "xlogy", numpy=None, jax="scipy.special.xlogy")
op("add a row", lambda n, t: [draw("any", square(n), t, 0), draw("any", square(n)[1:], t, 1)], "add", dtypes=ALL)
op("multiply by a number", of("any", more=(3,)), lambda lib, x, y: x * y, dtypes=ALL)

# ---- Reductions and scans: over everything, columns and rows.

POSITIVE_PLANE = of("above", shape=square)


def reduction(name, given=plane, dtypes=ALL, *, tolerance=1e-3, common=None, axes=(None, 0, 1), **own):
    """Implementations take (library, x, axis), or (library, x) to reduce everything."""
    for axis in axes:
        at = () if axis is None else (axis,)
        words = {None: name, 0: name + " of columns", 1: name + " of rows"}[axis]
        with_axis = lambda count, dtype, at=at: [*given(count, dtype), *at]  # noqa: E731
        op(words, with_axis, common or name, dtypes=dtypes, tolerance=tolerance, **own)


def torch_std(kind):
    return lambda torch, x, *axis: getattr(torch, kind)(x, *(axis or (None,)), correction=0)


reduction("sum", POSITIVE_PLANE, tolerance=1e-2)
reduction("mean", POSITIVE_PLANE, FLOATS, tolerance=1e-2)
reduction("prod", of("near one", shape=square), FLOATS, tolerance=5e-2)
reduction("max", torch="amax")
reduction("min", torch="amin")
reduction("argmax", dtypes=ONLY)
reduction("argmin", dtypes=ONLY)
reduction("any", of("truth", shape=square), ONLY)
reduction("all", of("truth", shape=square), ONLY)
reduction("std", dtypes=FLOATS, tolerance=1e-2, torch=torch_std("std"))
reduction("var", dtypes=FLOATS, tolerance=1e-2, torch=torch_std("var"))
reduction("median", dtypes=ONLY, tolerance=0.4, torch=lambda torch, x, *axis: torch.median(x, *axis)[0] if axis else torch.median(x))
reduction("quantile", dtypes=ONLY, common=lambda lib, x, *axis: lib.quantile(x, 0.3, *axis))
reduction("logsumexp", common="logsumexp", dtypes=FLOATS, tolerance=1e-2, numpy=lambda np, x, *axis: np.log(np.sum(np.exp(x), *axis)),
          torch=lambda torch, x, *axis: torch.logsumexp(x, axis or (0, 1)), jax=lambda jax, x, *axis: jax.nn.logsumexp(x, *axis))
reduction("norm", dtypes=FLOATS, tolerance=1e-2, plait=lambda pl, x, *axis: pl.norm(x, 2.0, *axis),
          common=lambda lib, x, *axis: lib.linalg.norm(x, None, *axis),
          torch=lambda torch, x, *axis: torch.linalg.vector_norm(x, 2, *axis))
reduction("count_nonzero")
reduction("nansum", POSITIVE_PLANE, FLOATS, tolerance=1e-2)


def scan(name, given, dtypes, *, tolerance=1e-2, **own):
    reduction(name, given, dtypes, tolerance=tolerance, axes=(0, 1), **own)
    op(name, lambda n, t: [given(n, t)[0].reshape(-1), 0], name, dtypes=dtypes, tolerance=tolerance, **own)


scan("cumsum", POSITIVE_PLANE, ALL)
scan("cumprod", of("near one", shape=square), FLOATS, tolerance=0.1)
scan("cummax", plane, ALL, numpy=lambda np, x, axis: np.maximum.accumulate(x, axis), torch=lambda torch, x, axis: torch.cummax(x, axis)[0],
     jax="lax.cummax")
scan("cummin", plane, ALL, numpy=lambda np, x, axis: np.minimum.accumulate(x, axis), torch=lambda torch, x, axis: torch.cummin(x, axis)[0],
     jax="lax.cummin")
scan("logcumsumexp", plane, FLOATS, numpy=lambda np, x, axis: np.logaddexp.accumulate(x, axis), jax="lax.cumlogsumexp")
op("histogram", one, lambda lib, x: lib.histogram(x, 64, (-4, 4))[0], dtypes=ONLY, tolerance=2e-2,
   plait=lambda pl, x: pl.histogram(x, 64, -4., 4.)[0], torch=lambda torch, x: torch.histc(x, 64, -4, 4))
op("bincount", of("ids 1000"), lambda lib, x: lib.bincount(x, minlength=1000), dtypes=ONLY,
   plait=lambda pl, x: pl.bincount(x, 1000), jax=lambda jax, x: jax.numpy.bincount(x, length=1000))
op("unique", of("few"), "unique", dtypes=INTEGERS, plait="unique_values", jax=None)
op("diff", one, "diff", dtypes=ALL)

# ---- Moving elements. Views are copied.


def dense(pl, x):
    return pl.reshape(pl.flatten(x), x.shape)


def copied(way):
    """The implementations of all libraries, with a copy if the result is a view."""
    return {"plait": lambda pl, *given: dense(pl, way(pl, *given)), "numpy": lambda np, *given: np.ascontiguousarray(way(np, *given)),
            "torch": lambda torch, *given: way(torch, *given).contiguous(), "jax": lambda jax, *given: way(jax.numpy, *given)}


def cube(count):
    return (count // 32 // 8, 32, 8)


op("transpose", plane, dtypes=ALL, **copied(lambda lib, x: x.T))
permuted = copied(lambda lib, x: lib.permute_dims(x, (2, 0, 1)))
op("permute", of("any", shape=cube), dtypes=ALL, **{**permuted, "torch": lambda torch, x: torch.permute(x, (2, 0, 1)).contiguous()})
op("concat", two, lambda lib, a, b: lib.concat((a, b)), dtypes=ALL)
op("stack", two, lambda lib, a, b: lib.stack((a, b)), dtypes=ALL)
op("stack, last axis", two, lambda lib, a, b: lib.stack((a, b), -1), dtypes=ALL)
op("split", one, lambda lib, x: lib.split(x, 4), dtypes=ALL, torch=lambda torch, x: torch.chunk(x, 4))
op("tile", plane, lambda lib, x: lib.tile(x, (2, 2)), dtypes=ALL)
op("repeat", one, lambda lib, x: lib.repeat(x, 2, 0), dtypes=ALL, torch=lambda torch, x: torch.repeat_interleave(x, 2, 0))
op("pad", plane, lambda lib, x: lib.pad(x, ((1, 1), (1, 1))), dtypes=ALL, torch=lambda torch, x: torch.nn.functional.pad(x, (1, 1, 1, 1)))
op("roll", one, lambda lib, x: lib.roll(x, 3, 0), dtypes=ALL)
flipped = copied(lambda lib, x: lib.flip(x, 1))
op("flip", plane, dtypes=ALL, **{**flipped, "torch": lambda torch, x: torch.flip(x, (1,))})
op("rot90", plane, dtypes=ALL, **copied(lambda lib, x: lib.rot90(x)))


LONG_NAMES = {"f32": "float32", "bf16": "bfloat16", "i32": "int32"}


def to(dtype):
    name = LONG_NAMES[dtype]
    return {"plait": lambda pl, x: x.astype(getattr(pl, dtype)), "numpy": lambda np, x: x.astype(name),
            "torch": lambda torch, x: x.to(getattr(torch, name)), "jax": lambda jax, x: x.astype(name)}


op("astype f32", one, dtypes=("bf16", "i32"), **to("f32"))
op("astype i32", one, dtypes=("f32", "bf16"), **to("i32"))
op("astype bf16", one, dtypes=("f32", "i32"), tolerance=1e-2, **to("bf16"))
op("broadcast", lambda n, t: [draw("any", square(n)[1:], t, 0), square(n)], dtypes=ALL, **copied(lambda lib, x, shape: lib.broadcast_to(x, shape)))
op("copy", one, dtypes=ALL, plait="tensor", numpy="copy", torch="clone", jax="numpy.copy")

# ---- Indexing and order.


def with_ids(count, dtype):
    return [draw("any", (count,), dtype, 0), draw(f"ids {count}", (count,), dtype, 1)]


def rows_with_ids(count, dtype):
    side = math.isqrt(count)
    return [draw("any", (side, side), dtype, 0), draw(f"ids {side}", (side, side), dtype, 1)]


def added_at(np, x, ids, values):
    y = x.copy()
    np.add.at(y, ids, values)
    return y


op("take", with_ids, "take", dtypes=ALL)
op("take rows", lambda n, t: [draw("any", (n // 64, 64), t, 0), draw(f"ids {n // 64}", (n // 64,), t, 1)],
   lambda lib, x, ids: lib.take(x, ids, 0), torch=lambda torch, x, ids: torch.index_select(x, 0, ids), dtypes=ALL)
op("take_along_axis", rows_with_ids, lambda lib, x, ids: lib.take_along_axis(x, ids, 1), torch=lambda torch, x, ids: torch.take_along_dim(x, ids, 1))
op("gather", rows_with_ids, lambda lib, x, ids: lib.take_along_axis(x, ids, 0), plait=lambda pl, x, ids: pl.gather(x, 0, ids),
   torch=lambda torch, x, ids: torch.gather(x, 0, ids))
op("scatter_add", lambda n, t: [*with_ids(n, t), draw("any", (n,), t, 2)], dtypes=("f32", "i32"), tolerance=1e-2, numpy=added_at,
   plait=lambda pl, x, ids, y: pl.scatter_add(x, 0, ids, y), torch=lambda torch, x, ids, y: torch.scatter_add(x, 0, ids, y),
   jax=lambda jax, x, ids, y: x.at[ids].add(y))
op("index_add", lambda n, t: [draw("any", (n // 64, 64), t, 0), draw(f"ids {n // 64}", (n // 64,), t, 1), draw("any", (n // 64, 64), t, 2)],
   dtypes=("f32", "i32"), tolerance=1e-2, numpy=added_at, plait=lambda pl, x, ids, y: pl.index_add(x, 0, ids, y),
   torch=lambda torch, x, ids, y: torch.index_add(x, 0, ids, y), jax=lambda jax, x, ids, y: x.at[ids].add(y))
masked = of("any", "truth")
op("masked_fill", masked, dtypes=ALL, plait=lambda pl, x, m: pl.masked_fill(x, m, 0), torch=lambda torch, x, m: torch.masked_fill(x, m, 0),
   numpy=lambda np, x, m: np.where(m, np.zeros((), x.dtype), x), jax=lambda jax, x, m: jax.numpy.where(m, jax.numpy.zeros((), x.dtype), x))
op("masked_select", masked, dtypes=ALL, plait="masked_select", torch="masked_select", numpy=lambda np, x, m: x[m])
op("nonzero", of("truth"), dtypes=ONLY, plait="argwhere", torch="argwhere", numpy=lambda np, x: np.argwhere(x))
op("searchsorted", of("sorted", "any"), "searchsorted", dtypes=ONLY)
op("sort", one, "sort", dtypes=ALL, torch=lambda torch, x: torch.sort(x)[0])
op("sort of rows", plane, "sort", dtypes=ALL, torch=lambda torch, x: torch.sort(x)[0])
op("argsort", one, "argsort", dtypes=ALL, seen=lambda places, x: x[places])
op("topk", of("any", more=(100,)), dtypes=ALL, plait=lambda pl, x, k: pl.topk(x, k)[0], torch=lambda torch, x, k: torch.topk(x, k)[0],
   numpy=lambda np, x, k: np.sort(np.partition(x, -k)[-k:])[::-1], jax=lambda jax, x, k: jax.lax.top_k(x, k)[0])
op("partition", lambda n, t: [draw("any", (n,), t, 0), n // 2], "partition", torch=None, dtypes=ALL, seen=lambda x, _, place: x[place])
op("embedding", lambda n, t: [draw("any", (1000, 64), t, 0), draw("ids 1000", (max(n // 64, 1),), t, 1)], lambda lib, table, ids: table[ids],
   plait=lambda pl, table, ids: pl.embedding(ids, table), torch=lambda torch, table, ids: torch.nn.functional.embedding(ids, table))
op("slice", one, dtypes=ALL, **copied(lambda lib, x: x[1::2]))


def updated(np, x, part):
    y = x.copy()
    y[5:5 + part.size] = part
    return y


op("update", lambda n, t: [draw("any", (n,), t, 0), draw("any", (n // 2,), t, 1)], updated, dtypes=ALL,
   plait=lambda pl, x, part: x.at[5:5 + part.size].set(part), torch=lambda torch, x, part: torch.slice_scatter(x, part, 0, 5, 5 + part.shape[0]),
   jax=lambda jax, x, part: x.at[5:5 + part.size].set(part))

# ---- Linear algebra. At 16M, factorisations run on stacks of smaller matrices.


def stack_of(side, most):
    """Matrices near the identity, at most `side` wide: a single one or a stack, of min(count, `most`) elements together."""
    def given(count, dtype):
        width = min(math.isqrt(count), side)
        number = max(min(count, most) // width**2, 1)
        x = draw("any", (number, width, width), dtype, 0) * np.float32(0.5 / math.sqrt(width))
        x = x + np.eye(width, dtype=np.float32)
        return [x[0] if number == 1 else x]
    return given


def symmetric(given):
    def made(count, dtype):
        x = given(count, dtype)[0]
        return [x @ np.swapaxes(x, -1, -2)]
    return made


def with_right_side(given):
    def made(count, dtype):
        x = given(count, dtype)[0]
        return [x, draw("any", (*x.shape[:-1], 8), dtype, 1)]
    return made


stack, small_stack = stack_of(320, 1 << 22), stack_of(320, 1 << 20)
op("matmul", of("any", "any", shape=square), "matmul", tolerance=2e-2)
op("vector product", of("any", "above"), "dot", tolerance=5e-2)
op("matrix times vector", lambda n, t: [draw("any", square(n), t, 0), draw("any", square(n)[1:], t, 1)], "matmul", tolerance=2e-2)
op("vecdot", of("any", "any", shape=square), "vecdot", numpy="vecdot", torch="linalg.vecdot", tolerance=5e-2)
op("bmm", lambda n, t: [draw("any", (max(n >> 12, 1), 64, min(n // 64, 64)), t, 0), draw("any", (max(n >> 12, 1), min(n // 64, 64), 64), t, 1)],
   "matmul", torch="bmm", tolerance=2e-2)
op("einsum", lambda n, t: [draw("any", (max(n >> 13, 1), 8, 16, 64), t, 0), draw("any", (max(n >> 13, 1), 8, 16, 64), t, 1)],
   lambda lib, a, b: lib.einsum("bhqd,bhkd->bhqk", a, b), tolerance=2e-2)
op("outer", lambda n, t: [draw("any", square(n)[1:], t, 0), draw("any", square(n)[1:], t, 1)], "outer")
op("kron", lambda n, t: [draw("any", (8, 8), t, 0), draw("any", (math.isqrt(n) // 8,) * 2, t, 1)], "kron", plait="linalg.kron")
op("inv", stack, "linalg.inv", dtypes=ONLY, tolerance=1e-2)
op("solve", with_right_side(stack), "linalg.solve", dtypes=ONLY, tolerance=1e-2)
op("cholesky", symmetric(stack), "linalg.cholesky", dtypes=ONLY, tolerance=1e-2)
op("det", stack, "linalg.det", dtypes=ONLY, tolerance=1e-2)
op("qr", stack, "linalg.qr", dtypes=ONLY, tolerance=1e-2, seen=lambda result, x: np.abs(result[1]))
op("svd", small_stack, lambda lib, x: lib.linalg.svd(x, full_matrices=False), dtypes=ONLY, tolerance=1e-2, seen=lambda result, x: result[1])
op("eigh", symmetric(small_stack), "linalg.eigh", dtypes=ONLY, tolerance=1e-2, seen=lambda result, x: result[0])

# ---- Fourier transforms.

for name, given in (("fft", one), ("rfft", one), ("fft2", plane)):
    op(name, given, f"fft.{name}", dtypes=ONLY, tolerance=1e-2)
op("fft of rows", plane, "fft.fft", dtypes=ONLY, tolerance=1e-2)
op("rfft of rows", plane, "fft.rfft", dtypes=ONLY, tolerance=1e-2)

# ---- Layers.


def softmax(np, x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def standardised(np, x, axes):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def each_nn(name):
    return {"plait": name, "torch": f"nn.functional.{name}", "jax": f"nn.{name}"}


op("relu", one, numpy=lambda np, x: np.maximum(x, 0), **each_nn("relu"))
op("leaky_relu", one, numpy=lambda np, x: np.where(x > 0, x, x * np.float32(0.01)), **each_nn("leaky_relu"))
op("elu", one, numpy=lambda np, x: np.where(x > 0, x, np.expm1(x)), **each_nn("elu"))
op("gelu", one, tolerance=1e-2, plait="gelu", torch="nn.functional.gelu", jax=lambda jax, x: jax.nn.gelu(x, approximate=False))
op("silu", one, numpy=lambda np, x: x / (1 + np.exp(-x)), **each_nn("silu"))
op("softplus", one, numpy=lambda np, x: np.logaddexp(x, np.float32(0)), **each_nn("softplus"))
op("softmax", plane, plait="softmax", numpy=softmax, torch=lambda torch, x: torch.softmax(x, -1), jax="nn.softmax", tolerance=1e-2)
op("log_softmax", plane, plait="log_softmax", torch=lambda torch, x: torch.log_softmax(x, -1), jax="nn.log_softmax", tolerance=2e-2)
op("layer_norm", plane, numpy=lambda np, x: standardised(np, x, -1), plait=lambda pl, x: pl.layer_norm(x, x.shape[-1:]), tolerance=5e-2,
   torch=lambda torch, x: torch.nn.functional.layer_norm(x, x.shape[-1:]), jax=lambda jax, x: standardised(jax.numpy, x, -1))
op("rms_norm", plane, plait=lambda pl, x: pl.rms_norm(x, x.shape[-1:], eps=1e-5), tolerance=5e-2,
   numpy=lambda np, x: x / np.sqrt(np.square(x).mean(-1, keepdims=True) + 1e-5),
   torch=lambda torch, x: torch.nn.functional.rms_norm(x, x.shape[-1:], eps=1e-5),
   jax=lambda jax, x: x / jax.numpy.sqrt(jax.numpy.square(x).mean(-1, keepdims=True) + 1e-5))
pictures = of("any", shape=image)
first_of = lambda result: result[0] if isinstance(result, tuple) else result  # noqa: E731
op("batch_norm", pictures, numpy=lambda np, x: standardised(np, x, (0, 2, 3)), plait=lambda pl, x: first_of(pl.batch_norm(x)), tolerance=5e-2,
   torch=lambda torch, x: torch.nn.functional.batch_norm(x, None, None, training=True),
   jax=lambda jax, x: standardised(jax.numpy, x, (0, 2, 3)))


def in_groups(np, x):
    return standardised(np, x.reshape(x.shape[0], 4, -1), -1).reshape(x.shape)


op("group_norm", pictures, numpy=in_groups, plait=lambda pl, x: pl.group_norm(x, 4), tolerance=5e-2,
   torch=lambda torch, x: torch.nn.functional.group_norm(x, 4), jax=lambda jax, x: in_groups(jax.numpy, x))


def row_of_pixels(count):
    return (max(count >> 16, 1), 16, min(count, 1 << 16) // 16)


def filters(shape, *sizes):
    return lambda count, dtype: [draw("any", shape(count), dtype, 0), draw("any", (16, 16, *sizes), dtype, 1)]


op("conv1d", filters(row_of_pixels, 3), plait="conv1d", torch="nn.functional.conv1d", jax=lambda jax, x, w: jax.lax.conv(x, w, (1,), "VALID"),
   tolerance=5e-2)
op("conv2d", filters(image, 3, 3), plait="conv2d", torch="nn.functional.conv2d", jax=lambda jax, x, w: jax.lax.conv(x, w, (1, 1), "VALID"),
   tolerance=5e-2)


def windows(jax, x, start, combine):
    return jax.lax.reduce_window(x, np.array(start, x.dtype), combine, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


op("max_pool2d", pictures, plait=lambda pl, x: pl.max_pool2d(x, 2), torch=lambda torch, x: torch.nn.functional.max_pool2d(x, 2),
   jax=lambda jax, x: windows(jax, x, -np.inf, jax.lax.max))
op("avg_pool2d", pictures, plait=lambda pl, x: pl.avg_pool2d(x, 2), torch=lambda torch, x: torch.nn.functional.avg_pool2d(x, 2),
   jax=lambda jax, x: windows(jax, x, 0, jax.lax.add) / 4, tolerance=2e-2)
op("interpolate", pictures, plait=lambda pl, x: pl.interpolate(x, scale_factor=2, mode="linear"), tolerance=2e-2,
   torch=lambda torch, x: torch.nn.functional.interpolate(x, scale_factor=2, mode="bilinear"),
   jax=lambda jax, x: jax.image.resize(x, (*x.shape[:2], 2 * x.shape[2], 2 * x.shape[3]), "linear"))


def heads(count):  # batch, heads, places, features
    places = max(min(count // 512, 512), 16)
    return (max(count // 8 // places // 64, 1), min(8, count // places // 64), places, 64)


op("attention", of("any", "any", "any", shape=heads), plait="scaled_dot_product_attention", tolerance=5e-2,
   torch="nn.functional.scaled_dot_product_attention", numpy=lambda np, q, k, v: softmax(np, q @ np.swapaxes(k, -1, -2) / np.float32(8)) @ v,
   jax=lambda jax, q, k, v: jax.nn.softmax(q @ jax.numpy.swapaxes(k, -1, -2) / 8) @ v)


# ---- Random numbers; only their moments are compared.


def moments(result, *given):
    return np.array([result.mean(), result.std()])


def random_op(name, *, dtypes=ONLY, numpy, torch, plait, jax, tolerance=0.2, given=lambda n, t: [n]):
    keyed = lambda n, t: [np.array([1, 2], np.uint32), *given(n, t)]  # noqa: E731
    generator = np.random.default_rng(1)
    op(name, keyed, dtypes=dtypes, tolerance=tolerance, seen=moments, plait=lambda pl, _, *given: plait(pl, *given),
       numpy=lambda np, _, *given: numpy(generator, *given), torch=lambda torch_, _, *given: torch(torch_, *given),
       jax=lambda jax_, key, *given: jax(jax_.random, jax_.random.wrap_key_data(key), *given))


random_op("uniform", plait=lambda pl, n: pl.random.uniform((n,)), numpy=lambda rng, n: rng.random(n, np.float32),
          torch=lambda torch, n: torch.rand(n), jax=lambda random, key, n: random.uniform(key, (n,)))
random_op("normal", plait=lambda pl, n: pl.random.normal((n,)), numpy=lambda rng, n: rng.standard_normal(n, np.float32),
          torch=lambda torch, n: torch.randn(n), jax=lambda random, key, n: random.normal(key, (n,)))
random_op("randint", dtypes=INTEGERS, tolerance=0.1, plait=lambda pl, n: pl.random.randint((n,), 0, 1000, dtype=pl.i32),
          numpy=lambda rng, n: rng.integers(0, 1000, n, np.int32), torch=lambda torch, n: torch.randint(0, 1000, (n,), dtype=torch.int32),
          jax=lambda random, key, n: random.randint(key, (n,), 0, 1000))
random_op("bernoulli", plait=lambda pl, n: pl.random.bernoulli(0.3, (n,)), numpy=lambda rng, n: rng.random(n, np.float32) < 0.3,
          torch=lambda torch, n: torch.empty(n, dtype=torch.bool).bernoulli_(0.3), jax=lambda random, key, n: random.bernoulli(key, 0.3, (n,)))
random_op("permutation", plait=lambda pl, n: pl.random.permutation(pl.random.draw_key(), n), numpy=lambda rng, n: rng.permutation(n),
          torch=lambda torch, n: torch.randperm(n), jax=lambda random, key, n: random.permutation(key, n))
random_op("dropout", dtypes=FLOATS, given=one, plait=lambda pl, x: pl.dropout(x, 0.5), torch=lambda torch, x: torch.nn.functional.dropout(x),
          numpy=lambda rng, x: np.where(rng.random(x.shape, np.float32) < 0.5, x * np.float32(2), np.float32(0)), tolerance=0.5,
          jax=lambda random, key, x: (random.uniform(key, x.shape) < 0.5) * x * 2)

# ---- New arrays.


def created(way):
    """`way` takes (library, the library's dtype, ...)."""
    return {"plait": lambda pl, dtype, *given: way(pl, getattr(pl, dtype), *given),
            "numpy": lambda np, dtype, *given: way(np, LONG_NAMES[dtype], *given),
            "torch": lambda torch, dtype, *given: way(torch, getattr(torch, LONG_NAMES[dtype]), *given),
            "jax": lambda jax, dtype, *given: way(jax.numpy, LONG_NAMES[dtype], *given)}


op("arange", lambda n, t: [t, n], dtypes=("i32",), **{**created(lambda lib, dtype, n: lib.arange(n, dtype=dtype)),
                                                    "plait": lambda pl, dtype, n: pl.iota(n, getattr(pl, dtype))})
op("linspace", lambda n, t: [t, n], dtypes=ONLY, **created(lambda lib, dtype, n: lib.linspace(0, 1, n, dtype=dtype)))
op("eye", lambda n, t: [t, math.isqrt(n)], dtypes=ALL, **created(lambda lib, dtype, side: lib.eye(side, dtype=dtype)))
op("full", lambda n, t: [t, n], dtypes=ALL, **created(lambda lib, dtype, n: lib.full((n,), 3, dtype=dtype)))
op("one_hot", lambda n, t: ["f32", draw("ids 64", (n // 64,), t, 0)], dtypes=ONLY, plait=lambda pl, _, ids: pl.one_hot(ids, 64),
   numpy=lambda np, _, ids: np.eye(64, dtype=np.float32)[ids], torch=lambda torch, _, ids: torch.nn.functional.one_hot(ids, 64),
   jax=lambda jax, _, ids: jax.nn.one_hot(ids, 64))
op("tril", plane, "tril", dtypes=ALL)
op("triu", plane, "triu", dtypes=ALL)
