"""Transformations as values: numbers, records, patterns, ensembles, narrow types, slices of a batch, bad input."""

import inspect
import unittest

import numpy as np
import plait as pl

optim = pl.optim


def model_of(seed=0):
    return pl.nn.Sequential(pl.nn.Linear(3, 4, key=pl.random.key(seed)), pl.tanh, pl.nn.Linear(4, 1, key=pl.random.key(seed + 1)))


X = pl.asarray(np.random.default_rng(1).normal(size=(12, 3)).astype(np.float32))


def loss_of(model, x=X):
    return pl.mean((model(x) - 1.0) ** 2)


def leaves(tree):
    return [leaf.numpy() for leaf in pl.tree.leaves(tree)]


def aliases_with_a_rate():
    """The names of the functions for users that make an optimizer, whose first parameter is its rate."""
    found = []
    for name in dir(optim):
        make = getattr(optim, name)
        if name.startswith(("_", "scale_by")) or not callable(make):
            continue
        if next(iter(inspect.signature(make).parameters), None) == "learning_rate":
            found.append(name)
    return found


def step_of(name):
    """A step with the arguments of update that an optimizer needs."""
    def step(model, optimizer):
        value, gradient = pl.value_and_grad(loss_of)(model)
        further = {"lbfgs": {"grad": gradient, "value_fn": loss_of}, "sophia": {"obj_fn": loss_of}}.get(name, {})
        return optimizer.update(model, gradient, value=value, **further)
    return step


