"""A learning rate that falls when a loss stops to fall."""

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.help.unused import expect_used
from plait.inside.optimizers.numbers import number
from plait.inside.optimizers.schedule import expect_option
from plait.inside.trees.closed import Closed

_NUMBERS = ("lr", "factor", "patience", "threshold", "cooldown", "min_lr", "eps")


class ReduceLROnPlateau(Closed):
    """A learning rate `lr`, which step(loss) multiplies by factor when the loss was not better than the best one for more than
    `patience` steps. It is a value: step returns the next one, also in jitted functions.

    >>> plateau = plait.optim.lr_scheduler.ReduceLROnPlateau(1.0, factor=0.5, patience=1)
    >>> for loss in (3.0, 3.0, 3.0):
    ...     plateau = plateau.step(loss)
    >>> plateau.lr
    0.5 : f64[]
    """

    def __init__(self, lr, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0, min_lr=0.0, eps=1e-8):
        expect_option("ReduceLROnPlateau", "mode", mode, ("min", "max"))
        expect_option("ReduceLROnPlateau", "threshold_mode", threshold_mode, ("rel", "abs"))
        if isinstance(factor, (int, float)) and factor >= 1:
            raise errors.ValueError(f"ReduceLROnPlateau: factor is {factor}, expected a number below 1")
        self.lr, self.factor, self.patience, self.threshold = lr, factor, patience, threshold
        self.cooldown, self.min_lr, self.eps = cooldown, min_lr, eps
        self.mode, self.threshold_mode = mode, threshold_mode
        self.best = asarray(float("inf" if mode == "min" else "-inf"), dtype=_core.f64)
        self.num_bad_epochs = _core.zeros((), dtype=_core.i64)
        self.cooldown_counter = _core.zeros((), dtype=_core.f64)

    def __setattr__(self, name, value):
        super().__setattr__(name, number(f"ReduceLROnPlateau: {name}", value) if name in _NUMBERS else value)

    def step(self, metrics):
        """The next value, after a loss or another metric."""
        current = asarray(metrics, dtype=_core.f64)
        following = object.__new__(type(self))
        vars(following).update(vars(self))
        is_better = self._is_better(current)
        following.best = _core.where(is_better, current, self.best)
        is_cooling = self.cooldown_counter > 0
        bad = _core.where(_core.logical_or(is_better, is_cooling), 0, self.num_bad_epochs + 1)
        is_over = _core.astype(bad, _core.f64) > self.patience
        reduced = _core.maximum(self.lr * self.factor, self.min_lr)
        following.lr = _core.where(_core.logical_and(is_over, self.lr - reduced > self.eps), reduced, self.lr)
        following.num_bad_epochs = _core.where(is_over, 0, bad)
        following.cooldown_counter = _core.where(is_over, self.cooldown, self.cooldown_counter - _core.astype(is_cooling, _core.f64))
        expect_used("step", "plateau = plateau.step(loss); optimizer.lr = plateau.lr", "the next value")
        return following

    def _is_better(self, current):
        threshold = self.threshold if self.mode == "max" else -self.threshold
        limit = self.best * (1 + threshold) if self.threshold_mode == "rel" else self.best + threshold
        return current < limit if self.mode == "min" else current > limit
