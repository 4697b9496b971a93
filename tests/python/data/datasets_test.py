"""Datasets, samplers and collation."""

import collections
import dataclasses
import gzip
import os
import pathlib
import pickle
import tempfile
import unittest

import numpy as np
import plait as pl
import torch
from plait import data

Pair = collections.namedtuple("Pair", "x y")


@dataclasses.dataclass
class Point:
    x: object
    name: str = "a"


class Keyed(data.Dataset):
    def __len__(self):
        return 3

    def get(self, index, key):
        return index, key


def bits(key):
    return key.numpy().tobytes()


class Datasets(unittest.TestCase):
    def refused(self, kind, text, call):
        with self.assertRaisesRegex(kind, text):
            call()

    def test_tensors(self):
        x = np.arange(6.0).reshape(3, 2)
        dataset = data.TensorDataset(x, [1, 2, 3])
        self.assertEqual((len(dataset), [each.tolist() for each in dataset[-1]]), (3, [[4, 5], 3]))
        self.assertEqual([each[1].item() for each in dataset], [1, 2, 3])
        x[0, 0] = 7  # the memory is shared
        self.assertEqual(dataset[0][0][0].item(), 7)
        self.refused(pl.IndexError, "the index 3 is out of range for a dataset of 3", lambda: dataset[3])
        self.refused(pl.IndexError, "the index -4", lambda: dataset[-4])
        self.refused(pl.ShapeError, r"the tensors are \[2\], \[3\], expected one first size", lambda: data.TensorDataset(pl.ones(2), pl.ones(3)))
        self.refused(pl.ShapeError, r"the tensors are \[\]", lambda: data.TensorDataset(pl.ones(())))
        self.refused(pl.TypeError, "expected one tensor or more", lambda: data.TensorDataset())
        self.refused(pl.TypeError, "expected one tensor or more", lambda: data.TensorDataset({}))

    def test_a_dict_of_tensors(self):
        with tempfile.TemporaryDirectory() as folder:
            pl.io.save_safetensors(f"{folder}/x.safetensors", {"x": pl.asarray(np.arange(6.0).reshape(3, 2)), "y": pl.asarray([1, 2, 3])})
            dataset = data.TensorDataset(pl.io.load_safetensors(f"{folder}/x.safetensors"))
        self.assertEqual((len(dataset), {name: each.tolist() for name, each in dataset[-1].items()}), (3, {"x": [4, 5], "y": 3}))
        batches = [{name: each.tolist() for name, each in batch.items()} for batch in data.DataLoader(dataset, 2)]
        self.assertEqual(batches, [{"x": [[0, 1], [2, 3]], "y": [1, 2]}, {"x": [[4, 5]], "y": [3]}])

    def test_subsets(self):
        subset = data.Subset("abcd", range(3, 0, -1))
        self.assertEqual((list(subset), len(subset)), (["d", "c", "b"], 3))
        self.assertEqual(bits(data.Subset(Keyed(), [2]).get(0, pl.random.key(1))[1]), bits(pl.random.key(1)))
        self.refused(pl.IndexError, "the index 3", lambda: subset[3])
        self.refused(pl.TypeError, "the indices are 3", lambda: data.Subset("abc", 3))
        self.refused(pl.TypeError, "3 has no length", lambda: data.Subset(3, [0]))

    def test_one_after_another(self):
        joined = data.ConcatDataset(["ab", "", "c"])
        self.assertEqual((list(joined), joined[-1], joined.cumulative_sizes), (["a", "b", "c"], "c", [2, 2, 3]))
        self.assertEqual(list(data.Subset("ab", [0]) + data.Subset("cd", [1])), ["a", "d"])
        self.assertEqual(bits((Keyed() + Keyed()).get(4, pl.random.key(1))[1]), bits(pl.random.key(1)))
        self.refused(pl.ValueError, "there are no datasets", lambda: data.ConcatDataset([]))
        self.refused(pl.TypeError, "the datasets are 3", lambda: data.ConcatDataset(3))
        self.refused(pl.IndexError, "out of range", lambda: joined[3])

    def test_side_by_side(self):
        self.assertEqual(list(data.StackDataset("ab", "cd")), [("a", "c"), ("b", "d")])
        one, other = data.StackDataset(Keyed(), Keyed()).get(0, pl.random.key(1))
        self.assertNotEqual(bits(one[1]), bits(other[1]))
        self.refused(pl.ValueError, "the datasets have 2, 3 samples", lambda: data.StackDataset("ab", "abc"))
        self.refused(pl.TypeError, "all with names or all without", lambda: data.StackDataset("ab", x="ab"))
        self.refused(pl.TypeError, "all with names or all without", lambda: data.StackDataset())

    def test_functions_of_samples(self):
        self.assertEqual(list(data.mapped("ab", str.upper)), ["A", "B"])
        doubled = data.mapped(data.mapped(Keyed(), lambda sample, key: (*sample, key)), lambda sample, key: (*sample, key))
        keys = doubled.get(1, pl.random.key(1))[1:]
        self.assertEqual((len({bits(key) for key in keys}), bits(keys[-1])), (3, bits(pl.random.key(1))))
        self.refused(pl.TypeError, "3 is not a function", lambda: data.mapped("ab", 3))
        self.refused(pl.TypeError, "3 has no length", lambda: data.mapped(3, abs))

    def test_what_has_a_method_get_of_another_kind(self):
        class Table:
            def __len__(self):
                return 2

            def __getitem__(self, index):
                return index

            def get(self, key, default=None):
                raise AssertionError

        self.assertEqual([x.tolist() for x in data.DataLoader(Table(), 2)], [[0, 1]])
        self.assertEqual(list(data.DataLoader({0: "a", 1: "b"}, 2)), [["a", "b"]])

    def test_the_base(self):
        self.assertEqual(Keyed()[2][0], 2)
        self.refused(pl.TypeError, "samples are not defined", lambda: data.Dataset()[0])
        self.refused(pl.TypeError, "samples are not defined", lambda: iter(data.IterableDataset()))
        self.refused(pl.TypeError, "its samples have no numbers", lambda: data.IterableDataset()[0])
        self.refused(pl.TypeError, "the order is not defined", lambda: iter(data.Sampler()))

    def test_random_splits(self):
        for lengths, sizes in ([3, 0, 7], [3, 0, 7]), ([0.45, 0.35, 0.2], [5, 3, 2]):
            parts = data.random_split(range(10), lengths, seed=4)
            self.assertEqual([len(part) for part in parts], sizes)
            self.assertEqual(sorted(index for part in parts for index in part), list(range(10)))
            again = data.random_split(range(10), lengths, pl.random.key(4))
            self.assertEqual([list(part) for part in parts], [list(part) for part in again])
        self.assertNotEqual(*[list(data.random_split(range(10), [10], seed=seed)[0]) for seed in (1, 2)])
        for lengths in [3, 8], [0.5, 0.6], [-1, 11]:
            self.refused(pl.ValueError, "random_split", lambda: data.random_split(range(10), lengths))  # noqa: B023
        for lengths in 3, ["a"], [None]:
            self.refused(pl.TypeError, "random_split", lambda: data.random_split(range(10), lengths))  # noqa: B023

    def test_files_of_arrays(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.npy"
            np.save(path, np.arange(200_000).reshape(-1, 2))
            self.assertEqual([each.tolist() for each in data.npy_dataset(path)[99_999]], [[199_998, 199_999]])
            np.savez(os.path.join(folder, "x.npz"), a=np.arange(3), b=np.ones((3, 2)))
            loader = data.DataLoader(data.npz_dataset(os.path.join(folder, "x.npz")), 2)
            self.assertEqual([(each["a"].tolist(), each["b"].shape) for each in loader], [([0, 1], (2, 2)), ([2], (1, 2))])
            images, labels = os.path.join(folder, "images.gz"), os.path.join(folder, "labels")
            with gzip.open(images, "wb") as file:
                file.write(bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4]))
            with open(labels, "wb") as file:
                file.write(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9]))
            (x, y), = data.DataLoader(data.idx_dataset(images, labels), 2)
            self.assertEqual((x.tolist(), y.tolist()), ([[[1, 2]], [[3, 4]]], [7, 9]))
            self.refused(pl.ParseError, "labels", lambda: data.npy_dataset(labels))
            self.refused(pl.IoError, "none", lambda: data.npz_dataset(os.path.join(folder, "none")))
            self.refused(pl.TypeError, "the path is 3", lambda: data.idx_dataset(3))
            other = os.path.join(os.fsencode(folder), b"\xff.npy")  # not UTF-8
            os.rename(path, other)
            for each in other, os.fsdecode(other):
                self.assertEqual(len(data.npy_dataset(each)), 100_000)

    def test_all_are_pickled(self):
        for dataset in (data.TensorDataset(pl.arange(3)), data.TensorDataset({"x": pl.arange(3)}), data.Subset(range(5), [1, 2]), data.ConcatDataset([range(2), range(3)]),
                        data.StackDataset(a=range(3)), data.mapped(range(3), abs)):
            self.assertEqual(str(list(pickle.loads(pickle.dumps(dataset)))), str(list(dataset)))


