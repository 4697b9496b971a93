"""The parts of random nests: transforms of a function of one small array. The innermost function is a primitive
(suite/nest_bases.py).

Each part is written once for the libraries of suite/nest_libraries.py. Its options and constants are determined by a
number, its salt, so one line of text describes a whole nest."""

import dataclasses

import numpy as np
import plait

from suite.cases import CASES, load
from suite.nest_bases import base_of, most_order_of, samples_of, value_samples_of
from suite.nest_libraries import Unrolled, array_of

SHAPES_IN = ((), (0,), (1,), (2,), (3,), (1, 2))
SHAPES_OUT = ((), (0,), (1,), (2,))
PARTS = {}


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


def drawn(case, random):
    """A random nest over the primitive."""
    most_order = most_order_of(case)
    samples = samples_of(case.primitive.name) if most_order else value_samples_of(case.primitive.name)
    base = base_of(case, int(random.integers(len(samples))),
                   SHAPES_IN[random.integers(len(SHAPES_IN))], SHAPES_OUT[random.integers(len(SHAPES_OUT))])
    parts, order = [], 0
    for _ in range(random.integers(1, 5)):
        # A tensor that is already watched by the tape does not start it again, as in PyTorch; and remat keeps nothing
        # of what an outer tape tracks inside of it.
        has_tape = any(part.name == "backward" for part in parts)
        unfit = {"backward", "remat", "linear_in_remat"} if has_tape else set()
        if most_order == 1 and order:  # a rule of its own is recorded with one more derivative
            unfit |= {"custom_vjp", "custom_jvp"}
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
