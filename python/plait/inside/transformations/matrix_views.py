"""Weights as matrices: which of their axes are rows and columns."""

import math
import typing

from plait import _core, errors
from plait.inside.help.names import in_words
from plait.inside.transformations.conditions import Wrapping
from plait.inside.transformations.transformation import Columns, update_of


class MuonDimensionNumbers(typing.NamedTuple):
    """The axes of a weight that are the rows of a matrix, and those that are its columns: an integer, or several.

    >>> plait.optim.MuonDimensionNumbers(0, (1, 2))
    MuonDimensionNumbers(reduction_axis=0, output_axis=(1, 2))
    """

    reduction_axis: int | tuple = 0
    output_axis: int | tuple = 1


class GaLoreDimensionNumbers(MuonDimensionNumbers):
    """As MuonDimensionNumbers, for galore, of which each axis is a row or a column.

    >>> plait.optim.GaLoreDimensionNumbers((0, 1), 2)
    GaLoreDimensionNumbers(reduction_axis=(0, 1), output_axis=2)
    """


class MatrixView:
    """A weight as matrices [batch, rows, columns]; its other axes are the batch."""

    def __init__(self, name, shape, axes):
        rank = len(shape)
        rows, columns = (tuple(each % rank if rank else each for each in _axes_of(name, given)) for given in axes)
        named = rows + columns
        if not set(named) <= set(range(rank)) or len(set(named)) != len(named):
            raise errors.ValueError(f"{name}: the axes of rows are {axes[0]} and those of columns {axes[1]}, expected different axes of a weight {list(shape)}")
        batch = tuple(axis for axis in range(rank) if axis not in named)
        self._order = batch + named
        self._moved = tuple(shape[axis] for axis in self._order)
        self.sizes = tuple(math.prod(shape[axis] for axis in each) for each in (batch, rows, columns))
        self.has_batch = bool(batch)

    def of(self, x):
        """The matrices; one without a batch."""
        return _core.reshape(_core.permute_dims(x, self._order), self.sizes if self.has_batch else self.sizes[1:])

    def back(self, matrices):
        return _core.permute_dims(_core.reshape(matrices, self._moved), tuple(self._order.index(axis) for axis in range(len(self._order))))


def _axes_of(name, given):
    axes = given if isinstance(given, (list, tuple)) else (given,)
    if not all(isinstance(each, int) and not isinstance(each, bool) for each in axes):
        raise errors.TypeError(f"{name}: the axes of a matrix are {in_words(given)}, expected integers")
    return axes


def views_of(name, given, tree, least_rank=2):
    """For each weight of a tree its MatrixView; None for the others. `given` is one MuonDimensionNumbers, a tree of them that may be
    None, or a function that returns that tree for the weights; without it weights with two axes are matrices."""
    columns = Columns(name, tree)
    given = given(tree) if callable(given) else given
    if given is None:
        axes = [MuonDimensionNumbers() if len(each.shape) == 2 else None for each in columns.leaves]
    elif _is_numbers(given):
        axes = [given if len(each.shape) >= least_rank else None for each in columns.leaves]
    else:
        axes = _by_path(name, given, columns)
    return [each and MatrixView(name, leaf.shape, each) for each, leaf in zip(axes, columns.leaves)]


def _is_numbers(value):
    return isinstance(value, tuple) and hasattr(value, "reduction_axis") and hasattr(value, "output_axis")  # optax's, too


def _by_path(name, given, columns):
    """The DimensionNumbers at the path of each weight, or at that of a tree that it is in."""
    found = {}

    def collect(value, path):
        if value is None or _is_numbers(value):
            found[path] = value
            return
        children = dict(value).items() if isinstance(value, dict) else _core._children(value)
        if children is None:
            raise errors.TypeError.with_hint(f"{name}: weight_dimension_numbers has {in_words(value)} at {path!r}, expected MuonDimensionNumbers or None",
                                             "a tree like the weights, or a function that returns one")
        for key, child in children:
            collect(child, f"{path}.{key}" if path else str(key))

    collect(given, "")

    return [_of_nearest(name, found, path) for path in columns.paths]


def _of_nearest(name, found, path):
    """The value for a weight: at its path, or at that of a tree that it is in."""
    at = path
    while at not in found:
        if not at:
            raise errors.ValueError.with_hint(f"{name}: weight_dimension_numbers has nothing for the weight {path!r}", "None leaves a weight as it is")
        at = at.rpartition(".")[0]
    return found[at]


class in_matrices(Wrapping):  # noqa: N801
    """Applies a transformation to the weights as matrices, where the others stay as they are."""

    def __init__(self, name, inner, dimension_numbers):
        self.owner, self.inner, self.dimension_numbers = name, inner, dimension_numbers

    def _moved(self, tree, views, back=False):
        columns = Columns(self.owner, tree)
        return columns.tree([leaf if view is None else (view.back if back else view.of)(leaf) for view, leaf in zip(views, columns.leaves)])

    def _views(self, tree):
        return views_of(self.owner, self.dimension_numbers, tree)

    def init(self, params):
        return self.inner.init(self._moved(params, self._views(params)))

    def update(self, updates, state, params=None, **extra):
        views = self._views(updates)
        made, state = update_of(self.inner, self._moved(updates, views), state, None if params is None else self._moved(params, views), extra)
        return self._moved(made, views, back=True), state
