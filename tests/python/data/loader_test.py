"""Loaders: the same batches for any number of workers and ranks, from any place on."""

import itertools
import pickle
import unittest

import numpy as np
import plait as pl
from plait.data import DataLoader

import loading_cases as cases
from loading_cases import Numbers, WORKERS, flat, numbers


class Epochs(unittest.TestCase):
    def test_iterations_side_by_side_are_different_epochs(self):
        first, second = zip(*zip(*[DataLoader(range(50), 50, shuffle=True)] * 2))
        apart = DataLoader(range(50), 50, shuffle=True)
        self.assertEqual([first[0].tolist(), second[0].tolist()], [next(iter(apart)).tolist() for _ in range(2)])
        self.assertNotEqual(first[0].tolist(), second[0].tolist())
        iter(apart)  # no batch of it is made
        self.assertEqual((next(iter(apart)).shape, apart.epoch), ((50,), 2))

    def test_a_generator_has_one_epoch(self):
        loader = DataLoader((i for i in range(5)), 2)
        self.assertEqual(len(list(loader)), 3)
        with self.assertRaisesRegex(pl.ValueError, "no other epoch"):
            list(loader)

    def test_repr(self):
        loader = DataLoader(range(5), 2, shuffle=True)
        next(iter(loader))
        self.assertEqual(repr(loader), "DataLoader(range, batch_size=2, RandomSampler, num_workers=0: epoch 0, place 2)")


