"""A step over slices of a batch."""

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.help.names import in_words
from plait.inside.optimizers.numbers import expect_flag
from plait.inside.optimizers.schedule import expect_option
from plait.inside.transformations.transformation import wide
from plait.inside.transforms.control import scan
from plait.tree import flatten, map as map_tree


def microbatches(n, *, reduce="mean", changes_model=False, weight=None):
    """Makes a function of a model and a batch, such as value_and_grad(loss), run over n slices of the batch one after another, along the
    first axis of all arguments but the first. The result is the mean over the slices: for a loss that is a mean, that of the whole batch.
    With reduce="sum" it is their sum: for a loss that is a sum. A random key among the arguments is split, into one for each slice. If n does
    not divide the rows, the first slices have a row more, and slices count by their rows; there are no more slices than rows.

    With `changes_model` the function is value_and_grad(loss, has_aux=True) of a loss that returns (number, model): each slice is given the
    model that the one before has changed, as its running statistics, and the last one is returned.

    >>> loss = lambda w, x: plait.mean((w * x) ** 2)
    >>> x = plait.tensor([1.0, 2.0, 3.0, 4.0])
    >>> plait.optim.microbatches(2)(plait.value_and_grad(loss))(plait.tensor(1.0), x)
    (7.5 : f32[], 15. : f32[])

    `weight`, a function of the same arguments, gives the weight of a slice in the mean; slices of weight 0 are left out. A loss that is the
    mean over some elements of the batch, or a weighted one, needs it, since slices count equally otherwise: with an ignore_index the number of
    the other targets, with weights of classes their sum over the targets, plait.sum(weights[y]).

    >>> loss = lambda w, x, y: plait.nn.cross_entropy(w * x, y, ignore_index=-1)
    >>> count = lambda w, x, y: plait.sum(y != -1)
    >>> step = plait.optim.microbatches(2, weight=count)(plait.value_and_grad(loss))
    >>> number, gradient = step(plait.tensor(1.0), plait.ones((4, 2)), plait.tensor([0, 1, 1, -1]))
    >>> number
    0.6931472 : f32[]
    """
    if not isinstance(n, int) or isinstance(n, bool) or n < 1:
        raise errors.ValueError(f"optim.microbatches: n is {n!r}, expected an integer: 1 or more")
    expect_option("optim.microbatches", "reduce", reduce, ("mean", "sum"))
    expect_flag("optim.microbatches: changes_model", changes_model)
    if weight is not None and reduce == "sum":
        raise errors.ValueError("optim.microbatches: weight is of a mean, and reduce is 'sum'")
    if weight is not None and not callable(weight):
        raise errors.TypeError.with_hint(f"optim.microbatches: weight is {in_words(weight)}, expected a function of the arguments of a slice",
                                         "weight=lambda model, x, y: plait.sum(y != -100)")

    def of(function):
        def run(model, *batch, **named):
            groups = _groups((batch, named), n)
            parts = sum(count for _, _, count in groups)
            is_weighted = weight is not None or reduce == "mean" and len(groups) > 1

            def called(model, slices, rows):
                batch, named = slices
                share = (_weight_of(weight(model, *batch, **named)) if weight is not None else asarray(rows)) if is_weighted else _EQUAL
                result = function(model, *batch, **named)
                model, result = _parted(result) if changes_model else (model, result)
                return model, _as_sums(result, share), asarray(share)

            model, total, weights = _over(groups, called, model)
            made = total if reduce == "sum" else map_tree(lambda each: each / (_core.astype(weights, each.dtype) if is_weighted else parts), total)
            return ((made[0], model), made[1]) if changes_model else made

        return run

    return of


def _over(groups, called, model):
    """The last model, and the sums of the results and weights, of called(model, slice, rows) for all slices one after another."""
    (first, rows, count), *others = groups
    total = called(model, map_tree(lambda x: x[0], first), rows)
    for slices, rows, count in ((map_tree(lambda x: x[1:], first), rows, count - 1), *others):
        def step(carry, each, rows=rows):
            model, result, share = called(carry[0], each, rows)
            return (model, map_tree(_core.add, carry[1], result), carry[2] + share), ()

        total = scan(step, total, slices)[0] if count else total
    return total


