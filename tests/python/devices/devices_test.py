"""Tensors on devices, by the emulated GPUs."""

import copy
import inspect
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest

os.environ["PLAIT_CUDA"] = "emulated"
import numpy as np  # noqa: E402

import plait  # noqa: E402
from plait import nn, optim  # noqa: E402

CPU, FIRST, SECOND = plait.Device("cpu"), plait.Device("cuda:0"), plait.Device("cuda:1")


def setUpModule():
    if not plait.devices("cuda"):
        raise unittest.SkipTest("the emulated device was not built")


class Names(unittest.TestCase):
    def test_names(self):
        self.assertEqual(str(plait.Device("cuda")), "cuda:0")
        self.assertEqual(plait.Device("cuda", 1), SECOND)
        self.assertEqual(plait.Device(1), SECOND)
        self.assertEqual(plait.Device("gpu:1"), "cuda:1")
        self.assertNotEqual(FIRST, "another")
        self.assertEqual((FIRST.type, FIRST.index, CPU.type, CPU.index), ("cuda", 0, "cpu", None))
        self.assertEqual(len({FIRST, plait.Device("cuda"), CPU}), 2)
        self.assertEqual(pickle.loads(pickle.dumps(SECOND)), SECOND)
        self.assertEqual(plait.devices(), [FIRST, SECOND, CPU])
        for wrong in ("tpu", "cuda:x", "cuda:-1", "cuda:99", ""):
            with self.assertRaisesRegex(plait.DeviceError, "unknown device"):
                plait.Device(wrong)

    def test_a_machine_without_a_driver(self):
        program = ("import plait\nx = plait.ones(2)\ntry:\n    x.to('cuda')\nexcept plait.DeviceError as error:\n    print(error)\n"
                   "assert plait.devices() == ['cpu'] and str(plait.Device('cuda')) == 'cuda:0'")
        said = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PLAIT_CUDA": "/nowhere/libcuda.so"}, check=True,
                              capture_output=True, text=True).stdout
        self.assertIn("there is no CUDA driver on this machine", said)
        self.assertIn("hint: use the device cpu", said)

    def test_a_device_that_the_machine_lacks(self):
        with self.assertRaisesRegex(plait.DeviceError, "cuda:7.*the machine has 2"):
            plait.ones(2).to("cuda:7")


class Moving(unittest.TestCase):
    def test_to(self):
        x = plait.tensor([1.0, 2.0])
        there = x.to("cuda")
        self.assertEqual((x.device, there.device, there.is_cuda, x.is_cuda), (CPU, FIRST, True, False))
        for each in (x.to(FIRST), x.cuda(), x.to(device="cuda:0"), x.to_device("cuda"), x.to(there), plait.to_device(x, 0),
                     plait.asarray(x, device="cuda"), x.to("cuda", plait.f32)):
            self.assertEqual(each.device, FIRST)
            self.assertEqual(each.tolist(), [1.0, 2.0])
        both = x.to("cuda:1", plait.f64)
        self.assertEqual((both.device, both.dtype), (SECOND, plait.f64))
        self.assertEqual(there.cuda(1).cpu().tolist(), [1.0, 2.0])
        self.assertEqual(x.astype(plait.i32, device="cuda").device, FIRST)

    def test_numbers_come_home(self):
        x = plait.tensor([[1.5, 2.0]], device="cuda")
        self.assertEqual(x.tolist(), [[1.5, 2.0]])
        self.assertEqual(x[0, 0].item(), 1.5)
        self.assertEqual(float(x.sum()), 3.5)
        self.assertTrue(bool(x[0, 1] == 2))
        self.assertEqual(repr(x), "[[1.5 2. ]] : f32[1, 2] on cuda:0")
        for read in (np.asarray, lambda x: x.numpy(), lambda x: memoryview(x.numpy())):
            with self.assertRaisesRegex(plait.DeviceError, r'(?s)cuda:0.*x\.to\("cpu"\)'):
                read(x)
        np.testing.assert_array_equal(np.asarray(x.cpu()), [[1.5, 2.0]])

    def test_copies(self):
        x = plait.tensor([1.0, 2.0], device="cuda:1")
        for made in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), pickle.loads(pickle.dumps(x, protocol=2))):
            self.assertEqual((made.device, made.tolist()), (SECOND, [1.0, 2.0]))

    def test_files(self):
        x = plait.tensor([[1.0, 2.0], [3.0, 4.0]], device="cuda").T
        with tempfile.TemporaryDirectory() as folder:
            plait.io.save_safetensors(f"{folder}/x.safetensors", {"x": x})
            plait.io.save_npy(f"{folder}/x.npy", x)
            plait.io.save_npz(f"{folder}/x.npz", {"x": x})
            for read in (plait.io.load_safetensors(f"{folder}/x.safetensors")["x"], plait.io.load_npy(f"{folder}/x.npy"),
                         plait.io.load_npz(f"{folder}/x.npz")["x"]):
                self.assertEqual(read.tolist(), x.tolist())

    def test_mixtures_are_refused_by_name(self):
        here, there = plait.ones(2) * plait.tensor([1.0, 2.0]), plait.tensor([3.0, 4.0], device="cuda")
        with self.assertRaisesRegex(plait.DeviceError, r'(?s)add.*cuda:0.*cpu.*x\.to\("cuda:0"\)'):
            here + there
        with self.assertRaisesRegex(plait.DeviceError, "cuda:1.*cuda:0"):
            plait.tensor([3.0, 4.0], device="cuda:1") + there
        for scalar in (2, 2.0, plait.tensor(2.0), plait.full(2, 2.0)):
            self.assertEqual((there * scalar).tolist(), [6.0, 8.0])
            self.assertEqual((there * scalar).device, FIRST)


