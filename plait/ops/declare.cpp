#include "plait/ops/declare.h"

namespace plait {

const ir::Primitive& declare(Declaration declaration) {
  const ir::Primitive& primitive = ir::register_primitive(std::move(declaration.primitive));
  register_rules(primitive, std::move(declaration.rules));
  if (declaration.evaluator != nullptr) {
    register_kernel(primitive,
                    {.run = declaration.evaluator, .finds_types = declaration.finds_types});
  }
  return primitive;
}

}  // namespace plait
