// Kernels that go on with the rows that they compute: attention, forward and back.
#include <algorithm>
#include <functional>
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plait/compile/inside/running/compiled_access.h"
#include "plait/compile/inside/targets/target.h"
#include "plait/core/system/thread_team.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/neural/attention.h"
#include "plait/ops/neural/dropout.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/programs.h"

#include "tests/compile/as_evaluated.h"

namespace plait::compile {
namespace {

using Kind = TrailingProduct::Kind;
using Step = std::function<Tensor(const Tensor&)>;

// Changes the scores before the softmax.
Tensor as_they_are(const Tensor& scores) { return scores; }
Tensor with_causal(const Tensor& scores, double masked) {
  const Tensor query = expand_dims(iota(scores.shape(-2)), 1);
  return where(less_equal(iota(scores.shape(-1)), query), scores, masked);
}
Tensor causal(const Tensor& scores) { return with_causal(scores * 0.25, -1e9); }

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Step& changed) {
  return matmul(softmax(changed(matmul(q, matrix_transpose(k))), -1), v);
}

Tensors attention_grads(const Tensor& q, const Tensor& k, const Tensor& v, const Step& changed) {
  const auto loss = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
    const Tensor out = attention(a, b, c, changed);
    return sum(out * out);
  };
  const auto [dq, dk, dv] = grad<0, 1, 2>(loss)(q, k, v);
  return {dq, dk, dv};
}

struct Sizes3 {
  Shape q, k, v;
};
Sizes3 heads(int64_t batch, int64_t heads, int64_t queries, int64_t keys, int64_t width) {
  return {{batch, heads, queries, width}, {batch, heads, keys, width}, {batch, heads, keys, width}};
}

Tensors operands_of(const Sizes3& sizes, DType dtype = DType::f32) {
  return {numbers(sizes.q, 1, dtype), numbers(sizes.k, 2, dtype), numbers(sizes.v, 3, dtype)};
}

ir::Program forward_program(const Tensors& x, const Step& changed) {
  return trace([&](const Tensor& q, const Tensor& k, const Tensor& v) {
           return attention(q, k, v, changed);
         })(x[0], x[1], x[2])
      .program;
}
ir::Program backward_program(const Tensors& x, const Step& changed) {
  return trace([&](const Tensor& q, const Tensor& k, const Tensor& v) {
           return attention_grads(q, k, v, changed);
         })(x[0], x[1], x[2])
      .program;
}

std::vector<Kind> kinds_of(const PlannedKernel& kernel) {
  std::vector<Kind> kinds;
  for (const PlannedKernel::Trailing& each : kernel.trailing) kinds.push_back(each.kind);
  std::ranges::sort(kinds);
  return kinds;
}

// The kernels with trailing products.
std::vector<PlannedKernel> chains_of(const Compiled& compiled) {
  std::vector<PlannedKernel> found;
  for (const PlannedKernel& kernel : CompiledAccess::plan(compiled).kernels) {
    if (!kernel.trailing.empty()) found.push_back(kernel);
  }
  return found;
}

#define SKIP_WITHOUT_KERNELS()                   \
  if (find_target(Device::Kind::cpu) == nullptr) \
  GTEST_SKIP() << "no code is generated in this build"

double tolerance_of(DType dtype) {
  return dtype == DType::f64 ? 1e-12 : dtype == DType::f32 ? 3e-5 : 5e-2;
}

// The same bits with any number of threads, and as the evaluator, also kernel by kernel in guarded
// memory.
void expect_chain(const ir::Program& program, const Tensors& arguments, double tolerance) {
  const Compiled compiled(program);
  if (find_target(Device::Kind::cpu) != nullptr) {
    ASSERT_FALSE(chains_of(compiled).empty()) << CompiledAccess::plan(compiled).text();
  }
  const int count = thread_count();
  Tensors before;
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    const Tensors now = compiled(arguments);
    if (!before.empty()) expect_same_bits("other threads", now, before);
    before = now;
  }
  set_thread_count(count);
  expect_as_evaluated(program, arguments, tolerance);
}

