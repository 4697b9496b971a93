"""Batch normalisations that are fused into the layer before them, and weights as vectors, compared with torch.nn.utils."""

import unittest

import numpy as np
import plait as pl
import torch

nn, utils = pl.nn, pl.nn.utils
RANDOM = np.random.default_rng(5)


def moved(ours, theirs):
    return nn.load_state(ours, {name: value.numpy() for name, value in theirs.state_dict().items()})


def pair(name, *arguments, **named):
    """Our layer and PyTorch's in evaluation mode, with the same random tensors."""
    theirs = getattr(torch.nn, name)(*arguments, **named).double().eval()
    with torch.no_grad():
        for tensor in (*theirs.parameters(), *theirs.buffers()):
            if tensor.is_floating_point():
                tensor.copy_(torch.tensor(RANDOM.uniform(0.5, 2.0, size=tuple(tensor.shape))))
    return moved(getattr(nn, name)(*arguments, **named, dtype=pl.f64).eval(), theirs), theirs


class Fusion(unittest.TestCase):
    def expect_alike(self, fused, wanted, layer, norm, x):
        for name, value in wanted.state_dict().items():
            np.testing.assert_allclose(nn.state(fused)[name], value.numpy(), rtol=1e-12, err_msg=name)
        self.same(fused, layer, norm, x)

    def same(self, fused, layer, norm, x):
        x = pl.asarray(x)
        for way in lambda f: f, pl.jit:
            np.testing.assert_allclose(way(lambda fused: fused(x))(fused), norm(layer(x)), rtol=1e-10, atol=1e-11)
        self.assertFalse(fused.training)

    def test_convolutions(self):
        for rank in 1, 2, 3:
            for options in {}, {"bias": False}, {"groups": 2, "stride": 2, "padding": 1}:
                for affine in True, False:
                    layer, theirs = pair(f"Conv{rank}d", 4, 6, 2, **options)
                    norm, their_norm = pair(f"BatchNorm{rank}d", 6, affine=affine)
                    with self.subTest(rank, options=options, affine=affine):
                        wanted = torch.nn.utils.fuse_conv_bn_eval(theirs, their_norm)
                        self.expect_alike(utils.fuse_conv_bn_eval(layer, norm), wanted, layer, norm, RANDOM.normal(size=(2, 4, *[5] * rank)))

    def test_transposed_convolutions(self):
        for rank in 1, 2, 3:
            for options in {}, {"bias": False}:
                layer, theirs = pair(f"ConvTranspose{rank}d", 4, 6, 2, **options)
                norm, their_norm = pair(f"BatchNorm{rank}d", 6)
                with self.subTest(rank, options=options):
                    wanted = torch.nn.utils.fuse_conv_bn_eval(theirs, their_norm, transpose=True)
                    self.expect_alike(utils.fuse_conv_bn_eval(layer, norm, transpose=True), wanted, layer, norm, RANDOM.normal(size=(2, 4, *[5] * rank)))
        layer, norm = pair("ConvTranspose2d", 4, 6, 2, groups=2)[0], pair("BatchNorm2d", 6)[0]  # which PyTorch refuses
        self.same(utils.fuse_conv_bn_eval(layer, norm), layer, norm, RANDOM.normal(size=(2, 4, 5, 5)))

    def test_linear_layers(self):
        for bias in True, False:
            layer, theirs = pair("Linear", 3, 5, bias)
            norm, their_norm = pair("BatchNorm1d", 5)
            self.expect_alike(utils.fuse_linear_bn_eval(layer, norm), torch.nn.utils.fuse_linear_bn_eval(theirs, their_norm), layer, norm,
                              RANDOM.normal(size=(2, 3)))
            one = pair("BatchNorm1d", 1)[0]
            self.same(utils.fuse_linear_bn_eval(layer, one), layer, one, RANDOM.normal(size=(2, 1, 3)))
        plain = pair("BatchNorm1d", 5, affine=False)[0]
        self.same(utils.fuse_linear_bn_eval(layer, plain), layer, plain, RANDOM.normal(size=(2, 3)))

    def test_computed_weights_become_plain(self):
        layer, norm = pair("Linear", 3, 5)[0], pair("BatchNorm1d", 5)[0]
        for computed in nn.weight_norm(layer), utils.prune.l1_unstructured(layer, "*", 0.4), nn.freeze(utils.prune.l1_unstructured(layer, "weight", 2), "weight*"):
            fused = utils.fuse_linear_bn_eval(computed, norm)
            self.assertEqual(set(nn.state(fused)), {"weight", "bias"})
            self.assertFalse(utils.prune.is_pruned(fused))
            self.same(fused, computed, norm, RANDOM.normal(size=(2, 3)))
        self.assertEqual(list(nn.state(fused, frozen=False)), ["bias"])
        half = utils.fuse_linear_bn_eval(layer.to(pl.bf16), norm)
        self.assertEqual((half.weight.dtype, half.bias.dtype), (pl.bf16, pl.bf16))

    def test_gradients_flow_through_it(self):
        layer, norm = pair("Conv1d", 2, 3, 2)[0], pair("BatchNorm1d", 3)[0]
        x = pl.asarray(RANDOM.normal(size=(2, 2, 5)))
        found = pl.grad(lambda layer, norm: pl.sum(utils.fuse_conv_bn_eval(layer, norm)(x) ** 2), argnums=(0, 1))(layer, norm)
        wanted = pl.grad(lambda layer, norm: pl.sum(norm(layer(x)) ** 2), argnums=(0, 1))(layer, norm)
        for one, other in zip(found, wanted):
            np.testing.assert_allclose(one.weight, other.weight, rtol=1e-9)

    def test_what_is_refused(self):
        conv, norm, linear = nn.Conv2d(2, 3, 2).eval(), nn.BatchNorm2d(3).eval(), nn.Linear(2, 3).eval()
        for call, error, words in (
                (lambda: utils.fuse_conv_bn_eval(conv.train(), norm), pl.ValueError, r"conv is in training mode[\s\S]*model.eval\(\)"),
                (lambda: utils.fuse_conv_bn_eval(conv, norm.train()), pl.ValueError, "bn is in training mode"),
                (lambda: utils.fuse_conv_bn_eval(conv, nn.BatchNorm2d(4).eval()), pl.ShapeError, "bn has 4 features, and conv 3 output channels"),
                (lambda: utils.fuse_conv_bn_eval(conv, nn.BatchNorm2d(3, track_running_stats=False).eval()), pl.ValueError, "track_running_stats=False"),
                (lambda: utils.fuse_conv_bn_eval(linear, norm), pl.TypeError, r"conv is a Linear, expected a convolution[\s\S]*fuse_linear_bn_eval"),
                (lambda: utils.fuse_conv_bn_eval(norm, conv), pl.TypeError, "conv is a BatchNorm2d, expected a convolution"),
                (lambda: utils.fuse_conv_bn_eval(conv, linear), pl.TypeError, "bn is a Linear, expected a batch normalisation"),
                (lambda: utils.fuse_conv_bn_eval(conv, norm, True), pl.ValueError, "transpose is True, and conv a Conv2d, expected False"),
                (lambda: utils.fuse_linear_bn_eval(conv, norm), pl.TypeError, r"linear is a Conv2d[\s\S]*fuse_conv_bn_eval"),
                (lambda: utils.fuse_linear_bn_eval(linear, nn.BatchNorm1d(2).eval()), pl.ShapeError, "bn has 2 features, and linear 3 outputs"),
                (lambda: utils.fuse_linear_bn_eval(linear.train(), norm), pl.ValueError, "linear is in training mode")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()


def model_and_theirs():
    theirs = torch.nn.Sequential(torch.nn.Conv1d(2, 3, 2), torch.nn.BatchNorm1d(3), torch.nn.Linear(4, 2)).double()
    ours = nn.Sequential(nn.Conv1d(2, 3, 2, dtype=pl.f64), nn.BatchNorm1d(3, dtype=pl.f64), nn.Linear(4, 2, dtype=pl.f64))
    return moved(ours, theirs), theirs


class Vectors(unittest.TestCase):
    def test_as_in_pytorch(self):
        ours, theirs = model_and_theirs()
        vector = utils.parameters_to_vector(ours)
        np.testing.assert_array_equal(vector, torch.nn.utils.parameters_to_vector(theirs.parameters()).detach().numpy())
        np.testing.assert_array_equal(utils.parameters_to_vector(nn.state(ours, buffers=False).values()), vector)
        other = RANDOM.normal(size=vector.shape)
        torch.nn.utils.vector_to_parameters(torch.tensor(other), theirs.parameters())
        for way in lambda f: f, pl.jit:
            made = way(utils.vector_to_parameters)(pl.asarray(other), ours)
            for name, value in theirs.state_dict().items():
                np.testing.assert_array_equal(nn.state(made)[name], value.numpy())

    def test_transforms(self):
        model, _ = model_and_theirs()
        x = pl.asarray(RANDOM.normal(size=(2, 2, 5)))
        loss = lambda model: pl.sum(model.eval()(x) ** 2)  # noqa: E731
        vector = utils.parameters_to_vector(model)
        gradient = pl.grad(lambda vector: loss(utils.vector_to_parameters(vector, model)))(vector)
        np.testing.assert_allclose(gradient, utils.parameters_to_vector(pl.grad(loss)(model)), rtol=1e-10)
        losses = pl.vmap(lambda vector: loss(utils.vector_to_parameters(vector, model)))(pl.stack([vector, 2 * vector]))
        np.testing.assert_allclose(losses[0], loss(model), rtol=1e-10)

    def test_which_weights(self):
        """Tied ones count once, buffers and integers not at all, frozen ones as long as they are asked for."""
        model = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Linear(2, 2, bias=False)})
        model["b"].weight = model["a"].weight
        vector = utils.parameters_to_vector(model)
        self.assertEqual(vector.shape, (6,))
        made = utils.vector_to_parameters(pl.arange(6, dtype=pl.f32), model)
        self.assertIs(made["a"].weight, made["b"].weight)
        frozen = nn.freeze(nn.BatchNorm1d(3), "bias")
        self.assertEqual(utils.parameters_to_vector(frozen).shape, (6,))
        self.assertEqual(utils.parameters_to_vector(frozen, frozen=False).shape, (3,))
        made = utils.vector_to_parameters(pl.full(3, 2.0), frozen, frozen=False)
        self.assertEqual((made.weight.tolist(), made.bias.tolist(), made.running_var.tolist()), ([2.0] * 3, [0.0] * 3, [1.0] * 3))

    def test_dtypes_and_sizes(self):
        tree = {"a": pl.ones(2, dtype=pl.bf16), "b": pl.ones((), dtype=pl.f64), "c": pl.ones((0, 3)), "d": pl.tensor([1j, 2.0])}
        vector = utils.parameters_to_vector(tree)
        self.assertEqual((vector.dtype, vector.shape), (pl.c128, (5,)))
        made = utils.vector_to_parameters(vector, tree)
        self.assertEqual([leaf.dtype for leaf in pl.tree.leaves(made)], [leaf.dtype for leaf in pl.tree.leaves(tree)])
        self.assertEqual(made["d"].tolist(), tree["d"].tolist())
        self.assertEqual(utils.parameters_to_vector({"c": pl.ones((0, 3))}).shape, (0,))

    def test_what_is_refused(self):
        layer = nn.Linear(2, 1)
        for call, error, words in (
                (lambda: utils.vector_to_parameters(pl.ones(4), layer), pl.ShapeError, r"the vector is \[4\], expected \[3\]"),
                (lambda: utils.vector_to_parameters(pl.ones((3, 1)), layer), pl.ShapeError, r"the vector is \[3, 1\], expected \[3\]"),
                (lambda: utils.vector_to_parameters(layer, pl.ones(3)), pl.TypeError, r"expected a tensor[\s\S]*vector_to_parameters\(vector, model\)"),
                (lambda: utils.vector_to_parameters(pl.tensor([1j, 2.0, 3.0]), layer), pl.TypeError, "the imaginary parts would be lost"),
                (lambda: utils.parameters_to_vector({"n": 3}), pl.TypeError, "there are no weights in"),
                (lambda: utils.parameters_to_vector("nonsense"), pl.TypeError, "there are no weights in"),
                (lambda: utils.parameters_to_vector(layer, frozen=0), pl.TypeError, "frozen is 0, expected True or False")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()


if __name__ == "__main__":
    unittest.main()
