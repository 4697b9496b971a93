"""Every public function of plait/ops exists in Python under its own name: plait::fft::rfft as plait.fft.rfft."""

import builtins
import inspect
import pathlib
import pickle
import sys
import unittest

import plait

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts" / "manual"))
import examples  # noqa: E402
import headers  # noqa: E402


def public_functions():
    """(header, path) of each, once."""
    return sorted({(each.header, each.path) for each in headers.declarations()})


def is_reachable(path):
    place = {"plait": plait}
    for part in path.split("."):
        place = place.get(part) if isinstance(place, dict) else getattr(place, part, None)
    return callable(place)


NOT_FOR_STARS = {"inside", "errors"}  # submodules whose names plait has, or which are not for users


def modules_for_users(module=plait):
    """plait and its submodules."""
    yield module
    for name in module.__all__:
        if inspect.ismodule(getattr(module, name)):
            yield from modules_for_users(getattr(module, name))


class Names(unittest.TestCase):
    """A name without an underscore is in `__all__`: import what is not for users under another one."""

    def test_these_are_the_modules(self):
        self.assertEqual([each.__name__ for each in modules_for_users()],
                         ["plait", *(f"plait.{name}" for name in (
                             "data", "data.transforms", "data.transforms.functional", "distributed", "fft", "io", "linalg", "metrics", "nn", "nn.init", "nn.utils", "nn.utils.prune", "optim",
                             "optim.lr_scheduler", "random", "text", "tree"))])

    def test_all_names_are_public_and_documented(self):
        for module in (*modules_for_users(), plait.errors):
            hidden = NOT_FOR_STARS | set(dir(builtins)) if module is plait else set()
            named = {name for name in vars(module) if not name.startswith("_")}
            self.assertEqual(named - hidden - set(module.__all__), set(), module.__name__)
            self.assertEqual(len(module.__all__), len(set(module.__all__)))
            for name in module.__all__:
                with self.subTest(f"{module.__name__}.{name}"):
                    value = getattr(module, name)
                    self.assertTrue(name in ("e", "pi", "inf", "nan", "newaxis") or inspect.getdoc(value))
                    if inspect.ismodule(value):
                        self.assertEqual(value.__name__, f"{module.__name__}.{name}")
                    elif callable(value):
                        self.assertEqual((value.__module__ or "plait").split(".")[0], "plait")

    def test_stars_and_completion(self):
        for module in (*modules_for_users(), plait.errors):
            with self.subTest(module.__name__):
                space = {}
                exec(f"from {module.__name__} import *", space)
                self.assertEqual(sorted(space.keys() - {"__builtins__"}), sorted(module.__all__))
                shown = set(dir(module)) - {"__version__"}
                self.assertEqual(shown - set(module.__all__) - (set(dir(builtins)) if module is plait else set()), set())
                self.assertLessEqual(set(module.__all__), shown)


class Surface(unittest.TestCase):
    def test_every_function_is_reachable(self):
        functions = public_functions()
        self.assertGreater(len(functions), 300)
        missing = [f"{path} ({header}.h)" for header, path in functions if path not in headers.ELSEWHERE and not is_reachable(path)]
        self.assertEqual(missing, [], "each needs a line of a table in python/bindings")

    def test_no_exception_is_left_over(self):
        self.assertEqual(sorted(set(headers.ELSEWHERE) - {path for _, path in public_functions()}), [])
        self.assertEqual(sorted(set(headers.NOT_FOR_USERS) - {header.stem for header in headers.HEADERS.rglob("*.h")}), [])

    def test_every_function_says_what_it_does(self):
        for place in (plait._core, plait.fft, plait.linalg, plait.random):
            for name, function in vars(place).items():
                if examples.is_of_core(name, function):
                    self.assertTrue(function.__doc__, name)
                    self.assertIsInstance(inspect.signature(function), inspect.Signature)

    def test_classes_name_the_module_where_users_find_them(self):
        for place in modules_for_users():
            for name, value in vars(place).items():
                if isinstance(value, type) and not name.startswith("_"):
                    self.assertNotIn("inside", value.__module__, name)
                    self.assertIs(pickle.loads(pickle.dumps(value)), value)

    def test_functions_are_pickled_by_the_names_that_users_see(self):
        for place in modules_for_users():
            for name in place.__all__:
                value = getattr(place, name)
                if type(value) is plait._core._Boundary:
                    with self.subTest(f"{place.__name__}.{name}"):
                        self.assertIs(pickle.loads(pickle.dumps(value)), value)

    def test_the_reader_of_headers_sees_functions_only(self):
        text = """
            namespace plait::one {
            struct S { int f(int x = g()); };
            enum class E : uint8_t { a, b };
            Tensor first(const Tensor& x, const Options& options = {}, int n = h(1));
            template <class T>
            Tensor second(std::span<const T> values) { return third(values); }
            inline constexpr double kNumber = f(1);
            inline Tensor operator+(const Tensor& a, const Operand& b) { return add(a, b); }
            using F = int(int);
            }
            namespace plait { void fourth(); }
        """
        self.assertEqual(headers.functions_of(text),
                         {(("plait", "one"), "first"), (("plait", "one"), "second"), (("plait",), "fourth")})


if __name__ == "__main__":
    unittest.main()
