"""Functions of torch.nn.functional over tables of configurations: values and gradients are PyTorch's, also jitted, of many samples
together, and in programs whose batch size is a symbol."""

import unittest

import numpy as np
import plait
import torch
import torch.nn.functional as F
from torch_check import check, close, cotangent_of, t, weighted

RANDOM = np.random.default_rng(8)
SPACE = (9, 8, 7)


def draw(*shape):
    return RANDOM.normal(size=shape)


def uniform(*shape):
    return RANDOM.random(shape)


def spread(*shape):
    """Numbers no two of which are close, so that maxima stay where they are."""
    return RANDOM.permutation(np.prod(shape, dtype=int)).reshape(shape) / 7 - 3


def ids(count, *shape):
    return RANDOM.integers(0, count, shape)


def both(name, *further, **options):
    """The functions of both libraries with the same arguments behind the tensors."""
    return tuple(lambda *x, function=getattr(library, name): function(*x, *further, **options) for library in (plait, F))


def pools_of_powers():
    for rank in 1, 2, 3:
        for p, options in ((2, {}), (3.5, {"stride": 2}), (1, {"ceil_mode": True, "stride": [2, 3, 2][:rank] if rank > 1 else 2})):
            yield f"lp_pool{rank}d {p} {options}", *both(f"lp_pool{rank}d", p, [3, 2, 2][:rank] if rank > 1 else 3, **options), \
                lambda n, rank=rank: [uniform(n, 2, *SPACE[:rank]) + 0.1]
    yield "lp_pool2d without a batch", *both("lp_pool2d", 2, 2), lambda n: [uniform(n, 6, 4) + 0.1]


def unpooled(rank, window, sized, options):
    """max_unpool of the result of max_pool, both as PyTorch computes them, and as Plait does."""
    def theirs(x):
        values, indices = getattr(F, f"max_pool{rank}d")(x, window, return_indices=True, **options)
        return getattr(F, f"max_unpool{rank}d")(values, indices, window, **options, output_size=x.shape[2:] if sized else None)

    pool, unpool = getattr(plait, f"max_pool{rank}d_with_indices"), getattr(plait, f"max_unpool{rank}d")

    def ours(x):
        return unpool(*pool(x, window, **options), window, **options, output_size=x.shape[2:] if sized else None)

    return ours, theirs


def unpools():
    for rank in 1, 2, 3:
        for window, space, sized, options in ((2, SPACE, True, {}), ([2, 3, 2][:rank], (8, 6, 4), False, {}), (2, SPACE, True, {"stride": 3}),
                                              (2, SPACE, True, {"stride": 2, "padding": 1})):
            yield f"max_unpool{rank}d {window} {sized} {options}", *unpooled(rank, window, sized, options), \
                lambda n, rank=rank, space=space: [spread(n, 2, *space[:rank])]


def fractional(rank, window, options):
    own, other = (getattr(library, f"fractional_max_pool{rank}d") for library in (plait, F))
    return (lambda x, samples: own(x, window, **options, samples=samples),
            lambda x, samples: other(x, window, **options, _random_samples=samples.detach()))


def fractional_pools():
    for rank in 2, 3:
        for window, options in ((2, {"output_size": 3}), ([2, 3, 1][:rank], {"output_size": [4, 3, 2][:rank]}), (2, {"output_ratio": [0.6] * rank}),
                                (3, {"output_ratio": [0.5, 0.4, 0.7][:rank]}), (2, {"output_size": 1})):
            yield f"fractional_max_pool{rank}d {window} {options}", *fractional(rank, window, options), \
                lambda n, rank=rank: [spread(n, 2, *SPACE[:rank]), uniform(n, 2, rank)]


def bag(**options):
    def of(library, array):
        function, given = library.embedding_bag, {key: array(x) if isinstance(x, np.ndarray) else x for key, x in options.items()}
        return lambda weight, numbers, weights=None: function(numbers, weight, **given, per_sample_weights=weights)

    return of(plait, plait.asarray), of(F, t)


