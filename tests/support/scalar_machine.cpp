#include "tests/support/scalar_machine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/numbers/element.h"
#include "plait/ir/inference.h"
#include "plait/ir/primitive.h"

#include "tests/support/reference_loops.h"
#include "tests/support/scalar_ops.h"

namespace plait::ir {

struct ScalarArray {
  ScalarArray(std::shared_ptr<ScalarMachine::Counts> counted_by, ArraySizes array_type,
              std::vector<double> array_elements)
      : counts(std::move(counted_by)),
        type(std::move(array_type)),
        elements(std::move(array_elements)) {
    int64_t live = ++counts->live, peak = counts->peak;
    while (live > peak && !counts->peak.compare_exchange_weak(peak, live)) {
    }
  }
  ScalarArray(const ScalarArray&) = delete;
  ScalarArray& operator=(const ScalarArray&) = delete;
  ~ScalarArray() { --counts->live; }

  const std::shared_ptr<ScalarMachine::Counts> counts;
  const ArraySizes type;
  const std::vector<double> elements;
};

namespace {

const ScalarArray& array_of(const Value& value) { return value.as<ScalarArray>(); }

int64_t product(std::span<const int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
}

double rounded(DType dtype, const Element& element) {
  std::array<std::byte, 16> bytes;
  store_element(dtype, element, bytes.data());
  Element stored = load_element(dtype, bytes.data());
  switch (stored.kind) {
    case DTypeKind::floating: return stored.number.real();
    case DTypeKind::integer:
      if (stored.is_signed) return static_cast<double>(static_cast<int64_t>(stored.integer));
      return static_cast<double>(stored.integer);
    case DTypeKind::boolean: return static_cast<double>(stored.integer);
    case DTypeKind::complex:
    case DTypeKind::key: break;
  }
  throw TypeError("the machine of the tests computes with real numbers only, not {}",
                  name_of(dtype));
}

double rounded(DType dtype, double value) {
  return dtype == DType::f64 ? value : rounded(dtype, Element::of(value));
}

bool is_whole(DType dtype) { return is_integer(dtype) || is_boolean(dtype); }

// The primitive's body at one point. The last operand determines the kind of number.
double at_point(const ScalarBody& body, DType operand, DType result, std::span<const double> x) {
  if (is_whole(operand) && body.integer) {
    std::array<int64_t, 4> whole{};
    for (size_t i = 0; i < x.size(); ++i) whole[i] = static_cast<int64_t>(x[i]);
    int64_t value = body.integer(std::span(whole.data(), x.size()));
    if (result == DType::i64 || is_boolean(result)) return static_cast<double>(value);
    return rounded(result, Element::of_signed(value));
  }
  if (!body.real) throw TypeError("not defined for {}", name_of(operand));
  return rounded(result, body.real(x));
}

Value run_elementwise(ScalarMachine& machine, PrimitiveCall& call) {
  const ScalarBody& body = call.instruction.primitive().body;
  const ScalarArray& last = array_of(call.operands.back());
  DType result = call.instruction.result_types()[0].dtype();
  std::vector<const double*> sources;
  for (const Value& operand : call.operands) {
    if (array_of(operand).type.sizes != last.type.sizes) {
      throw ShapeError("{}: sizes differ: {} and {}", call.instruction.primitive().name,
                       ScalarMachine::text(operand), ScalarMachine::text(call.operands.back()));
    }
    sources.push_back(array_of(operand).elements.data());
  }
  std::vector<double> elements(last.elements.size()), point(sources.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    for (size_t k = 0; k < sources.size(); ++k) point[k] = sources[k][i];
    elements[i] = at_point(body, last.type.dtype, result, point);
  }
  return machine.array(result, last.type.sizes, std::move(elements));
}

// Uses only the declaration: the loop nest of the index signature around the body.
Value run_by_loops(ScalarMachine& machine, const PrimitiveCall& call) {
  const Primitive& primitive = call.instruction.primitive();
  std::vector<Type> types;
  std::vector<LoopArray> operands;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const ScalarArray& array = array_of(call.operands[i]);
    types.push_back(call.instruction.operand_type(i));
    operands.push_back({array.type.sizes, array.elements});
  }
  static const Declarations kNoDeclarations;
  static const Mesh kNoAxes;
  Inference inference{.primitive = primitive,
                      .operands = types,
                      .attributes = call.instruction.attributes(),
                      .callees = {},
                      .size_arguments = {},
                      .stated = {},
                      .declarations = kNoDeclarations,
                      .axes = kNoAxes,
                      .name_size = {}};
  DType operand = types.back().dtype(), result = call.instruction.result_types()[0].dtype();
  auto compute = [&](std::span<const double> x) {
    return at_point(primitive.body, operand, result, x);
  };
  auto round = [&](double value) { return rounded(result, value); };
  LoopArray computed =
      run_loops(primitive.signature(inference), primitive.name, operands, {compute, round});
  return machine.array(result, std::move(computed.sizes), std::move(computed.elements));
}

Value run_convert(ScalarMachine& machine, PrimitiveCall& call) {
  const ScalarArray& x = array_of(call.operands[0]);
  DType dtype = call.instruction.attributes_as<ConvertAttributes>().dtype;
  std::vector<double> elements = x.elements;
  for (double& element : elements) {
    bool whole = is_whole(x.type.dtype);
    element = rounded(
        dtype, whole ? Element::of_signed(static_cast<int64_t>(element)) : Element::of(element));
  }
  return machine.array(dtype, x.type.sizes, std::move(elements));
}

Value run_iota(ScalarMachine& machine, PrimitiveCall& call) {
  std::vector<double> elements(call.size(call.instruction.attributes_as<IotaAttributes>().size));
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<double>(i);
  return machine.vector(DType::i64, std::move(elements));
}

Value run_halve(ScalarMachine& machine, PrimitiveCall& call) {
  const ScalarArray& x = array_of(call.operands[0]);
  auto middle = x.elements.begin() + static_cast<std::ptrdiff_t>(x.elements.size() / 2);
  bool second = call.instruction.attributes_as<HalveAttributes>().second;
  std::vector<double> half(second ? middle : x.elements.begin(),
                           second ? x.elements.end() : middle);
  return machine.vector(x.type.dtype, std::move(half));
}

// concat and append: the elements of the second operand, one or many, after those of the first.
Value run_concat(ScalarMachine& machine, PrimitiveCall& call) {
  const ScalarArray &x = array_of(call.operands[0]), &y = array_of(call.operands[1]);
  std::vector<double> elements;
  elements.reserve(x.elements.size() + y.elements.size());
  elements = x.elements;
  elements.insert(elements.end(), y.elements.begin(), y.elements.end());
  return machine.vector(x.type.dtype, std::move(elements));
}

Value run_take(ScalarMachine& machine, PrimitiveCall& call) {
  const ScalarArray& x = array_of(call.operands[0]);
  int64_t index = machine.to_integer(call.operands[1]);
  if (index < 0 || index >= static_cast<int64_t>(x.elements.size())) {
    throw IndexError("take: index {} in a vector of {}", index, x.elements.size());
  }
  return machine.scalar(x.type.dtype, x.elements[static_cast<size_t>(index)]);
}

Value run_nonzero(ScalarMachine& machine, PrimitiveCall& call) {
  const ScalarArray& x = array_of(call.operands[0]);
  std::vector<double> where;
  for (size_t i = 0; i < x.elements.size(); ++i) {
    if (x.elements[i] != 0) where.push_back(static_cast<double>(i));
  }
  call.size_results[0] = static_cast<int64_t>(where.size());
  return machine.vector(DType::i64, std::move(where));
}

Value run_all_reduce_sum(ScalarMachine&, PrimitiveCall& call) {
  return std::move(call.operands[0]);
}

using Run = Value (*)(ScalarMachine&, PrimitiveCall&);

Run find_run(std::string_view name) {
  static const std::unordered_map<std::string_view, Run> runs{
      {"convert", run_convert}, {"iota", run_iota},
      {"halve", run_halve},     {"concat", run_concat},
      {"append", run_concat},   {"take", run_take},
      {"nonzero", run_nonzero}, {"all_reduce_sum", run_all_reduce_sum},
  };
  auto place = runs.find(name);
  return place == runs.end() ? nullptr : place->second;
}

void expect_size(int64_t count, std::span<const int64_t> sizes) {
  for (int64_t size : sizes) {
    if (size < 0) throw ValueError("a size of {}", size);
  }
  if (product(sizes) != count) {
    throw ValueError("{} elements for sizes [{}]", count, fmt::join(sizes, ", "));
  }
}

}  // namespace

