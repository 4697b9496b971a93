#include "plait/ir/builder.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/ir/structure.h"

namespace plait::ir {

namespace {

std::string printable_label(std::string_view label) {
  std::string out(label);
  for (char& c : out) {
    if (!continues_name(c)) c = '_';
  }
  if (!out.empty() && !begins_name(out[0])) out = "_" + out;
  return out;
}

void check_count(const NewInstruction& in, const Count& count, size_t given,
                 std::string_view what) {
  if (count.holds(given)) return;
  const std::string& name = in.primitive.name;
  if (count.least == count.most) {
    throw TypeError("{}: takes {} {}, {} given", name, count.least, what, given).at(in.location);
  }
  throw TypeError("{}: takes at least {} {}, {} given", name, count.least, what, given)
      .at(in.location);
}

}  // namespace

FunctionBuilder::FunctionBuilder(std::string name, const Declarations& declarations)
    : function_(std::make_shared<Function>()),
      labels_(function_->labels_),
      declarations_(declarations) {
  function_->name_ = std::move(name);
}

Dim FunctionBuilder::size_parameter(std::string_view name) {
  Dim size = Dim::symbol(name);
  if (!size_names_.emplace(name).second) {
    throw ValueError("@{}: a size named `{}` exists already", function_->name_, name);
  }
  function_->signature_.size_parameters.push_back(size);
  return size;
}

ValueId FunctionBuilder::parameter(Type type, std::string_view label_text) {
  if (!function_->nodes_.empty()) {
    throw ValueError("@{}: parameters come before instructions", function_->name_);
  }
  if (!type) throw TypeError("@{}: a parameter needs a type", function_->name_);
  ValueId value = static_cast<ValueId>(function_->value_types_.size());
  function_->signature_.parameters.push_back(type);
  function_->value_types_.push_back(std::move(type));
  function_->definitions_.push_back(0);
  if (!label_text.empty()) label(value, label_text);
  return value;
}

void FunctionBuilder::axis(std::string name, Dim size) {
  if (function_->signature_.axes.find(name)) {
    throw ValueError("@{}: an axis named `{}` exists already", function_->name_, name);
  }
  function_->signature_.axes.axes.push_back({std::move(name), size});
}

void FunctionBuilder::require(SizeFact fact) { function_->signature_.facts.push_back(fact); }

void FunctionBuilder::declare(const Signature& signature, std::span<const std::string> labels) {
  for (Dim size : signature.size_parameters) size_parameter(size.name());
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    parameter(signature.parameters[i], i < labels.size() ? labels[i] : std::string());
  }
  function_->signature_ = signature;
  declared_ = true;
}

void FunctionBuilder::declare_results(std::span<const Dim> result_sizes,
                                      std::span<const Type> results) {
  function_->signature_.result_sizes.assign(result_sizes.begin(), result_sizes.end());
  function_->signature_.results.assign(results.begin(), results.end());
  declared_ = true;
}

Dim FunctionBuilder::fresh_size(std::string_view hint) {
  std::string name(hint);
  for (int i = 1; is_size_taken(name); ++i) name = fmt::format("{}.{}", hint, i);
  size_names_.insert(name);
  return Dim::symbol(name);
}

bool FunctionBuilder::is_size_taken(const std::string& name) const {
  for (const FunctionBuilder* each = this; each != nullptr; each = each->around_) {
    if (each->has_size(name)) return true;
  }
  return false;
}

void FunctionBuilder::label(ValueId value, std::string_view text) {
  if (is_name(text))
    labels_.set(value, text);
  else
    labels_.set(value, printable_label(text));
}

void FunctionBuilder::check_counts(const NewInstruction& in) const {
  check_count(in, in.primitive.operands, in.operands.size(), "operands");
  check_count(in, in.primitive.callees, in.callees.size(), "functions");
  check_count(in, in.primitive.size_arguments, in.size_arguments.size(), "sizes");
  if (in.attributes && in.attributes.schema() != in.primitive.attributes) {
    throw TypeError("{}: these are attributes of another primitive", in.primitive.name)
        .at(in.location);
  }
  const AttributeSchema* schema = in.primitive.attributes;
  if (const AttributeField* field = !in.attributes && schema ? schema->missing() : nullptr) {
    throw TypeError("{}: the attribute {} is missing", in.primitive.name, field->name)
        .at(in.location);
  }
  for (ValueId operand : in.operands) {
    if (operand >= function_->value_types_.size()) {
      throw ValueError("{}: operand %{} is not a value of @{}", in.primitive.name, operand,
                       function_->name_)
          .at(in.location);
    }
  }
}

