"""PyTorch's learning-rate schedulers as values: the first argument is the rate, instead of an optimizer that has it."""

import math

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.optimizers.schedule import SHAPES, Schedule, as_numbers, cosine, expect_option, expect_schedules, linear
from plait.inside.optimizers.schedules import Joined
from plait.inside.transforms.control import while_loop


class StepLR(Schedule):
    """lr, multiplied by gamma every step_size steps.

    >>> plait.optim.lr_scheduler.StepLR(1.0, 2, gamma=0.5)(plait.arange(5))
    [1.   1.   0.5  0.5  0.25] : f64[5]
    """

    def __init__(self, lr, step_size, gamma=0.1):
        self.lr, self.step_size, self.gamma = lr, step_size, gamma

    def _at(self, step):
        return self.lr * self.gamma ** _core.floor(step / self.step_size)


class MultiStepLR(Schedule):
    """lr, multiplied by gamma at each milestone.

    >>> plait.optim.lr_scheduler.MultiStepLR(1.0, [1, 3], gamma=0.5)(plait.arange(5))
    [1.   0.5  0.5  0.25 0.25] : f64[5]
    """

    def __init__(self, lr, milestones, gamma=0.1):
        if not isinstance(milestones, (list, tuple)):
            raise errors.TypeError(f"MultiStepLR: milestones is {milestones!r}, expected a list of steps")
        self.lr, self.milestones, self.gamma = lr, milestones, gamma

    def _at(self, step):
        passed = _core.zeros_like(step)
        for each in self.milestones:
            passed = passed + _core.astype(step >= each, _core.f64)
        return self.lr * self.gamma**passed


class ConstantLR(Schedule):
    """lr · factor for total_iters steps, then lr.

    >>> plait.optim.lr_scheduler.ConstantLR(1.0, factor=0.5, total_iters=2)(plait.arange(4))
    [0.5 0.5 1.  1. ] : f64[4]
    """

    def __init__(self, lr, factor=1 / 3, total_iters=5):
        self.lr, self.factor, self.total_iters = lr, factor, total_iters

    def _at(self, step):
        return _core.where(step < self.total_iters, self.lr * self.factor, self.lr)


class LinearLR(Schedule):
    """lr, multiplied by a factor that goes from start_factor to end_factor over total_iters steps.

    >>> plait.optim.lr_scheduler.LinearLR(1.0, start_factor=0.5, total_iters=2)(plait.arange(4))
    [0.5  0.75 1.   1.  ] : f64[4]
    """

    def __init__(self, lr, start_factor=1 / 3, end_factor=1.0, total_iters=5):
        self.lr, self.start_factor, self.end_factor, self.total_iters = lr, start_factor, end_factor, total_iters

    def _at(self, step):
        return self.lr * linear(self.start_factor, self.end_factor, _part(step, self.total_iters))


def _part(step, total):
    """The part of the steps that are done, at most 1."""
    return _core.where(step < total, step / _core.maximum(total, 1.0), 1.0)


class ExponentialLR(Schedule):
    """lr · gamma^step.

    >>> plait.optim.lr_scheduler.ExponentialLR(1.0, 0.5)(plait.arange(4))
    [1.    0.5   0.25  0.125] : f64[4]
    """

    def __init__(self, lr, gamma):
        self.lr, self.gamma = lr, gamma

    def _at(self, step):
        return self.lr * self.gamma**step


class PolynomialLR(Schedule):
    """lr · (1 - step / total_iters)^power, and 0 from then on.

    >>> plait.optim.lr_scheduler.PolynomialLR(1.0, total_iters=4, power=2.0)(plait.arange(6))
    [1.     0.5625 0.25   0.0625 0.     0.    ] : f64[6]
    """

    def __init__(self, lr, total_iters=5, power=1.0):
        self.lr, self.total_iters, self.power = lr, total_iters, power

    def _at(self, step):
        return self.lr * (1 - _part(step, self.total_iters)) ** self.power


