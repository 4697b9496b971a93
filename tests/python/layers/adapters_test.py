"""Low-rank adapters: what they compute, what of them is trained, and merging."""

import collections
import dataclasses
import functools
import unittest

import numpy as np
import plait as pl

from layer_ways import close, for_symbolic_sizes, in_all_ways, refused

RANDOM = np.random.default_rng(6)


def p(*shape):
    return pl.asarray(RANDOM.normal(size=shape))


def with_products(model):
    """The model with adapters that do something."""
    random = np.random.default_rng(7)
    paths = pl.tree.structure(model).paths
    leaves, structure = pl.tree.flatten(model)
    return structure.unflatten([pl.asarray(random.normal(size=leaf.shape)) if path.endswith("lora_B") else leaf
                                for path, leaf in zip(paths, leaves)])


class Block(pl.Module):
    def __init__(self, key=None):
        keys = pl.random.split_key(pl.random.draw_key() if key is None else key, 3)
        self.attention = pl.nn.Attention(6, 2, key=keys[0], dtype=pl.f64)
        self.parts = {"up": pl.nn.Linear(6, 8, key=keys[1], dtype=pl.f64), "pair": (pl.nn.Linear(8, 6, False, key=keys[2], dtype=pl.f64), pl.tanh)}

    def __call__(self, x):
        x = self.attention(x)
        for layer in (self.parts["up"], *self.parts["pair"]):
            x = layer(x)
        return x


def trained(model):
    """The paths that have a gradient."""
    gradient = pl.grad(lambda model: pl.sum(model(pl.ones((2, 3, 6), dtype=pl.f64))))(model)
    return [path for path, leaf in pl.tree.leaves_with_paths(gradient) if leaf is not None]


