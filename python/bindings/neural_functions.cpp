// Activations, softmax, and linear algebra (plait._core.linalg): a line each.
#include "plait/ops/activation.h"
#include "plait/ops/linalg.h"
#include "plait/ops/softmax.h"

#include "python/bindings/bind.h"

namespace plait::python {
namespace {

using nb::arg;
using T = const Tensor&;

void bind_activations(nb::module_& m) {
  for (const auto& [name, of] : {std::pair{"relu", &relu},
                                 {"relu6", &relu6},
                                 {"selu", &selu},
                                 {"silu", &silu},
                                 {"mish", &mish},
                                 {"softsign", &softsign},
                                 {"logsigmoid", &logsigmoid},
                                 {"hardsigmoid", &hardsigmoid},
                                 {"hardswish", &hardswish},
                                 {"tanhshrink", &tanhshrink}}) {
    add_function<Tensor(T)>(m, name, of, arg("x"));
  }
  add_function<Tensor(T, double)>(m, "leaky_relu", leaky_relu, arg("x"), arg("slope") = 0.01);
  for (const auto& [name, of] : {std::pair{"elu", &elu}, {"celu", &celu}}) {
    add_function<Tensor(T, double)>(m, name, of, arg("x"), arg("alpha") = 1.0);
  }
  for (const auto& [name, of] :
       {std::pair{"hardshrink", &hardshrink}, {"softshrink", &softshrink}}) {
    add_function<Tensor(T, double)>(m, name, of, arg("x"), arg("lambda") = 0.5);
  }
  add_function<Tensor(T, double)>(m, "softplus", softplus, arg("x"), arg("beta") = 1.0);
  add_function<Tensor(T, T)>(m, "prelu", prelu, arg("x"), arg("slope"));
  add_function<Tensor(T, double, double)>(m, "hardtanh", hardtanh, arg("x"), arg("low") = -1.0,
                                          arg("high") = 1.0);
  add_function<Tensor(T, double, double)>(m, "threshold", threshold, arg("x"), arg("threshold"),
                                          arg("otherwise"));
  for (const auto& [name, of] : {std::pair{"softmax", &softmax},
                                 {"softmin", &softmin},
                                 {"log_softmax", &log_softmax},
                                 {"glu", &glu}}) {
    add_function<Tensor(T, int64_t)>(m, name, of, arg("x"), arg("axis") = -1);
  }
  m.def(
      "gelu",
      [](nb::handle x, const char* approximate) {
        const Tensor tensor = tensor_from(x);
        const bool is_exact = std::string_view(approximate) == "none";
        return computed([&] { return gelu(tensor, is_exact ? Gelu::exact : Gelu::tanh); });
      },
      arg("x"), arg("approximate") = "none");
}

void bind_linalg(nb::module_& m) {
  using namespace linalg;
  add_function<Tensor(T, bool)>(m, "cholesky", cholesky, arg("a"), arg("upper") = false);
  add_function<Tensor(T, T)>(m, "solve", solve, arg("a"), arg("b"));
  add_function<Tensor(T, T, bool, bool)>(m, "solve_triangular", solve_triangular, arg("a"),
                                         arg("b"), arg("upper") = true,
                                         arg("unit_diagonal") = false);
  for (const auto& [name, of] : {std::pair{"inv", &inv},
                                 {"det", &det},
                                 {"eigvals", &eigvals},
                                 {"eigvalsh", &eigvalsh},
                                 {"svdvals", &svdvals}}) {
    add_function<Tensor(T)>(m, name, of, arg("a"));
  }
  for (const auto& [name, of] : {std::pair{"pinv", &pinv}, {"matrix_rank", &matrix_rank}}) {
    add_function<Tensor(T, double)>(m, name, of, arg("a"), arg("tolerance") = -1.0);
  }
  add_function<Tensor(T, int64_t)>(m, "matrix_power", matrix_power, arg("a"), arg("exponent"));
  add_function<Tensor(T, T, int64_t)>(m, "cross", cross, arg("a"), arg("b"), arg("axis") = -1);
  add_function<Tensor(T, T)>(m, "kron", kron, arg("a"), arg("b"));
}

}  // namespace

void bind_neural_functions(nb::module_& module) {
  bind_activations(module);
  nb::module_ linalg = module.def_submodule("linalg", "Factorisations and what is made of them.");
  bind_linalg(linalg);
}

}  // namespace plait::python
