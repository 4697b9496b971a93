#include "plait/cpu/inside/convolutions/winograd.h"

#include <algorithm>
#include <atomic>

#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/convolutions/winograd_tiles.h"
#include "plait/cpu/inside/convolutions/winograd_trust.h"
#include "plait/cpu/inside/convolutions/winograd_weights.h"
#include "plait/cpu/inside/products/bf16_kernels.h"
#include "plait/cpu/inside/products/product_kernels.h"

namespace plait {
namespace setting {

constinit Setting<bool> kWinograd(
    {.name = "winograd",
     .standard = "true",
     .description = "whether convolutions by kernels of 3 × 3 may multiply less, and round some "
                    "times as much"});
}

namespace {

const ListedSettings winograd_settings{&setting::kWinograd};

constexpr int64_t kLanes = kWinogradChannels, kPanel = kWinogradPanel;

int64_t round_up(int64_t count, int64_t unit) { return quotient_up(count, unit) * unit; }

// c[rows][kPanel] (+)= a[rows][steps] · b[steps][kPanel]
void multiply(int64_t rows, int64_t steps, const float* a, int64_t a_row, int64_t a_step,
              const float* b, float* c, int64_t c_row, bool accumulates) {
  const ProductTiles& tiles = product_kernels().of[static_cast<int>(ProductType::f32)];
  for (int64_t column = 0; column < kPanel; column += tiles.columns()) {
    int choice = 0;
    for (int64_t row = 0; row < rows; row += tiles.rows[choice]) {
      while (tiles.rows[choice] > rows - row) ++choice;
      tiles.tiles[choice][tiles.vectors - 1](a + row * a_row, a_row, a_step, b + column, kPanel,
                                             c + row * c_row + column, c_row, steps, accumulates);
    }
  }
}

// A convolution from x to y, or a transposed one. Blocks of rows of tiles go through the transforms
// and the products while they are in a cache.
class TiledConvolution {
 public:
  TiledConvolution(const WinogradTiles& tiles, const Images& x, const Images& y,
                   const ZeroResults& zeros)
      : tiles_(tiles),
        zeros_(zeros),
        x_(x),
        y_(y),
        points_(tiles.kernels().points()),
        inputs_(round_up(x.channels, kLanes)),
        panels_(quotient_up(y.channels, kPanel)),
        outputs_(panels_ * kPanel),
        matrices_(numbers(points_ * x.channels * outputs_)) {}

  bool run(const std::byte* weights, bool is_transposed) const {
    transform_weights(tiles_.kernels(), x_, y_, weights, is_transposed, data_of(matrices_));
    const int64_t rows = tiles_.tiling().rows(), each = rows_of_block();
    std::atomic<bool> is_finite = true;
    parallel_for(quotient_up(rows, each), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (!run_block(i * each, std::min((i + 1) * each, rows))) is_finite = false;
      }
    });
    return is_finite;
  }

 private:
  int64_t rows_of_block() const {
    constexpr int64_t kBlockBytes = 1 << 19, kLeastTiles = 24, kMostTiles = 96;
    const WinogradTiling& tiling = tiles_.tiling();
    const int64_t bytes_of_tile = points_ * (inputs_ + outputs_) * int64_t{sizeof(float)};
    const int64_t most = std::clamp(kBlockBytes / bytes_of_tile, kLeastTiles, kMostTiles);
    return std::min(quotient_up(most, tiling.in_a_row()),
                    quotient_up(tiling.rows(), thread_count()));
  }

  bool run_block(int64_t begin, int64_t end) const {
    const int64_t count = (end - begin) * tiles_.tiling().in_a_row();
    const Buffer left = numbers(points_ * count * inputs_);
    for (int64_t block = 0; block < x_.blocks(); ++block) {
      tiles_.transform_input(x_, block, begin, end,
                             {data_of(left) + block * kLanes, count * inputs_, inputs_});
    }
    const Buffer products = numbers(points_ * count * outputs_);
    for (int64_t point = 0; point < points_; ++point) {
      for (int64_t panel = 0; panel < panels_; ++panel) {
        multiply(count, x_.channels, data_of(left) + point * count * inputs_, inputs_, 1,
                 data_of(matrices_) + (point * panels_ + panel) * x_.channels * kPanel,
                 data_of(products) + point * count * outputs_ + panel * kPanel, outputs_, false);
      }
    }
    bool is_finite = true;
    for (int64_t block = 0; block < y_.blocks(); ++block) {
      const PointMatrices from{data_of(products) + block * kLanes, count * outputs_, outputs_};
      is_finite &= tiles_.transform_results(from, begin, end, y_, block, zeros_);
    }
    return is_finite;
  }

