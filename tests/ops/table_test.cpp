// What every primitive of the table must have.

#include <gtest/gtest.h>

#include "plait/ops/declare.h"

namespace plait {
namespace {

// Those that compute; the trace's own placeholder for a capture does not.
std::vector<const ir::Primitive*> operations() {
  register_all();
  std::vector<const ir::Primitive*> operations;
  for (const ir::Primitive* primitive : ir::primitives()) {
    const bool computes = primitive->structure == ir::Structure::machine;
    if (computes && !primitive->is_stand_in) operations.push_back(primitive);
  }
  return operations;
}

TEST(Table, EveryPrimitiveIsDocumented) {
  for (const ir::Primitive* primitive : operations()) {
    EXPECT_FALSE(primitive->summary.empty()) << primitive->name;
  }
}

TEST(Table, EveryPrimitiveHasADerivativeOrSaysWhyNot) {
  for (const ir::Primitive* primitive : operations()) {
    const Rules* rules = find_rules(*primitive);
    ASSERT_NE(rules, nullptr) << primitive->name;
    const bool has_rule = rules->has_derivative() || !rules->not_differentiable.empty();
    EXPECT_TRUE(has_rule) << primitive->name;
  }
}

TEST(Table, EveryPrimitiveWithOperandsCanBeBatched) {
  for (const ir::Primitive* primitive : operations()) {
    if (primitive->operands.most == 0) continue;
    const Rules* rules = find_rules(*primitive);
    ASSERT_NE(rules, nullptr) << primitive->name;
    const bool has_signature =
        primitive->elementwise != ir::Elementwise::no || primitive->signature != nullptr;
    const bool can = has_signature || rules->batching.of != nullptr;
    EXPECT_TRUE(can) << primitive->name;
  }
}

}  // namespace
}  // namespace plait
