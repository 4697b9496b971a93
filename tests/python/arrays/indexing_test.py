"""Indexing compared with NumPy's: x[...], x[...] = y, x.at[...]: chosen ones, and thousands at random."""

import unittest

import numpy as np
import plait

COUNT = 4000


def numbers(shape, dtype=np.float64):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


class RandomIndex:
    """Random indices for arrays of a random shape; some are out of range."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.shape = tuple(int(n) for n in self.random.choice([0, 1, 2, 3, 4, 5], self.random.integers(0, 5),
                                                              p=[.06, .14, .2, .2, .2, .2]))
        self.points = [(), (1,), (3,), (2, 3), (2, 1)][self.random.integers(0, 5)]

    def chance(self, share):
        return self.random.random() < share

    def integers(self, size):
        far = 1 if self.chance(0.02) else 0
        low, high = -size - far, size + far
        if low == high:
            return np.zeros((0,), np.int64)
        shape = self.points[self.random.integers(0, len(self.points) + 1):] if self.points else ()
        dtype = self.random.choice([np.int64, np.int32, np.int8])
        return np.asarray(self.random.integers(low, high, shape), dtype)

    def slice(self, size):
        def bound():
            return None if self.chance(0.4) else int(self.random.integers(-size - 3, size + 4))
        step = int(self.random.choice([-3, -2, -1, 1, 1, 2, 3, 7]))
        return slice(bound(), bound(), None if self.chance(0.3) else step)

    def given(self):
        """The index for NumPy, with lists, numbers and arrays."""
        index, axis = [], 0
        has_ellipsis = False
        while axis < len(self.shape) and not self.chance(0.15):
            kind = self.random.choice(["integer", "slice", "slice", "array", "list", "mask", "new", "ellipsis", "bool"],
                                      p=[.2, .2, .16, .14, .08, .08, .06, .05, .03])
            size = self.shape[axis]
            if kind == "integer":
                far = 1 if self.chance(0.02) or size == 0 else 0
                number = int(self.random.integers(-size - far, size + far))
                index.append(number if self.chance(0.7) else np.int64(number))
            elif kind == "slice":
                index.append(self.slice(size))
            elif kind == "array":
                index.append(self.integers(size))
            elif kind == "list":
                index.append(self.integers(size).tolist())
            elif kind == "mask":
                rank = int(self.random.integers(1, len(self.shape) - axis + 1))
                index.append(self.random.random(self.shape[axis:axis + rank]) < 0.5)
                axis += rank - 1
            elif kind == "new":
                index.append(None)
                axis -= 1
            elif kind == "bool":
                index.append(bool(self.chance(0.5)))
                axis -= 1
            elif has_ellipsis:
                continue
            else:
                has_ellipsis = True
                index.append(Ellipsis)
                left = len(self.shape) - axis
                axis += int(self.random.integers(0, left + 1)) - 1
            axis += 1
        return index[0] if len(index) == 1 and self.chance(0.5) else tuple(index)


def of_plait(index, random):
    """The same index, with tensors in place of some arrays."""
    if isinstance(index, tuple):
        return tuple(of_plait(each, random) for each in index)
    return plait.asarray(index) if isinstance(index, np.ndarray) and random.random() < 0.5 else index


class AtRandom(unittest.TestCase):
    def compare(self, seed, of_numpy, of_tensor):
        """True if both had results."""
        drawn = RandomIndex(seed)
        index = drawn.given()
        array = numbers(drawn.shape)
        given = of_plait(index, drawn.random)
        with self.subTest(seed=seed, shape=drawn.shape, index=index):
            try:
                expected = of_numpy(array.copy(), index)
            except IndexError:
                self.expect_refusal(array, lambda: of_tensor(plait.asarray(array), given))
                return False
            result = of_tensor(plait.asarray(array), given)
            np.testing.assert_array_equal(result.numpy(), expected, strict=True)
        return True

    def expect_refusal(self, array, action):
        """NumPy checks the values of index arrays only if they select elements."""
        try:
            result = action().numpy()
        except (plait.IndexError, plait.ShapeError):
            return
        self.assertTrue(result.size == 0 or np.array_equal(result, array), "is not refused")

    def test_what_is_taken(self):
        taken = sum(self.compare(seed, lambda x, i: np.asarray(x[i]), lambda x, i: x[i]) for seed in range(COUNT))
        self.assertGreater(taken, COUNT * 0.8)

    def test_what_is_assigned(self):
        def assign(x, index):
            x[index] = -1.5
            return x

        taken = sum(self.compare(seed, assign, assign) for seed in range(COUNT, 2 * COUNT))
        self.assertGreater(taken, COUNT * 0.8)

    def test_arrays_that_are_assigned(self):
        # If a place is named several times, the last value counts.
        def assign(x, index):
            taken = x[index]
            x[index] = 100 + numbers(taken.shape[len(taken.shape) // 2:])
            return x

        taken = sum(self.compare(seed, assign, assign) for seed in range(2 * COUNT, 3 * COUNT))
        self.assertGreater(taken, COUNT * 0.8)

    def test_what_is_combined(self):
        def by(ufunc):
            def change(x, index):
                ufunc.at(x, index, 2.5)
                return x
            return change

        for name, ufunc in (("add", np.add), ("multiply", np.multiply), ("min", np.minimum), ("max", np.maximum)):
            for seed in range(3 * COUNT, 3 * COUNT + COUNT // 4):
                drawn = RandomIndex(seed)
                index = drawn.given()
                if any(isinstance(each, bool) for each in (index if isinstance(index, tuple) else (index,))):
                    continue  # ufunc.at does not support them
                self.compare(seed, by(ufunc), lambda x, i: getattr(x.at[i], name)(2.5))


class ByHand(unittest.TestCase):
    def test_every_kind(self):
        array = numbers((3, 4, 5))
        x = plait.asarray(array)
        mask = array[:, :, 0] > 20
        for index in (0, -1, np.s_[1:], np.s_[::-1], np.s_[1, ::2, None, ..., [0, 3]], np.s_[...], (), None, True, False,
                      [0, 2], [], [True, False, True], np.array(1), np.uint64(1), range(2).start, np.s_[0, ..., 0],
                      np.s_[:, [0, 1], 1:3], np.s_[0, :, [1, 2]], np.s_[[0, 1], :, [1, 2]], mask, np.s_[mask, 2],
                      np.s_[mask, None, ::2], np.s_[[[0], [1]], [1, 2]], np.s_[10**30:, -10**30:], np.s_[:10**30:10**30],
                      np.s_[::-10**30], np.s_[-1:-100:-2], array > 5, ((0, 1), (2, 3))):
            with self.subTest(index=index):
                np.testing.assert_array_equal(x[index].numpy(), np.asarray(array[index]), strict=True)

    def test_numbers_that_are_no_arrays(self):
        x = plait.arange(5)
        self.assertEqual(x[plait.asarray(2)].item(), 2)
        self.assertEqual(x[np.int8(-1)].item(), 4)
        self.assertEqual(x[plait.asarray([4, 0], plait.u8)].numpy().tolist(), [4, 0])
        self.assertEqual([int(each) for each in x], [0, 1, 2, 3, 4])
        a, b = plait.asarray([[1, 2], [3, 4]])
        self.assertEqual((a.numpy().tolist(), b.numpy().tolist()), ([1, 2], [3, 4]))

    def test_integers_and_slices_are_views(self):
        array = numbers((4, 5))
        x = plait.asarray(array)
        for index in (0, np.s_[1:, ::2], np.s_[..., None, 1], np.s_[::-1], np.int64(2)):
            self.assertTrue(np.shares_memory(x[index].numpy(), array))
        self.assertFalse(np.shares_memory(x[[0, 1]].numpy(), array))

    def test_refusals(self):
        x = plait.zeros((2, 3))
        for kind, own, index in ((IndexError, plait.IndexError, 2), (IndexError, plait.IndexError, np.s_[0, -4]),
                                 (IndexError, plait.IndexError, np.s_[0, 0, 0]), (IndexError, plait.IndexError, 10**30),
                                 (IndexError, plait.IndexError, [0, 2]), (IndexError, plait.IndexError, np.s_[..., ...]),
                                 (IndexError, plait.IndexError, [True, False, True]), (ValueError, plait.ValueError, np.s_[::0]),
                                 (TypeError, plait.TypeError, 1.0), (TypeError, plait.TypeError, "a"),
                                 (TypeError, plait.TypeError, [0.5]), (TypeError, plait.TypeError, np.s_[1.0:]),
                                 (ValueError, plait.ShapeError, np.s_[[0, 1], [0, 1, 2]]), (TypeError, plait.TypeError, {})):
            for action in (lambda: x[index], lambda: x.__setitem__(index, 1.0), lambda: x.at[index].add(1.0)):
                with self.subTest(index=index), self.assertRaises(kind) as caught:
                    action()
                self.assertIsInstance(caught.exception, own)
                self.assertIn("indexing_test.py:", caught.exception.location)
            np.testing.assert_array_equal(x.numpy(), np.zeros((2, 3)))

    def test_default_for_what_is_outside(self):
        x = plait.asarray([1.0, 2.0, 3.0])
        self.assertEqual(x.at[[0, 5, -1, -4]].get(default=-1).numpy().tolist(), [1, -1, 3, -1])
        self.assertEqual(x.at[[0, 2]].get().numpy().tolist(), [1, 3])
        with self.assertRaises(IndexError):
            x.at[[0, 5]].get()

    def test_changes_give_new_tensors(self):
        x = plait.asarray([1.0, 2.0, 3.0])
        self.assertEqual(x.at[1].set(9).numpy().tolist(), [1, 9, 3])
        self.assertEqual(x.at[[0, 0]].add(plait.asarray([1.0, 1.0])).numpy().tolist(), [3, 2, 3])
        self.assertEqual(x.at[x > 1].multiply(2).numpy().tolist(), [1, 4, 6])
        self.assertEqual(x.at[:2].min(1.5).numpy().tolist(), [1, 1.5, 3])
        self.assertEqual(x.at[..., None].max(2).numpy().tolist(), [2, 2, 3])
        self.assertEqual(x.numpy().tolist(), [1, 2, 3])


class Assignment(unittest.TestCase):
    def test_views_keep_their_numbers(self):
        x = plait.asarray(numbers((3, 4))) + 0
        row, array, copy = x[1], x.numpy(), x + 0
        x[1] = 7
        x[0, ::2] = plait.asarray([8.0, 9.0])
        np.testing.assert_array_equal(x.numpy(), [[8, 1, 9, 3], [7, 7, 7, 7], [8, 9, 10, 11]])
        np.testing.assert_array_equal(row.numpy(), [4, 5, 6, 7])
        for kept in (array, copy.numpy()):
            np.testing.assert_array_equal(kept, numbers((3, 4)))

    def test_arrays_of_numpy_are_not_written(self):
        array = numbers((3, 4))
        x = plait.asarray(array)
        x[...] = 0
        np.testing.assert_array_equal(array, numbers((3, 4)))
        np.testing.assert_array_equal(x.numpy(), np.zeros((3, 4)))

    def test_is_in_place_where_nobody_else_looks(self):
        x = plait.zeros((1000, 1000)) + 1
        address = x._array_interface()["data"][0]
        for i in range(100):
            x[i] = i
        self.assertEqual(x._array_interface()["data"][0], address)
        held = x[0]
        x[0] = 5
        self.assertNotEqual(x._array_interface()["data"][0], address)
        self.assertEqual(held.numpy()[0], 0)

    def test_other_names_of_the_object_see_it(self):
        x = plait.zeros(3) + 0
        y = x
        y[1] = 2
        self.assertEqual(x.numpy().tolist(), [0, 2, 0])
        self.assertEqual(len({x, y}), 1)
        before = hash(x)
        x[0] = 1
        self.assertEqual(hash(x), before)

    def test_with_itself(self):
        x = plait.arange(4) + 0
        x[::-1] = x
        self.assertEqual(x.numpy().tolist(), [3, 2, 1, 0])
        x[x > 1] += 10
        self.assertEqual(x.numpy().tolist(), [13, 12, 1, 0])
        x[[0, 1]] = x[[1, 0]]
        self.assertEqual(x.numpy().tolist(), [12, 13, 1, 0])

    def test_refused_values_change_nothing(self):
        x = plait.arange(4) + 0
        for kind, value in ((TypeError, 1.5), (ValueError, plait.arange(2)), (TypeError, "a"), (TypeError, None)):
            with self.assertRaises(kind):
                x[1:] = value
            self.assertEqual(x.numpy().tolist(), [0, 1, 2, 3])

    def test_in_a_trace(self):
        def function(x, i):
            y = x * 1
            y[0] = 5
            y[i, 1:] = x[i, :-1]
            return y.at[i].add(x[0])

        x, i = plait.asarray(numbers((3, 3))), plait.asarray([2, 1])
        program = plait.trace(function)(x, i)
        np.testing.assert_array_equal(program(x, i).numpy(), function(x, i).numpy())
        self.assertEqual(x.numpy()[0, 0], 0)

    def test_symbolic_sizes_as_indices(self):
        program = plait.trace(lambda x: x[x.shape[0] - 1, :x.shape[1] - 1])(plait.Spec("f64[n, m]"))
        for shape in ((1, 2), (4, 5)):
            np.testing.assert_array_equal(program(numbers(shape)).numpy(), numbers(shape)[-1, :-1])


if __name__ == "__main__":
    unittest.main()
