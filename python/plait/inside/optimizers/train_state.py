"""All that a training run continues from, as one tree."""

import copy

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.help.unused import expect_used
from plait.inside.trees.module import Module


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
        self.model, self.optimizer, self.loader, self.metrics = model, optimizer, loader, metrics
        self.key = _core.random.draw_key() if key is None else key
        self.step = _core.astype(asarray(step), _core.i64)

    def update(self, gradient=None, *, model=None, **extra):
        """The state after one step of the optimizer. `model` is the model that the loss returned, with new running statistics;
        everything else is passed to the optimizer's update."""
        if self.optimizer is None:
            raise errors.ValueError.with_hint("TrainState: there is no optimizer", "TrainState(model, plait.optim.AdamW(model))")
        model, optimizer = self.optimizer.update(self.model if model is None else model, gradient, **extra)
        following = self.with_(model=model, optimizer=optimizer, step=self.step + 1)
        expect_used("update", "state = state.update(gradient)", "the state after one step")
        return following

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
