// Collective operations along a named axis: they combine the values of all indices of that axis. An
// axis is bound inside a function that is recorded for one index along it, such as one sample of a
// vmap:
//
//   vmap([](Tensor x) { return x - all_reduce_mean(x, "batch"); }, {.name = "batch"})(samples)
//
// The result of a reduction is the same at every index (it does not vary along the axis). The
// cotangent of such a value is the sum of the cotangents from all indices that use it. Throws
// KeyError if no axis of that name is bound.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plait/ir/mesh.h"
#include "plait/tensor/tensor.h"

namespace plait {

// The names of one or more bound axes.
class AxisNames {
 public:
  AxisNames() = default;
  template <std::convertible_to<std::string_view> Name>
  AxisNames(const Name& name) : names_{std::string(std::string_view(name))} {}  // NOLINT
  AxisNames(std::initializer_list<std::string_view> names) : names_(names.begin(), names.end()) {}
  AxisNames(std::vector<std::string> names) : names_(std::move(names)) {}  // NOLINT

  ir::AxisSet labels() const;                 // ValueError if empty, or if a name occurs twice
  std::vector<std::string> in_order() const;  // the same labels as they were named

 private:
  std::vector<std::string> names_;
};

Tensor axis_index(std::string_view name);  // index along the axis, i64[]
Dim axis_size(std::string_view name);      // size of the axis

// A value that does not vary along the axis is multiplied by its size.
Tensor all_reduce_sum(const Tensor& x, const AxisNames& names);
Tensor all_reduce_mean(const Tensor& x, const AxisNames& names);  // integers are converted to f32
Tensor all_reduce_max(const Tensor& x, const AxisNames& names);   // NaN if any is NaN
Tensor all_reduce_min(const Tensor& x, const AxisNames& names);

Tensor all_reduce_prod(const Tensor& x, const AxisNames& names);
Tensor all_reduce_and(const Tensor& x, const AxisNames& names);  // bool only
Tensor all_reduce_or(const Tensor& x, const AxisNames& names);

// Stacks the values of all indices, in order, along a new dimension; `tiled` joins them along an
// existing one. Of several axes the first is the outermost.
Tensor all_gather(const Tensor& x, const AxisNames& names, int64_t axis = 0, bool tiled = false);
// The sum of the values of all indices, of which each index keeps its own part along a dimension.
// That dimension has one element for each index and is dropped, or, if `tiled`, is divided.
Tensor reduce_scatter(const Tensor& x, const AxisNames& names, int64_t axis = 0,
                      bool tiled = false);
// Gives each index its part along the dimension `split_axis`, which has one element for each index
// and is dropped, and stacks what this index receives along a new dimension `concat_axis`. If
// `tiled`, the one is divided, and parts are joined along the other.
Tensor all_to_all(const Tensor& x, std::string_view name, int64_t split_axis, int64_t concat_axis,
                  bool tiled = false);
// Returns the value of the index `by` before this one, cyclically.
Tensor axis_shift(const Tensor& x, std::string_view name, int64_t by);
// For each pair, the index `to` receives the value of the index `from`; all others receive zeros.
struct AxisPair {
  int64_t from, to;
};
Tensor axis_permute(const Tensor& x, std::string_view name, const std::vector<AxisPair>& pairs);
// The value of one index, the same for all.
Tensor axis_broadcast(const Tensor& x, std::string_view name, int64_t source);

// Marks a value that is the same at every index as varying along the axes; its gradient then varies
// as well. Elementwise operations with a varying operand do this implicitly.
Tensor vary(const Tensor& x, const AxisNames& names);

void register_collective_ops();

}  // namespace plait
