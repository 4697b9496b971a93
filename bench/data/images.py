"""Images from files to batches, beside PyTorch's DataLoader with torchvision's decoder and v2 transforms: JPEGs of 500 x 375 pixels, a random
resized crop of 224, a flip, f32, normalised, in batches of 32.

    PYTHONPATH=build/bench/python .venv/bin/python bench/data/images.py

The same images without random transforms are compared first; then epochs alternate. A row has the images per second of the medians and the ratio
to PyTorch's; `part` decodes only the blocks that a crop needs. --train trains ViT-base with one batch in memory, and with batches from files,
and prints which part of the speed is kept (goal: 95 %). --reduced prints how much bytes of photographs (those of scikit-learn, 640 x 427)
differ after crops were decoded at a smaller scale: of each crop the mean, and of these the least, the greatest and the mean.
"""

import argparse
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
MEAN, STD, BATCH = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225], 32


def write_photographs(folder, count):
    """Files with waves of several lengths and noise, in two folders of classes."""
    import plait as pl

    random = np.random.default_rng(0)
    y, x = np.mgrid[:375, :500]
    for number in range(count):
        kind = folder / ("even", "odd")[number % 2]
        kind.mkdir(exist_ok=True)
        lengths = random.uniform(4, 80, (3, 4))
        image = sum(np.sin(x / lengths[:, i, None, None] + i) * np.cos(y / lengths[::-1, i, None, None]) for i in range(4))
        image = 127 + 40 * image + random.normal(0, 6, image.shape)
        pl.io.write_image(kind / f"{number:04}.jpg", np.clip(image, 0, 255).astype("u1"), quality=90)


# ---- PyTorch.


class TorchImages:
    """Files decoded by torchvision."""

    def __init__(self, folder, transform):
        from torchvision.datasets.folder import make_dataset

        self.samples = make_dataset(folder, {"even": 0, "odd": 1}, extensions=(".jpg",))
        self.transform = transform

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        from torchvision.io import ImageReadMode, decode_jpeg, read_file

        path, label = self.samples[index]
        return self.transform(decode_jpeg(read_file(path), ImageReadMode.RGB)), label


def torch_loader(folder, workers, random=True):
    import torch
    from torch.utils.data import DataLoader
    from torchvision.transforms import v2

    first = [v2.RandomResizedCrop(224), v2.RandomHorizontalFlip()] if random else [v2.Resize(256), v2.CenterCrop(224)]
    transform = v2.Compose([*first, v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)])
    return DataLoader(TorchImages(folder, transform), BATCH, shuffle=random, num_workers=workers, persistent_workers=workers > 0)


# ---- Plait.


def plait_loader(folder, workers, random=True, part=False, batch=BATCH):
    import plait as pl
    from plait.data import transforms as T

    crop = T.RandomResizedCrop(224)
    first = [T.RandomHorizontalFlip()] if random else [T.Resize(256), T.CenterCrop(224)]
    augment = T.Compose([*([crop] if random and not part else []), *first, T.ToDtype("f32", scale=True), T.Normalize(MEAN, STD)])
    images = pl.data.ImageFolder(folder, crop=crop if part else None)
    return pl.data.DataLoader(pl.data.mapped(images, augment), batch, shuffle=random, num_workers=workers)


def expect_the_same(folder):
    """Without random transforms, the batches of both are the same, but for the rounding of bytes."""
    (mine, labels), (theirs, others) = (next(iter(make(folder, 0, random=False))) for make in (plait_loader, torch_loader))
    steps = np.abs(mine.numpy() - theirs.numpy()).max() * min(STD) * 255
    assert (labels.numpy() == others.numpy()).all() and steps < 2, f"{steps} steps of a byte"


def seconds_of_epoch(loader):
    start = time.perf_counter()
    for images, _ in loader:
        assert tuple(images.shape[1:]) == (3, 224, 224)
    return time.perf_counter() - start


