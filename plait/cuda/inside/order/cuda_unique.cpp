#include "plait/cuda/inside/order/cuda_unique.h"

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/cuda/inside/kernels/device_operands.h"
#include "plait/cuda/inside/kernels/kernel_variants.h"
#include "plait/cuda/inside/order/compaction.h"
#include "plait/cuda/inside/order/cuda_sort.h"
#include "plait/cuda/inside/order/key_text.h"
#include "plait/ops/reductions/sort.h"

namespace plait::cuda {
namespace {

// As the kernels get them.
struct UniqueSource {
  Address sorted, order;
};
struct UniqueTarget {
  Address values, inverse, begins, first;
};

// The first of equal elements in order is taken.
constexpr std::string_view kUnique = R"(
struct Source { const Key* sorted; const i64* order; };
struct Target { Key* values; i64 *inverse, *begins, *first; };

INLINE bool is_taken(const Source& source, i64 i) {
  if (i == 0) return true;
  const Key key = key_of(source.sorted[i]);
  return key != key_of(source.sorted[i - 1]) || (!EQUAL_NAN && kIsFloat && key == kNaN);
}
INLINE void take(const Target& target, const Source& source, i64 i, i64 number, bool taken) {
  if (taken) {
    target.values[number] = source.sorted[i];
    target.begins[number] = i;
    target.first[number] = source.order[i];
  }
  target.inverse[source.order[i]] = number - (taken ? 0 : 1);
}
)";
constexpr std::string_view kCounts = R"(
extern "C" __global__ void __launch_bounds__(256)
count_equal(const i64* __restrict__ begins, i64* __restrict__ counts, i64 groups, i64 total) {
  for (i64 i = blockIdx.x * 256ll + threadIdx.x; i < groups; i += gridDim.x * 256ll) {
    counts[i] = (i + 1 < groups ? begins[i + 1] : total) - begins[i];
  }
}
)";

}  // namespace

std::string unique_text(DType dtype, bool equal_nan) {
  const std::string operation =
      fmt::format("{}#define EQUAL_NAN {}\n{}", key_text(dtype), equal_nan, kUnique);
  return fmt::format("{}{}", compaction_text(operation), kCounts);
}

void run_unique(KernelCall& call, const void*) {
  move_operands(call);
  const Array& x = call.operands[0];
  if (!has_order(x.dtype())) throw TypeError("{} has no order", name_of(x.dtype()));
  CudaDevice& device = device_of(call);
  const bool equal_nan = call.attributes.as<UniqueAttributes>().equal_nan;
  const auto function = [&](std::string_view name, int64_t number) -> const KernelFunction& {
    static Immortal<KernelVariants> variants("unique");
    return variants->of(device, name, {number, equal_nan, dtype_number(x.dtype())},
                        [&] { return unique_text(x.dtype(), equal_nan); });
  };
  const CompactionKernels kernels{function("count_taken", 0), function("sum_tiles", 1),
                                  function("number_items", 2)};
  const SortedVector sorted = sorted_vector(device, x);
  const int64_t total = x.element_count();
  const UniqueSource source{address_of(sorted.values), address_of(sorted.order)};
  const Taken taken = count_taken(device, call.device, kernels, source, total);
  const auto made = [&](DType dtype, int64_t count) {
    return Array::empty_on(call.device, dtype, {count});
  };
  call.results[0] = made(x.dtype(), taken.count);
  call.results[1] = made(DType::i64, total);
  call.results[2] = made(DType::i64, taken.count);
  call.results[3] = made(DType::i64, taken.count);
  if (total == 0) return;
  const Array begins = made(DType::i64, taken.count);
  number_items(device, kernels, source, total, taken.starts,
               UniqueTarget{address_of(call.results[0]), address_of(call.results[1]),
                            address_of(begins), address_of(call.results[3])});
  launch(device, function("count_equal", 3), blocks_for(taken.count), 256, 0, address_of(begins),
         address_of(call.results[2]), taken.count, total);
}

}  // namespace plait::cuda