class CosineAnnealingLR(Schedule):
    """From lr to eta_min along half a cosine over T_max steps, and back over the next T_max.

    >>> plait.optim.lr_scheduler.CosineAnnealingLR(1.0, 2)(plait.arange(5)).round(3)
    [1.  0.5 0.  0.5 1. ] : f64[5]
    """

    def __init__(self, lr, T_max, eta_min=0.0):
        self.lr, self.T_max, self.eta_min = lr, T_max, eta_min

    def _at(self, step):
        return cosine(self.lr, self.eta_min, step / self.T_max)


class CosineAnnealingWarmRestarts(Schedule):
    """From lr to eta_min along half a cosine over T_0 steps, then again over T_mult times as many, and so on.

    >>> plait.optim.lr_scheduler.CosineAnnealingWarmRestarts(1.0, 2, T_mult=2)(plait.arange(7)).round(3)
    [1.    0.5   1.    0.854 0.5   0.146 1.   ] : f64[7]
    """

    _static = ("T_mult",)

    def __init__(self, lr, T_0, T_mult=1, eta_min=0.0):
        if not isinstance(T_mult, int) or T_mult < 1:
            raise errors.ValueError(f"CosineAnnealingWarmRestarts: T_mult is {T_mult!r}, expected an integer: 1 or more")
        self.lr, self.T_0, self.T_mult, self.eta_min = lr, T_0, T_mult, eta_min

    def _at(self, step):
        if self.T_mult == 1:
            return cosine(self.lr, self.eta_min, step / self.T_0 - _core.floor(step / self.T_0))
        more = self.T_mult - 1
        cycle = _core.floor(_core.log(step / self.T_0 * more + 1) / math.log(self.T_mult) + 1e-9)  # exact at whole steps
        length = self.T_0 * asarray(float(self.T_mult), dtype=_core.f64) ** cycle
        return cosine(self.lr, self.eta_min, _core.maximum(step - (length - self.T_0) / more, 0.0) / length)


class _Momentum(Schedule):
    """The momentum that a schedule of rates cycles: low where the rate is high."""

    _static = ("rates",)

    def __init__(self, rates):
        self.rates = rates

    def _at(self, step):
        return self.rates._momentum_at(step)


class _CyclesMomentum(Schedule):
    def _set_momentum(self, cycle_momentum, base_momentum, max_momentum):
        self.cycle_momentum, self.base_momentum, self.max_momentum = cycle_momentum, base_momentum, max_momentum

    @property
    def momentum(self):
        """The schedule for momentum=, or for the first of betas=: from max_momentum to base_momentum as the rate rises, and back."""
        if not self.cycle_momentum:
            raise errors.ValueError.with_hint(f"{type(self).__name__}: there is no momentum with cycle_momentum=False", "leave cycle_momentum out")
        return _Momentum(self)


