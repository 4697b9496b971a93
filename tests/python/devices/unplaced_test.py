"""Tensors that are computed of constants, sizes and keys alone go to the device of whatever they meet."""

import os
import subprocess
import sys
import unittest

os.environ["PLAIT_CUDA"] = "emulated"
import numpy as np  # noqa: E402

import plait as pl  # noqa: E402
from plait import nn, optim  # noqa: E402

PLACE = "cuda:1"
KEY = pl.random.key(0)


def setUpModule():
    if not pl.devices("cuda"):
        raise unittest.SkipTest("the emulated device was not built")


def matrix():
    return pl.tensor([[1.0, 2.0], [-3.0, 1.0]])


def on_host(found):
    return [np.asarray(leaf.to("cpu")) for leaf in pl.tree.leaves(found) if isinstance(leaf, pl.Tensor) and leaf.dtype.kind != "key"]


def devices_of(found):
    return {str(leaf.device) for leaf in pl.tree.leaves(found) if isinstance(leaf, pl.Tensor) and leaf.dtype.kind != "key"}


def squares_until(c):
    return pl.while_loop(lambda s: pl.sum(s**2) < 50, lambda s: s * 2, c)


def halves(h):
    return pl.while_loop(lambda h: h.shape[0] > 1, lambda h: pl.sin(h[: h.shape[0] // 2]), h)


@pl.script
def scripted(x):
    if pl.sum(x) > 0:
        return x * 2
    return x - 1


@pl.recursive
def doubled(y):
    return pl.cond(pl.sum(y * y) > 100, lambda y: y, lambda y: doubled(y * 2), y)


@pl.recursive
def doubled_there(y):
    return pl.cond(pl.sum(y * y) > 100, lambda y: y, lambda y: doubled_there(y * pl.tensor([2.0, 2.0], device=y.device)), y)


# Functions of a matrix, run eagerly, jitted and traced.
MEETINGS = {
    "arange": lambda v: v * pl.arange(2),
    "a draw": lambda v: v + pl.random.normal(KEY, (2,)),
    "a mask": lambda v: pl.where(pl.arange(2) > 0, v, pl.zeros_like(v)),
    "eye": lambda v: v @ pl.eye(2),
    "linspace": lambda v: pl.linspace(0, 1, 2) - v,
    "a table": lambda v: v + pl.sin(pl.arange(2)[:, None] / pl.full((2,), 3.0)),
    "one_hot": lambda v: v * pl.one_hot(pl.arange(2), 2),
    "tri": lambda v: v * pl.tri(2, 2),
    "a table that is indexed": lambda v: v + pl.arange(10.0)[pl.argmax(v, axis=1)],
    "a scan of averages": lambda v: pl.scan(lambda c, u: (c * 0.9 + u, c), pl.zeros(2), v),
    "a scan of products": lambda v: pl.scan(lambda c, u: (c * u, c * c), pl.ones(2), v),
    "an unrolled scan": lambda v: pl.scan(lambda c, u: (c * u + 1, c), pl.ones(2), v, unroll=2),
    "arange in a scan": lambda v: pl.scan(lambda s, u: (s, u * pl.arange(2)), 0.0, v)[1],
    "a draw in a scan": lambda v: pl.scan(lambda s, u: (s + pl.random.normal(KEY, (2,)), s * u), pl.zeros(2), v)[1],
    "a loop with a counter": lambda v: pl.while_loop(lambda s: pl.sum(s[1] ** 2) < 50, lambda s: (s[0] + 1, s[1] * 2), (0, v))[1],
    "a buffer": lambda v: pl.for_loop(0, 2, lambda i, b: b.at[i].set(v[i] * v[i]), pl.zeros((2, 2))),
    "a cond of constants": lambda v: v * pl.cond(pl.sum(v) > 0, lambda: 1.0, lambda: 0.5),
    "a gradient": pl.grad(lambda v: pl.sum(v * pl.arange(2)) + pl.sum(pl.random.normal(KEY, (2,)) * v)),
    "the gradient of a sum": pl.grad(pl.sum),
    "the gradient of a loop of sizes": pl.grad(lambda v: pl.sum(halves(v))),
    "a hessian of recursion": lambda v: pl.hessian(lambda r: pl.sum(doubled(r)))(v[0]),
    "recursion": doubled_there,
    "samples": pl.vmap(lambda x: x + pl.random.normal(KEY, (2,)) * pl.arange(2)),
    "samples with keys": lambda v: pl.vmap(lambda x, k: x + pl.random.normal(k, (2,)))(v, pl.random.split_key(KEY, 2)),
    "gradients of loops": pl.vmap(pl.grad(lambda c: pl.sum(squares_until(c)))),
    "samples of a switch": pl.vmap(lambda r: pl.switch((pl.sum(r) > 0).to(pl.i64), [pl.sin, pl.cos], r)),
    "samples of a cond of numbers": lambda v: v * pl.vmap(lambda r: pl.cond(pl.sum(r) > 0, lambda: 1.0, lambda: 0.0))(v)[:, None],
    "samples of a loop with a counter": pl.vmap(lambda c: pl.while_loop(lambda s: pl.sum(s[1] ** 2) < 50, lambda s: (s[0] + 1, s[1] * 2), (0, c))[1]),
    "samples of a loop with checkpoints": pl.vmap(
        lambda c: pl.while_loop(lambda s: pl.sum(s**2) < 50, lambda s: s * 2, c, checkpoints=pl.checkpoints())),
    "gradients of a loop with checkpoints": pl.grad(lambda v: pl.sum(pl.vmap(
        lambda c: pl.while_loop(lambda s: pl.sum(s**2) < 50, lambda s: s * 2, c, checkpoints=pl.checkpoints()))(v))),
    "samples of a script": pl.vmap(scripted),
    "samples of an unrolled scan": pl.vmap(lambda r: pl.scan(lambda c, u: (c * u + 1, c), pl.ones(()), r, unroll=2)[1]),
    "cumulative_sum with 0": lambda v: pl.cumulative_sum(v, axis=0, include_initial=True),
}
NO_TRACE = {"the gradient of a loop of sizes"}


def ways(function, *arguments):
    jitted, repeated = pl.jit(function), pl.jit(function, repeatable=True)
    return {"eager": function, "jit": jitted, "jit again": jitted, "repeatable": repeated, "repeatable again": repeated,
            "trace": lambda *there: pl.trace(function)(*arguments)(*there)}


class Meetings(unittest.TestCase):
    def check(self, name, function, given, left_out=(), rtol=1e-5):
        expected = on_host(function(*given))
        there = pl.to_device(given, PLACE)
        for way, run in ways(function, *there).items():
            if way in left_out:
                continue
            with self.subTest(name=name, way=way):
                found = run(*there)
                self.assertEqual(devices_of(found), {PLACE})
                for one, right in zip(on_host(found), expected, strict=True):
                    np.testing.assert_allclose(one, right, rtol=rtol, atol=1e-6)

    def test_functions(self):
        for name, function in MEETINGS.items():
            self.check(name, function, (matrix(),), ("trace",) if name in NO_TRACE else ())

    def test_in_the_scope_of_another_device(self):
        there = matrix().to(PLACE)
        for name, function in MEETINGS.items():
            expected = on_host(function(matrix()))
            with pl.Device("cuda:0"), self.subTest(name=name):
                for run in (function, pl.jit(function)):
                    found = run(there)
                    self.assertEqual(devices_of(found), {PLACE})
                    for one, right in zip(on_host(found), expected, strict=True):
                        np.testing.assert_allclose(one, right, rtol=1e-5, atol=1e-6)

    def test_layers(self):
        x, image = pl.random.normal(KEY, (2, 5, 8)), pl.random.normal(KEY, (1, 1, 8, 8))
        layers = {
            "MultiheadAttention": (nn.MultiheadAttention(8, 2, batch_first=True, key=KEY), lambda m, x: m(x, x, x, is_causal=True)[0]),
            "TransformerEncoderLayer": (nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, key=KEY), lambda m, x: m(x, is_causal=True)),
            "TransformerDecoderLayer": (nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True, key=KEY),
                                        lambda m, x: m(x, x, tgt_is_causal=True)),
            "Transformer": (nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, key=KEY), lambda m, x: m(x, x, tgt_is_causal=True)),
            "Attention": (nn.Attention(8, 2, True, window=3, key=KEY), lambda m, x: m(x)),
            "Attention with RoPE": (nn.Attention(8, 2, True, positions=nn.RoPE(4), key=KEY), lambda m, x: m(x)),
            "Attention with ALiBi": (nn.Attention(8, 2, True, positions=nn.ALiBi(2), key=KEY), lambda m, x: m(x)),
            "Attention with a cache": (nn.Attention(8, 2, is_causal=True, key=KEY), lambda m, x: m(x, cache=m.cache(16, batch=2))[0]),
            "RoPE": (nn.RoPE(8), lambda m, x: m(x)),
            "SinusoidalEmbedding": (nn.SinusoidalEmbedding(8), lambda m, x: m(pl.argmax(x, axis=-1))),
            "DropPath": (nn.DropPath(0.5), lambda m, x: m(x, key=KEY)),
            "LSTM": (nn.LSTM(8, 4, batch_first=True, key=KEY), lambda m, x: m(x, lengths=[5, 3])[0]),
            "GRU": (nn.GRU(8, 4, batch_first=True, key=KEY), lambda m, x: m(x, lengths=np.array([5, 3]))[0]),
            "RNN": (nn.RNN(8, 4, batch_first=True, key=KEY), lambda m, x: m(x, lengths=pl.tensor([5, 3]))[0]),
            "RNN there": (nn.RNN(8, 4, batch_first=True, key=KEY), lambda m, x: m(x, lengths=pl.tensor([5, 3], device=x.device))[0]),
            "spectral_norm": (nn.spectral_norm(nn.Linear(8, 8, key=KEY), key=KEY).eval(), lambda m, x: m(x)),
            "info_nce": (nn.Identity(), lambda m, x: nn.info_nce(x[0], x[1])),
            "nt_xent": (nn.Identity(), lambda m, x: nn.nt_xent(x[0], x[1])),
        }
        for name, (model, call) in layers.items():
            with self.subTest(name):
                self.check(name, call, (model, x), ("trace", "repeatable", "repeatable again"), rtol=1e-4)
        self.check("FractionalMaxPool2d", lambda x: nn.FractionalMaxPool2d(2, output_ratio=0.5)(x, key=KEY), (image,), ("trace",))

    def test_models_that_are_changed_there(self):
        x = pl.random.normal(KEY, (2, 8)).to(PLACE)
        model = nn.Sequential(nn.Linear(8, 8, key=KEY)).to(PLACE)
        adapted = nn.lora(model, "*", rank=2, key=KEY)
        for each in (adapted, nn.merge_lora(adapted), nn.spectral_norm(nn.Linear(8, 8, key=KEY).to(PLACE), key=KEY),
                     nn.LazyLinear(3, key=KEY).to(PLACE)):
            self.assertEqual(devices_of(each(x)), {PLACE})
        image = pl.ones((2, 3, 4, 4), device=PLACE)
        for lazy in (nn.LazyConv2d(2, 3, key=KEY).to(PLACE), nn.LazyBatchNorm2d().to(PLACE)):
            self.assertEqual(devices_of(lazy(image)), {PLACE})

    def test_transformations(self):
        w = pl.tensor([1.0, 2.0], device=PLACE)
        model = nn.Linear(2, 2, key=KEY).to(PLACE)
        gradients = pl.grad(lambda m: pl.sum(m(w) ** 2))(model)
        for name, made in {"add_noise": optim.add_noise(0.1, 0.5, KEY), "noisy_sgd": optim.noisy_sgd(0.1, key=KEY),
                           "mechanize": optim.mechanize(optim.sgd(0.1)), "sm3": optim.sm3(0.1)}.items():
            with self.subTest(name):
                state, now = optim.Optimizer(made, model), model
                for _ in range(2):
                    now, state = state.update(now, gradients)
                self.assertEqual(devices_of(now), {PLACE})
        with self.subTest("lbfgs"):
            state, loss = optim.Optimizer(optim.lbfgs(), model), lambda m: pl.sum(m(w) ** 2)
            value, gradients = pl.value_and_grad(loss)(model)
            self.assertEqual(devices_of(state.update(model, gradients, value=value, grad=gradients, value_fn=loss)[0]), {PLACE})

    def test_a_scope_beside_a_model(self):
        with pl.Device("cuda:0"):
            model = nn.Linear(2, 2, key=KEY).to(PLACE)
            for name in ("Adam", "SGD", "Adagrad"):
                made = getattr(optim, name)(model, lr=0.1).update(model, model)[0]
                self.assertEqual(devices_of(made), {PLACE})
            there = pl.tensor([1.0, 2.0], device=PLACE)
            self.assertEqual(str(pl.for_loop(0, 2, lambda i, c: c + i, there).device), PLACE)
            self.assertEqual(devices_of(optim.clip_grad_norm({"a": there}, 1.0)), {PLACE})
            steps = pl.arange(4).to(PLACE)
            self.assertEqual(str(optim.lr_scheduler.StepLR(1.0, 2, gamma=0.5)(steps).device), PLACE)
            here = pl.scan(lambda c, u: (c + u, c), 0.0, pl.tensor([1.0, 2.0], device="cpu"))
            self.assertEqual(devices_of(here), {"cpu"})

    def test_training_of_a_model_that_was_not_moved(self):
        """Its first weights are draws, which go to the batch; then it is there."""
        batch, model = matrix().to(PLACE), nn.Linear(2, 2, key=KEY)
        state = optim.Adam(model, lr=0.1)
        step = pl.jit(lambda m, s, x: s.update(m, pl.grad(lambda m: pl.sum(m(x) ** 2))(m)))
        for _ in range(3):
            model, state = step(model, state, batch)
        self.assertEqual(devices_of(model), {PLACE})


