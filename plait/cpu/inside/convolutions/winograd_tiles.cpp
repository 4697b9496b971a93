#include "plait/cpu/inside/convolutions/winograd_tiles.h"

#include <algorithm>
#include <array>

#include "plait/core/inside/sizes/integer_arithmetic.h"

namespace plait {
namespace {

constexpr int64_t kMostSide = 6;

}  // namespace

int64_t WinogradTiling::in_a_row() const { return quotient_up(wide, m); }
int64_t WinogradTiling::rows_of_image() const { return quotient_up(high, m); }

void ZeroResults::note(int64_t image, int64_t row, const float* windows) {
  for (int64_t column = 0; column < wide_; ++column) {
    if (windows[column] == 0) columns_[static_cast<size_t>(image * high_ + row)].push_back(column);
  }
}

// Rows of tiles of one image; the first is number `offset` of those that are transformed.
struct WinogradTiles::Run {
  int64_t image, begin, end, offset;
};

template <class Body>
void WinogradTiles::each_image(int64_t begin, int64_t end, Body body) const {
  const int64_t each = tiling_.rows_of_image();
  for (int64_t row = begin; row < end;) {
    const int64_t image = row / each, last = std::min(end, (image + 1) * each);
    body(Run{image, row - image * each, last - image * each, row - begin});
    row = last;
  }
}

void WinogradTiles::transform_input(const Images& x, int64_t block, int64_t begin, int64_t end,
                                    const PointMatrices& to) const {
  const int64_t in_a_row = tiling_.in_a_row(), m = tiling_.m;
  const int64_t most = std::min(end - begin, tiling_.rows_of_image()) * m + 2;
  ChannelRows rows(x, std::min(most, x.high));
  const Buffer room = numbers(tiling_.side() * (in_a_row * m + 2) * kWinogradChannels);
  each_image(begin, end, [&](const Run& run) {
    const int64_t first = run.begin * m - tiling_.above, last = run.end * m + 2 - tiling_.above;
    rows.read(run.image, block, std::clamp<int64_t>(first, 0, x.high),
              std::clamp<int64_t>(last, 0, x.high));
    for (int64_t row = run.begin; row < run.end; ++row) {
      std::array<const float*, kMostSide> pointers{};
      for (int64_t i = 0; i < tiling_.side(); ++i)
        pointers[i] = rows.row(row * m - tiling_.above + i);
      const int64_t tile = (run.offset + row - run.begin) * in_a_row;
      kernels_.transform_input({pointers.data(), tiling_.left, x.wide, rows.step()}, in_a_row,
                               data_of(room), {to.data + tile * to.step, to.point_step, to.step});
    }
  });
}

void WinogradTiles::transform_gradient(const Images& gradient, int64_t block, int64_t begin,
                                       int64_t end, const PointMatrices& to) const {
  const int64_t in_a_row = tiling_.in_a_row(), m = tiling_.m;
  const int64_t rows_read = std::min(end - begin, tiling_.rows_of_image()) * m;
  ChannelRows rows(gradient, std::min(rows_read, gradient.high));
  each_image(begin, end, [&](const Run& run) {
    const int64_t last = std::min(run.end * m, gradient.high);
    const bool is_there = block < gradient.blocks();
    if (is_there) rows.copy(run.image, block, run.begin * m, last);
    for (int64_t row = run.begin; row < run.end; ++row) {
      const int64_t tile = (run.offset + row - run.begin) * in_a_row;
      const int64_t count = is_there ? std::min(m, gradient.high - row * m) : 0;
      kernels_.transform_gradients(rows.room_of((row - run.begin) * m), count, gradient.wide,
                                   in_a_row, {to.data + tile * to.step, to.point_step, to.step});
    }
  });
}

bool WinogradTiles::transform_results(const PointMatrices& from, int64_t begin, int64_t end,
                                      const Images& y, int64_t block,
                                      const ZeroResults& zeros) const {
  const int64_t in_a_row = tiling_.in_a_row(), m = tiling_.m;
  const int64_t rows_written = std::min(end - begin, tiling_.rows_of_image()) * m;
  bool is_finite = true;
  ChannelRows rows(y, std::min(rows_written, y.high));
  each_image(begin, end, [&](const Run& run) {
    for (int64_t row = run.begin; row < run.end; ++row) {
      const int64_t tile = (run.offset + row - run.begin) * in_a_row;
      is_finite &= kernels_.transform_results(
          {from.data + tile * from.step, from.point_step, from.step}, in_a_row,
          rows.room_of((row - run.begin) * m), std::min(m, y.high - row * m), y.wide);
    }
    const int64_t last = std::min(run.end * m, y.high);
    for (int64_t row = run.begin * m; row < last; ++row) {
      for (const int64_t column : zeros.columns(run.image, row)) {
        std::fill_n(rows.room_of(row - run.begin * m) + column * kWinogradChannels,
                    kWinogradChannels, 0.0F);
      }
    }
    rows.write(run.image, block, run.begin * m, last);
  });
  return is_finite;
}

}  // namespace plait
