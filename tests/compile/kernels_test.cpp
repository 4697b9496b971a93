// Results of kernels, for sums and rounding in cases that are rare in random programs.
#include <gtest/gtest.h>

#include "plait/core/inside/system/denormal_mode.h"
#include "plait/core/system/denormals.h"
#include "plait/core/system/thread_team.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/pad.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/trace_function.h"

#include "tests/compile/as_evaluated.h"
#include "tests/support/sizes.h"

namespace plait::compile {
namespace {

const std::vector<std::vector<int64_t>> kAxesOfThree{{0},    {1},    {2},      {0, 1},
                                                     {0, 2}, {1, 2}, {0, 1, 2}};

class WithThreads {
 public:
  explicit WithThreads(int count) : before_(thread_count()) { set_thread_count(count); }
  ~WithThreads() { set_thread_count(before_); }
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;

 private:
  int before_;
};

TEST(Sums, CountBroadcastElementsEachTime) {
  const auto f = [](const Tensor& of_rows, const Tensor& of_columns, const Tensor& x) {
    const Tensor rows = broadcast_to(expand_dims(exp(of_rows), 1), x.shape());
    const Tensor columns = broadcast_to(exp(of_columns), x.shape());
    return std::vector<Tensor>{x - sum(rows, 1, true),
                               x * sum(columns, 1, true),
                               sum(rows, 0) + of_columns,
                               sum(columns, 0) * of_columns,
                               sum(rows) * x,
                               sum(columns) - sum(x * 2.)};
  };
  const Tensor of_rows = numbers({5}, 1), of_columns = numbers({7}, 2), x = numbers({5, 7}, 3);
  expect_as_evaluated(trace(f)(of_rows, of_columns, x).program, {of_rows, of_columns, x}, 1e-5);
  for (const int64_t axis : {0, 1}) {
    const auto one = [axis](const Tensor& each, const Tensor& all) {
      return all + sum(broadcast_to(expand_dims(exp(each), 1), all.shape()), axis, true);
    };
    expect_as_evaluated(trace(one)(of_rows, x).program, {of_rows, x}, 1e-5);
  }
}

TEST(Sums, AlongAnyAxes) {
  const Tensor x = numbers({4, 5, 6}, 1);
  for (const auto& axes : kAxesOfThree) {
    const auto alone = [&](const Tensor& y) { return sum(exp(y) * 2., axes); };
    expect_as_evaluated(trace(alone)(x).program, {x}, 1e-5);
    const auto used = [&](const Tensor& y) { return y - sum(exp(y), axes, true); };
    expect_as_evaluated(trace(used)(x).program, {x}, 1e-5);
    for (const auto& others : kAxesOfThree) {
      const auto both = [&](const Tensor& y) {
        const Tensor z = exp(y);
        return std::vector<Tensor>{sum(z, axes), max(z * 2., others)};
      };
      expect_as_evaluated(trace(both)(x).program, {x}, 1e-5);
    }
  }
}

// Large enough to be split into parts.
TEST(Sums, OfLargeTensors) {
  for (const int threads : {1, 3}) {
    const WithThreads with(threads);
    for (const Shape& shape : {Shape{40, 60, 50}, Shape{2, 30, 3000}, Shape{300, 70, 8}}) {
      const Tensor x = numbers(shape, 1), y = numbers(shape, 2);
      for (const auto& axes : kAxesOfThree) {
        const auto f = [&](const Tensor& a, const Tensor& b) {
          return std::vector<Tensor>{sum(exp(a) * b, axes), a * b - a};
        };
        expect_as_evaluated(trace(f)(x, y).program, {x, y}, 2e-5);
      }
    }
  }
}

TEST(Sums, AccumulateNarrowDTypesInWideOnes) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const Tensor x = full({700, 3}, 1., dtype);
    for (const int64_t axis : {0, 1}) {
      const auto f = [axis](const Tensor& y) { return sum(y + y, axis); };
      expect_bits_as_evaluated(trace(f)(x).program, {x});
    }
    const auto all = [](const Tensor& y) { return sum(y + y); };
    expect_bits_as_evaluated(trace(all)(x).program, {x});
  }
}

TEST(Sums, AreZeroIfEmpty) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i8}) {
    for (const Shape& shape : {Shape{0, 4}, Shape{4, 0}, Shape{0, 0}}) {
      const Tensor x = numbers(shape, 1, dtype);
      for (const std::vector<int64_t>& axes : {std::vector<int64_t>{0}, {1}, {0, 1}}) {
        const auto f = [&](const Tensor& y) {
          return std::vector<Tensor>{sum(y + y, axes), prod(y * y, axes)};
        };
        expect_as_evaluated(trace(f)(x).program, {x}, 0);
      }
    }
  }
}

TEST(Extremes, KeepNaN) {
  for (const int64_t place : {0, 5, 36}) {
    std::vector<float> x(37);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 11);
    x[static_cast<size_t>(place)] = NAN;
    const Tensor tensor(Array::of(std::span<const float>(x), Sizes{1, 37}));
    const auto f = [](const Tensor& y) {
      return std::vector<Tensor>{max(y * 2., 1), min(y * 2., 1), max(y * 2., 0), max(y * 2.),
                                 y - max(y, 1, true)};
    };
    expect_as_evaluated(trace(f)(tensor).program, {tensor}, 0);
  }
}

TEST(Kernels, RoundAsEagerly) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    const Tensor x = numbers({1000}, 1, dtype), y = numbers({1000}, 2, dtype);
    // Negation is exact: it must not change how wider intermediate values are rounded.
    const auto f = [](const Tensor& a, const Tensor& b) {
      return std::vector<Tensor>{negative(a * b), negative(a + b), negative(a / b)};
    };
    expect_bits_as_evaluated(trace(f)(x, y).program, {x, y});
  }
}