class DLPack(unittest.TestCase):
    def test_memory_is_shared(self):
        x = plait.tensor([[1.0, 2.0], [3.0, 4.0]], device="cuda:1")
        self.assertEqual(tuple(x.__dlpack_device__()), (2, 1))
        before = plait.memory_statistics(SECOND).live
        y = plait.from_dlpack(x.T)
        self.assertEqual((y.device, y.tolist(), plait.memory_statistics(SECOND).live), (SECOND, [[1.0, 3.0], [2.0, 4.0]], before))
        self.assertEqual((y * 2).tolist(), [[2.0, 6.0], [4.0, 8.0]])
        del x
        self.assertEqual((y + 1).tolist(), [[2.0, 4.0], [3.0, 5.0]])
        del y
        self.assertLess(plait.memory_statistics(SECOND).live, before)

    def test_streams_and_devices_that_a_consumer_asks_for(self):
        x = plait.tensor([1.0, 2.0], device="cuda")
        for stream in (None, -1, 1):
            x.__dlpack__(stream=stream)
        with self.assertRaisesRegex(plait.ValueError, "stream 0"):
            x.__dlpack__(stream=0)
        home = plait.from_dlpack(x, device="cpu")
        self.assertEqual((home.device, home.tolist()), (CPU, [1.0, 2.0]))
        self.assertEqual(plait.from_dlpack(x, device="cuda:1").device, SECOND)
        self.assertEqual(plait.from_dlpack(x, copy=True).tolist(), [1.0, 2.0])
        with self.assertRaisesRegex(BufferError, "cuda:0"):
            x.__dlpack__(dl_device=(2, 1))
        with self.assertRaises((BufferError, RuntimeError)):
            np.from_dlpack(x)
        self.assertEqual(plait.from_dlpack(plait.zeros((0, 3), device="cuda")).device, FIRST)


