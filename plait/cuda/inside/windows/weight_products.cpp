#include "plait/cuda/inside/windows/weight_products.h"

#include <algorithm>
#include <array>

#include "plait/core/inside/system/immortal.h"
#include "plait/cuda/inside/kernels/device_operands.h"
#include "plait/cuda/inside/kernels/kernel_variants.h"
#include "plait/cuda/inside/products/device_product.h"

namespace plait::cuda {
namespace {

constexpr int64_t kProductSide = 64;   // rows and columns that a block of a product computes
constexpr int64_t kManyTiles = 256;    // tiles that keep a device busy
constexpr int64_t kLeastLength = 512;  // the shortest part
constexpr int64_t kLengthUnit = 64;

// The images of a row as neighbours: [1, groups, rows, images · places].
Array joined(const Array& x) {
  const Array rows = x.view(x.layout().permuted(std::array<int64_t, 4>{1, 2, 0, 3}));
  return rows.reshaped({1, x.sizes()[1], x.sizes()[2], x.sizes()[0] * x.sizes()[3]});
}

// Columns [first, first + count · length) as [images, count, groups, rows, length].
Array pieces_of(const Array& x, int64_t first, int64_t count, int64_t length) {
  const Layout& from = x.layout();
  Layout parts{{from.sizes[0], count, from.sizes[1], from.sizes[2], length},
               {from.strides[0], length * from.strides[3], from.strides[1], from.strides[2],
                from.strides[3]},
               from.offset + first * from.strides[3]};
  return x.view(std::move(parts));
}

Array transposed(const Array& x) { return x.view(x.layout().transposed()); }

}  // namespace

bool WeightProducts::joins_images(int64_t images) const {
  const ConvolutionShape& s = c_.shape;
  const int64_t copied = (s.outputs + (s.is_pointwise() ? s.inputs : 0)) * c_.places();
  return images > 1 && c_.w.element_count() > copied;
}

int64_t WeightProducts::part_length(int64_t images, int64_t places) const {
  const ConvolutionShape& s = c_.shape;
  const int64_t tiles =
      quotient_up(s.group_outputs(), kProductSide) * quotient_up(s.patch(), kProductSide);
  const int64_t wanted = std::max<int64_t>(kManyTiles / (tiles * s.groups * images), 1);
  const int64_t length = std::max(quotient_up(places, wanted), kLeastLength);
  return std::min(quotient_up(length, kLengthUnit) * kLengthUnit, places);
}

void WeightProducts::add(const Array& out, const Array& columns, bool is_last) {
  const ConvolutionShape& s = c_.shape;
  const bool joins = joins_images(out.sizes()[0]);
  const Array left = joins ? joined(out) : out, right = joins ? joined(columns) : columns;
  const int64_t images = left.sizes()[0], places = left.sizes()[3];
  const int64_t length = part_length(images, places), count = places / length;
  const int64_t rest = places - count * length, whole = images * count;
  const int64_t parts = whole + (rest > 0 ? images : 0);
  const bool is_whole = parts == 1 && is_last && !sums_;
  const Array partial = is_whole ? c_.w
                                 : Array::empty_on(c_.place(), c_.stored(),
                                                   {parts, s.groups, s.group_outputs(), s.patch()});
  const auto multiply_parts = [&](int64_t first, int64_t first_place, int64_t each, int64_t size) {
    Layout layout = Layout::contiguous({images, each, s.groups, s.group_outputs(), s.patch()});
    layout.offset = partial.layout().offset + first * c_.w.element_count();
    Array target = partial.view(std::move(layout));
    multiply(c_.device, pieces_of(left, first_place, each, size),
             transposed(pieces_of(right, first_place, each, size)), target);
  };
  multiply_parts(0, 0, count, length);
  if (rest > 0) multiply_parts(whole, count * length, 1, rest);
  if (!is_whole) add_parts(partial, is_last);
}

void WeightProducts::add_parts(const Array& partial, bool is_last) {
  const DType dtype = c_.shape.dtype;
  static Immortal<KernelVariants> variants("add_parts");
  const KernelFunction& function = variants->of(c_.device, "add_parts", {0, dtype_number(dtype)},
                                                [&] { return add_parts_text(dtype, c_.stored()); });
  const Address before = sums_ ? address_of(sums_) : Address{0};
  if (!is_last && !sums_) sums_ = Array::empty_on(c_.place(), c_.stored(), c_.w.sizes());
  const int64_t total = c_.w.element_count();
  launch(c_.device, function, blocks_for(total), kBlockThreads, 0, address_of(partial),
         partial.sizes()[0], before, is_last ? Address{0} : address_of(sums_),
         is_last ? address_of(c_.w) : Address{0}, total);
}

}  // namespace plait::cuda
