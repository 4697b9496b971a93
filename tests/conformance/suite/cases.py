"""Declarations of test cases: an oracle, the operands to try, and the tolerance of the results."""

import dataclasses
import importlib
import os
import pathlib

import numpy as np
import plait

from suite import oracles

CASES = {}  # by primitive
UNKNOWN = []  # primitives that have cases, but are not in the table
ELEMENTWISE_SHAPES = ((), (0,), (1,), (7,), (3, 5), (2, 0, 3), (4, 1, 3), (2, 3, 2, 2))
LARGE = (1_000_003,)
MOST_ELEMENTS = 5_000
ALL_SIZES = os.environ.get("PLAIT_SIZES") == "all"  # small samples with every dtype


@dataclasses.dataclass(frozen=True)
class Sample:
    """The shapes of operands, or arrays instead of shapes, and the attributes."""

    operands: tuple
    attributes: dict = dataclasses.field(default_factory=dict)
    large: bool = False  # tried once, with one dtype

    def __str__(self):
        shapes = [each.shape if isinstance(each, np.ndarray) else each for each in self.operands]
        attributes = [f"{name}={value}" for name, value in self.attributes.items()]
        return ", ".join(map(str, shapes + attributes))


@dataclasses.dataclass
class Case:
    primitive: plait.Primitive
    family: str
    oracle: callable  # a function of NumPy arrays that returns an array, or a tuple of them
    samples: list
    tolerance: str  # a class of suite/tolerances.py
    draw: callable  # (random, shape, dtype, operand) -> array
    scale: callable = None  # the magnitude that errors are relative to, if it is not the result's
    # True if the oracle receives wider numbers than the primitive: False for dtypes that it supports, None never.
    wide: bool | None = True
    extended: bool = False  # it also supports longdouble
    dtypes: tuple = ()  # dtypes of the first operand that is drawn
    operand_dtypes: callable = None  # a function from dtype to the dtype of each operand
    result_dtype: callable = None  # a function of (dtype, attributes), if Plait's result dtype is not the oracle's
    # None: that of the first operand
    special: bool = True
    zero_signs: bool = True  # True if 0 and -0 are distinguished
    specials: tuple = ()  # samples of special values in f64, for a primitive that is not elementwise
    large: bool = True
    small: bool = True  # also tried with other sizes than those of the samples
    direction: callable = None  # (random, operand, array): the direction in which an operand may move; by default any
    # The part of the results that is unique, for comparing derivatives; receives the results and the library to compute
    # with.
    invariants: callable = None
    # (moved operands, operands, results, attributes): the results along which derivatives are defined, if the
    # derivative is not that of the computation itself.
    path: callable = None
    fixed: tuple = ()  # operands that are not differentiated, such as the order of a derivative
    once: tuple = ()  # operands with a first derivative, but no second one
    blocks_derivative: bool = False  # the rule is zero on purpose
    no_loops: str = ""  # the reason why the loops of the signature cannot compute what the kernel computes
    cannot_batch: str = ""  # the reason why its batching rule refuses
    repeatable: bool = True  # equal operands produce equal results
    check: callable = None  # (operands, results, attributes) -> what is wrong, if there is no oracle

    @property
    def has_loops(self):
        primitive = self.primitive
        return primitive.has_signature and not self.no_loops and (primitive.has_body or primitive.least_operands == 1)

    def dtypes_of(self, dtype):
        if self.operand_dtypes is not None:
            return self.operand_dtypes(dtype)
        return [dtype] * 64

    def operands_of(self, sample, dtype, random):
        dtypes = self.dtypes_of(dtype)
        return [given if isinstance(given, np.ndarray) else self.draw(random, given, dtypes[i], i)
                for i, given in enumerate(sample.operands)]


