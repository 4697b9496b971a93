"""docs/from-*.md: in each row of their tables of equivalents both libraries give the same."""

import functools
import os
import pathlib
import re
import unittest

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402
import plait as pl  # noqa: E402
import torch  # noqa: E402
import torch.nn.utils.prune  # noqa: E402,F401

DOCS = pathlib.Path(__file__).resolve().parents[3] / "docs"
RANDOM = np.random.default_rng(7)
GIVEN = {"a": RANDOM.normal(size=(3, 4)).astype(np.float32), "x": RANDOM.normal(size=(3, 4)).astype(np.float32),
         "y": RANDOM.normal(size=(3, 4)).astype(np.float32), "v": RANDOM.normal(size=6).astype(np.float32), "i": np.array([3, 0, 3, 5, 1, 3]),
         "i3": np.array([2, 0, 2]), "j": np.array([[1, 0], [3, 3], [2, 1]]), "image": RANDOM.normal(size=(2, 3, 6, 6)).astype(np.float32),
         "kernel": RANDOM.normal(size=(5, 3, 3, 3)).astype(np.float32), "q": RANDOM.normal(size=(2, 4, 5, 8)).astype(np.float32)}


def backward_of(x):
    x = x.clone().requires_grad_()
    x.sin().sum().backward()
    return x.grad


def step_of(w):
    """A step of gradient descent, as users write it."""
    w = w.detach().clone().requires_grad_()
    (w * w).sum().backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    return w


def arrays_of(shapes):
    """The same weights for a layer of either library, by name."""
    return {name: np.abs(np.random.default_rng(sum(map(ord, name))).normal(size=shape)).astype(np.float32) for name, shape in shapes.items()
            if not name.endswith("num_batches_tracked")}


def weighted_of_torch(layer):
    arrays = arrays_of({name: tuple(value.shape) for name, value in layer.state_dict().items()})
    layer.load_state_dict({name: torch.from_numpy(value) for name, value in arrays.items()}, strict=False)
    return layer


def weighted(layer):
    shapes = {name: value.shape for name, value in pl.nn.state(layer).items()}
    counts = [name for name in shapes if name.endswith("num_batches_tracked")]
    return pl.nn.load_state(layer, arrays_of(shapes), missing=counts)


def trained_of_torch(optimizer, x, **options):
    x = x.clone().requires_grad_()
    chosen = optimizer([x], **options)
    for _ in range(3):
        chosen.zero_grad()
        x.sin().sum().backward()
        chosen.step()
    return x


def trained(optimizer, x, **options):
    chosen = optimizer(x, **options)
    for _ in range(3):
        x, chosen = chosen.update(x, pl.grad(lambda x: pl.sum(pl.sin(x)))(x))
    return x


def rates_of_torch(schedule, **options):
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.1)
    chosen, found = schedule(optimizer, **options), []
    for _ in range(5):
        found += chosen.get_last_lr()
        optimizer.step()
        chosen.step()
    return np.array(found)


def trained_of_optax(transformation, x):
    state = transformation.init(x)
    for _ in range(3):
        updates, state = transformation.update(jax.grad(lambda x: jnp.sum(jnp.sin(x)))(x), state, x)
        x = optax.apply_updates(x, updates)
    return x


def transformed(transformation, x):
    return trained(lambda x: pl.optim.Optimizer(transformation, x), x)


OURS = {"pl": pl, "np": np, "functools": functools, "weighted": weighted, "trained": trained, "transformed": transformed}
LIBRARIES = {"NumPy": ({"np": np}, lambda x: x),
             "PyTorch": ({"torch": torch, "F": torch.nn.functional, "backward_of": backward_of, "step_of": step_of,
                          "weighted": weighted_of_torch, "trained": trained_of_torch, "rates": rates_of_torch}, torch.from_numpy),
             "JAX": ({"jax": jax, "jnp": jnp}, jnp.asarray),
             "optax": ({"optax": optax, "jnp": jnp, "transformed": trained_of_optax}, jnp.asarray)}
PAGES = {"optax": "jax"}


def rows():
    """(library, its expression, Plait's expression) of each row."""
    for library in LIBRARIES:
        page = (DOCS / f"from-{PAGES.get(library, library.lower())}.md").read_text(encoding="utf-8")
        table = page.partition(f"| {library} | Plait |")[2].partition("\n\n")[0]
        for theirs, ours in re.findall(r"^\| `(.+?)` \| `(.+?)` \|$", table, re.M):
            yield library, theirs, ours


def leaves(result):
    if isinstance(result, dict):
        return [leaf for each in result.values() for leaf in leaves(each)]
    if isinstance(result, (tuple, list)):
        return [leaf for each in result for leaf in leaves(each)]
    return [np.asarray(result.detach() if isinstance(result, torch.Tensor) else result)]


class Phrases(unittest.TestCase):
    def test_both_give_the_same(self):
        for library, theirs, ours in rows():
            with self.subTest(f"{library}: {theirs}"):
                names, of = LIBRARIES[library]
                kept = {"a": GIVEN["a"]}
                expected = leaves(eval(theirs, {**names, **{name: of(value) for name, value in GIVEN.items()}, **kept}))  # noqa: S307
                found = leaves(eval(ours, {**OURS, **{name: pl.asarray(value) for name, value in GIVEN.items()}, **kept}))  # noqa: S307
                self.assertEqual(len(found), len(expected))
                for mine, other in zip(found, expected):
                    self.assertEqual(mine.shape, other.shape)
                    self.assertEqual(mine.dtype.kind, other.dtype.kind)
                    np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-5)

    def test_each_library_has_a_table(self):
        count = {library: sum(of == library for of, _, _ in rows()) for library in LIBRARIES}
        self.assertTrue(all(each >= 20 for each in count.values()), count)


if __name__ == "__main__":
    unittest.main()
