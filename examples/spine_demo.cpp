// Text programs with recursion, a loop and symbolic sizes are parsed, verified, printed and
// evaluated; then a program that was recorded from C++.
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/register_all.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/tracing/trace_function.h"

#include "sample_programs.h"

namespace {

using namespace plait;
using ir::Program;

Tensor vector(const std::vector<double>& elements) {
  return Tensor(Array::of(std::span(elements), {static_cast<int64_t>(elements.size())}));
}

Tensor first_result(const Program& program, const Tensor& argument) {
  return evaluate(program, {&argument, 1}).at(0);
}

void show_factorial() {
  const Program program = Program::parse(kFactorial);
  fmt::print(
      "Recursion. This program was read from text, verified, and is printed with its "
      "types:\n\n{}\n",
      program.text());
  const auto factorial = [&](double n) {
    return first_result(program, Tensor(Array::of(n))).item<double>();
  };
  for (const double n : {1.0, 5.0, 10.0, 170.0}) {
    fmt::print("  factorial({}) = {}    (calls nested {} deep)\n", n, factorial(n), 2 * n - 1);
  }
  fmt::print(
      "  factorial(500000) = {}    (too large for f64; a million calls deep, no stack "
      "overflow)\n\n",
      factorial(500'000));
}

void show_collatz() {
  const Program program = Program::parse(kCollatz);
  fmt::print("A loop whose length depends on the values: n/2 or 3n + 1 until 1 is reached.\n");
  for (const int64_t n : {1, 6, 27, 837799}) {
    const Tensor steps = first_result(program, Tensor(Array::of(n)));
    fmt::print("  collatz({}) = {} steps\n", n, steps.item<int64_t>());
  }
  fmt::print("\n");
}

void show_sort() {
  const Program program = Program::parse(kSort);
  fmt::print(
      "Symbolic sizes: @sort<n> calls itself for n//2 and n - n//2 elements; one program, every "
      "length.\n");
  for (const std::vector<double>& x :
       std::vector<std::vector<double>>{{}, {7}, {3, 1, 2}, {9, 4, 8, -1, 5, 4, 0, 2.5}}) {
    fmt::print("  sort({}) = {}\n", vector(x).text(), first_result(program, vector(x)).text());
  }
  fmt::print("\n");
}

Tensor attend(const Tensor& queries, const Tensor& keys, const Tensor& values) {
  const Tensor scores = matmul(queries, matrix_transpose(keys));
  return matmul(softmax(scores), values);
}

void show_attention() {
  const Dim n = Dim::symbol("n"), m = Dim::symbol("m"), width = Dim::symbol("width");
  const auto matrix = [](Dim rows, Dim columns) {
    return abstract_tensor(ir::Type::array(DType::f32, {rows, columns}));
  };
  const Program program =
      trace(attend, "attend")(matrix(n, width), matrix(m, width), matrix(m, width)).program;
  fmt::print(
      "A function of C++, recorded once for matrices of any sizes, with the lines it comes "
      "from:\n\n{}\n",
      program.text());
  const Tensor keys = eye(3, 2, DType::f32) * 4;
  for (const int64_t rows : {1, 2}) {
    const Tensor arguments[] = {eye(rows, 2, DType::f32), keys, keys};
    fmt::print("  of {} queries and {} keys\n{}\n", arguments[0].type().text(), keys.type().text(),
               evaluate(program, arguments).at(0).text());
  }
  fmt::print("\n");
}

void show_error() {
  const Program program = Program::parse(
      "func @f<n>(%x: f64[n], %y: f64[n]) -> (f64[n]) where n%2 == 0 {\n"
      "  %0 = add %x, %y\n"
      "  return %0\n"
      "}\n");
  const std::vector<std::vector<Tensor>> inputs{{vector({1, 2}), vector({1, 2, 3})},
                                                {vector({1, 2, 3}), vector({1, 2, 3})}};
  fmt::print("Sizes are checked on entry; an error names what was given and what was expected:\n");
  for (const std::vector<Tensor>& arguments : inputs) {
    try {
      evaluate(program, arguments);
    } catch (const Error& error) {
      fmt::print("  {}\n", error.message());
    }
  }
}

}  // namespace

int main() {
  try {
    register_all();
    show_factorial();
    show_collatz();
    show_sort();
    show_attention();
    show_error();
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
