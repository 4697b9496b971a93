// Numbers what is taken of many items, in order: each block counts in its tile, sums give each tile
// its first number, and blocks number their items.
#pragma once

#include <string>
#include <string_view>

#include "plait/cuda/inside/kernels/launch.h"
#include "plait/tensor/memory/array.h"

namespace plait::cuda {

// Kernels count_taken(source, count, counts) and number_items(source, count, starts, target). The
// operation is text with the types Source and Target, is_taken(source, i), and
// take(target, source, i, number, taken), which is called for all items; `number` is how many are
// taken before item i.
std::string compaction_text(std::string_view operation);

// How many are taken, for which this waits, and the first number of each tile.
struct Taken {
  int64_t count = 0;
  Array starts;
};

// The kernels of one text of compaction_text.
struct CompactionKernels {
  const KernelFunction &count_taken, &sum_tiles, &number_items;
};

inline constexpr int64_t kCompactionTile = 4096;
// The counts of tiles become their first numbers; waits for the sum of all.
int64_t sum_counts(CudaDevice& device, const KernelFunction& sum_tiles, const Array& counts);

template <class Source>
Taken count_taken(CudaDevice& device, Device place, const CompactionKernels& kernels,
                  const Source& source, int64_t count) {
  const int64_t tiles = (count + kCompactionTile - 1) / kCompactionTile;
  const Array counts = Array::empty_on(place, DType::u64, {tiles});
  if (count == 0) return {0, counts};
  launch(device, kernels.count_taken, {tiles}, 256, 0, source, count,
         reinterpret_cast<Address>(counts.device_data()));
  return {sum_counts(device, kernels.sum_tiles, counts), counts};
}

template <class Source, class Target>
void number_items(CudaDevice& device, const CompactionKernels& kernels, const Source& source,
                  int64_t count, const Array& starts, const Target& target) {
  const int64_t tiles = (count + kCompactionTile - 1) / kCompactionTile;
  launch(device, kernels.number_items, {tiles}, 256, 0, source, count,
         reinterpret_cast<Address>(starts.device_data()), target);
}

}  // namespace plait::cuda