class Numbers(unittest.TestCase):
    def test_a_rate_that_changes_needs_no_new_record(self):
        model = model_of()
        optimizer = optim.Optimizer(optim.adamw(0.1), model)

        @pl.jit
        def step(model, optimizer):
            return optimizer.update(model, pl.grad(loss_of)(model))

        for i in range(100):
            optimizer.transformation.learning_rate = 0.1 / (i + 1)
            optimizer.transformation.b1 = 0.9 - 0.001 * i
            model, optimizer = step(model, optimizer)
        self.assertEqual(pl.stats(step).traces, 1)
        self.assertEqual(optimizer.steps.item(), 100)

    def test_a_number_and_a_constant_schedule(self):
        for jitted in False, True:
            found = []
            for rate in 0.1, lambda step: 0.1, lambda step: pl.tensor(0.1, dtype=pl.f64):
                model = model_of()
                optimizer = optim.Optimizer(optim.adamw(rate, b1=rate, weight_decay=rate), model)
                step = lambda model, optimizer: optimizer.update(model, pl.grad(loss_of)(model))  # noqa: E731
                step = pl.jit(step) if jitted else step
                for _ in range(5):
                    model, optimizer = step(model, optimizer)
                found.append(leaves(model))
            for other in found[1:]:
                for a, b in zip(found[0], other):
                    np.testing.assert_array_equal(a, b)

    def test_every_alias_with_a_rate_takes_a_schedule(self):
        """A schedule that is at two places of the tree would be recorded again, and the first call is eager: other bits."""
        tested = [name for name in aliases_with_a_rate() if name != "dpsgd"]  # which takes gradients of single samples
        self.assertGreaterEqual(len(tested), 40, tested)
        for name in tested:
            named = {"key": pl.random.key(0)} if "key" in inspect.signature(getattr(optim, name)).parameters else {}
            with self.subTest(name):
                found = []
                for value in 0.01, optim.constant_schedule(0.01):
                    model = model_of()
                    optimizer = optim.Optimizer(getattr(optim, name)(value, **named), model)
                    step = pl.jit(step_of(name))
                    for _ in range(3):
                        model, optimizer = step(model, optimizer)
                    self.assertEqual(pl.stats(step).traces, 1)
                    found.append(leaves(model))
                for a, b in zip(*found):
                    np.testing.assert_array_equal(a, b)
                self.assertTrue(any((a != begun).any() for a, begun in zip(found[0], leaves(model_of()))))

    def test_names_that_are_misspelt(self):
        optimizer = optim.Optimizer(optim.adam(0.1), model_of())
        for thing, name, near in ((optimizer.transformation, "learnin_rate", "learning_rate"), (optim.scale(0.1), "step_sise", "step_size"),
                                  (optim.constant_schedule(0.1), "valeu", "value"), (optim.lookahead(optim.sgd(0.1), 2, 0.5), "slow_stepsize", "slow_step_size"),
                                  (optim.lr_scheduler.ReduceLROnPlateau(0.1), "facter", "factor")):
            with self.assertRaisesRegex(pl.AttributeError, rf"has no '{name}'; did you mean {near}\?"):
                setattr(thing, name, 0.5)
        class Own(optim.GradientTransformation):
            pass

        own = Own(lambda params: (), lambda updates, state, params: (updates, state))
        own.note = "classes of users are open"

    def test_the_state_is_a_tree(self):
        optimizer = optim.Optimizer(optim.adam(0.1), {"w": pl.ones(2)})
        self.assertEqual(list(pl.tree.structure(optimizer).paths),
                         [*(f"transformation.transformations.{name}" for name in ("0.b1", "0.b2", "0.eps", "0.eps_root", "1.learning_rate")),
                          "state.0.count", "state.0.mu.w", "state.0.nu.w", "state.1.count", "steps"])

    def test_dtypes(self):
        params = {"w": pl.ones(2, dtype=pl.bf16)}
        tx = optim.scale_by_adam(mu_dtype=pl.f32)
        updates, state = tx.update(params, tx.init(params))
        self.assertEqual((state.mu["w"].dtype, state.nu["w"].dtype, updates["w"].dtype), (pl.f32, pl.bf16, pl.f32))
        self.assertEqual(optim.apply_updates(params, updates)["w"].dtype, pl.bf16)

    def test_updates_of_other_types_are_refused(self):
        model = {"w": pl.ones(2)}
        for change, update in (lambda x: pl.stack([x, x]), r"f32\[2, 2\]"), (pl.sum, r"f32\[\]"), (lambda x: x * 1j, r"c64\[2\]"):
            transformation = optim.stateless_with_tree_map(lambda x, _, change=change: change(x))
            optimizer = optim.Optimizer(transformation, model)
            with self.assertRaisesRegex(pl.ValueError, rf"optim.apply_updates: w is f32\[2\], but its update is {update}"):
                optimizer.update(model, model)
        self.assertEqual(optim.apply_updates(pl.tensor([1j]), pl.tensor([1.0])).item(), 1 + 1j)

    def test_an_ensemble(self):
        models = [model_of(seed) for seed in (1, 5)]
        step = lambda model, optimizer: optimizer.update(model, pl.grad(loss_of)(model))  # noqa: E731
        alone = []
        for model in models:
            optimizer = optim.Optimizer(optim.chain(optim.clip_by_global_norm(0.5), optim.adamw(0.1)), model)
            for _ in range(3):
                model, optimizer = step(model, optimizer)
            alone.append(leaves(model))
        stack = lambda *each: pl.stack(each)  # noqa: E731
        stacked = pl.tree.map(stack, *models)
        optimizers = pl.tree.map(stack, *(optim.Optimizer(optim.chain(optim.clip_by_global_norm(0.5), optim.adamw(0.1)), each) for each in models))
        for _ in range(3):
            stacked, optimizers = pl.vmap(step)(stacked, optimizers)
        for i, wanted in enumerate(alone):
            for a, b in zip(leaves(stacked), wanted):
                np.testing.assert_allclose(a[i], b, rtol=1e-5, atol=1e-6)


class States(unittest.TestCase):
    def test_no_tensor_is_at_two_places(self):
        """jit would record the second step again, and memory that is donated would be donated twice."""
        params, count = {"w": pl.ones((4, 4)), "b": pl.ones(3)}, 0
        for name, make in vars(optim).items():
            if name.startswith("_") or not callable(make):
                continue
            try:
                needed = [each.name for each in inspect.signature(make).parameters.values() if each.default is each.empty and each.kind < each.VAR_POSITIONAL]
                optimizer = make(params) if needed == ["params"] else optim.Optimizer(make(*[0.1] * len(needed)), params)
            except Exception:  # noqa: BLE001: it takes other arguments
                continue
            with self.subTest(name):
                places = [id(leaf) for leaf in pl.tree.leaves((optimizer, params))]
                self.assertEqual(len(places), len(set(places)))
                count += 1
        self.assertGreater(count, 80)


class Rates(unittest.TestCase):
    def test_the_rate_of_an_optimizer_is_its_own(self):
        model, tx = model_of(), optim.chain(optim.clip(1.0), optim.sgd(0.1))
        one, other = optim.Optimizer(tx, model), optim.Optimizer(tx, model)
        one.lr = 0.25
        self.assertEqual([float(each) for each in (one.lr, other.lr, tx.learning_rate)], [0.25, 0.1, 0.1])


