// What every primitive of the table must have.
#include <algorithm>

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
    if (computes && primitive->name != "capture") operations.push_back(primitive);
  }
  return operations;
}

bool is_one_of(const std::vector<std::string_view>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

TEST(Table, EveryPrimitiveIsDocumented) {
  for (const ir::Primitive* primitive : operations()) {
    EXPECT_FALSE(primitive->summary.empty()) << primitive->name;
  }
}

TEST(Table, EveryPrimitiveHasADerivativeOrSaysWhyNot) {
  const std::vector<std::string_view> missing{"reduce_product", "reduce_maximum", "reduce_minimum"};
  for (const ir::Primitive* primitive : operations()) {
    const Rules* rules = find_rules(*primitive);
    ASSERT_NE(rules, nullptr) << primitive->name;
    const bool has_rule = rules->has_derivative() || !rules->not_differentiable.empty();
    EXPECT_EQ(has_rule, !is_one_of(missing, primitive->name)) << primitive->name;
  }
}

TEST(Table, EveryPrimitiveWithOperandsCanBeBatched) {
  const std::vector<std::string_view> missing{"broadcast", "concat",  "convert",
                                              "pad",       "reshape", "slice"};
  for (const ir::Primitive* primitive : operations()) {
    if (primitive->operands.most == 0) continue;
    const Rules* rules = find_rules(*primitive);
    ASSERT_NE(rules, nullptr) << primitive->name;
    const bool has_signature =
        primitive->elementwise != ir::Elementwise::no || primitive->signature != nullptr;
    const bool can = has_signature || rules->batching.of != nullptr;
    EXPECT_EQ(can, !is_one_of(missing, primitive->name)) << primitive->name;
  }
}

}  // namespace
}  // namespace plait
