#include "plait/optim/functions/linear_algebra.h"

#include <string>
#include <string_view>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/linalg/linalg.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/transform/control/control.h"

namespace plait::optim {
namespace {

using Vectors = std::vector<Tensor>;

constexpr std::string_view kPower = "optim::power_iteration";
constexpr std::string_view kNnls = "optim::nnls";
constexpr int64_t kMostSteps = (int64_t{1} << 31) - 1;

void expect_steps(std::string_view function, std::string_view name, int64_t given) {
  if (given >= 0 && given <= kMostSteps) return;
  throw ValueError("{}: {} is {}, expected 0 to {}", function, name, given, kMostSteps)
      .at(Location::of_caller());
}

std::string shapes_text(std::span<const Tensor> tensors) {
  std::vector<std::string> texts;
  for (const Tensor& each : tensors) texts.push_back(each ? each.type().text() : "an empty tensor");
  return fmt::format("{}", fmt::join(texts, ", "));
}

Tensor as_floats(const Tensor& x) { return is_inexact(x.dtype()) ? x : astype(x, DType::f32); }

// ---- Power iteration

Tensor total(const Vectors& parts) {
  Tensor made = parts.at(0);
  for (size_t i = 1; i < parts.size(); ++i) made = made + parts[i];
  return made;
}
Tensor product_of(const Vectors& xs, const Vectors& ys) {
  Vectors parts;
  for (size_t i = 0; i < xs.size(); ++i) {
    parts.push_back(sum((is_complex(xs[i].dtype()) ? conj(xs[i]) : xs[i]) * ys[i]));
  }
  return total(parts);
}
Tensor square_of(const Vectors& xs) {
  Vectors parts;
  for (const Tensor& each : xs) parts.push_back(sum_of_squares(each));
  return total(parts);
}

// The vectors divided by their norm; others if that is 0.
Vectors units(const Vectors& xs, const Vectors& otherwise) {
  const Tensor squares = square_of(xs), is_zero = squares == 0;
  const Tensor norm = sqrt(where(is_zero, 1, squares));
  Vectors made;
  for (size_t i = 0; i < xs.size(); ++i) {
    const DType dtype = xs[i].dtype();
    made.push_back(where(is_zero, otherwise[i], xs[i] / astype(norm, plait::real_dtype(dtype))));
  }
  return made;
}

void expect_vectors(std::span<const Tensor> v0) {
  bool fits = !v0.empty();
  for (const Tensor& each : v0) fits = fits && each && is_inexact(each.dtype());
  if (fits) return;
  throw TypeError("{}: v0 is {}, expected tensors of floats", kPower,
                  v0.empty() ? "a tree without tensors" : shapes_text(v0))
      .at(Location::of_caller());
}

// The product, in the dtypes of the vectors.
Vectors times(const VectorProduct& product, const Vectors& vectors) {
  Vectors made = product(vectors);
  bool fits = made.size() == vectors.size();
  for (size_t i = 0; fits && i < made.size(); ++i) {
    fits = made[i] && made[i].shape() == vectors[i].shape();
  }
  if (!fits) {
    throw ShapeError("{}: the matrix maps {} to {}, expected the same shapes", kPower,
                     shapes_text(vectors), shapes_text(made))
        .at(Location::of_caller());
  }
  for (size_t i = 0; i < made.size(); ++i) made[i] = astype(made[i], vectors[i].dtype());
  return made;
}

struct Iteration {
  Vectors vector, image;
  Tensor eigenvalue, count;
};

// ---- Least squares

void expect_system(const Tensor& a, const Tensor& b) {
  if (a.rank() != 2 || (b.rank() != 1 && b.rank() != 2) || a.shape(0) != b.shape(0)) {
    throw ShapeError("{}: A is {} and b {}, expected A [m, n] and b [m] or [m, k]", kNnls,
                     a.type().text(), b.type().text())
        .at(Location::of_caller());
  }
  if (!is_complex(a.dtype()) && !is_complex(b.dtype())) return;
  throw TypeError("{}: A is {} and b {}, expected real numbers", kNnls, a.type().text(),
                  b.type().text())
      .at(Location::of_caller());
}

// The smaller one of two norms, neither of which is below the greatest absolute eigenvalue.
Tensor bound_of(const Tensor& square) {
  if (square.shape(0) == Dim(0)) return ones({}, square.dtype());
  return minimum(linalg::matrix_norm(square), linalg::matrix_norm(square, linalg::MatrixNorm::one));
}

}  // namespace

std::pair<Tensor, Vectors> iterated_power(const VectorProduct& product, std::span<const Tensor> v0,
                                          const PowerIterationOptions& options) {
  expect_steps(kPower, "num_iters", options.num_iters);
  options.error_tolerance.expect_within(std::string(kPower) + ": error_tolerance", 0, kInfinity);
  expect_vectors(v0);
  const Tensor tolerance = options.error_tolerance.at(no_steps());
  const Vectors given(v0.begin(), v0.end()), first = units(given, given);
  const Vectors image = times(product, first);
  const auto goes_on = [&](const Iteration& at) {
    Vectors differences;
    for (size_t i = 0; i < at.image.size(); ++i) {
      const Tensor value = astype(at.eigenvalue, at.vector[i].dtype());
      differences.push_back(at.image[i] - value * at.vector[i]);
    }
    const Tensor error = as_f64(sqrt(square_of(differences)));
    const Tensor is_open = error >= tolerance * as_f64(absolute(at.eigenvalue));  // false of NaN
    return logical_and(logical_or(at.count == 0, is_open), at.count < options.num_iters);
  };
  const auto step = [&](const Iteration& at) {
    const Vectors vector = units(at.image, at.vector), next = times(product, vector);
    return Iteration{vector, next, product_of(vector, next), at.count + 1};
  };
  const Iteration found = while_loop(
      goes_on, step, Iteration{first, image, zeros_like(product_of(first, image)), no_steps()});
  return {found.eigenvalue, units(found.image, found.vector)};
}

std::pair<Tensor, Tensor> power_iteration(const Tensor& matrix,
                                          const PowerIterationOptions& options) {
  if (matrix.rank() != 2 || matrix.shape(0) != matrix.shape(1)) {
    throw ShapeError("{}: the matrix is {}, expected [n, n]", kPower, matrix.type().text())
        .at(Location::of_caller());
  }
  const Tensor numbers = as_floats(matrix);
  Tensor begin = options.v0;
  if (!begin) {
    const Tensor key = options.key ? options.key : random::key(0);
    const DType real = plait::real_dtype(numbers.dtype());
    begin = astype(random::uniform(key, {matrix.shape(0)}, -1, 1, real), numbers.dtype());
  } else if (begin.shape() != Shape{matrix.shape(0)}) {
    throw ShapeError("{}: v0 is {}, expected [{}], of a matrix {}", kPower, begin.type().text(),
                     matrix.shape(0).text(), matrix.type().text())
        .at(Location::of_caller());
  }
  const auto product = [&](std::span<const Tensor> v) { return Vectors{matmul(numbers, v[0])}; };
  const auto [value, vector] = iterated_power(product, {&begin, 1}, options);
  return {value, vector[0]};
}

Tensor nnls(const Tensor& A, const Tensor& b, int64_t iters,  // NOLINT: the names are optax's
            const NnlsOptions& options) {
  expect_steps(kNnls, "iters", iters);
  expect_system(A, b);
  if (options.L) options.L->expect_within(std::string(kNnls) + ": L", 0, kInfinity);
  const Tensor a = as_floats(A), transposed = matrix_transpose(a);
  const Tensor square = matmul(transposed, a), target = matmul(transposed, as_floats(b));
  const Tensor given =
      options.L ? astype(options.L->at(no_steps()), square.dtype()) : bound_of(square);
  const Tensor bound = where(given == 0, 1, given);
  using Carry = std::tuple<Tensor, Tensor, Tensor>;
  const auto step = [&](const Carry& carry, const std::tuple<>& nothing) {
    const auto& [x, ahead, weight] = carry;
    const Tensor following = (1 + sqrt(1 + 4 * plait::square(weight))) / 2;
    const Tensor after = maximum(ahead - (matmul(square, ahead) - target) / bound, 0);
    return std::pair(Carry(after, after + (weight - 1) / following * (after - x), following),
                     nothing);
  };
  const Tensor x = zeros_like(target);
  const Carry begin(x, x, zeros({}, target.dtype()));
  return std::get<0>(
      scan(step, begin, std::tuple<>(), {.length = Dim(iters), .unroll = options.unroll}).first);
}

}  // namespace plait::optim
