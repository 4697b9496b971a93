"""Batches, images and files beside devices."""

import os
import subprocess
import sys
import tempfile
import unittest

os.environ["PLAIT_CUDA"] = "emulated"
import numpy as np  # noqa: E402

import plait as pl  # noqa: E402

T = pl.data.transforms
CPU, FIRST, SECOND = pl.Device("cpu"), pl.Device("cuda:0"), pl.Device("cuda:1")


def setUpModule():
    if not pl.devices("cuda"):
        raise unittest.SkipTest("the emulated device was not built")


def devices_of(batches):
    return {str(leaf.device) for leaf in pl.tree.leaves(list(batches))}


class Loaders(unittest.TestCase):
    def test_workers_are_within_the_scope_of_the_loop(self):
        samples = [(np.full(3, i, np.float32), i) for i in range(4)]
        made_in_samples = pl.data.mapped(range(4), lambda i: pl.full((2,), float(i)))
        for workers in 0, 2:
            for dataset in samples, made_in_samples:
                with SECOND:
                    loader = iter(pl.data.DataLoader(dataset, 2, num_workers=workers))
                self.assertEqual(devices_of(loader), {"cuda:1"})
                self.assertEqual(devices_of(pl.data.DataLoader(dataset, 2, num_workers=workers)), {"cpu"})
                with SECOND:
                    own = pl.data.DataLoader(dataset, 2, num_workers=workers, device="cuda:0")
                    self.assertEqual(devices_of(own), {"cuda:0"})

    def test_processes_compute_on_the_host(self):
        with SECOND:
            loader = pl.data.DataLoader([np.ones(2)] * 4, 2, num_workers=1, worker="process")
            self.assertEqual(devices_of(loader), {"cuda:1"})

    def test_batches_are_where_their_samples_are(self):
        x, y = pl.tensor(np.arange(8, dtype="f4").reshape(4, 2)), pl.tensor([3, 2, 1, 0])
        there = x.to("cuda:1"), y.to("cuda:1")
        for workers in 0, 2:
            for dataset in (pl.data.TensorDataset(*there), pl.data.Subset(pl.data.TensorDataset(*there), range(4)),
                            [(a, b) for a, b in zip(*there)]):
                with FIRST:
                    batches = list(pl.data.DataLoader(dataset, 3, num_workers=workers))
                self.assertEqual(devices_of(batches), {"cuda:1"})
                self.assertEqual([b.tolist() for _, b in batches], [[3, 2, 1], [0]])
                self.assertEqual(batches[0][0].tolist(), x.tolist()[:3])
            with FIRST:
                self.assertEqual(devices_of(pl.data.DataLoader(pl.data.TensorDataset(x, y), 2, num_workers=workers)), {"cpu"})
                self.assertEqual(devices_of(pl.data.DataLoader(pl.data.TensorDataset(x.numpy(), y.numpy()), 2, num_workers=workers)), {"cuda:0"})
        padded = pl.data.pad_sequence([each[:1] for each in there[0]] + [there[0][0]], batch_first=True)
        self.assertEqual((str(padded.device), padded.tolist()[0]), ("cuda:1", [0.0, 0.0]))

    def test_arrays_of_a_collate_function(self):
        import torch

        for collate in (lambda samples: np.array(samples, "f4"), lambda samples: {"x": torch.tensor(samples, dtype=torch.float32)},
                        lambda samples: [np.float32(samples[0]), "name"]):
            for workers in 0, 2:
                for batch in pl.data.DataLoader(range(4), 2, collate_fn=collate, device="cuda", num_workers=workers):
                    leaves = pl.tree.leaves(batch)
                    self.assertEqual([(type(each), str(each.device)) for each in leaves], [(pl.Tensor, "cuda:0")])


class Images(unittest.TestCase):
    def both(self, function, *operands, exact=True):
        """The results on the host and there, for the same operands."""
        here = function(*operands)
        there = function(*(each.to("cuda:1") for each in operands))
        for one, other in zip(pl.tree.leaves(here), pl.tree.leaves(there), strict=True):
            self.assertEqual((str(other.device), other.dtype, other.shape), ("cuda:1", one.dtype, one.shape))
            np.testing.assert_allclose(other.cpu().numpy(), one.numpy(), rtol=0 if exact else 1e-5, atol=0 if exact else 1e-6)

    def test_transforms(self):
        bytes_ = pl.tensor(np.random.default_rng(0).integers(0, 256, (2, 3, 8, 8), dtype=np.uint8))
        floats, labels, key = T.ToDtype("f32", scale=True)(bytes_), pl.tensor([0, 2]), pl.random.key(3)
        self.both(T.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4]), floats, exact=False)
        self.both(T.Normalize([0.5], [0.2]), floats, exact=False)
        self.both(T.ToDtype("f32", scale=True), bytes_, exact=False)
        self.both(T.ToDtype("u8", scale=True), floats)
        self.both(T.ToDtype("f64"), bytes_)
        for transform in (T.Resize(4), T.CenterCrop(4), T.RandomCrop(4), T.RandomHorizontalFlip(1.0), T.RandomErasing(1.0), T.ColorJitter(0.4, 0.4),
                          T.RandomResizedCrop(5), T.Compose([T.Resize(6), T.RandomHorizontalFlip(), T.CenterCrop(4)])):
            self.both(lambda image, transform=transform: transform(image, key), floats)
        self.both(T.functional.horizontal_flip, bytes_)
        self.both(T.functional.vertical_flip, bytes_)
        self.both(lambda image: T.functional.rotate(image, 30), floats)
        for mix in T.MixUp(num_classes=3), T.CutMix(num_classes=3):
            self.both(lambda images, labels, mix=mix: mix(images, labels, key=key), floats, labels)

    def test_arguments_are_checked_there_too(self):
        there = pl.zeros((3, 2, 2), dtype="u8", device="cuda")
        with self.assertRaisesRegex(pl.TypeError, "expected floats"):
            T.Normalize([0.5], [0.2])(there)
        with self.assertRaisesRegex(pl.ShapeError, "expected"):
            T.functional.horizontal_flip(there[0])

    def test_the_host_is_counted(self):
        before = pl.host_calls().get("Resize", 0)
        T.Resize(2)(pl.zeros((3, 4, 4), device="cuda"))
        self.assertEqual(pl.host_calls()["Resize"], before + 1)


