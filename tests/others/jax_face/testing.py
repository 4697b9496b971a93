"""Replacements for JAX's test helpers (jax._src.test_util): without dtypes that differ between the libraries, and
with Plait's errors counting as any of JAX's."""

import contextlib
import itertools
import unittest
import zlib

import numpy as np
import plait
from absl.testing import parameterized
from face.values import Array, not_here, seen

from . import transforms, trees

MOST = 24  # number of products of parameters, drawn at random


def seen_tree(tree):
    return trees.map(lambda leaf: np.asarray(seen(leaf)), tree)


def same_numbers(first, second):
    """Equal after broadcasting."""
    for a, b in zip(trees.leaves(seen_tree(first)), trees.leaves(seen_tree(second))):
        np.testing.assert_allclose(a, b, atol=1e-5, rtol=1e-5)


def tolerance_of(given):
    """The largest tolerance of several dtypes."""
    if isinstance(given, dict):
        given = max(given.values(), default=None)
    return given if isinstance(given, (int, float)) else None


class JaxTestCase(parameterized.TestCase):
    """absl's TestCase, comparing trees of Arrays."""

    def rng(self):
        return np.random.RandomState(zlib.adler32(self._testMethodName.encode()))

    def assertAllClose(self, x, y, *, check_dtypes=True, atol=None, rtol=None, canonicalize_dtypes=True, err_msg=""):
        if trees.structure(x) != trees.structure(y):
            lists = (list, tuple)
            assert isinstance(x, lists) and isinstance(y, lists) and len(x) == len(y), f"{x} is another tree than {y}"
            for a, b in zip(x, y):
                self.assertAllClose(a, b, atol=atol, rtol=rtol)
            return
        atol, rtol = tolerance_of(atol), tolerance_of(rtol)
        for a, b in zip(trees.leaves(seen_tree(x)), trees.leaves(seen_tree(y))):
            assert a.shape == b.shape, f"{a.shape} against {b.shape}"
            if "V" in (a.dtype.kind, b.dtype.kind):
                continue
            np.testing.assert_allclose(a, b, atol=1e-5 if atol is None else max(atol, 1e-7), rtol=1e-5 if rtol is None else rtol)

    def assertArraysEqual(self, x, y, *, check_dtypes=True, err_msg="", allow_object_dtype=False, verbose=True):
        np.testing.assert_array_equal(np.asarray(seen(x)), np.asarray(seen(y)))

    def assertArraysAllClose(self, x, y, *, check_dtypes=True, atol=None, rtol=None, err_msg=""):
        self.assertAllClose(x, y, atol=atol, rtol=rtol)

    def assertRaises(self, kind, *arguments, **options):
        return super().assertRaises(any_error(kind), *arguments, **options)

    def assertRaisesRegex(self, kind, regex, *arguments, **options):
        return super().assertRaises(any_error(kind), *arguments, **options)

    assertRaisesRegexp = assertRaisesWithLiteralMatch = assertRaisesRegex

    def assertEqual(self, first, second, msg=None):
        first, second = (seen(each) if isinstance(each, (Array, list, tuple, dict)) else each for each in (first, second))
        if any(getattr(leaf, "dtype", np.dtype(float)).kind == "V" for leaf in trees.leaves((first, second)) if hasattr(leaf, "shape")):
            not_here("float0, zeros of JAX's for whole numbers")
        super().assertEqual(first, second, msg)

    def assertLogs(self, *_, **__):
        not_here("log of what is compiled")

    def assertDeleted(self, *_):
        not_here("deletion of donated arrays to be seen")

    assertNotDeleted = assertDeleted

    @contextlib.contextmanager
    def assertNoWarnings(self):
        yield

    def assertMultiLineStrippedEqual(self, *_):
        not_here("text of JAX's programs")

    def _CompileAndCheck(self, function, args_maker, *, check_dtypes=True, tol=None, rtol=None, atol=None, check_cache_misses=True):
        arguments = args_maker()
        self.assertAllClose(function(*arguments), transforms.jit(function)(*arguments), atol=atol or tol, rtol=rtol or tol)

    def _CheckAgainstNumpy(self, numpy_function, function, args_maker, check_dtypes=True, tol=None, atol=None, rtol=None,
                           canonicalize_dtypes=True):
        arguments = args_maker()
        self.assertAllClose(numpy_function(*seen(list(arguments))), function(*arguments), atol=atol or tol, rtol=rtol or tol)


class BufferDonationTestCase(JaxTestCase):
    """Donation is not observable here."""


def any_error(kind):
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return (*(each for each in kinds if isinstance(each, type)), plait.Error)


def sample_product_testcases(*groups, **named):
    groups = [list(each) for each in groups] + [[{name: value} for value in values] for name, values in named.items()]
    products = [{name: value for part in parts for name, value in part.items()} for parts in itertools.product(*groups)]
    chosen = np.random.RandomState(0).permutation(len(products))[:MOST]
    return [products[i] for i in sorted(chosen)]