void expect_both(const Tensors& x, const Step& changed) {
  const double tolerance = tolerance_of(x[0].dtype());
  expect_chain(forward_program(x, changed), x, tolerance);
  expect_chain(backward_program(x, changed), x, tolerance);
}

TEST(RowChains, AttentionIsOneKernelForwardAndOneBack) {
  SKIP_WITHOUT_KERNELS();
  const Tensors x = operands_of(heads(2, 4, 96, 96, 32));
  const auto forward = chains_of(Compiled(forward_program(x, causal)));
  ASSERT_EQ(forward.size(), 1u);
  EXPECT_EQ(kinds_of(forward[0]), std::vector{Kind::rows});
  EXPECT_EQ(forward[0].result_count, 0u) << "weights are stored";

  const Compiled compiled(backward_program(x, causal));
  const auto both = chains_of(compiled);
  ASSERT_EQ(both.size(), 2u) << CompiledAccess::plan(compiled).text();
  for (const PlannedKernel& kernel : both) {
    EXPECT_EQ(kernel.result_count, 0u) << "weights are stored";
    const bool is_backward = kernel.products.size() == 2;
    EXPECT_EQ(kinds_of(kernel), is_backward
                                    ? (std::vector{Kind::rows, Kind::sum_left, Kind::sum_left})
                                    : std::vector{Kind::rows});
  }
}

TEST(RowChains, WeightsThatOthersReadAreStored) {
  SKIP_WITHOUT_KERNELS();
  const Tensors x = operands_of(heads(1, 4, 160, 160, 16));
  const auto f = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    const Tensor weights = softmax(matmul(q, matrix_transpose(k)), -1);
    return std::vector<Tensor>{matmul(weights, v), weights};
  };
  const ir::Program program = trace(f)(x[0], x[1], x[2]).program;
  const auto chains = chains_of(Compiled(program));
  ASSERT_EQ(chains.size(), 1u);
  EXPECT_EQ(chains[0].result_count, 1u);
  expect_chain(program, x, 1e-5);
}

// Weights that are stored anyway are not computed again.
TEST(RowChains, StoredWeightsAreReadInTheBackwardPass) {
  const Tensors x = operands_of(heads(1, 4, 160, 160, 16));
  const auto f = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    Tensors all = attention_grads(q, k, v, causal);
    all.push_back(softmax(causal(matmul(q, matrix_transpose(k))), -1));
    return all;
  };
  const ir::Program program = trace(f)(x[0], x[1], x[2]).program;
  for (const PlannedKernel& kernel : chains_of(Compiled(program))) {
    EXPECT_EQ(kernel.products.size(), 1u) << kernel.nest.text();
  }
  expect_chain(program, x, 3e-5);
}

TEST(RowChains, RowsTimesThemselves) {
  const Tensors x = operands_of(heads(1, 4, 160, 160, 16));
  const auto f = [](const Tensor& q, const Tensor& k) {
    const Tensor weights = softmax(matmul(q, matrix_transpose(k)), -1);
    return matmul(weights, matrix_transpose(weights));
  };
  const ir::Program program = trace(f)(x[0], x[1]).program;
  EXPECT_TRUE(chains_of(Compiled(program)).empty());
  expect_as_evaluated(program, {x[0], x[1]}, 1e-5);
}

TEST(RowChains, OfAnySizeAndType) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Sizes3& sizes :
         {heads(2, 4, 96, 96, 32), heads(1, 3, 150, 211, 33), heads(4, 4, 33, 129, 8)}) {
      const Tensors x = operands_of(sizes, dtype);
      expect_both(x, as_they_are);
      expect_both(x, causal);
    }
  }
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const Tensors x = operands_of(heads(1, 2, 130, 521, 24), dtype);
    expect_both(x, as_they_are);
    expect_both(x, causal);
  }
}