class Samplers(unittest.TestCase):
    def refused(self, text, call):
        with self.assertRaisesRegex(pl.Error, text):
            call()

    def test_epochs(self):
        for sampler in (data.RandomSampler(range(30)), data.SubsetRandomSampler(range(30)), data.RandomSampler(range(30), True),
                        data.WeightedRandomSampler([1] * 30, 30), data.WeightedRandomSampler([1] * 30, 30, False),
                        data.DistributedSampler(range(60), 2, 1)):
            first = list(sampler)
            self.assertEqual((first, len(first), len(sampler)), (list(sampler), 30, 30))
            sampler.set_epoch(1)
            self.assertNotEqual(first, list(sampler))
            sampler.set_epoch(0)
            self.assertEqual(first, list(pickle.loads(pickle.dumps(sampler))))

    def test_seeds(self):
        self.assertNotEqual(*[list(data.RandomSampler(range(30), seed=seed)) for seed in (1, 2)])
        own, other = [list(data.DataLoader(range(30), 30, sampler=data.RandomSampler(range(30), seed=seed), seed=9)) for seed in (9, None)]
        self.assertEqual(own[0].tolist(), other[0].tolist())
        self.assertNotEqual(own[0].tolist(), list(data.DataLoader(range(30), 30, sampler=data.RandomSampler(range(30), seed=8), seed=9))[0].tolist())

    def test_generators_are_seeds(self):
        class Generator:
            def initial_seed(self):
                return 9

        weights = [1.0] * 30
        for made in (lambda **given: data.RandomSampler(range(30), **given), lambda **given: data.SubsetRandomSampler(range(30), **given),
                     lambda **given: data.WeightedRandomSampler(weights, 30, **given), lambda **given: data.random_split(range(30), [30], **given)[0],
                     lambda **given: [batch.tolist() for batch in data.DataLoader(range(30), 7, shuffle=True, **given)]):
            expected = list(made(seed=9))
            for generator in Generator(), torch.Generator().manual_seed(9):
                self.assertEqual(list(made(generator=generator)), expected)
            self.assertNotEqual(list(made()), expected)
            self.refused("both a seed and a generator", lambda: made(seed=9, generator=Generator()))  # noqa: B023
            for other in 3, "x":
                self.refused("generator is [\\s\\S]*seed=0, an integer", lambda: made(generator=other))  # noqa: B023
        self.assertEqual(list(data.random_split(range(30), [30], Generator())[0]), list(data.random_split(range(30), [30], seed=9)[0]))
        self.refused("both a key and a generator", lambda: data.random_split(range(30), [30], pl.random.key(1), generator=Generator()))
        self.assertEqual(data.DataLoader(range(3), generator=Generator()).state_dict()["seed"], 9)

    def test_batches(self):
        sampler = data.BatchSampler(data.RandomSampler(range(7)), 3, True)
        self.assertEqual((len(sampler), [len(batch) for batch in sampler]), (2, [3, 3]))
        first = list(sampler)
        sampler.set_epoch(2)
        self.assertNotEqual(first, list(sampler))

    def test_weights_are_probabilities(self):
        counts = np.bincount(list(data.WeightedRandomSampler([0.0, 1.0, 3.0], 20_000)))
        self.assertEqual(counts[0], 0)
        self.assertAlmostEqual(counts[2] / counts[1], 3, delta=0.2)

    def test_bad_arguments(self):
        self.refused("num_samples is 0, expected 1 or more", lambda: data.RandomSampler(range(3), num_samples=0))
        self.refused("replacement is 1, expected True or False", lambda: data.RandomSampler(range(3), 1))
        self.refused("3 samples of an empty dataset", lambda: data.RandomSampler([], num_samples=3))
        self.refused("the seed is -1", lambda: data.RandomSampler(range(3), seed=-1))
        self.refused("the weights are 'x'", lambda: data.WeightedRandomSampler("x", 3))
        self.refused("weight 1 is -1", lambda: data.WeightedRandomSampler([1, -1], 3))
        self.refused("1 weights are positive, but 2 samples", lambda: data.WeightedRandomSampler([1, 0], 2, replacement=False))
        self.refused("the indices are", lambda: data.SubsetRandomSampler([1.5]))
        self.refused("an index is -1", lambda: data.SubsetRandomSampler([-1]))
        self.refused("the rank is 2, expected 0 to 1", lambda: data.DistributedSampler(range(3), 2, 2))
        self.refused("num_replicas is 0", lambda: data.DistributedSampler(range(3), 0, 0))
        self.refused("batch_size is 0", lambda: data.BatchSampler(range(3), 0))
        self.refused("the sampler is 3", lambda: data.BatchSampler(3, 1))
        self.refused("drop_last is 'no'", lambda: data.BatchSampler(range(3), 1, "no"))
        self.refused("the epoch is -1", lambda: data.RandomSampler(range(3)).set_epoch(-1))


