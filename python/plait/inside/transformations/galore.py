"""GaLore: a transformation of gradients that are projected to few dimensions, so that its state is small."""

from plait import _core, errors, linalg
from plait.inside.transformations.accumulation import whole
from plait.inside.transformations.combining import chain
from plait.inside.transformations.conditions import Wrapping
from plait.inside.transformations.matrix_views import views_of
from plait.inside.transformations.moments import scale_by_adam
from plait.inside.transformations.scaling import add_decayed_weights, scale_by_learning_rate
from plait.inside.transformations.transformation import ANY, Columns, State, expect_transformation, update_of, wide, zero_steps
from plait.inside.transforms.control import cond


class scale_by_galore(Wrapping):  # noqa: N801: optax's names
    """Projects the gradients of matrices to the leading singular vectors of a gradient, as many as the rank, applies a transformation that
    needs no weights, and projects back. The projection is computed every update_proj_gap steps. weight_dimension_numbers says which axes of
    other weights are rows and columns: GaLoreDimensionNumbers, a tree of them, or a function that returns one for the weights.

    >>> tx = plait.optim.scale_by_galore(rank=1, base_optimizer=plait.optim.identity())
    >>> updates, state = tx.update(plait.tensor([[3.0, 0.0], [0.0, 1.0]]), tx.init(plait.zeros((2, 2))))
    >>> updates.round(3), state.projector.shape
    ([[3. 0.]
     [0. 0.]] : f32[2, 2], (2, 1))
    """

    scale: ANY

    def __init__(self, rank=128, update_proj_gap=200, scale=1.0, base_optimizer=None, weight_dimension_numbers=None):
        whole(f"{self._name()}: rank", rank)
        self.rank, self.update_proj_gap, self.scale = rank, whole(f"{self._name()}: update_proj_gap", update_proj_gap), scale
        self.weight_dimension_numbers = weight_dimension_numbers
        self.inner = scale_by_adam() if base_optimizer is None else expect_transformation(self._name(), base_optimizer)

    def _views(self, columns, tree):
        """For each weight its matrix; None if it is not projected."""
        views = views_of(self._name(), self.weight_dimension_numbers, tree)
        for path, leaf, view in zip(columns.paths, columns.leaves, views):
            if view is not None and view.has_batch:
                raise errors.ValueError.with_hint(f"{self._name()}: {path} is {list(leaf.shape)}, and an axis of it is neither a row nor a column",
                                                  "each axis is one of reduction_axis or output_axis")
        return [view if view is not None and min(view.sizes) > 0 else None for view in views]

    def init(self, params):
        columns = Columns(self._name(), params)
        projectors, projected = [], []
        for leaf, view in zip(columns.leaves, self._views(columns, params)):
            rows, columns_ = (0, 0) if view is None else view.sizes[1:]
            few = min(self.rank, rows, columns_)
            projectors.append(_core._made_beside(leaf, _core.zeros((max(rows, columns_), few), dtype=leaf.dtype)))
            projected.append(_core.zeros_like(leaf) if view is None else
                             _core._made_beside(leaf, _core.zeros((few, columns_) if rows >= columns_ else (rows, few), dtype=leaf.dtype)))
        return State(count=zero_steps(), base_optimizer_state=self.inner.init(columns.tree(projected)), projector=columns.tree(projectors))

    def update(self, updates, state, params=None, **extra):
        columns, n = Columns(self._name(), updates), self._numbers_at(state.count)
        views = self._views(columns, updates)
        is_due = _core.equal(state.count % self.update_proj_gap, 0)
        projectors = [projector if view is None else _projector(view, leaf, projector, is_due)
                      for leaf, view, projector in zip(columns.leaves, views, columns.of("the state's projector", state.projector))]
        projected = [leaf if view is None else _to_few(view, leaf, by) for leaf, view, by in zip(columns.leaves, views, projectors)]
        made, inner = update_of(self.inner, columns.tree(projected), state.base_optimizer_state, None, extra)
        made = columns.of("the tree of projected updates", made)
        whole_ = [low if view is None else _to_all(view, leaf, low, by, n["scale"]) for leaf, view, low, by in zip(columns.leaves, views, made, projectors)]
        return columns.tree(whole_), State(count=state.count + 1, base_optimizer_state=inner, projector=columns.tree(projectors))


def _is_tall(view):
    return view.sizes[1] >= view.sizes[2]


def _projector(view, gradient, before, is_due):
    """The leading singular vectors of the gradient if a new projection is due."""
    def leading():
        u, _, vh = linalg.svd(_core.astype(view.of(gradient), wide(gradient.dtype)), full_matrices=False)
        found = u if _is_tall(view) else _core.matrix_transpose(vh)
        return _core.astype(found[:, :before.shape[1]], before.dtype)

    return cond(is_due, leading, lambda: before)


def _to_few(view, gradient, by):
    matrix, by = view.of(gradient), _core.astype(by, gradient.dtype)
    return _core.matmul(_core.matrix_transpose(by), matrix) if _is_tall(view) else _core.matmul(matrix, by)


def _to_all(view, gradient, low, by, scale):
    by = _core.astype(by, low.dtype)
    made = _core.matmul(by, low) if _is_tall(view) else _core.matmul(low, _core.matrix_transpose(by))
    dtype = wide(gradient.dtype)
    return _core.astype(_core.astype(scale, dtype) * _core.astype(view.back(made), dtype), gradient.dtype)


def galore(learning_rate, rank=128, update_proj_gap=200, scale=1.0, base_optimizer=None, weight_decay=0.0, mask=None, weight_dimension_numbers=None):
    """GaLore with decoupled weight decay: Adam, or another transformation, of projected gradients.

    >>> tx = plait.optim.galore(0.1, rank=1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)), plait.zeros(2))[0].round(3)
    [-0.1  0.1] : f32[2]
    """
    return chain(scale_by_galore(rank, update_proj_gap, scale, base_optimizer, weight_dimension_numbers), add_decayed_weights(weight_decay, mask),
                 scale_by_learning_rate(learning_rate))