class CyclicLR(_CyclesMomentum):
    """From base_lr to max_lr over step_size_up steps, and back over step_size_down, again and again. The height of a cycle is the same
    ("triangular"), half of that before ("triangular2"), or falls as gamma^step ("exp_range"); or scale_fn gives it, a function of the
    cycle, which counts from 1, or of the step (scale_mode="iterations"). The momentum cycles the other way, where it is used:
    SGD(model, lr=schedule, momentum=schedule.momentum).

    >>> plait.optim.lr_scheduler.CyclicLR(0.0, 1.0, 2, mode="triangular2")(plait.arange(8))
    [0.   0.5  1.   0.5  0.   0.25 0.5  0.25] : f64[8]
    """

    _static, _others = ("scale_fn",), ("mode", "scale_mode", "cycle_momentum")

    def __init__(self, base_lr, max_lr, step_size_up=2000, step_size_down=None, mode="triangular", gamma=1.0, scale_fn=None, scale_mode="cycle",
                 cycle_momentum=True, base_momentum=0.8, max_momentum=0.9):
        expect_option("CyclicLR", "mode", mode, ("triangular", "triangular2", "exp_range"))
        if scale_fn is not None and not callable(scale_fn):
            raise errors.TypeError(f"CyclicLR: scale_fn is {scale_fn!r}, expected a function")
        expect_option("CyclicLR", "scale_mode", scale_mode, ("cycle", "iterations"))
        self.base_lr, self.max_lr, self.step_size_up = base_lr, max_lr, step_size_up
        self.step_size_down = step_size_up if step_size_down is None else step_size_down
        self.mode, self.gamma, self.scale_fn, self.scale_mode = mode, gamma, scale_fn, scale_mode
        self._set_momentum(cycle_momentum, base_momentum, max_momentum)

    def _at(self, step):
        return self.base_lr + (self.max_lr - self.base_lr) * self._height(step)

    def _momentum_at(self, step):
        return self.max_momentum - (self.max_momentum - self.base_momentum) * self._height(step)

    def _height(self, step):
        total = self.step_size_up + self.step_size_down
        done = _core.floor(step / total)
        part, rising = step / total - done, self.step_size_up / total
        height = _core.where(part <= rising, part / rising, (part - 1) / (rising - 1))
        return height * self._scale(step, done)

    def _scale(self, step, done):
        if self.scale_fn is not None:
            return self.scale_fn(done + 1 if self.scale_mode == "cycle" else step)
        return {"triangular": lambda: 1.0, "triangular2": lambda: 0.5**done, "exp_range": lambda: self.gamma**step}[self.mode]()


class OneCycleLR(_CyclesMomentum):
    """Rises from max_lr / div_factor to max_lr over pct_start of total_steps, and falls to the beginning divided by final_div_factor; with
    three_phase=True it falls back as fast as it rose first. The momentum cycles the other way, where it is used:
    AdamW(model, lr=schedule, betas=(schedule.momentum, 0.999)).

    >>> plait.optim.lr_scheduler.OneCycleLR(1.0, total_steps=11, pct_start=0.5, anneal_strategy="linear")(plait.tensor([0, 10])).round(6)
    [4.e-02 4.e-06] : f64[2]
    """

    _others = ("anneal_strategy", "three_phase", "cycle_momentum")

    def __init__(self, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3, anneal_strategy="cos", cycle_momentum=True,
                 base_momentum=0.85, max_momentum=0.95, div_factor=25.0, final_div_factor=1e4, three_phase=False):
        expect_option("OneCycleLR", "anneal_strategy", anneal_strategy, ("cos", "linear"))
        if total_steps is None:
            if not isinstance(epochs, int) or not isinstance(steps_per_epoch, int):
                raise errors.TypeError("OneCycleLR: expected total_steps, or epochs and steps_per_epoch")
            as_numbers("OneCycleLR", "epochs", epochs), as_numbers("OneCycleLR", "steps_per_epoch", steps_per_epoch)
            total_steps = epochs * steps_per_epoch
        if isinstance(pct_start, (int, float)) and not 0 <= pct_start <= 1:
            raise errors.ValueError(f"OneCycleLR: pct_start is {pct_start}, expected a number from 0 to 1")
        self.max_lr, self.total_steps, self.pct_start, self.anneal_strategy = max_lr, total_steps, pct_start, anneal_strategy
        self.div_factor, self.final_div_factor, self.three_phase = div_factor, final_div_factor, three_phase
        self._set_momentum(cycle_momentum, base_momentum, max_momentum)

    def _at(self, step):
        first = self.max_lr / self.div_factor
        return self._annealed(step, first, self.max_lr, first / self.final_div_factor)

    def _momentum_at(self, step):
        return self._annealed(step, self.max_momentum, self.base_momentum, self.max_momentum)

    def _annealed(self, step, first, top, last):
        middle = [(2 * self.pct_start * self.total_steps - 2, first)] if self.three_phase else []
        ends = [(self.pct_start * self.total_steps - 1, top), *middle, (self.total_steps - 1, last)]
        made, begin, value = None, 0.0, first
        for end, target in ends:
            phase = SHAPES[self.anneal_strategy](value, target, (step - begin) / (end - begin))
            made = phase if made is None else _core.where(step <= begin, made, phase)
            begin, value = end, target
        return made


