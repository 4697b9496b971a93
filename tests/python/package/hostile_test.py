"""Calls every public function with unsuitable values: the result must be an error of the library or a TypeError, and
never a crash, whatever is passed in place of a number, a shape, a tensor or a function."""

import enum
import inspect
import json
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
HOSTILE = [-1, 0, 2**63 - 1, 2**64, -(2**63), float("nan"), float("inf"), None, (), (0,), (-1,), (2**62, 2**62), "", "no such name",
           "é", "\ud800", "a\0b", {}, [[1, 2], [3]], object()]
# Not called: they wait for another event, or affect other calls.
LEFT_OUT = {"plait.set_num_threads", "plait.print"}
# Called by Python's own protocols.
ALLOWED = {"plait.from_dlpack": (AttributeError,)}
MEMORY, SECONDS = 8 << 30, 120


def functions():
    for place, module in PLACES.items():
        for name, value in sorted(vars(module).items()):
            path = f"{place}.{name}"
            is_other = isinstance(value, type) and issubclass(value, (BaseException, enum.Enum))
            if name.startswith("_") or not callable(value) or is_other or path in LEFT_OUT:
                continue
            yield path, value


def usual(name, parameter):
    """A value that is often valid."""
    text = str(parameter.annotation)
    if name in ("function", "body", "test", "then", "otherwise", "f"):
        return plait.sin
    if "Tensor" in text or "ArrayLike" in text:
        return plait.ones((3, 3))
    if "int" in text or "Size" in text:
        return 1
    return {"str": "x"}.get(text, plait.ones((3, 3)))


def calls(function):
    """Positional and keyword arguments."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        parameters = {}
    needed = [name for name, each in parameters.items()
              if each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD, each.VAR_POSITIONAL)]
    first = [usual(name, parameters[name]) for name in needed]
    for hostile in HOSTILE:
        for i in range(len(first)):
            yield [*first[:i], hostile, *first[i + 1:]], {}
        for name, each in parameters.items():
            if name not in needed and each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD):
                yield first, {name: hostile}
        yield [hostile] * max(len(first), 1), {}
    yield [], {}


def attack(place):
    """Attacks the functions of one module; prints each call before it is made."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    refused = (plait.errors.Error, TypeError)
    with open(os.devnull, "w") as nowhere, tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # where functions write files
        for path, function in functions():
            if path.rpartition(".")[0] != place:
                continue
            for given, named in calls(function):
                print(json.dumps(["call", path, repr(given)[:200], repr(named)[:200]]), flush=True)
                sys.stdout, out = nowhere, sys.stdout
                try:
                    result = function(*given, **named)
                    if callable(result) and not isinstance(result, type):
                        result(plait.ones((3, 3)))
                except (*refused, *ALLOWED.get(path, ())):
                    pass
                except BaseException as error:  # noqa: BLE001: any exception
                    out.write(json.dumps(["other", path, repr(given)[:200], repr(named)[:200], f"{type(error).__name__}: {error}"[:200]]) + "\n")
                finally:
                    sys.stdout = out


class Hostile(unittest.TestCase):
    def test_every_function(self):
        for place in PLACES:
            with self.subTest(place):
                try:
                    done = subprocess.run([sys.executable, __file__, place], capture_output=True, text=True, timeout=SECONDS, check=False)
                    code, lines, rest = done.returncode, done.stdout.splitlines(), done.stderr
                except subprocess.TimeoutExpired as error:
                    code, lines, rest = "time is over", error.stdout.decode().splitlines(), ""
                said = [json.loads(line) for line in lines if line.startswith("[")]
                self.assertEqual(code, 0, f"after {said[-1:]}: {rest[-2000:]}")
                other = {(path, error): (given, named) for kind, path, given, named, error in (each for each in said if each[0] == "other")}
                self.assertEqual(other, {})
                self.assertGreater(len(said), 100)


if __name__ == "__main__":
    unittest.main() if len(sys.argv) < 2 or sys.argv[1].startswith("-") else attack(sys.argv[1])
