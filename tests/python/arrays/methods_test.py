"""Methods of tensors, each compared with NumPy's or PyTorch's: eagerly, in a trace, under vmap and grad; PyTorch's
keywords beside NumPy's; sizes without brackets; and calls that are refused because the result would differ."""

import builtins
import inspect
import pickle
import unittest
import warnings

import numpy as np
import plait as pl
import torch

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(3, 4)) * 2
Y = RANDOM.normal(size=(3, 4))
V = RANDOM.normal(size=4)
SQUARE = RANDOM.normal(size=(3, 3))
UNIT = RANDOM.uniform(0.1, 0.9, size=(3, 4))
MASK = X > 0
INDEX = np.array([[1, 0, 3, 2], [2, 2, 0, 1], [3, 1, 1, 0]])
CUBE = RANDOM.normal(size=(2, 3, 4))
INTEGERS = RANDOM.integers(1, 9, size=(3, 4))
FLAGS = RANDOM.integers(0, 2, size=(3, 4)).astype(bool)

# Calls with the same meaning for a PyTorch tensor: the data, and the text after x.
OF_TORCH = {
    "X": """abs() angle() arctan() conj() deg2rad() fix() frac() isfinite() isinf() isnan() isreal() logical_not() neg() positive() rad2deg() round(decimals=2) sgn()
        signbit() sinc() nan_to_num()
        clamp(0) clamp(min=-1,max=1) clamp(max=0.5) clip(-1,1) clamp_min(0.5) clamp_max(0.5)
        sum() sum(0) sum(dim=1) sum(dim=1,keepdim=True) sum(dim=(0,1)) mean() mean(1) mean(dim=0,keepdim=True) prod() prod(1) prod(dim=0)
        max() min() amax(dim=1) amin(dim=(0,1)) argmax() argmin() argmax(1) argmax(dim=0) argmin(dim=1,keepdim=True) std(dim=1,correction=1)
        std(dim=0,correction=0,keepdim=True) var(dim=1,correction=0) var(correction=1) any() all() any(dim=1) all(1) count_nonzero() count_nonzero(dim=1)
        logsumexp(1) logsumexp(dim=0,keepdim=True) norm() norm(1) norm(p=2,dim=1) nansum() nanmean(dim=1) quantile(0.3,dim=1) cov() corrcoef()
        cumsum(0) cumsum(dim=1) cumprod(dim=0) logcumsumexp(1) diff() diff(dim=0)
        softmax(1) softmax(dim=0) log_softmax(dim=-1)
        flatten() flatten(1) flatten(start_dim=0,end_dim=1) ravel() reshape(2,6) reshape(-1) reshape((6,2)) view(4,3) view(-1) t() T mT mH H
        transpose(1,0) transpose(-1,0) permute(1,0) permute((1,0)) permute(dims=(1,0)) swapaxes(0,1) swapdims(0,1) movedim(0,1) moveaxis(1,0)
        unsqueeze(0) unsqueeze(-1) unsqueeze(dim=1) squeeze() flip(0) flip(0,1) flip((0,1)) roll(1) roll(2,1) roll(shifts=1,dims=0) rot90() rot90(k=2)
        unflatten(1,(2,2)) tile(2,3) tile((2,1)) tril() tril(1) triu() triu(-1) diagonal() diagonal(1) diag() broadcast_to((2,3,4)) expand(2,3,4)
        expand(2,-1,4) expand((2,3,4)) repeat_interleave(2,dim=1) repeat_interleave(2) narrow(1,1,2) narrow(dim=0,start=1,length=2) select(1,2) unbind()
        unbind(dim=1) chunk(2) chunk(chunks=2,dim=1) contiguous() clone() detach() cpu() argsort() argsort(dim=0) argsort(descending=True) argwhere()
        topk(2) topk(k=2,dim=0) topk(2,largest=False) masked_fill(M,0.5) masked_select(M) gather(1,I) gather(dim=1,index=I) take(I) take_along_dim(I,1)
        index_select(0,K) index_select(dim=1,index=K) scatter(1,I,Y) scatter(dim=1,index=I,src=Y) scatter_add(1,I,Y) index_add(0,K3,Y)
        add(Y) sub(Y) subtract(1) mul(Y) multiply(2) div(Y) divide(2) true_divide(Y) floor_divide(Y) remainder(Y) fmod(Y) pow(2) float_power(2)
        eq(Y) ne(Y) lt(Y) le(Y) gt(Y) ge(Y) less(Y) greater_equal(0) not_equal(Y) maximum(Y) minimum(Y) atan2(Y) arctan2(Y) copysign(Y) hypot(Y)
        nextafter(Y) logaddexp(Y) logaddexp2(Y) lerp(Y,0.3) addcmul(Y,Y) addcmul(Y,Y,value=0.5) addcdiv(Y,Y) isclose(Y) heaviside(Y) where(M,Y)
        logical_and(Y) logical_or(Y) logical_xor(Y) mm(Y.T) matmul(Y.T) mv(V) matmul(V) inner(Y) kron(Y) addmm(S3,Y) xlogy(Y*Y)
        double() float() half() bfloat16() int() long() short() char() bool() type_as(I) to(I) is_floating_point() is_complex() dim() ndimension()
        numel() nelement() element_size() tolist() nbytes itemsize new_zeros(2,3) new_ones((2,3)) new_full((2,),3.0) view_as(Y.T.contiguous())
        reshape_as(Y.T) expand_as(Y[None])""",
    "U": """arccos() arcsin() arctanh() logit() xlogy(U) polygamma(1) igamma(U) igammac(U)""",
    "A": """det() inverse() pinverse() matrix_power(3) matrix_exp() trace() slogdet() diag() tril()""",
    "V": """dot(V) outer(V) ger(V) diag() cumsum(0) flip(0) unsqueeze(1) argsort() searchsorted""".replace(" searchsorted", ""),
    "C": """bmm(C.mT) baddbmm(C,E) transpose(1,2) transpose(dim0=0,dim1=2) permute(2,0,1) mT flatten(1) flatten(0,1) sum(dim=(0,2)) unbind(1) select(1,0)""",
    "I": """bitwise_and(I) bitwise_or(I) bitwise_xor(I) bitwise_not() bitwise_left_shift(I) bitwise_right_shift(I) gcd(I) lcm(I) remainder(I) floor_divide(I) float()
        sum() prod(1) bincount_""".replace("bincount_", ""),
    "B": """logical_not() bitwise_not() any(1) all(1) sum() long()""",
}
for name, each in pl.ops().items():
    if each.elementwise != "no" and each.most_operands == 1 and pl.f64 in each.takes and hasattr(pl.Tensor, name) and hasattr(torch.Tensor, name):
        for operand in "XU":
            OF_TORCH[operand] += f" {name}()"
