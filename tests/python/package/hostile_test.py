"""Calls every public function, and every method of tensors, with unsuitable values: the result must be an error of the
library or a TypeError, and never a crash, whatever is passed in place of a number, a shape, a tensor or a function."""

import enum
import inspect
import itertools
import json
import operator
import os
import resource
import subprocess
import sys
import tempfile
import unittest

import plait

PLACES = {"plait": plait, "plait.linalg": plait.linalg, "plait.fft": plait.fft, "plait.random": plait.random, "plait.nn": plait.nn,
          "plait.optim": plait.optim, "plait.tree": plait.tree, "plait.nn.init": plait.nn.init, "plait.nn.utils": plait.nn.utils,
          "plait.nn.utils.prune": plait.nn.utils.prune, "plait.optim.lr_scheduler": plait.optim.lr_scheduler,
          "plait.metrics": plait.metrics, "plait.io": plait.io, "plait.text": plait.text, "plait.data": plait.data,
          "plait.data.transforms": plait.data.transforms, "plait.data.transforms.functional": plait.data.transforms.functional}
EMPTY = [(), [], (0,), plait.zeros((0,)), plait.zeros((0, 3))]
HOSTILE = [-1, 0, 2**63 - 1, 2**64, -(2**63), float("nan"), float("inf"), None, *EMPTY, (-1,), (2**62, 2**62), "", "no such name",
           "é", "\ud800", "a\0b", {}, [[1, 2], [3]], object()]
# The shapes of tensors that are often valid, and what is passed beside them.
BESIDE = {(3, 3): HOSTILE, (0,): [-1, 0, None, *EMPTY], (0, 3): [-1, 0, None, *EMPTY]}
METHODS = "plait.Tensor"
# Called by Python and NumPy alone.
NOT_CALLED = {"__array__", "__array_function__", "__array_ufunc__", "__class__", "__dir__", "__init__", "__init_subclass__", "__new__",
              "__subclasshook__"}
# Not called: they wait for another event, or affect other calls.
LEFT_OUT = {"plait.set_num_threads", "plait.print"}
# Called by Python's own protocols.
ALLOWED = dict.fromkeys(("plait.from_dlpack", *(f"{METHODS}.__{name}__" for name in ("delattr", "getattr", "getattribute"))), (AttributeError,))
ALLOWED[f"{METHODS}.__dlpack__"] = (BufferError,)  # the protocol demands it
MEMORY, SECONDS = 8 << 30, 120


def functions():
    """Paths, and what makes the function to call, of a tensor if it is a method."""
    for place, module in PLACES.items():
        for name, value in sorted(vars(module).items()):
            path = f"{place}.{name}"
            is_other = isinstance(value, type) and issubclass(value, (BaseException, enum.Enum))
            if name.startswith("_") or not callable(value) or is_other or path in LEFT_OUT:
                continue
            yield path, lambda _, value=value: value
    for name in sorted({*dir(plait.Tensor)} - NOT_CALLED):
        if callable(getattr(plait.Tensor, name)):
            yield f"{METHODS}.{name}", operator.attrgetter(name)


def usual(name, parameter, shape):
    """A value that is often valid."""
    text = str(parameter.annotation)
    if name in ("function", "body", "test", "then", "otherwise", "f"):
        return plait.sin
    if "Tensor" in text or "ArrayLike" in text:
        return plait.ones(shape)
    if "int" in text or "Size" in text:
        return 1
    return {"str": "x"}.get(text, plait.ones(shape))


def calls(function, shape):
    """Positional and keyword arguments."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        parameters = {}
    needed = [name for name, each in parameters.items()
              if each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD, each.VAR_POSITIONAL)]
    first = [usual(name, parameters[name], shape) for name in needed]
    for hostile in BESIDE[shape]:
        for i in range(len(first)):
            yield [*first[:i], hostile, *first[i + 1:]], {}
        for name, each in parameters.items():
            if name not in needed and each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD):
                yield first, {name: hostile}
        yield [hostile] * max(len(first), 1), {}
    yield first, {}
    yield [], {}


def attack(place):
    """Attacks the functions of one module, or the methods; prints each call before it is made."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    refused = (plait.errors.Error, TypeError)
    with open(os.devnull, "w") as nowhere, tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # where functions write files
        chosen = [each for each in functions() if each[0].rpartition(".")[0] == place]
        for (path, make), shape in itertools.product(chosen, BESIDE):
            for given, named in calls(function := make(plait.ones(shape)), shape):
                print(json.dumps(["call", path, shape, repr(given)[:200], repr(named)[:200]]), flush=True)
                sys.stdout, out = nowhere, sys.stdout
                try:
                    result = function(*given, **named)
                    if callable(result) and not isinstance(result, type):
                        result(plait.ones(shape))
                except (*refused, *ALLOWED.get(path, ())):
                    pass
                except BaseException as error:  # noqa: BLE001: any exception
                    text = f"{type(error).__name__}: {error}"[:200]
                    out.write(json.dumps(["other", path, shape, repr(given)[:200], repr(named)[:200], text]) + "\n")
                finally:
                    sys.stdout = out


class Hostile(unittest.TestCase):
    def test_every_function(self):
        for place in (*PLACES, METHODS):
            with self.subTest(place):
                try:
                    done = subprocess.run([sys.executable, __file__, place], capture_output=True, text=True, timeout=SECONDS, check=False)
                    code, lines, rest = done.returncode, done.stdout.splitlines(), done.stderr
                except subprocess.TimeoutExpired as error:
                    code, lines, rest = "time is over", error.stdout.decode().splitlines(), ""
                said = [json.loads(line) for line in lines if line.startswith("[")]
                self.assertEqual(code, 0, f"after {said[-1:]}: {rest[-2000:]}")
                other = {(path, error): rest for kind, path, *rest, error in said if kind == "other"}
                self.assertEqual(other, {})
                self.assertGreater(len(said), 100)


if __name__ == "__main__":
    unittest.main() if len(sys.argv) < 2 or sys.argv[1].startswith("-") else attack(sys.argv[1])
