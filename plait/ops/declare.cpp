#include "plait/ops/declare.h"

#include <mutex>
#include <unordered_map>

namespace plait {
namespace {

struct Functions {
  std::mutex mutex;
  std::unordered_map<const ir::Primitive*, PublicFunction> of;
};
Functions& functions() {
  static Functions instance;
  return instance;
}

}  // namespace

const ir::Primitive& declare(Declaration declaration) {
  const ir::Primitive& primitive = ir::register_primitive(std::move(declaration.primitive));
  register_rules(primitive, std::move(declaration.rules));
  if (declaration.evaluator != nullptr) {
    const Kernel kernel{.run = declaration.evaluator, .finds_types = declaration.finds_types};
    register_kernel(primitive, kernel);
    if (declaration.serves_devices) register_kernel(primitive, kernel, Device::Kind::cuda);
  }
  const std::lock_guard lock(functions().mutex);
  functions().of.emplace(&primitive, declaration.function);
  return primitive;
}

PublicFunction function_of(const ir::Primitive& primitive) {
  const std::lock_guard lock(functions().mutex);
  const auto found = functions().of.find(&primitive);
  return found == functions().of.end() ? PublicFunction{} : found->second;
}

}  // namespace plait