# The same for a NumPy array.
OF_NUMPY = {
    "X": """all() any(axis=1) argmax(1) argmin(axis=0,keepdims=True) argsort() argsort(0) astype('float32') clip(0,1) clip(max=0) conj() conjugate() copy()
        cumprod() cumprod(1) cumsum() cumsum(axis=1) diagonal() diagonal(1) dot(V) dot(Y.T) flatten() max() max(axis=1) mean() mean(axis=1) mean(0,keepdims=True)
        min(axis=0) nbytes itemsize nonzero() prod() prod(axis=1) ravel() real imag reshape(2,6) reshape((4,3)) reshape(-1) repeat(2,axis=0) repeat(2,axis=None) round()
        round(2) round(decimals=-1) size ndim shape squeeze() std() std(axis=1) std(0) std(ddof=1) sum() sum(axis=1) sum(axis=1,keepdims=True) sum((0,1)) swapaxes(0,1)
        take(K) take(K,axis=1) tolist() trace() trace(1) transpose() transpose(1,0) transpose((1,0)) transpose((0,1)) T mT var() var(axis=1,ddof=1) view('int64')""",
    "K4": "searchsorted(V)", "V": "repeat(3,axis=0) dot(V) argpartition(1)[1]",
    "C": "transpose(2,0,1) transpose((1,0,2)) transpose() reshape(2,-1) swapaxes(-1,0) sum(axis=(0,2))",
    "I": "round() sum() mean() max(axis=0) cumsum(1)",
}
GIVEN = {"X": X, "Y": Y, "V": V, "A": SQUARE, "U": UNIT, "M": MASK, "I": INTEGERS, "B": FLAGS, "C": CUBE, "K": np.array([2, 0]), "K3": np.array([2, 0, 1]),
         "E": RANDOM.normal(size=(2, 4, 3)), "S3": RANDOM.normal(size=(3, 3)), "K4": np.sort(RANDOM.normal(size=4))}


