"""Pruned weights, compared with torch.nn.utils.prune: masks, names of tensors, outputs and gradients."""

import copy
import pickle
import unittest

import numpy as np
import plait as pl
import torch
from torch.nn.utils import prune as theirs_of

nn, prune = pl.nn, pl.nn.utils.prune
RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(2, 4, 5, 5))


def pair(name, *arguments):
    """Our layer and PyTorch's, with the same weights."""
    theirs = getattr(torch.nn, name)(*arguments).double()
    return moved(getattr(nn, name)(*arguments, dtype=pl.f64), theirs), theirs


def moved(ours, theirs):
    return nn.load_state(ours, {name: value.numpy() for name, value in theirs.state_dict().items()})


def layer_of(values):
    layer = nn.Linear(len(values[0]), len(values), dtype=pl.f64)
    layer.weight = pl.tensor(values, dtype=pl.f64)
    return layer


def zeros(x):
    return int(pl.sum(x == 0).item())


# Each is applied after the one before.
STEPS = [
    ("identity", {}), ("l1_unstructured", {"amount": 0.3}), ("l1_unstructured", {"amount": 5}), ("l1_unstructured", {"amount": 0}),
    ("l1_unstructured", {"amount": 0.0}), ("ln_structured", {"amount": 2, "n": 2, "dim": 0}), ("ln_structured", {"amount": 0.3, "n": 1, "dim": 1}),
    ("ln_structured", {"amount": 1, "n": float("inf"), "dim": -1}), ("ln_structured", {"amount": 0, "n": 2, "dim": 0}),
    ("l1_unstructured", {"amount": 0.5}), ("ln_structured", {"amount": 0.25, "n": 3.5, "dim": -3}), ("l1_unstructured", {"amount": 1.0}),
]


