"""NumPy's functions of tensors: Plait's function computes if the tensor is differentiated or recorded; otherwise
NumPy's does."""

import inspect
import unittest

import numpy as np
import plait as pl
import scipy.special
from plait.inside.arrays import numpy_functions

X = np.array([[0.5, -1.25, 2.0], [1.5, 0.75, -0.5]])
V = np.array([0.3, 1.1, 0.7])
S = np.array([[2.0, 0.5], [0.25, 1.5]])
I = np.array([[3, -1, 2], [0, 5, 4]])  # noqa: E741

# By NumPy's name: (arguments, keywords); arrays among them become tensors.
CALLS = {
    "sum": [((X,), {}), ((X, 1), {"keepdims": True}), ((I,), {"axis": 0}), ((X > 0,), {})],
    "prod": [((X,), {"axis": -1}), ((I,), {})], "mean": [((X,), {}), ((X,), {"axis": 0}), ((I, 1), {})],
    "average": [((X,), {}), ((X, 1), {"weights": V}), ((X,), {"weights": X * X})],
    "var": [((X,), {"ddof": 1}), ((X, 0), {}), ((I,), {})], "std": [((X, 1), {"ddof": 1, "keepdims": True})],
    "median": [((X,), {}), ((X, 1), {})], "quantile": [((X, 0.3), {}), ((X, 0.3), {"axis": 1})], "percentile": [((X, 30), {"axis": 0})],
    "max": [((X,), {"axis": 1})], "amax": [((X,), {})], "min": [((X,), {"axis": 1, "keepdims": True})], "amin": [((X,), {})],
    "ptp": [((X, 1), {})], "all": [((X, 1), {})], "any": [((X,), {"axis": 0})], "argmax": [((X, 1), {})], "argmin": [((X,), {})],
    "count_nonzero": [((X,), {"axis": 1})], "nansum": [((X, 1), {})], "nanmean": [((X, 1), {})], "nanmax": [((X, 1), {})],
    "nanmin": [((X, 1), {})], "cumsum": [((X,), {}), ((X,), {"axis": 1}), ((I,), {"axis": 0})], "cumprod": [((X, 0), {})],
    "diff": [((X,), {}), ((X,), {"n": 2, "axis": 1}), ((X,), {"axis": 0})], "concatenate": [(([X, X * 2],), {"axis": 1}), (((V, V),), {})],
    "stack": [(([X, X],), {}), (([V, V],), {"axis": -1})], "hstack": [(([X, X],), {}), (([V, V],), {})], "vstack": [(([V, V],), {})],
    "dstack": [(([X, X],), {})], "column_stack": [(([V, V],), {})], "split": [((X, 3), {"axis": 1}), ((V, [1, 2]), {})],
    "reshape": [((X, (3, -1)), {})], "ravel": [((X,), {})], "transpose": [((X,), {}), ((X, (1, 0)), {})], "permute_dims": [((X, (1, 0)), {})],
    "matrix_transpose": [((X,), {})], "moveaxis": [((X, 0, 1), {})], "swapaxes": [((X, 0, 1), {})],
    "squeeze": [((X[None],), {}), ((X[None, :, None],), {"axis": 0})], "expand_dims": [((X, 1), {}), ((X, (0, -1)), {})],
    "broadcast_to": [((V, (2, 3)), {})], "broadcast_arrays": [((X, V), {})], "atleast_1d": [((X,), {})], "atleast_2d": [((V,), {})],
    "atleast_3d": [((X,), {})], "flip": [((X,), {}), ((X, 0), {})], "fliplr": [((X,), {})], "flipud": [((X,), {})],
    "roll": [((X, 1), {}), ((X, 1), {"axis": 0})], "rot90": [((X,), {}), ((X,), {"k": 2})], "tile": [((V, 2), {}), ((X, (2, 1)), {})],
    "repeat": [((X, 2), {}), ((X, 2), {"axis": 0})], "pad": [((X, 1), {}), ((X, ((1, 0), (0, 2))), {}), ((V, (1, 2)), {"mode": "edge"}),
                                                             ((X, (1, 2)), {"constant_values": 3.0}), ((X, ((1, 2),)), {})],
    "take": [((V, [0, 2]), {}), ((X, [1, 0]), {"axis": 1})], "take_along_axis": [((X, np.array([[0], [2]]), 1), {})],
    "diag": [((V,), {}), ((S,), {})], "diagonal": [((X,), {}), ((X,), {"offset": 1}), ((X[None] * V[:, None, None], 0, 0, 2), {})],
    "trace": [((S,), {}), ((X, 1), {})], "tril": [((X,), {})], "triu": [((X, 1), {})], "where": [((X > 0, X, 0.0), {}), ((X > 0,), {})],
    "nonzero": [((X > 0,), {})], "clip": [((X, 0, 1), {}), ((X,), {"a_min": 0, "a_max": None}), ((X,), {"max": 0.5})],
    "round": [((X,), {}), ((X, 1), {})], "around": [((X,), {})], "sort": [((X,), {}), ((X, 0), {}), ((X,), {"axis": None})],
    "argsort": [((X,), {})], "dot": [((X, V), {}), ((V, V), {}), ((X, X.T), {}), ((2.0, V), {})], "vdot": [((V, V), {}), ((X, X * 1j), {})],
    "inner": [((V, V), {})], "outer": [((V, V), {}), ((X, V), {})], "kron": [((S, S), {})], "tensordot": [((X, X, 2), {}), ((X, X, ([0], [0])), {})],
    "einsum": [(("ij,j->i", X, V), {})], "interp": [((V, np.array([0.0, 1.0, 2.0]), V * 3), {})],
    "trapezoid": [((X,), {}), ((X, V), {}), ((X,), {"dx": 0.5, "axis": 0})], "real": [((X + 1j * X,), {})], "imag": [((X + 1j * X,), {})],
    "angle": [((X + 1j * X,), {})], "sinc": [((X,), {})], "i0": [((V,), {})], "isclose": [((X, X + 1e-9), {}), ((X, X + 1e-3), {"rtol": 1})],
    "allclose": [((X, X), {})], "array_equal": [((X, X), {})], "nan_to_num": [((X / (X - 0.5),), {"posinf": 3.0})], "zeros_like": [((X,), {})],
    "ones_like": [((I,), {})], "full_like": [((X, 3.0), {})], "copy": [((X,), {})], "shape": [((X,), {})], "ndim": [((X,), {})],
    "size": [((X,), {}), ((X, 1), {})], "iscomplexobj": [((X,), {})], "isrealobj": [((X,), {})], "cov": [((X,), {}), ((X,), {"ddof": 0})],
    "corrcoef": [((X,), {})],
    "linalg.norm": [((X,), {}), ((V, 1), {}), ((V, np.inf), {}), ((X,), {"axis": 1}), ((X, "fro"), {}), ((X, "nuc"), {}), ((X, 2), {}),
                    ((X, 1), {"keepdims": True}), ((X[None] * V[:, None, None], 2, (2, 0)), {})],
    "linalg.solve": [((S, V[:2]), {}), ((S, X), {})], "linalg.det": [((S,), {})], "linalg.inv": [((S,), {})], "linalg.slogdet": [((S,), {})],
    "linalg.cholesky": [((S @ S.T,), {})], "linalg.pinv": [((X,), {})], "linalg.eigh": [((S + S.T,), {})], "linalg.eigvalsh": [((S + S.T,), {})],
    "linalg.eig": [], "linalg.eigvals": [], "linalg.qr": [((X.T,), {})], "linalg.svd": [((X,), {"full_matrices": False})],
    "linalg.svdvals": [((X,), {})], "linalg.vector_norm": [((X,), {"axis": 1})], "linalg.matrix_norm": [((X,), {})],
    "linalg.matrix_power": [((S, 3), {})], "linalg.multi_dot": [(([S, S, X],), {})], "linalg.trace": [((S,), {})],
    "linalg.outer": [((V, V), {})], "linalg.diagonal": [((S,), {})], "linalg.cross": [((V, X), {})], "linalg.matmul": [((X, V), {})],
    "fft.fft": [((X,), {}), ((X, 4), {"axis": 0})], "fft.ifft": [((X,), {"norm": "ortho"})], "fft.rfft": [((X,), {})],
    "fft.irfft": [((X,), {"n": 4})], "fft.hfft": [((X,), {})], "fft.ihfft": [((X,), {})],
}
UP_TO_SIGN = {"linalg.eigh", "linalg.qr", "linalg.svd"}  # compared up to the sign of each column


