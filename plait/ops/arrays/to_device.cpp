#include "plait/ops/arrays/to_device.h"

#include "plait/ir/inference.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

ir::ResultPlace place_in(const ir::Attributes& attributes) {
  const auto& a = attributes.as<ToDeviceAttributes>();
  return {Device(a.device), a.unplaced};
}

void infer_to_device(ir::Inference& in) {
  const auto& a = in.attributes_as<ToDeviceAttributes>();
  for (const std::string& name : {a.device, a.from}) (void)Device(name);
  in.give(in.array().without_sharding());
}

void move_now(KernelCall& call, const void*) {
  const Array& x = call.operands[0];
  call.results[0] = x.dtype() == DType::key ? x : x.on(place_in(call.attributes).device);
}

Tensor moved(const Tensor& x, Device to, Device from, bool is_unplaced) {
  const ToDeviceAttributes attributes{text_of(to), text_of(from), is_unplaced};
  return apply(to_device_primitive(), {x}, ir::Attributes::of(attributes));
}

// A trace may not have known where the operand would be, so the cotangent stays unplaced.
Tensor moved_back(const RuleContext& c, const Tensor& cotangent, size_t) {
  const auto& a = c.attributes.as<ToDeviceAttributes>();
  return moved(cotangent, Device(a.from), Device(a.device), true);
}

}  // namespace

const ir::Primitive& to_device_primitive() {
  static const ir::Primitive& primitive =
      declare({.primitive = {.name = "to_device",
                             .summary = "x on another device.",
                             .oracle = "x itself",
                             .attributes = &ir::schema_of<ToDeviceAttributes>(),
                             .operands = ir::exactly(1),
                             .numerics = {.accuracy = ir::Accuracy::exact},
                             .infer = infer_to_device,
                             .result_place = place_in,
                             .index_map = ir::identity_map},
               .rules = {.transposes = {{{}, moved_back}},
                         .batching = {[](const auto& attributes, auto operands, const auto&) {
                           return apply_all(to_device_primitive(), operands, attributes);
                         }}},
               .evaluator = move_now,
               .serves_devices = true});
  return primitive;
}

// A trace that does not run what it records may not know where its tensors will be.
Tensor to_device(const Tensor& x, Device device) {
  const Call call("to_device", x);
  const bool is_known = !x.is_traced() || x.traced().knows_device;
  if (is_known && x.device() == device && !x.is_unplaced()) return x;
  return moved(x, device, x.device(), false);
}

Tensor indices_beside(const Tensor& x, const Tensor& indices) {
  const Device device = x.device();
  const bool meet = device.is_cpu() || !indices.device().is_cpu() || indices.is_unplaced();
  return meet ? indices : to_device(indices, device);
}

Tensor constants(std::span<const double> numbers) {
  return Tensor(Array::of(numbers, {static_cast<int64_t>(numbers.size())}).unplaced());
}

Tensor made_on(Device device, const Tensor& made) {
  return made.device() == device ? made : moved(made, device, made.device(), true);
}

Tensor on_default_device(const Tensor& made) { return made_on(default_device(), made); }

void register_to_device() { to_device_primitive(); }

}  // namespace plait
