// Executes the loop nest of an index signature around a primitive's scalar body.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "plait/core/error.h"
#include "plait/ir/inference.h"
#include "plait/tensor/inside/index_loops.h"
#include "plait/tensor/kernels.h"

namespace plait {
namespace {

using ir::IndexSignature;
using ir::Reduction;
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

// The address in an array at a point; null if it is outside of a guarded array.
std::byte* place_in(const Array& array, const IndexSignature::Access& access, Point point,
                    Point extents) {
  const Layout& layout = array.layout();
  int64_t place = layout.offset;
  for (size_t i = 0; i < layout.rank(); ++i) {
    const int64_t position = position_in(access.dimensions[i], point, extents);
    if (position < 0 || position >= layout.sizes[i]) {
      if (access.guarded) return nullptr;
      throw IndexError("index {} is out of range for a dimension of {}", position, layout.sizes[i]);
    }
    place += position * layout.strides[i];
  }
  return array.buffer().data() + place * array.element_size();
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
  for (const Dim dim : dims) out.push_back(dim.number());
  return out;
}

// Operand dtypes may differ: the condition of `select` is a bool.
template <class T>
T value_of(const Element& element) {
  const bool is_whole = element.kind == DTypeKind::boolean || element.kind == DTypeKind::integer;
  if constexpr (std::is_same_v<T, std::complex<double>>) {
    return is_whole ? T(static_cast<double>(element.integer)) : element.number;
  } else if constexpr (std::is_same_v<T, double>) {
    return is_whole ? static_cast<double>(element.integer) : element.number.real();
  } else {
    return static_cast<T>(element.integer);
  }
}

template <class T>
Element element_of(T value) {
  if constexpr (std::is_same_v<T, int64_t>) {
    return Element::of_signed(value);
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return Element::of_unsigned(value);
  } else {
    return Element::of(value);
  }
}

template <class T>
constexpr bool kIsOrdered = !std::is_same_v<T, std::complex<double>>;

// The identity element of a reduction: its result for no elements.
template <class T>
T identity_of(Reduction reduction, DType dtype) {
  if constexpr (kIsOrdered<T>) {
    const bool most = reduction == Reduction::minimum;
    if (reduction == Reduction::maximum || most) {
      if (is_boolean(dtype)) return static_cast<T>(most);
      if (is_floating(dtype)) return static_cast<T>(most ? HUGE_VAL : -HUGE_VAL);
      const IntegerLimits limits = integer_limits(dtype);
      return most ? static_cast<T>(limits.max) : static_cast<T>(limits.min);
    }
  }
  return reduction == Reduction::product || reduction == Reduction::all ? T(1) : T(0);
}

template <class T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}

template <class T>
T combined(Reduction reduction, T a, T b) {
  if constexpr (kIsOrdered<T>) {
    if (reduction == Reduction::maximum) return b > a || is_nan(b) ? b : a;  // NaN propagates
    if (reduction == Reduction::minimum) return b < a || is_nan(b) ? b : a;
  }
  switch (reduction) {
    case Reduction::sum: {
      if constexpr (std::is_same_v<T, int64_t>) {
        return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      }
      return a + b;
    }
    case Reduction::product: {
      if constexpr (std::is_same_v<T, int64_t>) {
        return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      }
      return a * b;
    }
    case Reduction::all: return T(a != T(0) && b != T(0));
    case Reduction::any: return T(a != T(0) || b != T(0));
    default: return b;
  }
}

struct Loops {
  const IndexSignature& signature;
  std::vector<int64_t> extents;  // extents of the indices
  std::span<const Array> operands;
  Array& result;
};

// Outside of a guarded operand the value is 0. A reduction is accumulated in T and rounded once.
template <class T, class R>
void run(const Loops& loops, R (*body)(std::span<const T>)) {
  const DType dtype = loops.result.dtype();
  const Reduction reduction = loops.signature.reduction;
  const auto count = static_cast<size_t>(loops.result.element_count());
  std::vector<R> totals(count, identity_of<R>(reduction, dtype));
  std::vector<T> elements(loops.operands.size());
  std::vector<int64_t> point(loops.extents.size());
  const bool is_empty = std::ranges::find(loops.extents, 0) != loops.extents.end();
  std::byte* first = loops.result.writable_data();
  if (!is_empty) {
    do {
      for (size_t i = 0; i < elements.size(); ++i) {
        const Array& operand = loops.operands[i];
        const std::byte* place =
            place_in(operand, loops.signature.operands[i], point, loops.extents);
        elements[i] = place ? value_of<T>(load_element(operand.dtype(), place)) : T(0);
      }
      const std::byte* place =
          place_in(loops.result, loops.signature.results[0], point, loops.extents);
      R& total = totals[static_cast<size_t>((place - first) / size_of(dtype))];
      const R value = body ? body(elements) : static_cast<R>(elements[0]);
      total = combined(reduction, total, value);
    } while (next_point(point, loops.extents));
  }
  for (size_t i = 0; i < count; ++i) {
    store_element(dtype, element_of(totals[i]), first + static_cast<int64_t>(i) * size_of(dtype));
  }
}

}  // namespace

Array run_loops(const IndexSignature& signature, const ir::ScalarBody& body,
                std::span<const Array> operands, DType result, std::string_view operation) {
  std::vector<Shape> shapes;
  for (const Array& operand : operands) shapes.push_back(Shape::of_sizes(operand.sizes()));
  const ir::IndexSpace space = solve(signature, shapes, operation);
  Array filled = Array::empty(result, Sizes(numbers(space.result_shapes.at(0).dims())));
  const Loops loops{signature, numbers(space.sizes), operands, filled};
  // The last operand determines the dtype: the first one of `select` is a bool.
  const DType dtype = operands.back().dtype();
  // Without a body the elements of one operand are copied.
  const bool has_body = body.real || body.integer || body.natural || body.complex;
  const bool only_moves = !has_body && operands.size() == 1;
  if (is_complex(dtype) && (body.complex || only_moves))
    run(loops, body.complex);
  else if (dtype == DType::u64 && (body.natural || only_moves))
    run(loops, body.natural);
  else if ((is_integer(dtype) || is_boolean(dtype)) && (body.integer || only_moves))
    run(loops, body.integer);
  else if (is_floating(dtype) && (body.real || only_moves))
    run(loops, body.real);
  else
    throw TypeError("{} does not support {}", operation, name_of(dtype));
  return filled;
}

void run_reference_loops(KernelCall& call, const void*) {
  static const ir::Declarations kNoDeclarations;
  static const ir::Mesh kNoAxes;
  std::vector<ir::Type> types;
  for (const Array& operand : call.operands) {
    types.push_back(ir::Type::array(operand.dtype(), Shape::of_sizes(operand.sizes())));
  }
  const ir::Inference inference{.primitive = call.primitive,
                                .operands = types,
                                .attributes = call.attributes,
                                .callees = {},
                                .size_arguments = {},
                                .stated = {},
                                .declarations = kNoDeclarations,
                                .axes = kNoAxes,
                                .name_size = {}};
  call.results[0] = run_loops(signature_of(inference), call.primitive.body, call.operands,
                              call.types[0].dtype, call.primitive.name);
}

}  // namespace plait