// The conversions of autocast are part of the loops.
// Without kernels products of other numbers of threads are rounded otherwise.
TEST(RowChains, OfProductsInBf16) {
  register_all();
  if (find_target(Device::Kind::cpu) == nullptr) GTEST_SKIP() << "no kernels in this build";
  const auto narrow = [](const Tensor& x) { return astype(x, DType::bf16); };
  const auto product = [&](const Tensor& a, const Tensor& b) {
    return astype(matmul(narrow(a), narrow(b)), DType::f32);
  };
  const auto attend = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
    return product(softmax(with_causal(product(q, matrix_transpose(k)), -1e30), -1), v);
  };
  const auto loss = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
    const Tensor out = attend(q, k, v);
    return sum(out * out);
  };
  const Tensors x = operands_of(heads(1, 2, 520, 520, 32));
  expect_chain(trace(attend)(x[0], x[1], x[2]).program, x, 3e-2);
  const ir::Program program = trace([&](const Tensor& q, const Tensor& k, const Tensor& v) {
                                const auto [dq, dk, dv] = grad<0, 1, 2>(loss)(q, k, v);
                                return std::vector<Tensor>{dq, dk, dv};
                              })(x[0], x[1], x[2])
                                  .program;
  expect_chain(program, x, 5e-2);
}

// Keys that are given transposed: their gradient is other · rows.
TEST(RowChains, SumsOnTheRight) {
  const auto attend = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return matmul(softmax(with_causal(matmul(q, k), -1e9), -1), v);
  };
  const auto loss = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
    return sum(sin(attend(q, k, v)));
  };
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensors x{numbers({3, 150, 16}, 1, dtype), numbers({3, 16, 177}, 2, dtype),
                    numbers({3, 177, 20}, 3, dtype)};
    const ir::Program program = trace([&](const Tensor& q, const Tensor& k, const Tensor& v) {
                                  const auto [dq, dk, dv] = grad<0, 1, 2>(loss)(q, k, v);
                                  return std::vector<Tensor>{dq, dk, dv};
                                })(x[0], x[1], x[2])
                                    .program;
    if (find_target(Device::Kind::cpu) != nullptr) {
      bool has_sum = false;
      for (const PlannedKernel& kernel : chains_of(Compiled(program))) {
        for (const Kind kind : kinds_of(kernel)) has_sum = has_sum || kind == Kind::sum_right;
      }
      EXPECT_TRUE(has_sum);
    }
    expect_chain(program, x, tolerance_of(dtype));
  }
}

TEST(RowChains, OneMatrixAndSharedKeys) {
  expect_both({numbers({300, 24}, 1), numbers({320, 24}, 2), numbers({320, 40}, 3)}, causal);
  // Keys and values of one head for all.
  const Tensors x{numbers({2, 6, 90, 16}, 1), numbers({2, 1, 110, 16}, 2),
                  numbers({2, 1, 110, 16}, 3)};
  expect_chain(forward_program(x, as_they_are), x, 1e-5);
  expect_as_evaluated(backward_program(x, causal), x, 3e-5);
}

// Groups of heads that share keys and values, with masks of each form: forward and back.
TEST(RowChains, GroupsOfHeads) {
  Tensors x{numbers({2, 6, 70, 16}, 1), numbers({2, 2, 90, 16}, 2), numbers({2, 2, 90, 24}, 3)};
  const Tensor of_keys = less(iota(90), reshape(iota(2) * 20 + 60, {2, 1, 1, 1}));
  struct Case {
    Tensor mask;
    bool is_causal;
  };
  const Tensor none = ones({1}, DType::boolean);
  for (const Case& each : {Case{none, false}, Case{none, true}, Case{of_keys, false},
                           Case{numbers({6, 70, 90}, 4), false}}) {
    const auto attended = [&](const Tensor& q, const Tensor& k, const Tensor& v,
                              const Tensor& mask) {
      return scaled_dot_product_attention(q, k, v,
                                          {.attn_mask = mask, .is_causal = each.is_causal});
    };
    const auto loss = [&](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
      const Tensor out = attended(q, k, v, mask);
      return sum(out * out);
    };
    x.resize(3);
    x.push_back(each.mask);
    const auto forward = trace(attended)(x[0], x[1], x[2], x[3]).program;
    const auto backward = trace(grad<0, 1, 2>(loss))(x[0], x[1], x[2], x[3]).program;
    expect_chain(forward, x, 1e-5);
    expect_chain(backward, x, 3e-5);
    if (find_target(Device::Kind::cpu) == nullptr) continue;
    for (const PlannedKernel& kernel : chains_of(Compiled(backward))) {
      EXPECT_EQ(kernel.result_count, 0u) << "weights are stored";
    }
  }
}

