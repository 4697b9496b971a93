"""Reads and changes by host code outside of the program: files, the environment, logs, processes. A jitted function that does
so runs as it is at every call, and a warning names the line."""

import builtins
import csv
import decimal
import glob
import inspect
import io
import locale
import logging
import os
import os.path
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
import uuid
import warnings
from decimal import Decimal
from os import environ, getenv
from pathlib import Path
from random import random as draw

import numpy as np
import plait as pl
import scipy.linalg
import scipy.stats
import torch
from numpy import datetime64 as day

FOLDER = tempfile.mkdtemp()
FILE = os.path.join(FOLDER, "file.txt")
PATH = Path(FILE)
HELD = {"count": 0}
logger = logging.getLogger("plait.host_effects_test")


class Logged:
    def __init__(self, log):
        self.log = log

    def run(self, x):
        self.log.warning("once")
        return x


class Located:
    def __init__(self, path):
        self.path = path

    def read(self, x):
        with self.path.open() as file:
            return x * float(file.read())


def helper(path):
    return float(open(path).read())


def by_local_import(x):
    import os as system

    return x * float(system.environ.get("PLAIT_TEST", "0"))


def by_local_name(x):
    from os import getenv as get

    return x * float(get("PLAIT_TEST", "0"))


def with_file(x):
    with open(FILE, "a") as out:
        out.write("x")
    return x


def with_path(x):
    with PATH.open() as file:
        return x * float(file.read())


def printed_to_a_file(x):
    with open(FILE, "a") as out:
        print("x", file=out)
    return x


def by_socket(x):
    with socket.socket() as made:
        return x * (made.fileno() > 0)


def in_a_branch(x):
    if x.shape[0] > 0:
        logging.warning("once")
    return x


def by_local_logger(x):
    log = logging.getLogger("plait.host_effects_test")
    log.warning("once")
    return x


