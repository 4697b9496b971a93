"""A step over slices of a batch."""

from plait import _core, errors
from plait.inside.transformations.transformation import wide
from plait.inside.transforms.control import scan
from plait.tree import flatten, map as map_tree


def microbatches(n):
    """Makes a function of a model and a batch, such as value_and_grad(loss), run over n slices of the batch one after another, along the
    first axis of all arguments but the first. The result is the mean over the slices: for a loss that is a mean, that of the whole batch.

    >>> loss = lambda w, x: plait.mean((w * x) ** 2)
    >>> x = plait.tensor([1.0, 2.0, 3.0, 4.0])
    >>> plait.optim.microbatches(2)(plait.value_and_grad(loss))(plait.tensor(1.0), x)
    (7.5 : f32[], 15. : f32[])
    """
    if not isinstance(n, int) or isinstance(n, bool) or n < 1:
        raise errors.ValueError(f"optim.microbatches: n is {n!r}, expected an integer: 1 or more")

    def of(function):
        def run(model, *batch, **named):
            slices = map_tree(lambda x: _sliced(x, n), (batch, named))
            first = _as_sums(_called(function, model, map_tree(lambda x: x[0], slices)))
            if n > 1:
                first, _ = scan(lambda total, each: (map_tree(_core.add, total, _as_sums(_called(function, model, each))), ()), first,
                                map_tree(lambda x: x[1:], slices))
            return map_tree(lambda total: total / n, first)

        return run

    return of


def _called(function, model, slices):
    batch, named = slices
    return function(model, *batch, **named)


def _as_sums(result):
    for path, leaf in zip(flatten(result)[1].paths, flatten(result)[0]):
        if leaf.dtype.kind not in ("floating", "complex"):
            raise errors.TypeError.with_hint(f"optim.microbatches: the result {path!r} is {leaf.dtype.name}, which has no mean",
                                             "return a floating tensor: plait.astype(count, plait.f32)")
    return map_tree(lambda leaf: _core.astype(leaf, wide(leaf.dtype)), result)


def _sliced(x, n):
    if not hasattr(x, "shape") or len(x.shape) == 0:
        raise errors.TypeError(f"optim.microbatches: an argument is a scalar, expected tensors with the batch as the first axis")
    size = x.shape[0]
    if isinstance(size, int) and size % n:
        raise errors.ValueError.with_hint(f"optim.microbatches: the batch of {size} cannot be cut into {n} equal slices",
                                          f"use a batch of {size - size % n or n}, or another n")
    return _core.reshape(x, (n, size // n, *x.shape[1:]))
