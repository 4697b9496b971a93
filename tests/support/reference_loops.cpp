#include "tests/support/reference_loops.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "plait/core/error.h"

namespace plait::ir {

namespace {

using Point = std::span<const int64_t>;  // the value of each index

int64_t value_of(const IndexSignature::Affine& part, Point point) {
  int64_t value = part.offset.number();
  for (const auto& term : part.terms) value += term.coefficient.number() * point[term.index];
  return value;
}

// Several parts form one dimension in row-major order; each part is then one index.
int64_t position_in(const IndexSignature::Dimension& dimension, Point point, Point extents) {
  if (dimension.parts.empty()) return 0;
  if (dimension.parts.size() == 1) return value_of(dimension.parts[0], point);
  int64_t position = 0;
  for (const IndexSignature::Affine& part : dimension.parts) {
    if (!part.is_index()) throw ValueError("a dimension of several parts is made of indices only");
    position = position * extents[part.terms[0].index] + point[part.terms[0].index];
  }
  return position;
}

// The offset in an array at a point; empty if it is outside.
std::optional<size_t> offset_in(const IndexSignature::Access& access, Point sizes, Point point,
                                Point extents) {
  int64_t offset = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t position = position_in(access.dimensions[i], point, extents);
    if (position < 0 || position >= sizes[i]) {
      if (access.guarded) return std::nullopt;
      throw IndexError("index {} is out of range for a dimension of {}", position, sizes[i]);
    }
    offset = offset * sizes[i] + position;
  }
  return static_cast<size_t>(offset);
}

double identity_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::none:
    case Reduction::sum:
    case Reduction::any: return 0;
    case Reduction::product:
    case Reduction::all: return 1;
    case Reduction::maximum: return -std::numeric_limits<double>::infinity();
    case Reduction::minimum: return std::numeric_limits<double>::infinity();
  }
  return 0;
}

double combined(Reduction reduction, double a, double b) {
  switch (reduction) {
    case Reduction::none: return b;
    case Reduction::sum: return a + b;
    case Reduction::product: return a * b;
    case Reduction::maximum: return std::max(a, b);
    case Reduction::minimum: return std::min(a, b);
    case Reduction::all: return a != 0 && b != 0 ? 1 : 0;
    case Reduction::any: return a != 0 || b != 0 ? 1 : 0;
  }
  return b;
}

// The next point in row-major order; false after the last.
bool next_point(std::vector<int64_t>& point, Point extents) {
  for (size_t i = point.size(); i-- > 0;) {
    if (++point[i] < extents[i]) return true;
    point[i] = 0;
  }
  return false;
}

std::vector<int64_t> numbers(std::span<const Dim> dims) {
  std::vector<int64_t> out;
  for (Dim dim : dims) out.push_back(dim.number());
  return out;
}

int64_t point_count(Point sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
}

}  // namespace

LoopArray run_loops(const IndexSignature& signature, std::string_view operation,
                    std::span<const LoopArray> operands, const LoopBody& body) {
  std::vector<Shape> shapes;
  for (const LoopArray& operand : operands) {
    shapes.emplace_back(std::vector<Dim>(operand.sizes.begin(), operand.sizes.end()));
  }
  IndexSpace space = solve(signature, shapes, operation);
  std::vector<int64_t> extents = numbers(space.sizes), point(extents.size());
  const Shape& shape = space.result_shapes.at(0);
  LoopArray result{numbers({shape.begin(), shape.end()}), {}};
  result.elements.assign(static_cast<size_t>(point_count(result.sizes)),
                         identity_of(signature.reduction));
  if (point_count(extents) == 0) return result;
  std::vector<double> elements(operands.size());
  do {
    for (size_t i = 0; i < operands.size(); ++i) {
      auto offset = offset_in(signature.operands[i], operands[i].sizes, point, extents);
      elements[i] = offset ? operands[i].elements[*offset] : 0;
    }
    size_t target = *offset_in(signature.results[0], result.sizes, point, extents);
    double& element = result.elements[target];
    element = body.rounded(combined(signature.reduction, element, body.at_point(elements)));
  } while (next_point(point, extents));
  return result;
}

}  // namespace plait::ir
