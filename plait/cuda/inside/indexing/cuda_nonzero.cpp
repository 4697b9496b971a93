#include "plait/cuda/inside/indexing/cuda_nonzero.h"

#include <algorithm>

#include <fmt/format.h>

#include "plait/core/inside/system/immortal.h"
#include "plait/cuda/inside/kernels/device_operands.h"
#include "plait/cuda/inside/kernels/kernel_variants.h"
#include "plait/cuda/inside/order/compaction.h"
#include "plait/cuda/inside/order/key_text.h"
#include "plait/tensor/inside/device_calls.h"

namespace plait::cuda {
namespace {

constexpr size_t kMostRank = 32;

// As the kernels get them.
struct NonzeroSource {
  Address x;
};
struct NonzeroTarget {
  Address places;
  int64_t columns, rank;
  int64_t sizes[kMostRank];
};

// An element is PARTS words, of which all bits but a sign count.
constexpr std::string_view kNonzero = R"(
struct Source { const Word* x; };
struct Target { i64* places; i64 columns, rank, sizes[32]; };

INLINE bool is_taken(const Source& source, i64 i) {
  Word bits = 0;
  #pragma unroll
  for (int part = 0; part < PARTS; ++part) bits |= (Word)(source.x[i * PARTS + part] & (Word)MASK);
  return bits != 0;
}
INLINE void take(const Target& target, const Source&, i64 i, i64 number, bool taken) {
  if (!taken) return;
  for (i64 axis = target.rank - 1; axis >= 0; --axis) {
    const i64 rest = axis > 0 ? i / target.sizes[axis] : 0;
    target.places[axis * target.columns + number] = i - rest * target.sizes[axis];
    i = rest;
  }
}
)";

}  // namespace

std::string nonzero_text(DType dtype) {
  const int64_t parts = is_complex(dtype) ? 2 : 1, bytes = size_of(dtype) / parts;
  const uint64_t all = ~uint64_t{0} >> (64 - 8 * bytes);
  return compaction_text(
      fmt::format("typedef {} Word;\n#define PARTS {}\n#define MASK {:#x}ull\n{}",
                  unsigned_name(bytes), parts, is_inexact(dtype) ? all >> 1 : all, kNonzero));
}

void run_nonzero(KernelCall& call, const void*) {
  move_operands(call);
  const Array x = call.operands[0].contiguous();
  if (x.rank() > kMostRank) return run_on_host(call);
  CudaDevice& device = device_of(call);
  const auto function = [&](std::string_view name, int64_t number) -> const KernelFunction& {
    static Immortal<KernelVariants> variants("nonzero");
    return variants->of(device, name, {number, dtype_number(x.dtype())},
                        [&] { return nonzero_text(x.dtype()); });
  };
  const CompactionKernels kernels{function("count_taken", 0), function("sum_tiles", 1),
                                  function("number_items", 2)};
  const int64_t count = x.element_count();
  const NonzeroSource source{address_of(x)};
  const Taken taken = count_taken(device, call.device, kernels, source, count);
  const auto rank = static_cast<int64_t>(x.rank());
  call.results[0] = Array::empty_on(call.device, DType::i64, {rank, taken.count});
  if (taken.count == 0 || rank == 0) return;
  NonzeroTarget target{address_of(call.results[0]), taken.count, rank, {}};
  std::ranges::copy(x.sizes(), target.sizes);
  number_items(device, kernels, source, count, taken.starts, target);
}

}  // namespace plait::cuda
