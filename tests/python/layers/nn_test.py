"""Layers, models and optimizers compared with PyTorch's, from the same weights: eagerly and jitted."""

import copy
import pathlib
import re
import subprocess
import sys
import unittest

import numpy as np
import plait as pl
import torch

import torch_models

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples"
sys.path.insert(0, str(EXAMPLES))
import models  # noqa: E402
from models import loss_of, step  # noqa: E402

OPTIMIZERS = {
    "sgd": lambda model: pl.optim.SGD(model, lr=0.05),
    "momentum": lambda model: pl.optim.SGD(model, lr=0.02, momentum=0.9, weight_decay=0.01),
    "nesterov": lambda model: pl.optim.SGD(model, lr=0.02, momentum=0.9, nesterov=True),
    "adam": lambda model: pl.optim.Adam(model, lr=3e-3, betas=(0.8, 0.95), weight_decay=0.01),
    "adamw": lambda model: pl.optim.AdamW(model, lr=3e-3, weight_decay=0.1),
}


def with_weights(model, arrays):
    leaves, structure = pl.tree.flatten(model)
    assert set(structure.paths) == set(arrays), set(structure.paths) ^ set(arrays)
    return structure.unflatten([pl.asarray(arrays[path]) for path in structure.paths])


def case(name, dtype=torch.float64):
    """PyTorch's model and batch, and Plait's model with the same weights."""
    theirs, x, y = torch_models.case(name, dtype)
    key = pl.random.key(1)
    ours = models.ViT(**torch_models.VIT, key=key) if name == "vit" else models.GPT(**torch_models.GPT_SIZES, key=key)
    return theirs, x, y, with_weights(ours, torch_models.arrays(theirs)), pl.asarray(x.numpy()), pl.asarray(y.numpy())


