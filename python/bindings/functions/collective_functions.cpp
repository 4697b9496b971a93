// Functions along named axes.
#include "plait/ops/collectives/collective.h"

#include "python/bindings/functions/bind.h"

namespace plait::python {
namespace {

using nb::arg;
using T = const Tensor&;

void bind_reductions_along_axes(nb::module_& m) {
  add_functions<Tensor(T, const AxisNames&)>(
      m,
      {{"all_reduce_sum", all_reduce_sum, "The sum along named axes, with the dtype of sum."},
       {"all_reduce_mean", all_reduce_mean, "The mean along named axes; of integers as f32."},
       {"all_reduce_max", all_reduce_max, "The maximum along named axes; NaN if any is NaN."},
       {"all_reduce_min", all_reduce_min, "The minimum along named axes; NaN if any is NaN."},
       {"all_reduce_prod", all_reduce_prod,
        "The product along named axes, with the dtype of prod."},
       {"all_reduce_and", all_reduce_and, "True if the boolean is true for all along named axes."},
       {"all_reduce_or", all_reduce_or, "True if the boolean is true for any along named axes."},
       {"vary", vary, "x, as a value that varies along the named axes."}},
      arg("x"), arg("name"));
}

void bind_movements_along_axes(nb::module_& m) {
  add_functions<Tensor(T, const AxisNames&, int64_t, bool)>(
      m,
      {{"all_gather", all_gather,
        "The values of all samples along named axes, along a new dimension; if tiled, joined along "
        "an existing one."},
       {"reduce_scatter", reduce_scatter,
        "The sum along named axes, of which each sample keeps its own part along a dimension, "
        "which is dropped; if tiled, divided."}},
      arg("x"), arg("name"), arg("axis") = 0, arg("tiled") = false);
  add_functions<Tensor(T, std::string_view, int64_t, int64_t, bool)>(
      m,
      {{"all_to_all", all_to_all,
        "Gives each sample its part along split_axis, which is dropped, and stacks what this "
        "sample "
        "receives along a new dimension concat_axis; if tiled, the one is divided, and parts are "
        "joined along the other."}},
      arg("x"), arg("name"), arg("split_axis"), arg("concat_axis"), arg("tiled") = false);
  add_functions<Tensor(T, std::string_view, int64_t)>(
      m,
      {{"axis_shift", axis_shift,
        "The value of the sample that is this many positions before, cyclically."}},
      arg("x"), arg("name"), arg("by"));
  add_functions<Tensor(T, std::string_view, const std::vector<AxisPair>&)>(
      m,
      {{"axis_permute", axis_permute,
        "For pairs (from, to) of samples, the value of the first at the second; zeros elsewhere."}},
      arg("x"), arg("name"), arg("pairs"));
  add_functions<Tensor(T, std::string_view, int64_t)>(
      m,
      {{"axis_broadcast", axis_broadcast,
        "The value of one sample along a named axis, the same for all."}},
      arg("x"), arg("name"), arg("source"));
}

}  // namespace

void bind_collective_functions(nb::module_& m) {
  bind_reductions_along_axes(m);
  bind_movements_along_axes(m);
  add_functions<Tensor(std::string_view)>(
      m, {{"axis_index", axis_index, "The index of this sample along a named axis."}}, arg("name"));
  add_functions<Dim(std::string_view)>(
      m, {{"axis_size", axis_size, "The number of samples along a named axis."}}, arg("name"));
}

}  // namespace plait::python
