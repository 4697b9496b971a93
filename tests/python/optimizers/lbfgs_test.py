"""LBFGS compared with PyTorch's: weights, state and counts of evaluations after each step, eagerly and jitted."""

import unittest

import numpy as np
import plait as pl
import torch
from torch.testing._internal.common_optimizers import optim_db

RANDOM = np.random.default_rng(0)
ROWS, WANTED = RANDOM.normal(size=(20, 6)), RANDOM.normal(size=20)
BEGIN = {"w": RANDOM.normal(size=6), "s": RANDOM.normal(size=()), "c": RANDOM.normal(size=2) + 1j * RANDOM.normal(size=2)}
SMALL = [{"history_size": 3, "max_iter": 4}, {"history_size": 2, "max_iter": 4, "line_search_fn": "strong_wolfe"},
         {"max_iter": 3, "max_eval": 3, "line_search_fn": "strong_wolfe"}, {"lr": 0.3, "max_iter": 2, "line_search_fn": "strong_wolfe"},
         {"lr": 30.0, "max_iter": 2, "line_search_fn": "strong_wolfe"}, {"tolerance_change": 1e-3, "max_iter": 3}]
FAR = {"w": 5 * RANDOM.normal(size=4)}


def smooth(f, rows, wanted, model):
    errors = rows @ model["w"] - wanted
    return (f.sum(f.log(1 + f.exp(errors))) + 0.1 * f.sum((model["w"] ** 2 - model["s"]) ** 2) + f.sum((model["s"] - 0.3) ** 4)
            + f.sum(f.real(model["c"]) ** 2) + 2 * f.sum((f.imag(model["c"]) - 0.1) ** 2))


def valley(f, rows, wanted, model):
    """Rosenbrock's function, whose minimum takes many iterations."""
    w = model["w"]
    return f.sum(100 * (w[1:] - w[:-1] ** 2) ** 2 + (1 - w[:-1]) ** 2)


def steps(loss, begin, options, count):
    """For each step (the weights of PyTorch, its state), and of Plait (model, optimizer), eagerly and jitted."""
    sign = -1 if options.get("maximize") else 1
    weights = {name: torch.nn.Parameter(torch.tensor(value)) for name, value in begin.items()}
    theirs = torch.optim.LBFGS(list(weights.values()), **options)
    own = {name: value.item() if isinstance(value, torch.Tensor) else value for name, value in options.items()}
    model = {name: pl.asarray(value) for name, value in begin.items()}
    data, own_data = (torch.tensor(ROWS), torch.tensor(WANTED)), (pl.asarray(ROWS), pl.asarray(WANTED))

    def closure():
        theirs.zero_grad()
        value = sign * loss(torch, *data, weights)
        value.backward()
        return value

    def update(model, optimizer):
        return optimizer.update(model, loss=lambda model: sign * loss(pl, *own_data, model))

    jitted = pl.jit(update)
    runs = {"eager": (model, pl.optim.LBFGS(model, **own)), "jitted": (model, pl.optim.LBFGS(model, **own))}
    for _ in range(count):
        before = theirs.step(closure).item()
        runs = {"eager": update(*runs["eager"]), "jitted": jitted(*runs["jitted"])}
        yield {name: weight.detach().numpy() for name, weight in weights.items()}, theirs.state[next(iter(weights.values()))], before, runs
    assert pl.stats(jitted).traces == 1, pl.stats(jitted)


class Lbfgs(unittest.TestCase):
    def expect_alike(self, loss, begin, options, count, tolerance=1e-10):
        for i, (weights, state, before, runs) in enumerate(steps(loss, begin, options, count)):
            for way, (model, optimizer) in runs.items():
                for name, weight in weights.items():
                    np.testing.assert_allclose(model[name].numpy(), weight, rtol=tolerance, atol=tolerance, err_msg=f"{way}, step {i}")
                counts = {name: optimizer.state[name].item() for name in ("n_iter", "func_evals")}
                self.assertEqual(counts, {name: state[name] for name in counts}, f"{way}, step {i}")
                self.assertAlmostEqual(optimizer.loss.item(), before, delta=1e-9 * (1 + abs(before)))
        return state["n_iter"]

    def setUp(self):
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        self.addCleanup(torch.set_default_dtype, before)

    def test_configurations_of_the_database(self):
        """With a small rate the curvatures are differences of almost equal gradients, so roundings grow after some steps."""
        info = next(info for info in optim_db if info.optim_cls.__name__ == "LBFGS")
        for each in info.optim_inputs_func(device="cpu"):
            with self.subTest(each.desc):
                self.expect_alike(smooth, BEGIN, each.kwargs, 5 if each.kwargs.get("lr") == 0.01 else 50)

    def test_few_iterations_for_each_step(self):
        for options in SMALL:
            with self.subTest(**options):
                self.expect_alike(smooth, BEGIN, options, 50)

    def test_a_long_valley(self):
        options = {"max_iter": 2, "max_eval": 10, "line_search_fn": "strong_wolfe"}
        self.assertGreater(self.expect_alike(valley, FAR, options, 12, 1e-7), 20)

    def test_of_single_precision_and_narrow_weights(self):
        for dtype, tolerance in ((pl.f32, 1e-4), (pl.bf16, 2e-2)):
            model = {"w": pl.asarray(FAR["w"]).astype(dtype)}
            optimizer = pl.optim.LBFGS(model, line_search_fn="strong_wolfe")
            model, optimizer = optimizer.update(model, loss=lambda model: pl.sum((model["w"].astype(pl.f32) - 1) ** 2))
            self.assertEqual((model["w"].dtype, optimizer.state["d"].dtype), (dtype, pl.f32))
            np.testing.assert_allclose(model["w"].astype(pl.f32).numpy(), 1, atol=tolerance)

    def test_what_is_refused(self):
        model = pl.ones(2)
        optimizer = pl.optim.LBFGS(model)
        for call, error, text in (
                (lambda: optimizer.update(model, pl.ones(2)), pl.TypeError, r"takes the loss function, instead of a gradient[\s\S]*loss=lambda"),
                (lambda: optimizer.update(pl.ones(3), loss=pl.sum), pl.ShapeError, "the model has 3 weights, the state 2"),
                (lambda: pl.optim.LBFGS(model, line_search_fn="wolfe"), pl.ValueError, "line_search_fn is 'wolfe', expected None or 'strong_wolfe'"),
                (lambda: pl.optim.LBFGS(model, max_iter=0), pl.ValueError, "LBFGS: max_iter is 0"),
                (lambda: pl.optim.LBFGS(model, lr=-1.0), pl.ValueError, "LBFGS: lr is -1")):
            with self.subTest(text), self.assertRaisesRegex(error, text):
                call()


if __name__ == "__main__":
    unittest.main()
