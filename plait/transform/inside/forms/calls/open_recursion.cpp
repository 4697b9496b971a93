#include "plait/transform/inside/forms/calls/open_recursion.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "plait/core/ambient.h"
#include "plait/core/error.h"
#include "plait/ir/inference.h"
#include "plait/ir/structure.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/transform/inside/batching/varying.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"
#include "plait/transform/inside/running/sizes_between.h"

namespace plait {
namespace {

constexpr int kMostRounds = 100;

uint64_t next_number() {
  static std::atomic<uint64_t> next{1};
  return next++;
}

struct OpenCallAttributes {
  int64_t number = 0;
};

const ir::Primitive& open_call_primitive() {
  static const ir::Primitive& primitive =
      ir::register_primitive({.name = "open_call",
                              .summary = "A call of a function that is being recorded.",
                              .attributes = &ir::schema_of<OpenCallAttributes>(),
                              .operands = ir::at_least(0),
                              .infer =
                                  [](ir::Inference& inference) {
                                    for (size_t i = 0; i < inference.stated.size(); ++i) {
                                      inference.give(inference.stated_result(i));
                                    }
                                  },
                              .infers_axes = true,
                              .is_placeholder = true});
  return primitive;
}

std::vector<Tensor> record_open_call(uint64_t number, std::span<const Tensor> operands,
                                     std::span<const ir::Type> results) {
  return Trace::current()->record(
      {.primitive = open_call_primitive(),
       .operands = operands,
       .attributes = ir::Attributes::of(OpenCallAttributes{static_cast<int64_t>(number)}),
       .stated_types = results});
}

int64_t number_of(const ir::Instruction& instruction) {
  return instruction.attributes_as<OpenCallAttributes>().number;
}

// Returns types that generalise both: where sizes differ, a symbol, the same one for equal pairs.
// Nothing if the types differ in more than sizes.
std::optional<std::vector<ir::Type>> of_any_sizes(std::span<const ir::Type> a,
                                                  std::span<const ir::Type> b) {
  if (a.size() != b.size()) return std::nullopt;
  std::vector<ir::Type> types(a.begin(), a.end());
  std::vector<std::pair<Dim, Dim>> named;
  const auto name = [&](Dim here, Dim there) {
    const auto place = std::ranges::find_if(named, [&](const auto& pair) {
      return same(pair.first, here) && same(pair.second, there);
    });
    const auto number = place - named.begin();
    if (place == named.end()) named.emplace_back(here, there);
    return Dim::symbol(
        fmt::format("n{}_{}", OpenRecursion::open_count(), number));  // unique among open ones
  };
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (!a[i].is_array() || !b[i].is_array() || a[i].dtype() != b[i].dtype() ||
        a[i].rank() != b[i].rank() || a[i].varying() != b[i].varying()) {
      return std::nullopt;
    }
    Shape shape;
    for (int64_t d = 0; d < a[i].rank(); ++d) {
      const Dim here = a[i].shape()[d], there = b[i].shape()[d];
      shape.append(same(here, there) || here.is_symbol() ? here : name(here, there));
    }
    types[i] = a[i].with_shape(shape);
  }
  return types;
}

// Thrown to restart the recording with these parameter types.
struct OtherParameters : Unwinding {
  OtherParameters(const OpenRecursion* called, std::vector<ir::Type> types)
      : function(called), parameters(std::move(types)) {}
  const OpenRecursion* function;
  std::vector<ir::Type> parameters;
};

bool same_results(const ir::Signature& a, const ir::Signature& b) {
  return a.results == b.results &&
         std::ranges::equal(a.size_parameters, b.size_parameters, kSame) && a.facts == b.facts;
}

}  // namespace

OpenRecursion::OpenRecursion(Key key, std::string name, std::vector<ir::Type> parameters)
    : key_(std::move(key)),
      name_(std::move(name)),
      number_(next_number()),
      parameters_(std::move(parameters)),
      outer_(std::exchange(ambient.recursion, this)),
      depth_(outer_ == nullptr ? 1 : outer_->depth_ + 1) {}

void OpenRecursion::expect_devices_of(std::span<const Tensor> arguments) {
  for (const Tensor& argument : arguments) devices_.push_back(argument.device());
}

OpenRecursion::~OpenRecursion() { ambient.recursion = outer_; }

int OpenRecursion::open_count() {
  return ambient.recursion == nullptr ? 0 : ambient.recursion->depth_;
}

template <class Test>
OpenRecursion* OpenRecursion::innermost(Test test) {
  OpenRecursion* each = ambient.recursion;
  while (each != nullptr && !test(*each)) each = each->outer_;
  return each;
}

