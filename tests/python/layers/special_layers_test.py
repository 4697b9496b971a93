"""Layers that cannot be compared call by call: those that draw random numbers, whose statistics are over a named axis, that wait for their
input, or that PyTorch has in another form."""

import itertools
import math
import unittest

import numpy as np
import plait as pl
import torch
import torch.nn.functional as F

from module_database_test import ours_of

KEY = pl.random.key(7)


def near(found, expected, tolerance=1e-10):
    expected = expected.detach().numpy() if isinstance(expected, torch.Tensor) else np.asarray(expected)
    np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance)


class Random(unittest.TestCase):
    def test_moments_of_dropout(self):
        x = pl.ones((400, 100, 2, 2, 2))
        for name, p in (("Dropout", 0.3), ("Dropout1d", 0.3), ("Dropout2d", 0.6), ("Dropout3d", 0.2), ("DropPath", 0.25)):
            for key in KEY, None:
                with self.subTest(name=name, key=key):
                    shown = x[:, :, 0, 0] if name == "Dropout1d" else x[:, :, 0] if name == "Dropout2d" else x
                    y = getattr(pl.nn, name)(p)(shown, key=key).numpy()
                    self.assertEqual(set(np.unique(y.round(5))), {0.0, np.float32(1 / (1 - p)).round(5)})
                    flat = y.reshape(400, -1)[:, 0] if name == "DropPath" else y.reshape(40000, -1)[:, 0]
                    self.assertLess(abs((flat == 0).mean() - p), 5 * math.sqrt(p * (1 - p) / len(flat)))

    def test_what_is_dropped_together(self):
        for name, shape, planes in (("Dropout1d", (5, 40, 6), 2), ("Dropout1d", (40, 6), 1), ("Dropout2d", (5, 40, 3, 3), 2),
                                    ("Dropout2d", (5, 40, 6), 2), ("Dropout3d", (5, 40, 2, 2, 2), 2), ("Dropout3d", (40, 2, 2, 2), 1),
                                    ("FeatureAlphaDropout", (5, 40, 6), 2), ("DropPath", (200, 4, 3), 1)):
            with self.subTest(name=name, shape=shape):
                y = getattr(pl.nn, name)(0.5)(pl.ones(shape), key=KEY).numpy().reshape(math.prod(shape[:planes]), -1)
                self.assertTrue((y == y[:, :1]).all())
                self.assertEqual(len(np.unique(y)), 2)
                if planes == 2:  # and no more than a channel
                    self.assertTrue(all(len(np.unique(sample)) == 2 for sample in y[:, 0].reshape(shape[:2])))
                self.assertLess(abs((y[:, 0] == y.max()).mean() - 0.5), 0.35)

    def test_alpha_dropout_keeps_the_moments(self):
        x = pl.random.normal(KEY, (300, 400, 2), dtype=pl.f64)
        for name in "AlphaDropout", "FeatureAlphaDropout":
            for p in 0.2, 0.5:
                y = getattr(pl.nn, name)(p)(x, key=pl.random.key(1)).numpy()
                self.assertLess(abs(y.mean()), 0.02, (name, p))
                self.assertLess(abs(y.std() - 1), 0.02, (name, p))
                torch.manual_seed(0)  # the two values of a dropped and of a kept element are PyTorch's
                theirs = F.alpha_dropout(torch.zeros(1000, dtype=torch.float64), p, training=True).unique()
                y = getattr(pl.nn, name)(p)(pl.zeros((100, 10, 1), dtype=pl.f64), key=KEY).numpy()
                np.testing.assert_allclose(np.unique(y), theirs, rtol=1e-10)

    def test_rrelu(self):
        x = pl.full((20000,), -1.0, dtype=pl.f64)
        y = -pl.nn.RReLU(0.1, 0.4)(x, key=KEY).numpy()
        self.assertGreaterEqual(y.min(), 0.1)
        self.assertLess(y.max(), 0.4)
        self.assertLess(abs(y.mean() - 0.25), 0.005)
        self.assertLess(abs(y.std() - 0.3 / math.sqrt(12)), 0.005)
        near(pl.nn.RReLU()(pl.ones(3), key=KEY), [1, 1, 1])

    def test_fractional_pooling_by_keys(self):
        x = pl.random.normal(KEY, (2, 3, 9, 9), dtype=pl.f64)
        layer = pl.nn.FractionalMaxPool2d(2, 5, return_indices=True)
        drawn = [layer(x, key=pl.random.key(seed)) for seed in range(4)]
        for values, indices in drawn:
            near(values, np.take_along_axis(x.numpy().reshape(2, 3, 81), indices.numpy().reshape(2, 3, 25), -1).reshape(2, 3, 5, 5))
        self.assertGreater(len({indices.numpy().tobytes() for _, indices in drawn}), 1)
        self.assertEqual(layer(x, key=KEY)[0].numpy().tobytes(), layer(x, key=KEY)[0].numpy().tobytes())

    def test_without_a_key_it_is_the_next_of_the_stream(self):
        layer, x = pl.nn.Dropout(0.5), pl.ones(64)
        step = pl.jit(layer)
        for run in layer, step:
            pl.random.seed(3)
            first, second = run(x).numpy(), run(x).numpy()
            pl.random.seed(3)
            self.assertEqual((run(x).numpy().tobytes(), run(x).numpy().tobytes()), (first.tobytes(), second.tobytes()))
            self.assertNotEqual(first.tobytes(), second.tobytes())

    def test_evaluation_and_extremes(self):
        x = pl.random.normal(KEY, (4, 3, 2))
        for name in "Dropout", "Dropout1d", "Dropout2d", "AlphaDropout", "FeatureAlphaDropout", "DropPath":
            with self.subTest(name):
                cls = getattr(pl.nn, name)
                near(cls(0.5).eval()(x), x.numpy())
                near(cls(0.0)(x), x.numpy())
                near(cls(1.0)(x, key=KEY), np.zeros(x.shape))

    def test_drop_path_without_scale(self):
        self.assertEqual(set(pl.nn.DropPath(0.5, scale_by_keep=False)(pl.ones((64, 2)), key=KEY).numpy().flatten()), {0.0, 1.0})


