#include "plait/ops/neural/per_dimension.h"

#include "plait/core/error.h"

namespace plait {

std::vector<int64_t> PerDimension::of(size_t dimensions, std::string_view function,
                                      std::string_view what, int64_t least) const {
  std::vector<int64_t> numbers = numbers_;
  if (numbers.size() == 1) numbers.resize(dimensions, numbers_[0]);
  if (numbers.size() != dimensions) {
    throw ValueError("{}: {} numbers for the {}, expected {}", function, numbers.size(), what,
                     dimensions)
        .at(Location::of_caller());
  }
  for (const int64_t number : numbers) {
    if (number >= least) continue;
    throw ValueError("{}: a {} of {}, expected {} or more", function, what, number, least)
        .at(Location::of_caller());
  }
  return numbers;
}

}  // namespace plait
