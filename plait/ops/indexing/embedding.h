// Sums, means and maxima of the rows of a table.
#pragma once

#include <optional>

#include "plait/tensor/tensor.h"

namespace plait {

enum class BagMode : uint8_t { sum, mean, max };

struct EmbeddingBagOptions {
  // Where each bag begins among the ids, in ascending order from 0. Without it, each row of a
  // matrix of ids is a bag.
  Tensor offsets = {};
  BagMode mode = BagMode::mean;
  Tensor per_sample_weights = {};           // a factor for each id, for sums only
  bool include_last_offset = false;         // the last offset is the end of the last bag
  std::optional<int64_t> padding_idx = {};  // ids that count for nothing; −1 is the last row
};

// Combines the rows of the table [rows, width] that the ids of each bag name: [bags, width]. A bag
// without ids gives zeros. Throws IndexError for an id out of range, and CheckError for offsets
// that do not ascend from 0 to at most the number of ids.
Tensor embedding_bag(const Tensor& ids, const Tensor& weight,
                     const EmbeddingBagOptions& options = {});

}  // namespace plait