class OtherForms(unittest.TestCase):
    def test_statistics_over_a_named_axis_are_those_of_the_whole_batch(self):
        for shape in (4, 3, 5), (6, 3), (3, 3, 2, 4):
            x = pl.random.normal(KEY, (4, *shape), dtype=pl.f64)
            layer = pl.nn.SyncBatchNorm(3, momentum=None, axis_name="data", dtype=pl.f64)
            plain = pl.nn.SyncBatchNorm(3, momentum=None, dtype=pl.f64)
            layer.weight = plain.weight = pl.tensor([0.5, 2.0, -1.0], dtype=pl.f64)

            def loss(layer, x):
                return pl.sum(pl.sin(layer(x))), layer

            def parts(x):
                return pl.vmap(loss, in_axes=(None, 0), axis_name="data")(layer, x)

            (totals, after), (expected, expected_after) = parts(x), loss(plain, x.reshape(-1, *shape[1:]))
            near(pl.sum(totals), expected.numpy())
            for name in "running_mean", "running_var", "num_batches_tracked":
                for each in getattr(after, name):
                    near(each, getattr(expected_after, name).numpy())
            near(pl.grad(lambda x: pl.sum(parts(x)[0]))(x), pl.grad(lambda x: loss(plain, x.reshape(-1, *shape[1:]))[0])(x).numpy())
            layer, plain = (pl.tree.map(lambda leaf: leaf, each) for each in (layer, expected_after))
            layer.running_mean, layer.running_var = plain.running_mean, plain.running_var
            near(layer.eval()(x[0]), plain.eval()(x[0]).numpy())

    def test_a_mean_over_all_batches_is_one_record(self):
        theirs = torch.nn.BatchNorm1d(3, momentum=None, dtype=torch.float64)
        layer = jitted = pl.nn.BatchNorm1d(3, momentum=None, dtype=pl.f64)
        run = pl.jit(pl.nn.call, fullgraph=True)
        for i in range(5):
            x = pl.random.normal(pl.random.key(i), (6, 3), dtype=pl.f64)
            wanted = theirs(torch.from_numpy(x.numpy().copy())).detach().numpy()
            (eager, layer), (found, jitted) = pl.nn.call(layer, x), run(jitted, x)
            for each in eager, found:
                near(each, wanted)
            for name in "running_mean", "running_var", "num_batches_tracked":
                for each in layer, jitted:
                    near(getattr(each, name), getattr(theirs, name).numpy())
        self.assertEqual((pl.stats(run).traces, pl.stats(run).hits), (1, 4))

    def test_normalisation_of_nothing(self):
        def of_sum(layer, x):
            values = layer(x)
            return pl.sum(values), (values, layer)

        for name, shape in [("BatchNorm1d", (0, 3)), ("BatchNorm1d", (2, 3, 0)), ("BatchNorm2d", (0, 3, 2, 2)), ("SyncBatchNorm", (0, 3, 2)),
                            ("InstanceNorm1d", (2, 3, 0)), ("InstanceNorm2d", (0, 3, 2, 2)), ("InstanceNorm2d", (2, 3, 0, 4))]:
            for tracks, trains in itertools.product((True, False), repeat=2):
                layer = getattr(pl.nn, name)(3, affine=True, track_running_stats=tracks).train(trains)
                for grad in pl.grad(of_sum, has_aux=True), pl.jit(pl.grad(of_sum, has_aux=True)):
                    with self.subTest(name, shape=shape, tracks=tracks, trains=trains):
                        gradient, (values, after) = grad(layer, pl.zeros(shape))
                        self.assertEqual(tuple(values.shape), shape)
                        self.assertEqual((gradient.weight.tolist(), gradient.bias.tolist()), ([0.0] * 3, [0.0] * 3))
                        if tracks:
                            self.assertEqual((after.running_mean.tolist(), after.running_var.tolist()), ([0.0] * 3, [1.0] * 3))

    def test_normalisation_of_nothing_along_a_named_axis(self):
        run = pl.vmap(lambda layer, x: (layer(x), layer), in_axes=(None, 0), out_axes=(0, None), axis_name="data")
        for momentum in 0.1, None:
            values, after = run(pl.nn.SyncBatchNorm(3, momentum=momentum, axis_name="data"), pl.zeros((2, 0, 3)))
            self.assertEqual(tuple(values.shape), (2, 0, 3))
            self.assertEqual((after.running_mean.tolist(), after.running_var.tolist()), ([0.0] * 3, [1.0] * 3))

    def test_instances_of_one_element(self):
        layer = pl.nn.InstanceNorm2d(3, track_running_stats=True)
        for each, shape in ((layer, (2, 3, 1, 1)), (layer, (3, 1, 1)), (pl.nn.InstanceNorm2d(3).eval(), (2, 3, 1, 1)),
                            (pl.nn.InstanceNorm1d(3), (2, 3, 1))):
            sizes = ", ".join(map(str, shape))
            with self.assertRaisesRegex(pl.ValueError, rf"nn.InstanceNorm\dd: the input is \[{sizes}\], which has one element per channel"):
                each(pl.ones(shape))
        self.assertEqual(layer.running_var.tolist(), [1.0] * 3)
        self.assertEqual(layer.eval()(pl.ones((2, 3, 1, 1))).shape, (2, 3, 1, 1))

    def test_adaptive_softmax(self):
        torch.manual_seed(0)
        for head_bias in False, True:
            theirs = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 30, [6, 14, 20], div_value=2.0, head_bias=head_bias).double()
            ours = pl.nn.AdaptiveLogSoftmaxWithLoss(16, 30, [6, 14, 20], div_value=2.0, head_bias=head_bias, dtype=pl.f64)
            leaves, structure = pl.tree.flatten(ours)
            ours = structure.unflatten([ours_of(theirs.state_dict()[path]) for path in structure.paths])
            x, target = torch.randn(40, 16, dtype=torch.float64, requires_grad=True), torch.randint(30, (40,))
            expected = theirs(x, target)
            found = ours(ours_of(x), ours_of(target))
            near(found.output, expected.output)
            near(found.loss, expected.loss)
            near(ours.log_prob(ours_of(x)), theirs.log_prob(x))
            np.testing.assert_array_equal(ours.predict(ours_of(x)), theirs.predict(x))
            expected.loss.backward()
            near(pl.grad(lambda x: ours(x, ours_of(target)).loss)(ours_of(x)), x.grad)
            gradient = pl.grad(lambda model: model(ours_of(x), ours_of(target)).loss)(ours)
            for path, leaf in pl.tree.leaves_with_paths(gradient):
                near(leaf, theirs.get_parameter(path).grad)

    def test_a_padding_row_from_the_end(self):
        for layer, theirs in ((pl.nn.Embedding(4, 2, padding_idx=-1), torch.nn.Embedding(4, 2, padding_idx=-1)),
                              (pl.nn.EmbeddingBag(4, 2, padding_idx=-1), torch.nn.EmbeddingBag(4, 2, padding_idx=-1))):
            self.assertEqual(layer.padding_idx, theirs.padding_idx)

    def test_rows_of_at_most_a_norm(self):
        weight, ids = torch.randn(10, 4, dtype=torch.float64), torch.tensor([[1, 2, 2], [7, 1, 0]])
        for norm_type in 1.0, 2.0, 3.0:
            theirs = torch.nn.Embedding(10, 4, max_norm=1.5, norm_type=norm_type, _weight=weight.clone())
            ours = pl.nn.Embedding(10, 4, max_norm=1.5, norm_type=norm_type, _weight=ours_of(weight))
            expected = theirs(ids)
            torch.sin(expected).sum().backward()
            near(ours(ours_of(ids)), expected)
            near(pl.grad(lambda layer: pl.sum(pl.sin(layer(ours_of(ids)))))(ours).weight, theirs.weight.grad)
            near(ours.weight, weight)  # which PyTorch changes in place

    def test_frozen_embedding(self):
        layer = pl.nn.Embedding(3, 2, _weight=pl.ones((3, 2)), _freeze=True)
        gradient = pl.grad(lambda net: pl.sum(net(pl.tensor([1]))))(pl.nn.Sequential(layer, pl.nn.Linear(2, 1)))
        self.assertIsNone(gradient[0].weight)

    def test_channels_across_maps(self):
        x = torch.randn(2, 7, 3, 3, dtype=torch.float64)
        near(pl.nn.CrossMapLRN2d(3, 0.3, 0.6, 1.5)(ours_of(x)), torch.nn.LocalResponseNorm(3, 0.3, 0.6, 1.5)(x))
        near(pl.nn.CrossMapLRN2d(3, 0.3, 0.6, 1.5)(ours_of(x))[:, :2], torch.nn.CrossMapLRN2d(3, 0.3, 0.6, 1.5)(x)[:, :2])

    def test_swiglu(self):
        x = torch.randn(3, 8, 2, dtype=torch.float64)
        near(pl.nn.SwiGLU(1)(ours_of(x)), F.silu(x[:, :4]) * x[:, 4:])

    def test_output_sizes_of_the_call(self):
        x = torch.randn(2, 4, 5, 6, dtype=torch.float64)
        theirs, ours = torch.nn.ConvTranspose2d(4, 3, 3, 3, 1).double(), pl.nn.ConvTranspose2d(4, 3, 3, 3, 1, dtype=pl.f64)
        ours.weight, ours.bias = ours_of(theirs.weight), ours_of(theirs.bias)
        for size in ((13, 16), (15, 18), (14, 17)):
            near(ours(ours_of(x), output_size=size), theirs(x, output_size=size))
            near(ours(ours_of(x), output_size=(2, 3, *size)), theirs(x, output_size=(2, 3, *size)))
        values, indices = F.max_pool2d(x, 2, 2, return_indices=True)
        unpool = pl.nn.MaxUnpool2d(2, 2)
        near(unpool(ours_of(values), ours_of(indices), output_size=(5, 6)), F.max_unpool2d(values, indices, 2, 2, output_size=(5, 6)))
        for call, size in ((lambda size: ours(ours_of(x), output_size=size), (16, 16)), (lambda size: ours(ours_of(x), output_size=size), (12, 16)),
                           (lambda size: unpool(ours_of(values), ours_of(indices), output_size=size), (8, 6))):
            with self.assertRaisesRegex(pl.ValueError, "output_size is"):
                call(size)

    def test_weights_begin_as_those_of_pytorch(self):
        """The same bounds of the uniform distribution."""
        for name, arguments in (("Linear", (50, 40)), ("Bilinear", (30, 20, 10)), ("Conv1d", (16, 32, 3)), ("Conv2d", (16, 32, 3, 1, 0, 1, 4)),
                                ("ConvTranspose2d", (32, 16, 3, 1, 0, 0, 2)), ("Conv3d", (4, 32, 3))):
            with self.subTest(name):
                theirs, ours = getattr(torch.nn, name)(*arguments), getattr(pl.nn, name)(*arguments, key=KEY)
                for own, their in (ours.weight.numpy(), theirs.weight), (ours.bias.numpy(), theirs.bias):
                    their = their.detach().numpy()
                    self.assertEqual(own.shape, their.shape)
                    self.assertLess(abs(np.abs(own).max() / np.abs(their).max() - 1), 0.15)
        table = pl.nn.Embedding(100, 50, 3, key=KEY).weight.numpy()
        self.assertLess(abs(table.std() - 1), 0.05)
        self.assertTrue((table[3] == 0).all())


