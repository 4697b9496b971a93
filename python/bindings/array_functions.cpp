// Functions of arrays that are more than elementwise: a line each.
#include "plait/ops/complex.h"
#include "plait/ops/products.h"
#include "plait/ops/rearrange.h"
#include "plait/ops/scan.h"
#include "plait/ops/scatter.h"
#include "plait/ops/sort.h"
#include "plait/ops/special.h"
#include "plait/ops/statistics.h"
#include "plait/ops/take.h"

#include "python/bindings/bind.h"

namespace plait::python {
namespace {

using nb::arg;
using T = const Tensor&;
using O = const Operand&;
using Place = std::optional<int64_t>;

void bind_special(nb::module_& m) {
  for (const auto& [name, of] : {std::pair{"erfc", &erfc},
                                 {"erfinv", &erfinv},
                                 {"lgamma", &lgamma},
                                 {"digamma", &digamma},
                                 {"frac", &frac},
                                 {"signbit", &signbit}}) {
    add_function<Tensor(O)>(m, name, of, arg("x"));
  }
  for (const auto& [name, of] : {std::pair{"polygamma", &polygamma},
                                 {"logaddexp", &logaddexp},
                                 {"xlogy", &xlogy},
                                 {"fmod", &fmod},
                                 {"nextafter", &nextafter},
                                 {"make_complex", &make_complex}}) {
    add_function<Tensor(O, O)>(m, name, of, arg("a"), arg("b"));
  }
  for (const auto& [name, of] :
       {std::pair{"real", &real}, {"imag", &imag}, {"conj", &conj}, {"angle", &angle}}) {
    add_function<Tensor(T)>(m, name, of, arg("x"));
  }
  add_function<Tensor(O, O, O)>(m, "lerp", lerp, arg("start"), arg("end"), arg("weight"));
}

void bind_order(nb::module_& m) {
  for (const auto& [name, of] : {std::pair{"cumsum", &cumsum},
                                 {"cumprod", &cumprod},
                                 {"cummax", &cummax},
                                 {"cummin", &cummin},
                                 {"logcumsumexp", &logcumsumexp}}) {
    add_function<Tensor(T, int64_t, bool)>(m, name, of, arg("x"), arg("axis"),
                                           arg("reverse") = false);
  }
  for (const auto& [name, of] : {std::pair{"sort", &sort}, {"argsort", &argsort}}) {
    add_function<Tensor(T, int64_t, bool)>(m, name, of, arg("x"), arg("axis") = -1,
                                           arg("descending") = false);
  }
  for (const auto& [name, of] : {std::pair{"argmax", &argmax}, {"argmin", &argmin}}) {
    add_function<Tensor(T, Place, bool)>(m, name, of, arg("x"), arg("axis") = nb::none(),
                                         arg("keepdims") = false);
  }
  m.def(
      "topk",
      [](nb::handle x, nb::handle count, int64_t axis, bool largest) {
        const Tensor tensor = tensor_from(x);
        const Dim wanted = dim_from(count);
        const Ordered found = computed([&] { return topk(tensor, wanted, axis, largest); });
        return nb::make_tuple(found.values, found.indices);
      },
      arg("x"), arg("count"), arg("axis") = -1, arg("largest") = true);
}

void bind_statistics(nb::module_& m) {
  for (const auto& [name, of] : {std::pair{"logsumexp", &logsumexp},
                                 {"nansum", &nansum},
                                 {"nanmean", &nanmean},
                                 {"count_nonzero", &count_nonzero}}) {
    add_function<Tensor(T, const Axes&, bool)>(m, name, of, arg("x"), arg("axis") = nb::none(),
                                               arg("keepdims") = false);
  }
  for (const auto& [name, of] : {std::pair{"var", &var}, {"std", &stddev}}) {
    add_function<Tensor(T, const Axes&, double, bool)>(
        m, name, of, arg("x"), arg("axis") = nb::none(), arg("correction") = 0.0,
        arg("keepdims") = false);
  }
  add_function<Tensor(T, Place, bool)>(m, "median", median, arg("x"), arg("axis") = nb::none(),
                                       arg("keepdims") = false);
  add_function<Tensor(T, O, Place, bool)>(m, "quantile", quantile, arg("x"), arg("q"),
                                          arg("axis") = nb::none(), arg("keepdims") = false);
  add_function<Tensor(T, int64_t, int64_t)>(m, "diff", diff, arg("x"), arg("n") = 1,
                                            arg("axis") = -1);
}

void bind_rearranging(nb::module_& m) {
  using Tensors = std::vector<Tensor>;
  add_function<Tensor(T, int64_t, const Shape&)>(m, "unflatten", unflatten, arg("x"), arg("axis"),
                                                 arg("sizes"));
  for (const auto& [name, of] : {std::pair{"split", &split}, {"chunk", &chunk}}) {
    add_function<Tensors(T, int64_t, int64_t)>(m, name, of, arg("x"), arg("parts"),
                                               arg("axis") = 0);
  }
  add_function<Tensors(T, int64_t)>(m, "unstack", unstack, arg("x"), arg("axis") = 0);
  add_function<Tensor(std::span<const Tensor>)>(m, "vstack", vstack, arg("tensors"));
  add_function<Tensor(std::span<const Tensor>)>(m, "hstack", hstack, arg("tensors"));
  add_function<Tensors(std::span<const Tensor>)>(m, "broadcast_arrays", broadcast_arrays,
                                                 arg("tensors"));
  add_function<Tensor(T, std::span<const int64_t>)>(m, "tile", tile, arg("x"), arg("counts"));
  add_function<Tensor(T, Dim, int64_t)>(m, "repeat", repeat, arg("x"), arg("count"), arg("axis"));
  add_function<Tensor(T, std::span<const int64_t>, std::span<const int64_t>)>(
      m, "roll", roll, arg("x"), arg("shift"), arg("axis"));
  add_function<Tensor(T, int64_t, int64_t, int64_t)>(m, "rot90", rot90, arg("x"), arg("times") = 1,
                                                     arg("source") = 0, arg("destination") = 1);
}

void bind_indices(nb::module_& m) {
  add_function<Tensor(T, T, Place)>(m, "take", take, arg("x"), arg("indices"),
                                    arg("axis") = nb::none());
  add_function<Tensor(T, T, int64_t)>(m, "take_along_axis", take_along_axis, arg("x"),
                                      arg("indices"), arg("axis") = -1);
  add_function<Tensor(T, T, O, int64_t)>(m, "put_along_axis", put_along_axis, arg("x"),
                                         arg("indices"), arg("values"), arg("axis") = -1);
  add_function<std::vector<Tensor>(T)>(m, "nonzero", nonzero, arg("x"));
  add_function<Tensor(T)>(m, "argwhere", argwhere, arg("x"));
  add_function<Tensor(T, T, O)>(m, "masked_fill", masked_fill, arg("x"), arg("mask"), arg("value"));
  add_function<Tensor(T, T)>(m, "masked_select", masked_select, arg("x"), arg("mask"));
}

void bind_more_products(nb::module_& m) {
  for (const auto& [name, of] : {std::pair{"dot", &dot}, {"inner", &inner}, {"bmm", &bmm}}) {
    add_function<Tensor(T, T)>(m, name, of, arg("a"), arg("b"));
  }
  add_function<Tensor(T, T, int64_t)>(m, "vecdot", vecdot, arg("a"), arg("b"), arg("axis") = -1);
  add_function<Tensor(std::string_view, std::span<const Tensor>)>(m, "einsum", einsum,
                                                                  arg("equation"), arg("operands"));
}

}  // namespace

void bind_array_functions(nb::module_& module) {
  bind_special(module);
  bind_order(module);
  bind_statistics(module);
  bind_rearranging(module);
  bind_indices(module);
  bind_more_products(module);
}

}  // namespace plait::python
