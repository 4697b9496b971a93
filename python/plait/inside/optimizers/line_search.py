"""A line search for the strong Wolfe conditions, with cubic interpolation, as PyTorch's LBFGS has it."""

import dataclasses

from plait import _core
from plait.inside.transforms.control import while_loop


@dataclasses.dataclass
class Point:
    """A step along the direction: its length, the loss and the gradient there, and the gradient along the direction."""

    t: _core.Tensor
    loss: _core.Tensor
    gradient: _core.Tensor
    slope: _core.Tensor


def picked(is_first, first, second):
    """One of two points."""
    return Point(*(_core.where(is_first, a, b) for a, b in zip(vars(first).values(), vars(second).values())))


def _minimum(a, b, bounds):
    """The minimum of the cubic through two points with their slopes, between the bounds; their middle if there is none."""
    least, greatest = bounds
    first = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    squared = _core.square(first) - a.slope * b.slope
    root = _core.sqrt(_core.maximum(squared, _core.zeros_like(squared)))
    rising = b.t - (b.t - a.t) * ((b.slope + root - first) / (b.slope - a.slope + 2 * root))
    falling = a.t - (a.t - b.t) * ((a.slope + root - first) / (a.slope - b.slope + 2 * root))
    found = _core.minimum(_core.maximum(_core.where(a.t <= b.t, rising, falling), least), greatest)
    return _core.where(squared >= 0, found, (least + greatest) / 2)


class StrongWolfe:
    """A search from a start point (t = 0) along a direction; `evaluate` maps step lengths to (loss, gradient, slope)."""

    def __init__(self, evaluate, start, tolerance, most, c1=1e-4, c2=0.9):
        self._evaluate, self._start, self._tolerance, self._most, self._c1, self._c2 = evaluate, start, tolerance, most, c1, c2

    def _point(self, t):
        return Point(t, *self._evaluate(t))

    def _is_too_high(self, point):
        return point.loss > self._start.loss + self._c1 * point.t * self._start.slope

    def _is_flat(self, point):
        return _core.absolute(point.slope) <= -self._c2 * self._start.slope

    def search(self, t):
        """The point found, and the number of evaluations."""
        before, point, steps = self._bracket(self._point(t))
        is_last = steps == self._most
        is_found = _core.logical_and(_core.logical_not(is_last), _core.logical_and(_core.logical_not(self._goes_back(before, point, steps)),
                                                                                     self._is_flat(point)))
        first = picked(is_last, self._start, picked(is_found, point, before))
        point, steps = self._zoomed(first, point, steps, is_found)
        return point, steps + 1

    def _goes_back(self, before, point, steps):
        return _core.logical_or(self._is_too_high(point), _core.logical_and(steps > 1, point.loss >= before.loss))

    def _bracket(self, point):
        """Longer steps, until a minimum lies between the last two."""
        def goes_on(carry):
            before, point, steps = carry
            stops = _core.logical_or(self._goes_back(before, point, steps), _core.logical_or(self._is_flat(point), point.slope >= 0))
            return _core.logical_and(steps < self._most, _core.logical_not(stops))

        def longer(carry):
            before, point, steps = carry
            t = _minimum(before, point, (point.t + 0.01 * (point.t - before.t), point.t * 10))
            return point, self._point(t), steps + 1

        return while_loop(goes_on, longer, (self._start, point, _core.zeros((), dtype=_core.i64)))

    def _zoomed(self, first, second, steps, is_found):
        """The lower end of the bracket, after it was made smaller until the conditions hold. An end that replaces the higher one stays in
        its place, since the first is the lower one of two that are equal."""
        reach = self._tolerance

        def goes_on(carry):
            low, high, _, _, steps, is_found = carry
            is_wide = _core.absolute(high.t - low.t) * reach[0] >= reach[1]
            return _core.logical_and(_core.logical_and(is_wide, steps < self._most), _core.logical_not(is_found))

        def smaller(carry):
            low, high, low_is_first, is_slow, steps, _ = carry
            t, is_slow = self._trial(low, high, is_slow)
            new = self._point(t)
            is_high = _core.logical_or(self._is_too_high(new), new.loss >= low.loss)
            is_found = _core.logical_and(_core.logical_not(is_high), self._is_flat(new))
            turns = _core.logical_and(_core.logical_not(is_found), new.slope * (high.t - low.t) >= 0)
            high = picked(is_high, new, picked(turns, low, high))
            low = picked(is_high, low, new)
            still_first = _core.where(low_is_first, low.loss <= high.loss, high.loss > low.loss)
            swaps = _core.logical_and(is_high, _core.logical_not(still_first))
            low, high = picked(swaps, high, low), picked(swaps, low, high)
            return low, high, _core.not_equal(low_is_first, swaps), is_slow, steps + 1, is_found

        is_first = first.loss <= second.loss
        low, high = picked(is_first, first, second), picked(is_first, second, first)
        carry = while_loop(goes_on, smaller, (low, high, is_first, _core.zeros((), dtype=_core.bool), steps, is_found))
        return carry[0], carry[4]

    @staticmethod
    def _trial(low, high, was_slow):
        """The next step length, away from the ends of the bracket if the last one was close to one, too."""
        least, greatest = _core.minimum(low.t, high.t), _core.maximum(low.t, high.t)
        t, margin = _minimum(low, high, (least, greatest)), 0.1 * (greatest - least)
        is_close = _core.minimum(greatest - t, t - least) < margin
        moves = _core.logical_and(is_close, _core.logical_or(was_slow, _core.logical_or(t >= greatest, t <= least)))
        moved = _core.where(_core.absolute(t - greatest) < _core.absolute(t - least), greatest - margin, least + margin)
        return _core.where(moves, moved, t), _core.logical_and(is_close, _core.logical_not(moves))

