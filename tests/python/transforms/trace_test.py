"""Programs recorded from functions of Python."""

import dataclasses
import inspect
import unittest

import numpy as np
import plait


@dataclasses.dataclass
class Layer:
    weight: plait.Tensor
    bias: plait.Tensor
    name: str = "layer"

    def __call__(self, x):
        return plait.tanh(x @ self.weight + self.bias)


class Tracing(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(1)
        self.layer = Layer(plait.asarray(random.random((3, 2))), plait.asarray(random.random(2)))
        self.x = plait.asarray(random.random((4, 3)))

    def test_gives_the_same_as_eager(self):
        program = plait.trace(lambda layer, x: layer(x))(self.layer, self.x)
        np.testing.assert_array_equal(program(self.layer, self.x).numpy(), self.layer(self.x).numpy())

    def test_names_the_lines_of_python(self):
        def function(x):
            y = plait.exp(x)
            return y * 2

        lines, first = inspect.getsourcelines(function)
        text = plait.trace(function)(self.x).text()
        self.assertRegex(text, rf"= exp .*; trace_test\.py:{first + 1}\n")
        self.assertRegex(text, rf"= multiply .*; trace_test\.py:{first + 2}\n")

    def test_results_are_trees(self):
        program = plait.trace(lambda d: {"sum": d["a"] + d["b"][0], "rest": [d["a"], ("text", 3)]})(
            {"a": self.x, "b": [self.x]})
        result = program({"a": self.x, "b": [self.x]})
        np.testing.assert_array_equal(result["sum"].numpy(), 2 * self.x.numpy())
        self.assertEqual(result["rest"][1], ("text", 3))

    def test_other_constants_are_refused(self):
        program = plait.trace(lambda x, n: x * n)(self.x, 2)
        np.testing.assert_array_equal(program(self.x, 2).numpy(), 2 * self.x.numpy())
        with self.assertRaises(TypeError):
            program(self.x, 3)
        with self.assertRaises(TypeError):
            program(self.x)

    def test_what_is_not_given_is_hidden_input(self):
        hidden = plait.asarray(np.full(3, 2.0))
        program = plait.trace(lambda x: x * hidden)(self.x)
        self.assertEqual(len(program.hidden_inputs), 1)
        np.testing.assert_array_equal(program(self.x).numpy(), 2 * self.x.numpy())

    def test_texts_and_bytes_read_back(self):
        program = plait.trace(lambda x: plait.sum(x, 0) / x.shape[0])(self.x)
        for again in (plait.Program.parse(program.text()), plait.Program.from_bytes(program.bytes())):
            self.assertEqual(again.text(), program.text())
            np.testing.assert_array_equal(again(self.x)[0].numpy(), program(self.x).numpy())

    def test_symbolic_sizes(self):
        program = plait.trace(lambda x: plait.sum(x, 0) / x.shape[0])(plait.Spec("f64[n, 3]"))
        self.assertIn("f64[n, 3]", program.text())
        for count in (1, 4, 9):
            x = np.random.default_rng(2).random((count, 3))
            np.testing.assert_allclose(program(x).numpy(), x.mean(0))

    def test_memory_is_known_before_the_first_run(self):
        step = plait.trace(lambda x, w: plait.value_and_grad(lambda w: plait.sum(plait.tanh(x @ w) ** 2))(w))(plait.Spec("f32[n, 64]"), plait.Spec("f32[64, 32]"))
        memory = step.memory(n=1000)
        self.assertEqual((memory.arguments, memory.results, memory.is_complete), (4 * (64_000 + 2048), 4 * (1 + 2048), True))
        self.assertTrue(4 * 32_000 <= memory.temporaries <= 6 * 4 * 32_000)  # without kernels, as each operation needs its operands and result
        self.assertEqual(memory.peak, memory.arguments + memory.results + memory.temporaries)
        with self.assertRaisesRegex(plait.ValueError, r"the size n is not known(.|\n)*hint: pass a number"):
            step.memory()
        with self.assertRaisesRegex(plait.ValueError, "the program has no size m"):
            step.memory(n=1, m=2)

    def test_sizes_that_a_dtype_lacks_are_refused(self):
        x = plait.Spec("f32[n]")
        for dtype, number, too_large in (("u8", 255, 256), ("i8", 127, 128), ("u16", 65535, 65536), ("f16", 65504, 65536), ("f8e4m3", 448, 449)):
            like = plait.zeros((2,), dtype=dtype)
            for way, f in {"operand": lambda x, like: like + x.shape[0], "full": lambda x, like: plait.full((2,), x.shape[0], dtype=dtype),
                           "with what can be fused": lambda x, like: plait.sum(like * x.shape[0] + like), "at": lambda x, like: like.at[0].set(x.shape[0]),
                           "branch": lambda x, like: plait.cond(plait.sum(x) > 0, lambda: like + x.shape[0], lambda: like)}.items():
                program = plait.trace(f)(x, plait.Spec(f"{dtype}[2]"))
                for run in (program, plait.jit(program)):
                    with self.subTest(way, dtype=dtype):
                        wanted = f(np.ones(number) if way != "branch" else plait.ones(number), like)
                        np.testing.assert_array_equal(run(plait.ones(number), like).numpy(), wanted.numpy())
                        with self.assertRaisesRegex(plait.ValueError, f"the size {too_large} does not fit into {dtype}, whose range is .* to {number}"):
                            run(plait.ones(too_large), like)
                        if way == "branch":
                            np.testing.assert_array_equal(run(plait.zeros(too_large), like).numpy(), like.numpy())
        program = plait.trace(lambda x, u: u + (x.shape[0] - 5))(x, plait.Spec("u64[1]"))
        self.assertEqual(program(plait.ones(6), plait.tensor([1], "u64")).tolist(), [2])
        self.assertRaisesRegex(plait.ValueError, "the size -1 does not fit into u64", program, plait.ones(4), plait.tensor([1], "u64"))

    def test_a_failing_function_leaves_no_trace_open(self):
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            plait.trace(lambda x: x * (1 / 0))(self.x)
        self.assertFalse(plait._core._is_tracing())
        self.assertEqual((plait.arange(2) + 1).numpy().tolist(), [1, 2])

    def test_traced_tensors_have_no_numbers(self):
        with self.assertRaises(plait.ValueError):
            plait.trace(lambda x: np.asarray(x))(self.x)
        with self.assertRaises(plait.ValueError):
            plait.trace(lambda x: x if x.item() > 0 else -x)(plait.asarray(1.0))

    def test_texts_of_any_letters_are_told_of(self):
        for text, found in (("func @main(%é: f32[]) -> () {}", "é"), ("func @f() -> (数) {}", "数"), ("🙂", "🙂"), ("func @f<ñ>()", "ñ")):
            with self.assertRaisesRegex(plait.ParseError, f"found '{found}'"):
                plait.Program.parse(text)
        for text, column in (("f32[ñ]", 5), ("f32[n, 数]", 8)):
            with self.assertRaisesRegex(plait.ParseError, f"column {column}: "):
                plait.trace(lambda x: x)(plait.Spec(text))

    def test_malformed_programs_are_refused(self):
        with self.assertRaises(plait.ParseError):
            plait.Program.parse("func @main(")


if __name__ == "__main__":
    unittest.main()
