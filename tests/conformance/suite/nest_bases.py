"""Primitives as functions of one small array, for random nests of transforms (suite/nest_parts.py)."""

import dataclasses
import functools

import numpy as np
import plait

from suite import rules, table, values
from suite.cases import CASES
from suite.nest_libraries import array_of, jax_function

MOST_ELEMENTS = 40  # elements of all operands
MOST_RESULTS = 400
REACH = 0.1  # the distance by which operands move
MOST_ORDER = 4  # total order of derivatives: higher ones are only noise

# Primitives that are not nested. A primitive that is neither nested nor listed fails, and so does a listed one that is nested.
NOT_NESTED = {
    **dict.fromkeys(table.ALONG_NAMED_AXES, "needs a named axis: tests/python/transforms/named_axes_test.py"),
    **dict.fromkeys(("print", "check", "check_finite", "callback"), "an effect, which transforms repeat or leave out: tests/python/transforms/effects_test.py"),
    **dict.fromkeys(("nonzero", "unique"), "the size of its result depends on the numbers, so there is no vmap"),
    "draw_key": "gives another key at each call",
}


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
    for dtype in (plait.f64, plait.i64, plait.DType("bool"), plait.key):
        for sample in case.samples if dtype in case.dtypes else ():
            operands = case.operands_of(sample, dtype, random)
            if sum(x.size for x in operands) > MOST_ELEMENTS or not all(x.dtype.kind in "fibV" for x in operands):
                continue
            results = values.run(case, operands, sample.attributes)
            if sum(x.size for x in results) <= MOST_RESULTS and not any(x.dtype.kind == "c" for x in results):
                found.append((operands, sample.attributes))
    return found


def moving_of(case, operands):
    """The operands that move: those with derivatives of all orders, or else those with one of first order."""
    moving = [i for i, x in enumerate(operands) if rules._moves(x) and i not in case.fixed]
    return [i for i in moving if i not in case.once] or moving


def most_order_of(case):
    """The greatest total order of derivatives of nests over the primitive."""
    if not any(True for _ in differentiable([case])):
        return 0
    return 1 if any(i in case.once for operands, _ in samples_of(case.primitive.name) for i in moving_of(case, operands)) else MOST_ORDER


def _results_move(case, operands, attributes):
    return any(rules._moves(each) for each in rules._results(case, operands, attributes))


def differentiable(all_cases):
    for case in all_cases:
        has_rules = case.primitive.rules and "not_differentiable" not in case.primitive.rules
        if has_rules and not case.blocks_derivative and case.repeatable and samples_of(case.primitive.name):
            yield case


def of_values(all_cases):
    """The others that can be nested, without derivatives."""
    differentiated = {case.primitive.name for case in differentiable(all_cases)}
    for case in all_cases:
        is_plain = case.repeatable and not case.cannot_batch and case.family != "effects"
        if is_plain and case.primitive.name not in differentiated and value_samples_of(case.primitive.name):
            yield case


class Base:
    """x ↦ results of a primitive whose operands move along directions by the elements of x."""

    def __init__(self, case, number, sample, shape_in, shape_out):
        # A check may hold SciPy's source of random numbers, because of which jit would run host code at each call.
        self.case = dataclasses.replace(case, check=None)
        self.number, self.sample, self.shape_in, self.shape_out = number, sample, shape_in, shape_out
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
    compared, and all elements by the same, as they may be sorted; keys become others; integers beside the first operand stay."""

    def moved(self, m, x):
        step = m.np.round(4 * m.np.sum(m.array(array_of(self.shape_in, 5)) * x))
        operands = [m.array(each) for each in self.operands]
        for i, each in enumerate(self.operands):
            if each.dtype.kind == "f" and self.case.family == "random":  # within the range of probabilities and rates
                operands[i] = operands[i] * m.np.where(step > 0, 0.5, 1.0)
            elif each.dtype.kind == "f":
                operands[i] = operands[i] + step * (0.25 * (i + 1))
            elif each.dtype.kind == "V":
                operands[i] = plait.apply("fold_in", [operands[i], m.np.broadcast_to(m.np.astype(step, "int64"), each.shape)])
            elif i == 0:
                operands[i] = operands[i] != (step > 0) if each.dtype.kind == "b" else operands[i] + m.np.astype(step, "int64")
        return operands

    def numbers(self, m, results):
        drawn = [plait.apply("random_bits", [each], sizes=[2], dtype=plait.u32) if each.dtype.kind == "key" else each for each in results]
        return [m.np.astype(each, "float64") for each in drawn]


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


def problems(all_cases):
    """Primitives that are neither nested nor listed with a reason, or both."""
    nested = {case.primitive.name for among in (differentiable, of_values) for case in among(all_cases)}
    for name in plait.ops():
        if (name in nested) == (name in NOT_NESTED):
            yield f"{name}: is nested, but listed as not" if name in nested else f"{name}: no sample is nested: give it one, or a reason in NOT_NESTED"
    yield from (f"{name}: is listed, but not in the table" for name in set(NOT_NESTED) - set(plait.ops()))