class AsInPyTorch(unittest.TestCase):
    def expect_alike(self, ours, theirs):
        own, wanted = nn.state(ours), theirs.state_dict()
        self.assertEqual(set(own), set(wanted))
        for name, value in wanted.items():
            np.testing.assert_array_equal(own[name].numpy(), value.numpy(), err_msg=name)

    def test_steps_one_after_another(self):
        ours, theirs = pair("Conv2d", 4, 6, 3)
        for name, options in STEPS:
            with self.subTest(name, **options):
                before = ours
                ours = getattr(prune, name)(ours, "weight", **options)
                getattr(theirs_of, name)(theirs, "weight", **options)
                self.expect_alike(ours, theirs)
                again = pl.jit(lambda model: getattr(prune, name)(model, "weight", **options))(before)  # noqa: B023
                np.testing.assert_array_equal(again.weight_mask, ours.weight_mask)
                self.expect_calls_alike(ours, theirs)
        theirs_of.remove(theirs, "weight")
        self.expect_alike(prune.remove(ours, "weight"), theirs)

    def expect_calls_alike(self, ours, theirs):
        theirs.zero_grad()
        out = theirs(torch.tensor(X))
        (out ** 3).sum().backward()
        loss = lambda model: pl.sum(model(pl.asarray(X)) ** 3)  # noqa: E731
        np.testing.assert_allclose(ours(pl.asarray(X)), out.detach().numpy(), rtol=1e-10, atol=1e-12)
        for way in lambda f: f, pl.jit:
            gradient = way(pl.grad(loss))(ours)
            self.assertIsNone(gradient.weight_mask)
            for name, value in theirs.named_parameters():
                np.testing.assert_allclose(getattr(gradient, name), value.grad.numpy(), rtol=1e-9, atol=1e-10)

    def test_nuclear_norms_and_importance_scores(self):
        ours, theirs = pair("Conv1d", 4, 6, 3)
        scores = RANDOM.normal(size=(6, 4, 3))
        for name, options in (("ln_structured", {"amount": 2, "n": "nuc", "dim": 0}), ("ln_structured", {"amount": 1, "n": "fro", "dim": 1}),
                              ("ln_structured", {"amount": 1, "n": 2, "dim": 1, "importance_scores": scores}),
                              ("l1_unstructured", {"amount": 7, "importance_scores": scores})):
            with self.subTest(name, options=options):
                others = {key: torch.tensor(each) if key == "importance_scores" else each for key, each in options.items()}
                ours = getattr(prune, name)(ours, "weight", **options)
                getattr(theirs_of, name)(theirs, "weight", **others)
                self.expect_alike(ours, theirs)

    def test_all_together(self):
        theirs = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).double()
        ours = moved(nn.Sequential(nn.Linear(4, 8, dtype=pl.f64), pl.relu, nn.Linear(8, 3, dtype=pl.f64)), theirs)
        parameters = [(theirs[0], "weight"), (theirs[2], "weight"), (theirs[2], "bias")]
        names = ["0.weight", "2.weight", "2.bias"]
        score = RANDOM.normal(size=(3, 8))
        for amount, scores in ((0.2, None), (7, None), (0.5, score), (0, None)):
            with self.subTest(amount=amount):
                theirs_of.global_unstructured(parameters, theirs_of.L1Unstructured, amount=amount,
                                              importance_scores=None if scores is None else {(theirs[2], "weight"): torch.tensor(scores)})
                ours = prune.global_unstructured(ours, names, amount=amount, importance_scores=None if scores is None else {"2.weight": scores})
                self.expect_alike(ours, theirs)
        self.assertTrue(prune.is_pruned(ours))
        for module, name in parameters:
            theirs_of.remove(module, name)
        ours = prune.remove(ours)
        self.assertFalse(prune.is_pruned(ours))
        self.expect_alike(ours, theirs)

    def test_custom_masks(self):
        ours, theirs = pair("Linear", 4, 3)
        for mask in RANDOM.integers(0, 2, (2, 3, 4)):
            ours = prune.custom_from_mask(ours, name="weight", mask=mask)
            theirs_of.custom_from_mask(theirs, name="weight", mask=torch.tensor(mask))
            self.expect_alike(ours, theirs)

    def test_random_ones_prune_as_many(self):
        for name, options in (("random_unstructured", {"amount": 0.3}), ("random_unstructured", {"amount": 5}), ("random_structured", {"amount": 2, "dim": 0}),
                              ("random_structured", {"amount": 0.4, "dim": -1})):
            ours, theirs = pair("Linear", 9, 7)
            for step in range(2):
                with self.subTest(name, step=step, **options):
                    ours = getattr(prune, name)(ours, "weight", **options, key=pl.random.key(step))
                    getattr(theirs_of, name)(theirs, "weight", **options)
                    self.assertEqual(zeros(ours.weight_mask), int((theirs.weight_mask == 0).sum()))
        ours = prune.global_unstructured(nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 3)), "*.weight", prune.random_unstructured, amount=10, key=pl.random.key(1))
        self.assertEqual(zeros(ours[0].weight_mask) + zeros(ours[1].weight_mask), 10)

    def test_weights_move_by_name(self):
        theirs = torch.nn.LSTM(3, 4).double()
        theirs_of.l1_unstructured(theirs, "weight_hh_l0", 0.5)
        ours = moved(prune.identity(nn.LSTM(3, 4, dtype=pl.f64), "weight_hh_l0"), theirs)
        x = RANDOM.normal(size=(5, 2, 3))
        np.testing.assert_allclose(ours(pl.asarray(x))[0], theirs(torch.tensor(x))[0].detach().numpy(), rtol=1e-10)


