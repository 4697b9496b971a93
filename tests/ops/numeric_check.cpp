#include "tests/ops/numeric_check.h"

#include <cmath>

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/linalg/linalg_parts.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/random/random.h"
#include "plait/tensor/rules.h"

namespace plait {

std::vector<std::complex<double>> numbers_of(const Tensor& x) {
  const Array array = x.array().converted(DType::c128).contiguous();
  const auto elements = array.elements<std::complex<double>>();
  return {elements.begin(), elements.end()};
}

double distance(const Tensor& a, const std::vector<std::complex<double>>& b) {
  const auto numbers = numbers_of(a);
  if (numbers.size() != b.size()) {
    throw ShapeError("{} numbers and {}", numbers.size(), b.size());
  }
  double greatest = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    const double each = std::abs(numbers[i] - b[i]);
    if (!(each <= greatest)) greatest = each;
  }
  return greatest;
}

double distance(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) throw ShapeError("{} and {}", a.type().text(), b.type().text());
  return distance(a, numbers_of(b));
}

Tensor noise(uint64_t seed, const Shape& shape, DType dtype) {
  const Tensor keys = random::split_key(random::key(seed));
  const auto part = [&](int64_t i) {
    const Tensor key = squeeze(slice(keys, 0, {.start = i, .stop = i + 1}), 0);
    return random::normal(key, shape, 0., 1., real_dtype(dtype));
  };
  return is_complex(dtype) ? make_complex(part(0), part(1)) : part(0);
}

Tensor positive_definite(uint64_t seed, const Shape& shape, DType dtype) {
  const Tensor x = noise(seed, shape, dtype);
  return matmul(x, adjoint(x)) + identity(shape.at(-1), shape.at(-1), dtype);
}

std::vector<Tensor> tangents_by_rule(const UsedPrimitive& used, const std::vector<Tensor>& operands,
                                     const std::vector<Tensor>& tangents) {
  const std::vector<Tensor> results = used(operands);
  const Tangents& rule = find_rules(*used.primitive)->tangents;
  const std::vector<OperandType> types = types_of(operands);
  std::vector<Tensor> read(operands.size()), given(results.size());
  for (size_t i = 0; i < read.size(); ++i) {
    if (rule.reads.operands >> i & 1) read[i] = operands[i];
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (rule.reads.results >> i & 1) given[i] = results[i];
  }
  return rule.of({used.attributes, read, given, types}, tangents);
}

std::vector<Tensor> tangents_by_difference(const CheckedFunction& f, const std::vector<Tensor>& x,
                                           const std::vector<Tensor>& t) {
  constexpr double kStep = 1e-6;
  std::vector<Tensor> up = x, down = x;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!t[i]) continue;
    up[i] = x[i] + t[i] * kStep;
    down[i] = x[i] - t[i] * kStep;
  }
  std::vector<Tensor> above = f(up), below = f(down);
  for (size_t i = 0; i < above.size(); ++i) above[i] = (above[i] - below[i]) * (0.5 / kStep);
  return above;
}

}  // namespace plait
