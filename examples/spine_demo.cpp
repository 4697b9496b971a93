// A program with recursion, a loop and symbolic sizes, as text: read, checked, printed, and
// evaluated.
//
// The arrays here are those of the tests' own machine, which computes one element after another.
#include <cstdio>
#include <exception>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "plait/core/error.h"
#include "plait/ir/evaluator.h"

#include "tests/support/sample_programs.h"
#include "tests/support/scalar_machine.h"

namespace {

using namespace plait;
using namespace plait::ir;

Value first_result(const Program& program, ScalarMachine& machine, const Value& argument) {
  return evaluate(program, machine, {&argument, 1}).at(0);
}

void show_factorial(ScalarMachine& machine) {
  Program program = Program::parse(kFactorial);
  fmt::print(
      "Recursion. This program was read from text, verified, and is printed with its "
      "types:\n\n{}\n",
      program.text());
  for (double n : {1.0, 5.0, 10.0, 170.0}) {
    Value result = first_result(program, machine, machine.scalar(DType::f64, n));
    fmt::print("  factorial({}) = {}    (calls nested {} deep)\n", n, ScalarMachine::number(result),
               2 * n - 1);
  }
  Value n = machine.scalar(DType::f64, 500'000);
  fmt::print(
      "  factorial(500000) = {}    (too large for f64; a million calls deep, no stack "
      "overflow)\n\n",
      ScalarMachine::number(first_result(program, machine, n)));
}

void show_collatz(ScalarMachine& machine) {
  Program program = Program::parse(kCollatz);
  fmt::print("A loop whose length depends on the values: n/2 or 3n + 1 until 1 is reached.\n");
  for (double n : {1.0, 6.0, 27.0, 837799.0}) {
    Value result = first_result(program, machine, machine.scalar(DType::i64, n));
    fmt::print("  collatz({}) = {} steps\n", n, ScalarMachine::number(result));
  }
  fmt::print("\n");
}

void show_sort(ScalarMachine& machine) {
  Program program = Program::parse(kSort);
  fmt::print(
      "Symbolic sizes: @sort<n> calls itself for n//2 and n - n//2 elements; one program, every "
      "length.\n");
  for (const std::vector<double>& x :
       std::vector<std::vector<double>>{{}, {7}, {3, 1, 2}, {9, 4, 8, -1, 5, 4, 0, 2.5}}) {
    Value result = first_result(program, machine, machine.vector(DType::f64, x));
    fmt::print("  sort([{}]) = [{}]\n", fmt::join(x, ", "),
               fmt::join(ScalarMachine::elements(result), ", "));
  }
  fmt::print("\n");
}

void show_error(ScalarMachine& machine) {
  Program program = Program::parse(
      "func @f<n>(%x: f64[n], %y: f64[n]) -> (f64[n]) where n%2 == 0 {\n"
      "  %0 = add %x, %y\n"
      "  return %0\n"
      "}\n");
  std::vector<std::vector<Value>> inputs{
      {machine.vector(DType::f64, {1, 2}), machine.vector(DType::f64, {1, 2, 3})},
      {machine.vector(DType::f64, {1, 2, 3}), machine.vector(DType::f64, {1, 2, 3})}};
  fmt::print("Sizes are checked on entry; an error names what was given and what was expected:\n");
  for (const std::vector<Value>& arguments : inputs) {
    try {
      evaluate(program, machine, arguments);
    } catch (const Error& error) {
      fmt::print("  {}\n", error.message());
    }
  }
}

}  // namespace

int main() {
  try {
    ScalarMachine machine;
    show_factorial(machine);
    show_collatz(machine);
    show_sort(machine);
    show_error(machine);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
