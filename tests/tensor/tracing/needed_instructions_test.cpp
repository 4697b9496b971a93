// Which recorded instructions are computed when a value is read.
#include "plait/tensor/inside/tracing/needed_instructions.h"

#include <gtest/gtest.h>

#include "plait/ops/register_all.h"

namespace plait {
namespace {

const ir::Type kScalar = ir::Type::array(DType::f32, {});

// A function of x, whose value is known. Calls of @g may have effects, since it is not finished.
class NeededInstructionsTest : public testing::Test {
 protected:
  NeededInstructionsTest() {
    register_all();
    function_.program()->declare("g", {.parameters = {kScalar}, .results = {kScalar}});
    x_ = function_.builder().parameter(kScalar);
    know(x_);
  }

  void know(ir::ValueId value) {
    values_.add(value,
                std::make_shared<Tensor>(Array::filled(DType::f32, {}, Element::of_signed(1))));
  }
  ir::ValueId pure(ir::ValueId operand) { return function_.builder().add("sin", {operand}); }
  ir::ValueId with_effects(ir::ValueId operand) { return function_.builder().call("g", {operand}); }
  NeededInstructions needed(uint32_t effects_until = 0) const {
    return {function_, values_, effects_until};
  }

  OpenFunction function_{"f", std::make_shared<TraceProgram>(), nullptr};
  PendingValues values_;
  ir::ValueId x_ = 0;
};

using Indices = std::set<uint32_t>;
using Ids = std::set<ir::ValueId>;

TEST_F(NeededInstructionsTest, OnlyThoseOfAValue) {
  pure(x_);
  with_effects(x_);
  const ir::ValueId inner = pure(x_), value = pure(inner);
  NeededInstructions found = needed();
  found.add({value});
  EXPECT_EQ(found.instructions(), (Indices{2, 3}));
  EXPECT_EQ(found.known(), (Ids{x_}));
  EXPECT_EQ(found.effects_until(), 0u);
}

TEST_F(NeededInstructionsTest, EarlierEffectsComeFirst) {
  with_effects(pure(x_));
  pure(x_);
  const ir::ValueId value = with_effects(x_);
  with_effects(x_);
  NeededInstructions found = needed();
  found.add({value});
  EXPECT_EQ(found.instructions(), (Indices{0, 1, 3}));
  EXPECT_EQ(found.effects_until(), 4u);
  found.add_all_effects();
  EXPECT_EQ(found.instructions(), (Indices{0, 1, 3, 4}));
  EXPECT_EQ(found.effects_until(), 5u);
}

TEST_F(NeededInstructionsTest, EffectsHappenOnce) {
  with_effects(x_);
  with_effects(x_);
  NeededInstructions found = needed(1);
  found.add_all_effects();
  EXPECT_EQ(found.instructions(), (Indices{1}));
}

TEST_F(NeededInstructionsTest, EndAtWhatIsKnown) {
  const ir::ValueId computed = pure(with_effects(x_));
  know(computed);
  const Tensor outside(Array::filled(DType::f32, {}, Element::of_signed(2)));
  const ir::ValueId captured = function_.capture(outside.identity(), outside);
  const ir::ValueId value = function_.builder().add("add", {computed, captured});
  NeededInstructions found = needed();
  found.add({value});
  EXPECT_EQ(found.instructions(), (Indices{3}));
  EXPECT_EQ(found.known(), (Ids{computed, captured}));
}

}  // namespace
}  // namespace plait
