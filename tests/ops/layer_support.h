// Helpers for tests of convolutions, pooling, normalisation and similar functions.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/trace_function.h"

#include "tests/ops/rule_checks.h"

namespace plait {

// sin(0), sin(step), sin(2 step), …: irregular numbers that are easily reproduced in any language.
inline Tensor wave(const Sizes& sizes, double step = 0.7, DType dtype = DType::f64) {
  std::vector<double> values(static_cast<size_t>(element_count_of(sizes)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(step * static_cast<double>(i));
  return astype(tensor(values, sizes), dtype);
}

inline Tensor doubles(const std::vector<double>& values) {
  return tensor(values, {static_cast<int64_t>(values.size())});
}

inline Tensor floats(const std::vector<float>& values, const Sizes& sizes) {
  return tensor(values, sizes);
}

inline std::vector<double> values_of(const Tensor& x) {
  const Array dense = x.array().converted(DType::f64).contiguous();
  const auto elements = dense.elements<double>();
  return {elements.begin(), elements.end()};
}

inline void expect_values(const Tensor& actual, const std::vector<double>& expected,
                          double tolerance = 1e-8) {
  const std::vector<double> values = values_of(actual);
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == expected[i] || (std::isnan(values[i]) && std::isnan(expected[i]))) continue;
    ASSERT_NEAR(values[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << i;
  }
}

inline void expect_same(const Tensor& actual, const Tensor& expected, double tolerance = 1e-12) {
  ASSERT_EQ(actual.shape(), expected.shape());
  EXPECT_EQ(actual.dtype(), expected.dtype());
  expect_values(actual, values_of(expected), tolerance);
}

// Evaluating the traced function gives the same as calling it, and its text can be parsed.
template <class F, class... Tensors>
void expect_traced_alike(const F& f, const Tensors&... arguments) {
  const TracedProgram traced = trace(f)(arguments...);
  const std::string text = traced.program.text();
  EXPECT_EQ(ir::Program::parse(text).text(), text);
  std::vector<Tensor> given{arguments...};
  given.insert(given.end(), traced.hidden_inputs.begin(), traced.hidden_inputs.end());
  expect_same(evaluate(traced.program, given)[0], f(arguments...), 0);
}

// The same with symbolic sizes: those dimensions of the first argument that `symbolic` lists.
template <class F, class... Rest>
void expect_symbolic_alike(const F& f, const std::vector<int64_t>& symbolic, const Tensor& x,
                           const Rest&... rest) {
  Shape shape = x.shape();
  for (const int64_t axis : symbolic) {
    shape.set(axis, Dim::symbol(std::string("n") + std::to_string(axis)));
  }
  Trace trace("main");
  const Tensor parameter = trace.parameter(ir::Type::array(x.dtype(), shape));
  const Tensor results[] = {f(parameter, rest...)};
  const RecordedFunction recorded = trace.finish(results);
  std::vector<Tensor> given{x};
  given.insert(given.end(), recorded.captures.begin(), recorded.captures.end());
  expect_same(evaluate(trace.program(recorded), given)[0], f(x, rest...), 1e-12);
}

// ---- Rules, called as by the transforms.

// ⟨cotangent, P(…, t, …)⟩ = ⟨transpose(cotangent), t⟩ for each operand that has a transpose.
inline void expect_transposes(const char* name, const ir::Attributes& attributes,
                              const std::vector<Tensor>& operands) {
  const ir::Primitive& primitive = ir::primitive(name);
  const Rules& rules = *find_rules(primitive);
  const Tensor result = apply(primitive, operands, attributes);
  const auto dense = result.array().sizes();
  const Tensor cotangent = wave(dense, 1.3, result.dtype());
  const std::vector<OperandType> types = types_of(operands);
  const RuleContext context{attributes, operands, {}, types};
  for (size_t i = 0; i < operands.size(); ++i) {
    const Transpose& transpose = rules.transposes[std::min(i, rules.transposes.size() - 1)];
    if (transpose.of == nullptr) continue;
    const Tensor back = transpose.of(context, cotangent, i);
    ASSERT_EQ(back.shape(), operands[i].shape()) << name << " operand " << i;
    const double forth = inner_product(cotangent, result);
    EXPECT_NEAR(forth, inner_product(back, operands[i]), 1e-9 * (1 + std::abs(forth)))
        << name << " operand " << i;
  }
}

// Tangents of the results compared with finite differences.
inline void expect_tangents(const char* name, const ir::Attributes& attributes, const Tensor& x) {
  const ir::Primitive& primitive = ir::primitive(name);
  const Rules& rules = *find_rules(primitive);
  const auto run = [&](const Tensor& at) {
    return apply_all(primitive, std::span(&at, 1), attributes);
  };
  const Tensor tangent = wave(x.array().sizes(), 2.1);
  constexpr double kStep = 1e-6;
  const std::vector<Tensor> results = run(x), after = run(x + tangent * kStep),
                            before = run(x - tangent * kStep);
  const std::vector<OperandType> types{OperandType(x)};
  const RuleContext context{attributes, std::span(&x, 1), results, types};
  const std::vector<Tensor> tangents = rules.tangents.of(context, std::span(&tangent, 1));
  ASSERT_EQ(tangents.size(), results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    expect_same(tangents[i], (after[i] - before[i]) / (2 * kStep), 1e-7);
  }
}

// The batching rule compared with a loop over the batch.
inline void expect_batches(const char* name, const ir::Attributes& attributes,
                           const std::vector<Tensor>& operands, const std::vector<bool>& batched) {
  const ir::Primitive& primitive = ir::primitive(name);
  const std::vector<Tensor> whole =
      find_rules(primitive)->batching.of(attributes, operands, batched);
  Dim batches = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (batched[i]) batches = operands[i].shape(0);
  }
  for (int64_t b = 0; b < batches.number(); ++b) {
    const auto at = [&](const Tensor& x) {
      return squeeze(slice(x, 0, {.start = b, .stop = b + 1}), 0);
    };
    std::vector<Tensor> one;
    for (size_t i = 0; i < operands.size(); ++i) {
      one.push_back(batched[i] ? at(operands[i]) : operands[i]);
    }
    const std::vector<Tensor> results = apply_all(primitive, one, attributes);
    for (size_t i = 0; i < results.size(); ++i) expect_same(at(whole[i]), results[i], 1e-10);
  }
}

}  // namespace plait
