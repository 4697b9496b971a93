"""Scopes: they nest, are left in any order by generators, and belong to the thread that began them."""

import itertools
import threading
import unittest

import plait as pl

DENORMAL = 1e-39


def is_under_no_grad(x):
    try:
        pl.gradient(x * x, x)
    except pl.ValueError:
        return True
    return False


def detects_anomaly(_):
    try:
        pl.log(pl.tensor(-1.0))
    except pl.CheckError:
        return True
    return False


# How a scope begins, and what tells whether it applies; given a tensor that requires a gradient.
KINDS = {
    "no_grad": (pl.no_grad, is_under_no_grad),
    "autocast": (pl.autocast, lambda _: (pl.ones((2, 2)) @ pl.ones((2, 2))).dtype == pl.bf16),
    "detect_anomaly": (pl.detect_anomaly, detects_anomaly),
    "flush_denormals": (pl.flush_denormals, lambda _: (pl.tensor([DENORMAL]) * 1.0).sum().item() == 0.0),
}


class Scopes(unittest.TestCase):
    def applies(self, name):
        return KINDS[name][1](self.x)

    def setUp(self):
        self.x = pl.tensor(3.0).requires_grad()

    def test_end_in_any_order(self):
        def within(scope):
            with scope():
                yield

        for name, (scope, _) in KINDS.items():
            for order in itertools.permutations(range(3)):
                opened = [within(scope) for _ in order]
                for each in opened:
                    next(each)
                for count, place in enumerate(order):
                    with self.subTest(name, order=order, closed=count):
                        self.assertTrue(self.applies(name))
                    opened[place].close()
                with self.subTest(name, order=order):
                    self.assertFalse(self.applies(name))

    def test_of_different_options_end_in_any_order(self):
        def within(scope):
            with scope:
                yield

        product = lambda: (pl.ones((2, 2)) @ pl.ones((2, 2))).dtype  # noqa: E731
        first, second = within(pl.autocast(pl.f16)), within(pl.autocast(pl.bf16))
        next(first), next(second)
        self.assertEqual(product(), pl.bf16)
        first.close()
        self.assertEqual(product(), pl.bf16)
        second.close()
        self.assertEqual(product(), pl.f32)

    def test_apply_to_the_thread_that_began_them(self):
        for name, (make, _) in KINDS.items():
            scope, seen = make(), []
            begun, ended = threading.Event(), threading.Event()

            def begin():
                scope.__enter__()
                begun.set()
                ended.wait()
                with make():  # also ends what another thread has closed
                    pass
                seen.append(self.applies(name))

            thread = threading.Thread(target=begin)
            thread.start()
            begun.wait()
            with self.subTest(name):
                self.assertFalse(self.applies(name))
                scope.__exit__(None, None, None)
                self.assertFalse(self.applies(name))
                ended.set()
                thread.join()
                self.assertEqual(seen, [False])

    def test_as_decorators(self):
        for name, (make, _) in KINDS.items():
            with self.subTest(name):
                self.assertTrue(make()(lambda: self.applies(name))())
                self.assertFalse(self.applies(name))


if __name__ == "__main__":
    unittest.main()
