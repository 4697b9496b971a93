"""Programs on several devices under vmap, arrays of NumPy beside tensors of a device, and errors that come late."""

import os
import unittest
import warnings

os.environ["PLAIT_CUDA"] = "emulated"
import numpy as np  # noqa: E402

import plait as pl  # noqa: E402


def setUpModule():
    if not pl.devices("cuda"):
        raise unittest.SkipTest("the emulated device was not built")


def there(numbers, device="cuda"):
    return pl.tensor(numbers, device=device)


SAMPLES = {
    "branches that move": lambda x, y, c: pl.vmap(lambda a: pl.cond(a > 1.5, lambda a: (a * 2).to("cuda:1"), lambda a: (a * 3).to("cuda:1"), a))(x),
    "a predicate elsewhere": lambda x, y, c: pl.vmap(lambda a, p: pl.cond(p > 1.5, lambda a: a * 2, lambda a: a * 3, a))(x, y),
    "a predicate on the host": lambda x, y, c: pl.vmap(lambda a, p: pl.cond(p > 1.5, lambda a: a * 2, lambda a: a * 3, a))(x, c),
    "an index on the host": lambda x, y, c: pl.vmap(lambda a, i: pl.switch(i, [lambda a: a, lambda a: a * 2], a))(x, there([0, 1, 1], "cpu")),
    "carries on two devices": lambda x, y, c: pl.vmap(lambda a, b: pl.while_loop(lambda q: q[0] < 10, lambda q: (q[0] * 2, q[1] + 1), (a, b)))(x, y),
    "a loop that moves": lambda x, y, c: pl.vmap(lambda a: pl.while_loop(lambda q: q < 10, lambda q: (q * 2).to("cuda:1"), a))(x),
    "a condition elsewhere": lambda x, y, c: pl.vmap(lambda a: pl.while_loop(lambda q: q.to("cpu") < 10, lambda q: q * 2, a))(x),
}
ON_HOST = {
    "branches that move": [3, 4, 6], "a predicate elsewhere": [3, 4, 6], "a predicate on the host": [3, 4, 6], "an index on the host": [1, 4, 6],
    "carries on two devices": ([16, 16, 12], [5, 5, 5]), "a loop that moves": [16, 16, 12], "a condition elsewhere": [16, 16, 12],
}


class Samples(unittest.TestCase):
    def test_control_flow_on_several_devices(self):
        x, y, c = there([1.0, 2.0, 3.0]), there([1.0, 2.0, 3.0], "cuda:1"), there([1.0, 2.0, 3.0], "cpu")
        for name, of in SAMPLES.items():
            for way in (lambda f: f, pl.jit):
                with self.subTest(name, jitted=way is pl.jit):
                    found = way(of)(x, y, c)
                    found = tuple(each.tolist() for each in found) if isinstance(found, tuple) else found.tolist()
                    self.assertEqual(found, ON_HOST[name])


class ArraysOfNumPy(unittest.TestCase):
    def setUp(self):
        self.x, self.b = there([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0], "f4")

    def test_they_go_to_the_device_of_a_tensor(self):
        model = pl.nn.Linear(3, 2).to("cuda")
        cases = {
            "jit": lambda: pl.jit(lambda x, b: x + b)(self.x, self.b), "jit of a model": lambda: pl.jit(lambda m, b: m(b))(model, self.b),
            "vmap": lambda: pl.vmap(lambda x, b: x + b)(self.x, self.b), "remat": lambda: pl.remat(lambda x, b: x * b)(self.x, self.b),
            "cond": lambda: pl.cond(True, lambda x, b: x + b, lambda x, b: x - b, self.x, self.b), "concat": lambda: pl.concat([self.b, self.x]),
            "stack": lambda: pl.stack([self.x, self.b]),
        }
        for name, of in cases.items():
            with self.subTest(name):
                found = of()
                self.assertEqual(str(found.device), "cuda:0")
        np.testing.assert_array_equal(cases["jit"]().tolist(), [2, 4, 6])

    def test_lists_of_arrays_go_to_the_default_device(self):
        with pl.Device("cuda:1"):
            self.assertEqual(str(pl.concat([self.b, self.b]).device), "cuda:1")

    def test_another_device_needs_a_copy(self):
        for of in (lambda: pl.asarray(self.x, device="cpu", copy=False), lambda: pl.asarray(self.b, device="cuda", copy=False)):
            with self.assertRaisesRegex(pl.ValueError, "cannot be on .* without a copy"):
                of()
        self.assertIs(pl.asarray(self.x, copy=False), self.x)


class LateErrors(unittest.TestCase):
    def test_the_first_one_names_the_others(self):
        x = there([1.0, 2.0, 3.0])
        first = x[there([0, 9])]
        second = x[there([0, 8])]
        third = x[there([7])]
        with self.assertRaisesRegex(pl.IndexError, r"(?s)index 9 is out of range.*later operations had bad numbers, too \(2: gather at .*test.py:\d+, gather at "):
            first.tolist()
        del second, third
        self.assertEqual(x[there([2])].tolist(), [3])

    def test_many(self):
        """More operations than notes have places."""
        x = there([1.0, 2.0, 3.0])
        for i in range(300):
            x[there([i])]
        with self.assertRaisesRegex(pl.IndexError, r"(?s)index 3 is out of range.*too \(2\d\d: gather.*, …\)"):
            pl.synchronize("cuda")
        pl.synchronize("cuda")


class FailedCalls(unittest.TestCase):
    def test_values_of_before_stay(self):
        """A jitted function whose host code changes a list fails, on each device."""
        def step(kept, history, matrix):
            kept[0] = kept[0] * 2
            history.append(kept[0] + 1)
            return pl.linalg.cholesky(matrix)

        for device in ("cpu", "cuda"):
            kept, history, bad = [there([1.0, 2.0], device)], [], there([[1.0, 2.0], [2.0, 1.0]], device)
            jitted = pl.jit(step)
            for doubled in ([2, 4], [4, 8]):
                with self.subTest(device, doubled=doubled), warnings.catch_warnings():
                    warnings.simplefilter("ignore", pl.HostStateWarning)
                    with self.assertRaisesRegex(pl.ValueError, "not positive definite"):
                        jitted(kept, history, bad)
                    self.assertEqual(kept[0].tolist(), doubled)
                    self.assertEqual(history[-1].tolist(), [each + 1 for each in doubled])


if __name__ == "__main__":
    unittest.main()