def sample_product(*groups, **named):
    return parameterized.parameters(*sample_product_testcases(*groups, **named))


def unchanged(*arguments, **options):
    """A decorator without effect, with arguments or without."""
    if len(arguments) == 1 and callable(arguments[0]) and not options:
        return arguments[0]
    return lambda decorated: decorated


def with_config(**options):
    return lambda decorated: decorated


def run_on_devices(*devices):
    return unchanged if {"cpu"} & set(devices) else unittest.skip("for other devices")


def skip_on_devices(*devices, **_):
    return unittest.skip("not for the CPU") if "cpu" in devices else unchanged


def ignoring(*_, **__):
    return IgnoredWarnings()


class IgnoredWarnings(contextlib.ContextDecorator):
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def drawing(draw):
    """A factory of functions from shape and dtype to random numbers."""
    def factory(rng, *arguments, **options):
        def make(shape, dtype=np.float64):
            dtype = np.dtype(dtype)
            shape = () if shape is None else tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
            values = np.asarray(draw(rng, shape, *arguments, **options))
            if dtype.kind == "c":
                values = values + 1j * np.asarray(draw(rng, shape, *arguments, **options))
            if dtype.kind == "b":
                return values > 0
            return np.asarray(values).astype(dtype)

        return make

    return factory


DRAWS = {
    "rand_default": drawing(lambda rng, shape, scale=3: scale * rng.randn(*shape)),
    "rand_small": drawing(lambda rng, shape: 1e-3 * rng.randn(*shape)),
    "rand_not_small": drawing(lambda rng, shape, offset=10.0: (lambda x: x + np.where(x > 0, offset, -offset))(3 * rng.randn(*shape))),
    "rand_positive": drawing(lambda rng, shape: rng.rand(*shape) + 2),
    "rand_uniform": drawing(lambda rng, shape, low=0.0, high=1.0: rng.uniform(low, high, shape)),
    "rand_int": drawing(lambda rng, shape, low=0, high=None: rng.randint(*(0, low) if high is None else (low, high), size=shape)),
    "rand_unique_int": drawing(lambda rng, shape, high=None: np.reshape(rng.permutation(high or int(np.prod(shape)))[:int(np.prod(shape))],
                                                                         shape)),
    "rand_some_equal": drawing(lambda rng, shape: np.round(rng.randn(*shape))),
    "rand_some_zero": drawing(lambda rng, shape: rng.randn(*shape) * (rng.rand(*shape) > 0.2)),
    "rand_nonzero": drawing(lambda rng, shape: (lambda x: np.where(np.round(x) == 0, 1, x))(3 * rng.randn(*shape))),
    "rand_small_positive": drawing(lambda rng, shape: rng.rand(*shape) * 0.02 + 0.01),
    "rand_fullrange": drawing(lambda rng, shape, standardize_nans=False: rng.randint(-100, 100, size=shape)),
    "rand_bool": drawing(lambda rng, shape: rng.randn(*shape)),
    "rand_some_inf": drawing(lambda rng, shape: np.where(rng.rand(*shape) < 0.1, np.inf, rng.randn(*shape))),
    "rand_some_nan": drawing(lambda rng, shape: np.where(rng.rand(*shape) < 0.1, np.nan, rng.randn(*shape))),
    "rand_some_inf_and_nan": drawing(lambda rng, shape: np.where(rng.rand(*shape) < 0.1, np.nan, rng.randn(*shape))),
}


class Dtypes:
    """jtu.dtypes, restricted to dtypes that both libraries have."""

    supported = staticmethod(lambda dtypes: list(dtypes))
    floating = all_floating = inexact = [np.float32, np.float64]
    integer = all_integer = [np.int32, np.int64]
    unsigned = all_unsigned = [np.uint32, np.uint64]
    boolean = [np.bool_]
    complex = [np.complex64, np.complex128]
    all = floating + integer + boolean
    all_inexact = floating + complex

    def __getattr__(self, name):
        return self.floating


def numbers_along(tree, tangent, step):
    return trees.map(lambda x, t: np.asarray(seen(x)) + step * np.asarray(seen(t)), tree, tangent)


def inner(a, b):
    return sum(float(np.sum(np.real(np.conj(np.asarray(seen(x), complex)) * np.asarray(seen(y), complex))))
               for x, y in zip(trees.leaves(a), trees.leaves(b)))