class Making(unittest.TestCase):
    MADE = {
        "zeros": lambda **on: plait.zeros(3, **on), "ones": lambda **on: plait.ones((2, 2), **on), "empty": lambda **on: plait.empty(3, **on),
        "full": lambda **on: plait.full((2,), 7, **on), "arange": lambda **on: plait.arange(5, **on),
        "arange of floats": lambda **on: plait.arange(0, 1, 0.25, **on), "linspace": lambda **on: plait.linspace(0, 1, 5, **on),
        "eye": lambda **on: plait.eye(3, k=1, **on), "tensor": lambda **on: plait.tensor([1.0, 2.0], **on),
        "asarray": lambda **on: plait.asarray(np.arange(3.0), **on), "a number": lambda **on: plait.asarray(3.0, **on),
        "fftfreq": lambda **on: plait.fft.fftfreq(4, **on), "rfftfreq": lambda **on: plait.fft.rfftfreq(4, **on),
    }
    MORE = {
        "iota": lambda: plait.iota(4), "normal": lambda: plait.random.normal(plait.random.key(0), (3,)),
        "permutation": lambda: plait.random.permutation(plait.random.key(0), 5), "randint": lambda: plait.random.randint(plait.random.key(0), (3,), 0, 9),
        "a draw": lambda: plait.random.uniform(shape=(2,)), "a gamma": lambda: plait.random.gamma(plait.random.key(0), 2.0, (3,)),
        "logspace": lambda: plait.logspace(0, 1, 3), "tri": lambda: plait.tri(3, 3), "a layer": lambda: nn.Linear(2, 3).weight,
    }

    def test_device(self):
        for name, make in self.MADE.items():
            with self.subTest(name):
                self.assertEqual(make(device="cuda").device, FIRST)
                self.assertEqual(make(device="cuda:1").tolist(), make().tolist())
                self.assertEqual(make().device, CPU)

    def test_every_function_that_takes_a_device_is_tried(self):
        taking = {name for space in (plait, plait.fft) for name, each in vars(space).items()
                  if callable(each) and not isinstance(each, type) and "device" in _parameters(each)}
        like = {"zeros_like", "ones_like", "empty_like", "full_like", "astype", "from_dlpack", "array", "to_device", "synchronize", "memory_statistics",
                "memory_by_tag", "reset_peak_memory"}
        self.assertEqual(taking - like - set(self.MADE), set())

    def test_like(self):
        here, there = plait.tensor([1.0, 2.0]), plait.tensor([1.0, 2.0], device="cuda")
        for make in (plait.zeros_like, plait.ones_like, plait.empty_like, lambda x, **on: plait.full_like(x, 3, **on)):
            self.assertEqual(make(there).device, FIRST)
            self.assertEqual(make(here, device="cuda:1").device, SECOND)
            self.assertEqual(make(there, device="cpu").device, CPU)

    def test_within_a_scope(self):
        for name, make in {**self.MADE, **self.MORE}.items():
            with self.subTest(name):
                plait.random.seed(3)
                expected = make()
                plait.random.seed(3)
                with plait.Device("cuda:1"):
                    made = make()
                self.assertEqual((expected.device, made.device), (CPU, SECOND))
                self.assertEqual(made.tolist(), expected.tolist())

    def test_scopes_nest_and_are_of_their_thread(self):
        seen = []
        with FIRST:
            with CPU:
                self.assertEqual(plait.ones(2).device, CPU)
                with SECOND:
                    thread = threading.Thread(target=lambda: seen.append(plait.ones(2).device))
                    thread.start()
                    thread.join()
                    self.assertEqual(plait.ones(2).device, SECOND)
            self.assertEqual(plait.ones(2, device="cpu").device, CPU)
            self.assertEqual(plait.ones(2).device, FIRST)
        self.assertEqual((plait.ones(2).device, seen), (CPU, [CPU]))

    def test_operands_decide_within_functions(self):
        there = plait.tensor([2, 0, 1], device="cuda")
        with SECOND:
            for made in (plait.one_hot(there, 3), plait.flip(there), plait.take(there, there), plait.diff(there), plait.argsort(there),
                         plait.tril(there.reshape(1, 3)), plait.roll(there, 1), plait.unique(there).values):
                self.assertEqual(made.device, FIRST)


