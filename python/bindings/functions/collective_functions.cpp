// Functions along named axes.
#include "plait/ops/collective.h"

#include "python/bindings/functions/bind.h"

namespace plait::python {

void bind_collective_functions(nb::module_& m) {
  using nb::arg;
  using T = const Tensor&;
  add_functions<Tensor(T, const AxisNames&)>(
      m,
      {{"all_reduce_sum", all_reduce_sum, "The sum along named axes, with the dtype of sum."},
       {"all_reduce_mean", all_reduce_mean, "The mean along named axes; of integers as f32."},
       {"all_reduce_max", all_reduce_max, "The maximum along named axes; NaN if any is NaN."},
       {"all_reduce_min", all_reduce_min, "The minimum along named axes; NaN if any is NaN."},
       {"vary", vary, "x, as a value that varies along the named axes."}},
      arg("x"), arg("name"));
  add_functions<Tensor(T, std::string_view, int64_t)>(
      m,
      {{"all_gather", all_gather,
        "The values of all samples along a named axis, along a new dimension."}},
      arg("x"), arg("name"), arg("axis") = 0);
  add_functions<Tensor(T, std::string_view, int64_t)>(
      m,
      {{"axis_shift", axis_shift,
        "The value of the sample that is this many positions before, cyclically."}},
      arg("x"), arg("name"), arg("by"));
  add_functions<Tensor(std::string_view)>(
      m, {{"axis_index", axis_index, "The index of this sample along a named axis."}}, arg("name"));
  add_functions<Dim(std::string_view)>(
      m, {{"axis_size", axis_size, "The number of samples along a named axis."}}, arg("name"));
}

}  // namespace plait::python