ScalarMachine::ScalarMachine() : counts_(std::make_shared<Counts>()) { register_scalar_ops(); }

Value ScalarMachine::scalar(DType dtype, double value) { return array(dtype, {}, {value}); }

Value ScalarMachine::vector(DType dtype, std::vector<double> elements) {
  std::vector<int64_t> sizes{static_cast<int64_t>(elements.size())};
  return array(dtype, std::move(sizes), std::move(elements));
}

Value ScalarMachine::array(DType dtype, std::vector<int64_t> sizes, std::vector<double> elements) {
  expect_size(static_cast<int64_t>(elements.size()), sizes);
  return Value::of_machine(std::make_shared<ScalarArray>(
      counts_, ArraySizes{dtype, std::move(sizes)}, std::move(elements)));
}

const std::vector<double>& ScalarMachine::elements(const Value& array) {
  return array_of(array).elements;
}

double ScalarMachine::number(const Value& scalar) {
  const ScalarArray& array = array_of(scalar);
  if (array.elements.size() != 1) throw ShapeError("{} is not a scalar", text(scalar));
  return array.elements[0];
}

std::string ScalarMachine::text(const Value& value) {
  if (value.is_empty()) return "nothing";
  if (value.is_absent()) return "absent";
  if (value.is_present()) return "present " + text(value.unwrapped());
  if (value.is_aggregate()) {
    std::string out = "(";
    for (const Value& field : value.fields()) out += (out.size() > 1 ? ", " : "") + text(field);
    return out + ")";
  }
  const ScalarArray& array = array_of(value);
  return fmt::format("{}[{}]({})", name_of(array.type.dtype), fmt::join(array.type.sizes, ", "),
                     fmt::join(array.elements, ", "));
}