class Groups(unittest.TestCase):
    def test_patterns(self):
        model = model_of()
        tx = optim.partition({"none": optim.set_to_zero(), "some": optim.sgd(0.1)}, {"*.bias": "none", "*": "some"})
        optimizer = optim.Optimizer(tx, model)
        made, _ = optimizer.update(model, pl.grad(loss_of)(model))
        self.assertTrue(np.array_equal(made[0].bias, model[0].bias))
        self.assertFalse(np.array_equal(made[0].weight, model[0].weight))
        self.assertEqual(tx.learning_rate.item(), 0.1)

    def test_masks(self):
        params = {"a": {"w": pl.ones(2), "b": pl.ones(2)}}
        for mask in "*.w", ["a.w"], {"a": {"w": True, "b": False}}, lambda params: {"a": {"w": True, "b": False}}:
            tx = optim.adamw(0.0, weight_decay=0.5, mask=mask)
            self.assertEqual(tx.init(params)[1].inner_state.count.item(), 0)
            tx = optim.masked(optim.set_to_zero(), mask)
            made = tx.update(params, tx.init(params))[0]
            self.assertEqual((made["a"]["w"].tolist(), made["a"]["b"].tolist()), ([0.0, 0.0], [1.0, 1.0]))
        tx = optim.masked(optim.scale(2.0), {"a": True})
        self.assertEqual(tx.update(params, tx.init(params))[0]["a"]["b"].tolist(), [2.0, 2.0])


class Narrow(unittest.TestCase):
    def test_loss_scale(self):
        model = pl.tree.map(lambda each: each.astype(pl.f16), model_of())
        optimizer = optim.Optimizer(optim.loss_scale(optim.sgd(0.1), 2.0**30, growth_interval=3), model)

        @pl.jit
        def step(model, optimizer):
            gradient = pl.grad(lambda model: optimizer.loss_scale * pl.mean(pl.astype(model(X.astype(pl.f16)) - 1.0, pl.f32) ** 2))(model)
            return optimizer.update(model, gradient)

        before = leaves(model)
        scales = []
        for _ in range(40):
            model, optimizer = step(model, optimizer)
            scales.append(optimizer.loss_scale.item())
        self.assertLess(min(scales), 2.0**20)  # until the gradients are finite
        self.assertTrue(any(later > earlier for earlier, later in zip(scales, scales[1:])))
        self.assertTrue(all(np.isfinite(each).all() for each in leaves(model)))
        self.assertTrue(any((a != b).any() for a, b in zip(before, leaves(model))))
        self.assertEqual(optimizer.state.skipped.item(), sum(later < earlier for earlier, later in zip([2.0**30, *scales], scales)))

    def test_unscaled_gradients(self):
        weights = {"w": pl.tensor([1.0, 2.0])}
        tx, plain = optim.loss_scale(optim.sgd(0.1), 64.0), optim.sgd(0.1)
        gradient = {"w": pl.tensor([0.5, -1.0])}
        made, _ = tx.update({"w": 64.0 * gradient["w"]}, tx.init(weights), weights)
        np.testing.assert_array_equal(made["w"], plain.update(gradient, plain.init(weights))[0]["w"])

    def test_every_number_of_loss_scale_is_in_the_tree(self):
        optimizer = optim.Optimizer(optim.loss_scale(optim.sgd(0.1)), pl.ones(2))
        self.assertIn("transformation.min_scale", pl.tree.structure(optimizer).paths)
        update = pl.jit(lambda optimizer, model, gradient: optimizer.update(model, gradient))
        gradient = pl.full((2,), float("inf"))
        for least in 8.0, 2.0**15, 2.0**20:
            optimizer.transformation.min_scale = least
            self.assertEqual(update(optimizer, pl.ones(2), gradient)[1].loss_scale.item(), max(least, 2.0**15))
        self.assertEqual(pl.stats(update).traces, 1)

    def test_least_loss_scale(self):
        weights, gradient = pl.ones(2), pl.full((2,), float("inf"))
        for least, made in ((1.0, optim.loss_scale(optim.sgd(0.1), 8.0)), (0.5, optim.loss_scale(optim.sgd(0.1), 1.0, min_scale=0.5))):
            state = made.init(weights)
            for _ in range(300):
                _, state = made.update(gradient, state, weights)
            self.assertEqual(state.loss_scale.item(), least)
            made = made.update(pl.ones(2), state, weights)[0]
            self.assertTrue(np.isfinite(made).all() and (np.array(made) != 0).all())

    def test_8_bits(self):
        from plait.inside.transformations.narrow import _MU, _NU, decode, encode

        x = np.random.default_rng(0).normal(size=1000) * 10.0 ** np.random.default_rng(1).uniform(-6, 0, size=1000)
        for (most, power), values, bound in ((_MU, x, lambda v, m: (np.sqrt(np.abs(v) * m) + m / 508) / 127),
                                             (_NU, x * x, lambda v, m: 2 * ((v / m) ** 0.25 + 1 / 510) ** 3 * m / 255)):
            tensor = pl.asarray(values.astype(np.float32))
            codes, largest = encode(tensor, most, power)
            self.assertLessEqual(np.abs(codes).max(), most)
            blocks = np.repeat(np.array(largest)[:, 0], 256)[:1000]
            error = np.abs(np.array(decode(codes, largest, most, power, tensor)) - np.array(tensor))
            self.assertTrue((error <= bound(np.abs(values), blocks) * (1 + 1e-3)).all())
            self.assertGreater((error / bound(np.abs(values), blocks)).max(), 0.2)
        losses = []
        for make in optim.adamw, optim.adamw_8bit:
            model = model_of()
            optimizer = optim.Optimizer(make(0.05), model)
            step = pl.jit(lambda model, optimizer: optimizer.update(model, pl.grad(loss_of)(model)))
            for _ in range(60):
                model, optimizer = step(model, optimizer)
            losses.append(loss_of(model).item())
        self.assertLess(losses[1], 0.05)
        self.assertLess(abs(losses[0] - losses[1]), 0.02)

    def test_not_finite(self):
        model = {"a": pl.ones(2), "b": pl.ones(2)}
        optimizer = optim.Optimizer(optim.chain(optim.expect_finite(), optim.sgd(0.1)), model)
        with self.assertRaisesRegex(pl.CheckError, "the gradient.b has 1 nan"):
            optimizer.update(model, {"a": pl.ones(2), "b": pl.tensor([1.0, float("nan")])})


