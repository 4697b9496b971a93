"""Schedules compared with PyTorch's and optax's, for 1,000 steps in f64: for an array of steps, jitted, and under vmap."""

import functools
import inspect
import unittest
import warnings

import numpy as np
import plait as pl
import torch

STEPS = 1000
torch_lr, own_lr = torch.optim.lr_scheduler, pl.optim.lr_scheduler

# The class, its arguments, and the tolerance: PyTorch multiplies the last rate by a factor, whose roundings accumulate.
OF_TORCH = [
    ("StepLR", {"step_size": 7, "gamma": 0.9}, 1e-12), ("MultiStepLR", {"milestones": [3, 50, 51, 400], "gamma": 0.3}, 1e-12),
    ("ConstantLR", {"factor": 0.25, "total_iters": 40}, 1e-12), ("ConstantLR", {}, 1e-12),
    ("LinearLR", {"start_factor": 0.1, "end_factor": 0.7, "total_iters": 333}, 1e-11), ("LinearLR", {}, 1e-11),
    ("ExponentialLR", {"gamma": 0.995}, 1e-12), ("PolynomialLR", {"total_iters": 700, "power": 1.5}, 1e-9), ("PolynomialLR", {}, 1e-12),
    ("CosineAnnealingLR", {"T_max": 1001, "eta_min": 1e-3}, 1e-9), ("CosineAnnealingLR", {"T_max": 130}, 1e-9),
    ("CosineAnnealingWarmRestarts", {"T_0": 13}, 1e-12), ("CosineAnnealingWarmRestarts", {"T_0": 10, "T_mult": 2, "eta_min": 0.01}, 1e-12),
    ("CosineAnnealingWarmRestarts", {"T_0": 7, "T_mult": 3}, 1e-12),
    ("OneCycleLR", {"max_lr": 0.3, "total_steps": 1001}, 1e-12), ("OneCycleLR", {"max_lr": 0.3, "epochs": 91, "steps_per_epoch": 11}, 1e-12),
    ("OneCycleLR", {"max_lr": 0.3, "total_steps": 1001, "three_phase": True, "anneal_strategy": "linear", "div_factor": 10.0}, 1e-12),
    ("OneCycleLR", {"max_lr": 0.3, "total_steps": 1001, "pct_start": 0.45, "three_phase": True, "final_div_factor": 100.0}, 1e-12),
    ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 30, "cycle_momentum": False}, 1e-12),
    ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 30, "step_size_down": 50, "mode": "triangular2", "cycle_momentum": False}, 1e-12),
    ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 30, "mode": "exp_range", "gamma": 0.999, "cycle_momentum": False}, 1e-12),
    ("LambdaLR", {"lr_lambda": lambda step: 1 / (1 + 0.1 * step)}, 1e-12),
]


def rates_of_torch(make, steps=STEPS, lr=0.1, name="lr"):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr, momentum=0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scheduler, rates = make(optimizer), []
        for _ in range(steps):
            rates.append(optimizer.param_groups[0][name])
            optimizer.step()
            scheduler.step()
    return np.array(rates)


