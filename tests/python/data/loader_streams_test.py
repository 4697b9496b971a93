"""Loaders of iterable datasets: read in order, shared among ranks, continued from a saved position."""

import itertools
import unittest

import numpy as np
import plait as pl
from plait.data import DataLoader

import loading_cases as cases
from loading_cases import Lines, Plain, flat, numbers

WORKERS = ({}, {"num_workers": 1}, {"num_workers": 4}, {"num_workers": 2, "prefetch_factor": 1, "in_order": False})


class Streams(unittest.TestCase):
    def test_are_read_in_order_in_each_epoch(self):
        for options, make in itertools.product(WORKERS, (Lines, lambda size: (i for i in range(size)), lambda size: pl.data.ChainDataset([range(size)]))):
            loader = DataLoader(make(11), 3, **options)
            self.assertEqual(numbers(loader), [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10]])
        for options in WORKERS:
            loader = DataLoader(Plain(5), 2, drop_last=True, **options)
            self.assertEqual([numbers(loader) for _ in range(3)], [[[0, 1], [2, 3]], [[100, 101], [102, 103]], [[200, 201], [202, 203]]])
            self.assertEqual(loader.epoch, 3)
            self.assertEqual(list(DataLoader(Lines(0), 3, **options)), [])
            self.assertEqual([x.item() for x in DataLoader(Lines(3), None, collate_fn=pl.asarray, **options)], [0, 1, 2])
            self.assertEqual(list(DataLoader(Lines(3), None, **options)), [0, 1, 2])

    def test_go_on_at_each_place(self):
        for options, make in itertools.product(WORKERS, (Lines, Plain, lambda size: pl.data.ChainDataset([Lines(4), range(1), Lines(0), Plain(size - 5)]),
                                                         lambda size: pl.data.mapped(Lines(size), abs))):
            with self.subTest(options):
                whole = numbers(DataLoader(make(11), 3, **options))
                for taken in range(1, 5):
                    loader = DataLoader(make(11), 3, **options)
                    for _ in zip(range(taken), loader):
                        pass
                    for state in loader.state_dict(), loader.state():
                        again = DataLoader(make(11), 3, **options)
                        again.load_state_dict(state)
                        self.assertEqual(numbers(again), whole[taken:])

    def test_with_a_saved_position_nothing_is_read_again(self):
        loader = DataLoader(pl.data.ChainDataset([Lines(1000), Lines(1000)]), 10, num_workers=2)
        for _ in zip(range(120), loader):
            pass
        state = loader.state_dict()
        self.assertEqual(state, {"seed": 0, "epoch": 0, "place": 1200, "size": -1, "source": {"number": 1, "place": 200, "source": {"offset": 200}}})
        del loader, _
        before = cases.LineIterator.read
        again = DataLoader(pl.data.ChainDataset([Lines(1000), Lines(1000)]), 10)
        again.load_state_dict(state)
        self.assertEqual(flat(again), list(range(200, 1000)))
        self.assertEqual(cases.LineIterator.read - before, 800)

    def test_an_iterator_that_has_ended_is_not_asked_for_its_state(self):
        class Ending(cases.LineIterator):
            has_ended = False

            def __next__(self):
                try:
                    return super().__next__()
                except StopIteration:
                    self.has_ended = True
                    raise

            def state_dict(self):
                assert not self.has_ended
                return super().state_dict()

        class EndingLines(Lines):
            def __iter__(self):
                return Ending(self)

        for options in WORKERS:
            self.assertEqual(flat(DataLoader(EndingLines(5), 3, **options)), [0, 1, 2, 3, 4])

    def test_a_place_after_the_end_is_an_error(self):
        for dataset in Plain(5), Lines(5):
            loader = DataLoader(dataset)
            loader.load_state_dict({"seed": 0, "epoch": 0, "place": 9})
            with self.assertRaisesRegex(pl.ValueError, "the state is at sample 9 of the dataset, which has 5"):
                list(loader)

    def test_are_shared_among_ranks(self):
        for size, ranks, options in itertools.product(range(14), range(1, 5), WORKERS[:2]):
            loaders = [numbers(DataLoader(Lines(size), 2, world_size=ranks, rank=rank, **options)) for rank in range(ranks)]
            self.assertEqual(len({len(each) for each in loaders}), 1)
            self.assertEqual(sorted(number for each in loaders for part in each for number in part), list(range(size)))

    def test_an_epoch_begun_on_four_ranks_ends_on_three(self):
        state, seen = {"seed": 0, "epoch": 0, "place": 0}, []
        for ranks, steps in (4, 2), (3, 100):
            for rank in range(ranks):
                loader = DataLoader(Lines(31), 2, world_size=ranks, rank=rank)
                loader.load_state_dict(state)
                for _, batch in zip(range(steps), loader):
                    seen += batch.tolist()
                    after = loader.state_dict()
            state = after
        self.assertEqual(sorted(seen), list(range(31)))

    def test_are_padded(self):
        for options in WORKERS:
            found = [numbers(DataLoader(Lines(3), 2, world_size=2, rank=rank, pad_last=True, **options)) for rank in range(2)]
            self.assertEqual(found, [[[[0, 1], [True, True]]], [[[2, 2], [True, False]]]])

    def test_functions_of_samples_get_the_key_of_the_place(self):
        plain = numbers(DataLoader(pl.data.mapped(Lines(9), cases.with_key), 2, seed=5))
        for options in WORKERS[1:]:
            self.assertEqual(numbers(DataLoader(pl.data.mapped(Lines(9), cases.with_key), 2, seed=5, **options)), plain)
        for place, drawn in zip(*[[number for batch in plain for number in batch[i]] for i in range(2)]):
            key = pl.random.fold_in(pl.random.fold_in(pl.random.key(5), 0), place)
            self.assertEqual(pl.random.bits(key, ()).item(), drawn)

    def test_a_failure_names_the_sample_and_is_passed_by(self):
        for options in WORKERS:
            loader = DataLoader(Lines(8, bad=3), 2, **options)
            batches, found = iter(loader), []
            for _ in range(6):
                try:
                    found.append(next(batches).tolist())
                except ValueError as error:
                    self.assertIn("sample 3, at ", error.__notes__[0])
                    self.assertIn("line 3 is not readable", str(error))
                    found.append(loader.state_dict()["place"])
                except StopIteration:
                    break
            self.assertEqual(found, [[0, 1], 4, [4, 5], [6, 7]])

    def test_lengths(self):
        class Sized(Lines):
            def __len__(self):
                return self.size

        self.assertEqual(len(DataLoader(Sized(11), 3)), 4)
        self.assertEqual(len(DataLoader(Sized(11), 3, drop_last=True)), 3)
        self.assertEqual(len(DataLoader(pl.data.ChainDataset([Sized(11), Sized(2)]), 3, world_size=2)), 3)
        with self.assertRaisesRegex(pl.TypeError, "DataLoader: .*has no length"):
            len(DataLoader(Lines(3)))
        for wrong in 3, [3]:
            with self.assertRaisesRegex(pl.TypeError, "ChainDataset"):
                pl.data.ChainDataset(wrong)

    def test_numbers_of_a_state_are_exact_in_a_tree(self):
        given = {"time": 1732780000.1234567, "big": 2**64 - 1, "least": -(2**63), "flag": True, "numpy": np.int64(2**62 + 1), "list": np.arange(3)}

        class Stateful(pl.data.IterableDataset):
            def __iter__(self):
                return self

            def __next__(self):
                return 1

            def state_dict(self):
                return given

            def load_state_dict(self, state):
                self.loaded = state

        dataset = Stateful()
        loader = pl.data.DataLoader(dataset)
        next(iter(loader))
        loader.load_state_dict(loader.state())
        next(iter(loader))
        self.assertEqual(dataset.loaded, {**given, "list": [0, 1, 2]})

    def test_a_state_of_another_kind_is_not_a_tree(self):
        class Named:
            def __iter__(self):
                return self

            def __next__(self):
                return 1

            def state_dict(self):
                return {"file": "a.txt"}

            def load_state_dict(self, state):
                assert state == {"file": "a.txt"}

        loader = DataLoader(Named(), 2)
        next(iter(loader))
        with self.assertRaisesRegex(pl.TypeError, "the state of the dataset has 'a.txt', which is not a number"):
            loader.state()
        loader.load_state_dict(loader.state_dict())
        self.assertEqual(next(iter(loader)).tolist(), [1, 1])


if __name__ == "__main__":
    unittest.main()
