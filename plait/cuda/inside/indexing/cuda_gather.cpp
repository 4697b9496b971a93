#include "plait/cuda/inside/indexing/cuda_gather.h"

#include <bit>
#include <numeric>

#include <fmt/format.h>

#include "plait/core/inside/system/immortal.h"
#include "plait/cuda/inside/indexing/points_text.h"
#include "plait/cuda/inside/kernels/device_operands.h"
#include "plait/cuda/inside/kernels/kernel_variants.h"
#include "plait/tensor/inside/device_calls.h"

namespace plait::cuda {
namespace {

// Threads copy words of rows. The thread of a row's first word notes a bad index.
constexpr std::string_view kGather = R"(
extern "C" __global__ void __launch_bounds__(256)
gather(const __grid_constant__ Points points, const __grid_constant__ Row row, const Word* __restrict__ x,
       Word* __restrict__ out, i64 total, int copies) {
  const Number words = (Number)row.count, step = gridDim.x * 256u;
  for (Number i = blockIdx.x * 256u + threadIdx.x; i < (Number)total; i += step) {
    const Number point = i / words, at = i - point * words;
    const Found found = find_row(points, point, at == 0);
    if (!copies) continue;
    Word word = Word();
    if (found.number >= 0) word = x[found.offset + row_offset(row, 0, at)];
    out[i] = word;
  }
}
)";

// Copies several elements at a time if rows lie dense and everything is aligned: `word` bytes.
int64_t widen(Points& points, Row& row, const Array& x, const Array& result) {
  const int64_t size = x.element_size();
  const bool is_dense = row.rank == 0 || (row.rank == 1 && row.steps[0][0] == 1);
  if (!is_dense) return size;
  int64_t common = std::gcd(row.count * size, int64_t{16});
  const auto reduce = [&](int64_t step) { common = std::gcd(common, step * size); };
  for (int32_t d = 0; d < points.rank; ++d) reduce(points.batch_steps[d]);
  for (int32_t i = 0; i < points.indices; ++i) reduce(points.axis_steps[i]);
  common = std::gcd(common, static_cast<int64_t>(address_of(x) % 16));
  common = std::gcd(common, static_cast<int64_t>(address_of(result) % 16));
  const int64_t together = common / size;
  if (together <= 1) return size;
  row.count /= together;
  if (row.rank == 1) row.sizes[0] /= together;
  for (int32_t d = 0; d < points.rank; ++d) points.batch_steps[d] /= together;
  for (int32_t i = 0; i < points.indices; ++i) points.axis_steps[i] /= together;
  return common;
}

std::string_view word_type(int64_t bytes) {
  return bytes == 1   ? "u8"
         : bytes == 2 ? "u16"
         : bytes == 4 ? "u32"
         : bytes == 8 ? "uint2"
                      : "uint4";
}

}  // namespace

std::string gather_text(const Points& points, const Row& row, int64_t word, bool narrow) {
  return fmt::format("{}typedef {} Word;\n{}", points_text(points, row, narrow), word_type(word),
                     kGather);
}

void run_gather(KernelCall& call, const void*) {
  if (call.types[0].dtype == DType::key) return run_on_host(call);
  const auto& attributes = call.attributes.as<GatherAttributes>();
  move_operands(call);
  const Array& x = call.operands[0];
  const std::span<const Array> indices = call.operands.subspan(1);
  std::optional<Points> points = points_of(x, indices, attributes);
  std::optional<Row> row = row_of(x, attributes);
  if (!points || !row) return run_on_host(call);
  Array& result = call.new_result(0);
  if (points->count == 0) return;
  const bool copies = row->count > 0;
  if (!copies) *row = {};  // nothing to copy, but the indices must be valid
  const int64_t word = copies ? widen(*points, *row, x, result) : 1;
  CudaDevice& device = device_of(call);
  const int64_t total = points->count * row->count;
  static Immortal<KernelVariants> variants("gather");
  const KernelFunction& function = variants->of(
      device, "gather", {points->rank, points->indices, row->rank, word, fits_32_bits(total)},
      [&] { return gather_text(*points, *row, word, fits_32_bits(total)); });
  if (attributes.outside == Outside::fails) {
    points->notes = index_notes(device).address();
    points->place =
        index_notes(device).add(checked_operation(call.primitive.name, x, indices, attributes));
  }
  launch(device, function, blocks_for(total), 256, 0, *points, *row, address_of(x),
         address_of(result), total, int32_t{copies});
}

}  // namespace plait::cuda
