"""The parts of random nests: a primitive as a function of one small array, and transforms of a function.

Each part is written once for the libraries of suite/nest_libraries.py. Its options and constants are determined by a
number, its salt, so one line of text describes a whole nest."""

import dataclasses
import functools

import numpy as np
import plait

from suite import rules
from suite.cases import CASES, load
from suite.nest_libraries import Unrolled, array_of, jax_function

MOST_ELEMENTS = 40  # elements of all operands
REACH = 0.1  # the distance by which operands move
SHAPES_IN = ((), (0,), (1,), (2,), (3,), (1, 2))
SHAPES_OUT = ((), (0,), (1,), (2,))
PARTS = {}


# ---- A primitive.

@functools.cache
def samples_of(name):
    """Operands and attributes to try, also of size 0, of a differentiable primitive."""
    case, random = CASES[name], np.random.default_rng(12)
    found = []
    for dtype in (plait.f64, plait.c128):
        for sample in case.samples if dtype in case.dtypes else ():
            operands = case.operands_of(sample, dtype, random)
            if sum(x.size for x in operands) > MOST_ELEMENTS or not moving_of(case, operands):
                continue
            if rules._has_derivative(case, operands, sample.attributes) and _results_move(case, operands, sample.attributes):
                found.append((operands, sample.attributes))
    return found


@functools.cache
def value_samples_of(name):
    """The same of a primitive that is nested without derivatives."""
    case, random = CASES[name], np.random.default_rng(12)
    found = []
    for dtype in (plait.f64, plait.i64, plait.DType("bool")):
        for sample in case.samples if dtype in case.dtypes else ():
            operands = case.operands_of(sample, dtype, random)
            if operands and sum(x.size for x in operands) <= MOST_ELEMENTS and all(x.dtype.kind in "fib" for x in operands):
                found.append((operands, sample.attributes))
    return found


def moving_of(case, operands):
    held = case.fixed + case.once
    return [i for i, x in enumerate(operands) if rules._moves(x) and i not in held]


def _results_move(case, operands, attributes):
    return any(rules._moves(each) for each in rules._results(case, operands, attributes))


def differentiable(all_cases):
    for case in all_cases:
        has_rules = case.primitive.rules and "not_differentiable" not in case.primitive.rules
        if has_rules and not case.blocks_derivative and case.path is None and case.repeatable and samples_of(case.primitive.name):
            yield case


def of_values(all_cases):
    """The others that can be nested, without derivatives."""
    differentiated = {case.primitive.name for case in differentiable(all_cases)}
    for case in all_cases:
        is_plain = case.repeatable and case.check is None and not case.cannot_batch and case.family not in ("effects", "random")
        if is_plain and case.primitive.name not in differentiated and value_samples_of(case.primitive.name):
            yield case


class Base:
    """x ↦ results of a primitive whose operands move along directions by the elements of x."""

    def __init__(self, case, number, sample, shape_in, shape_out):
        self.case, self.number, self.sample, self.shape_in, self.shape_out = case, number, sample, shape_in, shape_out
        self.operands, self.attributes = sample
        random = np.random.default_rng(number)
        count = int(np.prod(shape_in, dtype=int))
        self.directions = {i: REACH * np.stack([np.asarray(rules._direction(case, random, i, self.operands[i]))
                                                for _ in range(max(1, count))])[:count]
                           for i in moving_of(case, self.operands)}

    def __str__(self):
        return f"{self.case.primitive.name}[{self.number}] {self.shape_in}->{self.shape_out}".replace(", ", ",")

    @functools.cached_property
    def in_jax(self):
        return jax_function(self)

    def with_results(self, shape_out):
        return type(self)(self.case, self.number, self.sample, self.shape_in, shape_out)

    def moved(self, m, x):
        operands = [m.array(each) for each in self.operands]
        for i, directions in self.directions.items():
            along = m.np.reshape(x, (-1 if x.size else 0,) + (1,) * (directions.ndim - 1)) * m.array(directions)
            operands[i] = operands[i] + m.np.sum(along, axis=0)
        return operands

    def numbers(self, m, results):
        return [each for each in results if m.is_inexact(each)]

    def __call__(self, m, x):
        results = m.primitive(self, self.moved(m, x))
        if self.case.invariants is not None:
            results = self.case.invariants(*results, np=m.np)
        moving = self.numbers(m, results)
        numbers = [sum(_weighed(m, each, 3 * k + 7 * r) for r, each in enumerate(moving))
                   for k in range(max((1, *self.shape_out)))]
        if self.shape_out == ():
            return numbers[0]
        return m.np.stack(numbers)[:self.shape_out[0]]