TEST(RowChains, ASymbolicLength) {
  const auto f = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return attention_grads(q, k, v, causal);
  };
  const Dim n = Dim::symbol("n");
  const Tensor x = abstract_tensor(ir::Type::array(DType::f32, {1, 2, n, 16}));
  const ir::Program program = trace(f)(x, x, x).program;
  const Compiled compiled(program);
  for (const int64_t length : {0, 1, 2, 31, 64, 200, 513}) {
    const Tensors given = operands_of(heads(1, 2, length, length, 16));
    expect_as_good_as_same("compiled", compiled(given), evaluate(program, given), 3e-5);
  }
}

// ---- Dropout of the weights, whose random numbers the kernels draw.

Tensor dropped(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& key,
               const Step& changed) {
  const Tensor weights = softmax(changed(matmul(q, matrix_transpose(k))), -1);
  return matmul(dropout(weights, 0.25, key), v);
}

ir::Program dropped_program(const Tensors& x, const Step& changed, bool is_backward) {
  const auto forward = [&](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& key) {
    return std::vector<Tensor>{dropped(q, k, v, key, changed)};
  };
  const auto backward = [&](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& key) {
    const auto loss = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
      return sum(square(dropped(a, b, c, key, changed)));
    };
    const auto [dq, dk, dv] = grad<0, 1, 2>(loss)(q, k, v);
    return std::vector<Tensor>{dq, dk, dv};
  };
  const Tensor& key = x[3];
  return is_backward ? trace(backward)(x[0], x[1], x[2], key).program
                     : trace(forward)(x[0], x[1], x[2], key).program;
}

Tensors with_key(Tensors x) {
  x.push_back(random::key(7));
  return x;
}

int64_t steps_of(const Compiled& compiled, std::string_view primitive) {
  const std::string text = CompiledAccess::plan(compiled).text();
  int64_t count = 0;
  for (size_t at = text.find(primitive); at != std::string::npos;
       at = text.find(primitive, at + 1)) {
    ++count;
  }
  return count;
}

TEST(RowChains, DropoutIsDrawnByTheKernels) {
  SKIP_WITHOUT_KERNELS();
  const Tensors x = with_key(operands_of(heads(2, 4, 96, 96, 32)));
  const Compiled compiled(dropped_program(x, causal, true));
  EXPECT_EQ(steps_of(compiled, "random_values"), 0) << CompiledAccess::plan(compiled).text();
  const auto both = chains_of(compiled);
  ASSERT_EQ(both.size(), 2u);
  for (const PlannedKernel& kernel : both) EXPECT_EQ(kernel.draws.size(), 1u);
}

TEST(RowChains, DropoutOfAnySize) {
  for (const Sizes3& sizes : {heads(2, 4, 96, 96, 32), heads(1, 3, 150, 211, 33),
                              heads(4, 4, 33, 129, 8), heads(1, 1, 1030, 1031, 8)}) {
    const Tensors x = with_key(operands_of(sizes));
    for (const bool is_backward : {false, true}) {
      expect_chain(dropped_program(x, as_they_are, is_backward), x, 3e-5);
      expect_chain(dropped_program(x, causal, is_backward), x, 3e-5);
    }
  }
}

