// Derivatives and batching of gather, scatter and update_slice: transposes by inner products,
// tangents by finite differences, batches by loops.
#include <functional>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/indexing/scatter.h"
#include "plait/ops/indexing/update_slice.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/rules.h"
#include "plait/tensor/tracing/trace_function.h"

#include "tests/ops/rule_checks.h"

namespace plait {
namespace {

// Irregular numbers, so that errors do not cancel in sums.
Tensor waves(const Shape& shape, double seed) {
  const Tensor flat = sin(astype(arange(shape.element_count()), DType::f64) * 1.7 + seed);
  return reshape(flat, shape);
}

struct Call {
  const ir::Primitive& primitive;
  std::vector<Tensor> operands;
  ir::Attributes attributes;

  Tensor run() const { return plait::apply(primitive, operands, attributes); }
  Tensor run_with(size_t operand, const Tensor& other) const {
    std::vector<Tensor> changed = operands;
    changed[operand] = other;
    return plait::apply(primitive, changed, attributes);
  }
  std::vector<OperandType> types() const { return types_of(operands); }
};

// `linear` lists the operands in which it is jointly linear.
void expect_transposed(const Call& call, const std::vector<size_t>& linear) {
  const Rules& rules = *find_rules(call.primitive);
  const std::vector<OperandType> types = call.types();
  const Tensor cotangent = waves(call.run().shape(), 5);
  for (const size_t i : linear) {
    const Transpose& rule = rules.transposes[std::min(i, rules.transposes.size() - 1)];
    // Only what the rule declares to read.
    std::vector<Tensor> read = call.operands;
    for (size_t k = 0; k < read.size(); ++k) {
      if ((rule.reads.operands >> k & 1U) == 0) read[k] = Tensor();
    }
    const Tensor tangent = waves(types[i].shape(), 9);
    Call alone = call;
    for (const size_t k : linear) alone.operands[k] = zeros_like(alone.operands[k]);
    const Tensor back = rule.of({call.attributes, read, {}, types}, cotangent, i);
    EXPECT_EQ(back.type(), types[i].type()) << call.primitive.name;
    EXPECT_NEAR(inner_product(cotangent, alone.run_with(i, tangent)), inner_product(back, tangent),
                1e-12)
        << call.primitive.name << ", operand " << i;
  }
}

void expect_tangents_of(const Call& call) {
  const Rules& rules = *find_rules(call.primitive);
  const std::vector<OperandType> types = call.types();
  const Tensor result = call.run();
  const Tensor tx = waves(types[0].shape(), 3), tu = waves(types[1].shape(), 4);
  std::vector<Tensor> tangents(call.operands.size());
  const auto by_rule = [&](const Tensor& of_x, const Tensor& of_updates) {
    tangents[0] = of_x;
    tangents[1] = of_updates;
    return rules.tangents.of({call.attributes, call.operands, {&result, 1}, types}, tangents)[0];
  };
  const double h = 1e-6;
  const auto moved = [&](double step) {
    Call other = call;
    other.operands[0] = other.operands[0] + tx * step;
    other.operands[1] = other.operands[1] + tu * step;
    return other.run();
  };
  const Tensor both = by_rule(tx, tu), difference = (moved(h) - moved(-h)) / (2 * h);
  EXPECT_LT(max(absolute(both - difference)).item<double>(), 1e-7) << call.primitive.name;
  const Tensor apart = by_rule(tx, Tensor()) + by_rule(Tensor(), tu);
  EXPECT_LT(max(absolute(both - apart)).item<double>(), 1e-12) << call.primitive.name;
}

void expect_batched(const Call& call, int64_t count) {
  const size_t operands = call.operands.size();
  for (uint32_t bits = 1; bits < (1U << operands); ++bits) {
    std::vector<Tensor> given = call.operands;
    std::vector<bool> batched(operands);
    std::vector<std::vector<Tensor>> lanes(static_cast<size_t>(count), call.operands);
    for (size_t i = 0; i < operands; ++i) {
      batched[i] = (bits >> i & 1U) != 0;
      if (!batched[i]) continue;
      std::vector<Tensor> parts;
      for (int64_t lane = 0; lane < count; ++lane) {
        // Different numbers for each sample; integers stay in their range.
        const Tensor& operand = call.operands[i];
        const Tensor part = is_integer(operand.dtype()) ? (lane == 0 ? operand : flip(operand, -1))
                                                        : operand * static_cast<double>(lane + 2);
        parts.push_back(part);
        lanes[static_cast<size_t>(lane)][i] = part;
      }
      given[i] = stack(parts);
    }
    std::vector<Tensor> expected;
    for (const auto& lane : lanes) {
      expected.push_back(plait::apply(call.primitive, lane, call.attributes));
    }
    const Tensor got = find_rules(call.primitive)->batching.of(call.attributes, given, batched)[0];
    EXPECT_TRUE(all(got == stack(expected)).item<bool>()) << call.primitive.name << bits;
  }
}

struct Sizes3 {
  Tensor x = waves({3, 4, 5}, 1);
  Tensor i = tensor(std::vector<int64_t>{0, 2, -1, 2, 1, 0}, {3, 2});
  Tensor j = tensor(std::vector<int32_t>{4, 1, 4, 1, 0, 4}, {3, 2});
};

// Rows along one axis; along two axes with a batch; with ignored indices out of range.
std::vector<std::pair<std::vector<Tensor>, GatherAttributes>> gathers() {
  const Sizes3 s;
  const Tensor far = tensor(std::vector<int64_t>{0, 7, 1, -9}, {4});
  return {{{s.i}, {.axes = {1}}},
          {{s.i, s.j}, {.axes = {0, 2}}},
          {{s.j}, {.axes = {2}, .batch = 1}},
          {{s.i, s.j}, {.axes = {1, 2}, .batch = 1}},
          {{far}, {.axes = {0}, .outside = Outside::ignored}}};
}

Call gather_call(const std::vector<Tensor>& indices, const GatherAttributes& attributes) {
  std::vector<Tensor> operands{Sizes3().x};
  operands.insert(operands.end(), indices.begin(), indices.end());
  return {ir::primitive("gather"), operands, ir::Attributes::of(attributes)};
}

Call scatter_call(const char* name, const std::vector<Tensor>& indices,
                  const GatherAttributes& attributes) {
  const Tensor x = Sizes3().x;
  std::vector<Tensor> operands{x, waves(gather_rows(x, indices, attributes).shape(), 2)};
  operands.insert(operands.end(), indices.begin(), indices.end());
  return {ir::primitive(name), operands, ir::Attributes::of(attributes)};
}

TEST(ScatterRules, Transposes) {
  for (const auto& [indices, attributes] : gathers()) {
    expect_transposed(gather_call(indices, attributes), {0});
    expect_transposed(scatter_call("scatter_set", indices, attributes), {0, 1});
    expect_transposed(scatter_call("scatter_add", indices, attributes), {0, 1});
  }
  GatherAttributes unique{.axes = {1}, .unique = true};
  expect_transposed(scatter_call("scatter_set", {tensor<int64_t>({2, 0})}, unique), {0, 1});
}

TEST(ScatterRules, Tangents) {
  for (const auto& [indices, attributes] : gathers()) {
    for (const char* name : {"scatter_multiply", "scatter_minimum", "scatter_maximum"}) {
      expect_tangents_of(scatter_call(name, indices, attributes));
    }
  }
}

// x = 2 · 0 · 3 and 0 · 0 · 3: the product rule, with one and with two zeros.
TEST(ScatterRules, ProductsWithZeros) {
  for (const double first : {0.0, 2.0}) {
    const Call call{
        ir::primitive("scatter_multiply"),
        {tensor<double>({first, 1.0}), tensor<double>({0.0, 3.0}), tensor<int64_t>({0, 0})},
        ir::Attributes::of(GatherAttributes{.axes = {0}})};
    expect_tangents_of(call);
  }
}

// Each of k equal elements gets 1/k, as in JAX.
TEST(ScatterRules, EqualOnesShare) {
  const std::vector<Tensor> operands{tensor<double>({3, 1}), tensor<double>({3, 3, 0}),
                                     tensor<int64_t>({0, 0, 1})};
  const ir::Primitive& primitive = ir::primitive("scatter_maximum");
  const ir::Attributes attributes = ir::Attributes::of(GatherAttributes{.axes = {0}});
  const Call call{primitive, operands, attributes};
  const Tensor result = call.run();
  const std::vector<Tensor> tangents{Tensor(), tensor<double>({1, 2, 4}), Tensor()};
  const auto types = call.types();
  const Tensor got =
      find_rules(primitive)->tangents.of({attributes, operands, {&result, 1}, types}, tangents)[0];
  EXPECT_EQ(got.text(), "[1. 0.] : f64[2]");
}

TEST(ScatterRules, Batches) {
  for (const auto& [indices, attributes] : gathers()) {
    expect_batched(gather_call(indices, attributes), 2);
    for (const char* name :
         {"scatter_set", "scatter_add", "scatter_multiply", "scatter_minimum", "scatter_maximum"}) {
      expect_batched(scatter_call(name, indices, attributes), 2);
    }
  }
  const Rules& rules = *find_rules(ir::primitive("nonzero"));
  const Tensor x = zeros({2, 3});
  EXPECT_THROW(rules.batching.of({}, {&x, 1}, {true}), ValueError);
}

// The attributes of update_slice are private, so they are taken from a trace.
Call update_slice_call(const std::vector<SliceRange>& ranges) {
  const Tensor x = Sizes3().x;
  Shape shape;
  for (const SliceRange& range : ranges) shape.append(range.count);
  const Tensor part = waves(shape, 2);
  const auto program = trace([&](const Tensor& whole, const Tensor& some) {
                         Tensor own = whole;
                         return update_slice_into(own, some, ranges);
                       })(x, part)
                           .program;
  for (const ir::Instruction instruction : program.entry().instructions()) {
    return {instruction.primitive(), {x, part}, instruction.attributes()};
  }
  throw ValueError("nothing was recorded");
}

TEST(ScatterRules, UpdateSlice) {
  for (const auto& ranges : {std::vector<SliceRange>{{1, 2, 1}, {0, 4, 1}, {4, 2, -3}},
                             std::vector<SliceRange>{{0, 3, 1}, {3, 4, -1}, {0, 3, 2}},
                             std::vector<SliceRange>{{2, 1, 1}, {0, 0, 1}, {0, 5, 1}}}) {
    const Call call = update_slice_call(ranges);
    expect_transposed(call, {0, 1});
    expect_batched(call, 2);
  }
  Tensor x = waves({3}, 1);
  const SliceRange outside{2, 2, 1};
  EXPECT_THROW(update_slice_into(x, waves({2}, 1), {&outside, 1}), IndexError);
  EXPECT_EQ(x.shape(), (Shape{3}));
}

TEST(ScatterRules, RefuseShapesThatDoNotFit) {
  const Tensor x = zeros({2, 3}), i = tensor<int64_t>({0, 1});
  const auto gather = [&](const GatherAttributes& attributes, std::vector<Tensor> operands) {
    return plait::apply(ir::primitive("gather"), operands, ir::Attributes::of(attributes));
  };
  EXPECT_THROW(gather({.axes = {2}}, {x, i}), TypeError);
  EXPECT_THROW(gather({.axes = {1, 0}}, {x, i, i}), TypeError);
  EXPECT_THROW(gather({.axes = {0}, .batch = 1}, {x, i}), TypeError);
  EXPECT_THROW(gather({.axes = {0, 1}}, {x, i}), TypeError);
  EXPECT_THROW(gather({.axes = {0}, .batch = -1}, {x, i}), TypeError);
  EXPECT_THROW(gather({.axes = {0, 1}}, {x, i, tensor<int64_t>({0})}), ShapeError);
  EXPECT_THROW(gather({.axes = {1}, .batch = 1}, {x, tensor<int64_t>({0, 0, 0})}), ShapeError);
  EXPECT_THROW(gather({.axes = {0}}, {x, x}), TypeError);
  const Tensor narrow = zeros({2, 2});
  EXPECT_THROW(scatter_rows(Combine::add, x, narrow, {&i, 1}, {.axes = {0}}), TypeError);
  const Tensor truths = tensor<bool>({true, false});
  EXPECT_THROW(scatter_rows(Combine::add, truths, truths, {&i, 1}, {.axes = {0}}), TypeError);
}

}  // namespace
}  // namespace plait
