"""Moves of trees, errors that say why something is not on a device, and memory by tags."""

import os
import subprocess
import sys
import unittest

os.environ["PLAIT_CUDA"] = "emulated"
import numpy as np  # noqa: E402

import plait as pl  # noqa: E402
from plait import nn, optim  # noqa: E402

FIRST, SECOND = pl.Device("cuda:0"), pl.Device("cuda:1")


def setUpModule():
    if not pl.devices("cuda"):
        raise unittest.SkipTest("the emulated device was not built")


class Moving(unittest.TestCase):
    def test_copies(self):
        for x in pl.tensor([1.0, 2.0]), pl.tensor([1.0, 2.0]).to("cuda"):
            for to in (lambda x: x.to(x.device, copy=True), lambda x: x.to(pl.f32, copy=True), lambda x: x.to(x, copy=True),
                       lambda x: x.to(x.device, False, True)):
                made = to(x)
                made[0] = 99.0
                self.assertEqual((x.tolist(), made.tolist(), made.device), ([1.0, 2.0], [99.0, 2.0], x.device))
            self.assertIs(x.to(x.device), x)
            self.assertIs(x.to(x.device, True), x)

    def test_type_as(self):
        made = pl.tensor([1, 2]).type_as(pl.tensor([1.0], device="cuda:1"))
        self.assertEqual((made.device, made.dtype, made.tolist()), (SECOND, pl.f32, [1.0, 2.0]))

    def test_trees_of_arrays(self):
        import torch

        given = {"x": np.ones(2), "y": [torch.tensor([1.0, 2.0]), np.float32(3.0)], "names": np.array(["a", "b"]), "n": 3, "z": pl.ones(1)}
        made = pl.to_device(given, "cuda:1")
        self.assertEqual([str(made["x"].device), str(made["y"][0].device), str(made["y"][1].device), str(made["z"].device)], ["cuda:1"] * 4)
        self.assertEqual((made["y"][0].tolist(), made["n"], made["names"].tolist()), ([1.0, 2.0], 3, ["a", "b"]))
        self.assertEqual(pl.to_device(np.ones(2), "cuda").device, FIRST)
        self.assertEqual(pl.to_device(torch.ones(2), "cuda").device, FIRST)

        @pl.record
        class Pair:
            first: "f32[2]"
            second: "f32[3]"

        pair = pl.to_device(Pair(pl.ones(2), pl.zeros(3)), "cuda")
        self.assertEqual((pair.first.device, pair.second.device), (FIRST, FIRST))

    def test_buffers_of_models(self):
        class Masked(pl.Module):
            def __init__(self):
                self.mask, self.weight = np.array([1.0, 0.0], "f4"), pl.ones(2)

            def __call__(self, x):
                return x * self.weight * self.mask

        model = Masked().to("cuda", non_blocking=True)
        x = pl.tensor([3.0, 4.0]).cuda()
        self.assertEqual((model.mask.device, model(x).tolist()), (FIRST, [3.0, 0.0]))
        gradient = pl.grad(lambda model: pl.sum(model(x)))(model)
        self.assertEqual((gradient.mask, gradient.weight.tolist()), (None, [3.0, 0.0]))

    def test_gradients_on_two_devices(self):
        gradient = {"a": pl.tensor([3.0]).to("cuda:0"), "b": pl.tensor([4.0]).to("cuda:1")}
        for clip in optim.clip_grad_norm, pl.jit(lambda gradient, most: optim.clip_grad_norm(gradient, most)):
            clipped, norm = clip(gradient, 1.0)
            self.assertEqual((norm.device, norm.item(), clipped["a"].device, clipped["b"].device), (FIRST, 5.0, FIRST, SECOND))
            self.assertAlmostEqual(clipped["b"].item(), 0.8, 5)
        self.assertEqual(optim.get_total_norm(gradient, float("inf")).item(), 4.0)
        tx = optim.clip_by_global_norm(1.0)
        for update in tx.update, pl.jit(tx.update):
            clipped, _ = update(gradient, tx.init(gradient))
            self.assertEqual((optim.global_norm(gradient).item(), clipped["a"].device, clipped["b"].device), (5.0, FIRST, SECOND))
            self.assertAlmostEqual(clipped["b"].item(), 0.8, 5)
        self.assertAlmostEqual(optim.global_norm(clipped).item(), 1.0, 5)
        for wrong in {"a": np.array([3.0])}, {"a": 3.0}, [{"a": (pl.ones(1), 2.0)}]:
            with self.assertRaisesRegex(pl.TypeError, "optim.global_norm: .*expected a tensor"):
                optim.global_norm(wrong)
        self.assertEqual(optim.global_norm({"a": None}).item(), 0.0)

    def test_quantiles(self):
        x = pl.tensor([[1.0, 2.0], [-3.0, 1.0]])
        for q in pl.tensor([0.2, 0.5]), np.array([0.2, 0.5]), pl.tensor([0.2, 0.5], device="cuda"), [0.2, 0.5]:
            for function in pl.quantile, pl.nanquantile:
                made = function(x.cuda(), pl.asarray(q) if isinstance(q, list) else q)
                self.assertEqual(made.device, FIRST)
                np.testing.assert_allclose(made.tolist(), function(x, np.array([0.2, 0.5])).tolist(), rtol=1e-6)
        with self.assertRaisesRegex(pl.ValueError, "expected 0 to 1"):
            pl.quantile(x.cuda(), pl.tensor([0.5, 2.0], device="cuda"))