class SWALR(Schedule):
    """From lr to swa_lr over anneal_epochs steps, along half a cosine or a line.

    >>> plait.optim.lr_scheduler.SWALR(1.0, 0.5, anneal_epochs=2, anneal_strategy="linear")(plait.arange(4))
    [1.   0.75 0.5  0.5 ] : f64[4]
    """

    _others = ("anneal_strategy",)

    def __init__(self, lr, swa_lr, anneal_epochs=10, anneal_strategy="cos"):
        expect_option("SWALR", "anneal_strategy", anneal_strategy, ("cos", "linear"))
        self.lr, self.swa_lr, self.anneal_epochs, self.anneal_strategy = lr, swa_lr, anneal_epochs, anneal_strategy

    def _at(self, step):
        return SHAPES[self.anneal_strategy](self.lr, self.swa_lr, _core.minimum(step / self.anneal_epochs, 1.0))


class LambdaLR(Schedule):
    """lr · lr_lambda(step). The function gets the step as f64.

    >>> plait.optim.lr_scheduler.LambdaLR(1.0, lambda step: 0.5**step)(plait.arange(3))
    [1.   0.5  0.25] : f64[3]
    """

    _static = ("lr_lambda",)

    def __init__(self, lr, lr_lambda):
        if not callable(lr_lambda):
            raise errors.TypeError(f"{type(self).__name__}: lr_lambda is {lr_lambda!r}, expected a function of the step")
        self.lr, self.lr_lambda = lr, lr_lambda

    def _at(self, step):
        return self.lr * asarray(self.lr_lambda(step), dtype=_core.f64)


class MultiplicativeLR(LambdaLR):
    """lr · lr_lambda(1) · … · lr_lambda(step), of a single step: a loop over all steps.

    >>> plait.optim.lr_scheduler.MultiplicativeLR(1.0, lambda step: 0.5)(3)
    0.125 : f64[]
    """

    def _at(self, step):
        def body(carry):
            done, lr = carry
            return done + 1, lr * asarray(self.lr_lambda(done + 1), dtype=_core.f64)

        return while_loop(lambda carry: carry[0] < step, body, (_core.zeros((), dtype=_core.f64), self.lr))[1]


class ChainedScheduler(Schedule):
    """The product of schedules: the first has the rate, and the others that of 1.

    >>> scheduler = plait.optim.lr_scheduler
    >>> scheduler.ChainedScheduler([scheduler.ConstantLR(0.5, factor=0.5, total_iters=1), scheduler.ExponentialLR(1.0, 0.5)])(plait.arange(3))
    [0.25  0.25  0.125] : f64[3]
    """

    _static = ("schedulers",)

    def __init__(self, schedulers):
        self.schedulers = expect_schedules("ChainedScheduler", schedulers)

    def _at(self, step):
        made = 1.0
        for each in self.schedulers:
            made = made * asarray(each(step), dtype=_core.f64)
        return made


class SequentialLR(Joined):
    """Schedules one after another, each called with the steps since its milestone.

    >>> scheduler = plait.optim.lr_scheduler
    >>> scheduler.SequentialLR([scheduler.ConstantLR(1.0, 0.5), scheduler.ExponentialLR(1.0, 0.5)], [2])(plait.arange(5))
    [0.5  0.5  1.   0.5  0.25] : f64[5]
    """

    def __init__(self, schedulers, milestones):
        super().__init__(expect_schedules("SequentialLR", schedulers), milestones)
