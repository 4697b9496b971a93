"""The cases of compare.py: the same work for Plait and its peers, on the same numbers."""

import dataclasses

import numpy as np

LARGE = 1 << 24
SIDE = 4096  # side of a square of LARGE elements


@dataclasses.dataclass
class Case:
    name: str
    goal: float  # largest allowed ratio of Plait's time to the fastest other's
    setup: object  # returns NumPy arrays
    run: dict  # by contender: (library, *arguments) -> the result, which is compared
    prepare: dict  # by contender, if arguments need more than a conversion to tensors
    tolerance: float
    calls: int  # operations in one run

    @property
    def contenders(self):
        return list(self.run)


CASES = {}


def case(name, goal, setup, run=None, *, libraries=("plait", "numpy", "torch"), prepare=None, tolerance=1e-5, calls=1, **own):
    """`run` is shared by several libraries; `plait=` and the like are for one."""
    runs = {library: own.get(library, run) for library in (*libraries, *own)}
    CASES[name] = Case(name, goal, setup, runs, prepare or {}, tolerance, calls)


def load(library):
    """The library, in the process that times it."""
    if library == "numpy":
        return np
    if library == "plait":
        import plait

        return plait
    if library == "jax":
        import jax

        return jax
    import torch

    return torch


def arguments(each, contender, library):
    arrays = each.setup()
    to = {"numpy": lambda x: x, "plait": lambda x: library.asarray(x), "torch": lambda x: library.from_numpy(x),
          "jax": lambda x: library.numpy.asarray(x)}[contender]
    made = [to(x) for x in arrays]
    return each.prepare[contender](library, *made) if contender in each.prepare else made


def numbers(*shape, seed=1, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32).astype(dtype)


# ---- Few numbers: the overhead of an operation.


def sixteen():
    return [np.full(16, 1e-3, np.float32)]


def sums_in_a_row(_, x):
    y = x
    for _ in range(10_000):
        y = y + x
    return y


def products_in_a_row(x):
    y = x
    for _ in range(2_000):
        y = y * x
    return y


case("add 16 floats (Python)", 1 / 2, sixteen, sums_in_a_row, libraries=("plait", "torch"), calls=10_000)
case("gradient of 2,000 products of 16 floats (Python)", 1 / 2, lambda: [np.ones(16, np.float32)], libraries=(),
     plait=lambda pl, x: pl.grad(lambda x: pl.sum(products_in_a_row(x)))(x),
     torch=lambda torch, x: torch.autograd.grad(products_in_a_row(x).sum(), x)[0],
     prepare={"torch": lambda torch, x: [x.requires_grad_()]}, calls=2_000)

def model_of_200_leaves(library, x):
    """A jitted function of a model with 200 tensors, of which it uses two; and the model."""
    layers = {f"layer{i}": {"weight": x + i, "bias": x - i} for i in range(100)}
    return library.jit(lambda model, x: model["layer3"]["weight"] * x + model["layer3"]["bias"]), layers, x


def calls_in_a_row(library, function, model, x):
    for _ in range(1_000):
        x = function(model, x)
    return x


case("jitted function of 200 leaves (Python)", 1, sixteen, calls_in_a_row, libraries=("plait", "jax"), calls=1_000,
     prepare={"plait": model_of_200_leaves, "jax": model_of_200_leaves})

# ---- Many numbers.


def one():
    return [numbers(LARGE)]


def two():
    return [numbers(LARGE), numbers(LARGE, seed=2)]


def square():
    return [numbers(SIDE, SIDE)]


def places():
    return [numbers(LARGE), np.random.default_rng(3).integers(0, LARGE, LARGE)]


def rows():
    return [numbers(1 << 18, 64), np.random.default_rng(3).integers(0, 1 << 18, 1 << 18)]


def numpy_softmax(np, x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


case("add 16M", 1.1, two, lambda lib, a, b: a + b)
case("multiply 16M by a number", 1.1, one, lambda lib, a: a * 1.5)
case("exp 16M", 1.1, one, lambda lib, a: lib.exp(a))
case("tanh 16M", 1.1, one, lambda lib, a: lib.tanh(a))
case("sin 16M", 1.1, one, lambda lib, a: lib.sin(a))
case("where 16M", 1.1, two, lambda lib, a, b: lib.where(a > b, a, b))
case("sum 16M", 1.1, one, lambda lib, a: lib.sum(a), tolerance=1e-3)
case("max 16M", 1.1, one, lambda lib, a: lib.max(a))
case("argmax 16M", 1.1, one, lambda lib, a: lib.argmax(a), plait=lambda pl, a: pl.argmax(a, 0))
case("sum of rows 4096 x 4096", 1.1, square, lambda lib, a: lib.sum(a, 1), tolerance=1e-3)
case("sum of columns 4096 x 4096", 1.1, square, lambda lib, a: lib.sum(a, 0), tolerance=1e-3)
case("softmax of rows 4096 x 4096", 1.1, square, libraries=(), numpy=numpy_softmax,
     plait=lambda pl, x: pl.softmax(x, -1), torch=lambda torch, x: torch.softmax(x, -1))
case("sort 16M", 1.1, one, libraries=(), plait=lambda pl, x: pl.sort(x), numpy=lambda np, x: np.sort(x),
     torch=lambda torch, x: torch.sort(x)[0])
case("gather 16M of 16M", 1.1, places, libraries=(), plait=lambda pl, x, i: pl.take(x, i, 0),
     numpy=lambda np, x, i: np.take(x, i, 0), torch=lambda torch, x, i: torch.take(x, i))
case("gather 256k rows of 64", 1.1, rows, libraries=(), plait=lambda pl, x, i: pl.take(x, i, 0),
     numpy=lambda np, x, i: np.take(x, i, 0), torch=lambda torch, x, i: torch.index_select(x, 0, i))
case("transpose 4096 x 4096", 1.1, square, libraries=(), plait=lambda pl, x: pl.flatten(pl.matrix_transpose(x)),
     numpy=lambda np, x: x.T.ravel(), torch=lambda torch, x: x.T.reshape(-1))
case("concat 2 x 16M", 1.1, two, libraries=(), plait=lambda pl, a, b: pl.concat([a, b]),
     numpy=lambda np, a, b: np.concatenate([a, b]), torch=lambda torch, a, b: torch.cat([a, b]))


def matrices(size):
    return lambda: [numbers(size, size), numbers(size, size, seed=2)]


def narrow(library, *arrays):
    return [x.to(library.bfloat16) if hasattr(x, "to") else library.astype(x, library.bf16) for x in arrays]


def widened(library, x):
    return x.float() if hasattr(x, "float") else library.astype(x, library.f32)


for size in (512, 2048):
    case(f"matmul f32 {size}", 1.0, matrices(size), lambda lib, a, b: a @ b, tolerance=1e-2)
    case(f"matmul bf16 {size}", 1.03, matrices(size), libraries=(), tolerance=0.5,
         plait=lambda pl, a, b: a @ b, torch=lambda torch, a, b: a @ b, prepare={"plait": narrow, "torch": narrow})
