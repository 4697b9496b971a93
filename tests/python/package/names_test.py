"""Errors for unknown names suggest the most similar one, and tracebacks end in the user's own line."""

import _thread
import builtins
import contextlib
import importlib.util
import inspect
import pickle
import subprocess
import sys
import tempfile
import textwrap
import threading
import traceback
import unittest
import unittest.mock

import jax.numpy as jnp
import plait


def error_of(call, kind=plait.Error):
    """The error that a call raises, with its traceback."""
    try:
        call()
    except kind as error:
        return error
    raise AssertionError("nothing was raised")


class Suggestions(unittest.TestCase):
    def refused(self, kind, message, call):
        with self.assertRaises(kind) as caught:
            call()
        self.assertIsInstance(caught.exception, plait.Error)
        self.assertIn(message, str(caught.exception))

    def test_functions(self):
        self.refused(AttributeError, "did you mean plait.softmax?", lambda: plait.sofmax)
        self.refused(AttributeError, "did you mean plait.linalg.schur?", lambda: plait.linalg.shur)
        self.refused(AttributeError, "did you mean plait.fft.rfftn?", lambda: plait.fft.rffftn)
        self.refused(AttributeError, "did you mean plait.random.normal?", lambda: plait.random.normale)
        self.refused(AttributeError, "plait has no 'qwertyuiop'", lambda: plait.qwertyuiop)
        self.assertFalse(hasattr(plait, "__path_of_nothing__"))
        with self.assertRaises(ImportError):
            from plait import sofmax  # noqa: F401

    def test_imports(self):
        """Imports of what is not there have the hints of attributes, and end in the user's line."""
        for line, message in (("import plait.nn.functional as F", r"^plait.nn has no 'functional'\n  hint: functions are in plait itself"),
                              ("from plait.nn import functional", "functions are in plait itself"),
                              ("from plait import randn", r"hint: plait.random.normal\("),
                              ("from plait.utils.data import DataLoader", "plait.data of loaders"),
                              ("import plait.autograd", r"plait.grad\(f\)\(x\)"),
                              ("from plait import sofmax", "did you mean plait.softmax"), ("from plait.optim.swa_utils import AveragedModel", "EMA")):
            with self.subTest(line):
                error = error_of(lambda: exec(line, {}), plait.ImportError)  # noqa: B023
                self.assertRegex(str(error), message)
                self.assertEqual(traceback.extract_tb(error.__traceback__)[-1].filename, "<string>")
                self.assertEqual(str(pickle.loads(pickle.dumps(error))), str(error))
        for line in ("import plait.softmax", "import plait.qwertyuiop", "from plait import __qwertyuiop__",
                     "import plait.inside.qwertyuiop", "import qwertyuiop"):
            with self.subTest(line), self.assertRaises(ImportError) as caught:
                exec(line, {})
            self.assertNotIsInstance(caught.exception, plait.Error)
        self.assertIsNone(importlib.util.find_spec("plait.softmax"))

    def test_arguments_of_functions_of_python(self):
        self.refused(TypeError, "jit: unknown argument 'donat'", lambda: plait.jit(plait.sin, donat=1))
        self.refused(TypeError, "hint: in_axes=", lambda: plait.vmap(plait.sin, in_dims=0))
        self.refused(TypeError, "static already", lambda: plait.jit(plait.sin, static_argnums=0))
        layer = plait.nn.Linear(2, 2)
        self.refused(TypeError, "Linear is a tree of tensors", lambda: layer - 0.1 * layer)
        self.refused(TypeError, "SGD: the gradient is missing", lambda: plait.optim.SGD(layer, lr=0.1).update(layer))
        self.refused(TypeError, "did you mean 'donate'?", lambda: plait.jit(plait.sin, donat=1))
        self.refused(TypeError, "did you mean 'in_axes'?", lambda: plait.vmap(plait.sin, in_axis=1))
        self.refused(TypeError, "did you mean 'axis'?", lambda: plait.softmax(plait.ones(2), axes=1))
        self.refused(TypeError, "did you mean 'has_aux'?", lambda: plait.grad(plait.sin, hasaux=True))
        with self.assertRaisesRegex(builtins.TypeError, "unexpected keyword argument 'x'"):  # a keyword of the user's own function
            plait.remat(lambda: plait.ones(()))(x=1)

    def test_libraries_of_debian(self):
        with self.assertRaisesRegex(ImportError, "needs libopenblas.so.0, from the Debian package libopenblas0-serial"):
            plait._say_what_is_missing(ImportError("libopenblas.so.0: cannot open shared object file: No such file or directory"))
        plait._say_what_is_missing(ImportError("another fault"))  # unchanged

    def test_attributes_of_tensors(self):
        x = plait.zeros(3)
        self.refused(AttributeError, "did you mean shape?", lambda: x.shpe)
        self.refused(AttributeError, "did you mean softmax?", lambda: x.sofmax)
        self.refused(AttributeError, "plait.interpolate(x)", lambda: x.interpolat)
        self.assertFalse(hasattr(x, "__cuda_array_interface__"))
        self.assertRaises(AttributeError, lambda: plait.zeros(3).T.mTT)

    def test_arguments(self):
        x = plait.zeros(3)
        self.refused(TypeError, "did you mean 'axis'?", lambda: plait.softmax(x, axs=0))
        self.refused(TypeError, "did you mean 'keepdims'?", lambda: plait.sum(x, keepdms=True))
        self.refused(TypeError, "did you mean 'stride'?", lambda: plait.conv2d(x, x, strides=2))
        self.refused(TypeError, "did you mean 'deviation'?", lambda: plait.random.normal((2,), deviatoin=1))
        self.refused(TypeError, "softmax: unknown argument 'qqqqq'", lambda: plait.softmax(x, qqqqq=0))
        self.refused(TypeError, "softmax: x is missing", lambda: plait.softmax())
        self.refused(TypeError, "softmax: axis is given twice", lambda: plait.softmax(x, 0, axis=0))
        self.refused(TypeError, "takes at most 2 positional arguments, but 3 are given", lambda: plait.softmax(x, 0, 1))
        self.refused(TypeError, "softmax: does not accept None here", lambda: plait.softmax(None))

    def test_dtypes(self):
        self.refused(TypeError, "did you mean 'float32'?", lambda: plait.DType("flaot32"))
        self.refused(TypeError, "did you mean 'int64'?", lambda: plait.zeros(2, dtype="int46"))