class Saying(unittest.TestCase):
    def said(self, function):
        with self.assertRaises(pl.Error) as caught:
            function()
        return str(caught.exception)

    def test_an_optimizer_that_was_made_before(self):
        model = nn.Linear(2, 2)
        optimizer = optim.Adam(model, lr=0.1)
        model, x = model.to("cuda"), pl.ones((1, 2), device="cuda")
        gradient = pl.grad(lambda model: pl.sum(model(x)))(model)
        optimizer.state["exp_avg"] = {path: each + pl.tensor([1.0, 2.0]) for path, each in optimizer.state["exp_avg"].items()}
        said = self.said(lambda: optimizer.update(model, gradient))
        self.assertIn("Adam: weight is on cuda:0, and the optimizer's state.exp_avg['weight'] on cpu", said)
        self.assertIn('optimizer = plait.to_device(optimizer, "cuda:0")', said)
        moved, _ = pl.to_device(optimizer, "cuda").update(model, gradient)
        self.assertEqual(moved.weight.device, FIRST)

    def test_devices_that_are_not_there(self):
        for function in (lambda: pl.ones(2).to("cuda:7"), lambda: pl.memory_statistics("cuda:7"), lambda: pl.synchronize("cuda:7")):
            said = self.said(function)
            self.assertIn("cuda:7", said)
            self.assertIn("plait.devices()", said)

    def test_pinned_memory(self):
        self.assertIn("through pinned memory", self.said(lambda: pl.ones(2).pin_memory()))

    def test_prints(self):
        x = pl.tensor([1.0, 2.0])
        self.assertEqual((repr(x), repr(x.cuda(1)), str([x.cuda()])), ("[1. 2.] : f32[2]", "[1. 2.] : f32[2] on cuda:1", "[[1. 2.] : f32[2] on cuda:0]"))
        self.assertIn("weight: f32[2, 2] on cuda:0\n", repr(nn.Linear(2, 2).cuda()))
        self.assertIn("weight: f32[2, 2]\n", repr(nn.Linear(2, 2)))

    def test_autocast_that_is_off(self):
        x = pl.ones((2, 2), device="cuda")
        with pl.autocast():
            self.assertEqual((x @ x).dtype, pl.bf16)
            with pl.autocast(enabled=False):
                self.assertEqual((x @ x).dtype, pl.f32)

    def test_programs_without_a_driver(self):
        ones = "import plait as pl\ntry:\n    pl.ones(2).to('cuda')\nexcept pl.DeviceError as error:\n    print(error)"
        self.assertIn("PLAIT_CUDA=off", ran(ones, PLAIT_CUDA="off"))
        self.assertIn("unset PLAIT_CUDA", ran(ones, PLAIT_CUDA="off"))
        made = ones.replace(".to('cuda')", "")
        self.assertIn("PLAIT_DEFAULT_DEVICE", ran(made, PLAIT_CUDA="/nowhere.so", PLAIT_DEFAULT_DEVICE="cuda"))
        statistics = ones.replace("ones(2).to('cuda')", "memory_statistics('cuda')")
        self.assertIn("there is no CUDA driver", ran(statistics, PLAIT_CUDA="/nowhere.so"))


