"""Derivatives through plait.jvp, vjp and grad: forward mode compared with differences, reverse mode with forward
mode by dot products, and each nesting of the two. Complex numbers are paired with tangents by Re(c · t)."""

import numpy as np
import plait

from suite import rules, values

EXACT = 1e-8  # relative difference allowed between two ways of computing the same derivative
LEAST_SIZE = 1e-6


class Smooth:
    """A primitive at some operands, as a function of the operands that move."""

    def __init__(self, case, operands, attributes, random, order=1):
        self.case, self.attributes, self.operands = case, attributes, operands
        held = case.fixed + (case.once if order > 1 else ())
        self.moving = [i for i, x in enumerate(operands) if rules._moves(x) and x.size and i not in held]
        self.points = [plait.borrow(operands[i]) for i in self.moving]
        self.directions = [plait.borrow(np.asarray(rules._direction(case, random, i, operands[i]))) for i in self.moving]
        results = rules._results(case, operands, attributes)
        # Weights without a simple ratio, so that no symmetry hides a shift.
        self.weights = [plait.borrow(np.asarray(rules._direction(case, random, -1, x) if case.direction is None
                                                else random.uniform(-1, 1, x.shape)).astype(x.dtype))
                        if rules._moves(x) else None for x in results]

    def given(self):
        """The operands as tensors."""
        return [plait.borrow(x) for x in self.operands]

    def __call__(self, *points):
        """The differentiable results."""
        given = self.given()
        for i, point in zip(self.moving, points):
            given[i] = point
        results = plait.apply(self.case.primitive.name, given, **self.attributes)
        results = results if isinstance(results, tuple) else (results,)
        if self.case.invariants is not None:
            results = self.case.invariants(*results, np=plait)
        return [each for each, weight in zip(results, self.weights) if weight is not None]

    def number(self, *points):
        """Re Σ w · r, a number that depends on every element of every result."""
        weights = [weight for weight in self.weights if weight is not None]
        return _sum(_inner(weight, each) for weight, each in zip(weights, self(*points)))

    @property
    def is_smooth(self):
        return bool(self.moving) and any(weight is not None and weight.size for weight in self.weights)

    def arrays(self, tensors):
        """All operands, with the given ones in place of those that move."""
        all_of = [None] * len(self.operands)
        for i, tensor in zip(self.moving, tensors):
            all_of[i] = tensor.numpy()
        return all_of


def _inner(a, b):
    return plait.sum(plait.real(a * b)) if b.dtype.kind == "complex" else plait.sum(a * b)


def _sum(terms):
    terms = list(terms)
    return sum(terms[1:], terms[0])


def _samples(case, quick, order=1):
    """Samples that can be differentiated `order` times, with their functions."""
    random = np.random.default_rng(11)
    found = {}
    for sample, operands in rules._samples(case, quick):
        kind = operands[0].dtype.kind if operands else "f"
        found[kind] = found.get(kind, 0) + 1
        if found[kind] > (3 if quick else 6):
            continue
        if not case.blocks_derivative and case.primitive.rules and "not_differentiable" not in case.primitive.rules:
            smooth = Smooth(case, operands, sample.attributes, random, order)
            if smooth.is_smooth and rules._has_derivative(case, operands, sample.attributes):
                yield sample, smooth


def _differ(a, b, size):
    return abs(a - b) > EXACT * max(LEAST_SIZE, size)


def _size(tensors, others):
    return float(sum(np.sum(np.abs(a.numpy()) * np.abs(b.numpy())) for a, b in zip(tensors, others)))


def check_jvp(case, quick=False):
    """Forward mode compared with difference quotients."""
    for sample, f in _samples(case, quick):
        tangents = iter(plait.jvp(f, f.points, f.directions)[1])
        directions = f.arrays(f.directions)
        for k, weight in enumerate(f.weights):
            if weight is None:
                continue
            if wrong := rules._wrong(next(tangents).numpy(), case, f.operands, directions, sample.attributes, k):
                yield f"{f.operands[f.moving[0]].dtype} ({sample}) result {k}: {wrong}"


