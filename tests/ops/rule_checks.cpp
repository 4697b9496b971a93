#include "tests/ops/rule_checks.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/tracing/trace.h"

namespace plait {
namespace {

const Rules& rules_of(const UsedPrimitive& used) {
  const Rules* rules = find_rules(*used.primitive);
  if (rules == nullptr) throw KeyError("{} has no rules", used.primitive->name);
  return *rules;
}

// Passes only what the rule declares to read, so that a rule that reads more fails.
std::vector<Tensor> read_of(const std::vector<Tensor>& tensors, uint32_t mask) {
  std::vector<Tensor> read(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    if ((mask >> i & 1) != 0) read[i] = tensors[i];
  }
  return read;
}

std::vector<Tensor> lane_of(const std::vector<Tensor>& operands, const std::vector<bool>& batched,
                            int64_t lane) {
  std::vector<Tensor> single = operands;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (batched[i]) single[i] = squeeze(slice_axis(operands[i], 0, lane, 1), 0);
  }
  return single;
}

}  // namespace

std::vector<Tensor> UsedPrimitive::operator()(const std::vector<Tensor>& operands) const {
  return apply_all(*primitive, operands, attributes);
}

UsedPrimitive primitive_in(const CheckedFunction& f, const std::vector<Tensor>& arguments) {
  Trace trace("used");
  std::vector<Tensor> traced;
  for (const Tensor& argument : arguments) traced.push_back(trace.parameter(argument.type()));
  const std::vector<Tensor> results = f(traced);
  const RecordedFunction recorded = trace.finish(results);
  UsedPrimitive used;
  for (const ir::Instruction instruction : recorded.function->instructions()) {
    if (instruction.primitive().structure != ir::Structure::machine) continue;
    used = {&instruction.primitive(), instruction.attributes()};
  }
  return used;
}

std::vector<OperandType> types_of(const std::vector<Tensor>& tensors) {
  return {tensors.begin(), tensors.end()};
}

double inner_product(const Tensor& a, const Tensor& b) {
  return sum(real(astype(a * b, DType::c128))).item<double>();
}

Tensor scattered(const Sizes& sizes, int seed, DType dtype) {
  Array array = Array::empty(DType::f64, sizes);
  double number = 0.1234 * seed;
  for (double& element : array.writable_elements<double>()) {
    number = std::fmod(number + 0.6180339887498949, 1.);
    element = 4 * number - 2;
  }
  const Tensor numbers(std::move(array));
  return is_complex(dtype) ? astype(make_complex(numbers, scattered(sizes, seed + 7)), dtype)
                           : astype(numbers, dtype);
}

void expect_near(const Tensor& got, const Tensor& wanted, double tolerance) {
  ASSERT_EQ(got.type().text(), wanted.type().text());
  if (got.shape().element_count() == Dim(0)) return;
  const Tensor difference = absolute(astype(got, DType::c128) - astype(wanted, DType::c128));
  EXPECT_LE(max(difference).item<double>(), tolerance)
      << "got " << got.text() << "\nwanted " << wanted.text();
}

void expect_same_bits(const Tensor& got, const Tensor& wanted) {
  ASSERT_EQ(got.type().text(), wanted.type().text());
  const Array a = got.array().contiguous(), b = wanted.array().contiguous();
  const auto bytes = static_cast<size_t>(a.element_count() * a.element_size());
  EXPECT_TRUE(bytes == 0 || std::memcmp(a.data(), b.data(), bytes) == 0)
      << "got " << got.text() << "\nwanted " << wanted.text();
}