# Each reads or changes something: a function of x.
READS = {
    "environ": lambda x: x * float(os.environ["PLAIT_TEST"]),
    "environ.get": lambda x: x * float(os.environ.get("PLAIT_TEST", "0")),
    "environ in": lambda x: x * ("PLAIT_TEST" in os.environ),
    "environ by name": lambda x: x * float(environ.get("PLAIT_TEST", "0")),
    "getenv": lambda x: x * float(os.getenv("PLAIT_TEST", "0")),
    "getenv by name": lambda x: x * float(getenv("PLAIT_TEST", "0")),
    "a local import": by_local_import,
    "a local name": by_local_name,
    "open": lambda x: x * float(open(FILE).read()),
    "open of builtins": lambda x: x * float(builtins.open(FILE).read()),
    "open of io": lambda x: x * float(io.open(FILE).read()),
    "a helper": lambda x: x * helper(FILE),
    "a comprehension": lambda x: x * sum(float(line) for line in open(FILE)),
    "read_text": lambda x: x * float(PATH.read_text()),
    "read_text of a new path": lambda x: x * float(pathlib.Path(FILE).read_text()),
    "a path": with_path,
    "a path of an object": Located(PATH).read,
    "exists of a new path": lambda x: x * Path(FOLDER, "35").exists(),
    "exists": lambda x: x * os.path.exists(FILE),
    "getsize": lambda x: x * os.path.getsize(FILE),
    "stat": lambda x: x * os.stat(FILE).st_size,
    "listdir": lambda x: x * len(os.listdir(FOLDER)),
    "glob": lambda x: x * len(glob.glob(FOLDER + "/*")),
    "loadtxt": lambda x: x * float(np.loadtxt(FILE)),
    "fromfile": lambda x: x * float(np.fromfile(FILE, sep=" ")[0]),
    "getcwd": lambda x: x * len(os.getcwd()),
    "subprocess": lambda x: x * float(subprocess.run(["cat", FILE], capture_output=True, check=True).stdout),
    "os.popen": lambda x: x * float(os.popen(f"cat {FILE}").read()),
    "input": lambda x: x * float(input()),
    "stdin": lambda x: x * float(sys.stdin.readline()),
    "clock": lambda x: x * (time.time() > 0),
    "NumPy's clock": lambda x: x * (np.datetime64("now", "s") > np.datetime64(0, "s")),
    "NumPy's day": lambda x: x * int(day("today") > day("1970-01-01")),
    "a text of NumPy's clock": lambda x: x * (np.datetime64(str(["now"][0])) > np.datetime64("1970-01-01")),
    "random": lambda x: x * (random.random() < 2),
    "disk_usage": lambda x: x * (shutil.disk_usage("/").total > 0),
}
CHANGES = {
    "append": with_file, "print to a file": printed_to_a_file, "write_text": lambda x: (PATH.write_text(PATH.read_text() + "x"), x)[1],
    "os.write": lambda x: (os.write(HELD["pipe"], b"x"), x)[1], "stderr": lambda x: (sys.stderr.write("x"), x)[1],
    "print to stderr": lambda x: (print("x", file=sys.stderr), x)[1], "putenv": lambda x: (os.environ.setdefault("PLAIT_OTHER", "1"), x)[1],
    "system": lambda x: (os.system("true"), x)[1], "sleep": lambda x: (time.sleep(0), x)[1], "makedirs": lambda x: (os.makedirs(FOLDER, exist_ok=True), x)[1],
    "savez": lambda x: (np.savez(FOLDER + "/kept.npz", a=1), x)[1], "socket": by_socket,
    "logging": lambda x: (logging.warning("once"), x)[1], "a logger": lambda x: (logger.warning("once"), x)[1], "an attribute": Logged(logger).run,
    "in a branch": in_a_branch, "a local logger": by_local_logger,
}
# Each draws another number at each call.
DRAWS = {
    "Random": lambda x: x * random.Random().random(), "SystemRandom": lambda x: x * random.SystemRandom().random(),
    "RandomState": lambda x: x * np.random.RandomState().rand(), "Generator": lambda x: x * np.random.Generator(np.random.PCG64()).random(),
    "default_rng": lambda x: x * np.random.default_rng().random(), "default_rng without a seed": lambda x: x * np.random.default_rng(None).random(),
    "SeedSequence": lambda x: x * int(np.random.SeedSequence().generate_state(1)[0]), "a helper": lambda x: x * drawn(), "a class": lambda x: x * Drawing().random(),
    "a function by name": lambda x: x * draw(), "a distribution": lambda x: x * scipy.stats.norm.rvs(), "a frozen distribution": lambda x: x * scipy.stats.norm(1, 2).rvs(),
    "PyTorch": lambda x: x * torch.rand(()).item(), "PyTorch in place": lambda x: x * torch.zeros(1).normal_().item(),
    "a layer of PyTorch": lambda x: x * torch.nn.Linear(1, 1).weight.item(), "urandom": lambda x: x * int.from_bytes(os.urandom(4), "big"),
    "uuid4": lambda x: x * (uuid.uuid4().int % 1000003), "id": lambda x: x * (id([1]) + random.Random().random()),
}
# These may be recorded.
STEADY = {
    "seeds": lambda x: x * random.Random(3).random() * np.random.RandomState(seed=len(x)).rand() * np.random.Generator(np.random.PCG64(abs(-3))).random(),
    "a seed of a seed": lambda x: x * np.random.default_rng(np.random.SeedSequence(4)).random(), "filters that are put back": lambda x: x * quiet(),
    "dates": lambda x: x * (day("2020-01-02") - np.datetime64("2020-01-01")).astype(int) * isinstance(x, np.datetime64 | pl.Tensor),
    "a decimal": lambda x: x * float(Decimal(1) / 4), "arguments": lambda x: x * (len(sys.argv) > 0), "errstate": lambda x: x * tolerant(),
    "a path that is only computed with": lambda x: x * len((PATH.parent / "a").name), "os.path.join": lambda x: x * len(os.path.join("a", "b")), "PurePath": lambda x: x * len(pathlib.PurePath("a/b").name), "print": lambda x: (print(end=""), x)[1],
    "an exception": lambda x: _caught(x), "StringIO": lambda x: x * len(_written()), "os.sep": lambda x: x * len(os.sep), "a level": lambda x: x * logging.INFO,
}


