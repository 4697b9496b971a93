#include "plait/ops/arrays/to_device.h"

#include "plait/ir/inference.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

Device device_in(const ir::Attributes& attributes) {
  return Device(attributes.as<ToDeviceAttributes>().device);
}

void infer_to_device(ir::Inference& in) {
  const auto& a = in.attributes_as<ToDeviceAttributes>();
  for (const std::string& name : {a.device, a.from}) (void)Device(name);
  in.give(in.array().without_sharding());
}

void move_now(KernelCall& call, const void*) {
  const Array& x = call.operands[0];
  call.results[0] = x.dtype() == DType::key ? x : x.on(device_in(call.attributes));
}

Tensor moved(const Tensor& x, Device to, Device from) {
  return apply(to_device_primitive(), {x},
               ir::Attributes::of(ToDeviceAttributes{text_of(to), text_of(from)}));
}

}  // namespace

const ir::Primitive& to_device_primitive() {
  static const ir::Primitive& primitive = declare(
      {.primitive = {.name = "to_device",
                     .summary = "x on another device.",
                     .oracle = "x itself",
                     .attributes = &ir::schema_of<ToDeviceAttributes>(),
                     .operands = ir::exactly(1),
                     .numerics = {.accuracy = ir::Accuracy::exact},
                     .infer = infer_to_device,
                     .result_device = device_in,
                     .index_map = ir::identity_map},
       .rules = {.transposes = {{{},
                                 [](const RuleContext& c, const Tensor& cotangent, size_t) {
                                   const auto& a = c.attributes.as<ToDeviceAttributes>();
                                   return moved(cotangent, Device(a.from), Device(a.device));
                                 }}},
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
  const bool is_known = !x.is_traced() || x.traced().is_placed;
  if (is_known && x.device() == device) return x;
  return moved(x, device, x.device());
}

Tensor on_default_device(Tensor made) {
  const Device device = default_device();
  if (made.is_traced() ? device.is_cpu() : made.device() == device) return made;
  return moved(made, device, Device());
}

void register_to_device() { to_device_primitive(); }

}  // namespace plait
