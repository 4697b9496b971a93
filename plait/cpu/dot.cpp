#include "plait/cpu/dot.h"

#include <algorithm>
#include <vector>

#include "plait/core/element.h"
#include "plait/core/thread_team.h"

namespace plait::cpu {
namespace {

constexpr int64_t kBlock = 1 << 12;  // elements of which a kernel's sums are exact enough
constexpr int64_t kPiece = 1 << 16;  // of a long row, elements to a piece that threads share

double total_of(Dot dot, int64_t size, const std::byte* a, const std::byte* b, int64_t count) {
  double total = 0;
  for (int64_t i = 0; i < count; i += kBlock) {
    total += dot(a + i * size, b + i * size, std::min(kBlock, count - i));
  }
  return total;
}

}  // namespace

void write_dot(Dot dot, DType dtype, const std::byte* a, const std::byte* b, int64_t count,
               std::byte* out) {
  store_element(dtype, Element::of(total_of(dot, size_of(dtype), a, b, count)), out);
}

void write_long_dot(Dot dot, DType dtype, const std::byte* a, const std::byte* b, int64_t count,
                    std::byte* out) {
  const int64_t pieces = (count + kPiece - 1) / kPiece, size = size_of(dtype);
  std::vector<double> totals(static_cast<size_t>(pieces));
  parallel_chunks(pieces, [&](int64_t piece) {
    const int64_t begin = piece * kPiece;
    totals[static_cast<size_t>(piece)] =
        total_of(dot, size, a + begin * size, b + begin * size, std::min(kPiece, count - begin));
  });
  double total = 0;
  for (const double each : totals) total += each;
  store_element(dtype, Element::of(total), out);
}

}  // namespace plait::cpu