def drawn():
    generator = random.Random()
    return generator.random()


class Drawing(random.Random):
    pass


def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return 2.0


def tolerant():
    with np.errstate(divide="ignore"):
        return float(np.minimum(np.float64(1) / np.float64(0), 2.0))


def _caught(x):
    try:
        return x * 2
    except (OSError, socket.timeout, subprocess.CalledProcessError):
        return x


def _written():
    text = io.StringIO()
    text.write("abc")
    return text.getvalue()


class Effects(unittest.TestCase):
    def jitted(self, function, is_found=True):
        """With the one warning that it gives at its first call."""
        jitted = pl.jit(function)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            jitted(pl.ones(1))
        found = [each for each in warned if each.category is pl.HostStateWarning]
        self.assertEqual(bool(found), is_found, found)
        for each in found:
            self.assertEqual(pathlib.Path(each.filename).name, "host_effects_test.py")
            self.assertIn("runs its host code at each call", str(each.message))
        return jitted

    def setUp(self):
        os.environ["PLAIT_TEST"] = "1"
        PATH.write_text("1")
        patches = [unittest.mock.patch("builtins.input", lambda: PATH.read_text()), unittest.mock.patch("sys.stdin", _Standard()),
                   unittest.mock.patch("sys.stderr", io.StringIO())]
        for each in patches[1:]:
            each.start()
            self.addCleanup(each.stop)

    def test_what_is_read_is_read_at_each_call(self):
        for name, function in READS.items():
            with self.subTest(name):
                self.setUp()
                if name == "input":
                    with unittest.mock.patch("sys.stdin", _Standard()):
                        jitted = self.jitted(function)
                else:
                    jitted = self.jitted(function)
                for value in "2", "35":
                    os.environ["PLAIT_TEST"] = value
                    PATH.write_text(value)
                    Path(FOLDER, value).touch()
                    self.assertEqual(jitted(pl.ones(1)).item(), function(pl.ones(1)).item())
                self.assertEqual(pl.stats(jitted).traces, 0)
                self.assertIn("its host code runs at each call, because", str(pl.stats(jitted)))

    def test_what_is_changed_is_changed_at_each_call(self):
        reading, HELD["pipe"] = os.pipe()
        for name, function in CHANGES.items():
            with self.subTest(name):
                jitted = self.jitted(function)
                jitted(pl.ones(1))
                self.assertEqual((pl.stats(jitted).traces, pl.stats(jitted).hits), (0, 0))
        for name in "append", "print to a file", "write_text":
            with self.subTest(name):
                PATH.write_text("")
                jitted = self.jitted(CHANGES[name])
                for _ in range(3):
                    jitted(pl.ones(1))
                self.assertEqual(PATH.read_text().count("x"), 4)
        for name in "logging", "a logger", "an attribute", "in a branch", "a local logger":
            with self.subTest(name), self.assertLogs(level="WARNING") as logs:
                jitted = self.jitted(CHANGES[name])
                for n in 1, 2, 3:
                    jitted(pl.ones(n))
            self.assertEqual(len(logs.records), 4)
        os.close(reading)
        os.close(HELD["pipe"])

    def test_the_warning_names_the_line(self):
        def f(x):
            y = x + 1
            return y * float(open(FILE).read())

        jitted = pl.jit(f)
        with self.assertWarnsRegex(pl.HostStateWarning, r"open\(\) reads or changes state outside of the program\n  hint: .*callback") as warned:
            jitted(pl.ones(1))
        self.assertEqual(warned.lineno, inspect.getsourcelines(f)[1] + 2)

    def test_with_fullgraph_it_is_an_error(self):
        for function in READS["open"], CHANGES["a logger"], CHANGES["an attribute"]:
            with self.assertRaisesRegex(pl.ValueError, "fullgraph"):
                pl.jit(function, fullgraph=True)(pl.ones(1))

    def test_others_are_recorded(self):
        for name, function in STEADY.items():
            with self.subTest(name):
                jitted = self.jitted(function, is_found=False)
                for _ in range(2):
                    self.assertEqual(jitted(pl.ones(1)).item(), function(pl.ones(1)).item())
                self.assertEqual((pl.stats(jitted).traces, pl.stats(jitted).hits), (1, 2))


