#include "plait/cuda/inside/indexing/cuda_planes.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "plait/core/inside/system/immortal.h"
#include "plait/cuda/inside/device/index_notes.h"
#include "plait/cuda/inside/indexing/points_text.h"
#include "plait/cuda/inside/kernels/device_operands.h"
#include "plait/cuda/inside/kernels/kernel_variants.h"
#include "plait/cuda/inside/order/key_text.h"
#include "plait/ops/indexing/gather.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/neural/window.h"

namespace plait::cuda {
namespace {

// Planes of x and of indices; strides are those of the dimensions before them.
struct Planes {
  int64_t total = 0, size = 1, whole = 1;  // indices, those of a plane, elements of a plane of x
  int64_t rank = 0;
  int64_t sizes[kMostDims] = {}, x_strides[kMostDims] = {}, index_strides[kMostDims] = {};
  uint64_t place = 0;
  Address notes = 0;
};

constexpr std::string_view kPlanes = R"(
struct Planes {
  i64 total, size, whole, rank, sizes[8], x_strides[8], index_strides[8];
  u64 place;
  Notes* notes;
};
// -1 if there is nothing at the index.
INLINE i64 checked(const Planes& planes, i64 index, i64 position) {
  if (index >= -1 && index < planes.whole) return index;
  note_index(planes.notes, planes.place + position, index, 0);
  return -1;
}
)";

constexpr std::string_view kTake = R"(
extern "C" __global__ void __launch_bounds__(256)
plane_take(const __grid_constant__ Planes planes, const Word* __restrict__ x, const i64* __restrict__ index,
           Word* __restrict__ out) {
  const Number size = (Number)planes.size, total = (Number)planes.total;
  for (Number i = blockIdx.x * 256u + threadIdx.x; i < total; i += gridDim.x * 256u) {
    Number plane = i / size;
    i64 at = i - plane * size, from = 0;
    for (int d = (int)planes.rank - 1; d >= 0; --d) {
      const Number rest = plane / (Number)planes.sizes[d];
      const i64 place = plane - rest * (Number)planes.sizes[d];
      from += place * planes.x_strides[d];
      at += place * planes.index_strides[d];
      plane = rest;
    }
    const i64 found = checked(planes, index[at], i);
    out[i] = found < 0 ? Word() : x[from + found];
  }
}
)";

constexpr std::string_view kCheck = R"(
extern "C" __global__ void __launch_bounds__(256)
check_planes(const __grid_constant__ Planes planes, const i64* __restrict__ index) {
  for (i64 i = blockIdx.x * 256ll + threadIdx.x; i < planes.total; i += gridDim.x * 256ll) checked(planes, index[i], i);
}
)";

std::string_view word_of(int64_t bytes) { return bytes == 16 ? "uint4" : unsigned_name(bytes); }

// The dimensions before the plane.
Layout outer_layout(const Array& array, size_t dimensions) {
  const Layout& layout = array.layout();
  const size_t outer = array.rank() - dimensions;
  return {Sizes(std::span(layout.sizes).first(outer)),
          Sizes(std::span(layout.strides).first(outer)), 0};
}
// True if the elements of a plane lie one after another.
bool has_contiguous_planes(const Array& array, size_t dimensions) {
  int64_t stride = 1;
  for (size_t i = array.rank(); i-- > array.rank() - dimensions;) {
    if (array.sizes()[i] != 1 && array.layout().strides[i] != stride) return false;
    stride *= array.sizes()[i];
  }
  return true;
}
int64_t plane_size(const Sizes& sizes, size_t dimensions) {
  return element_count_of(std::span(sizes).last(dimensions));
}

CheckedOperation checked_planes(const KernelCall& call, int64_t whole) {
  return {.function = call.primitive.name, .plane = whole, .location = Location::of_caller()};
}

void note(const KernelCall& call, Planes& planes) {
  IndexNotes& notes = index_notes(device_of(call));
  planes.notes = notes.address();
  planes.place = notes.add(checked_planes(call, planes.whole));
}

size_t dimensions_of(const KernelCall& call) {
  return static_cast<size_t>(call.attributes.as<PlaneAttributes>().dimensions);
}