  const WinogradTiles& tiles_;
  const ZeroResults& zeros_;
  const Images &x_, &y_;
  const int64_t points_, inputs_, panels_, outputs_;
  const Buffer matrices_;
};

// The gradient by the weights: sums over all tiles, in chunks of some rows of tiles, whose lengths
// do not depend on the number of threads.
class WeightGradient {
 public:
  WeightGradient(const WinogradTiles& tiles, const Images& x, const Images& gradient)
      : tiles_(tiles),
        tiling_(tiles.tiling()),
        x_(x),
        gradient_(gradient),
        points_(tiles.kernels().points()),
        inputs_(round_up(x.channels, kLanes)),
        panels_(quotient_up(gradient.channels, kPanel)),
        chunk_(rows_of_chunk()),
        count_(chunk_ * tiling_.in_a_row()),
        left_(numbers(points_ * count_ * inputs_)),
        right_(numbers(points_ * count_ * panels_ * kPanel)),
        sums_(numbers(points_ * x.channels * panels_ * kPanel)) {}

  bool run(std::byte* weights) const {
    for (int64_t first = 0; first < tiling_.rows(); first += chunk_) {
      const int64_t rows = std::min(chunk_, tiling_.rows() - first);
      transform(first, rows);
      multiply_chunk(rows * tiling_.in_a_row(), first > 0);
    }
    return transform_weight_gradient(tiles_.kernels(), x_, gradient_, data_of(sums_),
                                     panels_ * kPanel, weights);
  }

 private:
  int64_t rows_of_chunk() const {
    constexpr int64_t kChunkBytes = 4 << 20, kLeastTiles = 128;
    const int64_t bytes_of_tile = points_ * (inputs_ + panels_ * kPanel) * int64_t{sizeof(float)};
    const int64_t most =
        quotient_up(std::max(kChunkBytes / bytes_of_tile, kLeastTiles), tiling_.in_a_row());
    return quotient_up(tiling_.rows(), quotient_up(tiling_.rows(), most));
  }

  // Both operands: inputs as [points][tiles][inputs], gradients as [points][panels][tiles][kPanel].
  void transform(int64_t first, int64_t rows) const {
    const int64_t in_a_row = tiling_.in_a_row(), x_blocks = x_.blocks(),
                  blocks = x_blocks + panels_ * (kPanel / kLanes);
    parallel_for(blocks * rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t next = begin; next < end;) {
        const int64_t block = next / rows, row = next % rows,
                      count = std::min(end - next, rows - row);
        if (block < x_blocks) {
          tiles_.transform_input(x_, block, first + row, first + row + count,
                                 {data_of(left_) + row * in_a_row * inputs_ + block * kLanes,
                                  count_ * inputs_, inputs_});
        } else {
          const int64_t column = (block - x_blocks) * kLanes;
          float* to = data_of(right_) + (column / kPanel * count_ + row * in_a_row) * kPanel +
                      column % kPanel;
          tiles_.transform_gradient(gradient_, block - x_blocks, first + row, first + row + count,
                                    {to, panels_ * count_ * kPanel, kPanel});
        }
        next += count;
      }
    });
  }

  // sums[point][inputs][outputs] (+)= leftᵀ[inputs][tiles] · right[tiles][outputs]
  void multiply_chunk(int64_t tiles, bool accumulates) const {
    constexpr int64_t kRows = 48;
    const int64_t cuts = quotient_up(x_.channels, kRows);
    parallel_for(points_ * cuts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t point = i / cuts, row = i % cuts * kRows,
                      rows = std::min(kRows, x_.channels - row);
        for (int64_t panel = 0; panel < panels_; ++panel) {
          multiply(rows, tiles, data_of(left_) + point * count_ * inputs_ + row, 1, inputs_,
                   data_of(right_) + (point * panels_ + panel) * count_ * kPanel,
                   data_of(sums_) + ((point * x_.channels + row) * panels_ + panel) * kPanel,
                   panels_ * kPanel, accumulates);
        }
      }
    });
  }

  const WinogradTiles& tiles_;
  const WinogradTiling& tiling_;
  const Images &x_, &gradient_;
  const int64_t points_, inputs_, panels_;
  const int64_t chunk_, count_;  // rows of tiles, and tiles
  const Buffer left_, right_, sums_;
};