class Batches(unittest.TestCase):
    def test_are_the_same_for_any_number_of_workers(self):
        plain = DataLoader(Numbers(37), 4, True, seed=5)
        first, second = numbers(plain), numbers(plain)
        self.assertEqual(sorted(flat(DataLoader(Numbers(37), 4, True))), list(range(37)))
        self.assertNotEqual(first, second)
        for options in WORKERS:
            with self.subTest(options):
                loader = DataLoader(Numbers(37), 4, True, seed=5, **options)
                self.assertEqual((numbers(loader), numbers(loader)), (first, second))
        self.assertNotEqual(numbers(DataLoader(Numbers(37), 4, True, seed=6)), first)

    def test_are_those_of_c_plus_plus(self):
        order = pl._core._data.Sampler.random(10, 4, False, 10)
        loader = DataLoader(range(10), 10, True, seed=4)
        self.assertEqual([numbers(loader)[0] for _ in range(2)], [order.indices(0, 0, 10), order.indices(1, 0, 10)])

    def test_keys_are_those_of_seed_epoch_and_index(self):
        loader = DataLoader(Numbers(6), 3, True, seed=8)
        list(loader)
        for x, drawn in loader:
            for index, number in zip(x.tolist(), drawn.tolist()):
                key = pl.random.fold_in(pl.random.fold_in(pl.random.key(8), 1), index)
                self.assertEqual(number, pl.random.bits(key, ()).item())

    def test_repeated_samples_draw_differently(self):
        for sampler in pl.data.RandomSampler(range(1), True, 8), pl.data.WeightedRandomSampler([1.0], 8), [0] * 8:
            (_, drawn), = DataLoader(Numbers(1), 8, sampler=sampler)
            self.assertEqual(len(set(drawn.tolist())), 8)

    def test_of_mapped_datasets(self):
        dataset = pl.data.mapped(pl.data.mapped(range(12), cases.with_key), cases.with_key)
        plain = [(x.tolist(), inner.tolist(), outer.tolist()) for (x, inner), outer in DataLoader(dataset, 5, True, seed=2)]
        other = [(x.tolist(), inner.tolist(), outer.tolist()) for (x, inner), outer in DataLoader(dataset, 5, True, seed=2, num_workers=2)]
        self.assertEqual(plain, other)
        for x, inner, outer in plain:
            self.assertFalse(set(inner) & set(outer))
            for index, number in zip(x, outer):
                self.assertEqual(number, pl.random.bits(pl.random.fold_in(pl.random.fold_in(pl.random.key(2), 0), index), ()).item())

    def test_of_tensors(self):
        x, y = np.arange(20.0).reshape(10, 2), pl.arange(10)
        for options in WORKERS:
            dataset = pl.data.TensorDataset(x, y)
            for a, b in DataLoader(dataset, 4, True, **options):
                np.testing.assert_array_equal(a, x[b.numpy()])
        self.assertEqual(numbers(DataLoader(pl.data.TensorDataset(y), 4, drop_last=True)), [[[0, 1, 2, 3]], [[4, 5, 6, 7]]])

    def test_sizes_of_nothing_and_of_one(self):
        for size, options in itertools.product((0, 1), WORKERS):
            loader = DataLoader(range(size), 4, **options)
            self.assertEqual((len(loader), numbers(loader), numbers(loader)), (size, [[0]] * size, [[0]] * size))
            self.assertEqual(loader.epoch, 2)
            self.assertEqual(list(DataLoader(range(size), 4, drop_last=True, **options)), [])

    def test_without_batches(self):
        for options in {}, {"num_workers": 2}:
            loader = DataLoader([np.ones(2), np.zeros(3)], batch_size=None, **options)
            self.assertEqual([x.tolist() for x in loader], [[1, 1], [0, 0, 0]])
            self.assertEqual(list(DataLoader(["a", {"b": 1}], batch_size=None, **options)), ["a", {"b": 1}])

    def test_of_a_sampler_of_your_own(self):
        class Backwards:
            def __len__(self):
                return 5

            def __iter__(self):
                return iter([4, 3, 2, 1, 0])

        for sampler in Backwards(), [4, 3, 2, 1, 0], range(4, -1, -1), np.arange(5)[::-1]:
            for options in {}, {"num_workers": 2}:
                loader = DataLoader("abcde", 2, sampler=sampler, **options)
                self.assertEqual((len(loader), list(loader), list(loader)), (3, [["e", "d"], ["c", "b"], ["a"]], [["e", "d"], ["c", "b"], ["a"]]))

    def test_of_places_counted_from_the_end(self):
        rows = pl.data.TensorDataset(np.arange(12).reshape(6, 2))
        for options in {}, {"collate_fn": pl.data.default_collate}, {"num_workers": 2}:
            self.assertEqual([b.tolist() for b, in DataLoader(rows, 2, sampler=[-1, 0], **options)], [[[10, 11], [0, 1]]])
            with self.assertRaisesRegex(pl.IndexError, "sample 6: the index 6 is out of range"):
                list(DataLoader(rows, 2, sampler=[6], **options))
            with self.assertRaisesRegex(pl.TypeError, "sample 1.0: the index is 1.0, expected an integer"):
                list(DataLoader(rows, 2, sampler=[1.0], **options))

    def test_of_a_batch_sampler(self):
        batches = [[1, 2], [0], [3, 4, 5], [6]]
        for options in WORKERS:
            self.assertEqual(numbers(DataLoader(range(7), batch_sampler=batches, **options)), batches)
        own = pl.data.BatchSampler(pl.data.RandomSampler(range(7)), 3, True)
        self.assertEqual(numbers(DataLoader(range(7), batch_sampler=own, seed=3)), numbers(DataLoader(range(7), 3, True, drop_last=True, seed=3)))
        self.assertEqual(len(DataLoader(range(7), batch_sampler=own)), 2)

    def test_of_your_own_collation(self):
        for options in {}, {"num_workers": 2}:
            self.assertEqual(list(DataLoader("abc", 2, collate_fn="".join, **options)), ["ab", "c"])
            self.assertEqual(list(DataLoader("abc", 2, collate_fn=lambda samples: None, **options)), [None, None])

    def test_may_be_padded(self):
        for options in WORKERS:
            found = [numbers(DataLoader(range(8), 2, world_size=3, rank=rank, pad_last=True, **options)) for rank in range(3)]
            self.assertEqual(found, [[[[0, 1], [True, True]], [[6, 6], [True, False]]], [[[2, 3], [True, True]], [[7, 7], [True, False]]],
                                     [[[4, 5], [True, True]], [[6, 6], [False, False]]]])

    def test_of_a_dataset_of_strings_for_a_rank_without_samples(self):
        for options in WORKERS:
            dataset = [{"name": "a", "pair": (np.ones(2), 1)}]
            batches = list(DataLoader(dataset, 2, world_size=3, rank=2, **options))
            self.assertEqual([(each["name"], each["pair"][0].shape, each["pair"][1].shape) for each in batches], [([], (0, 2), (0,))])

    def test_set_epoch_as_in_pytorch(self):
        sampler = pl.data.DistributedSampler(range(10), 2, 0, seed=3)
        loader = DataLoader(range(10), 2, sampler=sampler)
        epochs = []
        for epoch in (0, 1, 7):
            sampler.set_epoch(epoch)
            self.assertEqual(flat(loader), list(sampler))
            epochs.append(list(sampler))
        self.assertEqual(loader.epoch, 8)
        self.assertNotEqual(flat(loader), epochs[-1])
        self.assertEqual(len({tuple(each) for each in epochs}), 3)

    def test_a_sampler_is_told_the_epoch(self):
        class Rotating(pl.data.Sampler):
            def __len__(self):
                return 3

            def __iter__(self):
                return iter([(i + self.epoch) % 3 for i in range(3)])

        loader = DataLoader("abc", 3, sampler=Rotating())
        self.assertEqual([list(loader)[0] for _ in range(3)], [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]])