OpenRecursion* OpenRecursion::find(const Key& key, std::span<const ir::Type> arguments) {
  const auto takes = [&](const OpenRecursion& each) {
    return each.key_ == key && each.takes(arguments);
  };
  if (OpenRecursion* const taking = innermost(takes)) return taking;
  const auto has_key = [&](const OpenRecursion& each) { return each.key_ == key; };
  const OpenRecursion* const other = innermost(has_key);
  if (other != nullptr && other->should_take(arguments)) {
    throw OtherParameters(other, *of_any_sizes(other->parameters_, arguments));
  }
  return nullptr;
}

void OpenRecursion::record_within(Trace& trace) {
  trace_ = trace.outermost();
  trace.functions().declare(name_, *signature_);
}

bool OpenRecursion::is_recorded_in(const Trace& trace) {
  const auto records = [&](const OpenRecursion& each) { return each.trace_ == trace.outermost(); };
  return innermost(records) != nullptr;
}

bool OpenRecursion::takes(std::span<const ir::Type> arguments) const {
  if (!has_open_axes() || arguments.size() != parameters_.size()) {
    return sizes_between(parameters_, arguments).has_value();
  }
  // Arguments that vary along fewer axes can be made to vary.
  std::vector<ir::Type> types(arguments.begin(), arguments.end());
  for (size_t i = 0; i < types.size(); ++i) {
    const ir::AxisSet axes = parameters_[i].all_varying();
    if (axes.contains(types[i].all_varying())) types[i] = types[i].with_varying(axes);
  }
  return sizes_between(parameters_, types).has_value();
}

bool OpenRecursion::should_take(std::span<const ir::Type> arguments) const {
  return Trace::current() != trace_ && of_any_sizes(parameters_, arguments).has_value();
}

ir::Callee OpenRecursion::callee(std::span<const ir::Type> operands) const {
  const auto sizes = sizes_between(signature_->parameters, operands);
  if (!sizes) {
    throw TypeError("{}: its captures have other sizes when it calls itself", name_)
        .at(Location::of_caller());
  }
  ir::Callee callee{name_, {}};
  for (const Dim size : signature_->size_parameters) {
    callee.sizes.push_back(size.substitute(*sizes));
  }
  return callee;
}

std::vector<Tensor> OpenRecursion::call(std::span<const Tensor> arguments) {
  if (!signature_) throw UnknownResults(this);
  return call_with_captures(joined({arguments, captures_}));
}

// Makes the operands vary like the parameters. If one varies along more axes, the recording
// restarts with these.
std::vector<Tensor> OpenRecursion::as_taken(std::span<const Tensor> operands) const {
  std::vector<Tensor> all;
  std::vector<ir::Type> types = parameters_;
  for (size_t i = 0; i < operands.size(); ++i) {
    all.push_back(as_varying_as(operands[i], signature_->parameters[i]));
    const ir::AxisSet axes = axes_of(all[i]);
    if (signature_->parameters[i].all_varying().contains(axes)) continue;
    if (i >= types.size()) {
      throw TypeError("{}: its capture, {}, varies along {} when it calls itself", name_,
                      captures_[i - types.size()].type().text(), axes.text())
          .at(Location::of_caller())
          .hint("`vary` it before, or make it an argument");
    }
    types[i] = types[i].with_varying(axes);
  }
  if (types != parameters_) throw OtherParameters(this, std::move(types));
  return all;
}

std::vector<Tensor> OpenRecursion::call_with_captures(std::span<const Tensor> given) const {
  const std::vector<Tensor> operands =
      has_open_axes() ? as_taken(given) : std::vector<Tensor>(given.begin(), given.end());
  if (is_followed(operands)) {
    throw TypeError("{} is differentiated while it is being recorded", name_)
        .at(Location::of_caller())
        .hint("take the derivative outside of the function");
  }
  const std::vector<ir::Type> types = ir_types_of(operands);
  const ir::Callee called = callee(types);
  Trace& trace = *Trace::current();
  if (trace.outermost() == trace_) {
    return trace.record({.primitive = ir::primitive(ir::Structure::call),
                         .operands = operands,
                         .callees = {&called, 1}});
  }
  SymbolMap<Dim> sizes;
  for (size_t i = 0; i < called.sizes.size(); ++i) {
    sizes.set(signature_->size_parameters[i], called.sizes[i]);
  }
  std::vector<ir::Type> results;
  for (const ir::Type& type : signature_->results) results.push_back(type.substitute(sizes));
  return record_open_call(number_, operands, results);
}