// The cost of a convolution, in multiplications of f32 that a product does in the same time. The
// constants were fitted to bench/peers/convolutions.py.
double cost_of(ConvolutionKind kind, const ConvolutionShape& shape, int m) {
  constexpr double kTileNumber = 17;  // to transform a number of a tile, and to write and read it
  constexpr double kKernelNumber = 28, kTransposedNumber = 38, kGradientNumber = 55;
  const bool is_transposed = kind == ConvolutionKind::input_gradient;
  const auto &high = shape.spatial[1], &wide = shape.spatial[2];
  const int64_t tiles = shape.images * quotient_up(is_transposed ? high.in : high.out, m) *
                        quotient_up(is_transposed ? wide.in : wide.out, m);
  const auto points = static_cast<double>((m + 2) * (m + 2));
  const auto inputs = static_cast<double>(is_transposed ? shape.outputs : shape.inputs);
  const auto outputs =
      static_cast<double>(round_up(is_transposed ? shape.inputs : shape.outputs, kPanel));
  const double of_kernels = kind == ConvolutionKind::forward ? kKernelNumber
                            : is_transposed                  ? kTransposedNumber
                                                             : kGradientNumber;
  return points *
         (static_cast<double>(tiles) * (inputs * outputs + kTileNumber * (inputs + outputs)) +
          of_kernels * inputs * outputs);
}

// Rows of tiles are what threads share.
bool has_rows_for_threads(ConvolutionKind kind, const ConvolutionShape& shape, int m) {
  constexpr int64_t kMostInARow = 512;  // tiles, which are in memory at the same time
  const auto &high = shape.spatial[1], &wide = shape.spatial[2];
  const bool is_transposed = kind == ConvolutionKind::input_gradient;
  const int64_t rows = shape.images * quotient_up(is_transposed ? high.in : high.out, m);
  return quotient_up(is_transposed ? wide.in : wide.out, m) <= kMostInARow &&
         (kind == ConvolutionKind::weight_gradient || rows >= planned_thread_count());
}

// The library multiplies bf16 faster, if the processor does.
double cost_of_library(const ConvolutionShape& shape) {
  const auto work = static_cast<double>(shape.work());
  if (shape.dtype == DType::f32) return work;
  const Bf16Kernels* kernels = bf16_kernels();
  if (kernels == nullptr) return work;
  return kernels->has_tile_units ? work / 8 : work / 2;
}

}  // namespace

bool has_winograd(const ConvolutionShape& shape) {
  if (shape.dtype != DType::f32 && shape.dtype != DType::bf16) return false;
  return shape.rank == 2 && shape.groups == 1 && shape.work() > 0 &&
         std::all_of(shape.spatial.begin() + 1, shape.spatial.end(),
                     [](const ConvolutionShape::Dimension& d) {
                       return d.kernel == 3 && d.stride == 1 && d.dilation == 1 &&
                              d.input_dilation == 1 && d.low >= 0 && d.low <= 2;
                     });
}

int winograd_results(ConvolutionKind kind, const ConvolutionShape& shape) {
  constexpr int64_t kLeastWork = 1 << 22;
  constexpr double kGain = 0.65, kPreference = 0.9;  // F(2 × 2) rounds less
  if (!has_winograd(shape) || shape.work() < kLeastWork || !setting::kWinograd.get()) return 0;
  const double of_two = cost_of(kind, shape, 2), of_four = cost_of(kind, shape, 4);
  const int best = of_four < kPreference * of_two ? 4 : 2;
  if (!has_rows_for_threads(kind, shape, best)) return 0;
  return std::min(of_two, of_four) < kGain * cost_of_library(shape) ? best : 0;
}

bool winograd_convolution(ConvolutionKind kind, const ConvolutionShape& shape, int m,
                          const Array& x, const Array& w, const Array& out) {
  const auto &high = shape.spatial[1], &wide = shape.spatial[2];
  const bool is_transposed = kind == ConvolutionKind::input_gradient;
  const WinogradTiles tiles(
      is_transposed ? WinogradTiling{m, shape.images, high.in, wide.in, 2 - high.low, 2 - wide.low}
                    : WinogradTiling{m, shape.images, high.out, wide.out, high.low, wide.low});
  if (kind == ConvolutionKind::weight_gradient) {
    const Images inputs = Images::of(x), gradient = Images::of(out);
    if (!can_differentiate(tiles, Magnitudes(inputs), Magnitudes(gradient))) return false;
    const bool is_direct = w.is_contiguous();
    Array target = w, dense = is_direct ? w : Array::empty(w.dtype(), w.sizes());
    const bool is_finite = WeightGradient(tiles, inputs, gradient).run(dense.writable_data());
    if (!is_direct) copy_elements(dense, target);
    return is_finite;
  }
  const Array weights = w.contiguous();
  const Images given = Images::of(is_transposed ? out : x),
               written = Images::of(is_transposed ? x : out);
  ZeroResults zeros(tiles.tiling());
  return can_transform_weights(w.dtype(), weights.data(), shape.inputs * shape.outputs) &&
         can_convolve(tiles, Magnitudes(given), zeros) &&
         TiledConvolution(tiles, given, written, zeros).run(weights.data(), is_transposed);
}

}  // namespace plait