class Draws(unittest.TestCase):
    def test_each_call_draws_again(self):
        for name, function in DRAWS.items():
            with self.subTest(name):
                jitted = pl.jit(function)
                with self.assertWarnsRegex(pl.HostStateWarning, "returns a different value at each call\n  hint: use plait.random") as warned:
                    found = {jitted(pl.ones(1, dtype=pl.f64)).item()}
                self.assertEqual(pathlib.Path(warned.filename).name, "host_effects_test.py")
                found |= {jitted(pl.ones(1, dtype=pl.f64)).item() for _ in range(3)}
                self.assertGreater(len(found), 1)

    def test_the_warning_names_the_line_of_a_helper(self):
        with self.assertWarnsRegex(pl.HostStateWarning, r"random.Random\(\)") as warned:
            pl.jit(DRAWS["a helper"])(pl.ones(1))
        self.assertEqual(warned.lineno, inspect.getsourcelines(drawn)[1] + 1)


def _set_recursion(n):
    sys.setrecursionlimit(3000 + n)


class Labelled:
    def __init__(self):
        self.scale = np.array([1 / 3])

    def __call__(self, x):
        return x * len(self.label())

    def label(self):
        return f"scaled by {self.scale}"


THIRD = np.array([1 / 3])
TEXTS = {
    "an f-string": lambda x: x * len(f"{THIRD}"),
    "str": lambda x: x * len(str(THIRD)),
    "repr of an array that is made": lambda x: x * len(repr(np.full(2, 1 / 3))),
    "%": lambda x: x * len("of %s" % THIRD),  # noqa: UP031
    "format": lambda x: x * len("{}".format(THIRD)),  # noqa: UP032
    "map": lambda x: x * sum(map(len, map(str, [THIRD, THIRD]))),
    "a method": Labelled(),
    "an array in a tuple": lambda x, both=(1, np.array([1 / 3])): x * len(str(both)),
    "a library that returns one": lambda x: x * len(f"{scipy.linalg.invhilbert(2) / 3}"),
    "printing": lambda x: x * printed_length(THIRD),
}


def printed_length(value):
    text = io.StringIO()
    print(value, file=text)
    return len(text.getvalue())


# State of libraries: a function that reads it, and how to change it.
STATES = {
    "the recursion limit": (lambda x: x * sys.getrecursionlimit(), _set_recursion),
    "NumPy's errors": (lambda x: x * len(np.geterr()["divide"]), lambda n: np.seterr(divide=("warn", "ignore", "raise")[n])),
    "NumPy's printing": (lambda x: x * np.get_printoptions()["precision"], lambda n: np.set_printoptions(precision=n + 3)),
    "PyTorch's dtype": (lambda x: x * (torch.get_default_dtype() == torch.float64), lambda n: torch.set_default_dtype((torch.float32, torch.float64)[n % 2])),
    "the context of decimals": (lambda x: x * decimal.getcontext().prec, lambda n: setattr(decimal.getcontext(), "prec", 5 + n)),
    "locale": (lambda x: x * len(locale.localeconv()), lambda n: None),
    "csv": (lambda x: x * csv.field_size_limit(), lambda n: csv.field_size_limit(1000 + n)),
    "precision of decimals": (lambda x: x * float(Decimal(1) / Decimal(3)), lambda n: setattr(decimal.getcontext(), "prec", 2 + n)),
    "another context": (lambda x: x * float(third()), lambda n: decimal.setcontext(decimal.Context(prec=2 + n))),
    "arguments": (lambda x: x * len(sys.argv), lambda n: sys.argv.append("x")),
    "an argument": (lambda x: x * len(sys.argv[-1]), lambda n: sys.argv.__setitem__(-1, "x" * (n + 1))),
    "arguments by local name": (lambda x: x * local_arguments(), lambda n: sys.argv.append("x")),
    "the path": (lambda x: x * len(sys.path), lambda n: sys.path.append("x")),
    **{f"the text of an array by {name}": (function, lambda n: np.set_printoptions(precision=n + 1)) for name, function in TEXTS.items()},
    "filters of warnings": (lambda x: x * len(warnings.filters), lambda n: warnings.filterwarnings("ignore", str(n))),
}