TEST(RowChains, DropoutOfASymbolicLength) {
  const Dim n = Dim::symbol("n");
  const Tensor any = abstract_tensor(ir::Type::array(DType::f32, {1, 2, n, 16}));
  const ir::Program program = dropped_program(with_key({any, any, any}), causal, true);
  const Compiled compiled(program);
  for (const int64_t length : {0, 1, 2, 31, 200, 513}) {
    const Tensors given = with_key(operands_of(heads(1, 2, length, length, 16)));
    expect_as_good_as_same("compiled", compiled(given), evaluate(program, given), 3e-5);
  }
}

// Numbers that another product reads are stored.
TEST(RowChains, DrawsThatOthersReadAreStored) {
  SKIP_WITHOUT_KERNELS();
  const Tensors x = with_key(operands_of(heads(1, 3, 160, 160, 16)));
  const auto f = [](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& key) {
    const Tensor weights = softmax(matmul(q, matrix_transpose(k)), -1);
    const Tensor drawn = random::uniform(key, weights.shape());
    return std::vector<Tensor>{matmul(where(less(drawn, 0.5), weights, 0.), v), matmul(drawn, v)};
  };
  const ir::Program program = trace(f)(x[0], x[1], x[2], x[3]).program;
  EXPECT_EQ(steps_of(Compiled(program), "random_values"), 1);
  expect_chain(program, x, 3e-5);
}

// ---- Masks: columns that no row of a block selects are left out.

Tensor window(const Tensor& scores) {
  const Tensor query = expand_dims(iota(scores.shape(-2)), 1), key = iota(scores.shape(-1));
  const Tensor near = less(absolute(astype(key - query, DType::f32)), 40.);
  return where(near, scores, -std::numeric_limits<double>::infinity());
}

TEST(RowChains, MasksOfAnyForm) {
  const Tensors x = operands_of(heads(2, 3, 210, 210, 16));
  expect_both(x, window);
  // Some keys are padding, other ones for each sample.
  const auto padded = [](const Tensor& scores) {
    const Tensor lengths = iota(2) * -123 + 130;
    const Tensor is_key = less(iota(scores.shape(-1)), reshape(lengths, {2, 1, 1, 1}));
    return where(is_key, scores * 0.5, -1e30);
  };
  expect_both(x, padded);
  // Queries of the first half see nothing: a mask of 0 keys, with weights that are all the same.
  const auto blind = [](const Tensor& scores) {
    const Tensor sees = greater_equal(expand_dims(iota(scores.shape(-2)), 1), 105);
    return where(sees, scores, -1e9);
  };
  expect_both(x, blind);
  // Later queries see fewer keys.
  const auto shrinking = [](const Tensor& scores) {
    const Tensor last = 200 - expand_dims(iota(scores.shape(-2)), 1);
    return where(less_equal(iota(scores.shape(-1)), last), scores, -1e9);
  };
  expect_both(x, shrinking);
}

// Each sample has its own mask, for all heads.
TEST(RowChains, MasksThatAreGiven) {
  const auto attend = [](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
    return matmul(softmax(where(mask, matmul(q, matrix_transpose(k)), -1e9), -1), v);
  };
  Tensors x = operands_of(heads(2, 3, 160, 160, 16));
  const Tensor lengths = reshape(iota(2) * 90 + 60, {2, 1, 1, 1});
  x.push_back(less(broadcast_to(iota(160), {2, 1, 160, 160}), lengths));
  const ir::Program program = trace(attend)(x[0], x[1], x[2], x[3]).program;
  for (const PlannedKernel& kernel : chains_of(Compiled(program))) {
    EXPECT_TRUE(kernel.needs.mask) << kernel.nest.text();
  }
  expect_chain(program, x, 1e-5);
}