def bags():
    for mode in "sum", "mean", "max":
        for padding in None, 2, -1:
            options = {"mode": mode, "padding_idx": padding}
            yield f"embedding_bag {options}", *bag(**options), lambda n: [draw(7, 4), ids(7, n, 6)]
            for offsets, last in (([0, 3, 3, 8], False), ([0, 2, 4, 4, 9], True)):
                further = {**options, "offsets": np.array(offsets), "include_last_offset": last}
                yield f"embedding_bag {further}", *bag(**further), lambda n: [draw(7, 4), ids(7, 9)]
    for padding in None, 3:
        options = {"mode": "sum", "padding_idx": padding}
        yield f"embedding_bag weighted {padding}", *bag(**options), lambda n: [draw(7, 4), ids(7, n, 6), draw(n, 6)]
        options["offsets"] = np.array([0, 3, 3, 8])
        yield f"embedding_bag weighted {options}", *bag(**options), lambda n: [draw(7, 4), ids(7, 9), draw(9)]


def others():
    for size in 1, 2, 3, 6:
        yield f"local_response_norm {size}", *both("local_response_norm", size, alpha=0.7, beta=0.6, k=1.5), lambda n: [draw(n, 4, 3, 2)]
    yield "local_response_norm by default", *both("local_response_norm", 3), lambda n: [draw(n, 4, 7) * 9]
    yield "bilinear", *both("bilinear"), lambda n: [draw(n, 3), draw(n, 4), draw(6, 3, 4), draw(6)]
    yield "bilinear of more dimensions", *both("bilinear"), lambda n: [draw(n, 2, 3), draw(n, 2, 4), draw(6, 3, 4)]
    for p in 2.0, 1.0, 3.0, 0.0, float("inf"):
        yield f"pdist {p}", *both("pdist", p), lambda n: [draw(n, 4)]
    for align in False, True:
        for space in (3, 4), (4, 3, 2), (1, 4):
            size = len(space)

            def theirs(theta, space=space, align=align):
                return F.affine_grid(theta, [theta.shape[0], 2, *space], align_corners=align)

            def ours(theta, space=space, align=align):
                return plait.affine_grid(theta, [theta.shape[0], 2, *space], align_corners=align)

            yield f"affine_grid {space} {align}", ours, theirs, lambda n, size=size: [draw(n, size, size + 1)]
    yield "rrelu", *both("rrelu", 0.1, 0.4), lambda n: [draw(n, 4)]


CASES = {name: case for table in (pools_of_powers, unpools, fractional_pools, bags, others) for name, *case in table()}


class Functions(unittest.TestCase):
    def test_values_and_gradients(self):
        for name, (ours, theirs, make) in CASES.items():
            with self.subTest(name):
                check(ours, theirs, make(5), 1e-10)

    def test_in_transforms(self):
        for name, (ours, _, make) in CASES.items():
            samples = [[plait.asarray(x) for x in make(4)] for _ in range(3)]
            first = samples[0]
            slope = plait.grad(weighted(ours, plait.asarray(cotangent_of(ours(*first).shape))))
            for what, function in (("value", ours), ("gradient", slope)):
                with self.subTest(name, of=what):
                    wanted = [function(*sample).numpy() for sample in samples]
                    close(plait.jit(function)(*first), wanted[0], 1e-12, "jitted")
                    close(plait.remat(function)(*first), wanted[0], 1e-12, "remat")
                    close(plait.vmap(function)(*map(plait.stack, zip(*samples))), np.stack(wanted), 1e-12, "many")

    def test_of_symbolic_batch_sizes(self):
        for name, (ours, _, make) in CASES.items():
            def slope(*given, ours=ours):
                return plait.value_and_grad(lambda *x: plait.sum(plait.sin(ours(*x))))(*given)

            with self.subTest(name):
                specs = [plait.Spec(f"{x.dtype}[{', '.join('n' if size == 5 else str(size) for size in x.shape)}]")
                         for x in map(plait.asarray, make(5))]
                program = plait.trace(slope)(*specs)
                for n in 5, 3, 2:
                    given = [plait.asarray(x) for x in make(n)]
                    for found, wanted in zip(program(*given), slope(*given)):
                        close(found, wanted.numpy(), 1e-12, f"{n}")

    def test_unpooled_twice_is_the_last(self):
        found = plait.max_unpool1d(plait.tensor([[1.0, 2.0]]), plait.tensor([[1, 1]]), 2)
        self.assertEqual(found.tolist(), [[0, 2, 0, 0]])

    def test_ids_behind_the_last_bag_do_not_count(self):
        table, numbers = draw(7, 4), ids(7, 9)
        for mode in "sum", "mean", "max":
            found = plait.embedding_bag(numbers, table, offsets=np.array([0, 2, 5]), include_last_offset=True, mode=mode)
            close(found, F.embedding_bag(t(numbers[:5]), t(table), t([0, 2]), mode=mode), 1e-12, mode)

    def test_padding_that_counts_from_the_end(self):
        numbers = plait.tensor([[0, 6, -1, 2]])
        self.assertEqual(plait.embedding_bag(numbers, plait.ones((7, 1)), mode="sum", padding_idx=-1).tolist(), [[2]])

    def test_equal_rows_have_no_distance_and_no_slope(self):
        x = plait.ones((3, 2))
        for p in 1, 2, 3, float("inf"):
            self.assertEqual(plait.pdist(x, p).tolist(), [0, 0, 0])
            self.assertEqual(plait.grad(lambda x: plait.sum(plait.pdist(x, p)))(x).tolist(), [[0, 0]] * 3)
        self.assertEqual(plait.pdist(plait.ones((1, 2))).shape, (0,))

    def test_a_window_of_zeros_has_no_slope(self):
        for p in 2, 3:
            self.assertEqual(plait.grad(lambda x: plait.sum(plait.lp_pool1d(x, p, 2)))(plait.zeros((1, 4))).tolist(), [[0] * 4])


