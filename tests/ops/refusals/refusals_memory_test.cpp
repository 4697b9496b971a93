// A request for more memory than exists is refused before a page is touched.
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/matrix_parts.h"
#include "plait/ops/arrays/pad.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/fft/fft.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/linalg/linalg.h"
#include "plait/ops/neural/convolution.h"
#include "plait/ops/neural/pooling.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/scan.h"
#include "plait/ops/reductions/sort.h"
#include "plait/tensor/memory/memory.h"

#include "refusals.h"

namespace plait {
namespace {

constexpr int64_t kSide = int64_t{1} << 22, kMany = kSide << 22;

// One broadcast element: takes no memory.
Tensor repeated(const Shape& shape, DType dtype = DType::f32) { return zeros(shape, dtype); }

Refusals beyond_memory() {
  const auto side = [](DType dtype = DType::f32) { return repeated({kSide}, dtype); };
  const auto many = [] { return repeated({kMany}); };
  return {
      {"iota", [] { iota(kMany); }, kMemory},
      {"arange", [] { arange(kMany); }, kMemory},
      {"linspace", [] { linspace(0, 1, kMany); }, kMemory},
      {"eye", [] { eye(kSide, kSide); }, kMemory},
      {"tri", [] { tri(kSide, kSide); }, kMemory},
      {"zeros", [] { zeros({kMany, kMany}); }, kMemory},
      {"astype", [=] { astype(many(), DType::i32); }, kMemory},
      {"add", [=] { add(many(), 1); }, kMemory},
      {"add", [=] { add(expand_dims(side(), 1), side()); }, kMemory},
      {"multiply", [=] { multiply(expand_dims(side(), 1), side(DType::i64)); }, kMemory},
      {"equal", [=] { equal(expand_dims(side(), 1), side()); }, kMemory},
      {"exp", [=] { exp(many()); }, kMemory},
      {"where", [=] { where(repeated({kSide, 1}, DType::boolean), side(), 0); }, kMemory},
      {"outer", [=] { outer(side(), side()); }, kMemory},
      {"matmul", [=] { matmul(repeated({kSide, 1}), repeated({1, kSide})); }, kMemory},
      {"linalg::kron", [=] { linalg::kron(side(), side()); }, kMemory},
      {"one_hot", [=] { one_hot(side(DType::i64), kSide); }, kMemory},
      {"take", [=] { take(repeated({2, kSide}), side(DType::i64), 0); }, kMemory},
      {"reshape", [=] { reshape(broadcast_to(f32(kSide, int64_t{1}), {kSide, kSide}), {kMany}); },
       kMemory},
      {"tile", [=] { tile(f32(3), {kMany}); }, kMemory},
      {"repeat", [=] { repeat(f32(3), kMany, 0); }, kMemory},
      {"concat", [=] { concat(std::vector<Tensor>{many(), many()}); }, kMemory},
      {"pad", [] { pad(f32(3), {{0, kMany}}); }, kMemory},
      {"pad", [] { pad(f32(3), {{0, kMany}}, PadMode::constant, 1); }, kMemory},
      {"diag", [=] { diag(side()); }, kMemory},
      {"sort", [=] { sort(many()); }, kMemory},
      {"cumsum", [=] { cumsum(many(), 0); }, kMemory},
      {"softmax", [=] { softmax(repeated({kSide, kSide})); }, kMemory},
      {"fft::fft", [=] { fft::fft(many()); }, kMemory},
      {"conv1d", [] { conv1d(repeated({1, 1, kMany}), f32(1, 1, 3), {}, {.padding = "same"}); },
       kMemory},
      {"avg_pool1d", [] { avg_pool1d(repeated({1, 1, kMany}), 3, {.stride = 1}); }, kMemory},
      {"random::uniform", [] { random::uniform({kMany}); }, kMemory},
      {"random::normal", [] { random::normal({kSide, kSide}); }, kMemory},
      {"random::bits", [] { random::bits({kMany}); }, kMemory},
      {"random::randint", [] { random::randint({kMany}, 0, 5); }, kMemory},
      {"random::permutation", [] { random::permutation(kMany); }, kMemory},
      {"random::split_key", [] { random::split_key(random::key(1), kMany); }, kMemory},
  };
}

int64_t resident_bytes() {
  int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

constexpr int64_t kMega = int64_t{1} << 20;
#ifdef __SANITIZE_THREAD__
constexpr int64_t kMostTouched = 1000 * kMega;  // ThreadSanitizer needs several bytes per byte
#else
constexpr int64_t kMostTouched = 200 * kMega;
#endif

}  // namespace

TEST(Refusals, BeyondMemory) {
  for (Refusal& row : beyond_memory()) {
    SCOPED_TRACE(row.function);
    row.in_traces = false;
    const int64_t live = memory_statistics().live_bytes;
    release_cached_memory();
    const int64_t resident = resident_bytes();
    expect_refused({row});
    EXPECT_EQ(memory_statistics().live_bytes, live);
    EXPECT_LT(resident_bytes() - resident, kMostTouched);
  }
}

}  // namespace plait