class Rule(unittest.TestCase):
    def test_placed_tensors_meet_only_their_own(self):
        x = matrix().to(PLACE)
        for other in (pl.tensor([1.0, 2.0]), pl.asarray(np.arange(2.0)), pl.zeros(2, device="cpu"), pl.arange(2).to("cpu"),
                      pl.random.normal(KEY, (2,), device="cpu"), pl.tensor([1.0, 2.0]).sum(), pl.tensor([1.0, 2.0]) * pl.zeros(2)):
            with self.subTest(other=other), self.assertRaises(pl.DeviceError):
                _ = x + other

    def test_a_jitted_function_of_the_host_keeps_what_is_unplaced(self):
        made, constant, moved = pl.jit(lambda k, x: (pl.random.normal(k, (2,)), pl.arange(2), x + 1))(KEY, matrix())
        there = matrix().to(PLACE)
        self.assertEqual(devices_of((there + made, there * constant)), {PLACE})
        with self.assertRaises(pl.DeviceError):
            _ = there + moved
        counted = pl.jit(lambda c: c + 1)(pl.zeros(2))
        self.assertEqual(str((there + counted).device), PLACE)

    def test_draws_take_a_device(self):
        expected = pl.random.normal(KEY, (3,)).tolist()
        there = pl.random.normal(KEY, (3,), device=PLACE)
        self.assertEqual((str(there.device), there.tolist()), (PLACE, expected))
        self.assertEqual(str(pl.random.gamma(KEY, 2.0, (3,), device=PLACE).device), PLACE)
        self.assertEqual(str(pl.random.choice(KEY, 5, (3,), replace=False, device=PLACE).device), PLACE)
        with self.assertRaises(pl.DeviceError):
            _ = there + pl.random.normal(KEY, (3,), device="cuda:0")

    def test_the_device_within_recursion(self):
        seen = []

        @pl.recursive
        def grown(y):
            seen.append(str(y.device))
            return pl.cond(pl.sum(y * y) > 100, lambda y: y, lambda y: grown(y * 2), y)

        pl.jit(grown)(pl.tensor([1.0, 2.0]).to(PLACE))
        self.assertEqual(set(seen), {PLACE})

    def test_gradients_of_a_traced_pipeline(self):
        first, second = nn.Linear(2, 2, key=KEY).to("cuda:0"), nn.Linear(2, 2, key=KEY).to(PLACE)
        x = matrix().to("cuda:0")

        def loss(models, x):
            return pl.sum(models[1](pl.tanh(models[0](x)).to(PLACE)) ** 2)

        expected = [leaf.tolist() for leaf in pl.tree.leaves(pl.grad(loss)((first, second), x))]
        found = pl.tree.leaves(pl.trace(pl.grad(loss))((first, second), x)((first, second), x))
        self.assertEqual([str(leaf.device) for leaf in found], ["cuda:0", "cuda:0", PLACE, PLACE])
        for one, right in zip(found, expected, strict=True):
            np.testing.assert_allclose(one.tolist(), right, rtol=1e-5)

    def test_the_error_shows_what_the_user_gave(self):
        with self.assertRaisesRegex(pl.DeviceError, r"(?s)subtract: .*f32\[2, 2\] on cuda:1 and f32\[2\] on cpu.*move the f32\[2\] on cpu"):
            _ = matrix().to(PLACE) - pl.tensor([1.0, 2.0])
        with self.assertRaisesRegex(pl.DeviceError, r"(?s)matmul: .*f32\[3, 2\] on cpu and f32\[2, 2\] on cuda:1.*\.to\(\"cuda:1\"\)"):
            pl.matmul(pl.tensor([[1.0, 2.0]] * 3), matrix().to(PLACE))


class Exit(unittest.TestCase):
    def test_errors_without_a_wait(self):
        program = "import plait as pl\nx = pl.tensor([1.0, 2.0]).to('cuda')\ny = x[pl.tensor([5]).to('cuda')]\n"
        said = subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "PLAIT_CUDA": "emulated"},
                              capture_output=True, text=True).stderr
        self.assertRegex(said, r"did not wait: .*index 5 is out of range for axis 0 of f32\[2\]")


if __name__ == "__main__":
    unittest.main()
