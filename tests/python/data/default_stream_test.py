"""Code that draws without a key, as in PyTorch: the samples are those of any number of workers, threads or processes, and of a run that continues."""

import unittest

import numpy as np
import plait as pl
from plait.data import DataLoader

crop = pl.data.transforms.RandomCrop(3)
WAYS = ({}, {"num_workers": 3}, {"num_workers": 20}, {"num_workers": 2, "worker": "process", "persistent_workers": True})


class Crops(pl.data.Dataset):
    """A transform that is called in __getitem__."""

    def __len__(self):
        return 14

    def __getitem__(self, index):
        return crop(np.arange(300, dtype="u1").reshape(3, 10, 10) + np.uint8(index))


class Dropped(pl.data.Dataset):
    """Sums of what a layer keeps."""

    def __len__(self):
        return 14

    def __getitem__(self, index):
        return pl.sum(pl.nn.Dropout(0.5)(pl.ones(400)))


@pl.jit
def noise(x):
    return x + pl.random.normal(x.shape)


class Jitted(Dropped):
    """A jitted function that draws."""

    def __getitem__(self, index):
        return noise(pl.ones(3)) + noise(pl.ones(3))


class Seeding(Dropped):
    """A sample restarts its stream."""

    def __getitem__(self, index):
        first = pl.random.uniform(())
        if index % 2:
            pl.random.seed(index)
        return pl.stack([first, pl.random.uniform(())])


class Nested(Dropped):
    """Samples of a loader in a sample."""

    def __getitem__(self, index):
        first = pl.random.uniform(())
        inner, = DataLoader(Dropped(), 14, seed=index)
        return pl.concat([pl.stack([first, pl.random.uniform(())]), inner])


class Shuffled(pl.data.IterableDataset):
    """A stream that shuffles and draws as it is read."""

    def __iter__(self):
        order = pl.random.permutation(14).tolist()
        for number in order:
            yield pl.astype(number, "f32") + pl.random.uniform(())


class WithState(pl.data.IterableDataset):
    """A stream that shuffles when it begins, and goes on without reading what was read before."""

    def __iter__(self):
        return _Places(pl.random.permutation(14).tolist())


class _Places:
    def __init__(self, order):
        self.order, self.place = order, 0

    def __next__(self):
        if self.place == len(self.order):
            raise StopIteration
        self.place += 1
        return self.order[self.place - 1]

    def state_dict(self):
        return {"place": self.place}

    def load_state_dict(self, state):
        self.place = state["place"]


class Failing(Dropped):
    def __getitem__(self, index):
        if index == 5:
            raise KeyError("five")
        return super().__getitem__(index)


def noisy(x):
    return x + pl.random.uniform(())


def collate(samples):
    return pl.concat([pl.stack([pl.astype(sample, "f32") for sample in samples]), pl.random.uniform((1,))])


DATASETS = {"a transform": Crops(), "a layer": Dropped(), "a jitted function": Jitted(), "a seed": Seeding(), "a loader": Nested(),
            "mapped": pl.data.mapped(range(14), noisy), "a stream": Shuffled(), "with a state": WithState(),
            "a mapped stream": pl.data.mapped(WithState(), noisy)}


def batches(loader):
    return [batch.tolist() for batch in loader]


class DefaultStream(unittest.TestCase):
    def test_samples_are_the_same_for_any_workers(self):
        for name, dataset in DATASETS.items():
            pl.random.seed(0)
            loader = DataLoader(dataset, 4, seed=3)
            first, second = batches(loader), batches(loader)
            self.assertNotEqual(first, second, name)
            self.assertNotEqual(first, batches(DataLoader(dataset, 4, seed=4)))
            for options in WAYS:
                with self.subTest(name, **options):
                    loader = DataLoader(dataset, 4, seed=3, **options)
                    self.assertEqual((batches(loader), batches(loader)), (first, second))

    def test_a_run_that_continues_has_the_same(self):
        for name, dataset in DATASETS.items():
            loader, states = DataLoader(dataset, 4, seed=3), []
            whole = [(states.append(loader.state_dict()), batch.tolist())[1] for batch in loader]
            for number, state in enumerate(states[:-1]):
                for options in WAYS[:2] if number != 1 else WAYS:
                    with self.subTest(name, number=number, **options):
                        other = DataLoader(dataset, 4, **options)
                        other.load_state_dict(state)
                        self.assertEqual(batches(other), whole[number + 1:])

    def test_a_collation_has_its_own(self):
        for dataset in Dropped(), range(14), Shuffled():
            expected = batches(DataLoader(dataset, 4, collate_fn=collate))
            self.assertEqual(len({batch[-1] for batch in expected}), len(expected))
            for options in WAYS:
                with self.subTest(type(dataset).__name__, **options):
                    self.assertEqual(batches(DataLoader(dataset, 4, collate_fn=collate, **options)), expected)

    def test_repeated_samples_draw_differently(self):
        for sampler in [0] * 8, ["a"] * 8, [None] * 8:
            drawn, = batches(DataLoader(Dropped(), 8, sampler=sampler))
            self.assertGreater(len(set(drawn)), 4)
            self.assertEqual(batches(DataLoader(Dropped(), 8, sampler=sampler, num_workers=2)), [drawn])

    def test_the_stream_of_the_caller_goes_on(self):
        for dataset in (*DATASETS.values(), Failing()):
            for options in {}, {"num_workers": 2}:
                pl.random.seed(9)
                expected = [pl.random.uniform(()).item() for _ in range(4)]
                pl.random.seed(9)
                loader = iter(DataLoader(dataset, 4, collate_fn=collate if dataset is DATASETS["mapped"] else None, **options))
                found = []
                for _ in range(4):
                    found.append(pl.random.uniform(()).item())
                    try:
                        next(loader)
                    except KeyError:
                        pass
                with self.subTest(type(dataset).__name__, **options):
                    self.assertEqual(found, expected)


if __name__ == "__main__":
    unittest.main()