TWO_WITH_ONE_PATH, ONE = {"a.b": plait.ones(1), "a": {"b": plait.ones(1)}}, {"w": plait.ones(1)}
FURTHER_CALLS = {
    "nn.state": lambda: plait.nn.state(TWO_WITH_ONE_PATH),
    "nn.utils.prune.global_unstructured": lambda: plait.nn.utils.prune.global_unstructured(ONE, "*", amount=-1),
    "nn.utils.prune.ln_structured": lambda: plait.nn.utils.prune.ln_structured(ONE, "*", -1, 2, 0),
    "optim.apply_updates": lambda: plait.optim.apply_updates(ONE, {}),
    "optim.freeze": lambda: plait.optim.freeze(7).init(ONE),
    "optim.global_norm": lambda: plait.optim.global_norm(TWO_WITH_ONE_PATH),
    "optim.incremental_update": lambda: plait.optim.incremental_update(ONE, {}, 0.5),
    "optim.periodic_update": lambda: plait.optim.periodic_update(ONE, {}, 1, 2),
    "optim.selective_transform": lambda: plait.optim.selective_transform(plait.optim.sgd(0.1), freeze_mask=7).init(ONE),
    "optim.skip_not_finite": lambda: plait.optim.skip_not_finite(TWO_WITH_ONE_PATH, 0, None),
    "optim.value_and_grad_from_state": lambda: plait.optim.value_and_grad_from_state(plait.sum)(plait.ones(1), state=()),
    "optim.warmup_exponential_decay_schedule": lambda: plait.optim.warmup_exponential_decay_schedule("0", 1.0, 2, 1, 0.5),
    "tree.map": lambda: plait.tree.map(plait.add, ONE, {}),
}
TAKE_ANYTHING = {"nn.call", "tree.flatten", "tree.leaves", "tree.leaves_with_paths", "tree.structure"}