_EQUAL = 1  # the weight of each slice if no other is asked for


def _parted(result):
    """(model, (number, gradients)) of what value_and_grad with has_aux returns."""
    try:
        (number, model), gradients = result
    except (TypeError, ValueError):
        raise errors.TypeError.with_hint("optim.microbatches: with changes_model the function returns ((number, model), gradients)",
                                         "give it value_and_grad(loss, has_aux=True) of a loss that returns (number, model)") from None
    return model, (number, gradients)


def _weight_of(share):
    share = asarray(share)
    if share.ndim or share.dtype.kind not in ("integer", "floating"):
        raise errors.TypeError.with_hint(f"optim.microbatches: the weight of a slice is {share.dtype.name}{list(share.shape)}, expected one number",
                                         "weight=lambda model, x, y: plait.sum(y != -100)")
    return share


def _as_sums(result, share):
    """The summands of the mean."""
    for path, leaf in zip(flatten(result)[1].paths, flatten(result)[0]):
        if leaf.dtype.kind not in ("floating", "complex"):
            raise errors.TypeError.with_hint(f"optim.microbatches: the result {path!r} is {leaf.dtype.name}, which has no mean",
                                             "return a floating tensor, plait.astype(count, plait.f32); or, of a loss that returns the model that it has "
                                             "changed, set changes_model")

    def summand(leaf):
        leaf = _core.astype(leaf, wide(leaf.dtype))
        return leaf if share is _EQUAL else _core.where(share == 0, 0, leaf * _core.astype(share, leaf.dtype))

    return map_tree(summand, result)


def _groups(batch, n):
    """The slices of a batch, as groups of equal slices: (slices along a new first axis, their rows, their number). The first ones have a row
    more than the others if n does not divide the rows; there are no more slices than rows."""
    sizes = [_rows_of(x) for x in flatten(batch)[0] if not _is_key(x)]
    rows = sizes[0] if sizes else n
    count, left = (n, 0) if type(rows) is int and rows % n == 0 and rows else _divided(rows, n)
    if not all(_is_equal(each, rows) for each in sizes):
        uneven = [each for each in sizes if _divided(each, n) != (n, 0)]
        if uneven:
            raise errors.ValueError.with_hint(f"optim.microbatches: the arguments have {', '.join(map(str, sizes))} rows; {uneven[0]} cannot be cut "
                                              f"into {n} equal slices", "arguments of different numbers of rows need multiples of n")
        left = 0
    each, groups = rows // count, []
    for is_longer, size, slices in (True, each + 1, left), (False, each, count - left):
        if slices:
            groups.append((map_tree(lambda x, is_longer=is_longer: _sliced(x, n, count, left, is_longer), batch), size, slices))
    return groups


def _divided(rows, n):
    """(the number of slices, how many of them have a row more)"""
    try:
        count = max(int(rows), 1) if rows < n else n
        return count, int(rows % count)
    except errors.ValueError:
        raise errors.ValueError.with_hint(f"optim.microbatches: the batch has {rows} rows, a symbol, so that the rows of {n} slices are not known",
                                          "trace with a number of rows; jit records once for each remainder") from None


def _is_equal(a, b):
    found = a == b
    return isinstance(found, bool) and found


def _is_key(x):
    return isinstance(x, _core.Tensor) and x.ndim == 0 and x.dtype == _core.key


def _rows_of(x):
    if not hasattr(x, "shape") or len(x.shape) == 0:
        raise errors.TypeError("optim.microbatches: an argument is a scalar, expected tensors with the batch as the first axis")
    return x.shape[0]


def _sliced(x, n, count, left, is_longer):
    """The `left` slices that have a row more, or the others, of `count` slices."""
    if _is_key(x):
        keys = _core.random.split_key(x, n)
        return keys[:left] if is_longer else keys[left:count]
    each = x.shape[0] // count
    begin, slices, size = (0, left, each + 1) if is_longer else (left * (each + 1), count - left, each)
    part = _core.slice_axis(x, 0, begin, slices * size) if left else x
    return _core.reshape(part, (slices, size, *x.shape[1:]))