// Large enough that all threads take part in each loop.
TEST(Kernels, TakeDenormalsAsTheCallerDoes) {
  if (!can_flush_denormals()) GTEST_SKIP() << "this processor has no such mode";
  const auto f = [](const Tensor& a, const Tensor& tiny) {
    const Tensor b = a * 1e-38F;
    return std::vector<Tensor>{b * 1e38F, sum(b, 1), matmul(tiny, a)};
  };
  const Tensor x = numbers({1000, 1000}, 1) / 100., tiny = x * 1e-38F;
  const ir::Program program = trace(f)(x, tiny).program;
  const Tensors given{x, tiny};
  for (const int threads : {1, 3}) {
    const WithThreads with(threads);
    for (const bool flush : {true, false}) {
      Tensors compiled, evaluated;
      {
        const FlushDenormals mode(flush);
        compiled = Compiled(program)(given);
        evaluated = evaluate(program, given);
      }
      for (const Tensor& each : compiled) EXPECT_EQ(any(each).truth(), !flush);
      for (const Tensor& each : evaluated) EXPECT_EQ(any(each).truth(), !flush);
    }
  }
}

// Loops that are not merged; each thread does some rows.
TEST(Kernels, DivideRowsAmongThreads) {
  const Tensor x = numbers({40, 60, 50}, 1), y = numbers({40, 1, 50}, 2);
  const auto f = [](const Tensor& a, const Tensor& b) { return exp(a) * b + a; };
  const auto added_up = [](const Tensor& a, const Tensor& b) {
    return sum(exp(a) * b, std::vector<int64_t>{0, 1});
  };
  for (const int threads : {1, 3}) {
    const WithThreads with(threads);
    expect_as_evaluated(trace(f)(x, y).program, {x, y}, 1e-6);
    expect_as_evaluated(trace(added_up)(x, y).program, {x, y}, 2e-5);
  }
}

TEST(Kernels, PadAndSliceAnywhere) {
  for (const int64_t columns : {1, 5, 16, 33, 100}) {
    const Tensor x = numbers({3, columns}, 1);
    for (const int64_t before : {0, 1, 7}) {
      for (const int64_t behind : {0, 2, 40}) {
        const auto f = [&](const Tensor& y) {
          const Tensor padded = pad(y, {{0, 0}, {before, behind}});
          const Tensor wider = pad(y, {{1, 0}, {before + 1, behind}});
          const Tensor row =
              slice_axis(slice_axis(wider, 0, 1, 1), 1, 1, columns + before + behind);
          return padded * 2. + exp(row);
        };
        expect_as_evaluated(trace(f)(x).program, {x}, 1e-6);
      }
    }
  }
}

// Elements that were cut off are 0, though the rows that are read are as long as those of the
// result.
TEST(Kernels, PadWhatWasCut) {
  for (const int64_t columns : {3, 9, 40}) {
    const Tensor x = numbers({5, columns}, 1);
    const auto f = [&](const Tensor& y) {
      return pad(slice_axis(y, 1, 1, columns - 2), {{0, 0}, {1, 1}}) * 2. + y;
    };
    expect_as_evaluated(trace(f)(x).program, {x}, 1e-6);
  }
}

// Size 0, or padded from it: an element is read only if it exists.
TEST(Kernels, ReadNothingOfWhatIsEmpty) {
  for (const int64_t columns : {1, 3, 7, 40}) {
    const Tensor none = numbers({0, columns}, 1), x = numbers({1, columns}, 2);
    const Tensor weights = numbers({columns, columns}, 3);
    const auto f = [&](const Tensor& e, const Tensor& y, const Tensor& w) {
      const Tensor empty = e * e, behind = pad(empty, {{0, 1}, {0, 0}});
      const Tensor wide = pad(empty, {{2, 1}, {1, 0}});
      const Tensor row = slice_axis(slice_axis(wide, 0, 1, 1), 1, 1, columns);
      return std::vector<Tensor>{(y + behind) * y,
                                 (y + row) * y,
                                 exp(concat({{empty, y, empty}}, 0)) + y,
                                 concat({{empty, empty, pad(e, {{1, 0}, {0, 0}})}}, 0) * y,
                                 sum(behind * y + y, {1}, true) + y,
                                 sum(y - behind, {0}) * 2.,
                                 tanh(matmul(y, w) + behind),
                                 sum(matmul(empty, w) + 1., {0}) + y};
    };
    expect_as_evaluated(trace(f)(none, x, weights).program, {none, x, weights}, 1e-5);
  }
}

TEST(Kernels, ReadNothingOfWhatMayBeEmpty) {
  Trace recording("main");
  const Tensor x = recording.parameter(ir::Type::array(DType::f32, {n, 5}), "x");
  const Tensor y = recording.parameter(ir::Type::array(DType::f32, {1, 5}), "y");
  const Tensor padded = pad(x * x, {{0, 2}, {0, 0}});
  const Tensor first = slice_axis(padded, 0, 0, 1), last = slice_axis(padded, 0, n + 1, 1);
  const RecordedFunction recorded =
      recording.finish(std::vector<Tensor>{(y + first) * y, exp(y - last), sum(y + first) + y});
  const ir::Program program = recording.program(recorded);
  for (const int64_t rows : {3, 0, 1, 2}) {
    expect_as_evaluated(program, {numbers({rows, 5}, 1), numbers({1, 5}, 2)}, 1e-5);
  }
}

}  // namespace
}  // namespace plait::compile