def check_vjp(case, quick=False):
    """Re <w, J v> = Re <Jᵀ w, v>."""
    for sample, f in _samples(case, quick):
        weights = [weight for weight in f.weights if weight is not None]
        _, pull = plait.vjp(f, *f.points)
        cotangents = pull(weights)
        _, tangents = plait.jvp(f, f.points, f.directions)
        left = _sum(_inner(w, t) for w, t in zip(weights, tangents)).item()
        right = _sum(_inner(c, v) for c, v in zip(cotangents, f.directions)).item()
        if _differ(left, right, max(_size(weights, tangents), _size(cotangents, f.directions))):
            yield f"{f.operands[f.moving[0]].dtype} ({sample}): <w, Jv> = {left}, <Jᵀw, v> = {right}"


def _gradient(f, *points):
    return plait.grad(f.number, argnums=tuple(range(len(points))))(*points)


def _slope(f, *points):
    """The derivative along f.directions."""
    return plait.jvp(f.number, points, f.directions)[1]


def _second_derivatives(f):
    """The derivative of the gradient along f.directions, in three ways."""
    every = tuple(range(len(f.points)))
    yield "forward over reverse", lambda *x: plait.jvp(lambda *y: _gradient(f, *y), x, f.directions)[1]
    yield "reverse over forward", lambda *x: plait.grad(lambda *y: _slope(f, *y), argnums=every)(*x)
    yield "reverse over reverse", lambda *x: plait.grad(
        lambda *y: _sum(_inner(v, g) for v, g in zip(f.directions, _gradient(f, *y))), argnums=every)(*x)


def _unlike(found, wanted):
    """A description of how two lists of tensors differ; None if they do not."""
    for i, (a, b) in enumerate(zip(found, wanted)):
        a, b = a.numpy(), b.numpy()
        size = max(1.0, float(np.max(np.abs(b), initial=0)))
        with np.errstate(invalid="ignore"):
            bad = ~(np.abs(a - b) <= EXACT * 10 * size) & ~(np.isnan(a) & np.isnan(b))
        if bad.any():
            place = tuple(int(k[0]) for k in np.nonzero(bad)) if bad.ndim else ()
            return f"{a[place]!r} at {list(place)} of operand {i}, otherwise {b[place]!r}"
    return None


def _quotient(function, f, step):
    ahead = function(*[x + step * v for x, v in zip(f.points, f.directions)])
    behind = function(*[x - step * v for x, v in zip(f.points, f.directions)])
    return [((a - b) / (2 * step)).numpy() for a, b in zip(ahead, behind)]


def _unlike_quotients(found, function, f):
    """A description of how tensors differ from the difference quotients of a function, where it is differentiable."""
    wide, near = _quotient(function, f, rules.STEP), _quotient(function, f, rules.STEP / 2)
    for i, (tensor, first, second) in enumerate(zip(found, wide, near)):
        smooth = rules._smooth(first, second) & np.isfinite(second)
        with np.errstate(invalid="ignore"):
            bad = smooth & ~(np.abs(tensor.numpy() - second) <= 1e-4 * np.maximum(1, np.abs(second)))
        if bad.any():
            place = tuple(int(k[0]) for k in np.nonzero(bad)) if bad.ndim else ()
            return f"{tensor.numpy()[place]!r} at {list(place)} of operand {i}, by differences {second[place]!r}"
    return None


def check_second(case, quick=False):
    """Each mode over the other compared with differences of the gradient, and with each other."""
    for sample, f in _samples(case, quick, order=2):
        name = f"{f.operands[f.moving[0]].dtype} ({sample})"
        first = None
        for way, derivative in _second_derivatives(f):
            found = derivative(*f.points)
            if first is None:
                first = found
                if wrong := _unlike_quotients(found, lambda *x: _gradient(f, *x), f):
                    yield f"{name} {way}: {wrong}"
            elif wrong := _unlike(found, first):
                yield f"{name} {way}: {wrong}"


