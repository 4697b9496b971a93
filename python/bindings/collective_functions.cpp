// Functions along named axes.
#include "plait/ops/collective.h"

#include "python/bindings/bind.h"

namespace plait::python {

void bind_collective_functions(nb::module_& m) {
  using nb::arg;
  using T = const Tensor&;
  add_functions<Tensor(T, const AxisNames&)>(
      m,
      {{"all_reduce_sum", all_reduce_sum, "The sum along named axes, as sum adds up."},
       {"all_reduce_mean", all_reduce_mean, "The mean along named axes; of integers as f32."},
       {"all_reduce_max", all_reduce_max, "The greatest along named axes; NaN where one is."},
       {"all_reduce_min", all_reduce_min, "The least along named axes; NaN where one is."},
       {"vary", vary, "x, of which each place along the axes has its own from here on."}},
      arg("x"), arg("name"));
  add_functions<Tensor(T, std::string_view, int64_t)>(
      m,
      {{"all_gather", all_gather,
        "What all places along a named axis have, along a new dimension."}},
      arg("x"), arg("name"), arg("axis") = 0);
  add_functions<Tensor(T, std::string_view, int64_t)>(
      m, {{"axis_shift", axis_shift, "What the place has that is so many before this one."}},
      arg("x"), arg("name"), arg("by"));
  add_functions<Tensor(std::string_view)>(
      m, {{"axis_index", axis_index, "Which place along a named axis this one is."}}, arg("name"));
  add_functions<Dim(std::string_view)>(
      m, {{"axis_size", axis_size, "How many places there are along a named axis."}}, arg("name"));
}

}  // namespace plait::python
