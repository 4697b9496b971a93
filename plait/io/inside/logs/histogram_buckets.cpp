#include "plait/io/inside/logs/histogram_buckets.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "plait/core/error.h"
#include "plait/core/system/thread_team.h"

namespace plait {
namespace {

constexpr double kSmallestLimit = 1e-12, kGrowth = 1.1, kLargestLimit = 1e20;
constexpr int64_t kHistogramChunk = int64_t{1} << 18;
constexpr int kBucketKeyShift =
    48;  // a key is the exponent of a number and four bits of its fraction
constexpr size_t kBucketKeys = size_t{1} << (63 - kBucketKeyShift);

// The limits above zero, and for each key how many of them are at most its smallest number.
struct BucketLimits {
  std::vector<double> positive;
  std::array<uint16_t, kBucketKeys> first;

  BucketLimits() {
    for (double limit = kSmallestLimit; limit < kLargestLimit; limit *= kGrowth) {
      positive.push_back(limit);
    }
    positive.push_back(std::numeric_limits<double>::max());
    size_t passed = 0;
    for (size_t key = 0; key < kBucketKeys; ++key) {
      const auto smallest = std::bit_cast<double>(static_cast<uint64_t>(key) << kBucketKeyShift);
      while (passed < positive.size() && positive[passed] <= smallest) ++passed;
      first[key] = static_cast<uint16_t>(passed);
    }
  }

  size_t bucket_count() const { return 2 * positive.size() + 1; }
  double limit(size_t bucket) const {
    const size_t zero = positive.size();
    return bucket < zero    ? -positive[zero - 1 - bucket]
           : bucket == zero ? 0
                            : positive[bucket - zero - 1];
  }

  size_t bucket_of(double x) const {
    const double magnitude = std::abs(x);
    size_t below = first[std::bit_cast<uint64_t>(magnitude) >> kBucketKeyShift];
    if (x < 0) {  // limits themselves are in the bucket above, which is nearer to zero
      if (below > 0 && positive[below - 1] == magnitude) --below;
      while (below < positive.size() && positive[below] < magnitude) ++below;
      return positive.size() - below;
    }
    while (below < positive.size() && positive[below] <= magnitude) ++below;
    return std::min(positive.size() + 1 + below, bucket_count() - 1);
  }
};

const BucketLimits& bucket_limits() {
  static const BucketLimits& all = *new BucketLimits;
  return all;
}

struct HistogramPart {
  double min = std::numeric_limits<double>::infinity(), max = -min;
  double sum = 0, sum_of_squares = 0;
  std::vector<uint64_t> counts;
};

HistogramPart histogram_part(std::span<const double> elements) {
  HistogramPart part{.counts = std::vector<uint64_t>(bucket_limits().bucket_count())};
  for (const double x : elements) {
    part.sum += x;
    part.sum_of_squares += x * x;
    if (std::isnan(x)) continue;
    part.min = std::min(part.min, x);
    part.max = std::max(part.max, x);
    ++part.counts[bucket_limits().bucket_of(x)];
  }
  return part;
}

void add_part(HistogramPart& total, const HistogramPart& part) {
  total.min = std::min(total.min, part.min);
  total.max = std::max(total.max, part.max);
  total.sum += part.sum;
  total.sum_of_squares += part.sum_of_squares;
  for (size_t i = 0; i < part.counts.size(); ++i) total.counts[i] += part.counts[i];
}

// An empty bucket before the first one that is not empty gives that its lower limit.
void keep_buckets(const HistogramPart& total, Histogram& histogram) {
  const auto& counts = total.counts;
  size_t begin = 0, end = counts.size();
  while (begin < end && counts[begin] == 0) ++begin;
  while (end > begin && counts[end - 1] == 0) --end;
  for (size_t i = begin == 0 ? 0 : begin - 1; i < end; ++i) {
    if (counts[i] == 0 && i + 1 < end && counts[i + 1] == 0) continue;
    histogram.limits.push_back(bucket_limits().limit(i));
    histogram.counts.push_back(static_cast<double>(counts[i]));
  }
}

}  // namespace

Histogram histogram_of(const Array& array) {
  if (is_complex(array.dtype())) {
    throw TypeError("histogram: expected real numbers, not {}", name_of(array.dtype()));
  }
  const int64_t count = array.element_count();
  if (count == 0) throw ValueError("histogram: the array has no elements");
  const Array flat = array.on_host().contiguous();
  std::vector<HistogramPart> parts(
      static_cast<size_t>((count + kHistogramChunk - 1) / kHistogramChunk));
  parallel_chunks(static_cast<int64_t>(parts.size()), [&](int64_t i) {
    Layout layout = Layout::contiguous({std::min(kHistogramChunk, count - i * kHistogramChunk)});
    layout.offset = flat.layout().offset + i * kHistogramChunk;
    const Array chunk = flat.view(std::move(layout)).converted(DType::f64);
    parts[static_cast<size_t>(i)] = histogram_part(chunk.elements<double>());
  });
  HistogramPart total{.counts = std::vector<uint64_t>(bucket_limits().bucket_count())};
  for (const HistogramPart& part : parts) add_part(total, part);
  Histogram histogram{.min = total.min,
                      .max = total.max,
                      .count = static_cast<double>(count),
                      .sum = total.sum,
                      .sum_of_squares = total.sum_of_squares};
  keep_buckets(total, histogram);
  return histogram;
}

}  // namespace plait