def replaced(tree, replace):
    if isinstance(tree, np.ndarray):
        return replace(tree)
    if isinstance(tree, (list, tuple)):
        return type(tree)(replaced(each, replace) for each in tree)
    return {name: replaced(each, replace) for name, each in tree.items()} if isinstance(tree, dict) else tree


def tensors_of(tree):
    return [each for each in pl.tree.leaves(tree) if isinstance(each, pl.Tensor)]


def arrays_in(tree):
    found = []
    replaced(tree, found.append)
    return found


def numpys(name):
    return eval(f"np.{name}")  # noqa: S307


def parts(result):
    """The results of a NumPy or Plait function, as arrays."""
    if isinstance(result, (list, tuple)):
        return [part for each in result for part in parts(each)]
    return [result.numpy() if isinstance(result, pl.Tensor) else np.asarray(result)]


class Functions(unittest.TestCase):
    def check(self, name, found, wanted):
        found, wanted = parts(found), parts(wanted)
        self.assertEqual(len(found), len(wanted))
        for ours, theirs in zip(found, wanted):
            self.assertEqual((ours.shape, ours.dtype), (theirs.shape, theirs.dtype))
            both = (np.abs(ours), np.abs(theirs)) if name in UP_TO_SIGN else (ours, theirs)
            np.testing.assert_allclose(*both, rtol=1e-9, atol=1e-12)

    def test_each_one_has_calls(self):
        self.assertEqual(set(CALLS), set(numpy_functions.FUNCTIONS))

    def test_parameters_are_numpys(self):
        for name, function in numpy_functions.FUNCTIONS.items():
            try:
                theirs = inspect.signature(numpys(name)).parameters
            except ValueError:  # implemented in C
                continue
            if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in theirs.values()):
                continue
            for each in inspect.signature(function).parameters:
                self.assertIn(each, theirs, name)

    def test_values_under_a_derivative_and_recorded(self):
        for name, calls in CALLS.items():
            for arguments, keywords in calls:
                with self.subTest(f"{name}{inspect.getfullargspec(numpy_functions.FUNCTIONS[name]).args}, {keywords}"):
                    function = numpys(name)
                    wanted = function(*arguments, **keywords)
                    arrays = arrays_in((arguments, keywords))
                    found = []

                    def of(tensors):
                        left = iter(tensors)
                        return function(*replaced(arguments, lambda _: next(left)), **replaced(keywords, lambda _: next(left)))

                    def run(tensors):
                        found.append(of(tensors))
                        return tensors_of(found[-1])

                    tensors = [pl.asarray(each) for each in arrays]
                    self.check(name, function(*replaced(arguments, pl.asarray), **replaced(keywords, pl.asarray)), wanted)
                    pl.vjp(run, tensors)
                    self.check(name, found[-1], wanted)
                    if name not in ("shape", "ndim", "size", "iscomplexobj", "isrealobj", "nonzero", "allclose") and len(arguments) > 0:
                        if name == "where" and len(arguments) == 1:
                            continue
                        self.check(name, pl.trace(lambda *tensors: tensors_of(of(tensors)))(*tensors)(*tensors), wanted)

    def test_derivatives(self):
        for function, x in [(np.mean, X), (lambda x: np.sum(np.concatenate([x, x * x])), X), (np.linalg.norm, X), (np.std, X),
                            (lambda x: np.sum(np.exp(x) * np.arctan2(x, 2.0)), X), (lambda x: np.sum(np.where(x > 0, x * x, x)), X),
                            (lambda x: np.add.reduce(np.multiply.accumulate(x, axis=1), axis=(0, 1)), X),
                            (lambda x: np.sum(np.cumsum(x) * np.sort(x, axis=None)), X), (lambda x: np.linalg.det(x @ x), S)]:
            found = pl.grad(function)(pl.asarray(x)).numpy()
            wanted = np.zeros_like(x)
            for place in np.ndindex(*x.shape):
                ahead, behind = x.copy(), x.copy()
                ahead[place] += 1e-6
                behind[place] -= 1e-6
                wanted[place] = (function(ahead) - function(behind)) / 2e-6
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose(pl.jit(pl.grad(function))(pl.asarray(x)).numpy(), found, rtol=1e-12, atol=1e-15)
            np.testing.assert_allclose(pl.grad(pl.jit(function))(pl.asarray(x)).numpy(), found, rtol=1e-12, atol=1e-15)
            np.testing.assert_allclose(pl.vmap(pl.grad(function))(pl.asarray(x[None])).numpy()[0], found, rtol=1e-12, atol=1e-15)