class ValuesBase(Base):
    """The same for a primitive without a derivative. Operands move by whole multiples of 1/4, as rounding would change what is
    compared, and all elements by the same, as they may be sorted; integers beside the first operand stay."""

    def moved(self, m, x):
        step = m.np.round(4 * m.np.sum(m.array(array_of(self.shape_in, 5)) * x))
        operands = [m.array(each) for each in self.operands]
        for i, each in enumerate(self.operands):
            if each.dtype.kind == "f":
                operands[i] = operands[i] + step * (0.25 * (i + 1))
            elif i == 0:
                operands[i] = operands[i] != (step > 0) if each.dtype.kind == "b" else operands[i] + m.np.astype(step, "int64")
        return operands

    def numbers(self, m, results):
        return [m.np.astype(each, "float64") for each in results]


def base_of(case, number, shape_in, shape_out):
    name = case.primitive.name
    if any(True for _ in differentiable([case])):
        return Base(case, number, samples_of(name)[number], shape_in, shape_out)
    return ValuesBase(case, number, value_samples_of(name)[number], shape_in, shape_out)


def _weighed(m, x, salt):
    """Re Σ w · x."""
    if not m.is_complex(x):
        return m.np.sum(m.array(array_of(x.shape, salt)) * x)
    return m.np.sum(m.np.real(m.array(array_of(x.shape, salt) + 1j * array_of(x.shape, salt + 1)) * x))


# ---- Parts.

def part(order):
    def add(make):
        PARTS[make.__name__] = (make, order)
        return make

    return add


def number(m, y, salt):
    return m.np.sum(m.array(array_of(y.shape, salt)) * y)


def small(m, y, salt):
    """Reduces many numbers to two."""
    return y if y.size <= 6 else m.np.stack([number(m, y, salt), number(m, y, salt + 1)])


def over_lanes(m, many, salt, axis=0):
    weights = array_of((many.shape[axis],), salt)
    many = m.np.moveaxis(many, axis, 0)
    return m.np.sum(m.np.reshape(m.array(weights), weights.shape + (1,) * (many.ndim - 1)) * many, axis=0)


def at_itself(m, take, f, salt):
    """take(f), or for every other salt of f times a number computed from the outer x."""
    if salt % 2 == 0:
        return take(f)
    return lambda x: take(lambda z: f(z) * (1 + 0.3 * m.np.sum(x)))(x)


def _gradient(way):
    def make(m, f, salt):
        return at_itself(m, getattr(m, way), lambda z: number(m, f(z), salt), salt)

    make.__name__ = way
    return part(2 if way == "hessian" else 1)(make)


def _matrix(way):
    def make(m, f, salt):
        matrix = at_itself(m, getattr(m, way), f, salt)
        return lambda x: small(m, matrix(x), salt)

    make.__name__ = way
    return part(1)(make)


for _each in ("grad", "taped", "backward"):
    _gradient(_each)
for _each in ("jacfwd", "jacrev"):
    _matrix(_each)


@part(2)
def hessian(m, f, salt):
    matrix = at_itself(m, m.hessian, lambda z: number(m, f(z), salt), salt)
    return lambda x: small(m, matrix(x), salt)