class Models(unittest.TestCase):
    def test_nothing_is_changed(self):
        layer = nn.Linear(4, 3)
        pruned = prune.l1_unstructured(layer, "*", 0.5)
        self.assertEqual(list(nn.state(layer)), ["weight", "bias"])
        self.assertEqual(set(nn.state(pruned)), {"weight_orig", "weight_mask", "bias_orig", "bias_mask"})
        self.assertEqual(list(nn.state(pruned, buffers=False)), ["weight_orig", "bias_orig"])
        self.assertRegex(repr(pruned), r"weight_mask \(buffer\): f32\[3, 4\]")
        self.assertNotIn("_pruned", repr(pruned))

    def test_training_keeps_the_zeros(self):
        layer = prune.l1_unstructured(layer_of([[3.0, -1.0, 2.0], [0.5, 4.0, -5.0]]), "weight", 3)
        optimizer = pl.optim.AdamW(layer, lr=0.1)
        self.assertEqual(set(optimizer.state["exp_avg"]), {"weight_orig", "bias"})

        @pl.jit
        def step(layer, optimizer, x):
            gradient = pl.grad(lambda layer: pl.sum(layer(x) ** 2))(layer)
            return optimizer.update(layer, gradient)

        mask = layer.weight == 0
        for _ in range(3):
            layer, optimizer = step(layer, optimizer, pl.ones((2, 3), dtype=pl.f64))
        self.assertEqual((layer.weight == 0).tolist(), mask.tolist())
        layer.weight = pl.ones((2, 3), dtype=pl.f64)  # the mask stays
        self.assertEqual((layer.weight == 0).tolist(), mask.tolist())
        self.assertEqual(layer.weight_orig.tolist(), [[1.0] * 3] * 2)

    def test_copies_and_maps(self):
        pruned = prune.l1_unstructured(nn.Linear(4, 3), "weight", 0.5)
        x = pl.ones((2, 4))
        for again in copy.deepcopy(pruned), pickle.loads(pickle.dumps(pruned)), pruned.eval(), pl.tree.map(lambda leaf: leaf, pruned), pl.remat(pruned):
            np.testing.assert_array_equal(again(x), pruned(x))
        self.assertEqual(pruned.to(pl.bf16).weight.dtype, pl.bf16)
        self.assertEqual(prune.remove(pruned).weight.dtype, pl.f32)

    def test_models_under_vmap(self):
        """Each lane has a mask of its own, and one that is pruned already too."""
        keys = pl.random.split_key(pl.random.key(1), 5)
        models = pl.vmap(lambda key: nn.Linear(4, 3, key=key, dtype=pl.f64))(keys)
        for _ in range(2):
            pruned = pl.vmap(lambda model: prune.ln_structured(prune.l1_unstructured(model, "weight", 0.25), "weight", 1, 2, 0))(models)
            for i in range(5):
                one = lambda tree: pl.tree.map(lambda leaf: leaf[i], tree)  # noqa: B023, E731
                wanted = prune.ln_structured(prune.l1_unstructured(one(models), "weight", 0.25), "weight", 1, 2, 0)
                np.testing.assert_array_equal(one(pruned).weight_mask, wanted.weight_mask)
            models = pruned
        with self.assertRaisesRegex(pl.CheckError, "amount is 12, and weight has only fewer elements"):
            pl.vmap(lambda model: prune.l1_unstructured(model, "weight", 12))(models)

    def test_roles_stay(self):
        """Frozen weights and buffers remain what they are."""
        model = nn.freeze(nn.Linear(4, 3), "weight")
        pruned = prune.l1_unstructured(model, "*", 1)
        self.assertEqual(list(nn.state(pruned, buffers=False, frozen=False)), ["bias_orig"])
        self.assertEqual(list(nn.state(prune.remove(pruned), frozen=False)), ["bias"])
        norm = prune.identity(nn.BatchNorm1d(3), "running_mean")
        self.assertNotIn("running_mean_orig", nn.state(norm, buffers=False))
        self.assertNotIn("running_mean", nn.state(prune.remove(norm), buffers=False))

    def test_tied_weights_stay_tied(self):
        model = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)})
        model["b"].weight = model["a"].weight
        for pruned in (prune.random_unstructured(model, "*.weight", 4), prune.global_unstructured(model, "*.weight", amount=4),
                       prune.random_unstructured(prune.l1_unstructured(model, "*.weight", 2), "*.weight", 2)):
            self.assertIs(pruned["a"].weight_orig, pruned["b"].weight_orig)
            self.assertIs(pruned["a"].weight_mask, pruned["b"].weight_mask)
            self.assertEqual(zeros(pruned["a"].weight_mask), 4)
            removed = prune.remove(pruned)
            self.assertIs(removed["a"].weight, removed["b"].weight)

    def test_beside_parametrizations(self):
        layer = layer_of([[3.0, -1.0, 2.0], [0.5, 4.0, -5.0]])
        computed = prune.l1_unstructured(nn.weight_norm(layer), "parametrizations.weight.original1", 2)
        np.testing.assert_allclose(computed.weight == 0, [[0, 1, 0], [1, 0, 0]])
        computed = nn.weight_norm(prune.l1_unstructured(layer, "weight", 2), "weight_orig")
        np.testing.assert_allclose(computed.weight, layer.weight * computed.weight_mask)
        with self.assertRaisesRegex(pl.TypeError, r"weight is computed from weight_orig[\s\S]*remove_parametrizations\(model, 'weight_orig'\)"):
            prune.remove(computed)
        plain = prune.remove(nn.remove_parametrizations(computed, "weight_orig"))
        np.testing.assert_allclose(plain.weight, computed.weight)

    def test_adapters_of_pruned_layers(self):
        """The product of low rank is not masked, nor is the weight that includes it."""
        layer = nn.LoRALinear.from_linear(prune.l1_unstructured(nn.Linear(4, 3), "weight", 6), rank=2)
        for computed in layer, nn.LoRALinear.from_linear(nn.spectral_norm(nn.Linear(4, 3)).eval(), rank=2):
            computed.lora_B = pl.ones((3, 2))
            merged = computed.eval().merged()
            self.assertEqual(set(nn.state(merged)), {"weight", "bias"})
            np.testing.assert_allclose(merged(pl.ones((1, 4))), computed.eval()(pl.ones((1, 4))), rtol=1e-5)

    def test_sizes_of_zero_and_one(self):
        for shape in (0, 3), (3, 0), (1, 1):
            layer = nn.Linear(shape[1], shape[0])
            for made in prune.l1_unstructured(layer, "weight", 0.5), prune.random_structured(layer, "weight", 0.0, 0), prune.ln_structured(layer, "weight", 0.4, 2, 1):
                self.assertEqual(made.weight.shape, shape)
                self.assertEqual(zeros(made.weight_mask), 0)
        self.assertEqual(zeros(prune.l1_unstructured(nn.Linear(1, 1), "weight", 1).weight_mask), 1)

    def test_complex_and_narrow_weights(self):
        layer = layer_of([[3.0, -1.0]])
        layer.weight = pl.tensor([[3 + 1j, 0.5j, -1.0]])
        self.assertEqual(prune.l1_unstructured(layer, "weight", 1).weight.tolist(), [[3 + 1j, 0, -1]])
        self.assertEqual(zeros(prune.l1_unstructured(nn.Linear(8, 8).to(pl.bf16), "weight", 0.5).weight_mask), 32)
        infinite = layer_of([[float("inf"), 1.0, float("inf")]])
        self.assertEqual(zeros(prune.l1_unstructured(prune.l1_unstructured(infinite, "weight", 1), "weight", 1).weight_mask), 2)


