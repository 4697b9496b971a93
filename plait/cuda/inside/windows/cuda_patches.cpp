#include "plait/cuda/inside/windows/cuda_patches.h"

#include <algorithm>
#include <array>

#include "plait/core/inside/system/immortal.h"
#include "plait/cuda/inside/kernels/device_operands.h"
#include "plait/cuda/inside/kernels/kernel_variants.h"

namespace plait::cuda {
namespace {

constexpr int64_t kPlaceUnit = 64;  // places of a slice, if they are many: rows stay aligned

Columns described(const DeviceConvolution& c, const PatchSlice& slice, const Array& columns) {
  const Sizes& strides = columns.layout().strides;
  return {.first_place = slice.first_place,
          .places = slice.places,
          .image = strides[0],
          .channel = c.shape.taps() * strides[2],
          .tap = strides[2]};
}

Array images_of(const Array& array, const PatchSlice& slice) {
  return array.view(array.layout().sliced(
      0, {.start = slice.first_image, .stop = slice.first_image + slice.images}));
}

}  // namespace

std::vector<PatchSlice> patch_slices(const ConvolutionShape& shape, int64_t element_size,
                                     int64_t most_bytes) {
  const int64_t places = shape.out_places();
  const double of_place = static_cast<double>(shape.inputs) * static_cast<double>(shape.taps()) *
                          static_cast<double>(element_size);
  const auto fitting = [&](double bytes, int64_t most) {
    return static_cast<int64_t>(std::clamp(static_cast<double>(most_bytes) / bytes, 1.,
                                           static_cast<double>(std::max<int64_t>(most, 1))));
  };
  std::vector<PatchSlice> slices;
  if (places == 0 || of_place == 0) return slices;
  if (of_place * static_cast<double>(places) <= static_cast<double>(most_bytes)) {
    const int64_t each = fitting(of_place * static_cast<double>(places), shape.images);
    for (int64_t image = 0; image < shape.images; image += each) {
      slices.push_back({image, std::min(each, shape.images - image), 0, places});
    }
    return slices;
  }
  int64_t each = fitting(of_place, places);
  if (each > kPlaceUnit) each -= each % kPlaceUnit;
  for (int64_t image = 0; image < shape.images; ++image) {
    for (int64_t place = 0; place < places; place += each) {
      slices.push_back({image, 1, place, std::min(each, places - place)});
    }
  }
  return slices;
}

Array slice_of(const Array& array, const PatchSlice& slice) {
  const auto last = static_cast<int64_t>(array.rank()) - 1;
  return array.view(
      images_of(array, slice)
          .layout()
          .sliced(last, {.start = slice.first_place, .stop = slice.first_place + slice.places}));
}

Array empty_columns(const DeviceConvolution& c, const PatchSlice& slice, DType dtype, bool joined) {
  const int64_t groups = c.shape.groups, patch = c.shape.patch();
  if (!joined) {
    return Array::empty_on(c.place(), dtype, {slice.images, groups, patch, slice.places});
  }
  const Array rows = Array::empty_on(c.place(), dtype, {groups, patch, slice.images, slice.places});
  return rows.view(rows.layout().permuted(std::array<int64_t, 4>{2, 0, 1, 3}));
}

void gather_patches(const DeviceConvolution& c, const PatchSlice& slice, const Array& columns) {
  const int64_t total = slice.images * c.shape.inputs * slice.places;
  const ConvolvedForm form = c.form(total);
  const int64_t word = size_of(c.shape.dtype);
  static Immortal<KernelVariants> variants("gather_patches");
  const KernelFunction& function = variants->of(
      c.device, "gather_patches", {0, form.space, form.is_dilated, form.is_narrow, word},
      [&] { return gather_patches_text(form, word); });
  launch(c.device, function, blocks_for(total), kBlockThreads, 0, c.convolved(),
         described(c, slice, columns), address_of(images_of(c.x, slice)), address_of(columns),
         total);
}

void join_patches(const DeviceConvolution& c, const PatchSlice& slice, const Array& columns,
                  const Array& sums) {
  const int64_t total = slice.images * c.shape.inputs * c.shape.in_places();
  const ConvolvedForm form = c.form(total);
  const DType dtype = c.shape.dtype;
  static Immortal<KernelVariants> variants("join_patches");
  const KernelFunction& function =
      variants->of(c.device, "join_patches",
                   {0, form.space, form.is_strided, form.is_narrow, dtype_number(dtype)},
                   [&] { return join_patches_text(form, dtype, c.stored()); });
  const bool is_first = slice.first_place == 0;
  const bool is_last = slice.first_place + slice.places == c.places();
  launch(c.device, function, blocks_for(total), kBlockThreads, 0, c.convolved(),
         described(c, slice, columns), address_of(columns),
         is_first ? Address{0} : address_of(sums), is_last ? Address{0} : address_of(sums),
         is_last ? address_of(images_of(c.x, slice)) : Address{0}, total);
}

}  // namespace plait::cuda