def bad_calls(path, function):
    """Calls with as many arguments as the function takes, all of them nonsense."""
    def is_taken(arguments):
        try:
            inspect.signature(function).bind(*arguments)
        except builtins.TypeError:
            return False
        return path != "nn.call"  # which calls its argument

    given = [(value,) * count for value in ("nonsense", -1.0, object()) for count in range(5)]
    calls = [lambda arguments=arguments: function(*arguments) for arguments in given if is_taken(arguments)]
    return [*calls, FURTHER_CALLS[path]] if path in FURTHER_CALLS else calls


def here():
    return inspect.currentframe().f_back.f_lineno


class Tracebacks(unittest.TestCase):
    def last_line(self, call):
        """The file and line in which the traceback of an error ends."""
        frames = traceback.extract_tb(error_of(call).__traceback__)
        self.assertEqual([frame for frame in frames if "/plait/" in frame.filename.replace("/tests/", "")], [])
        return frames[-1].filename, frames[-1].lineno

    def test_where_the_package_refuses(self):
        x = plait.ones(3)
        for call in (lambda: plait.softmax(x, axs=1), lambda: plait.asarray(object()), lambda: plait.sofmax, lambda: x.shpe,
                     lambda: plait.grad(lambda x: x)(x), lambda: plait.while_loop(lambda x: x, 3, 4), lambda: plait.iinfo(plait.f32),
                     lambda: plait.jit(lambda x: x, donate=(7,))(x), lambda: plait.vmap(lambda x, y: x)(x, plait.ones(4)),
                     lambda: x @ plait.ones((5, 5)), lambda: x[7], lambda: plait.zeros(3, device="gpu"), lambda: x.to_device("gpu"),
                     lambda: plait.__array_namespace_info__().dtypes(kind="colour")):
            file, line = self.last_line(call)
            self.assertEqual(file, __file__)
            self.assertEqual(line, call.__code__.co_firstlineno)

    def test_of_constructors(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # where logs are made
            refused = sum(self.refusals_of_classes(place) for place in (
                plait.nn, plait.optim, plait.optim.lr_scheduler, plait.metrics, plait.io, plait.text))
        self.assertGreater(refused, 700)

    def refusals_of_classes(self, place):
        refused = 0
        for cls in [each for name, each in vars(place).items() if isinstance(each, type) and not name.startswith("_")]:
            if cls.__init__ is object.__init__:  # takes no arguments
                continue
            with self.subTest(cls.__name__):
                refused += self.is_refused(lambda: cls(unheard_of="nonsense"))  # noqa: B023
                for count in range(4):
                    refused += self.is_refused(lambda: cls(*["nonsense"] * count))  # noqa: B023
        return refused

    def test_of_functions(self):
        """Each function of these modules that is written in Python refuses something, with the line of the call."""
        count = 0
        for place in (plait.nn, plait.nn.init, plait.nn.utils, plait.nn.utils.prune, plait.optim, plait.optim.lr_scheduler, plait.metrics, plait.tree, plait.io, plait.text):
            for name in [each for each in place.__all__ if type(getattr(place, each)) is plait._core._Boundary]:
                path = f"{place.__name__.removeprefix('plait.')}.{name}"
                with self.subTest(path):
                    refused = [self.is_refused(call) for call in bad_calls(path, getattr(place, name))]
                    self.assertEqual(any(refused), path not in TAKE_ANYTHING)
                    count += 1
        self.assertGreater(count, 100)

    def is_refused(self, call):
        """True if a call raises an error, which has the line of the call."""
        try:
            call()
        except plait.Error as error:
            self.assertEqual(error.location, f"names_test.py:{call.__code__.co_firstlineno}")
            self.assertIn(f", at {error.location}", str(error))
            self.assertNotRegex(error.message, r"\b(nn|optim|metrics|io)\._")
            self.assertTrue(str(error).startswith((error.message, f"{type(error).__name__}: {error.message}")))
            frames = traceback.extract_tb(error.__traceback__)
            self.assertEqual(frames[-1].lineno, call.__code__.co_firstlineno, frames)
            return True
        return False

    def test_in_functions_that_are_transformed(self):
        lines = []

        def wrong(x):
            lines.append(here() + 1)
            return plait.sum(x @ plait.ones((5, 5)))

        x = plait.ones(3)
        for run in (plait.jit(wrong), plait.trace(wrong), plait.grad(wrong), plait.jit(plait.grad(wrong)), plait.remat(wrong),
                    lambda x: plait.cond(plait.all(x > 0), wrong, wrong, x), plait.jit(lambda x: plait.cond(x[0] > 0, wrong, wrong, x)),
                    plait.vmap(wrong), plait.jit(plait.vmap(wrong))):
            given = plait.ones((2, 3)) if run is not None and "vmap" in repr(run) else x
            self.assertEqual(self.last_line(lambda: run(given)), (__file__, lines[-1]))

    def test_on_a_thread_without_python_code(self):
        seen, ended = [], threading.Event()
        with unittest.mock.patch("sys.unraisablehook", lambda raised: (seen.append(raised.exc_value), ended.set())):
            _thread.start_new_thread(plait.softmax, ())
            self.assertTrue(ended.wait(60))
        self.assertIsInstance(seen[0], plait.TypeError)
        self.assertEqual(seen[0].location, "")

    def test_errors_that_users_make(self):
        class Mine(plait.ValueError):
            pass

        for error in plait.ValueError("no"), Mine("no"), plait.ShapeError.with_hint("no", "try"), pickle.loads(pickle.dumps(plait.KeyError("no"))):
            self.assertEqual((error.message, error.location), ("no", ""))
            self.assertNotIn("names_test", str(error))
        error = error_of(lambda: plait.optim.adam(-1.0))
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(again), again.message, again.hint, again.location), (str(error), error.message, error.hint, error.location))

    def test_while_programs_run(self):
        def checked(x):
            plait.check(plait.all(x > 0), "not all are above 0")
            return x * 2

        x = plait.tensor([1.0, -1.0])
        for run in (plait.jit(checked), plait.trace(checked)(x)):
            file, line = self.last_line(lambda: run(x))
            self.assertEqual(file, __file__)
            self.assertIn("at names_test.py", str(error_of(lambda: run(x))))

    def test_what_python_shows(self):
        script = textwrap.dedent("""
            import plait
            def loss(x):
                return plait.sum(x @ plait.ones((5, 5)))
            def step(x):
                return plait.jit(plait.grad(loss))(x)
            step(plait.ones(3))
        """)
        shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False).stderr
        lines = [line.strip() for line in shown.splitlines() if line.strip().startswith("File")]
        self.assertEqual([line.split(", ", 1)[1] for line in lines], ["line 7, in <module>", "line 6, in step", "line 4, in loss"], shown)
        self.assertIn("inner sizes differ", shown)

    def test_other_errors_keep_all_lines(self):
        def wrong(x):
            raise RuntimeError("mine")

        error = error_of(lambda: plait.jit(wrong)(plait.ones(3)), RuntimeError)
        self.assertTrue(any("jitting" in frame.filename for frame in traceback.extract_tb(error.__traceback__)))


class Functions(unittest.TestCase):
    def test_they_stay_what_they_are(self):
        self.assertEqual(plait.jit.__name__, "jit")
        self.assertIn("recorded once", plait.jit.__doc__)
        self.assertIn("donate", inspect.signature(plait.jit).parameters)
        self.assertEqual(list(inspect.signature(plait.grad(lambda x, y: x)).parameters), ["x", "y"])
        self.assertIs(pickle.loads(pickle.dumps(plait.cond)), plait.cond)
        self.assertIs(plait.array, plait.tensor)

    def test_what_is_outside_is_looked_at_again(self):
        scale = 1.0
        gradient = plait.grad(lambda x: scale * x)
        run = plait.jit(lambda x: gradient(x))
        self.assertEqual(float(run(1.0)), 1)
        scale = 3.0
        self.assertEqual(float(run(1.0)), float(jnp.float32(3)))
        self.assertEqual(float(plait.jit(plait.grad(lambda x: scale * x))(1.0)), 3)


if __name__ == "__main__":
    unittest.main()
