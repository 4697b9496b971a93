"""All that a training run continues from, as one tree."""

import copy

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.help.names import in_words
from plait.inside.help.unused import expect_used
from plait.inside.trees.module import Module
from plait.inside.trees.roles import replaced_buffers
from plait.tree import flatten


class TrainState(Module):
    """The state of a training run: model, optimizer, random key, number of steps, the loader's place and metrics. It is
    one tree, so a jitted step takes and returns it, and a checkpoint is the whole of it.

    >>> model = plait.nn.Linear(2, 1)
    >>> state = plait.optim.TrainState(model, plait.optim.SGD(model, lr=0.1), key=plait.random.key(0))
    >>> @plait.jit
    ... def step(state, x):
    ...     loss, gradient = plait.value_and_grad(lambda model: plait.mean(model(x) ** 2))(state.model)
    ...     return state.update(gradient), loss
    >>> state, loss = step(state, plait.ones((4, 2)))
    >>> state.step
    1 : i64[]
    """

    def __init__(self, model, optimizer=None, *, key=None, step=0, loader=None, metrics=None):
        _expect_parts(model, optimizer, key)
        self.model, self.optimizer, self.loader, self.metrics = model, optimizer, loader, metrics
        self.key = _core.random.draw_key() if key is None else key
        self.step = _core.astype(asarray(step), _core.i64)

    def update(self, gradient=None, *, model=None, **extra):
        """The state after one step of the optimizer. `model` is the model that the loss returned, with new running statistics, which the
        state's own does not have; everything else is passed to the optimizer's update.

        >>> model = plait.nn.Sequential(plait.nn.Linear(2, 3), plait.nn.BatchNorm1d(3))
        >>> state = plait.optim.TrainState(model, plait.optim.SGD(model, lr=0.1))
        >>> def loss_of(model):
        ...     return plait.mean(model(plait.tensor([[1.0, 2.0], [3.0, 4.0]])) ** 2), model
        >>> (loss, model), gradient = plait.value_and_grad(loss_of, has_aux=True)(state.model)
        >>> state = state.update(gradient, model=model)
        >>> state.model[1].num_batches_tracked
        1 : i64[]
        """
        if self.optimizer is None:
            raise errors.ValueError.with_hint("TrainState: there is no optimizer", "TrainState(model, plait.optim.AdamW(model))")
        if model is None:
            self._expect_no_newer_buffers(gradient)
        model, optimizer = self.optimizer.update(self.model if model is None else model, gradient, **extra)
        following = self.with_(model=model, optimizer=optimizer, step=self.step + 1)
        expect_used("update", "state = state.update(gradient)", "the state after one step")
        return following

    def _expect_no_newer_buffers(self, gradient):
        """ValueError if the function whose gradient this is has computed new buffers for the model."""
        replaced = replaced_buffers(flatten(gradient)[0])
        leaves, structure = flatten(self.model)
        names = [path for path, leaf in zip(structure.paths, leaves) if id(leaf) in replaced]
        if names:
            listed = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
            raise errors.ValueError.with_hint(
                f"TrainState.update: the loss has computed new buffers ({listed}), which would be lost",
                "state.update(gradient, model=model), with the model that the loss returns: (loss, model), gradient = …; model=state.model keeps "
                "the buffers as they were")

    def step_key(self, *labels):
        """A random key for this step, and for integers that tell its uses apart: the same whenever the step is run again."""
        key = _core.random.fold_in(self.key, self.step)
        for label in labels:
            key = _core.random.fold_in(key, label)
        return key

    def with_(self, **parts):
        """The state with other parts: state.with_(metrics=metrics). A class that derives from TrainState may have parts of its own."""
        following, own = copy.copy(self), [name for name in vars(self) if not name.startswith("_")]
        for name, value in parts.items():
            if name not in own:
                raise errors.TypeError(f"{type(self).__name__} has no part {name!r}; it has {', '.join(own)}")
            setattr(following, name, value)
        return following


_EXAMPLE = "TrainState(model, plait.optim.AdamW(model), key=plait.random.key(0))"


def _expect_parts(model, optimizer, key):
    """TypeError for what cannot be the model, the optimizer or the key of a run."""
    if model is None:
        raise errors.TypeError.with_hint("TrainState: the model is None, expected a model", _EXAMPLE)
    if optimizer is not None and (isinstance(optimizer, type) or not callable(getattr(optimizer, "update", None))):
        raise errors.TypeError.with_hint(f"TrainState: the optimizer is {in_words(optimizer)}, expected one that has update", _EXAMPLE)
    if optimizer is not None and hasattr(optimizer, "init"):
        raise errors.TypeError.with_hint("TrainState: the optimizer is a gradient transformation, which has no state of its own",
                                         "plait.optim.Optimizer(transformation, model)")
    if key is not None and not (isinstance(key, _core.Tensor) and key.dtype == _core.key):
        raise errors.TypeError.with_hint(f"TrainState: the key is {in_words(key)}, expected a random key", _EXAMPLE)
