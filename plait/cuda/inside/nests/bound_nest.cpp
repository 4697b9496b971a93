#include "plait/cuda/inside/nests/bound_nest.h"

#include <algorithm>
#include <cstdlib>

namespace plait::cuda {

using compile::Affine;
using compile::NestValue;

namespace {

constexpr int64_t kVectorBytes = 16;
// Loops step over the end by at most as much as there is: half of the 32-bit numbers are left.
constexpr int64_t kFar = int64_t{1} << 30;

template <class Visit>
void each_port(const PlannedNest& planned, const Visit& visit) {
  for (const NestValue& value : planned.nest.values) {
    if (value.kind == NestValue::Kind::load && !planned.by_value[value.parameter]) {
      visit(value.place, value.dtype);
    }
  }
  for (size_t r = 0; r < planned.nest.results.size(); ++r) {
    visit(planned.nest.results[r].place, planned.results[r]);
  }
}

bool is_dense(const Affine& place) { return same(place.strides.back(), Dim(1)); }

}  // namespace

int vector_of(const PlannedNest& planned) {
  int64_t widest = 0;
  each_port(planned, [&](const Affine& place, DType dtype) {
    if (is_dense(place)) widest = std::max(widest, size_of(dtype));
  });
  return widest == 0 ? 1 : static_cast<int>(kVectorBytes / widest);
}

int64_t BoundNest::number(Dim dim) const {
  if (dim.is_number()) return dim.number();
  const auto found = std::ranges::find_if(planned_.sizes, is_same_as(dim));
  return sizes_[static_cast<size_t>(found - planned_.sizes.begin())];
}

int64_t BoundNest::product(std::span<const Dim> dims) const {
  int64_t count = 1;
  for (const Dim dim : dims) count *= number(dim);
  return count;
}

int64_t BoundNest::extent(const Affine& place) const {
  int64_t last = number(place.offset);
  for (size_t k = 0; k < place.strides.size(); ++k) {
    last += number(place.strides[k]) * std::max<int64_t>(extent_of(k) - 1, 0);
  }
  return last + 1;
}

int64_t BoundNest::extent_of(size_t dimension) const {
  const compile::Nest& nest = planned_.nest;
  return number(dimension == nest.outer.size() ? nest.columns : nest.outer[dimension]);
}

bool BoundNest::reaches_far(const Affine& place) const {
  __int128 reach = std::abs(number(place.offset));
  for (size_t k = 0; k < place.strides.size(); ++k) {
    reach += static_cast<__int128>(std::abs(number(place.strides[k]))) * extent_of(k);
  }
  return reach >= kFar;
}

bool BoundNest::needs_wide_index() const {
  if (static_cast<__int128>(rows()) * std::max<int64_t>(columns(), 1) >= kFar) return true;
  if (std::ranges::any_of(sizes_, [](int64_t size) { return std::abs(size) >= kFar; })) return true;
  bool is_far = false;
  each_port(planned_, [&](const Affine& place, DType) { is_far = is_far || reaches_far(place); });
  for (const NestValue& value : planned_.nest.values) {
    is_far = is_far || (value.kind == NestValue::Kind::index && reaches_far(value.place));
  }
  return is_far;
}

bool BoundNest::is_aligned(const Affine& place, Address address, int64_t element_size,
                           int vector) const {
  if (!is_dense(place)) return true;
  const int64_t bytes = element_size * vector;
  if ((static_cast<int64_t>(address) + number(place.offset) * element_size) % bytes != 0) {
    return false;
  }
  for (size_t k = 0; k < planned_.nest.outer.size(); ++k) {
    if (number(planned_.nest.outer[k]) > 1 && number(place.strides[k]) % vector != 0) return false;
  }
  return true;
}

bool BoundNest::is_aligned(int vector, std::span<const NestParameter> parameters,
                           std::span<const Address> results) const {
  if (vector == 1) return false;
  for (const NestValue& value : planned_.nest.values) {
    if (value.kind != NestValue::Kind::load || planned_.by_value[value.parameter]) continue;
    const Address address = parameters[value.parameter].address;
    if (!is_aligned(value.place, address, size_of(value.dtype), vector)) return false;
  }
  for (size_t r = 0; r < results.size(); ++r) {
    if (planned_.is_accumulated(r)) continue;  // stored one by one
    const int64_t size = size_of(planned_.results[r]);
    if (!is_aligned(planned_.nest.results[r].place, results[r], size, vector)) return false;
  }
  return true;
}

}  // namespace plait::cuda
