#include "plait/cuda/inside/indexing/cuda_scatter.h"

#include <bit>
#include <utility>

#include "plait/core/inside/system/immortal.h"
#include "plait/cuda/inside/indexing/scatter_text.h"
#include "plait/cuda/inside/kernels/device_operands.h"
#include "plait/cuda/inside/kernels/kernel_variants.h"
#include "plait/cuda/inside/order/radix_sort.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/inside/device_calls.h"

namespace plait::cuda {
namespace {

// One call: the points, and the rows of the result, which begins as x.
class Scatter {
 public:
  Scatter(CudaDevice& device, Combine combine, const Array& result, const Array& updates,
          const Points& points, const Row& row)
      : device_(device),
        combine_(combine),
        result_(result),
        updates_(updates),
        points_(points),
        row_(row) {}

  // No two points name one row.
  void update_rows() const {
    const int64_t total = points_.count * row_.count;
    static Immortal<KernelVariants> variants("update_rows");
    const KernelFunction& function = variants->of(
        device_, "update_rows",
        {points_.rank, points_.indices, row_.rank, fits_32_bits(total),
         static_cast<int64_t>(combine_), dtype_number(result_.dtype())},
        [&] {
          return update_rows_text(points_, row_, fits_32_bits(total), combine_, result_.dtype());
        });
    launch(device_, function, blocks_for(total), kBlockThreads, 0, points_, row_,
           address_of(result_), address_of(updates_), total);
  }

  // The number of each point's row, which is `rows` if it is dropped.
  Array locate(int64_t rows, Array& offsets) const {
    const DType key = rows < int64_t{1} << 32 ? DType::u32 : DType::u64;
    const Array keys = Array::empty_on(result_.device(), key, {1, points_.count});
    offsets = Array::empty_on(result_.device(), DType::i64, {points_.count});
    static Immortal<KernelVariants> variants("locate");
    const bool narrow = fits_32_bits(points_.count);
    const KernelFunction& function =
        variants->of(device_, "locate", {points_.rank, points_.indices, narrow, size_of(key)},
                     [&] { return locate_text(points_, narrow, size_of(key)); });
    launch(device_, function, blocks_for(points_.count), kBlockThreads, 0, points_,
           address_of(keys), address_of(offsets), rows);
    return keys;
  }

  void update_sorted(const Array& keys, const Array& offsets, int64_t rows) const {
    const SortedRows sorted =
        radix_sort(device_, keys, std::bit_width(static_cast<uint64_t>(rows)));
    const Address at[] = {address_of(sorted.keys), address_of(sorted.order), address_of(offsets),
                          address_of(result_), address_of(updates_)};
    const int64_t total = points_.count * row_.count;
    const int64_t key = keys.element_size(), index = sorted.order.element_size();
    const auto function = [&](std::string_view name, int64_t number) -> const KernelFunction& {
      static Immortal<KernelVariants> variants("sorted_updates");
      const DType dtype = result_.dtype();
      return variants->of(device_, name,
                          {number, row_.rank, fits_32_bits(total), key, index,
                           static_cast<int64_t>(combine_), dtype_number(dtype)},
                          [&] {
                            return sorted_updates_text(row_, fits_32_bits(total), key, index,
                                                       combine_, dtype);
                          });
    };
    if (combine_ != Combine::set && may_combine_first(combine_, result_.dtype())) {
      return update_runs(function("update_runs", 0), function("join_runs", 1), at, rows);
    }
    const char* const name = combine_ == Combine::set ? "set_last" : "update_in_order";
    launch(device_, function(name, 2), blocks_for(total), kBlockThreads, 0, row_, at[0], at[1],
           at[2], at[3], at[4], points_.count, rows);
  }

 private:
  void update_runs(const KernelFunction& update, const KernelFunction& join,
                   std::span<const Address> at, int64_t rows) const {
    const int64_t total = quotient_up(points_.count, kPointsOfTile) * row_.count;
    const int64_t bytes = total * combined_bytes(combine_, result_.dtype());
    const Array heads = Array::empty_on(result_.device(), DType::u8, {bytes});
    const Array parts = Array::empty_on(result_.device(), DType::u8, {bytes});
    launch(device_, update, blocks_for(total), kBlockThreads, 0, row_, at[0], at[1], at[2], at[3],
           at[4], address_of(heads), address_of(parts), points_.count, rows);
    launch(device_, join, blocks_for(total), kBlockThreads, 0, row_, at[0], at[1], at[2], at[3],
           address_of(heads), address_of(parts), points_.count, rows);
  }

  CudaDevice& device_;
  Combine combine_;
  const Array &result_, &updates_;
  const Points& points_;
  const Row& row_;
};

void note(KernelCall& call, const Array& x, std::span<const Array> indices, Points& points) {
  const auto& attributes = call.attributes.as<GatherAttributes>();
  if (attributes.outside != Outside::fails) return;
  IndexNotes& notes = index_notes(device_of(call));
  points.notes = notes.address();
  points.place = notes.add(checked_operation(call.primitive.name, x, indices, attributes));
}

void run_scatter(KernelCall& call, const void* data) {
  if (call.types[0].dtype == DType::key) return run_on_host(call);
  const auto& attributes = call.attributes.as<GatherAttributes>();
  move_operands(call);
  const Array& x = call.operands[0];
  const std::span<const Array> indices = call.operands.subspan(2);
  if (!points_of(x, indices, attributes) || !row_of(x, attributes)) return run_on_host(call);
  const Array updates = call.operands[1].contiguous();
  call.results[0] = x.is_writable() && x.is_contiguous() ? x : x.copy();
  const Array& result = call.results[0];
  std::optional<Points> points = points_of(result, indices, attributes);
  std::optional<Row> row = row_of(result, attributes);
  if (!points || !row) return run_on_host(call);
  if (points->count == 0) return;
  note(call, result, indices, *points);
  const Scatter scatter(device_of(call), *static_cast<const Combine*>(data), result, updates,
                        *points, *row);
  const bool is_empty = updates.element_count() == 0;
  if ((attributes.unique || points->count == 1) && !is_empty) return scatter.update_rows();
  Array offsets;
  const int64_t rows = count_rows(result, attributes);
  const Array keys = scatter.locate(rows, offsets);  // which checks the indices
  if (!is_empty) scatter.update_sorted(keys, offsets, rows);
}

constexpr std::pair<const ir::Primitive& (*)(), Combine> kScatters[] = {
    {scatter_set_primitive, Combine::set},           {scatter_add_primitive, Combine::add},
    {scatter_multiply_primitive, Combine::multiply}, {scatter_minimum_primitive, Combine::minimum},
    {scatter_maximum_primitive, Combine::maximum},
};

}  // namespace

void register_scatter_kernels() {
  for (const auto& [primitive, combine] : kScatters) {
    register_kernel(primitive(), {run_scatter, &combine}, Device::Kind::cuda);
  }
}

}  // namespace plait::cuda