def check_grads(function, arguments, order, modes=("fwd", "rev"), atol=None, rtol=None, eps=None):
    """Compares forward mode with finite differences, and reverse mode with forward mode by a dot product with a
    cotangent; higher orders of derivatives likewise."""
    eps = eps if isinstance(eps, float) else 1e-5
    tolerance = max(tolerance_of(atol) or 1e-5, tolerance_of(rtol) or 1e-5, 1e-5)
    arguments = tuple(trees.map(lambda x: np.asarray(seen(x)).astype(complex if np.iscomplexobj(np.asarray(seen(x))) else float),
                                each) for each in arguments)
    rng = np.random.RandomState(0)

    def drawn(x):
        values = rng.randn(*np.shape(seen(x)))
        return values + 1j * rng.randn(*np.shape(seen(x))) if np.iscomplexobj(np.asarray(seen(x))) else np.asarray(values)

    directions = tuple(trees.map(drawn, each) for each in arguments)
    above = seen_tree(function(*numbers_along(arguments, directions, eps)))
    below = seen_tree(function(*numbers_along(arguments, directions, -eps)))
    difference = trees.map(lambda a, b: (a - b) / (2 * eps), above, below)
    if "fwd" in modes:
        _, along = transforms.jvp(function, arguments, directions)
        for a, b in zip(trees.leaves(seen_tree(along)), trees.leaves(difference)):
            np.testing.assert_allclose(a, b, atol=10 * tolerance, rtol=10 * tolerance)
    if "rev" in modes:
        value, pull = transforms.vjp(function, *arguments)
        cotangent = trees.map(drawn, value)
        # vjp transposes without conjugation: its dot product with complex numbers uses the conjugates.
        conjugate = trees.map(np.conj, cotangent)
        slopes = trees.map(lambda x: np.conj(np.asarray(seen(x))), pull(conjugate))
        np.testing.assert_allclose(inner(slopes, directions), inner(cotangent, difference), atol=100 * tolerance, rtol=100 * tolerance)
    if order > 1:
        if "fwd" in modes:
            check_grads(lambda *x: transforms.jvp(function, x, directions)[1], arguments, order - 1, modes, atol, rtol, eps)
        if "rev" in modes:
            check_grads(lambda *x: transforms.vjp(function, *x)[1](trees.map(np.ones_like, value)), arguments, order - 1, modes, atol,
                        rtol, eps)


def check_along(modes):
    def check(function, _, arguments, atol=None, rtol=None, eps=None, err_msg=""):
        check_grads(function, arguments, 1, modes, atol, rtol, eps)

    return check


def check_raises(thunk, kind, message):
    try:
        thunk()
    except any_error(kind):
        return
    raise AssertionError("does not raise")


class Counting:
    """Contexts that count JAX's internal events."""

    def __call__(self, *_, **__):
        not_here("count of what JAX traces, compiles and copies")


TESTING = DRAWS | {
    "JaxTestCase": JaxTestCase, "BufferDonationTestCase": BufferDonationTestCase, "JaxTestLoader": object, "sample_product": sample_product,
    "sample_product_testcases": sample_product_testcases, "with_config": with_config, "run_on_devices": run_on_devices,
    "skip_on_devices": skip_on_devices, "skip_on_flag": lambda *_: unchanged, "thread_unsafe_test": unchanged,
    "thread_unsafe_test_class": unchanged, "ignore_warning": ignoring, "device_under_test": lambda: "cpu",
    "test_device_matches": lambda devices: "cpu" in devices, "device_supports_buffer_donation": lambda: unittest.skip("donation is not seen"), "dtypes": Dtypes(),
    "check_grads": check_grads, "check_jvp": check_along(("fwd",)), "check_vjp": check_along(("rev",)),
    "strict_promotion_if_dtypes_match": ignoring, "numpy_dtype_promotion": ignoring, "check_raises": check_raises, "check_raises_regexp": check_raises, "parametrize": parameterized,
    "format_shape_dtype_string": lambda shape, dtype: f"{shape} {dtype}", "default_gradient_tolerance": {},
    "tolerance": lambda dtype, tol=None: 1e-5, "default_tolerance": lambda: {}, "is_device_rocm": lambda: False,
    "is_device_cuda": lambda: False, "parse_version": lambda text: tuple(int(each) for each in text.split(".")[:3]), "join_tolerance": lambda *_: 1e-5, "num_float_bits": lambda dtype: 64,
    "check_eq": same_numbers, "_check_dtypes_match": lambda *_: None, "with_and_without_mesh": unchanged,
    "is_device_tpu": lambda *_, **__: False, "numpy_version": lambda: (2, 3, 5), "register_event_duration_listener": ignoring,
    "promote_like_jnp": lambda function, inexact=False: function, "empty_shape": object(), "NUMPY_SCALAR_SHAPE": (), "PYTHON_SCALAR_SHAPE": (),
}
TESTING |= {name: Counting() for name in (
    "count_jit_and_pmap_lowerings", "assert_num_jit_and_pmap_compilations", "count_internal_device_puts", "count_jit_tracing_cache_miss",
    "collect_lowered_jaxprs", "count_pjit_cpp_cache_miss", "count_device_put", "count_primitive_compiles",
    "count_jit_compilation_cache_miss", "count_device_put_fast_path_hit")}

