"""Results are where their operands are: beside the CPU's values, eagerly and jitted."""

import inspect
import os
import subprocess
import sys
import unittest

os.environ["PLAIT_CUDA"] = "emulated"
import numpy as np  # noqa: E402

import plait as pl  # noqa: E402

PLACE = "cuda:1"


def setUpModule():
    if not pl.devices("cuda"):
        raise unittest.SkipTest("the emulated device was not built")


def numbers():
    return pl.tensor([[1.0, 2.0], [3.0, 4.0]])


def placed(found):
    """Every tensor of a tree, on the host, after a check of its device."""
    leaves = pl.tree.leaves(found)
    for leaf in leaves:
        assert leaf.dtype.kind == "key" or str(leaf.device) == PLACE, f"a result is on {leaf.device}"
    return [np.asarray(leaf.to("cpu")) for leaf in leaves if leaf.dtype.kind != "key"]


def assigned(change):
    def run(x):
        x = x * 1
        change(x)
        return x

    return run


def element(x):
    x[0, 1] = 7.0


def column(x):
    x[:, 1] = x[0]


def everything(x):
    x[:] = 5.0


def masked(x):
    x[x > 2] = 0.0


def listed(x):
    x[[1, 0]] = x * 2


def added(x):
    x[1] += 1


def inplace(x):
    x += 1
    return x


KEY = pl.random.key(0)
FUNCTIONS = {
    **{f"assignment of {change.__name__}": assigned(change) for change in (element, column, everything, masked, listed, added)},
    "+=": inplace,
    "a list as index": lambda x: x[[1, 0]],
    "an array as index": lambda x: x[np.array([1, 0]), 0],
    "a mask of the host": lambda x: x[np.array([True, False])],
    "at with a list": lambda x: x.at[[1]].add(1.0),
    "at of everything": lambda x: x.at[...].set(2.0),
    "isnan of integers": lambda x: pl.isnan(x.astype("i32")),
    "array_equal": lambda x: pl.array_equal(x, x[:1]),
    "new_zeros": lambda x: (x.new_zeros(2), x.new_ones(2), x.new_full((2,), 3)),
    "isin": lambda x: pl.isin(x, 1),
    "histogram": lambda x: pl.histogram(x, 3, 0.0, 3.0),
    "hessian": lambda x: pl.hessian(lambda x: (x**3).sum())(x),
    "jacfwd": lambda x: pl.jacfwd(pl.sin)(x),
    "jacrev": lambda x: pl.jacrev(pl.sin)(x),
    "dropout": lambda x: pl.dropout(x, 0.5, KEY),
    "a draw in a scan": lambda x: pl.scan(lambda c, v: (pl.dropout(c + v, 0.5, KEY), None), x[0], x)[0],
    "a draw by a function": lambda x: pl.random.double_sided_maxwell(KEY, x, x),
    "a scan that begins with zeros": lambda x: pl.scan(lambda h, v: (pl.tanh(h * v + v), h), pl.zeros(2), x),
    "its gradient": lambda x: pl.grad(lambda x: pl.scan(lambda h, v: (x @ h + v, h), pl.zeros(2), x)[0].sum())(x),
    "a loop that begins with ones": lambda x: pl.for_loop(0, 3, lambda i, c: c @ x, pl.ones((2, 2))),
    "cond of many": lambda x: pl.vmap(lambda x: pl.cond(x[0] > 1, lambda x: x * 2, lambda x: x**2, x))(x),
}