def check_third(case, quick=False):
    """Along one direction: forward over forward over reverse, compared with reverse over forward over forward."""
    for sample, f in _samples(case, quick=True, order=3):
        def second(*points):
            return plait.jvp(lambda *y: _slope(f, *y), points, f.directions)[1]

        every = tuple(range(len(f.points)))
        third = plait.grad(second, argnums=every)(*f.points)
        other = plait.jvp(lambda *x: plait.jvp(lambda *y: _gradient(f, *y), x, f.directions)[1], f.points, f.directions)[1]
        if wrong := _unlike(third, other):
            yield f"{f.operands[f.moving[0]].dtype} ({sample}): {wrong}"


def check_staged(case, quick=False):
    """The gradient recorded in a trace, printed and parsed, compared with the eager gradient."""
    for sample, f in _samples(case, quick=True):
        name = f"{f.operands[f.moving[0]].dtype} ({sample})"
        eager = _gradient(f, *f.points)
        program = plait.trace(lambda *x: _gradient(f, *x))(*f.points)
        parsed = plait.Program.parse(program.text())
        for way, found in (("traced", program(*f.points)), ("parsed", parsed(*f.points, *program.hidden_inputs))):
            if case.repeatable and (wrong := _unlike(found, eager)):
                yield f"{name} {way}: {wrong}"


def check_remat(case, quick=False):
    """The same function under remat: eagerly, traced, and as a program that is differentiated."""
    for sample, f in _samples(case, quick=True):
        if not case.repeatable:
            continue
        every, again = tuple(range(len(f.points))), plait.remat(f.number)

        def gradient(*points):
            return plait.grad(again, argnums=every)(*points)

        eager = _gradient(f, *f.points)
        traced, program = plait.trace(gradient)(*f.points), plait.trace(again)(*f.points)
        ways = {
            "gradient": lambda: (gradient(*f.points), eager),
            "traced": lambda: (traced(*f.points), eager),
            "parsed": lambda: (plait.Program.parse(traced.text())(*f.points, *traced.hidden_inputs), eager),
            "program": lambda: (program.grad(by=every)(*f.points), eager),
        }
        if not case.once:
            slope = plait.jvp(lambda *x: _gradient(f, *x), f.points, f.directions)[1]
            ways["forward over reverse"] = lambda: (plait.jvp(gradient, f.points, f.directions)[1], slope)
        for way, found in ways.items():
            if wrong := _unlike(*found()):
                yield f"{f.operands[f.moving[0]].dtype} ({sample}) {way}: {wrong}"


def check_vmap(case, quick=False):
    """vmap of the gradient, the gradient of vmap, and vmap of vmap, compared with loops."""
    for sample, f in _samples(case, quick=True):
        if not case.repeatable or case.cannot_batch:
            continue
        every = tuple(range(len(f.points)))
        lanes = [[x * scale for x in f.points] for scale in (1.0, 0.9375, 1.0)]
        stacked = [plait.stack(list(each)) for each in zip(*lanes)]
        weights = plait.asarray(np.array([1.0, -0.5, 2.0]))

        def gradient(*points):
            return plait.grad(f.number, argnums=every)(*points)

        def total(*points):
            return plait.sum(plait.vmap(f.number)(*points) * weights)

        by_lane = [gradient(*lane) for lane in lanes]
        loop = [plait.stack(list(each)) for each in zip(*by_lane)]
        weighted = [plait.stack([x * w for x, w in zip(each, (1.0, -0.5, 2.0))]) for each in zip(*by_lane)]
        twice = [plait.stack([x, x]) for x in stacked]
        ways = {
            "vmap of grad": lambda: (plait.vmap(gradient)(*stacked), loop),
            "grad of vmap": lambda: (plait.grad(total, argnums=every)(*stacked), weighted),
            "vmap of vmap": lambda: (plait.vmap(plait.vmap(gradient))(*twice), [plait.stack([x, x]) for x in loop]),
        }
        for way, found in ways.items():
            if wrong := _unlike(*found()):
                yield f"{f.operands[f.moving[0]].dtype} ({sample}) {way}: {wrong}"
