"""What a family says of its primitives: an oracle, the operands to try, how near the results must be."""

import dataclasses
import importlib
import os
import pathlib

import numpy as np
import plait

CASES = {}  # by primitive
UNKNOWN = []  # primitives that have cases, but are not in the table
ELEMENTWISE_SHAPES = ((), (0,), (1,), (7,), (3, 5), (2, 0, 3), (4, 1, 3), (2, 3, 2, 2))
LARGE = (1_000_003,)
MOST_ELEMENTS = 5_000
ALL_SIZES = os.environ.get("PLAIT_SIZES") == "all"  # small samples with every dtype


@dataclasses.dataclass(frozen=True)
class Sample:
    """Operands of these shapes, or these very arrays in place of shapes, and the attributes."""

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
    oracle: callable  # of NumPy's arrays; gives an array, or a tuple of them
    samples: list
    tolerance: str  # a class of suite/tolerances.py
    draw: callable  # (random, shape, dtype, operand) -> array
    scale: callable = None  # the magnitude that errors are measured by, where it is not the result's
    # Whether the oracle is given wider numbers than the primitive: False for those that it has a dtype for, None never.
    wide: bool | None = True
    extended: bool = False  # it also takes longdouble
    dtypes: tuple = ()  # of the first operand that is drawn
    operand_dtypes: callable = None  # dtype -> that of each operand
    result_dtype: callable = None  # (dtype, attributes) -> plait's dtype, where the oracle's is not it;
    # None: that of the first operand
    special: bool = True
    zero_signs: bool = True  # whether 0 and -0 are told apart
    specials: tuple = ()  # samples of special values in f64, of a primitive that is not elementwise
    large: bool = True
    small: bool = True  # tried with other sizes than the samples say
    direction: callable = None  # (random, operand, array): which way an operand may move; else any
    # Of the results, and the library to compute with: what of them is unique, where derivatives are compared.
    invariants: callable = None
    # (moved operands, operands, results, attributes): what the results are to become as the operands move, where the
    # derivative is not that of what is computed.
    path: callable = None
    fixed: tuple = ()  # operands that are not differentiated, such as the order of a derivative
    once: tuple = ()  # operands by which there is a derivative, but no second one
    blocks_derivative: bool = False  # the rule says zero on purpose
    no_loops: str = ""  # why the loops of the signature cannot give what the kernel gives
    cannot_batch: str = ""  # why its batching rule refuses
    repeatable: bool = True  # the same operands give the same results
    check: callable = None  # (operands, results, attributes) -> what is wrong, where no oracle can tell

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
    """Draws between the two; whole numbers also where they are whole."""

    def draw(random, shape, dtype, operand):
        least, most = (low[operand], high[operand]) if isinstance(low, tuple) else (low, high)
        to = plait.interop.numpy_dtype(dtype)
        if dtype.kind == "boolean":
            return random.integers(0, 2, shape).astype(bool)
        if dtype.kind == "key":
            return random.integers(0, 2**63, (*shape, 2), dtype=np.uint64).view(to).reshape(shape)
        if dtype.kind == "integer":
            bottom = max(int(np.ceil(least)), np.iinfo(to).min)
            return random.integers(bottom, int(np.floor(most)), shape, dtype=np.int64, endpoint=True).astype(to)
        values = random.uniform(least, most, shape)
        if dtype.kind == "complex":  # of about that magnitude
            values = values * np.exp(1j * random.uniform(-1, 1, shape))
        return np.asarray(values).astype(to)

    return draw


def small_samples(case, like=None):
    """(sample, dtype): its samples with 0 or 1 in place of their sizes. The dtype is `like` where there is that one, else
    they take turns. Some are refused."""
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
    """What they become: one of them 0 or 1, all of them, one 0 and the others 1."""
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


def case(name, oracle, *, family, samples=None, tolerance="exact", low=-3.0, high=3.0, draw=None, **options):
    """Adds the case of a primitive. Without samples: all shapes of elementwise operands."""
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
    options.setdefault("extended", isinstance(oracle, np.ufunc))
    options.setdefault("large", primitive.elementwise != "no")
    CASES[name] = Case(primitive, family, oracle, samples, tolerance, draw or numbers(low, high), **options)


def load(family=None):
    """Reads the families; gives the cases of one of them, or all."""
    folder = pathlib.Path(__file__).resolve().parent.parent / "families"
    for file in sorted(folder.glob("*.py")):
        if not file.stem.startswith("_"):
            importlib.import_module(f"families.{file.stem}")
    return [each for each in CASES.values() if family in (None, each.family)]


def families():
    return sorted({each.family for each in load()})
