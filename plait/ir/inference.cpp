#include "plait/ir/inference.h"

#include <algorithm>

#include "plait/ir/primitive.h"

namespace plait::ir {

namespace {

SymbolMap<Dim> map_of(std::span<const Dim> names, std::span<const Dim> values) {
  SymbolMap<Dim> map;
  for (size_t i = 0; i < names.size(); ++i) map.set(names[i], values[i]);
  return map;
}

bool same_signature(const Signature& a, const Signature& b) {
  return std::ranges::equal(a.size_parameters, b.size_parameters, kSame) &&
         a.parameters == b.parameters &&
         std::ranges::equal(a.result_sizes, b.result_sizes, kSame) && a.results == b.results &&
         a.axes == b.axes;
}

void infer_elementwise(Inference& inference) {
  inference.expect_array(0, inference.primitive.takes);
  const Type& first = inference.operands[0];
  for (size_t i = 1; i < inference.operands.size(); ++i) {
    inference.expect_array(i, inference.primitive.takes);
    inference.expect_alike(first, inference.operands[i]);
  }
  const DType dtype = elementwise_result(inference.primitive.elementwise, first.dtype());
  inference.give(first.without_sharding().with_dtype(dtype));
}

// The default rule: all operands have one dtype, and the index signature determines the shapes.
void infer_from_signature(Inference& inference) {
  std::vector<Shape> shapes;
  for (const Type& operand : inference.operands) {
    if (operand.dtype() != inference.operands[0].dtype()) {
      inference.fail("operands of different dtypes: {} and {}", inference.operands[0].text(),
                     operand.text());
    }
    shapes.push_back(operand.shape());
  }
  IndexSpace space = solve(signature_of(inference), shapes, inference.primitive.name);
  for (Shape& shape : space.result_shapes) {
    inference.give(Type::array(inference.operands[0].dtype(), std::move(shape)));
  }
}

void agree_on_axes(Inference& inference) {
  const auto varies_nowhere = [](const Type& type) {
    return type.is_array() && type.varying().empty();
  };
  if (std::ranges::all_of(inference.operands, varies_nowhere)) return;
  AxisSet axes;
  for (size_t i = 0; i < inference.operands.size(); ++i) {
    AxisSet here = inference.operands[i].all_varying();
    if (i > 0 && here != axes) {
      throw TypeError("{}: operand 0 varies along {}, operand {} along {}",
                      inference.primitive.name, axes.text(), i, here.text())
          .at(inference.location)
          .hint("`vary` declares that a value varies along more axes");
    }
    axes = std::move(here);
  }
  if (axes.empty()) return;
  for (Type& result : inference.results) result = result.with_varying(axes);
}

// Sizes must not be negative. Symbolic ones are checked at run time.
void check_sizes(const Inference& inference) {
  const auto check = [&](Dim size, std::string_view what, const std::string& where) {
    if (!size.is_number() || size.number() >= 0) return;
    throw ShapeError("{}: {}{}: a size is {}, below 0", inference.primitive.name, what, where, size)
        .at(inference.location);
  };
  for (const Dim size : inference.size_arguments) check(size, "the size arguments", "");
  for (const Callee& callee : inference.callees) {
    for (const Dim size : callee.sizes) check(size, "the sizes of @", callee.name);
  }
  for (const Type& type : inference.results) {
    type.for_each_dim([&](Dim size) {
      if (size.is_number() && size.number() < 0) check(size, "returns ", type.text());
    });
  }
}

void agree_with_stated(Inference& inference) {
  if (inference.stated.empty()) return;
  if (inference.stated.size() != inference.results.size()) {
    inference.fail("returns {} values, but {} types were stated", inference.results.size(),
                   inference.stated.size());
  }
  for (size_t i = 0; i < inference.results.size(); ++i) {
    inference.expect_same(inference.stated[i], inference.results[i],
                          fmt::format("the stated type of result {}", i));
    inference.results[i] = inference.stated[i];  // keeps the shardings
  }
}

}  // namespace

void Declarations::add(std::string_view function, const Signature& signature) {
  auto [place, added] = functions_.try_emplace(std::string(function), signature);
  if (!added && !same_signature(place->second, signature)) {
    throw CompileError("@{} was declared before with another signature", function);
  }
}

void Declarations::add(const RecordType& record) {
  auto [place, added] = records_.try_emplace(record.name, record);
  if (!added && place->second.text() != record.text()) {
    throw CompileError("@{} was declared before as `{}`", record.name, place->second.text());
  }
}

const Signature* Declarations::find_function(std::string_view name) const {
  auto place = functions_.find(std::string(name));
  return place == functions_.end() ? nullptr : &place->second;
}

const RecordType* Declarations::find_record(std::string_view name) const {
  auto place = records_.find(std::string(name));
  return place == records_.end() ? nullptr : &place->second;
}

Dim Inference::new_size(std::string_view hint) {
  size_results.push_back(name_size(hint));
  return size_results.back();
}

const Signature& Inference::callee(size_t i) const {
  const Signature* signature = declarations.find_function(callees[i].name);
  if (!signature) {
    throw KeyError("{}: unknown function @{}", primitive.name, callees[i].name).at(location);
  }
  return *signature;
}

Signature Inference::callee_at(size_t i, std::span<const Dim> sizes) const {
  const Signature& declared = callee(i);
  if (declared.size_parameters.size() != sizes.size()) {
    fail("@{} takes {} sizes, not {}", callees[i].name, declared.size_parameters.size(),
         sizes.size());
  }
  SymbolMap<Dim> map = map_of(declared.size_parameters, sizes);
  Signature at;
  at.axes = declared.axes;
  at.result_sizes = declared.result_sizes;
  at.parameters.reserve(declared.parameters.size());
  for (const Type& type : declared.parameters) at.parameters.push_back(type.substitute(map));
  at.results = declared.results;  // with bound names: see callee_results
  return at;
}

std::vector<Type> Inference::callee_results(size_t i, std::span<const Dim> sizes,
                                            std::span<const Dim> result_sizes) const {
  const Signature& declared = callee(i);
  SymbolMap<Dim> map = map_of(declared.size_parameters, sizes);
  for (size_t k = 0; k < declared.result_sizes.size(); ++k) {
    map.set(declared.result_sizes[k], result_sizes[k]);
  }
  std::vector<Type> types;
  types.reserve(declared.results.size());
  for (const Type& type : declared.results) types.push_back(type.substitute(map));
  return types;
}

const RecordType& Inference::record(const Type& type) const {
  const RecordType* found = declarations.find_record(type.record_name());
  if (!found) {
    throw KeyError("{}: unknown record @{}", primitive.name, type.record_name()).at(location);
  }
  return *found;
}

const Type& Inference::stated_result(size_t i) const {
  if (i >= stated.size())
    fail("its result type must be stated: it does not follow from its operands");
  return stated[i];
}

void Inference::expect_operand(size_t i, const Type& wanted, std::string_view what) const {
  if (fits(operands[i], wanted)) return;
  fail("operand {}{}{} is {}, expected {}", i, what.empty() ? "" : ", ", what, operands[i].text(),
       wanted.text());
}

const Type& Inference::array(size_t i) const {
  expect_array(i, kAllDTypes);
  return operands[i];
}

void Inference::expect_array(size_t i, DTypeSet dtypes) const {
  const Type& given = operands[i];
  if (!given.is_array()) fail("operand {} is {}, not an array", i, given.text());
  if (dtypes.contains(given.dtype())) return;
  fail("operand {} is {}; its dtype must be one of: {}", i, given.text(), dtypes.text());
}

void Inference::expect_alike(const Type& a, const Type& b) const {
  if (a.dtype() != b.dtype()) {
    fail("operands of different dtypes: {} and {}", a.text(), b.text());
  }
  if (same(a.shape(), b.shape())) return;
  throw ShapeError("{}: sizes differ: {} and {}", primitive.name, a.text(), b.text()).at(location);
}

void Inference::expect_same(const Type& given, const Type& wanted, std::string_view what) const {
  if (!fits(given, wanted)) fail("{} is {}, expected {}", what, given.text(), wanted.text());
}

void Inference::fail_with(const std::string& message) const {
  throw TypeError("{}: {}", primitive.name, message).at(location);
}

void Inference::run() {
  if (primitive.infer)
    primitive.infer(*this);
  else if (primitive.elementwise != Elementwise::no)
    infer_elementwise(*this);
  else
    infer_from_signature(*this);
  check_sizes(*this);
  if (!primitive.infers_axes) agree_on_axes(*this);
  agree_with_stated(*this);
}

IndexSignature signature_of(const Inference& inference) {
  const Primitive& primitive = inference.primitive;
  if (primitive.signature) return primitive.signature(inference);
  if (primitive.elementwise == Elementwise::no) {
    throw ValueError("{} declares no index signature", primitive.name);
  }
  IndexSignature signature;
  IndexSignature::Access access;
  for (int64_t axis = 0; axis < inference.operands[0].rank(); ++axis) {
    signature.indices.push_back(fmt::format("i{}", axis));
    access.dimensions.push_back({{{{{static_cast<uint32_t>(axis)}}}}});
  }
  signature.operands.assign(inference.operands.size(), access);
  signature.results.assign(1, access);
  return signature;
}

}  // namespace plait::ir
