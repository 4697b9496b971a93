"""A step over slices of a batch."""

from plait import _core, errors
from plait.inside.transformations.transformation import wide
from plait.inside.transforms.control import scan
from plait.tree import flatten, map as map_tree


def microbatches(n, *, changes_model=False):
    """Makes a function of a model and a batch, such as value_and_grad(loss), run over n slices of the batch one after another, along the
    first axis of all arguments but the first. The result is the mean over the slices: for a loss that is a mean, that of the whole batch.
    A random key among the arguments is split, into one for each slice.

    With `changes_model` the function is value_and_grad(loss, has_aux=True) of a loss that returns (number, model): each slice is given the
    model that the one before has changed, as its running statistics, and the last one is returned.

    >>> loss = lambda w, x: plait.mean((w * x) ** 2)
    >>> x = plait.tensor([1.0, 2.0, 3.0, 4.0])
    >>> plait.optim.microbatches(2)(plait.value_and_grad(loss))(plait.tensor(1.0), x)
    (7.5 : f32[], 15. : f32[])
    """
    if not isinstance(n, int) or isinstance(n, bool) or n < 1:
        raise errors.ValueError(f"optim.microbatches: n is {n!r}, expected an integer: 1 or more")

    def of(function):
        def run(model, *batch, **named):
            def called(model, slices):
                batch, named = slices
                result = function(model, *batch, **named)
                return _parted(result) if changes_model else (model, result)

            slices = map_tree(lambda x: _sliced(x, n), (batch, named))
            model, result = called(model, map_tree(lambda x: x[0], slices))
            total = _as_sums(result)
            if n > 1:
                def step(carry, each):
                    model, result = called(carry[0], each)
                    return (model, map_tree(_core.add, carry[1], _as_sums(result))), ()

                (model, total), _ = scan(step, (model, total), map_tree(lambda x: x[1:], slices))
            means = map_tree(lambda total: total / n, total)
            return ((means[0], model), means[1]) if changes_model else means

        return run

    return of


def _parted(result):
    """(model, (number, gradients)) of what value_and_grad with has_aux returns."""
    try:
        (number, model), gradients = result
    except (TypeError, ValueError):
        raise errors.TypeError.with_hint("optim.microbatches: with changes_model the function returns ((number, model), gradients)",
                                         "give it value_and_grad(loss, has_aux=True) of a loss that returns (number, model)") from None
    return model, (number, gradients)


def _as_sums(result):
    for path, leaf in zip(flatten(result)[1].paths, flatten(result)[0]):
        if leaf.dtype.kind not in ("floating", "complex"):
            raise errors.TypeError.with_hint(f"optim.microbatches: the result {path!r} is {leaf.dtype.name}, which has no mean",
                                             "return a floating tensor, plait.astype(count, plait.f32); or, of a loss that returns the model that it has "
                                             "changed, set changes_model")
    return map_tree(lambda leaf: _core.astype(leaf, wide(leaf.dtype)), result)


def _sliced(x, n):
    if isinstance(x, _core.Tensor) and x.ndim == 0 and x.dtype == _core.key:
        return _core.random.split_key(x, n)
    if not hasattr(x, "shape") or len(x.shape) == 0:
        raise errors.TypeError("optim.microbatches: an argument is a scalar, expected tensors with the batch as the first axis")
    size = x.shape[0]
    if isinstance(size, int) and size % n:
        raise errors.ValueError.with_hint(f"optim.microbatches: the batch of {size} cannot be cut into {n} equal slices",
                                          f"use a batch of {size - size % n or n}, or another n")
    return _core.reshape(x, (n, size // n, *x.shape[1:]))
