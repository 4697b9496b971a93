#include "plait/cuda/inside/order/cuda_sort.h"

#include <algorithm>
#include <bit>

#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/cuda/inside/kernels/device_operands.h"
#include "plait/cuda/inside/kernels/kernel_variants.h"
#include "plait/cuda/inside/order/key_text.h"
#include "plait/cuda/inside/order/radix_sort.h"
#include "plait/cuda/inside/order/sort_text.h"
#include "plait/ops/reductions/sort.h"

namespace plait::cuda {
namespace {

// The axis moved to the end.
Array with_axis_last(const Array& array, int64_t axis) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < static_cast<int64_t>(array.rank()); ++i) {
    if (i != axis) order.push_back(i);
  }
  order.push_back(axis);
  return array.view(array.layout().permuted(order));
}

// Contiguous rows for a result with another axis than the last: copied to their places at the end.
class ResultRows {
 public:
  ResultRows(const Array& result, int64_t axis)
      : place_(with_axis_last(result, axis)),
        rows_(place_.is_contiguous()
                  ? place_
                  : Array::empty_on(place_.device(), place_.dtype(), place_.sizes())) {}

  const Array& rows() const { return rows_; }
  void finish() {
    if (!place_.is_contiguous()) copy_elements(rows_, place_);
  }

 private:
  Array place_, rows_;
};

struct Sorting {
  int64_t rows, length, kept;
  bool descending;
};

void sort_in_blocks(CudaDevice& device, const Sorting& s, const Array& x, Address values,
                    Address indices) {
  const auto padded =
      std::max<int64_t>(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(s.length))), 2);
  const auto threads = static_cast<int>(std::clamp<int64_t>(padded / 2, 32, 1024));
  static Immortal<KernelVariants> variants("sort_rows");
  const KernelFunction& function = variants->of(device, "sort_rows", {dtype_number(x.dtype())},
                                                [&] { return block_sort_text(x.dtype()); });
  launch(device, function, blocks_for(s.rows, 1), threads, 0, address_of(x), values, indices,
         s.rows, static_cast<int32_t>(s.length), static_cast<int32_t>(padded),
         static_cast<int32_t>(s.kept), int32_t{s.descending});
}

void sort_by_digits(CudaDevice& device, const Sorting& s, const Array& x, Address values,
                    Address indices) {
  const int64_t bytes = x.element_size(), total = s.rows * s.length;
  const DType key = bytes == 1   ? DType::u8
                    : bytes == 2 ? DType::u16
                    : bytes == 4 ? DType::u32
                                 : DType::u64;
  const Array keys = Array::empty_on(x.device(), key, {s.rows, s.length});
  const auto function = [&](std::string_view name, int64_t number, int64_t index_bytes) -> auto& {
    static Immortal<KernelVariants> variants("sorted_values");
    return variants->of(device, name, {number, dtype_number(x.dtype()), index_bytes},
                        [&] { return sorted_values_text(x.dtype(), index_bytes); });
  };
  launch(device, function("make_keys", 0, 4), blocks_for(total), kBlockThreads, 0, address_of(x),
         address_of(keys), total, int32_t{s.descending});
  const int bits = x.dtype() == DType::boolean && !s.descending ? 1 : static_cast<int>(8 * bytes);
  const SortedRows sorted = radix_sort(device, keys, bits);
  launch(device, function("take_sorted", 1, sorted.order.element_size()),
         blocks_for(s.rows * s.kept), kBlockThreads, 0, address_of(x), address_of(sorted.order),
         values, indices, s.rows, s.length, s.kept);
}

// `x` is contiguous, with rows along its last axis; `values` too, of `kept` elements each, and
// `indices`, unless they are null.
void sort_rows(CudaDevice& device, const Array& x, int64_t kept, bool descending,
               const Array& values, const Array* indices) {
  if (x.element_count() == 0 || kept == 0) return;
  const int64_t length = x.sizes().back();
  const Sorting s{x.element_count() / length, length, kept, descending};
  const Address places = indices != nullptr ? address_of(*indices) : Address{0};
  length <= kLongestInBlock ? sort_in_blocks(device, s, x, address_of(values), places)
                            : sort_by_digits(device, s, x, address_of(values), places);
}

[[noreturn]] void refuse(const KernelCall& call, DType dtype) {
  throw TypeError("{}: {} has no order", call.primitive.name, name_of(dtype));
}

}  // namespace

void run_sort(KernelCall& call, const void*) {
  const auto& a = call.attributes.as<SortAttributes>();
  move_operands(call);
  if (!has_order(call.operands[0].dtype())) refuse(call, call.operands[0].dtype());
  const Array x = with_axis_last(call.operands[0], a.axis).contiguous();
  ResultRows values(call.new_result(0), a.axis);
  if (a.values_only) {
    sort_rows(device_of(call), x, x.sizes().back(), a.descending, values.rows(), nullptr);
    return values.finish();
  }
  ResultRows indices(call.new_result(1), a.axis);
  sort_rows(device_of(call), x, x.sizes().back(), a.descending, values.rows(), &indices.rows());
  values.finish();
  indices.finish();
}

void run_topk(KernelCall& call, const void*) {
  const auto& a = call.attributes.as<TopkAttributes>();
  move_operands(call);
  const Array& given = call.operands[0];
  const int64_t length = given.sizes()[static_cast<size_t>(a.axis)], count = a.count.number();
  if (count < 0 || count > length) {
    throw ValueError("topk: {} of the {} elements along axis {} of {}{}", count, length, a.axis,
                     name_of(given.dtype()), text_of_sizes(given.sizes()));
  }
  if (!has_order(given.dtype())) refuse(call, given.dtype());
  const Array x = with_axis_last(given, a.axis).contiguous();
  ResultRows values(call.new_result(0), a.axis), indices(call.new_result(1), a.axis);
  sort_rows(device_of(call), x, count, a.largest, values.rows(), &indices.rows());
  values.finish();
  indices.finish();
}

void run_search(KernelCall& call, const void*) {
  const bool behind = call.attributes.as<SearchAttributes>().side == SearchSide::right;
  move_operands(call);
  const Array sorted = call.operands[0].contiguous(), values = call.operands[1].contiguous();
  Array& places = call.new_result(0);
  const int64_t total = values.element_count();
  if (total == 0) return;
  if (!has_order(sorted.dtype())) refuse(call, sorted.dtype());
  CudaDevice& device = device_of(call);
  static Immortal<KernelVariants> variants("search_sorted");
  const KernelFunction& function =
      variants->of(device, "search_sorted", {dtype_number(sorted.dtype())},
                   [&] { return search_text(sorted.dtype()); });
  launch(device, function, blocks_for(total), kBlockThreads, 0, address_of(sorted),
         address_of(values), address_of(places), total, sorted.sizes().back(),
         values.sizes().back(), int32_t{behind});
}

SortedVector sorted_vector(CudaDevice& device, const Array& x) {
  const Array dense = x.contiguous();
  SortedVector sorted{Array::empty_on(x.device(), x.dtype(), x.sizes()),
                      Array::empty_on(x.device(), DType::i64, x.sizes())};
  sort_rows(device, dense, x.element_count(), false, sorted.values, &sorted.order);
  return sorted;
}

}  // namespace plait::cuda