TEST(RowChains, AMaskLimitsProducts) {
  SKIP_WITHOUT_KERNELS();
  const Tensors x = operands_of(heads(1, 3, 160, 160, 16));
  for (const PlannedKernel& kernel : chains_of(Compiled(backward_program(x, causal)))) {
    EXPECT_TRUE(kernel.needs.mask);
    EXPECT_TRUE(kernel.needs.maximum) << kernel.nest.text();
    EXPECT_EQ(kernel.needs.products[0].by, NeededColumns::By::mask);
    if (kernel.products.size() < 2) continue;
    EXPECT_EQ(kernel.needs.products[1].by, NeededColumns::By::factor);
  }
  for (const PlannedKernel& kernel : chains_of(Compiled(backward_program(x, as_they_are)))) {
    EXPECT_FALSE(kernel.needs.mask);
  }
  // Scores that are read besides the selection are needed everywhere.
  const auto leaking = [](const Tensor& scores) {
    return causal(scores) + max(scores, {-1}, true) * 1e-3;
  };
  for (const PlannedKernel& kernel : chains_of(Compiled(forward_program(x, leaking)))) {
    EXPECT_FALSE(kernel.needs.mask);
  }
  expect_both(x, leaking);
}

// Numbers that replace excluded scores count unless they are far below the others.
TEST(RowChains, ExcludedScoresThatCount) {
  const Tensors x = operands_of(heads(1, 3, 160, 160, 16));
  for (const double masked : {0., 3., -5., -790., -1e3, 1e9}) {
    const auto changed = [&](const Tensor& scores) { return with_causal(scores, masked); };
    expect_both(x, changed);
    // All scores are as low as the excluded ones.
    expect_both(x, [&](const Tensor& scores) { return with_causal(scores + masked, masked); });
  }
  // The weights are used besides: all columns are computed.
  const auto f = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    const Tensor weights = softmax(causal(matmul(q, matrix_transpose(k))), -1);
    return std::vector<Tensor>{matmul(weights, v), weights};
  };
  const ir::Program program = trace(f)(x[0], x[1], x[2]).program;
  for (const PlannedKernel& kernel : chains_of(Compiled(program))) {
    EXPECT_FALSE(kernel.needs.maximum);
  }
  expect_chain(program, x, 1e-5);
}

// Sums along the rows of other numbers are over all columns.
TEST(RowChains, SumsOverAllColumns) {
  const auto attend = [](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& more) {
    const Tensor weights = softmax(causal(matmul(q, matrix_transpose(k))), -1);
    return matmul(weights * sum(more, {-1}, true), v);
  };
  Tensors x = operands_of(heads(1, 3, 160, 160, 16));
  x.push_back(numbers({1, 3, 160, 160}, 4));
  const ir::Program program = trace(attend)(x[0], x[1], x[2], x[3]).program;
  expect_chain(program, x, 3e-5);
}

TEST(RowChains, SoftmaxOfNothing) {
  const auto attend = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return scaled_dot_product_attention(q, k, v, {.is_causal = true});
  };
  const auto loss = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
    return sum(square(attend(q, k, v)));
  };
  const auto grads = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
    const auto [dq, dk, dv] = grad<0, 1, 2>(loss)(q, k, v);
    return std::vector<Tensor>{dq, dk, dv};
  };
  const Tensors x = operands_of(heads(1, 3, 200, 200, 16));
  const ir::Program program = trace(grads)(x[0], x[1], x[2]).program;
  for (const PlannedKernel& kernel : chains_of(Compiled(program))) {
    EXPECT_TRUE(kernel.needs.maximum) << kernel.nest.text();
  }
  expect_chain(program, x, 3e-5);
}

// Columns that a result or a sum with a product needs are computed, although they are excluded.
TEST(RowChains, ScoresThatAreReadBesides) {
  const Tensors x = operands_of(heads(1, 3, 160, 160, 16));
  const auto f = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    const Tensor scores = matmul(q, matrix_transpose(k)) * 0.25;
    return std::vector<Tensor>{matmul(softmax(with_causal(scores, -1e9), -1), v), scores};
  };
  expect_chain(trace(f)(x[0], x[1], x[2]).program, x, 1e-5);
  const auto loss = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    const Tensor weights = softmax(causal(matmul(q, matrix_transpose(k))), -1);
    const Tensor out = matmul(weights, v);
    return sum(out * out) + sum(sum(weights * weights, {-1}) * 0.5);
  };
  const auto grads = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
    const auto [dq, dk, dv] = grad<0, 1, 2>(loss)(q, k, v);
    return std::vector<Tensor>{dq, dk, dv};
  };
  const ir::Program program = trace(grads)(x[0], x[1], x[2]).program;
  expect_chain(program, x, 3e-5);
  for (const PlannedKernel& kernel : chains_of(Compiled(program))) {
    if (kernel.products.size() == 2) {
      EXPECT_EQ(kernel.needs.products[1].by, NeededColumns::By::none) << kernel.nest.text();
    }
  }
}