def ran(program, **environment):
    return subprocess.run([sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True, check=True).stdout


class Memory(unittest.TestCase):
    def test_tags(self):
        with pl.memory_tag("table"):
            table = pl.ones((1000,), device="cuda:1") * 2
        self.assertEqual((pl.memory_by_tag("cuda:1")["table"], table.shape), (4000, (1000,)))
        model = nn.Linear(10, 10).cuda()
        self.assertEqual((pl.memory_by_tag("cuda")["weights"], model.bias.shape), (440, (10,)))
        batch = next(iter(pl.data.DataLoader(np.ones((4, 8), "f4"), 4, device="cuda")))
        self.assertEqual((pl.memory_by_tag("cuda")["batches"], batch.shape), (128, (4, 8)))

    def test_tags_of_a_training_step(self):
        seen = []

        def loss(w):
            hidden = pl.exp(w)
            seen.append(pl.memory_by_tag("cuda:1").get("activations", 0))
            return pl.sum(hidden * hidden)

        w = pl.ones((1000,), device="cuda:1") * 2
        gradient = pl.grad(loss)(w)
        self.assertGreaterEqual(seen[0], 4000)
        tags = pl.memory_by_tag("cuda:1")
        self.assertEqual((tags["gradients"], tags.get("activations", 0), gradient.shape), (4000, 0, (1000,)))
        with pl.memory_tag("mine"):
            mine = pl.grad(loss)(w)
        self.assertEqual((pl.memory_by_tag("cuda:1")["mine"], mine.shape), (4000, (1000,)))

    def test_tags_of_the_library_do_not_run_out(self):
        program = ("import plait as pl\nfor i in range(300):\n    try:\n        with pl.memory_tag(f'step {i}'): pass\n    except pl.ValueError: break\n"
                   "pl.grad(lambda x: pl.sum(x * x))(pl.ones(3)), pl.nn.Linear(2, 3), list(pl.data.DataLoader(range(4), 2))\nprint(i)")
        self.assertGreater(int(ran(program)), 200)

    def test_peaks_are_reset_by_device(self):
        both = [pl.ones((1000,), device=each) * 2 for each in ("cuda:0", "cuda:1")]
        del both
        pl.reset_peak_memory("cuda:1")
        self.assertEqual(pl.memory_statistics("cuda:1").peak, pl.memory_statistics("cuda:1").live)
        self.assertGreater(pl.memory_statistics("cuda:0").peak, pl.memory_statistics("cuda:0").live)
        pl.reset_peak_memory()
        self.assertEqual(pl.memory_statistics("cuda:0").peak, pl.memory_statistics("cuda:0").live)

    def test_effects_on_a_device_are_not_reported(self):
        program = ("import plait as pl\nx = pl.ones(3, device='cuda')\npl.print(x)\npl.check(pl.all(x > 0), 'positive')\n"
                   "pl.callback(lambda x: None, x)")
        found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        self.assertEqual((found.stdout.strip(), found.stderr), ("[1. 1. 1.] : f32[3]", ""))

    def test_errors_list_tags(self):
        program = ("import plait as pl\nwith pl.memory_tag('table'):\n    x = pl.ones((30000,), device='cuda') * 2\ntry:\n    y = x + 1\n"
                   "except pl.MemoryError as error:\n    print(error)")
        self.assertIn("'table' holds 120000", ran(program, PLAIT_DEVICE_MEMORY_LIMIT="200000"))


if __name__ == "__main__":
    unittest.main()
