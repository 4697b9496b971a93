#include "tests/support/numeric_check.h"

#include <cmath>

#include "plait/core/error.h"
#include "plait/ops/elementwise.h"
#include "plait/ops/random.h"
#include "plait/ops/reduce.h"
#include "plait/ops/shape.h"
#include "plait/tensor/apply.h"
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
  if (!is_complex(dtype)) return part(0);
  return astype(part(0), dtype) + astype(part(1), dtype) * std::complex<double>(0, 1);
}

std::vector<Tensor> tangents_by_rule(const ir::Primitive& primitive,
                                     const ir::Attributes& attributes,
                                     std::span<const Tensor> operands,
                                     std::span<const Tensor> tangents) {
  const std::vector<Tensor> results = apply_all(primitive, operands, attributes);
  const Rules& rules = *find_rules(primitive);
  std::vector<ir::Type> types;
  for (const Tensor& operand : operands) types.push_back(operand.type());
  // Only what the rule says that it reads.
  std::vector<Tensor> read(operands.size()), given(results.size());
  for (size_t i = 0; i < read.size(); ++i) {
    if (rules.tangents.reads.operands >> i & 1) read[i] = operands[i];
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (rules.tangents.reads.results >> i & 1) given[i] = results[i];
  }
  const ir::Attributes all =
      attributes ? attributes : ir::Attributes::defaults(primitive.attributes);
  return rules.tangents.of({all, read, given, types}, tangents);
}

std::vector<Tensor> tangents_by_difference(const TensorFunction& f, std::span<const Tensor> x,
                                           std::span<const Tensor> t, double h) {
  std::vector<Tensor> up(x.begin(), x.end()), down = up;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!t[i]) continue;
    up[i] = x[i] + t[i] * h;
    down[i] = x[i] - t[i] * h;
  }
  std::vector<Tensor> above = f(up), below = f(down);
  for (size_t i = 0; i < above.size(); ++i) above[i] = (above[i] - below[i]) * (0.5 / h);
  return above;
}

namespace {

double pairing(const Tensor& a, const Tensor& b) {
  const auto x = numbers_of(a), y = numbers_of(b);
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += (x[i] * y[i]).real();
  return sum;
}

}  // namespace

double transpose_defect(const ir::Primitive& primitive, const ir::Attributes& attributes,
                        std::span<const Tensor> operands, size_t operand) {
  const Tensor result = apply(primitive, operands, attributes);
  const Tensor cotangent = noise(99, result.shape(), result.dtype());
  std::vector<ir::Type> types;
  for (const Tensor& each : operands) types.push_back(each.type());
  const Transpose& rule = find_rules(primitive)->transposes.at(operand);
  std::vector<Tensor> read(operands.size());
  for (size_t i = 0; i < read.size(); ++i) {
    if (rule.reads.operands >> i & 1) read[i] = operands[i];
  }
  const ir::Attributes all =
      attributes ? attributes : ir::Attributes::defaults(primitive.attributes);
  const Tensor back = rule.of({all, read, {}, types}, cotangent, operand);
  if (back.type() != types[operand]) {
    throw TypeError("{} for {}", back.type().text(), types[operand].text());
  }
  const double there = pairing(cotangent, result);
  return std::abs(there - pairing(back, operands[operand])) / std::abs(there);
}

double batching_defect(const ir::Primitive& primitive, const ir::Attributes& attributes,
                       std::span<const Tensor> operands, const std::vector<bool>& batched) {
  const auto lane = [](const Tensor& x, int64_t i) {
    return squeeze(slice(x, 0, {.start = i, .stop = i + 1}), 0);
  };
  const ir::Attributes all =
      attributes ? attributes : ir::Attributes::defaults(primitive.attributes);
  const std::vector<Tensor> whole = find_rules(primitive)->batching.of(all, operands, batched);
  double greatest = 0;
  for (int64_t i = 0; i < 3; ++i) {
    std::vector<Tensor> alone;
    for (size_t k = 0; k < operands.size(); ++k) {
      alone.push_back(batched[k] ? lane(operands[k], i) : operands[k]);
    }
    const std::vector<Tensor> expected = apply_all(primitive, alone, attributes);
    for (size_t r = 0; r < expected.size(); ++r) {
      greatest = std::max(greatest, distance(lane(whole[r], i), expected[r]));
    }
  }
  return greatest;
}

}  // namespace plait
