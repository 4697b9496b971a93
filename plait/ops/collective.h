// Operations along a named axis: what the places along it have is brought together. An axis is
// open in a function that is recorded for one place along it, such as one sample of a vmap:
//
//   vmap([](Tensor x) { return x - all_reduce_mean(x, "batch"); }, {.name = "batch"})(samples)
//
// What comes of a reduction is the same everywhere. Its derivative is that of the whole: a value
// that is the same everywhere gets what comes of all places that use it. Where no axis of that name
// is open: a KeyError.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plait/ir/mesh.h"
#include "plait/tensor/tensor.h"

namespace plait {

// One or more axes that are open, by the names that users say.
class AxisNames {
 public:
  AxisNames() = default;
  template <std::convertible_to<std::string_view> Name>
  AxisNames(const Name& name) : names_{std::string(std::string_view(name))} {}  // NOLINT
  AxisNames(std::initializer_list<std::string_view> names) : names_(names.begin(), names.end()) {}
  AxisNames(std::vector<std::string> names) : names_(std::move(names)) {}  // NOLINT

  ir::AxisSet labels() const;  // ValueError where there is none, or one twice

 private:
  std::vector<std::string> names_;
};

Tensor axis_index(std::string_view name);  // which place along the axis, as i64[]
Dim axis_size(std::string_view name);      // how many there are

// Of what is the same everywhere, the sum is so many times that.
Tensor all_reduce_sum(const Tensor& x, const AxisNames& names);
Tensor all_reduce_mean(const Tensor& x, const AxisNames& names);  // of integers: f32
Tensor all_reduce_max(const Tensor& x, const AxisNames& names);   // NaN where one is
Tensor all_reduce_min(const Tensor& x, const AxisNames& names);

// What all places have, in order, along a new dimension.
Tensor all_gather(const Tensor& x, std::string_view name, int64_t axis = 0);
// What the place so many before this one has; before the first one is the last.
Tensor axis_shift(const Tensor& x, std::string_view name, int64_t by);

// The same value, from here on each place's own: so is its gradient then. Where values are added,
// multiplied and so on this comes by itself.
Tensor vary(const Tensor& x, const AxisNames& names);

void register_collective_ops();

}  // namespace plait