class Models(unittest.TestCase):
    def assert_like(self, ours, theirs, tolerance):
        for path, leaf in pl.tree.leaves_with_paths(ours):
            np.testing.assert_allclose(leaf.numpy(), theirs[path], rtol=tolerance, atol=tolerance, err_msg=path)

    def test_logits_loss_and_gradients(self):
        for name in "vit", "gpt":
            for dtype, tolerance in ((torch.float64, 1e-11), (torch.float32, 2e-5)):
                theirs, x, y, ours, own_x, own_y = case(name, dtype)
                logits, loss = theirs(x).detach().numpy(), torch_models.loss_of(theirs, x, y)
                loss.backward()
                gradients = {path: parameter.grad.numpy() for path, parameter in theirs.named_parameters()}
                for way in lambda f: f, pl.jit, lambda f: pl.trace(f)(ours, own_x, own_y):
                    with self.subTest(name=name, dtype=dtype):
                        np.testing.assert_allclose(way(lambda model, x, y: model(x))(ours, own_x, own_y).numpy(), logits, rtol=tolerance,
                                                   atol=tolerance)
                        value, slopes = way(pl.value_and_grad(loss_of))(ours, own_x, own_y)
                        self.assertAlmostEqual(value.item(), loss.item(), delta=10 * tolerance)
                        self.assert_like(slopes, gradients, tolerance)

    def test_twenty_steps(self):
        for name in "vit", "gpt":
            for optimizer, make in OPTIMIZERS.items():
                for way in lambda f: f, lambda f: pl.jit(f, donate=(0, 1)):
                    with self.subTest(name=name, optimizer=optimizer):
                        theirs, x, y, model, own_x, own_y = case(name)
                        wanted, losses = torch_models.trained(theirs, x, y, optimizer, 20)
                        state, run = make(model), way(step)
                        for expected in losses:
                            model, state, loss = run(model, state, own_x, own_y)
                            self.assertAlmostEqual(loss.item(), expected, delta=1e-9)
                        self.assert_like(model, wanted, 1e-8)
                        self.assertEqual(state.steps.item(), 20)

    def test_single_precision(self):
        theirs, x, y, model, own_x, own_y = case("gpt", torch.float32)
        wanted, losses = torch_models.trained(theirs, x, y, "adamw", 20)
        state, run = OPTIMIZERS["adamw"](model), pl.jit(step)
        for expected in losses:
            model, state, loss = run(model, state, own_x, own_y)
            self.assertAlmostEqual(loss.item(), expected, delta=1e-4)
        for path, leaf in pl.tree.leaves_with_paths(model):  # keys' biases have no effect, so the sign of their gradient is arbitrary
            if not path.endswith("qkv.bias"):
                np.testing.assert_allclose(leaf.numpy(), wanted[path], rtol=1e-4, atol=1e-4, err_msg=path)

    def test_compiled_steps_are_those_of_eager_training(self):
        vit = models.ViT(24, 4, 3, 48, 3, 3, 7, key=pl.random.key(1))
        gpt = models.GPT(23, 20, 48, 3, 3, key=pl.random.key(1))
        images, ids = pl.random.normal(pl.random.key(2), (6, 3, 24, 24)), pl.random.randint(pl.random.key(2), (4, 21), 0, 23)
        labels = pl.random.randint(pl.random.key(3), (6,), 0, 7)
        for begin, optimizer, x, y, tolerance in ((vit, pl.optim.SGD(vit, lr=0.02, momentum=0.9), images, labels, 1e-3),
                                                  (gpt, pl.optim.AdamW(gpt, lr=1e-3), ids[:, :-1], ids[:, 1:], 1e-3)):
            with self.subTest(type(begin).__name__):
                run = pl.jit(step, donate=(0, 1))
                (model, state), other, other_state, losses = copy.deepcopy((begin, optimizer)), begin, optimizer, []
                for _ in range(20):
                    model, state, loss = run(model, state, x, y)
                    other, other_state, wanted = step(other, other_state, x, y)
                    losses.append(wanted.item())
                    self.assertAlmostEqual(loss.item(), losses[-1], delta=tolerance * losses[-1])
                self.assertLess(losses[-1], 0.9 * losses[0])
                self.assertEqual((pl.stats(run).traces, pl.stats(run).hits), (1, 19))
                leaves = zip(*map(pl.tree.leaves_with_paths, (model, other, begin)))
                for (path, found), (_, wanted), (_, before) in leaves:
                    apart, way = (found - wanted).numpy(), (wanted - before).numpy()
                    if path.endswith("qkv.bias"):  # keys' biases have no effect, so their gradient is only rounding error
                        apart, way = (np.delete(each.reshape(3, -1), 1, 0) for each in (apart, way))
                    self.assertLess(np.linalg.norm(apart), tolerance * np.linalg.norm(way), path)

    def test_a_model_learns_with_narrow_products(self):
        _, _, _, model, x, y = case("gpt", torch.float32)

        @pl.jit
        def narrow_step(model, state, x, y):
            with pl.autocast():
                return step(model, state, x, y)

        state, losses = pl.optim.AdamW(model, lr=1e-2), []
        for _ in range(30):
            model, state, loss = narrow_step(model, state, x, y)
            losses.append(loss.item())
        self.assertLess(losses[-1], 0.5 * losses[0])
        self.assertEqual({leaf.dtype.name for leaf in pl.tree.leaves(model)}, {"f32"})


    def test_the_example_learns(self):
        sizes = "--steps 60 --batch 8 --context 24 --width 32 --depth 1 --length 5".split()
        run = subprocess.run([sys.executable, EXAMPLES / "train_gpt.py", *sizes], capture_output=True, text=True, check=True)
        loss, held_out = (float(each) for each in re.search(r"step 60/60  loss ([\d.]+) .* held out ([\d.]+)", run.stdout).groups())
        self.assertLess(max(loss, held_out), 3.5)  # 4.6 at the beginning
        self.assertRegex(run.stdout, "\nA tensor is (.|\n){5}\n$")