Added FunctionBuilder::add(const NewInstruction& in) {
  check_counts(in);
  Function& f = *function_;
  Attributes attributes =
      in.attributes ? in.attributes : Attributes::defaults(in.primitive.attributes);
  std::vector<Type> operand_types;
  operand_types.reserve(in.operands.size());
  for (ValueId operand : in.operands) operand_types.push_back(f.value_types_[operand]);

  size_t names_used = 0;
  auto name_size = [&](std::string_view hint) {
    if (names_used >= in.size_names.size()) return fresh_size(hint);
    const std::string& name = in.size_names[names_used++];
    if (!size_names_.insert(name).second) {
      throw ValueError("{}: a size named `{}` exists already", in.primitive.name, name)
          .at(in.location);
    }
    return Dim::symbol(name);
  };
  Inference inference{.primitive = in.primitive,
                      .operands = operand_types,
                      .attributes = attributes,
                      .callees = in.callees,
                      .size_arguments = in.size_arguments,
                      .stated = in.stated_types,
                      .declarations = declarations_,
                      .axes = f.signature_.axes,
                      .name_size = name_size,
                      .location = in.location};
  inference.run();
  if (names_used < in.size_names.size()) {
    inference.fail("defines {} sizes, but {} names are given", names_used, in.size_names.size());
  }
  return append(in, std::move(attributes), inference);
}

void FunctionBuilder::expect_instructions(size_t count) {
  Function& f = *function_;
  f.nodes_.reserve(f.nodes_.size() + count);
  f.definitions_.reserve(f.definitions_.size() + count);
  f.value_types_.reserve(f.value_types_.size() + count);
}

Added FunctionBuilder::append(const NewInstruction& in, Attributes attributes,
                              Inference& inference) {
  Function& f = *function_;
  Added added{static_cast<ValueId>(f.value_types_.size()),
              static_cast<uint32_t>(inference.results.size()),
              static_cast<uint32_t>(f.nodes_.size())};
  Function::Node node{.primitive = &in.primitive,
                      .location = in.location,
                      .attributes = 0,
                      .first_operand = static_cast<uint32_t>(f.operands_.size()),
                      .first_callee = static_cast<uint32_t>(f.callees_.size()),
                      .first_size = static_cast<uint32_t>(f.sizes_.size()),
                      .first_result = added.first,
                      .operand_count = static_cast<uint32_t>(in.operands.size()),
                      .callee_count = static_cast<uint32_t>(in.callees.size()),
                      .size_argument_count = static_cast<uint32_t>(in.size_arguments.size()),
                      .size_result_count = static_cast<uint32_t>(inference.size_results.size()),
                      .result_count = added.count};
  if (attributes) {
    node.attributes = static_cast<uint32_t>(f.attributes_.size());
    f.attributes_.push_back(std::move(attributes));
  }
  f.operands_.insert(f.operands_.end(), in.operands.begin(), in.operands.end());
  f.callees_.insert(f.callees_.end(), in.callees.begin(), in.callees.end());
  f.sizes_.insert(f.sizes_.end(), in.size_arguments.begin(), in.size_arguments.end());
  f.sizes_.insert(f.sizes_.end(), inference.size_results.begin(), inference.size_results.end());
  f.definitions_.insert(f.definitions_.end(), added.count, added.instruction + 1);
  std::move(inference.results.begin(), inference.results.end(), std::back_inserter(f.value_types_));
  f.nodes_.push_back(node);
  return added;
}

Added FunctionBuilder::add(const Primitive& primitive, std::initializer_list<ValueId> operands,
                           Attributes attributes) {
  return add({.primitive = primitive,
              .operands = std::span(operands.begin(), operands.size()),
              .attributes = std::move(attributes)});
}

Added FunctionBuilder::add(std::string_view name, std::initializer_list<ValueId> operands,
                           Attributes attributes) {
  return add(primitive(name), operands, std::move(attributes));
}

Added FunctionBuilder::call(std::string_view function, std::span<const Dim> sizes,
                            std::span<const ValueId> operands) {
  Callee callee{std::string(function), std::vector<Dim>(sizes.begin(), sizes.end())};
  return add(
      {.primitive = primitive(Structure::call), .operands = operands, .callees = {&callee, 1}});
}

