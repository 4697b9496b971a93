#include "plait/cpu/inside/products/blocked_product.h"

#include <algorithm>
#include <complex>
#include <cstring>

#include "plait/core/error.h"
#include "plait/core/numbers/element.h"
#include "plait/cpu/inside/elementwise/half_precision.h"
#include "plait/cpu/inside/products/product_kernels.h"
#include "plait/tensor/memory/buffer.h"

namespace plait {
namespace {

// A block of a stays in the second-level cache while panels of b pass through; a packed block of b
// is used for as many rows as the sums have room for.
constexpr int64_t kBlockRows = 192, kBlockColumns = 512, kBlockSteps = 256;
constexpr int64_t kSumBytes = 4 << 20;
// With this row distance, all rows of a would compete for the same sets of the first-level cache.
constexpr int64_t kCacheStride = 4096;
// A b of up to this size is not packed.
constexpr int64_t kDirectBytes = 1 << 16;

// The type of the computation for a dtype, its C++ type, and the conversions. A complex number is
// two such numbers.
template <class T>
struct Computed {
  using Type = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  static constexpr ProductType kType = sizeof(T) == 8 ? ProductType::u64 : ProductType::u32;
  static Type of(T value) { return static_cast<Type>(value); }
  static T back(Type value) { return static_cast<T>(value); }
};
template <>
struct Computed<bool> {
  using Type = uint8_t;
  static constexpr ProductType kType = ProductType::boolean;
  static Type of(bool value) { return value; }
  static bool back(Type value) { return value != 0; }
};
template <>
struct Computed<float> {
  using Type = float;
  static constexpr ProductType kType = ProductType::f32;
  static float of(float value) { return value; }
  static float back(float value) { return value; }
};
template <>
struct Computed<double> {
  using Type = double;
  static constexpr ProductType kType = ProductType::f64;
  static double of(double value) { return value; }
  static double back(double value) { return value; }
};
template <>
struct Computed<BFloat16> {
  using Type = float;
  static constexpr ProductType kType = ProductType::f32;
  static float of(BFloat16 value) { return widened(value); }
  static BFloat16 back(float value) { return narrowed_to_bf16(value); }
};
template <>
struct Computed<Float16> {
  using Type = float;
  static constexpr ProductType kType = ProductType::f32;
  static float of(Float16 value) { return widened(value); }
  static Float16 back(float value) { return narrowed_to_f16(value); }
};
template <class Part>
struct Computed<std::complex<Part>> {
  using Type = Part;
  static constexpr ProductType kType = sizeof(Part) == 4 ? ProductType::c64 : ProductType::c128;
};

template <class T>
constexpr bool kHasProduct =
    !std::is_same_v<T, KeyBits> && !std::is_same_v<T, Float8E4M3> && !std::is_same_v<T, Float8E5M2>;

// One operand of a tile, as the kernels read it.
template <class Number>
struct Panel {
  const Number* data;
  int64_t row, step;
};

// A part of the result.
struct Region {
  int64_t row, rows, column, columns;
};

// Steps that are accumulated in one pass.
struct Steps {
  int64_t first, count;
  bool accumulates;  // adds to the sums of earlier steps
};

int64_t rounded_up(int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; }

// A product on one thread. Positions count elements.
template <class T>
class BlockedProduct {
  using Number = typename Computed<T>::Type;
  static constexpr int kParts = kIsComplex<T> ? 2 : 1;
  // True if the kernels can access a, b and out without conversion.
  static constexpr bool kIsDirect = std::is_same_v<T, Number>;
  static constexpr int64_t kSize = sizeof(T);
  static constexpr int64_t kNumberSize = sizeof(Number);

 public:
  BlockedProduct(const Matrix& a, const Matrix& b, const TargetMatrix& out, bool accumulates)
      : a_(a),
        b_(b),
        out_(out),
        accumulates_(accumulates),
        tiles_(product_kernels().of[static_cast<int>(Computed<T>::kType)]),
        reads_a_(kIsDirect && (a.rows * a.columns * kSize <= kDirectBytes ||
                               (a.column_stride == 1 && a.row_stride * kSize % kCacheStride != 0))),
        reads_b_(kIsDirect && b.column_stride == 1 && b.rows * b.columns * kSize <= kDirectBytes),
        writes_out_(kIsDirect && out.column_stride == 1) {}