class Adapters(unittest.TestCase):
    def test_value_and_gradients(self):
        layer, x = with_products(pl.nn.LoRALinear(5, 4, 2, alpha=6.0, dtype=pl.f64)), p(3, 5)
        weight, bias, a, b = (each.numpy() for each in (layer.base.weight, layer.base.bias, layer.lora_A, layer.lora_B))
        close(layer(x), x.numpy() @ (weight + 3 * b @ a).T + bias, "value", 1e-13)
        close(layer.weight, weight + 3 * b @ a, "weight", 1e-13)
        slopes = pl.grad(lambda layer: pl.sum(layer(x) ** 2))(layer)
        outer = 2 * layer(x).numpy().T @ x.numpy()
        close(slopes.lora_A, 3 * b.T @ outer, "by lora_A", 1e-12)
        close(slopes.lora_B, 3 * outer @ a.T, "by lora_B", 1e-12)
        self.assertIsNone(slopes.base.weight)
        self.assertIsNone(slopes.base.bias)

    def test_it_begins_as_its_base(self):
        model, x = Block(), p(2, 3, 6)
        adapted = pl.nn.lora(model, "*", rank=2)
        np.testing.assert_array_equal(adapted(x), model(x))
        bound = 1 / 6**0.5
        self.assertTrue(0.5 * bound < np.abs(adapted.parts["up"].lora_A.numpy()).max() <= bound)
        self.assertFalse(np.array_equal(adapted.parts["up"].lora_A, adapted.attention.out.lora_A))
        same = (pl.nn.lora(model, "*", key=pl.random.key(3)).parts["up"].lora_A for _ in range(2))
        np.testing.assert_array_equal(*same)

    def test_what_is_wrapped_and_trained(self):
        model = Block()
        before = repr(model)
        for pattern, wrapped in (("*", ["attention.qkv", "attention.out", "parts.up", "parts.pair.0"]),
                                 ("attention.*", ["attention.qkv", "attention.out"]), ("parts.pair.0", ["parts.pair.0"]),
                                 (["*.out", "*.up"], ["attention.out", "parts.up"])):
            with self.subTest(pattern=pattern):
                adapted = pl.nn.lora(model, pattern, rank=2)
                wanted = [f"{path}.lora_{letter}" for path in wrapped for letter in "AB"]
                plain = [path for path in trained(model) if not any(path.startswith(each + ".") for each in wrapped)]
                self.assertEqual(sorted(trained(adapted)), sorted(wanted + plain))
        self.assertEqual(repr(model), before)
        self.assertEqual(type(pl.nn.lora(pl.nn.Linear(2, 3))).__name__, "LoRALinear")

    def test_in_trees_of_all_kinds(self):
        @dataclasses.dataclass(frozen=True)
        class Frozen:
            layer: pl.nn.Linear

        Pair = collections.namedtuple("Pair", "first second")
        make = functools.partial(pl.nn.Linear, 3, 3, dtype=pl.f64)
        model = {"a": [pl.remat(make())], 2: functools.partial(lambda layer, x: layer(x), make()), "c": Pair(make(), 1), "d": Frozen(make())}

        def call(model, x):
            return model["d"].layer(model["c"].first(model[2](model["a"][0](x))))

        adapted, x = with_products(pl.nn.lora(model, "*", rank=2)), p(2, 3)
        self.assertEqual(sum(path.endswith("lora_A") for path in pl.tree.structure(adapted).paths), 4)
        self.assertFalse(np.allclose(call(adapted, x), call(model, x)))
        close(call(pl.nn.merge_lora(adapted), x), call(adapted, x), "merged", 1e-12)
        self.assertIs(type(adapted["c"]), Pair)

    def test_training_changes_adapters_only(self):
        x, target = p(2, 3, 6), p(2, 3, 6)
        model = pl.nn.lora(Block(), "parts.*", rank=2)
        model.attention = pl.nn.lora(model.attention, "*", rank=1)
        state, begin = pl.optim.Adam(model, lr=0.05), model

        @pl.jit
        def step(model, state):
            loss, slopes = pl.value_and_grad(lambda model: pl.mean((model(x) - target) ** 2))(model)
            return loss, *state.update(model, slopes)

        losses = []
        for _ in range(40):
            loss, model, state = step(model, state)
            losses.append(loss.item())
        self.assertLess(losses[-1], 0.8 * losses[0])
        for (path, after), (_, before) in zip(*map(pl.tree.leaves_with_paths, (model, begin))):
            self.assertEqual(np.array_equal(after, before), ".lora_" not in path, path)

    def test_merging(self):
        model = with_products(pl.nn.lora(Block(), "*", rank=2, alpha=5.0, dropout=0.5)).eval()
        merged, x = pl.nn.merge_lora(model), p(2, 3, 6)
        close(merged(x), model(x), "merged", 1e-12)
        self.assertEqual(pl.tree.structure(merged).paths, pl.tree.structure(Block()).paths)
        self.assertEqual(sorted(trained(merged)), sorted(pl.tree.structure(Block()).paths))
        self.assertEqual({each.training for each in (merged, merged.attention.qkv, merged.parts["up"])}, {False})
        self.assertIs(type(merged.parts["pair"][0]), pl.nn.Linear)

    def test_adapters_are_not_adapted(self):
        layers = [pl.nn.Linear(6, 6, dtype=pl.f64) for _ in range(2)]
        once = with_products(pl.nn.lora(pl.nn.Sequential(*layers), "0", rank=2))
        twice, x = with_products(pl.nn.lora(once, rank=3)), p(2, 6)
        self.assertEqual([layer.rank for layer in twice], [2, 3])
        self.assertIs(type(twice[0].base), pl.nn.Linear)
        merged = pl.nn.merge_lora(twice)
        self.assertEqual([type(layer) for layer in merged], [pl.nn.Linear] * 2)
        close(merged(x), twice(x), "merged", 1e-12)
        with self.assertRaisesRegex(pl.ValueError, "no Linear or QuantizedLinear"):
            pl.nn.lora(twice)

    def test_of_quantized_layers(self):
        model, x = Block(), p(2, 3, 6)
        narrow = pl.nn.quantize(model, 4, pattern="*")
        adapted = with_products(pl.nn.lora(narrow, "*", rank=2))
        self.assertEqual({path.rpartition(".")[2] for path in trained(adapted)}, {"lora_A", "lora_B"})
        merged = pl.nn.merge_lora(adapted)
        close(merged(x), adapted(x), "merged", 1e-12)
        self.assertEqual(sorted(trained(merged)), sorted(trained(model)))

    def test_cross_attention_has_the_adapter(self):
        layer = with_products(pl.nn.lora(pl.nn.Attention(6, 2, dtype=pl.f64), "*", rank=2))
        x, context = p(2, 3, 6), p(2, 4, 6)
        close(layer(x, context=context), pl.nn.merge_lora(layer)(x, context=context), "cross attention", 1e-12)
        self.assertEqual(layer.cache(3).keys.dtype, pl.f64)

    def test_dropout(self):
        layer = with_products(pl.nn.LoRALinear(5, 4, 2, dropout=0.5, dtype=pl.f64))
        x, key = p(3, 5), pl.random.key(2)
        np.testing.assert_array_equal(layer(x, key=key), layer(x, key=key))
        self.assertFalse(np.array_equal(layer(x), layer(x)))
        close(layer.eval()(x), layer.merged()(x), "evaluation", 1e-12)
        none = with_products(pl.nn.LoRALinear(5, 4, 2, dropout=1.0, dtype=pl.f64))
        close(none(x), none.base(x), "all dropped", 1e-15)

    def test_in_all_ways(self):
        in_all_ways(lambda key: with_products(pl.nn.LoRALinear(3, 2, 2, key=key, dtype=pl.f64)), lambda layer, x: layer(x) ** 2, (p(4, 3),))
        layer = with_products(pl.nn.LoRALinear(3, 2, 2, dtype=pl.f64))
        for_symbolic_sizes(lambda layer, x: layer(x), layer, [(p(count, 3),) for count in (4, 2, 5, 7)])

    def test_what_is_refused(self):
        nn, model = pl.nn, Block()
        refused(self, (
            (lambda: nn.LoRALinear(3, 2, 0), pl.ValueError, "nn.LoRALinear: rank is 0"),
            (lambda: nn.LoRALinear(3, 2, dropout=1.5), pl.ValueError, "nn.LoRALinear: dropout is 1.5"),
            (lambda: nn.LoRALinear(-3, 2), pl.ValueError, "nn.Linear: in_features is -3"),
            (lambda: nn.lora(model, "*", rank=-1), pl.ValueError, "nn.LoRALinear: rank is -1"),
            (lambda: nn.lora(model, "atention.*"), pl.ValueError, r"nn.lora: no Linear or QuantizedLinear matches 'atention.\*'[\s\S]*did you mean attention."),
            (lambda: nn.lora(model, ["*", "x"]), pl.ValueError, "matches 'x'"),
            (lambda: nn.lora(nn.LayerNorm(3)), pl.ValueError, "there are none"),
            (lambda: nn.merge_lora(model), pl.ValueError, "nn.merge_lora: no LoRALinear")))


if __name__ == "__main__":
    unittest.main()