class Transforms(unittest.TestCase):
    def test_gradients_cross_to(self):
        x = plait.tensor([1.0, 2.0])
        f = lambda x: plait.sum(plait.exp(x.to("cuda") * 2).to("cuda:1")).to("cpu")  # noqa: E731
        expected = [2 * np.exp(2.0), 2 * np.exp(4.0)]
        for g in (plait.grad(f), plait.jit(plait.grad(f)), plait.grad(plait.jit(f)), plait.jacrev(f), plait.jacfwd(f),
                  lambda x: plait.jvp(f, (x,), (plait.tensor([1.0, 0.0]),))[1] * plait.tensor([1.0, 0.0])
                  + plait.jvp(f, (x,), (plait.tensor([0.0, 1.0]),))[1] * plait.tensor([0.0, 1.0])):
            for _ in range(2):
                made = g(x)
                self.assertEqual(made.device, CPU)
                np.testing.assert_allclose(made.tolist(), expected, rtol=1e-5)
        hessian = plait.hessian(f)(x)
        np.testing.assert_allclose(np.diag(hessian.numpy()), np.multiply(expected, 2), rtol=1e-5)
        self.assertEqual(plait.vmap(f)(plait.tensor([[1.0, 2.0], [0.0, 0.0]])).device, CPU)
        leaf = x.requires_grad()
        f(leaf).backward()
        self.assertEqual((leaf.grad.device, leaf.grad.tolist()), (CPU, plait.grad(f)(x).tolist()))

    def test_moves_within_loops_and_branches(self):
        def step(carry, x):
            moved = (carry.to("cuda") * x.to("cuda")).to("cpu")
            return moved, moved.sum()

        def f(x):
            last, sums = plait.scan(step, x, plait.tensor([[1.0, 2.0], [3.0, 4.0]]))
            chosen = plait.cond(last.sum() > 0, lambda y: (y.to("cuda") * 2).to("cpu"), lambda y: y, last)
            return chosen.sum() + sums.sum()

        x = plait.tensor([1.0, 2.0])
        expected = plait.grad(lambda x: f_on_host(x))(x).tolist()
        for g in (plait.grad(f), plait.jit(plait.grad(f)), plait.grad(plait.jit(f)), plait.grad(plait.remat(f)),
                  lambda x: plait.vmap(plait.grad(f))(x.reshape(1, 2))[0]):
            for _ in range(2):
                self.assertEqual((g(x).device, g(x).tolist()), (CPU, expected))

    def test_all_on_a_device(self):
        def loss(w, x):
            last, _ = plait.scan(lambda h, x: (plait.tanh(h @ w + x), None), plait.zeros_like(x[0]), x)
            return plait.mean(plait.softmax(last) * plait.arange(3).astype(plait.f32, device=w.device))

        plait.random.seed(0)
        w, x = plait.random.normal(shape=(3, 3)), plait.random.normal(shape=(4, 2, 3))
        expected = plait.grad(loss)(w, x)
        for g in (plait.grad(loss), plait.jit(plait.grad(loss))):
            for _ in range(2):
                made = g(w.cuda(), x.cuda())
                self.assertEqual(made.device, FIRST)
                np.testing.assert_allclose(made.cpu().numpy(), expected.numpy(), rtol=1e-5, atol=1e-7)

    def test_jit_knows_devices(self):
        f = plait.jit(lambda x: (x * 2, plait.arange(2), x.device))
        here = plait.tensor([1.0, 2.0])
        for x, device in ((here, CPU), (here.cuda(), FIRST), (here.cuda(1), SECOND)):
            for _ in range(3):
                doubled, _, said = f(x)
                self.assertEqual((doubled.device, said, doubled.tolist()), (device, device, [2.0, 4.0]))
        self.assertEqual(plait.stats(f).traces, 3)
        self.assertIn("is on cuda:0, was on cpu before", str(plait.stats(f)))
        with SECOND:
            for _ in range(2):
                self.assertEqual(f(here)[1].device, SECOND)
        self.assertEqual(f(here)[1].device, CPU)
        within = plait.jit(lambda x: x + plait.ones(2, device=x.device).sum())
        self.assertEqual((within(here.cuda()).tolist(), within(here.cuda()).device), ([3.0, 4.0], FIRST))

    def test_anomalies(self):
        x = plait.tensor([1.0, -1.0], device="cuda")
        for f in (plait.log, plait.jit(plait.log)):
            with plait.detect_anomaly(), self.assertRaisesRegex(plait.CheckError, "log"):
                f(x)

    def test_a_trace_moves(self):
        traced = plait.trace(lambda x: x.to("cuda") * 2)(plait.Spec("f32[2]"))
        self.assertIn('to_device %arg0 {device = "cuda:0"}', traced.text())
        self.assertEqual(traced(plait.tensor([1.0, 2.0])).device, FIRST)


