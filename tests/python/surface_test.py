"""Every public function of plait/ops is there in Python under its own name: plait::fft::rfft as plait.fft.rfft."""

import pathlib
import re
import unittest

import plait

HEADERS = pathlib.Path(__file__).resolve().parents[2] / "plait" / "ops"

# Headers for who writes operations, not for who uses them.
NOT_FOR_USERS = {
    "along": "helpers of rules along an axis", "call": "what errors say of a call",
    "contraction": "what einsum and tensordot are made of",
    "contraction_order": "what einsum asks", "declare": "how primitives are declared", "fft_primitives": "primitives",
    "gather": "primitives; brackets are for users", "index_plan": "what brackets ask", "linalg_parts": "helpers of rules",
    "lattice": "primitives", "loss_parts": "helpers of losses",
    "linalg_primitives": "primitives", "linalg_routines": "kernels", "operand": "what arguments are converted to",
    "philox": "the stream of bits below plait.random", "random_attempts": "what is drawn by trying",
    "random_functions": "what functions of plait.random share", "random_primitives": "primitives",
    "resampling_taps": "what interpolate is made of", "samples": "helpers of what is seen from outside", "scatter": "primitives; x.at[index] is for users",
    "update_slice": "a primitive; x.at[index] is for users", "window": "primitives; pooling is for users",
}
# Functions that are reached otherwise.
ELSEWHERE = {
    "plait.stddev": "plait.std, as NumPy calls it", "plait.index": "x[...]",
    "plait.trace": "plait.linalg.trace; plait.trace records a program",
    "plait.convolution": "a primitive: plait.apply", "plait.convolution_input_gradient": "a primitive: plait.apply",
    "plait.convolution_weight_gradient": "a primitive: plait.apply", "plait.widened": "a helper of sums and scans",
    "plait.call_back": "a part of plait.callback", "plait.keep_callback": "a part of plait.callback",
    "plait.value_like": "a helper of x.at[index]", "plait.stretched": "a helper of x.at[index]",
}


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/|^\s*#[^\n]*", "", text, flags=re.S | re.M)


def matching(text, begin):
    """Behind the brace that closes the one at `begin`."""
    depth = 0
    for place in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    raise ValueError("braces do not match")


def name_declared(statement):
    """Of a function; None for anything else."""
    statement = re.sub(r"^\s*template\s*<[^{}]*?>\s*(?=[a-zA-Z\[])", "", statement.strip())
    if re.match(r"(using|struct|class|enum|static_assert|namespace|friend|extern)\b", statement) or "(" not in statement:
        return None
    before = statement[:statement.index("(")]
    if "=" in before or "operator" in before:
        return None
    name = re.search(r"(\w+)\s*$", before)
    return name and name[1]


def functions_of(text, namespace=()):
    """(namespace, name) of the functions declared at the level of namespaces."""
    found, place, statement = set(), 0, ""
    while place < len(text):
        character = text[place]
        if character == ";":
            found.add((namespace, name_declared(statement)))
            statement = ""
        elif character == "{":
            end = matching(text, place)
            inner = re.search(r"namespace\s+([\w:]+)\s*$", statement)
            is_initialiser = statement.count("(") > statement.count(")")
            if inner:
                found |= functions_of(text[place + 1:end - 1], namespace + tuple(inner[1].split("::")))
            elif not is_initialiser:
                found.add((namespace, name_declared(statement)))
            statement = statement + "{}" if is_initialiser or "class" in statement or "struct" in statement else ""
            place = end - 1
        elif character != "}":
            statement += character
        place += 1
    return {(spaces, name) for spaces, name in found if name}


def public_functions():
    for header in sorted(HEADERS.glob("*.h")):
        if header.stem in NOT_FOR_USERS:
            continue
        for namespace, name in sorted(functions_of(without_comments(header.read_text()))):
            if not (name == "enumerator_names" or re.fullmatch(r"register_\w+", name)):
                yield header.name, ".".join((*namespace, name))


def is_reachable(path):
    place = {"plait": plait}
    for part in path.split("."):
        place = place.get(part) if isinstance(place, dict) else getattr(place, part, None)
    return callable(place)


class Surface(unittest.TestCase):
    def test_every_function_is_reachable(self):
        functions = list(public_functions())
        self.assertGreater(len(functions), 300)
        missing = [f"{path} ({header})" for header, path in functions if path not in ELSEWHERE and not is_reachable(path)]
        self.assertEqual(missing, [], "each needs a line of a table in python/bindings")

    def test_no_exception_is_left_over(self):
        self.assertEqual(sorted(set(ELSEWHERE) - {path for _, path in public_functions()}), [])
        self.assertEqual(sorted(set(NOT_FOR_USERS) - {header.stem for header in HEADERS.glob("*.h")}), [])

    def test_every_function_says_what_it_does(self):
        for place in (plait._core, plait.fft, plait.linalg, plait.random):
            for name, function in vars(place).items():
                if type(function).__name__ == "nb_func" and not name.startswith("_"):
                    self.assertGreater(len(function.__doc__.strip().splitlines()), 2, name)

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
        self.assertEqual(functions_of(without_comments(text)),
                         {(("plait", "one"), "first"), (("plait", "one"), "second"), (("plait",), "fourth")})


if __name__ == "__main__":
    unittest.main()