void ScalarMachine::run(PrimitiveCall& call) {
  const Primitive& primitive = call.instruction.primitive();
  if (primitive.name == "print") {
    const std::string& label = call.instruction.attributes_as<PrintAttributes>().label;
    printed_.push_back((label.empty() ? "" : label + " ") + text(call.operands[0]));
  } else if (primitive.name == "tick") {
    call.results[0] = scalar(DType::i64, static_cast<double>(ticks_++));
  } else if (Run run = find_run(primitive.name)) {
    call.results[0] = run(*this, call);
  } else if (primitive.signature && (by_loops_ || primitive.name == "sum")) {
    call.results[0] = run_by_loops(*this, call);
  } else if (primitive.body.real || primitive.body.integer) {
    call.results[0] = run_elementwise(*this, call);
  } else {
    throw KeyError("the machine of the tests has no `{}`", primitive.name);
  }
}

Value ScalarMachine::literal(const Literal& literal) {
  std::vector<double> elements(static_cast<size_t>(literal.element_count()));
  if (is_complex(literal.dtype())) {
    throw TypeError("the machine of the tests has no complex numbers: {}", literal.text());
  }
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i] = literal.as_double(static_cast<int64_t>(i));
  return array(literal.dtype(), literal.sizes(), std::move(elements));
}

Value ScalarMachine::from_size(int64_t size, DType dtype) {
  return scalar(dtype, rounded(dtype, Element::of_signed(size)));
}

Value ScalarMachine::from_boolean(bool truth) { return scalar(DType::boolean, truth ? 1 : 0); }

int64_t ScalarMachine::to_integer(const Value& value) {
  return static_cast<int64_t>(number(value));
}

bool ScalarMachine::to_boolean(const Value& value) { return number(value) != 0; }

ArraySizes ScalarMachine::sizes_of(const Value& value) { return array_of(value).type; }

Value ScalarMachine::slice(const Value& stacked, int64_t index) {
  const ScalarArray& x = array_of(stacked);
  std::vector<int64_t> sizes(x.type.sizes.begin() + 1, x.type.sizes.end());
  auto begin = x.elements.begin() + index * product(sizes);
  std::vector<double> elements(begin, begin + product(sizes));
  return array(x.type.dtype, std::move(sizes), std::move(elements));
}

Value ScalarMachine::stack(std::span<const Value> slices, const ArraySizes& each) {
  std::vector<int64_t> sizes{static_cast<int64_t>(slices.size())};
  sizes.insert(sizes.end(), each.sizes.begin(), each.sizes.end());
  std::vector<double> elements;
  elements.reserve(static_cast<size_t>(product(sizes)));
  for (const Value& slice : slices) {
    const std::vector<double>& part = array_of(slice).elements;
    elements.insert(elements.end(), part.begin(), part.end());
  }
  return array(each.dtype, std::move(sizes), std::move(elements));
}

}  // namespace plait::ir