@part(2)
def hessian_of_all(m, f, salt):
    return lambda x: small(m, m.hessian(f)(x), salt)


@part(1)
def jvp(m, f, salt):
    """jvp along a direction, which depends on x for every other salt."""
    def along(x):
        tangent = m.array(array_of(x.shape, salt))
        return m.jvp(f, x, tangent + 0.5 * x if salt % 2 else tangent)

    return along


@part(1)
def linearize(m, f, salt):
    def along(x):
        value, push = m.linearize(f, x)
        return push(m.array(array_of(x.shape, salt))) + 0.5 * value

    return along


@part(1)
def vjp(m, f, salt):
    def back(x):
        value, pull = m.vjp(f, x)
        cotangent = m.array(array_of(value.shape, salt))
        return pull(cotangent * value if salt % 2 else cotangent)

    return back


def _linear(m, f, x, salt):
    """The linear function at x, created outside of the place where it is used: push or pull, with its arguments."""
    if salt % 2:
        _, push = m.linearize(f, x)
        return push, x.shape
    value, pull = m.vjp(f, x)
    return pull, value.shape


def _linear_part(use):
    def make(m, f, salt):
        def at(x):
            linear, shape = _linear(m, f, x, salt)
            return use(m, linear, m.array(array_of((1 + salt % 3, *shape), salt)), salt)

        return at

    make.__name__ = use.__name__
    return part(1)(make)


@_linear_part
def linear_in_vmap(m, linear, many, salt):
    return over_lanes(m, m.vmap(linear)(many), salt)


@_linear_part
def linear_in_map(m, linear, many, salt):
    return over_lanes(m, m.map(linear, many), salt)


@_linear_part
def linear_in_scan(m, linear, many, salt):
    start = m.array(array_of((), salt)) * 0
    return over_lanes(m, m.scan(lambda c, u: (c + m.np.sum(u), linear(u) + c), start, many)[1], salt)


@_linear_part
def linear_in_cond(m, linear, many, salt):
    return m.cond(number(m, many, salt) > 0, lambda u: 2 * linear(u), lambda u: linear(3 * u), many[0])


@_linear_part
def linear_in_loop(m, linear, many, salt):
    return m.for_loop(0, 2, lambda i, total: total + linear(many[0]), linear(many[-1]))


@_linear_part
def linear_in_remat(m, linear, many, salt):
    return m.remat(linear)(many[0])


@_linear_part
def linear_in_jit(m, linear, many, salt):
    return m.jit(linear)(many[0])


@part(0)
def vmap(m, f, salt):
    scales, axis = array_of((salt % 4,), salt), salt % 3 - 1  # along the first, or to or from the last

    def of_many(x):
        if salt % 5 == 0:
            return over_lanes(m, m.vmap(lambda s: f(s * x))(m.array(scales)), salt)
        many = x * m.np.reshape(m.array(scales), scales.shape + (1,) * x.ndim)
        if axis == -1:
            return over_lanes(m, m.vmap(f, in_axes=-1)(m.np.moveaxis(many, 0, -1)), salt)
        return over_lanes(m, m.vmap(f, out_axes=-axis)(many), salt, axis=-axis)

    return of_many


@part(0)
def jit(m, f, salt):
    return m.jit(f)


@part(0)
def traced(m, f, salt):
    return m.traced(f)


@part(0)
def remat(m, f, salt):
    return m.remat(f, policy=("nothing", "dots", "everything")[salt % 3])


@part(0)
def scan(m, f, salt):
    def steps(x):
        def step(carry, s):
            return 0.9 * carry + 0.1 * s * x, f(carry)

        last, given = m.scan(step, x, m.array(array_of((salt % 3,), salt)))
        return over_lanes(m, given, salt) + m.np.sum(last)

    return steps