class Refusals(unittest.TestCase):
    def test_they_say_what_is_wrong(self):
        layer, pruned = nn.Linear(3, 2), prune.l1_unstructured(nn.Linear(3, 2), "weight", 4)
        for call, error, words in (
                (lambda: prune.l1_unstructured(layer, "wieght", 1), pl.ValueError, "no weight of the model matches 'wieght'[\\s\\S]*did you mean weight"),
                (lambda: prune.l1_unstructured(layer, "weight", 7), pl.ValueError, "amount is 7, and weight has only 6 elements that are left"),
                (lambda: prune.l1_unstructured(pruned, "weight", 3), pl.ValueError, "amount is 3, and weight has only 2 elements that are left"),
                (lambda: prune.random_structured(layer, "weight", 3, 0), pl.ValueError, "amount is 3, and weight has only 2 channels"),
                (lambda: prune.global_unstructured(layer, "*", amount=9), pl.ValueError, "amount is 9, and the model has only 8 elements"),
                (lambda: prune.l1_unstructured(layer, "weight", 1.5), pl.ValueError, "amount is 1.5, expected 0 or more of an integer, and of a fraction 0 to 1"),
                (lambda: prune.l1_unstructured(layer, "weight", -1), pl.ValueError, "amount is -1"),
                (lambda: prune.l1_unstructured(layer, "weight", float("nan")), pl.ValueError, "amount is nan"),
                (lambda: prune.l1_unstructured(layer, "weight", "half"), pl.TypeError, "amount is 'half', expected a number"),
                (lambda: prune.l1_unstructured(layer, "weight", True), pl.TypeError, "amount is True"),
                (lambda: prune.l1_unstructured(layer, 3, 1), pl.TypeError, "the pattern is 3"),
                (lambda: prune.l1_unstructured([pl.ones(3)], "0", 1), pl.TypeError, "expected a Module"),
                (lambda: prune.l1_unstructured(nn.BatchNorm1d(3), "num_batches_tracked", 1), pl.TypeError, "num_batches_tracked is not a weight"),
                (lambda: prune.l1_unstructured(layer, "weight", 1, pl.ones((3, 3))), pl.ShapeError,
                 r"importance_scores of weight is \[3, 3\], expected \[2, 3\]"),
                (lambda: prune.l1_unstructured(layer, "weight", 1, {"weigth": pl.ones((2, 3))}), pl.ValueError, "importance_scores has 'weigth', which is not one"),
                (lambda: prune.ln_structured(layer, "bias", 1, 2, 0), pl.ShapeError, r"bias is \[2\], expected at least two dimensions"),
                (lambda: prune.ln_structured(layer, "weight", 1, 2, 2), pl.IndexError, r"dim is 2, out of range for weight, \[2, 3\]"),
                (lambda: prune.ln_structured(layer, "weight", 1, 2, 0.5), pl.TypeError, "dim is 0.5, expected an integer"),
                (lambda: prune.ln_structured(layer, "weight", 1, "max", 0), pl.ValueError, "n is 'max', expected the order of a norm"),
                (lambda: prune.ln_structured(layer, "weight", 1, "nuc", 0), pl.ShapeError, "n is 'nuc', and weight is"),
                (lambda: prune.custom_from_mask(layer, "weight", pl.ones(3)), pl.ShapeError, r"mask of weight is \[3\], expected \[2, 3\]"),
                (lambda: prune.custom_from_mask(layer, "*", {"weight": pl.ones((2, 3))}), pl.ValueError, "mask has no 'bias'"),
                (lambda: prune.custom_from_mask(layer, "weight", None), pl.TypeError, "mask is None, expected a tensor"),
                (lambda: prune.global_unstructured(layer, "*", prune.ln_structured, amount=1), pl.TypeError, "expected prune.l1_unstructured or"),
                (lambda: prune.global_unstructured(layer, "*", importance_scores=pl.ones(2), amount=1), pl.TypeError, "expected a dict of tensors by name"),
                (lambda: prune.remove(layer), pl.ValueError, "no pruned weight matches"),
                (lambda: prune.is_pruned(3), pl.TypeError, "the model is 3, expected a Module"),
                (lambda: prune.L1Unstructured, pl.AttributeError, "plait.nn.utils.prune.l1_unstructured"),
                (lambda: nn.utils.clip_grad_norm_, pl.AttributeError, "plait.optim.clip_grad_norm")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()
        self.assertEqual(list(nn.state(layer)), ["weight", "bias"])


if __name__ == "__main__":
    unittest.main()