class Collation(unittest.TestCase):
    def test_structures_are_kept(self):
        samples = [{"a": (i, [np.float32(i)]), "pair": Pair(pl.full((2,), i), f"s{i}"), "point": Point(np.int8(i)), "b": b"x", "flag": i > 0}
                   for i in range(2)]
        batch = data.default_collate(samples)
        self.assertEqual(str(batch["a"]), "([0 1] : i64[2], [[0. 1.] : f32[2]])")
        self.assertEqual((type(batch["pair"]), batch["pair"].x.tolist(), batch["pair"].y), (Pair, [[0, 0], [1, 1]], ["s0", "s1"]))
        self.assertEqual((batch["point"].x.dtype, batch["point"].name), (pl.i8, ["a", "a"]))
        self.assertEqual((batch["b"], str(batch["flag"])), ([b"x", b"x"], "[False  True] : bool[2]"))
        ordered = data.default_collate([collections.OrderedDict(x=1), collections.OrderedDict(x=2)])
        self.assertEqual(type(ordered), collections.OrderedDict)
        self.assertEqual([data.default_collate([value] * 2).dtype for value in (1, 1.5, True, 1j, np.float64(1), np.int32(1), np.ones(1, np.float16))],
                         [pl.i64, pl.f32, pl.boolean, pl.c64, pl.f64, pl.i32, pl.f16])

    def test_any_array(self):
        big = np.arange(6, dtype=">i4").reshape(2, 3)
        for array in (big, big.T, big[:, ::-1], np.zeros((0, 2)), np.float32(3), pl.zeros((2, 2))[:, 0]):
            batch = data.default_collate([array, array])
            np.testing.assert_array_equal(batch, np.stack([np.asarray(array)] * 2))

    def test_samples_that_differ(self):
        for samples, text in (([{"a": 1}, {"b": 1}], r"the samples differ: \['b'\], expected \['a'\]"), ([(1, 2), (1,)], "one has 1 elements, the first 2"),
                              ([[1], 2], "one has 2, the first 1"), ([{"a": [1, 2]}, {"a": [1]}], r"differ at \['a'\]"), ([1, "a"], "the first is a number"),
                              ([np.zeros(2), np.zeros(3)], r"f64\[3\]"), ([np.zeros(2), np.zeros(2, int)], r"i64\[2\]"),
                              ([None], "a sample is None"), ([{"a": [object()]}], r"\['a'\]\[0\] of the samples is"), ([], "expected a list of one or more"),
                              (3, "the samples are 3")):
            with self.subTest(samples), self.assertRaisesRegex(pl.Error, text):
                data.default_collate(samples)

    def test_conversion(self):
        sample = data.default_convert({"a": [np.ones(2), "x"], "b": Pair(1, None)})
        self.assertEqual((type(sample["a"][0]), sample["a"][1], sample["b"]), (pl.Tensor, "x", Pair(1, None)))

    def test_padded_sequences(self):
        x = [pl.tensor([1.0, 2.0, 3.0]), np.float32([4])]
        self.assertEqual(data.pad_sequence(x).tolist(), [[1, 4], [2, 0], [3, 0]])
        self.assertEqual(data.pad_sequence(x, True, -1, "left").tolist(), [[1, 2, 3], [-1, -1, 4]])
        for dtype, value in (("u8", 300), ("u8", -1), ("i64", 0.5), ("i32", float("nan")), ("bool", 2)):
            with self.assertRaisesRegex(pl.ValueError, f"which is no {dtype}"):
                data.pad_sequence([pl.zeros(1, dtype=dtype)], padding_value=value)
        for call, text in ((lambda: data.pad_sequence([]), "no sequences"), (lambda: data.pad_sequence(x, padding_side="up"), "padding_side is 'up'"),
                           (lambda: data.pad_sequence(x, padding_value="a"), "padding_value is 'a'"), (lambda: data.pad_sequence(3), "is not a list"),
                           (lambda: data.pad_sequence([pl.ones((2, 2)), pl.ones((2, 3))]), "may differ in their first size only")):
            with self.assertRaisesRegex(pl.Error, text):
                call()


if __name__ == "__main__":
    unittest.main()