KEY = plait.random.key(5)
CHANNELS = {"dropout1d": [(6, 7, 3), (7, 3)], "dropout2d": [(6, 7, 3, 2), (6, 7, 3)], "dropout3d": [(6, 7, 3, 2, 2), (7, 3, 2, 2)],
            "feature_alpha_dropout": [(6, 7, 3, 2)], "drop_path": [(40, 3, 2)], "alpha_dropout": [(40, 3)]}
DROPPED = {"drop_path": 1, "alpha_dropout": 2}  # how many dimensions a mask has


class Drawn(unittest.TestCase):
    def masks(self, name, shape, p):
        """The mask that Plait draws, and PyTorch's result for it."""
        dimensions = DROPPED.get(name, 2 if len(shape) == len(CHANNELS[name][0]) or name == "dropout2d" else 1)
        keep = plait.random.bernoulli(KEY, 1 - p, (*shape[:dimensions], *[1] * (len(shape) - dimensions))).numpy()
        x = draw(*shape)
        if "alpha" not in name:
            return x, np.where(keep, x / (1 - p), 0)
        torch.manual_seed(3)
        ones = torch.ones(4000, 1, dtype=torch.float64)  # some are kept, and some are dropped
        dropped, kept = np.unique(F.alpha_dropout(ones, p, True).numpy())
        torch.manual_seed(3)
        slope = np.unique(F.alpha_dropout(2 * ones, p, True).numpy())[1] - kept
        return x, np.where(keep, slope * (x - 1) + kept, dropped)

    def test_parts_that_are_dropped(self):
        for name, shapes in CHANNELS.items():
            for shape in shapes:
                for p in 0.3, 0.6:
                    with self.subTest(name, shape=shape, p=p):
                        x, wanted = self.masks(name, shape, p)
                        function = getattr(plait, name)
                        close(function(x, p, KEY), wanted, 1e-12, "value")
                        close(plait.jit(lambda x, p=p, function=function: function(x, p, key=KEY))(x), wanted, 1e-12, "jitted")
                        slope = plait.grad(lambda x, p=p, function=function: plait.sum(function(x, p, KEY)))(plait.asarray(x))
                        further = function(x + 1, p, KEY).numpy() - wanted
                        close(slope, further, 1e-12, "gradient")
            with self.subTest(name, p="all or nothing"):
                close(function(x, 0.0, KEY), x, 0, "nothing")
                close(function(x, 1.0, KEY), 0 * x, 0, "all")

    def test_nothing_is_dropped_without_training(self):
        for name in ("dropout", *CHANNELS):
            function, x = getattr(plait, name), plait.asarray(draw(*CHANNELS.get(name, [(4, 3)])[0]))
            with self.subTest(name):
                close(function(x, 0.5, training=False), x, 0, "value")
                close(plait.jit(lambda x: function(x, 0.5, training=False))(x), x, 0, "jitted")
                close(plait.grad(lambda x: plait.sum(function(x, 0.5, KEY, training=False)))(x), 1 + 0 * x, 0, "gradient")
                close(function(x, 0.5, KEY, training=True), function(x, 0.5, KEY), 0, "training")

    def test_each_sample_has_its_own(self):
        keys = plait.random.split_key(KEY, 3)
        for name, (shape, *_) in CHANNELS.items():
            function, x = getattr(plait, name), draw(3, *shape)
            found = plait.vmap(lambda x, key, function=function: function(x, 0.5, key))(x, keys)
            close(found, np.stack([function(x[i], 0.5, keys[i]).numpy() for i in range(3)]), 1e-12, name)

    def test_without_a_key_the_next_of_the_stream(self):
        x = draw(6, 7, 3)
        for name, function in (("dropout1d", plait.dropout1d), ("drop_path", lambda x, **key: plait.drop_path(x, 0.5, **key)),
                               ("gumbel_softmax", plait.gumbel_softmax), ("alpha_dropout", plait.alpha_dropout),
                               ("rrelu", lambda x, **key: plait.rrelu(x, training=True, **key)),
                               ("fractional_max_pool2d", lambda x, **key: plait.fractional_max_pool2d(x, 2, output_size=(4, 2), **key))):
            for way in lambda f: f, plait.jit:
                with self.subTest(name, way=way):
                    plait.random.seed(4)
                    run = way(function)
                    first, second = run(x), run(x)
                    self.assertFalse(np.array_equal(first.numpy(), second.numpy()))
                    plait.random.seed(4)
                    close(function(x, key=plait.random.draw_key()), first.numpy(), 1e-12, "first")

    def test_slopes_of_rrelu(self):
        x = draw(30, 40)
        found = plait.rrelu(x, 0.2, 0.6, True, KEY).numpy()
        slopes = plait.random.uniform(KEY, x.shape, 0.2, 0.6, dtype="f64").numpy()
        np.testing.assert_allclose(found, np.where(x > 0, x, slopes * x), rtol=1e-12)
        slope = plait.grad(lambda x: plait.sum(plait.rrelu(x, 0.2, 0.6, True, KEY)))(plait.asarray(x))
        close(slope, np.where(x > 0, 1, slopes), 1e-12, "gradient")

    def test_gumbel_softmax(self):
        for axis, tau in ((-1, 1.0), (0, 0.4), (1, 2.5)):
            x = draw(4, 5, 3)
            noise = t(plait.random.gumbel(KEY, x.shape, dtype="f64").numpy())
            check(lambda x, axis=axis, tau=tau: plait.gumbel_softmax(x, tau, axis=axis, key=KEY),
                  lambda x, axis=axis, tau=tau, noise=noise: F.softmax((x + noise) / tau, axis), [x])

            def hard(x, axis=axis, tau=tau, noise=noise):
                soft = F.softmax((x + noise) / tau, axis)
                return torch.zeros_like(soft).scatter_(axis, soft.argmax(axis, keepdim=True), 1.0) - soft.detach() + soft

            check(lambda x, axis=axis, tau=tau: plait.gumbel_softmax(x, tau, True, axis, key=KEY), hard, [x])
            found = plait.gumbel_softmax(x, tau, hard=True, dim=axis, key=KEY).numpy()
            self.assertEqual(set(np.unique(found)), {0, 1})

    def test_windows_by_a_key(self):
        x = spread(3, 2, 9, 8)
        samples = plait.random.uniform(KEY, (3, 2, 2), dtype="f64")
        for name in "fractional_max_pool2d", "fractional_max_pool2d_with_indices":
            by_key, by_samples = (getattr(plait, name)(x, 2, output_size=4, **given) for given in ({"key": KEY}, {"samples": samples}))
            np.testing.assert_array_equal(plait.tree.leaves(by_key)[0].numpy(), plait.tree.leaves(by_samples)[0].numpy())
        _, wanted = F.fractional_max_pool2d(t(x), 2, 4, return_indices=True, _random_samples=t(samples.numpy()))
        np.testing.assert_array_equal(by_key.indices.numpy(), wanted.numpy())
        x = spread(2, 7, 9, 8)
        samples = uniform(1, 2, 3)
        _, wanted = F.fractional_max_pool3d(t(x), 2, 4, return_indices=True, _random_samples=t(samples))
        found = plait.fractional_max_pool3d_with_indices(x, 2, output_size=4, samples=samples)
        np.testing.assert_array_equal(found.indices.numpy(), wanted.numpy())


if __name__ == "__main__":
    unittest.main()
