"""The actual oracle of a case: the functions of other libraries that it calls, read from its code, compared with the
primitive's declaration."""

import dis
import functools
import importlib
import re
import types

import numpy as np

LIBRARIES = ("numpy", "scipy", "jax", "torch", "mpmath")
NAMED = re.compile(rf"\b(?:{'|'.join(LIBRARIES)})(?:\.\w+)+")


def unwrapped(function):
    """The function behind decorators and partial applications."""
    if isinstance(function, np.vectorize):
        return unwrapped(function.pyfunc)
    return unwrapped(function.func) if isinstance(function, functools.partial) else function


def is_of_library(thing):
    module = getattr(thing, "__module__", None) or type(getattr(thing, "__self__", thing)).__module__
    return module.split(".")[0] in LIBRARIES


def _read_by(code, scope):
    """The objects that the code names: functions, and attributes of modules."""
    held = None
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"):
            held = scope.get(instruction.argval)
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and held is not None:
            held = getattr(held, instruction.argval, None)
        else:
            held = None
        if callable(held):
            yield held
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _read_by(constant, scope)


def used_by(function, seen=None):
    """The library functions that it is or calls, also through functions of the suite."""
    seen = [] if seen is None else seen
    function = unwrapped(function)
    if function is None or any(function is each for each in seen):
        return seen
    seen.append(function)
    if isinstance(function, types.FunctionType) and not is_of_library(function):
        cells = {name: cell.cell_contents for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ())}
        for each in _read_by(function.__code__, function.__globals__ | cells):
            used_by(each, seen)
    return seen


def found(name):
    """The object of a name such as numpy.linalg.solve; None if it does not exist."""
    parts = name.split(".")
    place = importlib.import_module(parts[0])
    for k, part in enumerate(parts[1:], start=2):
        if isinstance(place, types.ModuleType) and not hasattr(place, part):
            try:
                importlib.import_module(".".join(parts[:k]))
            except ImportError:
                return None
        place = getattr(place, part, None)
    return place


def named_by(primitive):
    """The function that a declaration names as its oracle, if that is all it says; else None."""
    return found(primitive.oracle) if NAMED.fullmatch(primitive.oracle) else None


def problems(case):
    """The mismatches between a primitive's declared oracle and the one used."""
    says = case.primitive.oracle
    named = {name: found(name) for name in NAMED.findall(says)}
    used = used_by(case.oracle) + used_by(case.check)
    for name, function in named.items():
        if function is None:
            yield f"its oracle is said to be {name}, which is not there"
        elif not any(function is each or function == each for each in used if is_of_library(each)):
            yield f"its oracle is said to be {name}, which its case does not call"
    oracle = unwrapped(case.oracle)
    if is_of_library(oracle) and not any(oracle is each or oracle == each for each in named.values()):
        yield f"its case asks {oracle.__name__}, which is not the oracle that it names: {says}"