def numbers(low=-3.0, high=3.0):
    """Draws between the two bounds; integers include both."""

    def draw(random, shape, dtype, operand):
        least, most = (low[operand], high[operand]) if isinstance(low, tuple) else (low, high)
        to = plait.inside.arrays.interop.numpy_dtype(dtype)
        if dtype.kind == "boolean":
            return random.integers(0, 2, shape).astype(bool)
        if dtype.kind == "key":
            return random.integers(0, 2**63, (*shape, 2), dtype=np.uint64).view(to).reshape(shape)
        if dtype.kind == "integer":
            bottom = max(int(np.ceil(least)), np.iinfo(to).min)
            return random.integers(bottom, int(np.floor(most)), shape, dtype=np.int64, endpoint=True).astype(to)
        values = random.uniform(least, most, shape)
        if dtype.kind == "complex":  # with about that magnitude
            values = values * np.exp(1j * random.uniform(-1, 1, shape))
        return np.asarray(values).astype(to)

    return draw


def small_samples(case, like=None):
    """(sample, dtype): the samples with 0 or 1 in place of their sizes. The dtype is `like` if the case has it, else
    dtypes alternate. Some of these samples are refused."""
    for number, sample in enumerate(_small_samples(case)):
        turn = like if like in case.dtypes else case.dtypes[number % len(case.dtypes)]
        for dtype in case.dtypes if ALL_SIZES else (turn,):
            yield sample, dtype


def _small_samples(case):
    seen = {str(sample) for sample in case.samples}
    for sample in case.samples if case.small else ():
        shapes = [each.shape if isinstance(each, np.ndarray) else each for each in sample.operands]
        if sum(map(np.prod, shapes)) > MOST_ELEMENTS:
            continue
        for instead in _small_sizes({size for shape in shapes for size in shape if size > 1}):
            small = Sample(tuple(_with_sizes(each, instead) for each in sample.operands), sample.attributes)
            if str(small) not in seen:
                seen.add(str(small))
                yield small


def _small_sizes(sizes):
    """The replaced sizes: one of them 0 or 1, all of them, one 0 and the others 1."""
    for small in 0, 1:
        yield dict.fromkeys(sizes, small)
    for size in sorted(sizes):
        yield {size: 0}
        yield {size: 1}
        yield {**dict.fromkeys(sizes, 1), size: 0}


def _with_sizes(operand, instead):
    if isinstance(operand, np.ndarray):
        return operand[(..., *(slice(instead.get(size, size)) for size in operand.shape))]
    return tuple(instead.get(size, size) for size in operand)


def case(name, oracle, *, family, samples=None, tolerance=None, low=None, high=None, draw=None, **options):
    """Adds the case of a primitive. By default an elementwise one has all shapes, and the accuracy and the domain that it
    is declared with."""
    primitive = plait.ops().get(name)
    if primitive is None:
        UNKNOWN.append(name)
        return
    if name in CASES:
        raise ValueError(f"{name} has two cases")
    if samples is None:
        samples = [(shape,) * primitive.least_operands for shape in ELEMENTWISE_SHAPES]
    samples = [each if isinstance(each, Sample) else Sample(tuple(each)) for each in samples]
    options.setdefault("dtypes", primitive.takes)
    options.setdefault("extended", isinstance(oracle, np.ufunc) and any("g" in types for types in oracle.types))
    options.setdefault("large", primitive.elementwise != "no")
    if low is None:
        low, high = zip(*primitive.domain) if primitive.domain else (-3.0, 3.0)
    CASES[name] = Case(primitive, family, oracle, samples, tolerance or primitive.accuracy or "exact", draw or numbers(low, high),
                       **options)


def add_declared_cases():
    """The cases of elementwise primitives whose oracle is one function of NumPy or SciPy: their declarations say all."""
    for name, primitive in plait.ops().items():
        if name not in CASES and primitive.elementwise != "no" and (oracle := oracles.named_by(primitive)) is not None:
            case(name, oracle, family="special" if primitive.accuracy == "special" else "elementwise")


def load(family=None):
    """Imports the families; returns the cases of one of them, or all."""
    folder = pathlib.Path(__file__).resolve().parent.parent / "families"
    for file in sorted(folder.glob("*.py")):
        if not file.stem.startswith("_"):
            importlib.import_module(f"families.{file.stem}")
    add_declared_cases()
    return [each for each in CASES.values() if family in (None, each.family)]


def families():
    return sorted({each.family for each in load()})