class Lazy(unittest.TestCase):
    CASES = [("LazyLinear", (3,), (2, 5)), *[(f"LazyConv{n}d", (4, 2, 1, 1), (2, 3, 5, 5, 5)[:2 + n]) for n in (1, 2, 3)],
             *[(f"LazyConvTranspose{n}d", (4, 2, 2), (2, 3, 5, 5, 5)[:2 + n]) for n in (1, 2, 3)],
             *[(f"LazyBatchNorm{n}d", (), (2, 3, 5, 5, 5)[:2 + n]) for n in (1, 2, 3)],
             *[(f"LazyInstanceNorm{n}d", (), (2, 3, 5, 5, 5)[:2 + n]) for n in (1, 2, 3)]]

    def test_they_become_the_plain_layer(self):
        for name, arguments, shape in self.CASES:
            with self.subTest(name):
                plain, x = getattr(pl.nn, name.removeprefix("Lazy")), pl.random.normal(KEY, shape)
                keyed = {} if "Norm" in name else {"key": KEY}
                extra = {"affine": True, "track_running_stats": True} if "InstanceNorm" in name else {}
                layer = getattr(pl.nn, name)(*arguments, **keyed)
                self.assertIsInstance(layer, plain)
                self.assertEqual(pl.tree.leaves_with_paths(layer), [])
                found = layer(x)
                expected_layer = plain(shape[-1] if name == "LazyLinear" else 3, *arguments, **keyed, **extra)
                near(found, expected_layer(x).numpy())
                self.assertIs(type(layer), plain)
                self.assertEqual(repr(layer), repr(expected_layer))
                self.assertEqual(pl.tree.flatten(layer)[1].paths, pl.tree.flatten(expected_layer)[1].paths)
                near(pl.jit(layer)(x), expected_layer(x).numpy(), 1e-5)

    def test_transforms_name_them(self):
        for name, arguments, shape in self.CASES:
            x = pl.ones(shape)

            def loss(net):
                return pl.sum(net(x))

            def called(net, x):
                return net(x)

            for what, call in (("jit", lambda net: pl.jit(net)(x)), ("vmap", lambda net: pl.vmap(net)(x[None])),
                               ("trace", lambda net: pl.trace(net)(x)), ("grad", pl.grad(loss)), ("value_and_grad", pl.value_and_grad(loss)),
                               ("jit of an argument", lambda net: pl.jit(called)(net, x)), ("vjp", lambda net: pl.vjp(loss, net)),
                               ("optimizer", pl.optim.SGD), ("remat", lambda net: pl.grad(lambda x: pl.sum(pl.remat(net)(x)))(x)),
                               ("remat of an argument", lambda net: pl.remat(called)(net, x))):
                with self.subTest(name=name, what=what):
                    with self.assertRaisesRegex(pl.ValueError, rf"nn\.{name}\b.*made at its first call[\s\S]*call the model once"):
                        call(pl.nn.Sequential(getattr(pl.nn, name)(*arguments), pl.relu, pl.nn.Linear(4, 2)))

    def test_their_weights_are_named_before(self):
        for name in "weight", "bias", "in_features":
            with self.assertRaisesRegex(pl.AttributeError, rf"nn.LazyLinear: {name} is made at the first call"):
                getattr(pl.nn.LazyLinear(3), name)
        with self.assertRaisesRegex(pl.AttributeError, "no.*'weigth'"):
            pl.nn.LazyLinear(3).weigth

    def test_a_wrong_input_leaves_them_as_they_are(self):
        layer = pl.nn.LazyConv2d(4, 2)
        with self.assertRaisesRegex(pl.ShapeError, r"nn.LazyConv2d: the input is \[2, 3\], expected 3 or 4 dimensions"):
            layer(pl.ones((2, 3)))
        self.assertEqual(layer(pl.ones((2, 3, 5, 5))).shape, (2, 4, 4, 4))

    def test_copies_are_made_each_by_itself(self):
        layer = pl.nn.LazyLinear(3, key=KEY)
        other = layer.eval()
        other(pl.ones((1, 2)))
        self.assertEqual((other.in_features, type(layer).__name__), (2, "LazyLinear"))
        layer(pl.ones((1, 7)))
        self.assertEqual((layer.in_features, other.training), (7, False))


if __name__ == "__main__":
    unittest.main()
