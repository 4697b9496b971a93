"""jit(repeatable=True): results that do not depend on earlier calls."""

import unittest

import numpy as np
import plait as pl


def rows(count, seed=0):
    return pl.asarray(np.random.default_rng(seed).standard_normal((count, 70)).astype(np.float32))


def bits(tree):
    return [leaf.numpy().tobytes() for leaf in pl.tree.leaves(tree)]


def normed(x):
    return pl.softmax((x - pl.mean(x, axis=-1, keepdims=True)) / pl.sqrt(pl.var(x, axis=-1, keepdims=True) + 1e-5)), pl.sum(x * x + 1)


def training(**options):
    model = pl.nn.Sequential(pl.nn.Linear(70, 32, key=pl.random.key(1)), pl.nn.LayerNorm(32), pl.nn.GELU(), pl.nn.Linear(32, 4, key=pl.random.key(2)))
    state = pl.optim.TrainState(model, pl.optim.AdamW(model, lr=1e-2), key=pl.random.key(3))

    @pl.jit(**options)
    def step(state, x):
        loss, gradient = pl.value_and_grad(lambda model: pl.mean(pl.dropout(model(x), 0.1, state.step_key()) ** 2))(state.model)
        return state.update(gradient), loss

    return state, step


class Repeatable(unittest.TestCase):
    def test_the_first_call_has_the_bits_of_later_ones(self):
        x, once, often = rows(33), pl.jit(normed, repeatable=True), pl.jit(normed)
        first = bits(once(x))
        often(x)
        self.assertEqual([first] * 2, [bits(once(x)), bits(often(x))])
        self.assertEqual((pl.stats(once).traces, pl.stats(once).hits), (1, 1))
        self.assertEqual(bits(pl.jit(normed)(x)), first)

    def test_training_goes_on_from_any_step(self):
        """With batches of several sizes, whose sizes would become symbols."""
        state, step = training(repeatable=True)
        states, batches = [state], [rows(12 if i % 3 else 5, i) for i in range(7)]
        for batch in batches:
            states.append(step(states[-1], batch)[0])
        for begin in range(7):
            state, step = states[begin], training(repeatable=True)[1]
            for batch in batches[begin:]:
                state, _ = step(state, batch)
            self.assertEqual(bits(state), bits(states[-1]))

    def test_sizes_stay_numbers_unless_declared(self):
        for dynamic, traces in ((), 3), ([pl.Dynamic(axis=0)], 1):
            f = pl.jit(normed, repeatable=True, dynamic=dynamic)
            for count in 3, 4, 5, 4, 3:
                f(rows(count))
            self.assertEqual(pl.stats(f).traces, traces)

    def test_paths(self):
        @pl.jit(repeatable=True)
        def f(x):
            return normed(x)[1] if x[0, 0] > 0 else normed(-x)[1] + 1

        x = rows(9)
        first = [bits(f(x)), bits(f(-x))]
        self.assertEqual(first, [bits(f(x)), bits(f(-x))])
        self.assertEqual(pl.stats(f).traces, 2)

    def test_functions_that_read_numbers_run_eagerly(self):
        def f(x):
            return normed(x * float(pl.max(x)))

        jitted, x = pl.jit(f, repeatable=True), rows(33)
        self.assertEqual([bits(f(x))] * 3, [bits(jitted(x)) for _ in range(3)])
        self.assertEqual(pl.stats(jitted).pieces, 0)

    def test_random_numbers_are_drawn_once(self):
        draws = []
        for options in {"repeatable": True}, {}:
            f = pl.jit(lambda x: x + pl.random.normal(x.shape), **options)
            pl.random.seed(5)
            draws.append([bits(f(rows(2))) for _ in range(3)])
        self.assertEqual(*draws)
        self.assertEqual(len({tuple(each) for each in draws[0]}), 3)

    def test_changes_of_state_happen_once(self):
        class Counter:
            def __init__(self):
                self.total, self.calls, self.parts = pl.zeros(70), 0, {"last": pl.zeros(70)}

            @pl.jit(repeatable=True)
            def add(self, x):
                self.calls += 1
                self.total = self.total + pl.softmax(pl.sum(x, axis=0))
                self.parts["last"] = self.total * 2
                x[0] = 5
                return self.total

        counter, x = Counter(), rows(9)
        for i in range(4):
            result = counter.add(x)
            self.assertEqual(counter.calls, i + 1)
            self.assertEqual(bits(result), bits(counter.total))
            self.assertEqual(bits(counter.parts["last"]), bits(counter.total * 2))
            self.assertEqual(x[0, 0].item(), 5)
        self.assertAlmostEqual(pl.sum(counter.total).item(), 4, places=5)
        again, y = Counter(), rows(9)
        again.add(y)
        self.assertEqual(bits(y), bits(x))

    def test_a_result_that_cannot_be_made_again(self):
        """Its host code runs at each call, the first one, too."""
        with self.assertWarns(pl.errors.HostStateWarning):
            f = pl.jit(lambda x: (normed(x), lambda: x), repeatable=True)
            first = bits(f(rows(33))[0])
            self.assertEqual(first, bits(f(rows(33))[0]))
        self.assertEqual(first, bits(normed(rows(33))))

    def test_donation(self):
        f = pl.jit(lambda state, x: state + pl.softmax(x), donate=(0,), repeatable=True)
        state = pl.zeros((33, 70))
        for _ in range(3):
            state = f(state, rows(33))
        g, again = pl.jit(lambda state, x: state + pl.softmax(x), repeatable=True), pl.zeros((33, 70))
        for _ in range(3):
            again = g(again, rows(33))
        self.assertEqual(bits(state), bits(again))

    def test_within_derivatives(self):
        f = pl.jit(lambda x: normed(x)[1], repeatable=True)
        first, second = (bits(pl.value_and_grad(f)(rows(9))) for _ in range(2))
        self.assertEqual(first, second)


if __name__ == "__main__":
    unittest.main()
