"""Recurrences over steps and states, in which each state is reached from itself and from the two before it."""

import numpy as np

from suite.cases import Sample, case

FAMILY = "lattice"
SHAPES = [(4, 5), (1, 1), (4, 1), (1, 5), (3, 2), (0, 3), (3, 0), (2, 4, 5), (2, 0, 3, 4), (33, 21)]
NONE = -np.inf


def walk(step, nothing, from_itself, from_neighbour, from_second, begun):
    result = np.zeros_like(begun)
    steps, states = begun.shape[-2:]
    before = np.full((*begun.shape[:-2], states + 2), nothing, begun.dtype)
    for at in range(steps):
        held = [before[..., 2 - k:states + 2 - k] for k in range(3)]
        ways = [step(way[..., at, :], h) for way, h in zip((from_itself, from_neighbour, from_second), held)]
        result[..., at, :] = joined(nothing, [begun[..., at, :], *ways])
        before[..., 2:] = result[..., at, :]
    return result


def joined(nothing, terms):
    return np.sum(terms, 0) if nothing == 0 else np.logaddexp.reduce(terms, 0)


def both_ways(forward):
    def oracle(*operands, reverse=False):
        if not reverse:
            return forward(*operands)
        return np.flip(forward(*[np.flip(x, (-2, -1)) for x in operands]), (-2, -1))

    return oracle


def recurrence(*operands):
    return walk(np.multiply, 0, *operands)


def logsumexp(*operands):
    return walk(np.add, NONE, *operands)


samples = [Sample((shape,) * 4, {"reverse": reverse}) for shape in SHAPES for reverse in (False, True)]
OPEN = np.array([[NONE, 0.5, NONE], [1.0, NONE, NONE], [NONE, NONE, 2.0]])
SHUT = np.full((3, 3), NONE)
case("lattice_recurrence", both_ways(recurrence), family=FAMILY, large=False, tolerance="normalised", low=-0.5, high=0.5,
     scale=lambda *operands, reverse=False: both_ways(recurrence)(*map(np.abs, operands), reverse=reverse), samples=samples)
case("lattice_logsumexp", both_ways(logsumexp), family=FAMILY, large=False, tolerance="normalised",
     scale=lambda *operands, reverse=False: 3 + np.abs(both_ways(logsumexp)(*operands, reverse=reverse)), samples=samples,
     specials=[Sample((OPEN, OPEN, SHUT, OPEN), {}), Sample((SHUT, OPEN, OPEN, OPEN), {"reverse": True}),
               Sample((SHUT, SHUT, SHUT, SHUT), {})])