class Elementwise(unittest.TestCase):
    def test_each_one(self):
        x = pl.asarray(np.array([0.3, 0.6, 0.9]))
        for name, ours in numpy_functions.ufuncs().items():
            function = getattr(np, name, None)
            function = function if isinstance(function, np.ufunc) else getattr(scipy.special, name)
            if function.nin > 1 and name in ("left_shift", "right_shift", "bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm", "ldexp"):
                operands = [np.array([4, 6, 9]), np.array([1, 2, 3])]
                operands[0] = operands[0].astype(float) if name == "ldexp" else operands[0]
            elif name == "invert":
                operands = [np.array([4, 6, 9])]
            else:
                operands = [np.array([0.3, 0.6, 0.9]) + 0.5 * i for i in range(function.nin)]
                operands[0] = operands[0] + 1 if name == "arccosh" else operands[0]
            with self.subTest(name):
                for tensors in operands, [pl.asarray(each) for each in operands], [*operands[:-1], pl.asarray(operands[-1])]:
                    found, wanted = function(*tensors), function(*operands)
                    for each, other in zip(parts(found), parts(wanted)):
                        np.testing.assert_allclose(each, other, rtol=1e-9)
                    self.assertEqual(any(isinstance(each, pl.Tensor) for each in tensors),
                                     isinstance(found[0] if name == "divmod" else found, pl.Tensor))
        self.assertIsInstance(np.exp(x), pl.Tensor)

    def test_arrays_on_the_left(self):
        x = pl.asarray(V)
        for array in V, np.float64(2), np.float32(2), np.arange(3):
            for result in array * x, array - x, array < x, array + x:
                self.assertIsInstance(result, pl.Tensor)
        np.testing.assert_array_equal(pl.grad(lambda x: pl.sum(V * x))(x), V)

    def test_written_to(self):
        x, total = pl.asarray(V), np.zeros(3)
        kept = total
        total += x
        np.testing.assert_array_equal(kept, V)
        np.add(x, x, out=kept)
        np.testing.assert_array_equal(kept, V + V)
        with self.assertRaisesRegex(pl.TypeError, "write into a tensor"):
            np.add(x, x, out=x)

        def loss(x):
            total = np.zeros(3)
            total += x * x
            return np.sum(total)

        np.testing.assert_allclose(pl.grad(loss)(x), 2 * V)
        with self.assertRaisesRegex(pl.TypeError, "numpy.add.*differentiated"):
            pl.grad(lambda x: np.sum(np.add(x, x, out=np.zeros(3))))(x)

    def test_ufunc_at(self):
        x, total = pl.ones(2), np.zeros(2)
        for of, hint in [(np.add, r"x\.at\[index\]\.add\(value\)"), (np.subtract, r"x\.at\[index\]\.add\(-value\)"),
                         (np.maximum, r"x\.at\[index\]\.max\(value\)"), (np.hypot, r"x\.at\[index\]\.set\(value\)")]:
            for write in of.at, pl.jit(lambda x, *rest: of.at(x, *rest)):
                with self.subTest(of), self.assertRaisesRegex(pl.TypeError, f"(?s){of.__name__}.at: NumPy cannot write into a tensor.*{hint}"):
                    write(x, [0], 1)
        with self.assertRaisesRegex(pl.TypeError, "negative.at"):
            np.negative.at(x, [0])
        np.testing.assert_array_equal(x, [1, 1])
        np.add.at(total, [0, 0], x)
        np.testing.assert_array_equal(total, [2, 0])

    def test_ufunc_methods(self):
        array = np.array([[1.0, 2.0], [3.0, 5.0]])
        x = pl.asarray(array)
        for function in (lambda x: np.add.reduce(x), lambda x: np.add.reduce(x, axis=(0, 1), keepdims=True), lambda x: np.subtract.reduce(x),
                         lambda x: np.add.reduce(x, initial=3.0), lambda x: np.maximum.reduce(x, 1, initial=4.0, where=array > 1),
                         lambda x: np.add.reduce(x, dtype="f4"), lambda x: np.add.accumulate(x, 1), lambda x: np.maximum.accumulate(x),
                         lambda x: np.multiply.outer(x, x), lambda x: np.add.reduceat(x, [0, 1], 1), lambda x: np.add.reduce(x, out=np.zeros(2))):
            np.testing.assert_array_equal(function(x), function(array))
        for write in (lambda x: np.add.reduce(array, out=x), lambda x: np.add.accumulate(array, out=x),
                      lambda x: np.add.reduceat(array, [0, 1], out=x), lambda x: np.modf(array, out=(None, x))):
            with self.assertRaisesRegex(pl.TypeError, "write into a tensor"):
                write(x)
        for function in (lambda x: np.add.reduce(x, initial=3.0), lambda x: np.multiply.outer(x, x), lambda x: np.add.reduceat(x, [0])):
            with self.assertRaisesRegex(pl.TypeError, "differentiated"):
                pl.grad(lambda x: np.sum(function(x)))(x)