def third():
    import decimal as numbers

    return numbers.Decimal(1) / 3


def local_arguments():
    from sys import argv

    return len(argv)


# A change, and a function that shows it.
WRITES = {
    "sys.path": (lambda x: (sys.path.append("x"), x)[1], lambda: len(sys.path)),
    "np.seterr": (lambda x: (np.seterr(divide="ignore" if np.geterr()["divide"] == "warn" else "warn"), x)[1], lambda: np.geterr()["divide"]),
    "setrecursionlimit": (lambda x: (sys.setrecursionlimit(sys.getrecursionlimit() + 1), x)[1], sys.getrecursionlimit),
    "an attribute of a module": (lambda x: (setattr_of_csv(), x)[1], lambda: csv.plait_test),
    "filters": (lambda x: (warnings.simplefilter("ignore", append=True), warnings.filters.append(None), x)[2], lambda: len(warnings.filters)),
    "decimals": (lambda x: (lower(), x)[1], lambda: decimal.getcontext().prec),
}


def setattr_of_csv():
    csv.plait_test = csv.plait_test + 1


def lower():
    decimal.getcontext().prec -= 1


class StateOfLibraries(unittest.TestCase):
    def setUp(self):
        decimals, errors, printing, dtype = decimal.getcontext().copy(), np.geterr(), np.get_printoptions(), torch.get_default_dtype()
        limit, most = sys.getrecursionlimit(), csv.field_size_limit()
        csv.plait_test = 0
        for restore in ((decimal.setcontext, decimals), (sys.setrecursionlimit, limit), (csv.field_size_limit, most), (torch.set_default_dtype, dtype),
                        (vars(csv).pop, "plait_test", None)):
            self.addCleanup(*restore)
        self.addCleanup(np.seterr, **errors)
        self.addCleanup(np.set_printoptions, **printing)
        for held in (sys.argv, sys.path, warnings.filters):
            self.addCleanup(held.__setitem__, slice(None), held.copy())

    def test_what_is_read_is_read_at_each_call(self):
        for name, (function, change) in STATES.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore", pl.HostStateWarning)
                jitted = pl.jit(function)
                for n in 0, 1, 2:
                    change(n)
                    self.assertEqual(jitted(pl.ones(1)).item(), function(pl.ones(1)).item())

    def test_code_that_makes_no_text_ignores_the_print_options(self):
        jitted = pl.jit(lambda x: x * np.float32(2) + THIRD)
        for precision in 2, 3:
            np.set_printoptions(precision=precision)
            jitted(pl.ones(1))
        self.assertEqual((pl.stats(jitted).traces, pl.stats(jitted).hits), (1, 1))

    def test_what_is_compared_needs_no_host_code(self):
        jitted = pl.jit(STATES["precision of decimals"][0])
        for precision in 2, 3, 3, 2, 3:
            decimal.getcontext().prec = precision
            jitted(pl.ones(1))
        self.assertEqual((pl.stats(jitted).traces, pl.stats(jitted).hits), (2, 3))

    def test_what_is_changed_is_changed_at_each_call(self):
        for name, (function, shown) in WRITES.items():
            found = []
            for run in function, pl.jit(function):
                self.setUp()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", pl.HostStateWarning)
                    before, seen = shown(), []
                    for _ in range(3):
                        run(pl.ones(1))
                        seen.append(shown())
                found.append([each if isinstance(each, str) else each - before for each in seen])
                self.doCleanups()
            with self.subTest(name):
                self.assertEqual(found[0], found[1])


class _Standard(io.StringIO):
    """Standard input that gives the file's text at each line."""

    def readline(self, *_):
        return PATH.read_text() + "\n"


if __name__ == "__main__":
    unittest.main()
