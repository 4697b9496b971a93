// Options of convolutions and pooling per spatial dimension.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace plait {

// One number per spatial dimension, or one for all of them.
class PerDimension {
 public:
  PerDimension(int64_t all) : numbers_{all} {}                                  // NOLINT
  PerDimension(std::initializer_list<int64_t> numbers) : numbers_(numbers) {}   // NOLINT
  PerDimension(std::vector<int64_t> numbers) : numbers_(std::move(numbers)) {}  // NOLINT
  // Throws ValueError unless the count matches and no number is below `least`.
  std::vector<int64_t> of(size_t dimensions, std::string_view function, std::string_view what,
                          int64_t least) const;

 private:
  std::vector<int64_t> numbers_;
};

}  // namespace plait
