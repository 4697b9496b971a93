"""Averages of a model over its training."""

import copy

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.help.unused import expect_used
from plait.inside.optimizers.grouped import wide_of
from plait.inside.optimizers.numbers import ABOVE_ONE, number, number_at
from plait.inside.optimizers.weights import is_inexact
from plait.inside.trees.buffers import of_structure as buffers_of
from plait.inside.trees.given import expect_tree
from plait.inside.trees.module import Module
from plait.inside.trees.sharing import Distinct, distinct
from plait.tree import flatten, map as map_tree


def _copied(model):
    """The model with tensors of its own: those of the average differ after the first update, and so they do before it. Tied ones stay so."""
    leaves, structure = flatten(map_tree(asarray, model))
    once = distinct(leaves)
    return structure.unflatten(once.spread([leaf.copy() for leaf in once.values]))


class AveragedModel(Module):
    """The mean of a model over its updates (SWA): average.update(model) returns the next average, and `average.model` is the model of it.
    avg_fn(averaged, current, n_averaged) gives another mean, of one tensor. Buffers are those of the last model, or are averaged, too, with
    use_buffers=True. The dtypes are those of the first model: an average in f32 of a model in bf16 is
    AveragedModel(plait.tree.map(lambda x: x.astype(plait.f32), model)).

    >>> average = plait.optim.AveragedModel(plait.tensor([0.0, 0.0]))
    >>> for value in (1.0, 2.0, 6.0):
    ...     average = average.update(plait.tensor([value, -value]))
    >>> average.model, average.n_averaged.item()
    ([ 3. -3.] : f32[2], 3)
    """

    def __init__(self, model, avg_fn=None, use_buffers=False):
        if avg_fn is not None and not callable(avg_fn):
            raise errors.TypeError(f"{type(self).__name__}: avg_fn is {avg_fn!r}, expected a function of (averaged, current, n_averaged)")
        expect_tree(f"{type(self).__name__}: the model", model)
        self.model, self.n_averaged = _copied(model), _core.zeros((), dtype=_core.i64)
        self.avg_fn, self.use_buffers = avg_fn, bool(use_buffers)

    def __call__(self, *arguments, **named):
        """The result of the averaged model."""
        return self.model(*arguments, **named)

    def update(self, model):
        """The average after one more model."""
        before, (leaves, structure) = flatten(self.model)[0], flatten(map_tree(asarray, model))
        kinds = [[(tuple(each.shape), each.dtype.kind == "complex") for each in side] for side in (before, leaves)]
        if kinds[0] != kinds[1]:
            raise errors.ValueError.with_hint(f"{type(self).__name__}: the model is not like the averaged one",
                                              f"make another average for it: {type(self).__name__}(model)")
        are_averaged = [is_inexact(leaf) and (self.use_buffers or not is_buffer) for leaf, is_buffer in zip(leaves, buffers_of(structure))]
        once = Distinct(list(zip(before, leaves, are_averaged)), list(zip(map(id, before), map(id, leaves), are_averaged)))
        made = [_core.astype(self._averaged(averaged, current) if is_averaged else current.copy(), averaged.dtype)
                for averaged, current, is_averaged in once.values]
        following = copy.copy(self)
        following.model, following.n_averaged = structure.unflatten(once.spread(made)), self.n_averaged + 1
        expect_used("update", "ema = ema.update(model)", "the average after one more model")
        return following

    def _averaged(self, averaged, current):
        """The first model, and then the average with what was averaged before. Computed in the dtype of the average, as f32 at least."""
        if self.avg_fn is not None:
            made = self.avg_fn(averaged, current, self.n_averaged)
        else:
            wide = averaged.dtype if averaged.dtype.kind == "complex" else wide_of(averaged.dtype)
            averaged_wide, current_wide = _core.astype(averaged, wide), _core.astype(current, wide)
            made = averaged_wide + _core.astype(self._weight(), wide_of(averaged.dtype)) * (current_wide - averaged_wide)
        return _core.where(self.n_averaged == 0, _core.astype(current, averaged.dtype), _core.astype(made, averaged.dtype))

    def _weight(self):
        """The weight of the newest model."""
        return 1 / _core.astype(self.n_averaged + 1, _core.f64)


class EMA(AveragedModel):
    """The exponential moving average of a model: decay · average + (1 - decay) · model. The decay is a number or a function of the step.

    >>> average = plait.optim.EMA(plait.tensor([0.0]), decay=0.75)
    >>> for value in (1.0, 2.0):
    ...     average = average.update(plait.tensor([value]))
    >>> average.model
    [1.25] : f32[1]
    """

    def __init__(self, model, decay=0.999, use_buffers=False):
        super().__init__(model, None, use_buffers)
        self.decay = decay

    def __setattr__(self, name, value):
        super().__setattr__(name, number("EMA: decay", value, 0.0, ABOVE_ONE) if name == "decay" else value)

    def _weight(self):
        return 1 - number_at(self.decay, self.n_averaged)
