#include "plait/cpu/inside/convolutions/winograd_trust.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/core/system/thread_team.h"

namespace plait {
namespace {

// The error of a result is about 1e-6 of a typical one, if all numbers are of similar size.
constexpr float kMostRatio = 100;
constexpr int64_t kTaps = 9, kMostSide = 6;
constexpr int64_t kRowsOfPart = 8;

// Rows of magnitudes below one row of tiles, beginning with row `first` of an image.
std::array<const float*, kMostSide> rows_from(const Magnitudes& magnitudes, int64_t image,
                                              int64_t first, int64_t count) {
  std::array<const float*, kMostSide> rows{};
  for (int64_t i = 0; i < count; ++i)
    rows[static_cast<size_t>(i)] = magnitudes.row(image, first + i);
  return rows;
}

}  // namespace

Magnitudes::Magnitudes(const Images& images)
    : count_(images.count),
      high_(images.high),
      wide_(images.wide),
      maxima_(numbers(count_ * high_ * wide_)) {
  // Places that stay in a cache while the channels pass.
  constexpr int64_t kPlaces = 2048, kElementsOfThread = 1 << 14;
  const auto note = channel_kernels(images.dtype).note_magnitudes;
  const bool is_run = images.row_step == wide_ * images.place_step;
  const int64_t rows = std::clamp<int64_t>(kPlaces / wide_, 1, high_),
                pieces = quotient_up(high_, rows);
  const int64_t grain = quotient_up(kElementsOfThread, images.channels * wide_ * rows);
  parallel_for(count_ * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t image = piece / pieces, first = piece % pieces * rows,
                    last = std::min(first + rows, high_);
      float* maxima = data_of(maxima_) + (image * high_ + first) * wide_;
      std::fill_n(maxima, (last - first) * wide_, 0.0F);
      for (int64_t channel = 0; channel < images.channels; ++channel) {
        if (is_run) {
          note(images.at(image, channel, first), images.place_step, (last - first) * wide_, maxima);
          continue;
        }
        for (int64_t row = first; row < last; ++row) {
          note(images.at(image, channel, row), images.place_step, wide_,
               maxima + (row - first) * wide_);
        }
      }
    }
  });
}

bool Magnitudes::are_finite() const {
  const float* data = data_of(maxima_);
  return std::all_of(data, data + count_ * high_ * wide_,
                     [](float number) { return std::isfinite(number); });
}

bool can_transform_weights(DType dtype, const std::byte* weights, int64_t kernels) {
  std::array<float, kTaps> maxima{};
  for (int64_t i = 0; i < kernels; ++i) {
    channel_kernels(dtype).note_magnitudes(weights + i * kTaps * size_of(dtype), 1, kTaps,
                                           maxima.data());
  }
  const auto [least, most] = std::minmax_element(maxima.begin(), maxima.end());
  return std::isfinite(*most) && *most <= kMostRatio * *least;
}

bool can_convolve(const WinogradTiles& tiles, const Magnitudes& x, ZeroResults& zeros) {
  if (!x.are_finite()) return false;
  const WinogradTiling& tiling = tiles.tiling();
  const WinogradChecks& checks = tiles.kernels().checks;
  const int64_t m = tiling.m, in_a_row = tiling.in_a_row();
  std::atomic<bool> is_precise = true;
  parallel_for(tiling.rows(), kRowsOfPart, [&](int64_t begin, int64_t end) {
    const Buffer room = numbers(checks.room(in_a_row)), windows = numbers(m * in_a_row * m);
    for (int64_t i = begin; i < end && is_precise; ++i) {
      const int64_t image = i / tiling.rows_of_image(), first = i % tiling.rows_of_image() * m;
      const auto rows = rows_from(x, image, first - tiling.above, tiling.side());
      const int64_t count = std::min(m, tiling.high - first);
      if (!checks.check_windows({rows.data(), tiling.left, x.wide(), 1}, in_a_row, count,
                                tiling.wide, kMostRatio, data_of(room), data_of(windows))) {
        is_precise = false;
      }
      for (int64_t row = 0; row < count; ++row)
        zeros.note(image, first + row, data_of(windows) + row * in_a_row * m);
    }
  });
  return is_precise;
}

// Beside the products that the tiles add up, for each tap those that its gradient consists of.
bool can_differentiate(const WinogradTiles& tiles, const Magnitudes& x,
                       const Magnitudes& gradient) {
  if (!x.are_finite() || !gradient.are_finite()) return false;
  const WinogradTiling& tiling = tiles.tiling();
  const WinogradChecks& checks = tiles.kernels().checks;
  const int64_t m = tiling.m, in_a_row = tiling.in_a_row();
  using Sums = std::array<double, 1 + kTaps>;
  std::vector<Sums> parts(static_cast<size_t>(quotient_up(tiling.rows(), kRowsOfPart)));
  parallel_chunks(static_cast<int64_t>(parts.size()), [&](int64_t part) {
    const Buffer room = numbers(checks.room(in_a_row));
    for (int64_t i = part * kRowsOfPart; i < std::min((part + 1) * kRowsOfPart, tiling.rows());
         ++i) {
      const int64_t image = i / tiling.rows_of_image(), first = i % tiling.rows_of_image() * m;
      const auto rows = rows_from(x, image, first - tiling.above, tiling.side());
      const auto gradients = rows_from(gradient, image, first, m);
      checks.add_products({rows.data(), tiling.left, x.wide(), 1}, gradients.data(), tiling.wide,
                          in_a_row, data_of(room), parts[static_cast<size_t>(part)].data());
    }
  });
  Sums total{};
  for (const Sums& part : parts) {
    for (size_t i = 0; i < total.size(); ++i) total[i] += part[i];
  }
  const double least = *std::min_element(total.begin() + 1, total.end());
  return std::isfinite(total[0]) &&
         total[0] * static_cast<double>(m * m) <= double{kMostRatio} * least;
}

}  // namespace plait