def leaves(value):
    if isinstance(value, (tuple, list)) and not (value and isinstance(value[0], (int, float, list))):
        return [leaf for each in value for leaf in leaves(each)]
    if isinstance(value, torch.Tensor):
        return [value.detach().resolve_conj().float().numpy() if value.dtype == torch.bfloat16 else value.detach().resolve_conj().numpy()]
    return [np.asarray(value.astype(pl.f32) if isinstance(value, pl.Tensor) and value.dtype == pl.bf16 else value)]


def calls(table):
    for name, text in table.items():
        for call in text.split():
            yield name, call


def of(library, name, call):
    names = {each: library(value) for each, value in GIVEN.items()}
    names["I"] = library(INDEX) if name == "X" and ("gather" in call or "scatter" in call or "take" in call) else names["I"]
    if "addmm" in call:
        names["X"], names["S3"], names["Y"] = library(SQUARE), library(X), library(Y.T.copy())
    if "baddbmm" in call:
        names["C"], names["E"] = library(CUBE[:, :3, :3].copy()), library(CUBE[:, :3, :3].copy())
    return eval(f"{name}.{call}", {}, names)  # noqa: S307


class ByValue(unittest.TestCase):
    def check(self, mine, theirs, digits=1e-6):
        mine, theirs = leaves(mine), leaves(theirs)
        self.assertEqual(len(mine), len(theirs))
        for a, b in zip(mine, theirs):
            self.assertEqual(a.shape, b.shape)
            np.testing.assert_allclose(a.astype(np.complex128), b.astype(np.complex128), rtol=digits, atol=digits)

    def test_as_pytorch(self):
        for name, call in calls(OF_TORCH):
            with self.subTest(f"{name}.{call}"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                narrow = any(word in call for word in ("half", "bfloat16", "float()"))
                self.check(of(pl.asarray, name, call), of(torch.asarray, name, call), 1e-2 if narrow else 1e-6)

    def test_as_numpy(self):
        for name, call in calls(OF_NUMPY):
            with self.subTest(f"{name}.{call}"):
                self.check(of(pl.asarray, name, call), of(lambda x: x, name, call))


class Ways(unittest.TestCase):
    """Methods of the table behave like their functions when traced, under jit, vmap and grad."""

    def test_traced_and_jitted(self):
        x = pl.asarray(X)
        for f in (lambda x: x.exp().sum(dim=1).mean(), lambda x: x.view(-1).softmax(dim=0), lambda x: x.T.flatten().clamp(0, 1),
                  lambda x: x.split(size=2, axis=1)[0].to(pl.f32).unsqueeze(0), lambda x: x.topk(2, dim=1).values.t()):
            np.testing.assert_allclose(pl.jit(f)(x).numpy(), f(x).numpy(), rtol=1e-6)
            np.testing.assert_allclose(pl.trace(f)(x)(x).numpy(), f(x).numpy(), rtol=1e-6)

    def test_vmap_and_grad(self):
        x = pl.asarray(X)
        np.testing.assert_allclose(pl.vmap(lambda row: row.softmax(0).max())(x).numpy(), torch.from_numpy(X).softmax(1).amax(1).numpy(), rtol=1e-6)
        given = torch.from_numpy(X).requires_grad_()
        (given.tanh().view(-1).std(correction=1) * given.clamp(min=0).sum()).backward()
        found = pl.grad(lambda x: x.tanh().view(-1).std(correction=1) * x.clamp(min=0).sum())(x)
        np.testing.assert_allclose(found.numpy(), given.grad.numpy(), rtol=1e-6)

    def test_symbolic_sizes(self):
        program = pl.trace(lambda x: x.flatten(1).sum(dim=1).view(-1, 1))(pl.Spec("f32[n, 3, 4]"))
        self.assertEqual(program(pl.ones((5, 3, 4))).shape, (5, 1))

    def test_they_are_those_of_the_table(self):
        self.assertEqual(str(inspect.signature(pl.ones(2).sum)).split(" ->")[0], str(inspect.signature(pl.sum)).split(" ->")[0].replace("x: 'ArrayLike', ", ""))
        self.assertIn("clamp", repr(pl.Tensor.clamp))
        self.assertRaisesRegex(pl.TypeError, "did you mean 'axis'", lambda: pl.ones(2).sum(axs=0))
        self.assertRaisesRegex(pl.TypeError, r"x\.softmax\(axis=-1\)", lambda: pl.ones(2).softmax(0, 1))

    def test_numpys_functions_that_call_methods(self):
        self.assertAlmostEqual(float(np.sum(pl.asarray(X))), X.sum())
        self.assertEqual(np.mean(pl.asarray(X), axis=1).shape, (3,))


class Words(unittest.TestCase):
    """dim and keepdim as alternatives to axis and keepdims, in functions of the table and of Python."""

    def test_functions(self):
        x = pl.asarray(X)
        for ours, theirs in ((pl.sum(x, dim=1, keepdim=True), X.sum(1, keepdims=True)), (pl.softmax(x, dim=0), torch.from_numpy(X).softmax(0)),
                             (pl.concat([x, x], dim=1), np.concatenate([X, X], 1)), (pl.flip(x, dims=(0,)), X[::-1]), (pl.cumsum(x, dim=1), X.cumsum(1)),
                             (pl.permute_dims(x, dims=(1, 0)), X.T), (pl.linalg.vector_norm(x, dim=1), np.linalg.norm(X, axis=1)),
                             (pl.cumulative_sum(x, dim=1), X.cumsum(1)), (pl.fft.fft(x, dim=0), np.fft.fft(X, axis=0)), (pl.std(x, ddof=1), X.std(ddof=1)),
                             (pl.random.shuffle(pl.random.key(1), x, dim=0).sum(), X.sum()), (pl.logsumexp(x, dim=1), np.log(np.exp(X).sum(1))),
                             (pl.max(x, axis=1), X.max(1))):
            np.testing.assert_allclose(ours.numpy(), np.asarray(theirs), rtol=1e-6)

    def test_every_function_with_an_axis_takes_dim(self):
        for place in (pl, pl.linalg, pl.fft, pl.random):
            for name, function in vars(place).items():
                if not hasattr(function, "_overloads"):
                    continue
                for signature, _ in function._overloads:
                    if {"axis", "axes"} & set(signature.parameters):
                        with self.subTest(name):
                            with self.assertRaises(pl.TypeError) as caught:
                                function(dim=object())
                            self.assertNotIn("no argument 'dim'", str(caught.exception))

    def test_former_names(self):
        x = pl.asarray(X)
        same = [(pl.layer_norm(x, shape=4, epsilon=0.1), pl.layer_norm(x, 4, eps=0.1)), (pl.leaky_relu(x, slope=0.3), pl.leaky_relu(x, negative_slope=0.3)),
                (pl.linear(x, w=x), pl.linear(x, weight=x)), (pl.hardtanh(x, low=-2.0), pl.hardtanh(x, min_val=-2.0)),
                (pl.batch_norm(x, is_training=True).values, pl.batch_norm(x, training=True).values),
                (pl.embedding(pl.tensor([1, 0]), table=x), pl.embedding(pl.tensor([1, 0]), weight=x)),
                (pl.one_hot(pl.tensor([1]), count=3), pl.one_hot(pl.tensor([1]), num_classes=3)),
                (pl.isclose(x, x + 1e-3, absolute=1e-2), pl.isclose(x, x + 1e-3, atol=1e-2)),
                (pl.cross_entropy(x, pl.tensor([0, 1, 2]), weights=pl.ones(4)), pl.cross_entropy(x, pl.tensor([0, 1, 2]), weight=pl.ones(4)))]
        for former, present in same:
            np.testing.assert_array_equal(former.numpy(), present.numpy())

    def test_sizes_without_brackets(self):
        self.assertEqual(pl.zeros(2, 3).shape, (2, 3))
        self.assertEqual(pl.zeros(2, 3, pl.f64).dtype, pl.f64)
        self.assertEqual(pl.ones(2, 3, dtype=pl.i64).dtype, pl.i64)
        self.assertEqual(pl.zeros(2, pl.f64).shape, (2,))
        self.assertEqual(pl.reshape(pl.ones(6), 2, 3).shape, (2, 3))
        self.assertEqual(pl.permute_dims(pl.ones((2, 3)), 1, 0).shape, (3, 2))
        self.assertEqual(pl.trace(lambda x: pl.zeros(x.shape[0], 2) + x)(pl.Spec("f32[n, 1]"))(pl.ones((4, 1))).shape, (4, 2))
        self.assertEqual(pl.full(2, 3).tolist(), [3, 3])  # a size and a value
        self.assertRaises(builtins.TypeError, lambda: pl.zeros(2, 3, 4.5))


class Refused(unittest.TestCase):
    """Calls that PyTorch and NumPy interpret differently."""

    def test_they_say_both(self):
        x, cube = pl.asarray(X), pl.asarray(CUBE)
        for call, words in ((lambda: x.max(1), "argmax"), (lambda: x.min(dim=0), "argmin"), (lambda: x.max(dim=1, keepdim=True), "axis="),
                            (lambda: pl.max(x, dim=1), "argmax"), (lambda: x.std(dim=1), "correction=1"), (lambda: x.var(keepdim=True), "correction=1"),
                            (lambda: x.transpose(0, 1), "x.T"), (lambda: x.transpose(-2, -1), "x.T"), (lambda: x.repeat(2), "x.tile"),
                            (lambda: x.repeat(2, 3), "x.tile"), (lambda: x.split(2), "size=2"), (lambda: x.sort, "sort_with_indices"),
                            (lambda: x.median, "lower"), (lambda: x.equal, "array_equal"), (lambda: cube.diagonal(), "last two"), (lambda: cube.trace(), "last two"),
                            (lambda: x.cummax(0), "axis=0"), (lambda: x.size(0), r"x\.shape\[0\]"), (lambda: x.type(), "x.dtype"), (lambda: cube.t(), "x.mT"),
                            (lambda: x.expand_as(3), "expand_as: other: expected a tensor, not int"), (lambda: x.view_as([2]), "tensor, not list"),
                            (lambda: pl.Tensor([1.0]), r"plait.tensor"), (lambda: x.to("tpu"), "unknown device 'tpu'")):
            with self.subTest(words), self.assertRaisesRegex(pl.Error, words):
                call()

    def test_names_of_one_meaning_pass(self):
        x = pl.asarray(CUBE)
        np.testing.assert_array_equal(x.transpose(1, 2).numpy(), CUBE.transpose(0, 2, 1))
        np.testing.assert_array_equal(x.max(axis=1).numpy(), CUBE.max(1))
        np.testing.assert_array_equal(x.amax(1).numpy(), CUBE.max(1))


class Attributes(unittest.TestCase):
    def test_size_is_an_int(self):
        size = pl.ones((2, 3)).size
        self.assertIsInstance(size, int)
        self.assertEqual((size, size + 1, repr(size), hash(size), type(size * 2)), (6, 7, "6", hash(6), int))
        self.assertIs(type(pickle.loads(pickle.dumps(size))), int)
        np.testing.assert_array_equal((pl.ones(2) * size).numpy(), [6, 6])
        self.assertEqual(pl.zeros(size).shape, (6,))
        self.assertEqual(pl.jit(lambda x, n: x / n)(pl.ones(2), size).shape, (2,))

    def test_clones_are_on_their_own(self):
        x = pl.tensor([1.0, 2.0])
        y, z = x.clone(), x.copy()
        x[0] = 5
        self.assertEqual((y.tolist(), z.tolist(), x.tolist()), ([1, 2], [1, 2], [5, 2]))

    def test_requires_grad_is_not_assigned_to(self):
        x = pl.ones(2)
        for value, way in ((False, r"plait.nn.freeze\(model, .*x.detach\(\)"), (True, r"x.requires_grad_\(\)")):
            with self.assertRaisesRegex(pl.AttributeError, rf"requires_grad is a method of tensors, which cannot be assigned to[\s\S]*{way}"):
                x.requires_grad = value
        for name in "shape", "colour":
            with self.assertRaises(AttributeError):
                setattr(x, name, 1)

    def test_requires_grad_in_place(self):
        x = pl.tensor([1.0, 2.0])
        self.assertIs(x.requires_grad_(), x)
        (x * x).sum().backward()
        self.assertEqual(x.grad.tolist(), [2, 4])

    def test_formats_and_rounding(self):
        x = pl.tensor(3.14159)
        self.assertEqual((f"{x:.3f}", f"{x:>8.2f}", f"{pl.tensor(7):04d}", f"{pl.tensor([0.5])}", f"{x}"), ("3.142", "    3.14", "0007", "[0.5] : f32[1]", str(x)))
        self.assertAlmostEqual(round(x, 2).item(), 3.14, places=6)
        self.assertEqual((round(pl.tensor(2.5)).item(), pl.jit(lambda x: round(x, 1) * 2)(pl.tensor(0.26)).dtype), (2, pl.f32))
        self.assertEqual(pl.jit(lambda x: f"{x:.1f}")(x), "3.1")
        self.assertRaisesRegex(pl.TypeError, r"f32\[2\] cannot be formatted by '.2f'", lambda: f"{pl.ones(2):.2f}")

    def test_to(self):
        x = pl.ones(2)
        self.assertEqual([x.to(given).dtype for given in (pl.f64, "float64", np.float64, pl.zeros(1, dtype=pl.f64))], [pl.f64] * 4)
        placed = x.to("cpu")
        self.assertIs(placed.to("cpu"), placed)
        self.assertEqual(x.to("cpu", pl.i32).dtype, pl.i32)
        self.assertEqual(x.to(device="cpu", dtype=pl.i8).dtype, pl.i8)
        self.assertRaises(pl.DeviceError, lambda: x.to("cuda:15"))


class Package(unittest.TestCase):
    def test_star(self):
        names = {}
        exec("from plait import *", names)  # noqa: S102
        self.assertEqual([name for name in names if hasattr(builtins, name) and name != "__builtins__"], [])
        for name in ("tensor", "grad", "jit", "nn", "optim", "linalg", "fft", "random", "tree", "f32", "relu", "Module"):
            self.assertIn(name, names)
        self.assertFalse({"control", "errors", "interop", "names", "peers"} & set(names))

    def test_version(self):
        self.assertRegex(pl.__version__, r"^\d+\.\d+\.\d+$")

    def test_dir(self):
        self.assertTrue({"max", "sum", "nn", "random", "__version__"} <= set(dir(pl)))
        self.assertFalse({"interop", "later", "peers"} & set(dir(pl)))


if __name__ == "__main__":
    unittest.main()
