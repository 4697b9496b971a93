"""Random eager programs over two emulated GPUs and the CPU, and allocations that fail."""

import os
import random
import unittest

os.environ["PLAIT_CUDA"] = "emulated"
import numpy as np  # noqa: E402

import plait  # noqa: E402
from plait import _core  # noqa: E402

DEVICES = ("cpu", "cuda:0", "cuda:1")
SHARE = float(os.environ.get("PLAIT_SHARE", "1"))
SEED = int(os.environ.get("PLAIT_SEED", "0"))


def setUpModule():
    if not plait.devices("cuda"):
        raise unittest.SkipTest("the emulated device was not built")


def one(f):
    return lambda draw, x, y: f(x)


def two(f):
    return lambda draw, x, y: f(x, y)


def _slice(draw, x, y):
    axis = draw.randrange(x.ndim)
    index = [slice(None)] * x.ndim
    index[axis] = slice(draw.randrange(2), None, draw.choice((1, 1, 2)))
    return x[tuple(index)]


def _reduce(draw, x, y):
    f = draw.choice((plait.sum, plait.max, plait.mean))
    return f(x, axis=draw.randrange(x.ndim)) if min(x.shape) else plait.sum(x, axis=0)


OPERATIONS = [
    one(plait.tanh), one(lambda x: x * 0.5), one(lambda x: 1 - x), one(plait.square), one(lambda x: x.T), one(lambda x: x.reshape(-1)),
    one(lambda x: plait.flip(x, 0)), one(lambda x: plait.concat([x, x], 0)), one(lambda x: plait.softmax(x, -1)), one(lambda x: plait.sort(x, -1)),
    one(lambda x: plait.cumulative_sum(x, axis=0)), one(lambda x: plait.pad(x, [(1, 0)] + [(0, 0)] * (x.ndim - 1))),
    one(lambda x: plait.take(x, plait.argsort(plait.sum(x.reshape(x.shape[0], -1), axis=1)), axis=0)), one(lambda x: plait.where(x > 0, x, 0.1)),
    two(lambda x, y: x + y), two(plait.maximum), two(lambda x, y: x * y), two(lambda x, y: plait.where(x > y, x, y)),
    one(lambda x: plait.tanh(plait.matmul(x.reshape(x.shape[0], -1), x.reshape(x.shape[0], -1).T))), _slice, _reduce,
]


class Programs(unittest.TestCase):
    """Each value is computed on the CPU, too."""

    def program(self, seed):
        draw = random.Random(seed)
        numbers = np.random.default_rng(seed)
        values = []  # pairs: on some device, on the CPU
        for _ in range(3):
            sizes = [draw.choice((1, 2, 3, 5, 17)) for _ in range(draw.choice((1, 2, 2, 3)))]
            here = plait.asarray(numbers.standard_normal(sizes).astype(np.float32))
            values.append((here.to(draw.choice(DEVICES)), here))
        for _ in range(12):
            there, here = draw.choice(values)
            if here.ndim == 0 or here.size == 0 or here.size > 2000:
                continue
            if draw.random() < 0.25:
                values.append((there.to(draw.choice(DEVICES)), here))
                continue
            beside = [(a, b) for a, b in values if b.shape == here.shape and a.device == there.device]
            other, other_here = draw.choice(beside)
            operation, state = draw.choice(OPERATIONS), draw.getstate()
            made = operation(draw, there, other)
            draw.setstate(state)
            expected = operation(draw, here, other_here)
            self.assertEqual(made.device, there.device)
            values.append((made, expected))
        for there, here in values:
            self.assertEqual((there.shape, there.dtype), (here.shape, here.dtype))
            np.testing.assert_allclose(there.cpu().numpy(), here.numpy(), rtol=1e-4, atol=1e-4, err_msg=f"seed {seed}")

    def test_random_programs(self):
        for i in range(max(int(40 * SHARE), 5)):
            self.program(1000 * SEED + i)


class FailingAllocations(unittest.TestCase):
    def test_operands_stay_as_they_are(self):
        """The memory of the device ends at any place of the program; then the program is run again."""
        x = plait.asarray(np.arange(600.0, dtype=np.float32).reshape(20, 30)).to("cuda")
        w = plait.asarray(np.cos(np.arange(90.0, dtype=np.float32)).reshape(30, 3)).to("cuda")
        kept = x.tolist(), w.tolist()

        def program():
            return plait.value_and_grad(lambda w: plait.mean(plait.softmax(plait.sort(plait.tanh(x @ w), -1)) ** 2))(w)

        expected = [each.tolist() for each in program()]
        plait.synchronize("cuda")
        live, failed = plait.memory_statistics("cuda").live, 0
        for room in range(0, 40000, 60):
            _core._testing.set_setting("device_memory_limit", str(live + room))
            try:
                found = [each.tolist() for each in program()]
                self.assertEqual(found, expected)
                break
            except plait.MemoryError as error:
                failed += 1
                self.assertIn("on cuda:0", str(error))
            finally:
                _core._testing.set_setting("device_memory_limit", "0")
            self.assertEqual((x.tolist(), w.tolist()), kept)
            self.assertEqual(plait.memory_statistics("cuda").live, live)
        self.assertGreater(failed, 10)
        self.assertEqual([each.tolist() for each in program()], expected)


if __name__ == "__main__":
    unittest.main()