  void run() {
    reserve();
    for (int64_t column = 0; column < out_.columns; column += kBlockColumns) {
      const int64_t columns = std::min(kBlockColumns, out_.columns - column);
      for (int64_t row = 0; row < out_.rows; row += region_rows_) {
        run_region({row, std::min(region_rows_, out_.rows - row), column, columns});
      }
    }
  }

 private:
  int64_t panel_rows() const { return tiles_.rows[0]; }
  int64_t panel_columns() const { return tiles_.columns(); }
  // The last panel may be narrower.
  int vectors_of(int64_t columns) const {
    return kParts == 2 || columns > tiles_.lanes ? tiles_.vectors : 1;
  }
  int64_t width_of(int64_t columns) const { return vectors_of(columns) * int64_t{tiles_.lanes}; }

  const T* a_at(int64_t row, int64_t step) const {
    return reinterpret_cast<const T*>(a_.data) + row * a_.row_stride + step * a_.column_stride;
  }
  const T* b_at(int64_t step, int64_t column) const {
    return reinterpret_cast<const T*>(b_.data) + step * b_.row_stride + column * b_.column_stride;
  }
  T* out_at(int64_t row, int64_t column) const {
    return reinterpret_cast<T*>(out_.data) + row * out_.row_stride + column * out_.column_stride;
  }

  void reserve();
  void run_region(const Region& region);
  void run_block(const Region& region, const Region& block, const Steps& steps);
  void run_partial_columns(const Panel<Number>& a, const Panel<Number>& b, const Region& tile,
                           const Steps& steps);
  void run_tile(const Panel<Number>& a, const Panel<Number>& b, Number* c, int64_t c_row,
                const Region& tile, const Steps& steps) const;
  void pack_a(const Region& block, const Steps& steps);
  void pack_b(const Region& region, const Steps& steps);
  void pack_panel(int64_t column, int64_t columns, const Steps& steps, Number* to);
  void load_sums(const Region& region);
  void store_sums(const Region& region) const;