PROGRAM = """
import numpy as np, os, tempfile
import plait as pl
T, io = pl.data.transforms, pl.io
folder = tempfile.mkdtemp()
places = {}
x = np.arange(12, dtype="u1").reshape(3, 2, 2)
places["image"] = T.Compose([T.Resize(4), T.ToDtype("f32", scale=True), T.Normalize([0.5], [0.5])])(x, pl.random.key(0)).device
io.write_image(f"{folder}/x.png", pl.tensor(x))
places["file"] = io.read_image(f"{folder}/x.png").device
np.save(f"{folder}/x.npy", x)
places["npy"] = io.load_npy(f"{folder}/x.npy").device
assert len(list(pl.data.WeightedRandomSampler(pl.tensor([1.0, 2.0]), 3))) == 3
assert sorted(pl.data.SubsetRandomSampler(pl.tensor([1, 2, 3]))) == [1, 2, 3]
assert sorted(pl.data.SubsetRandomSampler([1, 2, 3])) == [1, 2, 3]
for workers in 0, 2:
    for dataset in pl.data.TensorDataset(pl.tensor(x)), pl.data.TensorDataset(x), [each for each in x]:
        batch = next(iter(pl.data.DataLoader(dataset, 2, num_workers=workers)))
        places["batch"] = pl.tree.leaves(batch)[0].device
        assert places["batch"] == "cuda", (workers, dataset)
model = pl.nn.Linear(2, 3)
y = np.ones((4, 2), "f4")
assert model(y).device == pl.exp(y).device == (pl.ones(2) * y).device == "cuda"
x = pl.zeros(2)
x[0] = np.float32(3.0)
assert x.tolist() == [3.0, 0.0]
assert places == {"image": "cuda", "file": "cpu", "npy": "cpu", "batch": "cuda"}, places
"""


class OfTheDefaultDevice(unittest.TestCase):
    def test_a_program(self):
        environment = {**os.environ, "PLAIT_DEFAULT_DEVICE": "cuda"}
        ran = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)


class Files(unittest.TestCase):
    def test_devices_of_what_is_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            pl.io.save_npy(f"{folder}/x.npy", pl.ones(2, device="cuda"))
            pl.io.save_safetensors(f"{folder}/x.safetensors", {"x": pl.ones(2, device="cuda")})
            with FIRST:
                self.assertEqual(devices_of([pl.io.load_npy(f"{folder}/x.npy"), pl.io.load_safetensors(f"{folder}/x.safetensors")]), {"cpu"})
            there = pl.io.load_npy(f"{folder}/x.npy", device="cuda:1"), pl.io.load_safetensors(f"{folder}/x.safetensors", device="cuda:1")
            self.assertEqual(devices_of(there), {"cuda:1"})
            with self.assertRaisesRegex(pl.TypeError, "(?s)'map_location'.*device='cuda'"):
                pl.io.load_safetensors(f"{folder}/x.safetensors", map_location="cuda")
            with self.assertRaisesRegex(pl.TypeError, "(?s)'map_location'.*plait.to_device"):
                pl.io.Checkpoints(folder).restore({}, map_location="cpu")

    def test_arrays_meet_tensors(self):
        x, a = pl.tensor([1.0, 2.0], device="cuda:1"), np.array([3.0, 4.0], "f4")
        for made in x + a, a * x, pl.maximum(x, a), pl.maximum(a, x), pl.dot(x, a), pl.where(a > 3, x, a), x.at[:].set(a):
            self.assertEqual(made.device, SECOND)
        self.assertEqual((a + a @ np.eye(2), pl.exp(a).device)[1], CPU)

    def test_pickles(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/x.pickle"
            save = f"import pickle, plait as pl; pickle.dump([pl.tensor([1.0, 2.0]).to('cuda:1'), pl.tensor(3.0)], open({path!r}, 'wb'))"
            load = f"import pickle, plait as pl; print([(x.tolist(), str(x.device)) for x in pickle.load(open({path!r}, 'rb'))])"
            scoped = f"import plait as pl\nwith pl.Device('cuda:0'):\n    {load}"
            self.assertEqual(_said(save)[0], "")
            self.assertEqual(_said(load)[0], "[([1.0, 2.0], 'cuda:1'), (3.0, 'cpu')]\n")
            self.assertEqual(_said(scoped)[0], "[([1.0, 2.0], 'cuda:0'), (3.0, 'cuda:0')]\n")
            without, warning = _said(load, PLAIT_CUDA="off")
            self.assertEqual(without, "[([1.0, 2.0], 'cpu'), (3.0, 'cpu')]\n")
            self.assertIn("the machine has no cuda:1", warning)
            self.assertEqual(_said(scoped.replace("cuda:0", "cpu"), PLAIT_CUDA="off"), (without, ""))


def _said(program, **environment):
    ran = subprocess.run([sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout, ran.stderr


if __name__ == "__main__":
    unittest.main()