class Layers(unittest.TestCase):
    def check(self, ours, theirs, x, grad_of=None):
        """Compares values, and gradients with respect to all weights."""
        theirs = theirs.double()
        weights = torch_models.arrays(theirs)
        ours = with_weights(ours, weights)
        out = theirs(x)
        factor = torch.cos(out.detach())
        own_x = pl.asarray(x.numpy())
        np.testing.assert_allclose(ours(own_x).numpy(), out.detach().numpy(), rtol=1e-12, atol=1e-12)
        if weights:
            (out * factor).sum().backward()
            gradients = pl.grad(lambda layer: pl.sum(layer(own_x) * pl.asarray(factor.numpy())))(ours)
            for path, leaf in pl.tree.leaves_with_paths(gradients):
                np.testing.assert_allclose(leaf.numpy(), dict(theirs.named_parameters())[path].grad.numpy(), rtol=1e-11, atol=1e-11)

    def test_layers(self):
        torch.manual_seed(3)
        x = torch.randn(2, 5, 6, dtype=torch.float64)
        images = torch.randn(2, 4, 9, 8, dtype=torch.float64)
        nn = pl.nn
        for ours, theirs, given in (
                (nn.Linear(6, 3), torch.nn.Linear(6, 3), x),
                (nn.Linear(6, 3, bias=False), torch.nn.Linear(6, 3, bias=False), x),
                (nn.LayerNorm(6), torch.nn.LayerNorm(6), x),
                (nn.LayerNorm((5, 6), eps=0.1), torch.nn.LayerNorm((5, 6), eps=0.1), x),
                (nn.LayerNorm(6, bias=False), torch.nn.LayerNorm(6, bias=False), x),
                (nn.LayerNorm(6, elementwise_affine=False), torch.nn.LayerNorm(6, elementwise_affine=False), x),
                (nn.Embedding(7, 3), torch.nn.Embedding(7, 3), torch.tensor([[1, 6], [1, 0]])),
                (nn.Embedding(7, 3, padding_idx=1), torch.nn.Embedding(7, 3, padding_idx=1), torch.tensor([[1, 6], [1, 0]])),
                (nn.Conv2d(4, 6, 3), torch.nn.Conv2d(4, 6, 3), images),
                (nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=1, dilation=2, groups=2, bias=False),
                 torch.nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=1, dilation=2, groups=2, bias=False), images),
                (nn.Conv2d(4, 6, 3, padding="same"), torch.nn.Conv2d(4, 6, 3, padding="same"), images),
                (nn.Attention(6, 2), torch_models.Attention(6, 2, False), x),
                (nn.Attention(6, 3, is_causal=True), torch_models.Attention(6, 3, True), x)):
            with self.subTest(repr(ours)):
                self.check(ours, theirs, given)

    def test_attention_is_multi_head_attention(self):
        torch.manual_seed(4)
        theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True).double()
        x = torch.randn(2, 5, 8, dtype=torch.float64)
        mask = torch.rand(5, 5) < 0.3
        mask[:, 0] = False
        ours = with_weights(pl.nn.Attention(8, 2), {
            "qkv.weight": theirs.in_proj_weight.detach().numpy(), "qkv.bias": theirs.in_proj_bias.detach().numpy(),
            "out.weight": theirs.out_proj.weight.detach().numpy(), "out.bias": theirs.out_proj.bias.detach().numpy()})
        own_x = pl.asarray(x.numpy())
        np.testing.assert_allclose(ours(own_x).numpy(), theirs(x, x, x)[0].detach().numpy(), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(ours(own_x, pl.asarray(~mask.numpy())).numpy(), theirs(x, x, x, attn_mask=mask)[0].detach().numpy(),
                                   rtol=1e-12, atol=1e-12)

    def test_the_beginning_is_distributed_as_pytorchs(self):
        key = pl.random.key(5)
        for ours, theirs in ((pl.nn.Linear(300, 200, key=key), torch.nn.Linear(300, 200)),
                             (pl.nn.Conv2d(40, 80, 5, groups=2, key=key), torch.nn.Conv2d(40, 80, 5, groups=2)),
                             (pl.nn.Embedding(300, 100, key=key), torch.nn.Embedding(300, 100)),
                             (pl.nn.LayerNorm(20), torch.nn.LayerNorm(20))):
            for path, wanted in torch_models.arrays(theirs).items():
                leaf = getattr(ours, path).numpy()
                self.assertEqual((leaf.shape, leaf.dtype), (wanted.shape, wanted.dtype))
                share = np.linspace(0.05, 0.95, 19)
                np.testing.assert_allclose(np.quantile(leaf, share), np.quantile(wanted, share), atol=7 * np.std(wanted) / leaf.size**0.5)

    def test_initialisations(self):
        for name, given in (("kaiming_uniform", {}), ("kaiming_normal", {}), ("xavier_uniform", {"gain": 1.5}), ("xavier_normal", {})):
            wanted = getattr(torch.nn.init, name + "_")(torch.empty(100, 40, 3, 2), **given).numpy()
            found = getattr(pl.nn.init, name)((100, 40, 3, 2), **given, key=pl.random.key(6)).numpy()
            self.assertAlmostEqual(np.std(found), np.std(wanted), delta=0.02 * np.std(wanted))
            self.assertAlmostEqual(np.quantile(found, 0.9), np.quantile(wanted, 0.9), delta=0.05 * np.std(wanted))

    def test_keys(self):
        a, b = (models.GPT(**torch_models.GPT_SIZES, key=pl.random.key(3)) for _ in range(2))
        for (path, one), (_, other) in zip(pl.tree.leaves_with_paths(a), pl.tree.leaves_with_paths(b)):
            np.testing.assert_array_equal(one, other, err_msg=path)
        pl.random.seed(3)
        self.assertFalse(np.array_equal(pl.nn.Linear(3, 2).weight, pl.nn.Linear(3, 2).weight))

    def test_cross_entropy(self):
        torch.manual_seed(2)
        logits, target = torch.randn(2, 5, 7, dtype=torch.float64), torch.randint(7, (2, 5))
        for given in {}, {"label_smoothing": 0.1}, {"reduction": "sum"}, {"ignore_index": int(target[0, 0])}, {"reduction": "none"}:
            wanted = torch.nn.functional.cross_entropy(logits.reshape(-1, 7), target.reshape(-1), **given).numpy()
            found = pl.nn.cross_entropy(pl.asarray(logits.numpy()), pl.asarray(target.numpy()), axis=-1, **given)
            np.testing.assert_allclose(found.numpy().reshape(wanted.shape), wanted, rtol=1e-12)
        self.assertEqual(pl.nn.cross_entropy(pl.asarray(logits.numpy()).astype(pl.bf16), pl.asarray(target.numpy()), axis=-1).dtype, pl.f32)

    def test_cross_entropy_means_what_the_other_one_does(self):
        """That of plait itself has the classes along axis 1, as PyTorch's: without an axis both agree, or ours is refused."""
        matrix, cube = pl.asarray(np.random.default_rng(3).normal(size=(3, 3))), pl.asarray(np.random.default_rng(4).normal(size=(3, 3, 3)))
        for logits, target in (matrix, [0, 2, 1]), (matrix[0], 1):
            target = pl.tensor(target)
            self.assertEqual(pl.nn.cross_entropy(logits, target).item(), pl.cross_entropy(logits, target).item())
        target = pl.tensor([[0, 1, 2]] * 3)
        with self.assertRaisesRegex(pl.ValueError, r"3 axes[\s\S]*axis=-1 for \[batch, length, classes\]; axis=1 for"):
            pl.nn.cross_entropy(cube, target)
        self.assertEqual(pl.nn.cross_entropy(cube, target, axis=1).item(), pl.cross_entropy(cube, target).item())
        self.assertNotEqual(pl.nn.cross_entropy(cube, target, axis=-1).item(), pl.cross_entropy(cube, target).item())

    def test_layers_of_sequential_go_without_brackets(self):
        with self.assertRaisesRegex(pl.TypeError, r"a list is not a layer[\s\S]*Sequential\(\*layers\)"):
            pl.nn.Sequential([pl.nn.Linear(4, 8), pl.relu])

    def test_sequential(self):
        net = pl.nn.Sequential(pl.nn.Linear(4, 8), pl.relu, pl.nn.Linear(8, 2))
        self.assertEqual([path for path, _ in pl.tree.leaves_with_paths(net)],
                         ["0.weight", "0.bias", "2.weight", "2.bias"])
        x = pl.ones((3, 4))
        np.testing.assert_array_equal(net(x), net[2](net[1](net[0](x))))
        np.testing.assert_array_equal(net(x), net[2:](net[:2](x)))
        self.assertEqual((len(net), list(net)[1]), (3, pl.relu))

    def test_keys_of_sequential(self):
        nn, x, key = pl.nn, pl.ones((50, 4)), pl.random.key(3)
        needs_key = lambda x, *, key: pl.dropout(x, 0.5, key)  # noqa: E731
        net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), pl.relu, nn.Sequential(nn.Dropout(0.5), nn.Identity()), pl.remat(nn.Dropout(0.5)),
                            pl.jit(nn.Dropout(0.5)), needs_key, nn.TransformerEncoderLayer(4, 2, 8, batch_first=True))
        keys = pl.random.split_key(key, len(net))
        wanted = net[0](x)
        for i, layer in enumerate(net):
            if i == 3:
                wanted = layer[0](wanted, key=pl.random.split_key(keys[3], 2)[0])
            elif i not in (0, 2):
                wanted = layer(wanted, key=keys[i])
            elif i == 2:
                wanted = pl.relu(wanted)
        for call in net, pl.jit(net), lambda x, key: pl.jit(lambda net, x, key: net(x, key=key))(net, x, key):
            np.testing.assert_allclose(call(x, key=key), wanted, rtol=1e-5, atol=1e-6)
        drops = nn.Sequential(nn.Dropout(0.5), nn.Dropout(0.5))
        self.assertFalse(np.array_equal(drops(x, key=key), drops(x, key=pl.random.key(4))))
        self.assertLess((drops(x, key=key).numpy() != 0).mean(), 0.4)  # the masks differ
        self.assertTrue(np.array_equal(nn.Sequential()(x, key=key), x))
        self.assertFalse(np.array_equal(drops(x), drops(x)))
        attention = nn.Sequential(lambda query, key=None: query * 2, lambda x: x + 1)
        np.testing.assert_array_equal(attention(x, key=key), 2 * x + 1)

    def test_what_is_refused(self):
        for call, error, text in ((lambda: pl.nn.Linear(-1, 3), pl.ValueError, "Linear: in_features is -1"),
                                  (lambda: pl.nn.Attention(10, 3), pl.ValueError, "3 heads of a width of 10"),
                                  (lambda: pl.nn.Conv2d(6, 4, 3, groups=4), pl.ValueError, "a multiple of the 4 groups"),
                                  (lambda: pl.nn.LayerNorm(3, eps=float("nan")), pl.ValueError, "eps is nan"),
                                  (lambda: pl.nn.init.kaiming_uniform((3,)), pl.ShapeError, "two dimensions"),
                                  (lambda: pl.nn.init.uniform((3,), 1, -1), pl.ValueError, "expected a range"),
                                  (lambda: pl.nn.Linear(4, 3)(pl.ones((2, 5))), pl.ShapeError, "linear"),
                                  (lambda: pl.nn.Lienar, pl.AttributeError, "did you mean plait.nn.Linear")):
            with self.subTest(text), self.assertRaisesRegex(error, text):
                call()