  const Matrix a_, b_;
  const TargetMatrix out_;
  const bool accumulates_;
  const ProductTiles& tiles_;
  const bool reads_a_, reads_b_, writes_out_;
  int64_t region_rows_ = 0;
  int64_t sums_columns_ = 0;  // length of a row of sums_
  Buffer scratch_;
  Number* packed_a_ = nullptr;
  Number* packed_b_ = nullptr;
  Number* sums_ = nullptr;  // sums of a region, if out cannot be written directly
  alignas(64) Number small_[1024];
};

// Small products use memory inside of the object.
template <class T>
void BlockedProduct<T>::reserve() {
  const int64_t columns = rounded_up(std::min(kBlockColumns, out_.columns), panel_columns());
  const int64_t steps = std::min(kBlockSteps, a_.columns);
  const int64_t tail = out_.columns % panel_columns();
  sums_columns_ = columns;
  region_rows_ = out_.rows;
  if (!writes_out_) {
    const int64_t most = kSumBytes / (columns * kParts * kNumberSize);
    region_rows_ = std::min(region_rows_, rounded_up(most, panel_rows()));
  }
  const auto numbers = [](int64_t count) { return rounded_up(count * kParts, 64 / kNumberSize); };
  const int64_t block_rows = rounded_up(std::min(kBlockRows, out_.rows), panel_rows());
  const int64_t a_count = reads_a_ ? 0 : numbers(block_rows * steps);
  const int64_t b_count =
      numbers((reads_b_ ? std::min(tail, int64_t{1}) * width_of(tail) : columns) * steps);
  const int64_t sum_count = numbers(writes_out_ ? panel_rows() * panel_columns()
                                                : rounded_up(region_rows_, panel_rows()) * columns);
  const int64_t count = a_count + b_count + sum_count;
  Number* room = small_;
  if (count > static_cast<int64_t>(std::size(small_))) {
    scratch_ = Buffer::allocate_work(count * kNumberSize);
    room = reinterpret_cast<Number*>(scratch_.data());
  }
  packed_a_ = room;
  packed_b_ = room + a_count;
  sums_ = room + a_count + b_count;
}

template <class T>
void BlockedProduct<T>::run_region(const Region& region) {
  if (!writes_out_ && accumulates_) load_sums(region);
  int64_t step = 0;
  do {
    const Steps steps{step, std::min(kBlockSteps, a_.columns - step), accumulates_ || step > 0};
    pack_b(region, steps);
    for (int64_t row = 0; row < region.rows; row += kBlockRows) {
      const int64_t rows = std::min(kBlockRows, region.rows - row);
      run_block(region, {region.row + row, rows, region.column, region.columns}, steps);
    }
    step += steps.count;
  } while (step < a_.columns);
  if (!writes_out_) store_sums(region);
}

template <class T>
void BlockedProduct<T>::run_block(const Region& region, const Region& block, const Steps& steps) {
  if (!reads_a_) pack_a(block, steps);
  for (int64_t first = 0; first < block.columns; first += panel_columns()) {
    const int64_t columns = std::min(panel_columns(), block.columns - first);
    const int64_t width = width_of(columns);
    Panel<Number> b{packed_b_ + (reads_b_ ? 0 : first * steps.count * kParts), 0, width * kParts};
    if constexpr (kIsDirect) {
      if (reads_b_ && columns == width) {
        b = {b_at(steps.first, block.column + first), 0, b_.row_stride};
      }
    }
    for (int64_t i = 0; i < block.rows; i += panel_rows()) {
      const Region tile{block.row + i, std::min(panel_rows(), block.rows - i), block.column + first,
                        columns};
      Panel<Number> a{packed_a_ + i * steps.count * kParts, kParts, panel_rows() * kParts};
      if constexpr (kIsDirect) {
        if (reads_a_) a = {a_at(tile.row, steps.first), a_.row_stride, a_.column_stride};
      }
      if (!writes_out_) {
        const int64_t row = tile.row - region.row;
        run_tile(a, b, sums_ + (row * sums_columns_ + first) * kParts, sums_columns_ * kParts, tile,
                 steps);
      } else if constexpr (kIsDirect) {
        if (columns == width) {
          run_tile(a, b, out_at(tile.row, tile.column), out_.row_stride, tile, steps);
        } else {
          run_partial_columns(a, b, tile, steps);
        }
      }
    }
  }
}

// The last columns, which do not fill their vectors.
template <class T>
void BlockedProduct<T>::run_partial_columns(const Panel<Number>& a, const Panel<Number>& b,
                                            const Region& tile, const Steps& steps) {
  const int64_t width = panel_columns();
  const auto bytes = static_cast<size_t>(tile.columns * kSize);
  T* out = out_at(tile.row, tile.column);
  for (int64_t i = 0; steps.accumulates && i < tile.rows; ++i) {
    std::memcpy(sums_ + i * width, out + i * out_.row_stride, bytes);
  }
  run_tile(a, b, sums_, width, tile, steps);
  for (int64_t i = 0; i < tile.rows; ++i) {
    std::memcpy(out + i * out_.row_stride, sums_ + i * width, bytes);
  }
}

template <class T>
void BlockedProduct<T>::run_tile(const Panel<Number>& a, const Panel<Number>& b, Number* c,
                                 int64_t c_row, const Region& tile, const Steps& steps) const {
  const int vectors = vectors_of(tile.columns);
  int64_t row = 0;
  for (int choice = 0; row < tile.rows; ++choice) {
    const int64_t height = tiles_.rows[choice];
    for (; tile.rows - row >= height; row += height) {
      tiles_.tiles[choice][vectors - 1](a.data + row * a.row, a.row, a.step, b.data, b.step,
                                        c + row * c_row, c_row, steps.count, steps.accumulates);
    }
  }
}

template <class T>
void put(const T& value, typename Computed<T>::Type* to, [[maybe_unused]] int64_t to_imaginary) {
  if constexpr (kIsComplex<T>) {
    to[0] = value.real();
    to[to_imaginary] = value.imag();
  } else {
    *to = Computed<T>::of(value);
  }
}

// Panels of rows; the elements of all rows at one step are contiguous.
template <class T>
void BlockedProduct<T>::pack_a(const Region& block, const Steps& steps) {
  const int64_t height = panel_rows();
  for (int64_t first = 0; first < block.rows; first += height) {
    Number* to = packed_a_ + first * steps.count * kParts;
    const int64_t rows = std::min(height, block.rows - first);
    const T* from = a_at(block.row + first, steps.first);
    if (a_.row_stride == 1) {
      for (int64_t p = 0; p < steps.count; ++p) {
        for (int64_t i = 0; i < rows; ++i) {
          put(from[p * a_.column_stride + i], to + (p * height + i) * kParts, 1);
        }
      }
      continue;
    }
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t p = 0; p < steps.count; ++p) {
        put(from[i * a_.row_stride + p * a_.column_stride], to + (p * height + i) * kParts, 1);
      }
    }
  }
}

