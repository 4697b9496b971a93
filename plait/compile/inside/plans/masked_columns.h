// Says if loops may leave out the columns that a mask excludes: for softmax, whose results are 0
// there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "plait/compile/inside/plans/needed_columns.h"

namespace plait::compile {

// Sets `needs.maximum` if they need not, and adds the maximum of each row to the results.
// `products` are the parameters for which `needs` hold; the first `own_results` of the nest are
// used by others.
void find_maximum(Nest& nest, ColumnNeeds& needs, std::span<const uint32_t> products,
                  uint32_t own_results);

}  // namespace plait::compile