class Slices(unittest.TestCase):
    def test_equal_to_the_whole_batch(self):
        model = model_of()
        wanted = pl.value_and_grad(loss_of)(model, X)
        for n in 1, 3, 12:
            for run in optim.microbatches(n)(pl.value_and_grad(loss_of)), pl.jit(optim.microbatches(n)(pl.value_and_grad(loss_of))):
                loss, gradient = run(model, X)
                self.assertAlmostEqual(loss.item(), wanted[0].item(), places=5)
                for a, b in zip(leaves(gradient), leaves(wanted[1])):
                    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)

    def test_slices_of_different_sizes(self):
        """Their sizes differ by one, and the result is that of the whole batch."""
        x, y, model = pl.random.normal(pl.random.key(5), (13, 3)), pl.arange(13) % 4, pl.nn.Linear(3, 4, key=pl.random.key(6))

        def loss(model, x, y, reduction="mean"):
            value = pl.cross_entropy(model(x), y, reduction=reduction)
            return value, value * 2

        for reduction in "mean", "sum":
            step = pl.value_and_grad(lambda model, x, y: loss(model, x, y, reduction), has_aux=True)
            for n in 1, 2, 3, 4, 5, 7, 12, 20:
                sliced = optim.microbatches(n, reduce=reduction)(step)
                jitted = pl.jit(sliced)
                for rows in 13, 12, 10, 2, 1:
                    wanted = leaves(step(model, x[:rows], y[:rows]))
                    for run in sliced, jitted:
                        for a, b in zip(leaves(run(model, x[:rows], y=y[:rows])), wanted):
                            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5, err_msg=f"{n} slices of {rows} rows")

    def test_the_sizes_of_slices(self):
        for rows, n, sizes in ((12, 5, [3, 3, 2, 2, 2]), (10, 4, [3, 3, 2, 2]), (12, 4, [3] * 4), (3, 20, [1] * 3), (7, 6, [2, 1, 1, 1, 1, 1]),
                               (5, 1, [5])):
            taken = []

            def step(total, x, key):
                pl.callback(lambda rows, key: taken.append((rows.item(), pl.random.uniform(key, ()).item())), pl.tensor(x.shape[0]), key)
                return pl.sum(x) * total

            key = pl.random.key(1)
            optim.microbatches(n, reduce="sum")(step)(pl.tensor(1.0), pl.ones((rows, 2)), key)
            drawn = [pl.random.uniform(each, ()).item() for each in pl.random.split_key(key, n)]
            self.assertEqual(taken, list(zip(sizes, drawn)))

    def test_a_record_for_each_remainder(self):
        step = pl.jit(optim.microbatches(4)(pl.value_and_grad(loss_of)))
        x = pl.random.normal(pl.random.key(5), (40, 3))
        for rows in (12, 8, 16, 20, 40, 10, 14, 18, 38):  # remainders 0 and 2; the first size is a number
            step(model_of(), x[:rows])
        self.assertEqual(pl.stats(step).traces, 3)

    def test_changing_models_and_slices_of_different_sizes(self):
        model, x = pl.nn.BatchNorm1d(3), pl.random.normal(pl.random.key(2), (8, 3))
        step = pl.value_and_grad(lambda model, x: (pl.mean(model(x) ** 3), model), has_aux=True)
        (_, after), _ = optim.microbatches(3, changes_model=True)(step)(model, x)
        wanted = model
        for begin, end in ((0, 3), (3, 6), (6, 8)):
            _, wanted = pl.nn.call(wanted, x[begin:end])
        self.assertEqual(after.num_batches_tracked.item(), 3)
        np.testing.assert_allclose(after.running_var, wanted.running_var, rtol=1e-5)

    def test_models_that_change_go_from_slice_to_slice(self):
        model = pl.nn.Sequential(pl.nn.Linear(3, 4, key=pl.random.key(1)), pl.nn.BatchNorm1d(4))
        x = pl.random.normal(pl.random.key(2), (12, 3))

        def loss(model, x):
            return pl.mean(model(x) ** 3), model

        step = pl.value_and_grad(loss, has_aux=True)
        after, losses, gradients = model, [], []
        for i in range(3):
            (value, after), gradient = step(after, x[4 * i:4 * i + 4])
            losses.append(value.item())
            gradients.append(leaves(gradient))
        for run in (each(optim.microbatches(3, changes_model=True)(step)) for each in (lambda f: f, pl.jit)):
            (value, found), gradient = run(model, x)
            self.assertAlmostEqual(value.item(), sum(losses) / 3, places=5)
            self.assertEqual(found[1].num_batches_tracked.item(), 3)
            np.testing.assert_allclose(found[1].running_var, after[1].running_var, rtol=1e-5)
            for each, wanted in zip(leaves(gradient), zip(*gradients)):
                np.testing.assert_allclose(each, sum(map(np.asarray, wanted)) / 3, rtol=1e-4, atol=1e-6)
        with self.assertRaisesRegex(pl.TypeError, r"num_batches_tracked. is i64, which has no mean[\s\S]*changes_model"):
            optim.microbatches(3)(step)(model, x)
        with self.assertRaisesRegex(pl.TypeError, "has_aux=True"):
            optim.microbatches(3, changes_model=True)(pl.value_and_grad(lambda model, x: pl.mean(x)))(model, x)

    def test_keys_are_split(self):
        key, model = pl.random.key(3), pl.tensor(2.0)

        def loss(model, x, key, *, further):
            return pl.mean(model * x * pl.random.uniform(key, x.shape)) + pl.sum(pl.random.uniform(further["key"], (1,)))

        step = pl.value_and_grad(loss)
        keys = pl.random.split_key(key, 4)
        wanted = [step(model, X[3 * i:3 * i + 3], keys[i], further={"key": keys[i]}) for i in range(4)]
        self.assertEqual(len({value.item() for value, _ in wanted}), 4)
        for run in optim.microbatches(4)(step), pl.jit(optim.microbatches(4)(step)):
            value, gradient = run(model, X, key, further={"key": key})
            self.assertAlmostEqual(value.item(), sum(each.item() for each, _ in wanted) / 4, places=5)
            self.assertAlmostEqual(gradient.item(), sum(each.item() for _, each in wanted) / 4, places=5)
        with self.assertRaisesRegex(pl.TypeError, "an argument is a scalar"):
            optim.microbatches(4)(step)(model, pl.tensor(1.0), key, further={})

    def test_a_loss_that_is_a_sum(self):
        loss = lambda model, x: pl.sum((model(x) - 1.0) ** 2)  # noqa: E731
        model, step = model_of(), pl.value_and_grad(loss)
        wanted, run = leaves(step(model, X)), optim.microbatches(3, reduce="sum")(step)
        for made in run(model, X), pl.jit(run)(model, X):
            for a, b in zip(leaves(made), wanted):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        with self.assertRaisesRegex(pl.ValueError, "optim.microbatches: reduce is 'none', expected 'mean' or 'sum'"):
            optim.microbatches(3, reduce="none")
        with self.assertRaisesRegex(pl.ValueError, "weight is of a mean"):
            optim.microbatches(3, reduce="sum", weight=lambda model, x: 1)

    def test_bad_batches(self):
        step = pl.grad(lambda model, x, y: pl.mean(model(x)) + pl.mean(y))
        with self.assertRaisesRegex(pl.ValueError, "the arguments have 12, 10 rows; 10 cannot be cut into 3 equal slices"):
            optim.microbatches(3)(step)(model_of(), X, X[:10])
        one, other = (leaves(run(model_of(), X, X[:6])) for run in (step, optim.microbatches(3)(step)))
        for a, b in zip(one, other):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
        with self.assertRaisesRegex(pl.ValueError, "the batch has n rows, a symbol, so that the rows of 4 slices are not known"):
            pl.trace(optim.microbatches(4)(pl.grad(loss_of)))(model_of(), pl.Spec("f32[n, 3]"))
        with self.assertRaisesRegex(pl.ValueError, "optim.microbatches: n is 0"):
            optim.microbatches(0)

    def test_microbatches_of_other_weights(self):
        """Means over elements that are not spread evenly: those of the whole batch, also where a slice has none."""
        x, classes = pl.random.normal(pl.random.key(3), (6, 3)), pl.tensor([1.0, 5.0, 0.5])
        model, y = pl.nn.Linear(3, 3, key=pl.random.key(4)), pl.tensor([2, -100, -100, -100, 0, 1])
        for weights, count in [(None, lambda model, x, y: pl.sum(y != -100)),
                               (classes, lambda model, x, y: pl.sum(pl.where(y == -100, 0.0, classes[pl.maximum(y, 0)])))]:
            def loss(model, x, y):
                number = pl.cross_entropy(model(x), y, weight=weights)
                return number, number * 2

            step = pl.value_and_grad(loss, has_aux=True)
            sliced = optim.microbatches(3, weight=count)(step)
            (number, aux), gradient = step(model, x, y)
            for run in sliced, pl.jit(sliced):
                (own, own_aux), own_gradient = run(model, x, y)
                for a, b in [(own, number), (own_aux, aux), (own_gradient.weight, gradient.weight), (own_gradient.bias, gradient.bias)]:
                    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        for weight in 3, lambda model, x: x, lambda model, x: pl.any(x > 0):
            with self.assertRaisesRegex(pl.TypeError, "optim.microbatches: .*weight.*expected"):
                optim.microbatches(2, weight=weight)(pl.value_and_grad(lambda model, x: pl.mean(model(x))))(model, x)