template <class T>
void BlockedProduct<T>::pack_b(const Region& region, const Steps& steps) {
  for (int64_t first = 0; first < region.columns; first += panel_columns()) {
    const int64_t columns = std::min(panel_columns(), region.columns - first);
    if (reads_b_ && columns == width_of(columns)) continue;
    Number* to = packed_b_ + (reads_b_ ? 0 : first * steps.count * kParts);
    pack_panel(region.column + first, columns, steps, to);
  }
}

// The steps of one panel of columns, one after another, padded with 0 to the width of the panel.
template <class T>
void BlockedProduct<T>::pack_panel(int64_t column, int64_t columns, const Steps& steps,
                                   Number* to) {
  const int64_t width = width_of(columns);
  const T* from = b_at(steps.first, column);
  const auto pack = [&](auto stride) {
    for (int64_t p = 0; p < steps.count; ++p, to += width * kParts, from += b_.row_stride) {
      for (int64_t j = 0; j < columns; ++j) put(from[j * stride], to + j, width);
      for (int64_t j = columns; j < width; ++j) put(T{}, to + j, width);
    }
  };
  if (b_.column_stride == 1) {
    pack(std::integral_constant<int64_t, 1>());
  } else if (b_.row_stride == 1) {
    for (int64_t j = 0; j < width; ++j) {
      for (int64_t p = 0; p < steps.count; ++p) {
        put(j < columns ? from[p + j * b_.column_stride] : T{}, to + p * width * kParts + j, width);
      }
    }
  } else {
    pack(b_.column_stride);
  }
}

template <class T>
void BlockedProduct<T>::load_sums(const Region& region) {
  const int64_t width = panel_columns();
  for (int64_t i = 0; i < region.rows; ++i) {
    Number* sums = sums_ + i * sums_columns_ * kParts;
    for (int64_t j = 0; j < region.columns; ++j) {
      const int64_t place = kParts == 2 ? j / width * width * 2 + j % width : j;
      put(*out_at(region.row + i, region.column + j), sums + place, width);
    }
  }
}

template <class T>
void BlockedProduct<T>::store_sums(const Region& region) const {
  const int64_t width = panel_columns();
  for (int64_t i = 0; i < region.rows; ++i) {
    const Number* sums = sums_ + i * sums_columns_ * kParts;
    T* out = out_at(region.row + i, region.column);
    for (int64_t j = 0; j < region.columns; ++j) {
      if constexpr (kParts == 2) {
        const Number* panel = sums + j / width * width * 2 + j % width;
        out[j * out_.column_stride] = {panel[0], panel[width]};
      } else {
        out[j * out_.column_stride] = Computed<T>::back(sums[j]);
      }
    }
  }
}

}  // namespace

bool has_product(DType dtype) {
  return with_element_type(dtype, []<class T>(std::type_identity<T>) { return kHasProduct<T>; });
}

void blocked_product(DType dtype, const Matrix& a, const Matrix& b, const TargetMatrix& out,
                     bool accumulates) {
  with_element_type(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (kHasProduct<T>) {
      BlockedProduct<T>(a, b, out, accumulates).run();
    } else {
      throw TypeError("matrix products of {} are not supported", name_of(dtype));
    }
  });
}

}  // namespace plait
