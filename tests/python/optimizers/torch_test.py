"""Optimizers compared with PyTorch's, in f64: all configurations of PyTorch's own database of optimizers, eagerly and jitted."""

import functools
import types
import unittest
from unittest import mock

import numpy as np
import plait as pl
import torch
from torch.testing._internal.common_optimizers import optim_db

STEPS, TOLERANCE = 200, 1e-10
RANDOM = np.random.default_rng(1)
BEGIN = {"matrix": RANDOM.normal(size=(4, 3)), "vector": RANDOM.normal(size=5), "scalar": RANDOM.normal(size=()),
         "complex": RANDOM.normal(size=3) + 1j * RANDOM.normal(size=3)}
TARGET = {name: RANDOM.normal(size=value.shape) for name, value in BEGIN.items()}
GROUPS = {"SGD": {"momentum": 0.9, "weight_decay": 0.1}, "Adam": {"amsgrad": True, "lr": 0.01}, "AdamW": {"weight_decay": 0.0, "betas": (0.8, 0.9)},
          "RMSprop": {"centered": True, "momentum": 0.5}, "Adagrad": {"initial_accumulator_value": 0.0, "lr": 0.1}, "Adadelta": {"rho": 0.5},
          "Adamax": {"maximize": True}, "NAdam": {"decoupled_weight_decay": True, "weight_decay": 0.1}, "RAdam": {"betas": (0.5, 0.9)},
          "ASGD": {"lambd": 0.1}, "Rprop": {"lr": 0.1}, "Adafactor": {"lr": 0.1, "eps": (1e-10, 1e-2)}}


def gradient_at(name, value, step):
    """The gradient of a function with several minima, which moves."""
    return value - TARGET[name] + 0.5 * np.sin(3 * value.real) + 0.1 * np.cos(0.3 * step) + (0.2j * value.imag if name == "complex" else 0)


def of_torch(make, names, steps=STEPS):
    """The weights after the steps, and the state by name."""
    weights = {name: torch.nn.Parameter(torch.tensor(BEGIN[name])) for name in names}
    optimizer = make(weights)
    for step in range(steps):
        for name, weight in weights.items():
            gradient = torch.tensor(gradient_at(name, weight.detach().numpy(), step))
            weight.grad = gradient.to_sparse() if type(optimizer).__name__ == "SparseAdam" else gradient
        optimizer.step()
    return {name: weight.detach().numpy() for name, weight in weights.items()}, {name: optimizer.state[weights[name]] for name in names}


def of_plait(make, names, is_jitted, steps=STEPS):
    model = {name: pl.asarray(BEGIN[name]) for name in names}
    optimizer = make(model)

    def update(model, gradient, optimizer):
        return optimizer.update(model, gradient)

    run = pl.jit(update) if is_jitted else update
    for step in range(steps):
        gradient = {name: pl.asarray(np.conj(gradient_at(name, weight.numpy(), step))) for name, weight in model.items()}  # as grad returns it
        model, optimizer = run(model, gradient, optimizer)
    if is_jitted:
        assert pl.stats(run).traces == 1, pl.stats(run)
    return model, optimizer


def given(options):
    """The options of a configuration, with tensors of Plait."""
    return {name: pl.tensor(value.item(), dtype=pl.f64) if isinstance(value, torch.Tensor) else value for name, value in options.items()}


def names_for(info):
    """The weights that an optimizer can have."""
    if info.optim_cls.__name__ == "Muon":
        return ["matrix"]
    return [name for name in BEGIN if name != "complex" or info.supports_complex]


class Database(unittest.TestCase):
    def setUp(self):
        before = torch.get_default_dtype()
        torch.set_num_threads(1)
        torch.set_default_dtype(torch.float64)
        self.addCleanup(torch.set_default_dtype, before)

    def expect_alike(self, found, wanted):
        (model, optimizer), (weights, state) = found, wanted
        for name, weight in weights.items():
            np.testing.assert_allclose(model[name].numpy(), weight, rtol=TOLERANCE, atol=TOLERANCE, err_msg=name)
        for name, each in optimizer.state.items():
            for path, value in each.items():
                np.testing.assert_allclose(value.numpy(), np.asarray(state[path][name]).reshape(value.shape), rtol=TOLERANCE, atol=TOLERANCE,
                                           err_msg=f"{name} of {path}")

    def test_it_has_no_optimizer_that_is_missing(self):
        self.assertEqual([info.optim_cls.__name__ for info in optim_db if not hasattr(pl.optim, info.optim_cls.__name__)], [])
        self.assertGreaterEqual(len(optim_db), 15)

    def test_all_configurations(self):
        for info in optim_db:
            own, names = info.optim_cls.__name__, names_for(info)
            if own in ("LBFGS", "Muon"):
                continue
            for each in info.optim_inputs_func(device="cpu"):
                wanted = of_torch(lambda weights: info.optim_cls(list(weights.values()), **each.kwargs), names)
                for is_jitted in False, True:
                    with self.subTest(own, configuration=each.desc, jitted=is_jitted):
                        self.expect_alike(of_plait(lambda model: getattr(pl.optim, own)(model, **given(each.kwargs)), names, is_jitted), wanted)

    def test_muon(self):
        """PyTorch rounds the iterations to bf16, where the order of a sum decides: compared with those of f64, and roughly as they are."""
        info = next(info for info in optim_db if info.optim_cls.__name__ == "Muon")
        exact = types.SimpleNamespace(**{**vars(torch), "bfloat16": torch.float64})
        for each in info.optim_inputs_func(device="cpu"):
            for is_jitted in False, True:
                with self.subTest(configuration=each.desc, jitted=is_jitted):
                    with mock.patch.object(torch.optim._muon, "torch", exact):
                        wanted = of_torch(lambda weights: info.optim_cls(list(weights.values()), **each.kwargs), ["matrix"])
                    exactly = functools.partial(pl.optim.Muon, **given(each.kwargs), ns_dtype=pl.f64)
                    self.expect_alike(of_plait(exactly, ["matrix"], is_jitted), wanted)
                    weights, _ = of_torch(lambda weights: info.optim_cls(list(weights.values()), **each.kwargs), ["matrix"], 20)
                    model, _ = of_plait(lambda model: pl.optim.Muon(model, **given(each.kwargs)), ["matrix"], is_jitted, 20)
                    np.testing.assert_allclose(model["matrix"], weights["matrix"], rtol=0, atol=1e-3)

    def test_groups(self):
        for info in optim_db:
            own, names = info.optim_cls.__name__, names_for(info)
            if own not in GROUPS:
                continue
            options = GROUPS[own]
            wanted = of_torch(lambda weights: info.optim_cls([{"params": [weights[name] for name in names if name not in ("vector", "scalar")]},
                                                              {"params": [weights["vector"], weights["scalar"]], **options}]), names)
            for is_jitted in False, True:
                with self.subTest(own, jitted=is_jitted):
                    groups = [{"params": ["v*r", "scalar"], **options}]
                    self.expect_alike(of_plait(lambda model: getattr(pl.optim, own)(model, groups=groups), names, is_jitted), wanted)


if __name__ == "__main__":
    unittest.main()
