#include "plait/cpu/inside/products/dot.h"

#include <algorithm>
#include <vector>

#include "plait/core/numbers/element.h"
#include "plait/core/system/thread_team.h"

namespace plait::cpu {
namespace {

constexpr int64_t kBlock = 1 << 12;  // elements for which a kernel's sums are accurate enough
constexpr int64_t kPiece = 1 << 15;  // elements of a long row per task of a thread

double total_of(const DotKernel& kernel, const std::byte* a, const std::byte* b, int64_t count) {
  const int64_t size = size_of(kernel.dtype);
  double total = 0;
  for (int64_t i = 0; i < count; i += kBlock) {
    total += kernel.run(a + i * size, b + i * size, std::min(kBlock, count - i));
  }
  return total;
}

void store(DType dtype, double total, std::byte* out) {
  store_element(dtype, Element::of(total), out);
}

}  // namespace

void write_dots(const DotKernel& kernel, const Dots& dots) {
  const int64_t size = size_of(kernel.dtype);
  int64_t row = 0;
  for (; row + kDotRows <= dots.rows; row += kDotRows) {
    const std::byte* a = dots.a + row * dots.a_stride;
    double totals[kDotRows] = {};
    for (int64_t i = 0; i < dots.count; i += kBlock) {
      kernel.run_rows(a + i * size, dots.a_stride, dots.b + i * size,
                      std::min(kBlock, dots.count - i), totals);
    }
    for (int64_t r = 0; r < kDotRows; ++r) {
      store(kernel.dtype, totals[r], dots.out + (row + r) * dots.out_stride);
    }
  }
  for (; row < dots.rows; ++row) {
    store(kernel.dtype, total_of(kernel, dots.a + row * dots.a_stride, dots.b, dots.count),
          dots.out + row * dots.out_stride);
  }
}

void write_long_dot(const DotKernel& kernel, const std::byte* a, const std::byte* b, int64_t count,
                    std::byte* out) {
  const int64_t pieces = (count + kPiece - 1) / kPiece, size = size_of(kernel.dtype);
  std::vector<double> totals(static_cast<size_t>(pieces));
  parallel_chunks(pieces, [&](int64_t piece) {
    const int64_t begin = piece * kPiece;
    totals[static_cast<size_t>(piece)] =
        total_of(kernel, a + begin * size, b + begin * size, std::min(kPiece, count - begin));
  });
  double total = 0;
  for (const double each : totals) total += each;
  store(kernel.dtype, total, out);
}

}  // namespace plait::cpu