class Refused(unittest.TestCase):
    def test_what_would_cut_a_derivative(self):
        x = pl.asarray(V)
        for function, words in [(lambda x: np.convolve(x, x), "numpy.convolve"), (lambda x: np.sum(x, where=V > 0.5), "numpy.sum.*where"),
                                (np.asarray, "NumPy array"), (lambda x: np.r_[x, 1.0], "NumPy array"), (np.spacing, "numpy.spacing"),
                                (lambda x: np.array([x, x]), "NumPy array"), (np.unwrap, "numpy.unwrap")]:
            for way in pl.grad, lambda f: pl.jit(pl.grad(f)), lambda f: pl.grad(pl.jit(f)):
                with self.subTest(words), self.assertRaisesRegex(pl.TypeError, f"(?s){words}.*stop_gradient"):
                    way(lambda x: pl.sum(pl.asarray(function(x))))(x)
        for way in pl.grad, lambda f: pl.jit(pl.grad(f)), lambda f: pl.grad(pl.jit(f)):
            self.assertRaisesRegex(BufferError, "being differentiated", way(lambda x: pl.sum(pl.asarray(np.from_dlpack(x)))), x)
        leaf = pl.asarray(V).requires_grad()
        with self.assertRaisesRegex(pl.TypeError, r"f64\[3\]: this would interrupt"):
            np.asarray(leaf * 2)

    def test_classes_of_numpy(self):
        """Their methods make arrays of their arguments: the error names them, what to use instead, and the user's line."""
        x = pl.asarray(V)
        for function, words in [(lambda x: np.r_[x, x], r"numpy\.r_: .*plait\.concat"), (lambda x: np.c_[x, x], r"numpy\.c_: .*plait\.stack"),
                                (np.vectorize(lambda a: a + 1), r"numpy\.vectorize: .*plait\.vmap"),
                                (lambda x: np.apply_along_axis(lambda a: a, 0, x), r"numpy\.apply_along_axis: .*plait\.vmap")]:
            with self.subTest(words), self.assertRaisesRegex(pl.TypeError, f"(?s){words}") as raised:
                pl.grad(lambda x: pl.sum(function(x)))(x)
            self.assertIn("numpy_functions_test.py:", raised.exception.location)

    def test_what_asks_for_numbers(self):
        x = pl.asarray(V)
        self.assertEqual(pl.grad(lambda x: x[0] * x[1].item() + x[2] * float(np.mean(x.numpy())))(x).tolist()
                         if hasattr(x, "tolist") else [1.1, 0.0, float(np.mean(V))], [1.1, 0.0, float(np.mean(V))])
        np.testing.assert_array_equal(pl.grad(lambda x: pl.sum(x * np.spacing(pl.stop_gradient(x))))(x), np.spacing(V))
        with pl.no_grad():
            self.assertEqual(np.asarray(pl.asarray(V).requires_grad() * 2).tolist(), (V * 2).tolist())

    def test_numbers_are_numpys(self):
        x = pl.asarray(V)
        self.assertIsInstance(np.mean(x), np.float64)
        self.assertIsInstance(np.concatenate([x, x]), np.ndarray)
        np.testing.assert_array_equal(np.r_[x, 1.0], np.r_[V, 1.0])
        np.testing.assert_array_equal(np.convolve(x, x), np.convolve(V, V))
        np.testing.assert_allclose(pl.jit(lambda x: x * np.convolve(x, x)[0])(x), V * V[0] ** 2)  # a read
        np.testing.assert_allclose(np.cbrt(x), np.cbrt(V))

    def test_lists_that_hold_tensors(self):
        found = pl.grad(lambda x: pl.sum(pl.asarray([[x[0], x[1] * 2], [x[2], 1.0]])))(pl.asarray(V))
        np.testing.assert_array_equal(found, [1, 2, 1])
        self.assertEqual(pl.asarray([pl.asarray(V)[0], 1.0]).dtype, pl.f64)

    def test_copies_are_followed(self):
        import copy

        for function in pl.tensor, pl.array, copy.copy, copy.deepcopy, lambda x: pl.asarray(x, copy=True), lambda x: pl.tensor([x[0], x[1]]):
            for way in lambda f: f, pl.jit:
                self.assertEqual(way(pl.grad(lambda x: pl.sum(function(x))))(pl.asarray(V))[0].item(), 1)
        self.assertEqual(pl.stats(jitted := pl.jit(lambda x: pl.array([x[0], 1.0]))).traces, 0)
        for x in V, 2 * V:
            np.testing.assert_array_equal(jitted(pl.asarray(x)), [x[0], 1.0])
        self.assertEqual((pl.stats(jitted).traces, pl.stats(jitted).host_runs), (1, 0))