@part(0)
def cond(m, f, salt):
    def branch(x):
        if salt % 2:
            return m.cond(number(m, x, salt) > 0, lambda: f(x), lambda: 2 * f(0.5 * x))
        return m.cond(number(m, x, salt) > 0, f, lambda z: 2 * f(0.5 * z), x)

    return branch


@part(0)
def switch(m, f, salt):
    return lambda x: m.switch(m.array(salt % 3), [f, lambda z: 2 * f(0.5 * z), lambda z: f(z) + m.np.sum(z)], x)


@part(0)
def while_loop(m, f, salt):
    def loop(x):
        def step(carry):
            i, z, total = carry
            return i + 1, 0.8 * z, total + f(z)

        return m.while_loop(lambda carry: carry[0] < salt % 3, step, (m.counter(), x, 0.5 * f(x)))[2]

    return loop


@part(0)
def recursion(m, f, salt):
    return m.recursion(f, salt % 3)


@part(0)
def custom_vjp(m, f, salt):
    return m.custom_vjp(f)


@part(0)
def custom_jvp(m, f, salt):
    return m.custom_jvp(f)


# ---- Nests.

@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    salt: int

    def __str__(self):
        return f"{self.name}:{self.salt}"

    @property
    def order(self):
        return PARTS[self.name][1]


class Nest:
    def __init__(self, base, parts):
        self.base, self.parts = base, parts

    def __str__(self):
        return " ".join([str(self.base), "|", *map(str, self.parts)])

    @property
    def order(self):
        return sum(part.order for part in self.parts)

    def without(self, i):
        return Nest(self.base, self.parts[:i] + self.parts[i + 1:])

    def is_finite(self):
        """True also for empty results: derivatives of nothing are 0 in one way, and 0 · ∞ in another."""
        some = self.base.with_results((1,)) if self.base.shape_out == (0,) else self.base
        return np.isfinite(Nest(some, self.parts).run(Unrolled())).all()

    def run(self, library, outermost=None):
        """The result, as an array. `outermost` is the library of the outermost derivative, if it is a different one."""
        derivatives = [i for i, part in enumerate(self.parts) if part.order]

        def f(x):
            return self.base(library, x)

        for i, each in enumerate(self.parts):
            m = outermost if outermost is not None and i == derivatives[-1] else library
            f = PARTS[each.name][0](m, f, each.salt)
        found = f(library.array(0.4 * array_of(self.base.shape_in, 2)))
        return found.numpy() if isinstance(found, plait.Tensor) else np.asarray(found)


def drawn(case, random, most_order):
    """A random nest over the primitive with at most that total order of derivatives; 0 if it has none."""
    samples = samples_of(case.primitive.name) if most_order else value_samples_of(case.primitive.name)
    base = base_of(case, int(random.integers(len(samples))),
                   SHAPES_IN[random.integers(len(SHAPES_IN))], SHAPES_OUT[random.integers(len(SHAPES_OUT))])
    parts, order = [], 0
    for _ in range(random.integers(1, 5)):
        # A tensor that is already watched by the tape does not start it again, as in PyTorch; and remat keeps nothing
        # of what an outer tape tracks inside of it.
        has_tape = any(part.name == "backward" for part in parts)
        unfit = {"backward", "remat", "linear_in_remat"} if has_tape else set()
        fitting = [name for name, (_, own) in PARTS.items() if order + own <= most_order and name not in unfit]
        parts.append(Part(fitting[random.integers(len(fitting))], int(random.integers(60))))
        order += parts[-1].order
    return Nest(base, parts)


def parse(text):
    """Parses the line of text of a nest."""
    load()
    words, parts = text.split("|")
    name, shapes = words.split()
    shape_in, shape_out = (eval(each, {}) for each in shapes.split("->"))  # tuples of numbers
    name, count = name.rstrip("]").split("[")
    pairs = [each.split(":") for each in parts.split()]
    return Nest(base_of(CASES[name], int(count), shape_in, shape_out), [Part(name, int(salt)) for name, salt in pairs])