# Arguments of layers that are made on a device; of others: two sizes.
CONV, TRANSFORMER = (4, 4, 2), (4, 2, 8)
SIZES = {
    **{f"{kind}{space}d": CONV for kind in ("Conv", "ConvTranspose") for space in (1, 2, 3)},
    **{f"Lazy{kind}{space}d": CONV[1:] for kind in ("Conv", "ConvTranspose") for space in (1, 2, 3)},
    **{f"{lazy}{kind}{space}d": () if lazy else (4,) for lazy in ("", "Lazy") for kind in ("BatchNorm", "InstanceNorm") for space in (1, 2, 3)},
    "LazyLinear": (4,), "SyncBatchNorm": (4,), "LayerNorm": (4,), "RMSNorm": (4,), "GroupNorm": (2, 4), "PReLU": (4,), "Bilinear": (4, 3, 2),
    "Attention": (4, 2), "MultiheadAttention": (4, 2), "TransformerEncoderLayer": TRANSFORMER, "TransformerDecoderLayer": TRANSFORMER,
    "Transformer": (4, 2, 1, 1, 8), "AdaptiveLogSoftmaxWithLoss": (4, 8, [3, 5]), "MoE": (4, 8, 2), "LinearCrossEntropyLoss": (4, 8),
    "QuantizedLinear": (8, 4), "QuantizedEmbedding": (4, 8), "LoRALinear": (4, 4),
}
NO_TENSORS = {"SinusoidalEmbedding"}


class Places(unittest.TestCase):
    def test_functions(self):
        for name, function in FUNCTIONS.items():
            expected = [np.asarray(leaf) for leaf in pl.tree.leaves(function(numbers()))]
            jitted = pl.jit(function)
            repeated = pl.jit(function, repeatable=True)
            for way, run in {"eager": function, "jit": jitted, "jit again": jitted, "repeatable": repeated,
                             "repeatable again": repeated}.items():
                with self.subTest(name=name, way=way):
                    for found, right in zip(placed(run(numbers().to(PLACE))), expected, strict=True):
                        np.testing.assert_allclose(found, right, rtol=2e-6)

    def test_draws_in_a_scope(self):
        draws = {
            "normal": lambda key: pl.random.normal(key, (3,)),
            "randint": lambda key: pl.random.randint(key, (3,), 0, 9),
            "truncated_normal": lambda key: pl.random.truncated_normal(key, -1.0, 1.0, (3,)),
            "bits": lambda key: pl.random.bits(key, (3,)),
            "permutation": lambda key: pl.random.permutation(key, 5),
            "a scan of draws": lambda key: pl.scan(lambda c, k: (c + pl.random.normal(k, (2,)), None), pl.zeros(2), pl.random.split_key(key, 3))[0],
        }
        for name, draw in draws.items():
            expected, jitted = draw(KEY), pl.jit(draw)
            with pl.Device(PLACE):
                for way, run in {"eager": draw, "jit": jitted, "jit again": jitted}.items():
                    with self.subTest(name=name, way=way):
                        np.testing.assert_allclose(placed(run(KEY))[0], np.asarray(expected), rtol=1e-6)

    def test_recurrent_layers(self):
        for layer in (pl.nn.RNN, pl.nn.GRU, pl.nn.LSTM):
            model, x = layer(3, 4, key=KEY), pl.tensor(np.arange(12, dtype="f4").reshape(2, 2, 3) / 10)
            slopes = pl.grad(lambda m, x: m(x)[0].sum())
            expected = [np.asarray(leaf) for leaf in pl.tree.leaves(slopes(model, x))]
            model, x, jitted = model.to(PLACE), x.to(PLACE), pl.jit(slopes)
            for run in slopes, jitted, jitted:
                with self.subTest(layer=layer.__name__):
                    for found, right in zip(placed(run(model, x)), expected, strict=True):
                        np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-6)

    def test_layers_are_made_on_their_device(self):
        """Weights are those of the CPU, and all of them are there."""
        for name, cls in vars(pl.nn).items():
            parameters = inspect.signature(cls).parameters if isinstance(cls, type) else {}
            self.assertTrue("device" in parameters or "dtype" not in parameters or name in NO_TENSORS, name)
            if "device" not in parameters:
                continue
            key = {"key": KEY} if "key" in parameters else {}
            devices = "cpu", PLACE, pl.Device(PLACE)
            layers = [cls(*SIZES.get(name, (4, 4)), **key, device=device) for device in devices]
            if name.startswith("Lazy"):
                x = np.ones((2, 3, *[4] * int(name[-2])), "f4") if name[-1] == "d" else np.ones((2, 3), "f4")
                for layer, device in zip(layers, devices):
                    layer(pl.asarray(x, device=device))
            ours = [np.asarray(leaf) for leaf in pl.tree.leaves(layers[0])]
            for layer in layers[1:]:
                with self.subTest(name):
                    for found, right in zip(placed(layer), ours, strict=True):
                        np.testing.assert_allclose(found, right, rtol=1e-6, atol=1e-7)

    def test_a_model_of_layers_on_devices(self):
        class Net(pl.nn.Module):
            def __init__(self, device):
                self.hidden = pl.nn.Linear(2, 3, device=device, key=KEY)
                self.scale = pl.nn.Parameter(pl.ones(3, device=device))

            def __call__(self, x):
                return self.hidden(x) * self.scale

        slopes = pl.jit(pl.grad(lambda model, x: model(x).sum()))
        expected = pl.tree.leaves(slopes(Net("cpu"), numbers()))
        for found, right in zip(placed(slopes(Net(PLACE), numbers().to(PLACE))), expected, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-6)

    def test_optimizers(self):
        model = pl.nn.Linear(3, 4, key=KEY)
        model_there = model.to(PLACE)
        for name in ("SGD", "ASGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "Adafactor", "RMSprop", "Rprop"):
            with self.subTest(optimizer=name):
                def step(model, each=getattr(pl.optim, name)):
                    gradients = pl.tree.map(lambda w: w * 2, model)
                    return pl.tree.leaves(each(model, lr=0.1).update(model, gradients)[0])

                expected = [np.asarray(leaf) for leaf in step(model)]
                for found, right in zip(placed(step(model_there)), expected, strict=True):
                    np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-6)

    def test_transformations(self):
        model = pl.nn.Linear(3, 4, key=KEY).to(PLACE)
        for name in ("sm3", "adamw_8bit", "adafactor", "rprop", "adagrad"):
            with self.subTest(name=name):
                transformation = getattr(pl.optim, name)(0.1)
                state = transformation.init(model)
                placed(transformation.update(pl.tree.map(lambda w: w * 2, model), state, model)[0])

    def test_metrics(self):
        p, y = pl.tensor([0.2, 0.8, 0.6]), pl.tensor([0, 1, 0])
        for metric in (pl.metrics.Accuracy("binary"), pl.metrics.F1("binary"), pl.metrics.MSE(), pl.metrics.Mean()):
            with self.subTest(metric=type(metric).__name__):
                arguments = (p,) if isinstance(metric, pl.metrics.Mean) else (p, y) if not isinstance(metric, pl.metrics.MSE) else (p, p * 2)
                expected = metric.update(*arguments).compute()
                found = metric.to(PLACE).update(*(each.to(PLACE) for each in arguments)).compute()
                np.testing.assert_allclose(np.asarray(found.to("cpu")), np.asarray(expected), rtol=1e-6)