class BadInput(unittest.TestCase):
    def test_numbers(self):
        for make, words in ((lambda: optim.adam(0.1, b1=1.0), "optim.scale_by_adam: b1 is 1.0, expected a number: from 0 to below 1"),
                            (lambda: optim.adam(0.1, eps=-1.0), "optim.scale_by_adam: eps is -1.0"),
                            (lambda: optim.trace(1.5), "optim.trace: decay is 1.5, expected a number: from 0 to 1"),
                            *((lambda name=name: getattr(optim, name)(-1e-3), "optim.scale_by_learning_rate: learning_rate is -0.001, expected a number: 0 or")
                              for name in ("adam", "adamw", "sgd", "lion", "rmsprop", "lamb", "novograd", "radam")),
                            (lambda: optim.sgd("fast"), "optim.scale_by_learning_rate: learning_rate is 'fast', expected a number"),
                            (lambda: optim.clip(-1.0), "optim.clip: max_delta is -1.0"),
                            (lambda: optim.MultiSteps(optim.sgd(0.1), 0), "optim.MultiSteps: every_k_schedule is 0"),
                            (lambda: optim.scale_by_lion(mode="soft"), "optim.scale_by_lion: mode is 'soft', expected one of"),
                            (lambda: optim.loss_scale(optim.sgd(0.1), 0.0), "optim.loss_scale: initial_scale is 0.0"),
                            (lambda: optim.loss_scale(optim.sgd(0.1), min_scale=0.0), "optim.loss_scale: min_scale is 0.0, expected a number above"),
                            (lambda: optim.loss_scale(optim.sgd(0.1), 0.5), "initial_scale is 0.5, expected min_scale, 1.0, or more"),
                            (lambda: optim.scale_by_lbfgs(0), "optim.scale_by_lbfgs: memory_size is 0"),
                            (lambda: optim.scale_by_muon(ns_steps=100), "optim.scale_by_muon: ns_steps is 100, expected an integer: 1 to 99"),
                            *((lambda given=given: optim.scale_by_muon(given), r"optim.scale_by_muon: ns_coeffs is .*, expected three numbers")
                              for given in ((), {}, (1.0, 2.0), (1.0, 2.0, None), ((1.0, 2.0),), None))):
            with self.assertRaisesRegex(pl.ValueError, words):
                make()
        tx = optim.adam(0.1)
        with self.assertRaisesRegex(pl.ValueError, "b2 is 2.0"):
            tx.b2 = 2.0

    def test_schedules_of_numbers(self):
        """Where they would mean nothing they are refused."""
        schedule, plateau = (lambda step: 0.5), optim.reduce_on_plateau()
        constant = optim.constant_schedule(3)
        for call, words in ((lambda: optim.reduce_on_plateau(schedule), "optim.reduce_on_plateau: factor is .*, expected a number"),
                            (lambda: optim.reduce_on_plateau(patience=constant), "optim.reduce_on_plateau: patience is of the type Curve"),
                            (lambda: setattr(plateau, "rtol", schedule), "optim.reduce_on_plateau: rtol is"),
                            (lambda: optim.scale_by_factored_rms(min_dim_size_to_factor=schedule), "to_factor is .*, expected an integer"),
                            (lambda: optim.adafactor(0.1, min_dim_size_to_factor=2.5), "min_dim_size_to_factor is 2.5, expected an integer")):
            with self.subTest(words), self.assertRaisesRegex(pl.Error, words + r".*, at transformations_test.py:\d+"):
                call()
        found = []
        for offset in 0, lambda step: 0.0 * step, optim.constant_schedule(0.0):
            model = model_of()
            optimizer = optim.Optimizer(optim.adafactor(0.1, decay_offset=offset), model)
            for _ in range(3):
                model, optimizer = optimizer.update(model, pl.grad(loss_of)(model))
            found.append(leaves(model))
        for other in found[1:]:
            for a, b in zip(found[0], other):
                np.testing.assert_array_equal(a, b)

    def test_what_cannot_be(self):
        for make, words in ((lambda: optim.schedule_free(optim.sgd(0.1), 0.1, b1=1.0), "b1 is 1.0"),
                            (lambda: optim.lookahead(optim.sgd(0.1), 2, 1.5), "slow_step_size is 1.5"),
                            (lambda: optim.loss_scale(optim.sgd(0.1), min_scale=0.0), "min_scale is 0.0"),
                            (lambda: optim.sophia(0.1, verbose=True), "nothing is printed"),
                            (lambda: optim.scale_by_galore(rank=0), "optim.scale_by_galore: rank is 0"),
                            (lambda: optim.unitwise_clip(pl.ones(2), pl.ones(2), pl.ones((2, 2))), r"g_norm is \[2\]"),
                            (lambda: optim.scale_by_galore(weight_dimension_numbers=optim.GaLoreDimensionNumbers(0, 1)).init(pl.ones((2, 2, 2))),
                             "an axis of it is neither a row nor a column"),
                            (lambda: optim.scale_by_muon(weight_dimension_numbers=optim.MuonDimensionNumbers(0, 0)).init(pl.ones((2, 2))),
                             "expected different axes"),
                            (lambda: optim.muon(0.1, muon_weight_dimension_numbers={"v": None}).init({"w": pl.ones((2, 2))}), "nothing for the weight 'w'")):
            with self.subTest(words), self.assertRaisesRegex(pl.Error, words):
                make()
        optim.sophia(0.1, verbose=False, print_win_rate_every_n_steps=0)

    def test_other_kinds(self):
        tx = optim.sgd(0.1)
        for make, words in ((lambda: optim.prodigy(betas={}), "optim.prodigy: betas is {}, expected two numbers"),
                            (lambda: optim.dadapt_adamw(betas=(0.9,)), r"optim.dadapt_adamw: betas is \(0.9,\), expected two numbers"),
                            (lambda: optim.dog(init_step="far"), "optim.dog: init_step is 'far', expected a pair: a name and a number"),
                            (lambda: optim.partition([tx], "*"), "optim.partition: transforms is of the type list, expected a dict of"),
                            (lambda: optim.multi_transform(None, "*"), "optim.partition: transforms is None"),
                            (lambda: optim.named_chain(tx), "optim.named_chain: an argument is of the type chain, expected a pair: a name and"),
                            (lambda: optim.monitor(None), "optim.monitor: measures is None, expected a dict of functions or"),
                            (lambda: optim.monitor({"norm": 1}), "optim.monitor: norm: 1 is not a gradient transformation"),
                            (lambda: optim.snapshot("norm", 1), "optim.snapshot: measure is 1, expected a function"),
                            (lambda: optim.measure_with_ema(1, 0.9), "optim.measure_with_ema: measure is 1, expected a function"),
                            (lambda: optim.stateless(1), "optim.stateless: f is 1, expected a function"),
                            (lambda: optim.stateless_with_tree_map(1), "optim.stateless_with_tree_map: f is 1, expected a function"),
                            (lambda: optim.conditionally_mask(tx, True), "optim.conditionally_mask: should_transform_fn is True"),
                            (lambda: optim.GradientTransformation(len, 1), "optim.GradientTransformation: update is 1, expected a function"),
                            (lambda: optim.unitwise_norm(None), "optim.unitwise_norm: x is None, expected a tensor")):
            with self.subTest(words), self.assertRaisesRegex(pl.TypeError, words):
                make()
        for names in (("a", "a"), ("a", 1)):
            with self.assertRaisesRegex(pl.ValueError, r"optim.named_chain: the names are \['a', .*\], expected different strings"):
                optim.named_chain(*((name, tx) for name in names))

    def test_no_weights(self):
        skips, state = optim.skip_not_finite({"count": 3}, 0, None)
        self.assertEqual((skips.item(), state["num_not_finite"].item()), (False, 0))

    def test_patterns(self):
        model = model_of()
        with self.assertRaisesRegex(pl.ValueError, r"no weight matches '\*.wieght'[\s\S]*did you mean \d.weight"):
            optim.Optimizer(optim.masked(optim.sgd(0.1), "*.wieght"), model)
        with self.assertRaisesRegex(pl.ValueError, "no pattern matches the weight '0.weight'"):
            optim.Optimizer(optim.partition({"a": optim.sgd(0.1)}, {"*.bias": "a"}), model)
        with self.assertRaisesRegex(pl.ValueError, "the label of 'w' is 'b', which has no transformation"):
            optim.partition({"a": optim.sgd(0.1)}, {"w": "b"}).init({"w": pl.ones(2)})
        with self.assertRaisesRegex(pl.ValueError, "nothing for the weight 'w'"):
            optim.masked(optim.sgd(0.1), {"v": True}).init({"w": pl.ones(2)})

    def test_what_is_missing(self):
        weights = {"w": pl.ones(2)}
        for tx, words in ((optim.adamw(0.1), "optim.add_decayed_weights: the weights are missing"),
                          (optim.scale_by_trust_ratio(), "optim.scale_by_trust_ratio: the weights are missing"),
                          (optim.polyak_sgd(), "optim.scale_by_polyak: the loss is missing")):
            with self.assertRaisesRegex(pl.TypeError, words):
                tx.update(weights, tx.init(weights))
        with self.assertRaisesRegex(pl.TypeError, "optim.chain: .* is not a gradient transformation"):
            optim.chain(optim.adam)
        with self.assertRaisesRegex(pl.ValueError, "the state's mu has no 'w'"):
            tx = optim.scale_by_adam()
            tx.update(weights, tx.init({"v": pl.ones(2)}))

    def test_numbers_of_several_parts(self):
        tx = optim.chain(optim.trace(0.9), optim.ema(0.9))
        with self.assertRaisesRegex(pl.AttributeError, "2 parts have decay"):
            tx.decay


class Noise(unittest.TestCase):
    def test_its_variance(self):
        tx = optim.add_noise(0.25, 0.5, pl.random.key(3))
        zeros = {"a": pl.zeros(20000), "b": pl.zeros(20000)}
        updates, state = tx.update(zeros, tx.init(zeros))
        self.assertAlmostEqual(pl.std(updates["a"]).item(), 0.5, delta=0.01)
        self.assertLess(abs(np.corrcoef(updates["a"], updates["b"])[0, 1]), 0.03)
        again, _ = tx.update(zeros, state)
        self.assertAlmostEqual(pl.std(again["a"]).item(), 0.5 / 2**0.25, delta=0.01)

    def test_of_gradients_of_examples(self):
        tx = optim.differentially_private_aggregate(2.0, 0.5, pl.random.key(3))
        updates, _ = tx.update({"w": pl.zeros((4, 20000))}, tx.init({"w": pl.zeros(20000)}))
        self.assertAlmostEqual(pl.std(updates["w"]).item(), 2.0 * 0.5 / 4, delta=0.01)


if __name__ == "__main__":
    unittest.main()