class Schedules(unittest.TestCase):
    def expect_rates(self, schedule, wanted, tolerance=1e-12):
        steps = pl.arange(len(wanted))
        for way in schedule, pl.jit(lambda steps: schedule(steps)), pl.vmap(schedule):
            found = way(steps)
            self.assertEqual(found.dtype, pl.f64)
            np.testing.assert_allclose(found.numpy(), wanted, rtol=tolerance, atol=1e-16 if tolerance < 1e-11 else 1e-12)
        last = len(wanted) - 1
        for step in last, pl.tensor(last), pl.tensor(float(last), dtype=pl.f64):
            self.assertEqual(schedule(step).item(), schedule(steps)[last].item())

    def test_as_in_torch(self):
        for name, options, tolerance in OF_TORCH:
            with self.subTest(name, **options):
                first = {} if {"max_lr", "base_lr"} & set(options) else {"lr": 0.1}
                wanted = rates_of_torch(lambda optimizer: getattr(torch_lr, name)(optimizer, **options))
                self.expect_rates(getattr(own_lr, name)(**first, **options), wanted, tolerance)

    def test_momentum_as_in_torch(self):
        for name, options, tolerance in OF_TORCH:
            if name not in ("OneCycleLR", "CyclicLR"):
                continue
            for momentum in {}, {"base_momentum": 0.5, "max_momentum": 0.97}:
                named = {**options, **momentum, "cycle_momentum": True}
                with self.subTest(name, **named):
                    wanted = rates_of_torch(lambda optimizer: getattr(torch_lr, name)(optimizer, **named), name="momentum")
                    self.expect_rates(getattr(own_lr, name)(**named).momentum, wanted, tolerance)

    def test_steps_with_a_cycled_momentum(self):
        gradients = np.random.default_rng(2).normal(size=(40, 3))
        for name, make in (("SGD", lambda momentum: {"momentum": momentum}), ("Adam", lambda momentum: {"betas": (momentum, 0.99)})):
            weight = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))
            theirs = getattr(torch.optim, name)([weight], lr=0.1, **make(0.9))
            scheduler = torch_lr.OneCycleLR(theirs, 0.1, total_steps=41)
            schedule, model = own_lr.OneCycleLR(0.1, total_steps=41), pl.ones(3, dtype=pl.f64)
            ours = getattr(pl.optim, name)(model, lr=schedule, **make(schedule.momentum))
            step = pl.jit(lambda ours, model, gradient: ours.update(model, gradient))
            for each in gradients:
                weight.grad = torch.tensor(each)
                theirs.step()
                scheduler.step()
                model, ours = step(ours, model, pl.asarray(each))
            with self.subTest(name):
                np.testing.assert_allclose(model, weight.detach().numpy(), rtol=1e-10, atol=1e-12)
                self.assertEqual(pl.stats(step).traces, 1)

    def test_none_of_torch_is_missing(self):
        names = [name for name, value in vars(torch_lr).items() if isinstance(value, type) and issubclass(value, torch_lr.LRScheduler)]
        self.assertEqual([name for name in names if name not in ("LRScheduler", "_LRScheduler") and not hasattr(own_lr, name)], [])
        for name, options, _ in OF_TORCH:
            parameters = list(inspect.signature(getattr(torch_lr, name)).parameters)
            ours = list(inspect.signature(getattr(own_lr, name)).parameters)
            self.assertEqual([each for each in parameters[1:] if each in ours], [each for each in ours if each != "lr"], name)

    def test_multiplicative(self):
        factor = lambda step: 1 - 0.5 / (step + 3)  # noqa: E731
        wanted = rates_of_torch(lambda optimizer: torch_lr.MultiplicativeLR(optimizer, factor), 50)
        schedule = own_lr.MultiplicativeLR(0.1, factor)
        for way in schedule, pl.jit(lambda step: schedule(step)):
            np.testing.assert_allclose([way(pl.tensor(step)).item() for step in range(50)], wanted, rtol=1e-12)
        np.testing.assert_allclose(pl.vmap(schedule)(pl.arange(50)), wanted, rtol=1e-12)

    def test_sequential_and_chained(self):
        def of_torch(optimizer):
            parts = [torch_lr.ConstantLR(optimizer, factor=0.1, total_iters=20), torch_lr.ExponentialLR(optimizer, gamma=0.99),
                     torch_lr.StepLR(optimizer, 100)]
            return torch_lr.SequentialLR(optimizer, parts, [20, 500])

        parts = [own_lr.ConstantLR(0.1, 0.1, 20), own_lr.ExponentialLR(0.1, 0.99), own_lr.StepLR(0.1, 100)]
        self.expect_rates(own_lr.SequentialLR(parts, [20, 500]), rates_of_torch(of_torch), 1e-12)
        wanted = rates_of_torch(lambda optimizer: torch_lr.ChainedScheduler(
            [torch_lr.ConstantLR(optimizer, factor=0.1, total_iters=20), torch_lr.ExponentialLR(optimizer, gamma=0.99)]))
        self.expect_rates(own_lr.ChainedScheduler([own_lr.ConstantLR(0.1, 0.1, 20), own_lr.ExponentialLR(1.0, 0.99)]), wanted)

    def test_swa(self):
        for strategy in "cos", "linear":
            wanted = rates_of_torch(lambda optimizer: torch.optim.swa_utils.SWALR(optimizer, 0.02, anneal_epochs=30, anneal_strategy=strategy), 100)
            self.expect_rates(own_lr.SWALR(0.1, 0.02, 30, strategy), wanted, 1e-9)

    def test_plateau(self):
        losses = np.abs(np.random.default_rng(1).normal(size=STEPS)) + np.exp(-np.arange(STEPS) / 50)
        for options in ({"patience": 3}, {"mode": "max", "patience": 5, "factor": 0.5, "cooldown": 4, "min_lr": 1e-3},
                        {"threshold_mode": "abs", "threshold": 0.01, "patience": 0, "factor": 0.9, "cooldown": 1}):
            optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
            scheduler = torch_lr.ReduceLROnPlateau(optimizer, **options)
            eager, step = own_lr.ReduceLROnPlateau(0.1, **options), pl.jit(lambda plateau, loss: plateau.step(loss))
            jitted = eager
            for i, loss in enumerate(losses):
                scheduler.step(loss)
                jitted = step(jitted, pl.tensor(loss, dtype=pl.f64))
                self.assertEqual(jitted.lr.item(), optimizer.param_groups[0]["lr"])
                if i < 100:
                    eager = eager.step(float(loss))
                    self.assertEqual(eager.lr.item(), jitted.lr.item())
            self.assertLess(jitted.lr.item(), 0.1)
            self.assertEqual(pl.stats(step).traces, 1)

    def test_further_kinds(self):
        optim, steps = pl.optim, np.arange(STEPS)
        rise = np.minimum(steps / 100, 1)
        for schedule, wanted in (
                (optim.natural_exp_decay(0.1, 2.0, 300), 0.1 * np.exp(-2 * steps / 300)),
                (optim.natural_exp_decay(0.1, 2.0, 300, staircase=True), 0.1 * np.exp(-2.0 * (steps // 300))),
                (optim.inverse_sqrt_schedule(0.1, 100), 0.1 * np.where(steps < 100, rise, np.sqrt(100 / np.maximum(steps, 1)))),
                (optim.warmup_linear_decay_schedule(0.0, 0.1, 100, 600, 0.01), np.where(steps < 100, 0.1 * rise, np.maximum(
                    0.1 - 0.09 * (steps - 100) / 500, 0.01))),
                (optim.warmup_stable_decay_schedule(0.1, 100, 500, 200), 0.1 * rise * np.clip(1 - (steps - 600) / 200, 0, 1)),
                (optim.warmup_stable_decay_schedule(0.1, 100, 500, 200, shape="cosine"),
                 0.1 * rise * (1 + np.cos(np.pi * np.clip((steps - 600) / 200, 0, 1))) / 2)):
            self.expect_rates(schedule, wanted)

    def test_numbers_need_no_new_record(self):
        run, schedule = pl.jit(lambda schedule, step: schedule(step)), own_lr.StepLR(1.0, 2)
        for lr in 1.0, 2.0, 3.0:
            schedule.lr = lr
            self.assertEqual(run(schedule, pl.tensor(1)).item(), lr)
        self.assertEqual(pl.stats(run).traces, 1)

    def test_what_is_refused(self):
        optim = pl.optim
        for call, error, text in (
                (lambda: own_lr.StepLR(0.1, 0), pl.ValueError, "StepLR: step_size is 0"),
                (lambda: own_lr.CyclicLR(0.1, 1.0, mode="round"), pl.ValueError, "CyclicLR: mode is 'round', expected 'triangular' or"),
                (lambda: own_lr.CyclicLR(0.1, 1.0, cycle_momentum=False).momentum, pl.ValueError, "there is no momentum with cycle_momentum=False"),
                (lambda: own_lr.OneCycleLR(0.1), pl.TypeError, "OneCycleLR: expected total_steps"),
                (lambda: own_lr.ReduceLROnPlateau(0.1, factor=1.5), pl.ValueError, "factor is 1.5"),
                *((lambda value=value: own_lr.StepLR(value, 2), pl.ValueError, "StepLR: lr is .*, expected a number")
                  for value in (None, "x", True, ())),
                (lambda: own_lr.CyclicLR(0.1, 1.0, scale_fn=1), pl.TypeError, "CyclicLR: scale_fn is 1, expected a function"),
                (lambda: own_lr.CyclicLR(0.1, 1.0, gamma="x"), pl.ValueError, "CyclicLR: gamma is 'x', expected a number"),
                (lambda: optim.constant_schedule(None), pl.ValueError, "constant_schedule: value is None, expected a number"),
                (lambda: optim.linear_schedule(0.1, None, 3), pl.ValueError, "polynomial_schedule: end_value is None, expected a number"),
                (lambda: optim.warmup_stable_decay_schedule(0.1, 1, 2, 3, end_value=None), pl.ValueError, "end_value is None, expected a number"),
                (lambda: optim.linear_onecycle_schedule(10, 1.0, pct_start=()), pl.ValueError, r"pct_start is \(\), expected a number"),
                (lambda: optim.warmup_cosine(1, None, 10), pl.ValueError, "warmup_cosine: peak is None, expected a number"),
                (lambda: own_lr.LambdaLR(0.1, 0.5), pl.TypeError, "LambdaLR: lr_lambda is 0.5, expected a function"),
                (lambda: optim.cosine_decay_schedule(0.1, 0), pl.ValueError, "cosine_decay_schedule: decay_steps is 0"),
                (lambda: optim.join_schedules([optim.constant_schedule(1.0)], [3]), pl.ValueError, "expected 0 numbers"),
                (lambda: optim.piecewise_constant_schedule(1.0, {3: -1.0}), pl.ValueError, "factors of 0 or more"),
                (lambda: optim.piecewise_constant_schedule(1.0, {-1: 0.5}), pl.ValueError, "has the steps -1, expected 0 or more"),
                (lambda: optim.join_schedules([optim.constant_schedule(1.0)] * 3, [5, 3]), pl.ValueError, "has the steps 5, 3, expected 0 or more, none below"),
                (lambda: optim.linear_schedule(1.0, 0.0, -1), pl.ValueError, "transition_steps is -1, expected a number above 0"),
                (lambda: optim.exponential_decay(1.0, 0, 0.5), pl.ValueError, "exponential_decay: transition_steps is 0"),
                (lambda: optim.warmup_cosine_decay_schedule(0.0, 1.0, 10, 5), pl.ValueError, "expected more than warmup_steps")):
            with self.subTest(text), self.assertRaisesRegex(error, text):
                call()

    def test_numbers_that_make_rates_negative(self):
        optim = pl.optim
        for call, text in (
                (lambda: own_lr.LinearLR(0.1, 0.0), "LinearLR: start_factor is 0.0, expected a number above 0, at most 1"),
                (lambda: own_lr.LinearLR(0.1, 2.0), "LinearLR: start_factor is 2.0, expected a number above 0, at most 1"),
                (lambda: own_lr.LinearLR(0.1, 0.5, 5.0), "LinearLR: end_factor is 5.0, expected a number: from 0 to 1"),
                (lambda: own_lr.LinearLR(0.1, total_iters=-1), "LinearLR: total_iters is -1, expected a number: 0 or more"),
                (lambda: own_lr.ConstantLR(0.1, 1.5), "ConstantLR: factor is 1.5, expected a number: from 0 to 1"),
                (lambda: own_lr.ConstantLR(0.1, -1.0), "ConstantLR: factor is -1.0"),
                (lambda: own_lr.ConstantLR(0.1, 0.5, -1), "ConstantLR: total_iters is -1"),
                (lambda: own_lr.PolynomialLR(0.1, -1), "PolynomialLR: total_iters is -1"),
                (lambda: own_lr.PolynomialLR(0.1, 5, -1), "PolynomialLR: power is -1"),
                (lambda: own_lr.StepLR(0.1, 3, -1.0), "StepLR: gamma is -1.0"),
                (lambda: own_lr.MultiStepLR(0.1, [-3]), r"MultiStepLR: milestones\[0\] is -3, expected a number: 0 or more"),
                (lambda: own_lr.MultiStepLR(0.1, [3], -1.0), "MultiStepLR: gamma is -1.0"),
                (lambda: own_lr.ExponentialLR(0.1, -1.0), "ExponentialLR: gamma is -1.0"),
                (lambda: own_lr.CyclicLR(0.1, 0.2, mode="exp_range", gamma=-1.0), "CyclicLR: gamma is -1.0"),
                (lambda: own_lr.OneCycleLR(0.1, epochs=-2, steps_per_epoch=-3), "OneCycleLR: epochs is -2, expected a number above 0"),
                (lambda: optim.warmup_stable_decay_schedule(0.1, -1, 2, 3), "warmup_stable_decay_schedule: warmup_steps is -1"),
                (lambda: optim.warmup_stable_decay_schedule(0.1, 1, -2, 3), "warmup_stable_decay_schedule: stable_steps is -2"),
                (lambda: optim.exponential_decay(0.1, 10, -1.0), "exponential_decay: decay_rate is -1.0"),
                (lambda: optim.polynomial_schedule(0.1, 0.01, -1, 100), "polynomial_schedule: power is -1"),
                (lambda: setattr(own_lr.StepLR(0.1, 3), "gamma", -0.5), "StepLR: gamma is -0.5"),
                (lambda: setattr(own_lr.LinearLR(0.1), "start_factor", 3), "LinearLR: start_factor is 3"),
                (lambda: setattr(optim.exponential_decay(0.1, 10, 0.5), "decay_rate", -1.0), "exponential_decay: decay_rate is -1.0")):
            with self.subTest(text), self.assertRaisesRegex(pl.ValueError, text + r".*, at schedules_test.py:\d+"):
                call()

    def test_at_the_limits(self):
        """PyTorch accepts these, too."""
        for schedule, values in ((own_lr.LinearLR(1.0, 1.0, 0.0, total_iters=0), [0.0, 0.0]),
                                 (own_lr.ConstantLR(1.0, 0.0, total_iters=1), [0.0, 1.0]),
                                 (own_lr.MultiStepLR(1.0, [], gamma=0.5), [1.0, 1.0]), (own_lr.MultiStepLR(1.0, [3, 0], gamma=0.5), [0.5, 0.5]),
                                 (own_lr.ExponentialLR(1.0, 1.5), [1.0, 1.5]), (pl.optim.natural_exp_decay(1.0, -1.0, 1), [1.0, np.e])):
            np.testing.assert_allclose(schedule(pl.arange(2)), values)


OF_OPTAX = [
    ("constant_schedule", (0.3,), {}), ("linear_schedule", (0.3, 0.01, 400, 50), {}), ("linear_schedule", (0.3, 0.01, 0), {}),
    ("polynomial_schedule", (0.3, 0.01, 2.5, 400), {"transition_begin": 10}), ("polynomial_schedule", (0.3, 0.01, 3, 400, -5), {}),
    ("exponential_decay", (0.3, 100, 0.5), {"transition_begin": 30, "staircase": True}), ("exponential_decay", (0.3, 100, 0.5), {"end_value": 0.1}),
    ("exponential_decay", (0.3, 100, 1.5), {"end_value": 2.0}), ("exponential_decay", (0.3, 100, 0.0), {}),
    ("cosine_decay_schedule", (0.3, 700), {}), ("cosine_decay_schedule", (0.3, 700, 0.1), {"exponent": 2.0}),
    ("piecewise_constant_schedule", (0.3, {10: 0.5, 700: 3.0, 50: 0.1}), {}), ("piecewise_constant_schedule", (0.3,), {}),
    ("piecewise_interpolate_schedule", ("linear", 0.3, {10: 0.5, 700: 3.0}), {}),
    ("piecewise_interpolate_schedule", ("cosine", 0.3, {10: 0.5, 700: 3.0, 50: 0.1}), {}),
    ("linear_onecycle_schedule", (900, 0.3), {}), ("cosine_onecycle_schedule", (900, 0.3), {"pct_start": 0.2, "div_factor": 10.0}),
    ("warmup_constant_schedule", (0.01, 0.3, 100), {}),
    ("warmup_cosine_decay_schedule", (0.01, 0.3, 100, 800), {"end_value": 0.001, "exponent": 1.5}),
    ("warmup_cosine_decay_schedule", (0.01, 0.3, 0, 800), {}),
    ("warmup_exponential_decay_schedule", (0.01, 0.3, 100, 50, 0.9), {"end_value": 0.1}),
    ("sgdr_schedule", ([{"init_value": 0.0, "peak_value": peak, "warmup_steps": 20, "decay_steps": 250} for peak in (0.3, 0.2, 0.1)],), {}),
]


@unittest.skipUnless(__import__("importlib").util.find_spec("optax"), "optax is not installed")
class Optax(unittest.TestCase):
    """The same of optax's, in f64."""

    expect_rates = Schedules.expect_rates

    def test_as_in_optax(self):
        import jax
        import optax

        jax.config.update("jax_enable_x64", True)
        self.addCleanup(functools.partial(jax.config.update, "jax_enable_x64", False))
        steps = jax.numpy.arange(STEPS)
        for name, values, options in OF_OPTAX:
            with self.subTest(name, options=options, values=values):
                theirs = getattr(optax.schedules, name)(*values, **options)
                wanted = np.array(jax.vmap(lambda step: jax.numpy.asarray(theirs(step), dtype=float))(steps))
                self.expect_rates(getattr(pl.optim, name)(*values, **options), wanted)
                self.assertEqual(list(inspect.signature(getattr(optax.schedules, name)).parameters),
                                 list(inspect.signature(getattr(pl.optim, name)).parameters))

    def test_none_of_optax_is_missing(self):
        import optax

        names = [name for name in vars(optax.schedules) if name.endswith(("_schedule", "schedules", "_decay")) and not name.startswith("_")]
        self.assertGreater(len(names), 12)
        self.assertEqual([name for name in names if not hasattr(pl.optim, name)], [])

    def test_joined(self):
        import jax
        import optax

        jax.config.update("jax_enable_x64", True)
        self.addCleanup(functools.partial(jax.config.update, "jax_enable_x64", False))
        wanted = optax.join_schedules([optax.linear_schedule(0.0, 0.3, 50), optax.cosine_decay_schedule(0.3, 500)], [50])
        own = pl.optim.join_schedules([pl.optim.linear_schedule(0.0, 0.3, 50), pl.optim.cosine_decay_schedule(0.3, 500)], [50])
        self.expect_rates(own, np.array(wanted(jax.numpy.arange(STEPS))))


if __name__ == "__main__":
    unittest.main()