std::optional<RecordedFunction> OpenRecursion::record(Trace& trace, const TensorFunction& body) {
  std::vector<Tensor> arguments, results;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Device device = i < devices_.size() ? devices_[i] : Device();
    arguments.push_back(trace.parameter(parameters_[i], {}, {}, device));
  }
  for (const Tensor& capture : captures_) trace.capture(capture);
  if (signature_) trace.functions().declare(trace.function().name(), *signature_);
  try {
    results = body(arguments);
    for (size_t i = 0; has_open_axes() && is_expected_ && signature_ && i < results.size(); ++i) {
      results[i] = as_varying_as(results[i], signature_->results[i]);
    }
  } catch (const UnknownResults& unknown) {
    if (unknown.function != this) throw;
    throw TypeError("{} calls itself on every path, so the types of its results are not known",
                    name_)
        .at(Location::of_caller())
        .hint("let one branch of a cond end the recursion");
  } catch (const OtherParameters& other) {
    if (other.function != this) throw;
    parameters_ = other.parameters;
    signature_.reset();
    captures_.clear();
    return {};
  }
  return trace.finish(results);
}

void OpenRecursion::check_results(const ir::Signature& found) const {
  if (!found.result_sizes.empty()) {
    throw TypeError("{} returns {}, whose size is known only inside of it", name_,
                    found.results[0].text())
        .at(Location::of_caller());
  }
  if (!signature_) return;
  if (signature_->results.size() != found.results.size()) {
    throw TypeError("{} returns {} tensors, but {} when it calls itself", name_,
                    signature_->results.size(), found.results.size())
        .at(Location::of_caller());
  }
  for (size_t i = 0; i < found.results.size(); ++i) {
    // Varies along more axes than in the branch that ends: recorded again with these.
    if (ir::fits_but_for_axes(signature_->results[i], found.results[i])) continue;
    throw TypeError("{}: result {} is {} where it ends, but {} where it calls itself", name_, i,
                    signature_->results[i].text(), found.results[i].text())
        .at(Location::of_caller());
  }
}

StagedFunction OpenRecursion::stage(const TensorFunction& body) {
  for (int round = 0; round < kMostRounds; ++round) {
    Trace trace(name_, Trace::apart);
    trace_ = &trace;
    std::optional<RecordedFunction> recorded = record(trace, body);
    if (!recorded) continue;
    const ir::Signature& found = recorded->function->signature();
    check_results(found);
    if (signature_ && same_results(*signature_, found) &&
        captures_.size() == recorded->captures.size()) {
      StagedFunction staged{trace.functions().with_entry(recorded->function), nullptr,
                            std::move(recorded->captures)};
      staged.function = &staged.program.entry();
      return staged;
    }
    signature_ = found;
    captures_ = std::move(recorded->captures);
  }
  throw ValueError("{} captures other tensors whenever it is recorded", name_)
      .at(Location::of_caller())
      .hint("make them outside, or by operations");
}

std::vector<Tensor> placeholder_results(std::span<const ir::Type> types) {
  return record_open_call(0, {}, types);
}

bool is_open_call(const ir::Instruction& instruction) {
  return &instruction.primitive() == &open_call_primitive();
}

std::vector<Tensor> run_open_call(const ir::Instruction& instruction,
                                  std::span<const Tensor> operands) {
  const auto number = static_cast<uint64_t>(number_of(instruction));
  if (number == 0) {
    const auto types = instruction.result_types();
    return placeholder_results(std::vector<ir::Type>(types.begin(), types.end()));
  }
  const auto has_number = [&](const OpenRecursion& each) { return each.number_ == number; };
  if (const OpenRecursion* const called = OpenRecursion::innermost(has_number)) {
    return called->call_with_captures(operands);
  }
  throw ValueError("a function that called itself is used after its recording has ended")
      .at(Location::of_caller());
}

std::optional<ir::Callee> close_open_call(const Trace& into, const ir::Instruction& instruction) {
  if (!is_open_call(instruction)) return std::nullopt;
  const auto number = static_cast<uint64_t>(number_of(instruction));
  const OpenRecursion* const called = OpenRecursion::innermost([&](const OpenRecursion& each) {
    return each.number_ == number && into.outermost() == each.trace_;
  });
  if (called == nullptr) return std::nullopt;
  std::vector<ir::Type> types;
  for (const ir::ValueId operand : instruction.operands()) {
    types.push_back(instruction.function().type_of(operand));
  }
  return called->callee(types);
}

bool has_open_calls(const ir::Program& program) { return any_instruction(program, is_open_call); }

}  // namespace plait
