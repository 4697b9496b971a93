// NumPy's indexing rules, element by element, implemented independently of Plait's: the flat index
// in x (row-major) of each element of x[…].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plait/ops/indexing/index.h"

namespace plait {

using List = std::vector<int64_t>;

struct NaiveEntry {
  enum Kind { integer, slice, ellipsis, new_axis, tensor, mask } kind;
  int64_t number = 0;
  Slice range = {};
  List sizes = {};  // sizes of a tensor or mask
  List values = {};

  Index index() const;
  std::string text() const;
};

struct NaiveResult {
  List sizes, places;
};

// Nothing where the indices cannot be broadcast together.
std::optional<NaiveResult> naive_index(const List& x, std::vector<NaiveEntry> entries);

std::vector<Index> indices_of(const std::vector<NaiveEntry>& entries);
std::string text_of(const std::vector<NaiveEntry>& entries);

}  // namespace plait
