#include "plait/tensor/inside/tracing/trace_captures.h"

#include <algorithm>
#include <cstring>

#include "plait/ir/inference.h"
#include "plait/ir/rewriting/copy_function.h"
#include "plait/ir/rewriting/outline.h"
#include "plait/tensor/tracing/derivation.h"

namespace plait {
namespace {

// Stands for a captured value until the function is finished. Never part of a finished function.
const ir::Primitive& capture_primitive() {
  static const ir::Primitive& primitive = ir::register_primitive(
      {.name = "capture",
       .summary = "A value of an outer trace, while a function is being recorded.",
       .infer = [](ir::Inference& inference) { inference.give(inference.stated_result(0)); },
       .infers_axes = true,
       .is_placeholder = true});
  return primitive;
}

// A function that is recorded again creates its constants again: equal constants are captured once.
bool is_same_constant(const Tensor& a, const Tensor& b) {
  if (a.is_traced() || b.is_traced() || !a.is_array() || !b.is_array()) return false;
  if (a.derivation() || b.derivation()) return false;
  const Array &x = a.array(), &y = b.array();
  if (!x.is_on_host() || !y.is_on_host() || x.is_unplaced() != y.is_unplaced()) return false;
  return x.dtype() == y.dtype() && x.sizes() == y.sizes() && x.is_contiguous() &&
         y.is_contiguous() &&
         std::memcmp(x.data(), y.data(),
                     static_cast<size_t>(x.element_count() * x.element_size())) == 0;
}

}  // namespace

bool TraceCaptures::has_followed(const Level& level) const {
  return std::ranges::any_of(tensors_, [&](const Tensor& tensor) {
    return tensor.derivation() && tensor.derivation()->origin.levels.contains(level);
  });
}

std::optional<ir::ValueId> TraceCaptures::find(const void* identity) const {
  const auto place = by_identity_.find(identity);
  return place == by_identity_.end() ? std::nullopt : std::optional(place->second);
}

// It is not found by its identity the next time: it is not kept alive, and another tensor may get
// its address.
std::optional<ir::ValueId> TraceCaptures::find_equal(const Tensor& constant) const {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (is_same_constant(tensors_[i], constant)) return values_[i];
  }
  return std::nullopt;
}

const Tensor* TraceCaptures::find_tensor(ir::ValueId value) const {
  const auto place = std::ranges::find(values_, value);
  return place == values_.end() ? nullptr : &tensors_[static_cast<size_t>(place - values_.begin())];
}

ir::ValueId TraceCaptures::add(const void* identity, const Tensor& tensor,
                               ir::FunctionBuilder& builder) {
  const ir::Type type = tensor.type();
  const ir::ValueId value =
      builder.add({.primitive = capture_primitive(), .stated_types = {&type, 1}});
  by_identity_.emplace(identity, value);
  tensors_.push_back(tensor);
  values_.push_back(value);
  return value;
}

bool TraceCaptures::is_capture(const ir::Instruction& instruction) {
  return &instruction.primitive() == &capture_primitive();
}

void TraceCaptures::renumber(std::span<const ir::ValueId> values) {
  for (ir::ValueId& value : values_) value = values[value];
}

std::shared_ptr<const ir::Function> TraceCaptures::as_parameters(
    const ir::Function& recorded, ir::ProgramBuilder& program,
    std::vector<ir::ValueId>& values) const {
  ir::FunctionBuilder builder = program.function(recorded.name());
  builder.set_location(recorded.location());
  for (const Dim size : recorded.signature().size_parameters) builder.size_parameter(size.name());
  for (const SizeFact& fact : recorded.signature().facts) builder.require(fact);
  for (const ir::Mesh::Axis& axis : recorded.signature().axes.axes) {
    builder.axis(axis.name, axis.size);
  }
  ir::Copier copier(recorded, builder);
  for (ir::ValueId value = 0; value < recorded.parameter_count(); ++value) {
    copier.set(value, builder.parameter(recorded.type_of(value), recorded.label(value)));
  }
  for (const ir::ValueId value : values_) {
    copier.set(value, builder.parameter(recorded.type_of(value)));
  }
  for (const ir::Instruction instruction : recorded.instructions()) {
    if (!is_capture(instruction)) copier.copy(instruction);
  }
  for (ir::ValueId& value : values) {
    if (value != ir::Outlined::kWithin) value = copier.value(value);
  }
  return copier.finish();
}

void TraceCaptures::clear() {
  tensors_.clear();
  values_.clear();
  by_identity_.clear();
}

}  // namespace plait