def f_on_host(x):
    last, sums = plait.scan(lambda carry, x: (carry * x, (carry * x).sum()), x, plait.tensor([[1.0, 2.0], [3.0, 4.0]]))
    return plait.cond(last.sum() > 0, lambda y: y * 2, lambda y: y, last).sum() + sums.sum()


class Training(unittest.TestCase):
    def trained(self, device, jit):
        plait.random.seed(1)
        model = nn.Sequential(nn.Linear(4, 8, bias=False), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 3)).to(device)
        optimizer = optim.AdamW(model, lr=1e-2)
        x, y = plait.random.normal(plait.random.key(1), (16, 4)).to(device), (plait.arange(16) % 3).to(device)

        def loss(model):
            return plait.cross_entropy(model(x), y), model

        def step(model, optimizer):
            (value, model), gradient = plait.value_and_grad(loss, has_aux=True)(model)
            model, optimizer = optimizer.update(model, gradient)
            return model, optimizer, value

        run = plait.jit(step) if jit else step
        for _ in range(3):
            model, optimizer, value = run(model, optimizer)
        return model, plait.tree.leaves((model, optimizer)), value

    def test_a_model_learns_there_as_here(self):
        _, expected, loss = self.trained("cpu", False)
        for jit in (False, True):
            model, made, value = self.trained("cuda:1", jit)
            self.assertEqual(model[0].weight.device, SECOND)
            np.testing.assert_allclose(value.item(), loss.item(), rtol=1e-5)
            for a, b in zip(made, expected, strict=True):
                if b.dtype.kind == "floating":
                    np.testing.assert_allclose(a.cpu().numpy(), b.numpy(), rtol=2e-4, atol=1e-6)

    def test_models_and_states_move(self):
        model = nn.Linear(2, 3)
        there = model.to("cuda", plait.bf16)
        self.assertEqual((there.weight.device, there.weight.dtype, model.weight.device), (FIRST, plait.bf16, CPU))
        self.assertEqual(model.cuda(1).cpu().bias.tolist(), model.bias.tolist())
        tied = plait.to_device({"a": model.weight, "b": [model.weight]}, "cuda")
        self.assertIs(tied["a"], tied["b"][0])
        for leaf in plait.tree.leaves(plait.to_device(optim.AdamW(model, lr=1e-3), "cuda")):
            self.assertEqual(leaf.device, FIRST)
        state = {name: plait.zeros_like(each) for name, each in nn.state(model).items()}
        self.assertEqual(nn.load_state(there, state).weight.device, FIRST)

    def test_batches_of_a_loader(self):
        samples = [(np.full(3, i, np.float32), i, f"name {i}") for i in range(5)]
        for workers in 0, 2:
            batches = list(plait.data.DataLoader(samples, batch_size=2, num_workers=workers, pin_memory=True, device="cuda:1"))
            self.assertEqual([(x.device, y.device, names) for x, y, names in batches][0], (SECOND, SECOND, ["name 0", "name 1"]))
            self.assertEqual([y.tolist() for _, y, _ in batches], [[0, 1], [2, 3], [4]])

    def test_checkpoints(self):
        with tempfile.TemporaryDirectory() as folder:
            checkpoints = plait.io.Checkpoints(folder)
            tree = {"there": plait.tensor([1.0, 2.0], device="cuda:1"), "here": plait.tensor([3.0])}
            checkpoints.save(1, tree)
            made = checkpoints.restore({"there": plait.zeros(2, device="cuda:1"), "here": plait.zeros(1, device="cuda")})
            self.assertEqual((made["there"].device, made["here"].device), (SECOND, FIRST))
            self.assertEqual((made["there"].tolist(), made["here"].tolist()), ([1.0, 2.0], [3.0]))


class Memory(unittest.TestCase):
    def test_statistics_are_of_a_device(self):
        before, here = plait.memory_statistics("cuda:1"), plait.memory_statistics("cpu").live
        x = plait.full((1000,), 1.5).cuda(1) + 1
        after = plait.memory_statistics(SECOND)
        self.assertGreaterEqual(after.live - before.live, 4000)
        del x
        plait.synchronize("cuda:1")
        self.assertLess(plait.memory_statistics("cuda:1").live, after.live)
        self.assertLess(abs(plait.memory_statistics().live - here), 4000)


def _parameters(function):
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ()


if __name__ == "__main__":
    unittest.main()
