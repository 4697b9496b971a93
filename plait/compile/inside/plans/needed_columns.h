// Which columns of a product's rows the loops need: with a mask, as in causal attention, those that
// it selects.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plait/compile/inside/nests/nest.h"

namespace plait::compile {

struct NeededColumns {
  enum class By : uint8_t {
    none,    // all columns
    mask,    // the product is read where the mask is true, and nowhere else
    factor,  // the product is multiplied by a result of the nest, and nothing else
  };
  By by = By::none;
  uint32_t result = 0;  // with By::factor
};

struct ColumnMask {
  uint32_t parameter = 0;  // a bool parameter of the nest
  Affine place = {};
};

// Where the mask is false, all rows are 0, and columns add nothing to reductions, if the maximum of
// each row exceeds `masked` by kVanishing.
struct RowMaximum {
  uint32_t result = 0;  // a number for each row
  double masked = 0;    // stands for an excluded column
};

// exp is 0 of numbers below -kVanishing, in f32 and f64.
inline constexpr double kVanishing = 800;

struct ColumnNeeds {
  std::vector<NeededColumns> products;
  std::optional<ColumnMask> mask = {};  // empty unless a product is selected by it
  // Set if the loops need not compute other columns either.
  std::optional<RowMaximum> maximum = {};
};

// For products that are these parameters of the nest. `rows` are the results that could be factors.
ColumnNeeds column_needs(const Nest& nest, std::span<const uint32_t> products,
                         std::span<const uint32_t> rows);

}  // namespace plait::compile
