"""Datasets and loaders compared with PyTorch's, where these have a defined result."""

import collections
import itertools
import unittest
import warnings

import numpy as np
import plait as pl
import torch
import torch.utils.data as td
import torchdata.stateful_dataloader
from plait import data


def plain(value):
    """Structure, dtypes and numbers; PyTorch makes lists of tuples, and f64 of Python's floats."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return (str(value.dtype).split(".")[-1], tuple(value.shape), value.tolist()) if hasattr(value, "dtype") else value


def ours(value):
    named = {"boolean": "bool", "f32": "float32", "f64": "float64", "i64": "int64", "i8": "int8", "u8": "uint8", "f16": "float16", "c64": "complex64"}
    if isinstance(value, dict):
        return {name: ours(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [ours(each) for each in value]
    return (named.get(value.dtype.name, value.dtype.name), tuple(value.shape), value.tolist()) if isinstance(value, pl.Tensor) else value


class WithTorch(unittest.TestCase):
    def test_collation(self):
        Pair = collections.namedtuple("Pair", "x y")
        for samples in ([np.ones((2, 3), np.int8) * i for i in range(3)], [(np.float32(i), i, f"{i}") for i in range(2)], [{"a": [i, {"b": i > 0}]} for i in range(4)],
                        [Pair(np.zeros(2), b"x") for i in range(2)], ["a", "b"], [np.float64(2.5)] * 2, [[np.uint8(1)], [np.uint8(2)]],
                        [np.zeros((0, 2), np.float16)] * 2):
            with self.subTest(samples):
                self.assertEqual(ours(data.default_collate(samples)), plain(td.default_collate(samples)))

    def test_tensors_of_torch(self):
        loader = data.DataLoader(td.TensorDataset(torch.arange(6).reshape(3, 2), torch.tensor([0.5, 1.5, 2.5])), 2)
        self.assertEqual([ours(batch) for batch in loader], [[("int64", (2, 2), [[0, 1], [2, 3]]), ("float32", (2,), [0.5, 1.5])],
                                                            [("int64", (1, 2), [[4, 5]]), ("float32", (1,), [2.5])]])

    def test_lengths_and_batches(self):
        for size, batch, drop in itertools.product(range(8), (1, 2, 3), (False, True)):
            theirs = td.DataLoader(range(size), batch, drop_last=drop)
            for options in {}, {"num_workers": 2}:
                loader = data.DataLoader(range(size), batch, drop_last=drop, **options)
                self.assertEqual((len(loader), [x.tolist() for x in loader]), (len(theirs), [x.tolist() for x in theirs]))
            sampler, expected = (library.BatchSampler(library.SequentialSampler(range(size)), batch, drop) for library in (data, td))
            self.assertEqual((len(sampler), list(sampler)), (len(expected), list(expected)))

    def test_stateful_loaders(self):
        """A run that continues has the rest of the epoch, as torchdata's, and then the next one."""
        for drop, workers in itertools.product((False, True), (0, 2)):
            whole = [x.tolist() for x in torchdata.stateful_dataloader.StatefulDataLoader(range(11), 3, drop_last=drop)]
            for place in range(1, len(whole)):
                rests = []
                for make in torchdata.stateful_dataloader.StatefulDataLoader, data.DataLoader:
                    # torchdata's would start processes
                    options = {"drop_last": drop, "num_workers": workers if make is data.DataLoader else 0}
                    loader, other = make(range(11), 3, **options), make(range(11), 3, **options)
                    self.assertEqual([x.tolist() for x in itertools.islice(loader, place)], whole[:place])
                    other.load_state_dict(loader.state_dict())
                    rests.append([[x.tolist() for x in other] for _epoch in range(2)])
                self.assertEqual(rests, [[whole[place:], whole]] * 2)

    def test_distributed_samplers(self):
        for size, ranks, drop in itertools.product(range(1, 12), (1, 2, 3, 5), (False, True)):
            if drop and size < ranks:
                continue  # PyTorch's have a negative length
            for rank in range(ranks):
                sampler, expected = (library.DistributedSampler(range(size), ranks, rank, shuffle=False, drop_last=drop) for library in (data, td))
                self.assertEqual((len(sampler), list(sampler)), (len(expected), list(expected)))
            shuffled = [list(data.DistributedSampler(range(size), ranks, rank, drop_last=drop)) for rank in range(ranks)]
            theirs = [list(td.DistributedSampler(range(size), ranks, rank, drop_last=drop)) for rank in range(ranks)]
            self.assertEqual([len(each) for each in shuffled], [len(each) for each in theirs])
            self.assertEqual(len({index for each in shuffled for index in each}), len({index for each in theirs for index in each}))

    def test_splits(self):
        warnings.simplefilter("ignore")  # about empty parts
        for size, lengths in itertools.product((0, 1, 7, 10, 101), ([0.5, 0.5], [0.1, 0.2, 0.7], [1 / 3] * 3)):
            self.assertEqual([len(part) for part in data.random_split(range(size), lengths)], [len(part) for part in td.random_split(range(size), lengths)])

    def test_padded_sequences(self):
        arrays = [np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32) for n in (3, 1, 0, 5)]
        for first, side in itertools.product((False, True), ("left", "right")):
            expected = torch.nn.utils.rnn.pad_sequence([torch.from_numpy(each) for each in arrays], first, 7.0, side)
            np.testing.assert_array_equal(data.pad_sequence(arrays, first, 7.0, side), expected.numpy())

    def test_datasets(self):
        for make in (lambda library: library.ConcatDataset(["ab", "", "cd"]), lambda library: library.Subset("abcd", [3, 0]),
                     lambda library: library.StackDataset("ab", "cd"), lambda library: library.StackDataset(x="ab", y="cd")):
            one, other = make(data), make(td)
            self.assertEqual((len(one), [one[i] for i in range(-len(one), len(one))]), (len(other), [other[i % len(one)] for i in range(-len(one), len(one))]))

    def test_signatures_accept_what_theirs_accept(self):
        loader = data.DataLoader(range(5), 2, True, None, None, 1, None, False, True, 5, None, None, None, prefetch_factor=3, persistent_workers=True, in_order=True)
        self.assertEqual(len(list(loader)), 2)
        loader.close()


if __name__ == "__main__":
    unittest.main()
