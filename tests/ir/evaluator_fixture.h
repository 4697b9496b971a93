// Common parts of the evaluator's tests: programs as text, run on the test machine with all types
// checked.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ir/evaluation/evaluator.h"

#include "tests/support/errors.h"
#include "tests/support/scalar_machine.h"

namespace plait::ir {

using Elements = std::vector<double>;

class Evaluator : public testing::Test {
 protected:
  // Runs a program. Its primitives are registered by the machine.
  std::vector<Value> run(std::string_view text, std::initializer_list<Value> arguments = {}) {
    return evaluate(Program::parse(text), machine, {arguments.begin(), arguments.size()}, options);
  }
  double number(std::string_view text, std::initializer_list<Value> arguments = {}) {
    return ScalarMachine::number(run(text, arguments).at(0));
  }
  Elements vector(std::string_view text, std::initializer_list<Value> arguments = {}) {
    return ScalarMachine::elements(run(text, arguments).at(0));
  }
  Value f64(double value) { return machine.scalar(DType::f64, value); }
  Value i64(double value) { return machine.scalar(DType::i64, value); }
  Value boolean(bool value) { return machine.from_boolean(value); }
  Value f64s(Elements elements) { return machine.vector(DType::f64, std::move(elements)); }

  // The whole message of the error of this type that the program throws.
  template <class E>
  std::string error(std::string_view text, std::initializer_list<Value> arguments = {}) {
    Program program = Program::parse(text);
    return what_of<E>(
        [&] { evaluate(program, machine, {arguments.begin(), arguments.size()}, options); });
  }

  ScalarMachine machine;
  EvaluatorOptions options{.check_types = true};
};

}  // namespace plait::ir