class ConstantResults(unittest.TestCase):
    def test_have_zero_for_a_tangent(self):
        for way in (lambda f: pl.jvp(f, (2.0,), (1.0,)), lambda f: (lambda value, along: (value, along(1.0)))(*pl.linearize(f, 2.0)),
                    lambda f: pl.jit(lambda x: pl.jvp(f, (x,), (x,)))(pl.asarray(2.0))):
            value, tangent = way(lambda x: 1.5)
            self.assertEqual((value.item(), tangent.item(), tangent.dtype, tangent.shape), (1.5, 0.0, pl.f32, ()))
            value, tangent = way(lambda x: {"a": (x * 0 + 3, 2.0), "b": [1j, pl.ones(3)], "n": 7, "s": "text"})
            self.assertEqual((tangent["a"][1].item(), tangent["b"][0].item(), tangent["n"], tangent["s"]), (0, 0, None, "text"))
            self.assertEqual((tangent["b"][0].dtype, tangent["b"][1].shape, value["n"].item()), (pl.c64, (3,), 7))
            self.assertEqual(way(lambda x: 1)[1], None)
        _, pull = pl.vjp(lambda x: (x * x, 2.0), 3.0)
        self.assertEqual(pull((1.0, 1.0))[0].item(), 6)


if __name__ == "__main__":
    unittest.main()