class Optimizers(unittest.TestCase):
    def test_another_rate_needs_no_other_record(self):
        model = {"w": pl.tensor([1.0, 2.0])}
        state = pl.optim.SGD(model, lr=1.0)

        @pl.jit
        def run(model, state):
            return state.update(model, model)

        for lr in 0.5, 0.25, pl.tensor(0.125):
            state.lr = lr
            moved, after = run(model, state)
            np.testing.assert_allclose(moved["w"], np.array([1.0, 2.0]) * (1 - float(lr)))
        self.assertEqual(pl.stats(run).traces, 1)
        self.assertEqual((state.steps.item(), after.steps.item()), (0, 1))

    def test_a_schedule_in_a_jitted_step(self):
        model = pl.tensor([1.0, 2.0])

        @pl.jit
        def run(model, state):
            state.lr = pl.optim.warmup_cosine(state.steps, 0.1, total=10, warmup=2)
            return state.update(model, pl.ones(2))

        state = pl.optim.SGD(model)
        for _ in range(12):
            model, state = run(model, state)
        rates = [0.1 / 3, 0.2 / 3, *(0.05 * (1 + np.cos(np.pi * i / 8)) for i in range(9))]
        np.testing.assert_allclose(model, np.array([1.0, 2.0]) - sum(rates), rtol=1e-5)
        self.assertEqual(pl.stats(run).traces, 1)

    def test_trees_of_all_kinds(self):
        model = [pl.ones(2), {"count": pl.arange(3), "name": "x"}, (np.float64(2.0) * np.ones(1),)]
        slopes = [pl.ones(2), {"count": None, "name": "x"}, (pl.asarray(np.ones(1)),)]
        moved, state = pl.optim.AdamW(model, lr=0.5, weight_decay=0).update(model, slopes)
        np.testing.assert_allclose(moved[0], [0.5, 0.5], rtol=1e-6)
        self.assertIs(moved[1]["name"], "x")
        np.testing.assert_array_equal(moved[1]["count"], [0, 1, 2])
        self.assertEqual((moved[2][0].dtype, state.state["exp_avg"]["2.0"].dtype, moved[0].dtype), (pl.f64, pl.f64, pl.f32))
        with self.assertRaisesRegex(pl.ValueError, "the model has no weights"):
            pl.optim.SGD({})

    def test_narrow_weights_are_rounded_once(self):
        model = pl.tensor([1.0, -2.0]).astype(pl.bf16)
        moved, state = pl.optim.Adam(model, lr=0.25).update(model, pl.tensor([4.0, 4.0]))
        self.assertEqual((moved.dtype, state.state["exp_avg"][""].dtype), (pl.bf16, pl.bf16))
        np.testing.assert_array_equal(moved.astype(pl.f32), [0.75, -2.25])

    def test_what_is_refused(self):
        model = {"a": pl.ones(2), "b": pl.ones(3)}
        adam, sgd = pl.optim.AdamW(model), pl.optim.SGD(model, momentum=0.9)
        for call, error, text in (
                (lambda: pl.optim.SGD(model, lr=-1), pl.ValueError, "SGD: lr is -1"),
                (lambda: pl.optim.SGD(model, nesterov=True), pl.ValueError, "nesterov needs a momentum"),
                (lambda: pl.optim.AdamW(model, betas=(0.9, 1.0)), pl.ValueError, r"AdamW: betas\[1\] is 1.0"),
                (lambda: pl.optim.Adam(model, eps=float("nan")), pl.ValueError, "Adam: eps is nan"),
                (lambda: adam.update(model, {"a": pl.ones(2)}), pl.ValueError, "gradient has no 'b'"),
                (lambda: adam.update(model, {**model, "c": pl.ones(1)}), pl.ValueError, "gradient has 'c', which the model does not have"),
                (lambda: adam.update(model, {"a": pl.ones(2), "b": pl.ones(1)}), pl.ShapeError, r"b is \[3\], the gradient of it \[1\]"),
                (lambda: sgd.update({"a": pl.ones(2)}, {"a": pl.ones(2)}), pl.ValueError, "momentum_buffer has 'b'"),
                (lambda: pl.optim.warmup_cosine(1, 1.0, total=3, warmup=3), pl.ValueError, "3 steps of which 3 are warmup")):
            with self.subTest(text), self.assertRaisesRegex(error, text):
                call()


if __name__ == "__main__":
    unittest.main()