void check_tangents(const UsedPrimitive& used, const std::vector<Tensor>& operands) {
  constexpr double kStep = 1e-6;
  SCOPED_TRACE(used.primitive->name);
  const Tangents& rule = rules_of(used).tangents;
  ASSERT_NE(rule.of, nullptr);
  std::vector<Tensor> tangents(operands.size()), forward = operands, back = operands;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!is_inexact(operands[i].dtype())) continue;
    tangents[i] =
        scattered(operands[i].array().sizes(), static_cast<int>(i) + 3, operands[i].dtype());
    forward[i] = operands[i] + kStep * tangents[i];
    back[i] = operands[i] - kStep * tangents[i];
  }
  const std::vector<Tensor> results = used(operands);
  const std::vector<OperandType> types = types_of(operands);
  const std::vector<Tensor> read_operands = read_of(operands, rule.reads.operands);
  const std::vector<Tensor> read_results = read_of(results, rule.reads.results);
  const RuleContext context{used.attributes, read_operands, read_results, types};
  const std::vector<Tensor> given = rule.of(context, tangents);
  const std::vector<Tensor> above = used(forward), below = used(back);
  ASSERT_EQ(given.size(), results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    if (!is_inexact(results[i].dtype())) continue;
    const Tensor difference = (above[i] - below[i]) / (2 * kStep);
    expect_near(given[i] ? given[i] : zeros_like(results[i]), difference, 1e-6);
  }
  const std::vector<Tensor> none(operands.size());
  for (const Tensor& tangent : rule.of(context, none)) EXPECT_FALSE(tangent);
}

void check_transpose(const UsedPrimitive& used, const std::vector<Tensor>& operands,
                     size_t operand) {
  SCOPED_TRACE(used.primitive->name);
  const auto& rules = rules_of(used).transposes;
  ASSERT_FALSE(rules.empty());
  const Transpose& rule = rules[std::min(operand, rules.size() - 1)];
  ASSERT_NE(rule.of, nullptr);
  // The other operands are constant; if it is jointly linear in all of them, they are 0.
  const std::vector<Tensor> read_operands = read_of(operands, rule.reads.operands);
  std::vector<Tensor> only = operands;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool is_held = (rule.reads.operands >> i & 1) != 0 || i == operand;
    if (!is_held && is_inexact(operands[i].dtype())) only[i] = zeros_like(operands[i]);
  }
  const Tensor result = used(only)[0];
  const Tensor cotangent = scattered(result.array().sizes(), 11, result.dtype());
  const std::vector<OperandType> types = types_of(operands);
  const RuleContext context{used.attributes, read_operands, {}, types};
  const Tensor transposed = rule.of(context, cotangent, operand);
  ASSERT_EQ(transposed.type().text(), operands[operand].type().text());
  const double left = inner_product(cotangent, result),
               right = inner_product(transposed, operands[operand]);
  EXPECT_NEAR(left, right, 1e-9 * (1 + std::abs(left)));
}

void check_batching(const UsedPrimitive& used, const std::vector<Tensor>& operands,
                    const std::vector<bool>& batched) {
  SCOPED_TRACE(used.primitive->name);
  const Batching& rule = rules_of(used).batching;
  ASSERT_NE(rule.of, nullptr);
  const std::vector<Tensor> all = rule.of(used.attributes, operands, batched);
  const auto first = static_cast<size_t>(std::ranges::find(batched, true) - batched.begin());
  const int64_t lanes = operands[first].shape(0).number();
  for (int64_t lane = 0; lane < lanes; ++lane) {
    const std::vector<Tensor> single = used(lane_of(operands, batched, lane));
    ASSERT_EQ(all.size(), single.size());
    for (size_t i = 0; i < all.size(); ++i) {
      expect_same_bits(squeeze(slice_axis(all[i], 0, lane, 1), 0), single[i]);
    }
  }
}

void check_traced(const CheckedFunction& f, const std::vector<Tensor>& arguments) {
  Trace trace("traced");
  std::vector<Tensor> traced;
  for (const Tensor& argument : arguments) traced.push_back(trace.parameter(argument.type()));
  const std::vector<Tensor> recorded_results = f(traced);
  const RecordedFunction recorded = trace.finish(recorded_results);
  std::vector<Tensor> given = arguments;
  given.insert(given.end(), recorded.captures.begin(), recorded.captures.end());
  const std::vector<Tensor> results = evaluate(trace.program(recorded), given);
  const std::vector<Tensor> wanted = f(arguments);
  ASSERT_EQ(results.size(), wanted.size());
  for (size_t i = 0; i < results.size(); ++i) expect_same_bits(results[i], wanted[i]);
}

}  // namespace plait