class Places(unittest.TestCase):
    def check(self, make):
        """Resumes at each place, in this process and another object, from numbers and tensors."""
        whole = make()
        first, second = numbers(whole), numbers(whole)
        for taken in range(len(first) + 1):
            begun, state = make(), None
            for i, _ in enumerate(begun):
                if i + 1 == taken:
                    state = begun.state_dict(), begun.state()
                    break
            if state is None:
                state = begun.state_dict(), begun.state()
            for saved in state:
                again = make()
                again.load_state_dict(pickle.loads(pickle.dumps(saved)))
                expected = (first[taken:], second) if taken else (second, None)
                self.assertEqual(numbers(again), expected[0])
                if taken:
                    self.assertEqual(numbers(again), second)
                self.assertEqual(again.epoch, 2)

    def test_an_epoch_goes_on_at_each(self):
        for options in {}, {"num_workers": 2}, {"num_workers": 9}:
            with self.subTest(options):
                self.check(lambda: DataLoader(Numbers(13), 3, True, seed=2, **options))  # noqa: B023
                self.check(lambda: DataLoader(Numbers(13), 3, drop_last=True, **options))  # noqa: B023
                self.check(lambda: DataLoader(range(7), batch_sampler=[[1, 2], [0], [3, 4, 5], [6]], **options))  # noqa: B023
                self.check(lambda: DataLoader(range(7), 2, sampler=[3, 5, 6, 0], **options))  # noqa: B023
                self.check(lambda: DataLoader(Numbers(5), 2, sampler=pl.data.WeightedRandomSampler([1, 2, 0, 3, 1], 9), **options))  # noqa: B023

    def test_the_state_is_a_few_numbers(self):
        loader = DataLoader(range(10), 4, True, seed=2**64 - 1, num_workers=2)
        self.assertEqual(loader.state_dict(), {"seed": 2**64 - 1, "epoch": 0, "place": 0, "size": -1})
        for place, _ in zip((4, 8, 10), loader):
            self.assertEqual(loader.state_dict(), {"seed": 2**64 - 1, "epoch": 0, "place": place, "size": 10})
            self.assertEqual({name: value.item() for name, value in loader.state().items()}, loader.state_dict())
        list(loader)
        self.assertEqual(loader.state_dict(), {"seed": 2**64 - 1, "epoch": 2, "place": 0, "size": -1})

    def test_the_state_has_the_seed(self):
        one, other = DataLoader(Numbers(9), 2, True, seed=3), DataLoader(Numbers(9), 2, True, seed=4)
        other.load_state_dict({"seed": 3, "epoch": 5, "place": 2})
        one.load_state_dict({"seed": 3, "epoch": 5, "place": 0})
        self.assertEqual(numbers(one)[1:], numbers(other))

    def test_an_abandoned_epoch_is_not_continued(self):
        for options in {}, {"num_workers": 2}:
            loader = DataLoader(range(9), 2, **options)
            next(iter(loader))
            self.assertEqual(loader.state_dict()["place"], 2)
            self.assertEqual((len(list(loader)), loader.epoch), (5, 2))
            iter(loader)
            self.assertEqual((len(list(loader)), loader.epoch), (5, 3))
            next(iter(loader))
            loader.load_state_dict(loader.state_dict())
            self.assertEqual((len(list(loader)), loader.epoch), (4, 4))

    def test_an_iterator_goes_on_beside_another(self):
        for options in {}, {"num_workers": 2}:
            loader = DataLoader(range(6), 2, True, **options)
            one = iter(loader)
            first = next(one).tolist()
            other = iter(loader)
            self.assertEqual(sorted(first + flat(one)), list(range(6)))
            self.assertEqual(sorted(flat(other)), list(range(6)))
            self.assertEqual(loader.epoch, 2)

    def test_an_epoch_begun_on_four_ranks_ends_on_three(self):
        state, seen = {"seed": 1, "epoch": 0, "place": 0}, []
        for ranks, steps in (4, 2), (3, 100):
            after, counts = None, set()
            for rank in range(ranks):
                loader = DataLoader(Numbers(50), 3, True, world_size=ranks, rank=rank, num_workers=rank % 3)
                loader.load_state_dict(state)
                count = 0
                for x, drawn in loader:
                    seen += zip(x.tolist(), drawn.tolist())
                    after, count = loader.state_dict(), count + 1
                    if count == steps:
                        break
                counts.add(count)
            self.assertEqual(len(counts), 1)
            state = after
        self.assertEqual(state["place"], 50)
        (x, drawn), = DataLoader(Numbers(50), 50, seed=1)
        self.assertEqual(sorted(seen), list(zip(x.tolist(), drawn.tolist())))

    def test_ranks_share_small_epochs(self):
        for size, batch, ranks in itertools.product(range(8), (1, 2, 3), (1, 2, 3)):
            loaders = [DataLoader(range(size), batch, world_size=ranks, rank=rank) for rank in range(ranks)]
            self.assertEqual({len(loader) for loader in loaders}, {-(-size // (batch * ranks))})
            batches = [numbers(loader) for loader in loaders]
            self.assertEqual({len(each) for each in batches}, {len(loaders[0])})
            self.assertEqual(sorted(number for each in batches for part in each for number in part), list(range(size)))

    def test_ranks_share_samples_without_batches(self):
        class Stream(pl.data.IterableDataset):
            def __init__(self, size):
                self.size = size

            def __iter__(self):
                return iter(range(self.size))

        for make, size, ranks, options in itertools.product((range, Stream), range(8), (1, 2, 3), ({}, {"num_workers": 2}, {"in_order": False})):
            with self.subTest(make=make.__name__, size=size, ranks=ranks, **options):
                loaders = [DataLoader(make(size), None, world_size=ranks, rank=rank, **options) for rank in range(ranks)]
                for _ in range(2):
                    found = [list(loader) for loader in loaders]
                    self.assertEqual(found, [list(range(rank, size, ranks)) for rank in range(ranks)])
                if make is range:
                    self.assertEqual([len(loader) for loader in loaders], [len(samples) for samples in found])

    def test_an_epoch_of_samples_begun_on_four_ranks_ends_on_three(self):
        states = [{"seed": 1, "epoch": 0, "place": 0}] * 4
        seen = []
        for ranks, steps in (4, 2), (3, 100):
            after = []
            for rank in range(ranks):
                loader = DataLoader(range(18), None, True, world_size=ranks, rank=rank)
                loader.load_state_dict(states[rank])
                samples = iter(loader)
                seen += itertools.islice(samples, steps)
                after.append(loader.state_dict())
            states = after
        self.assertEqual(sorted(seen), list(range(18)))
        self.assertEqual({(state["epoch"], state["place"]) for state in states}, {(1, 0)})

    def test_ranks_share_batches_of_a_batch_sampler(self):
        batches = [[0, 1], [2], [3, 4, 5], [6, 7], [8]]
        for ranks in range(1, 7):
            found = [numbers(DataLoader(range(9), batch_sampler=batches, world_size=ranks, rank=rank)) for rank in range(ranks)]
            self.assertEqual({len(each) for each in found}, {-(-5 // ranks)})
            self.assertEqual(sorted(number for each in found for part in each for number in part), list(range(9)))

    def test_a_state_of_other_data_is_refused(self):
        loader = DataLoader(range(5), 2)

        def refused(kind, text, state, loader=loader):
            with self.assertRaisesRegex(kind, text):
                loader.load_state_dict(state)

        good = {"seed": 0, "epoch": 0, "place": 2}
        refused(pl.ValueError, "the place is 6, but the epoch has 5", {**good, "place": 6})
        refused(pl.ValueError, "an epoch of 7 samples, at place 2", {**good, "size": 7})
        refused(pl.ValueError, "the epoch of the state is -1", {**good, "epoch": -1})
        refused(pl.TypeError, "the place of the state is 1.5", {**good, "place": 1.5})
        refused(pl.KeyError, "unknown entry 'batch'", {**good, "batch": 3})
        refused(pl.KeyError, "has no 'epoch'", {"seed": 0, "place": 0})
        refused(pl.TypeError, "expected what state_dict", 7)
        refused(pl.ValueError, "that of an iterable dataset", {**good, "source": {"offset": 3}})
        self.assertEqual(loader.state_dict()["place"], 0)
        listed = DataLoader(range(7), batch_sampler=[[0, 1, 2], [3, 4, 5, 6]])
        listed.load_state_dict({"seed": 0, "epoch": 0, "place": 2})
        with self.assertRaisesRegex(pl.ValueError, "at place 2, where no batch"):
            iter(listed)
        with self.assertRaisesRegex(pl.ValueError, "batch 1 of the batch sampler is empty"):
            iter(DataLoader(range(7), batch_sampler=[[0], []]))

    def test_a_sampler_with_another_order_is_refused(self):
        class Random:
            def __iter__(self):
                return iter(np.random.default_rng().permutation(50).tolist())

            def __len__(self):
                return 50

        loader = DataLoader(range(50), 2, sampler=Random())
        next(iter(loader))
        loader.load_state_dict(loader.state())
        with self.assertRaisesRegex(pl.ValueError, "another order than when the state was saved"):
            iter(loader)

    def test_the_state_is_part_of_a_training_state(self):
        model = pl.nn.Linear(1, 1)
        loader = DataLoader(pl.data.TensorDataset(pl.ones((9, 1))), 2)
        state = pl.optim.TrainState(model, pl.optim.SGD(model, lr=0.1), loader=loader.state())

        @pl.jit
        def step(state, x):
            return state.update(pl.grad(lambda model: pl.mean(model(x) ** 2))(state.model))

        for x, in loader:
            state = step(state, x[:1]).with_(loader=loader.state())
        self.assertEqual((state.step.item(), state.loader["place"].item()), (5, 9))
        self.assertEqual(pl.stats(step).traces, 1)
        again = pickle.loads(pickle.dumps(state))
        loader.load_state_dict(again.loader)
        self.assertEqual(loader.state_dict(), {"seed": 0, "epoch": 0, "place": 9, "size": 9})


if __name__ == "__main__":
    unittest.main()