// A kernel with two products, of which the loops read the second one as this operation does.
ColumnNeeds needs_with(std::string_view operation) {
  const ir::Program program = parsed(fmt::format(R"(
    func @kernel(%q: f32[2, 160, 16], %k: f32[2, 16, 160], %o: f32[2, 160, 16], %v: f32[2, 16, 160], %mask: bool[2, 160, 160], %y: f32[2, 160, 16]) -> (f32[2, 160, 16], f32[2, 160, 16]) {{
      %0 = matmul %q, %k
      %none = literal {{value = f32[](-inf)}}
      %1 = broadcast %none {{sizes = [2, 160, 160]}}
      %2 = select %mask, %0, %1
      %weights = exp %2
      %product = matmul %o, %v
      %slopes = {} %product, %weights
      %3 = matmul %weights, %y
      %4 = matmul %slopes, %y
      return %3, %4
    }})",
                                                 operation));
  return planned_kernel(program.functions()[0]).needs;
}

TEST(RowChains, OnlyFactorsOfAProductLimitIt) {
  for (const std::string_view operation : {"multiply", "add", "maximum"}) {
    const ColumnNeeds needs = needs_with(operation);
    EXPECT_EQ(needs.products[0].by, NeededColumns::By::mask);
    EXPECT_EQ(needs.products[1].by,
              operation == "multiply" ? NeededColumns::By::factor : NeededColumns::By::none);
    EXPECT_FALSE(needs.maximum);
  }
}

// 0 times infinity is NaN: values of masked keys count where they are not finite.
TEST(RowChains, NumbersThatAreNotFiniteStay) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double odd : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), 1e38}) {
    for (const size_t place : {0, 1, 2}) {
      Tensors x = operands_of(heads(1, 3, 160, 160, 16));
      const Tensor is_odd = equal(iota(160), 150);
      x[place] = where(expand_dims(is_odd, 1), odd, x[place]);
      for (const auto& program : {forward_program(x, causal), backward_program(x, causal)}) {
        const Tensors wanted = evaluate(program, x), got = Compiled(program)(x);
        for (size_t i = 0; i < wanted.size(); ++i) {
          const Tensor same = logical_or(equal(isfinite(got[i]), isfinite(wanted[i])),
                                         greater(absolute(wanted[i]), 1e37));
          EXPECT_TRUE(all(same).item<bool>()) << fmt::format("{} at {}, result {}", odd, place, i);
        }
      }
    }
  }
}

// The first derivative has rows that depend on a product, and others that do not; the second one
// computes the former again.
TEST(RowChains, SecondDerivatives) {
  const auto attended = [](const Tensor& a) { return attention(a, a, a, as_they_are); };
  const auto once = [&](const Tensor& a) { return mean(square(attended(a))); };
  const auto twice = [&](const Tensor& a) { return mean(square(attended(tanh(attended(a))))); };
  const auto chosen = [&](const Tensor& a) {
    return mean(square(where(a > 0., attended(a), a) * a));
  };
  const auto check = [](const auto& loss) {
    const auto of_gradient = [&](const Tensor& a) { return sum(square(grad(loss)(a))); };
    for (const int64_t length : {200, 300}) {
      const Tensor a = numbers({length, 4}, 1);
      expect_as_evaluated(trace(grad(of_gradient))(a).program, {a}, 1e-3);
    }
  };
  check(once);
  check(twice);
  check(chosen);
}

}  // namespace
}  // namespace plait::compile
