// The first call of a jitted function: its operations are recorded, and then the record is run.
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/plait.h"
#include "plait/tensor/memory/memory.h"

#include "tests/support/agreement.h"
#include "tests/transform/transform_support.h"

namespace plait {
namespace {

constexpr int64_t kElements = 100'000, kArrayBytes = kElements * 8;
constexpr int kOperations = 30;

// All values of a chain of operations.
std::vector<Tensor> chain(const Tensor& x) {
  std::vector<Tensor> all{x};
  for (int i = 0; i < kOperations; ++i) all.push_back(sin(all.back()));
  return all;
}

// The peak of a call, also of memory that an earlier call keeps.
template <class F>
int64_t peak_bytes_of(const F& call) {
  reset_peak_memory();
  call();
  return memory_statistics().peak_bytes;
}

TEST(JitFirstCall, TakesNoMoreMemoryThanLaterOnes) {
  const auto f = jit([](const Tensor& x) { return chain(x).back(); });
  const Tensor x = numbers({kElements}, 1);
  const int64_t first = peak_bytes_of([&] { f(x); });
  EXPECT_LE(first, peak_bytes_of([&] { f(x); }) + kArrayBytes);
  EXPECT_EQ(f.stats().traces, 1);
}

TEST(JitFirstCall, ComputesOnlyWhatAConditionNeeds) {
  const auto f = jit([](const Tensor& x) {
    const std::vector<Tensor> all = chain(x);
    return sum(x * x) > 0 ? all.back() : x;
  });
  const Tensor x = numbers({kElements}, 1);
  const int64_t first = peak_bytes_of([&] { f(x); });
  EXPECT_LE(first, peak_bytes_of([&] { f(x); }) + 3 * kArrayBytes);
  expect_as_good_as_same("jitted", {f(x)}, {chain(x).back()});
}

std::vector<Tensor> stored;

TEST(JitFirstCall, TensorsThatAreStoredElsewhereHaveValues) {
  stored.clear();
  const auto f = jit([](const Tensor& x) {
    stored.push_back(exp(x));
    stored.push_back(stored[0] + 1);
    return stored[1];
  });
  const Tensor x = numbers({3}, 1);
  const Tensor y = f(x);
  expect_as_good_as_same("an intermediate value", {stored[0]}, {exp(x)});
  expect_same_bits("the result", {stored[1]}, {y});
  stored.clear();
}

TEST(JitFirstCall, TensorsThatWereStoredBeforeAnExceptionHaveValues) {
  stored.clear();
  const auto f = jit([](const Tensor& x) -> Tensor {
    stored.push_back(exp(x));
    throw std::runtime_error("mine");
  });
  const Tensor x = numbers({3}, 1);
  EXPECT_THROW(f(x), std::runtime_error);
  expect_as_good_as_same("stored", {stored[0]}, {exp(x)});
  stored.clear();
}

TEST(JitFirstCall, HostCodeCatchesWhatFailsInTheRecord) {
  const auto f = jit([](const Tensor& x, const Tensor& index) {
    try {
      return take(x, index, 0);
    } catch (const IndexError&) {
      return x * 2;
    }
  });
  const Tensor x = numbers({3}, 1);
  const auto index = [](int64_t i) {
    return reshape(astype(full({1}, Scalar(i)), DType::i64), {1});
  };
  for (const int64_t i : {7, 1, 9}) {
    const Tensor expected = i < 3 ? take(x, index(i), 0) : x * 2;
    expect_as_good_as_same("jitted", {f(x, index(i))}, {expected});
  }
}

TEST(JitFirstCall, EndsAtSizesThatATypeRuleRefuses) {
  const auto f = jit([](const Tensor& x) {
    const Tensor best = topk(x, 2, 0).values;
    stored.push_back(best);
    return best;
  });
  for (const int64_t size : {3, 4, 5, 0, 1, 6}) {
    stored.clear();
    const Tensor x = numbers({size}, 1);
    if (size < 2) {
      EXPECT_THROW(f(x), ValueError) << size;
      EXPECT_TRUE(stored.empty()) << size;
    } else {
      expect_as_good_as_same("jitted", {f(x)}, {topk(x, 2, 0).values});
    }
  }
  stored.clear();
}

}  // namespace
}  // namespace plait
