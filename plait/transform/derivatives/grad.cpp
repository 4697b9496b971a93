#include "plait/transform/derivatives/grad.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/transform/inside/derivatives/tangents.h"

namespace plait::gradients {

void check_argument(const Tensor& leaf, std::string_view path, size_t argument,
                    const GradOptions& options) {
  if (!leaf) return;
  const bool fits =
      options.holomorphic ? leaf.is_array() && is_complex(leaf.dtype()) : has_tangent(leaf);
  if (fits || options.allow_integers) return;
  const std::string name = path.empty() ? fmt::format("argument {}", argument)
                                        : fmt::format("{} of argument {}", path, argument);
  if (options.holomorphic) {
    throw TypeError("grad: {} is {}; with holomorphic, expected complex numbers", name,
                    leaf.type().text())
        .at(Location::of_caller());
  }
  throw TypeError("grad: {} is {}, which has no gradient", name, leaf.type().text())
      .at(Location::of_caller())
      .hint(
          "convert it with astype, choose other arguments (grad<1>(f)), make the field an "
          "nn::Buffer, "
          "or set allow_integers");
}

void check_result(const Tensor& result, const GradOptions& options) {
  if (!result.is_array()) {
    throw TypeError("grad: the function returns {}, expected one number", result.type().text())
        .at(Location::of_caller());
  }
  const DType dtype = result.dtype();
  const bool fits = options.holomorphic ? is_complex(dtype) : is_floating(dtype);
  if (!fits) {
    throw TypeError("grad: the function returns {}, expected one {} number", result.type().text(),
                    options.holomorphic ? "complex" : "real")
        .at(Location::of_caller())
        .hint(is_complex(dtype) ? "take abs or real of it, or set holomorphic"
                                : "integers have no derivative");
  }
  if (result.rank() != 0) {
    throw ShapeError("grad: the function returns {}, expected one number", result.type().text())
        .at(Location::of_caller())
        .hint("reduce it, by sum or mean, or use vjp or jacrev");
  }
}

Tensor one_like(const Tensor& number) { return ones_like(number); }

}  // namespace plait::gradients