class Mixtures(unittest.TestCase):
    def test_assignments_refuse_other_devices(self):
        for x, value in ((pl.ones(3).to(PLACE), pl.tensor([1.0, 2.0, 3.0]).to("cuda:0")),
                         (pl.tensor([1.0, 2.0, 3.0]), pl.tensor([4.0, 5.0, 6.0]).to(PLACE)),
                         (pl.tensor([1.0, 2.0, 3.0]).to(PLACE), pl.tensor([4.0, 5.0, 6.0]))):
            for index in slice(0, 3), slice(0, 2), Ellipsis:
                with self.subTest(index=index, x=str(x.device)), self.assertRaises(pl.DeviceError):
                    x[index] = value[index]
                self.assertEqual(x.shape, (3,))
                x.tolist()


class Start(unittest.TestCase):
    def test_the_import_uses_no_device(self):
        for default in "cuda", "cuda:7":
            said = subprocess.run([sys.executable, "-c", "import plait; print(plait.ones(2, device='cpu').tolist())"], check=False,
                                  env={**os.environ, "PLAIT_CUDA": "off", "PLAIT_DEFAULT_DEVICE": default}, capture_output=True, text=True)
            self.assertEqual((said.returncode, said.stdout), (0, "[1.0, 1.0]\n"), said.stderr)


if __name__ == "__main__":
    unittest.main()