def compare(folder, count, workers, rounds):
    import torch

    torch.set_num_threads(1)
    loaders = {"torch": torch_loader(folder, workers), "whole": plait_loader(folder, workers), "part": plait_loader(folder, workers, part=True)}
    times = {name: [] for name in loaders}
    for round in range(rounds + 1):
        for name, loader in loaders.items():
            elapsed = seconds_of_epoch(loader)
            if round:  # the first one starts workers
                times[name].append(elapsed)
    base = statistics.median(times["torch"])
    for name in ("whole", "part"):
        ratio = statistics.median(theirs / ours for theirs, ours in zip(times["torch"], times[name]))
        print(f"{workers} workers, {name}: {count / statistics.median(times[name]):,.0f} images/s, {ratio:.2f} of PyTorch's {count / base:,.0f}", flush=True)


def train(folder, batch, workers, rounds):
    """Seconds of a step of ViT-base with a batch in memory, and from files."""
    import plait as pl
    from models import ViT, loss_of

    model = ViT(key=pl.random.key(0))
    state = pl.optim.TrainState(model, pl.optim.AdamW(model, lr=1e-4), key=pl.random.key(1))

    @pl.jit(donate=0, repeatable=True)
    def step(state, x, y):
        loss, gradient = pl.value_and_grad(loss_of)(state.model, x, y)
        return state.update(gradient), loss

    loader = plait_loader(folder, workers, part=True, batch=batch)

    def batches():
        while True:
            yield from ((x, y) for x, y in loader if x.shape[0] == batch)

    files = batches()
    x, y = next(files)
    for _ in range(2):
        state, loss = step(state, x, y)
        loss.item()
    times = {"memory": [], "files": []}
    for _ in range(rounds):
        for name in times:
            start = time.perf_counter()
            if name == "files":
                x, y = next(files)
            state, loss = step(state, x, y)
            loss.item()
            times[name].append(time.perf_counter() - start)
    memory, from_files = (statistics.median(each) for each in times.values())
    print(f"ViT-base, batch {batch}: a step {memory * 1e3:.0f} ms, with {workers} workers that read files {from_files * 1e3:.0f} ms, {100 * memory / from_files:.1f} % of the speed")


def print_differences():
    """How partial decoding at a smaller scale changes pixels, by what the edges of crops are multiples of."""
    import plait as pl
    import sklearn.datasets
    from plait.data import transforms as T

    for path in sorted((pathlib.Path(sklearn.datasets.__file__).parent / "images").glob("*.jpg")):
        image = pl.io.read_image(path, "rgb")
        for size, step in ((64, 8), (64, 1), (112, 8), (112, 1)):
            crop, means = T.RandomResizedCrop(size), []
            for key in pl.random.split_key(pl.random.key(0), 200):
                drawn = crop.make_params(image, key)
                box = [int(drawn[name]) // step * step for name in ("top", "left", "height", "width")]
                part = pl.io.read_image(path, "rgb", crop=box, size=(size, size))
                if part.shape[1] < box[2]:  # decoded at a smaller scale
                    exact = T.functional.resized_crop(image, *box, [size, size]).numpy().astype(int)
                    means.append(np.abs(T.functional.resize(part, [size, size]).numpy() - exact).mean())
            print(f"{path.name}, {len(means)} crops to {size}, edges at multiples of {step}: "
                  f"{min(means):.1f} to {max(means):.1f}, {statistics.mean(means):.1f} on average")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=256, help="images of an epoch (256)")
    parser.add_argument("--rounds", type=int, default=5, help="epochs that count, or steps (5)")
    parser.add_argument("--train", action="store_true", help="a training step of ViT-base with the loader")
    parser.add_argument("--reduced", action="store_true", help="how much pixels differ after partial decoding")
    parser.add_argument("--batch", type=int, default=8, help="images of a training step (8)")
    options = parser.parse_args()
    if options.reduced:
        return print_differences()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_photographs(folder, options.images)
        if options.train:
            return train(folder, options.batch, 1, options.rounds)
        expect_the_same(folder)
        for workers in 0, 1, 2:
            compare(folder, options.images, workers, options.rounds)


if __name__ == "__main__":
    main()