Added FunctionBuilder::call(std::string_view function, std::initializer_list<ValueId> operands) {
  return call(function, {}, std::span(operands.begin(), operands.size()));
}

ValueId FunctionBuilder::literal(Literal value) {
  return add(primitive(Structure::literal), {},
             Attributes::of(LiteralAttributes{std::move(value)}));
}

// Data-dependent sizes in the result types become result sizes; each must be a symbol.
Signature FunctionBuilder::signature_of_results(std::span<const ValueId> results,
                                                std::span<const Dim> size_values) {
  Signature signature = function_->signature_;
  for (Dim size : size_values) {
    if (!size.is_symbol()) {
      throw ValueError("@{}: returns the size {}, which is not a name", function_->name_,
                       size.text())
          .hint("declare the function's signature first, with a name for that size");
    }
  }
  signature.result_sizes.assign(size_values.begin(), size_values.end());
  for (ValueId value : results) signature.results.push_back(type_of(value));
  auto known = [&](Dim symbol) {
    auto in = [&](const std::vector<Dim>& dims) {
      return std::ranges::any_of(dims, is_same_as(symbol));
    };
    return in(signature.size_parameters) || in(signature.result_sizes);
  };
  for (const Type& type : signature.results) {
    type.for_each_dim([&](Dim dim) {
      dim.for_each_symbol([&](Dim symbol) {
        if (!known(symbol)) signature.result_sizes.push_back(symbol);
      });
    });
  }
  return signature;
}

std::shared_ptr<const Function> FunctionBuilder::finish(std::span<const ValueId> results,
                                                        std::span<const Dim> size_values) {
  Function& f = *function_;
  for (ValueId value : results) {
    if (value >= f.value_types_.size()) {
      throw ValueError("@{}: result %{} is not one of its values", f.name_, value);
    }
  }
  f.result_sizes_.assign(size_values.begin(), size_values.end());
  if (declared_) {
    check_declared_results(results, size_values);
  } else {
    f.signature_ = signature_of_results(results, size_values);
    f.result_sizes_ = f.signature_.result_sizes;
  }
  f.results_.assign(results.begin(), results.end());
  return std::move(function_);
}

void FunctionBuilder::check_declared_results(std::span<const ValueId> results,
                                             std::span<const Dim> size_values) const {
  const Signature& signature = function_->signature_;
  if (results.size() != signature.results.size() ||
      size_values.size() != signature.result_sizes.size()) {
    throw TypeError("@{}: declared to return {} sizes and {} values, but returns {} and {}",
                    function_->name_, signature.result_sizes.size(), signature.results.size(),
                    size_values.size(), results.size());
  }
  SymbolMap<Dim> sizes;
  for (size_t i = 0; i < size_values.size(); ++i)
    sizes.set(signature.result_sizes[i], size_values[i]);
  for (size_t i = 0; i < results.size(); ++i) {
    Type wanted = signature.results[i].substitute(sizes);
    if (fits(type_of(results[i]), wanted)) continue;
    throw TypeError("@{}: result {} is {}, declared as {}", function_->name_, i,
                    type_of(results[i]).text(), wanted.text());
  }
}

std::shared_ptr<const Function> FunctionBuilder::finish(std::initializer_list<ValueId> results) {
  return finish(std::span(results.begin(), results.size()));
}

void ProgramBuilder::record(RecordType record) {
  declarations_.add(record);
  bool there = std::any_of(records_.begin(), records_.end(),
                           [&](const RecordType& other) { return other.name == record.name; });
  if (!there) records_.push_back(std::move(record));
}

void ProgramBuilder::declare(std::string_view name, const Signature& signature) {
  declarations_.add(name, signature);
}

void ProgramBuilder::add(std::shared_ptr<const Function> function) {
  declarations_.add(function->name(), function->signature());
  functions_.push_back(std::move(function));
}

void ProgramBuilder::add_all(const ProgramBuilder& other) {
  for (const RecordType& r : other.records_) record(r);
  for (const auto& function : other.functions_) {
    if (std::find(functions_.begin(), functions_.end(), function) == functions_.end())
      add(function);
  }
}

Program ProgramBuilder::finish() { return Program::of(functions_, records_); }

}  // namespace plait::ir