// Makes the arrays contiguous if their layouts are too many numbers for a kernel.
Planes planes_of(Array& x, Array& index, size_t dimensions) {
  if (!has_contiguous_planes(x, dimensions)) x = x.contiguous();
  if (!has_contiguous_planes(index, dimensions)) index = index.contiguous();
  if (x.rank() - dimensions > kMostDims) {
    x = x.contiguous();
    index = index.contiguous();
  }
  const Layout of_x = outer_layout(x, dimensions), of_index = outer_layout(index, dimensions);
  const Layout* const both[] = {&of_x, &of_index};
  const JointLayout joint(both);
  Planes planes{.total = index.element_count(),
                .size = plane_size(index.sizes(), dimensions),
                .whole = plane_size(x.sizes(), dimensions),
                .rank = static_cast<int64_t>(joint.sizes.size())};
  std::ranges::copy(joint.sizes, planes.sizes);
  std::ranges::copy(joint.strides[0], planes.x_strides);
  std::ranges::copy(joint.strides[1], planes.index_strides);
  return planes;
}

void check_indices(const KernelCall& call, const Array& index, int64_t whole) {
  Planes planes{.total = index.element_count(), .whole = whole};
  CudaDevice& device = device_of(call);
  static Immortal<KernelVariants> variants("check_planes");
  const KernelFunction& function =
      variants->of(device, "check_planes", {0}, [] { return check_planes_text(); });
  note(call, planes);
  launch(device, function, blocks_for(planes.total), kBlockThreads, 0, planes, address_of(index));
}

// By scatter_add to zeros, which drops what is out of range: −1 too, read as a natural number.
Array scattered(const KernelCall& call, const Array& x, const Array& index, int64_t planes,
                int64_t whole) {
  const auto matrix = [&](DType dtype, const Array& array) {
    const int64_t columns = array.element_count() / planes;
    Layout layout = Layout::contiguous({planes, columns});
    layout.offset = array.layout().offset;
    return Array(dtype, std::move(layout), array.buffer());
  };
  const DType dtype = x.dtype();
  std::vector<Array> operands{
      Array::filled_on(call.device, dtype, {planes, whole}, Element::of(false)), matrix(dtype, x),
      matrix(DType::u64, index)};
  const ir::Primitive& primitive = scatter_add_primitive();
  const ir::Attributes attributes =
      ir::Attributes::of(GatherAttributes{.axes = {1}, .batch = 1, .outside = Outside::ignored});
  const std::vector<ArrayType> types{{dtype, {planes, whole}}};
  std::vector<Array> results(1);
  KernelCall add{primitive, operands, attributes, types, results, call.device};
  const Kernel* const kernel = find_device_kernel(primitive, call.device.kind);
  kernel->run(add, kernel->data);
  return std::move(results[0]);
}

}  // namespace

std::string plane_take_text(int64_t element_bytes, bool narrow) {
  return fmt::format("typedef {} Word;\ntypedef {} Number;\n{}{}{}", word_of(element_bytes),
                     narrow ? "u32" : "u64", kIndexNotesText, kPlanes, kTake);
}

std::string check_planes_text() { return fmt::format("{}{}{}", kIndexNotesText, kPlanes, kCheck); }

void run_plane_take(KernelCall& call, const void*) {
  move_operands(call);
  Array x = call.operands[0], index = call.operands[1];
  const Array& result = call.new_result(0);
  if (index.element_count() == 0) return;
  Planes planes = planes_of(x, index, dimensions_of(call));
  const bool narrow = fits_32_bits(planes.total);
  CudaDevice& device = device_of(call);
  static Immortal<KernelVariants> variants("plane_take");
  const KernelFunction& function =
      variants->of(device, "plane_take", {x.element_size(), narrow},
                   [&] { return plane_take_text(x.element_size(), narrow); });
  note(call, planes);
  launch(device, function, blocks_for(planes.total), kBlockThreads, 0, planes, address_of(x),
         address_of(index), address_of(result));
}

void run_plane_put(KernelCall& call, const void*) {
  move_operands(call);
  const Sizes& sizes = call.types[0].sizes;
  const int64_t whole = plane_size(sizes, dimensions_of(call));
  const Array x = call.operands[0].contiguous(), index = call.operands[1].contiguous();
  if (index.element_count() > 0) check_indices(call, index, whole);
  const DType dtype = call.types[0].dtype;
  if (index.element_count() == 0 || whole == 0) {
    call.results[0] = Array::filled_on(call.device, dtype, sizes, Element::of(false));
    return;
  }
  const int64_t planes = element_count_of(sizes) / whole;
  const Array sums = scattered(call, x, index, planes, whole);
  call.results[0] = Array(dtype, Layout::contiguous(sizes), sums.buffer());
}

}  // namespace plait::cuda
