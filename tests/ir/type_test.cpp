#include "plait/ir/type.h"

#include <gtest/gtest.h>

#include "plait/core/error.h"

#include "tests/support/sizes.h"

namespace plait::ir {
namespace {

TEST(Type, PrintsAsTheSpecificationSays) {
  EXPECT_EQ(Type::array(DType::f32, {n, 784}).text(), "f32[n, 784]");
  EXPECT_EQ(Type::scalar(DType::key).text(), "key[]");
  EXPECT_EQ(Type::array(DType::f32, {n}, {"model", "data"}).text(), "f32[n]^{data, model}");
  Sharding sharding{{{"data"}, {"model", "x"}}, {"y"}};
  EXPECT_EQ(Type::array(DType::bf16, {n, m}, {}, sharding).text(),
            "bf16[n @data, m @(model, x)]+{y}");
  EXPECT_EQ(Type::tuple({Type::scalar(DType::f32), Type::scalar(DType::boolean)}).text(),
            "(f32[], bool[])");
  EXPECT_EQ(Type::optional(Type::record("tape", {n, 2 * m})).text(), "@tape<n, 2*m>?");
  EXPECT_EQ(Type().text(), "none");
}

TEST(Type, EqualityIsStructural) {
  EXPECT_EQ(Type::array(DType::f32, {n + 1}), Type::array(DType::f32, {1 + n}));
  EXPECT_NE(Type::array(DType::f32, {n}), Type::array(DType::f64, {n}));
  EXPECT_NE(Type::array(DType::f32, {n}), Type::array(DType::f32, {m}));
  EXPECT_NE(Type::array(DType::f32, {n}), Type::array(DType::f32, {n}, {"data"}));
  EXPECT_NE(Type::record("a"), Type::record("b"));
  EXPECT_NE(Type::optional(Type::record("a")), Type::record("a"));
  EXPECT_NE(Type(), Type::scalar(DType::f32));
  EXPECT_EQ(Type::array(DType::f32, {n + 1}).hash(), Type::array(DType::f32, {1 + n}).hash());
}

TEST(Type, ShardingsDoNotKeepTypesFromFitting) {
  Type plain = Type::array(DType::f32, {n});
  Type split = Type::array(DType::f32, {n}, {}, {{{"data"}}, {}});
  EXPECT_NE(plain, split);
  EXPECT_TRUE(fits(split, plain));
  EXPECT_TRUE(fits(Type::tuple({plain}), Type::tuple({split})));
  EXPECT_FALSE(fits(plain, Type::array(DType::f32, {n}, {"data"})));
}

TEST(Type, SubstitutesSizesSimultaneously) {
  Type type =
      Type::tuple({Type::array(DType::f32, {n, m}), Type::optional(Type::record("r", {n}))});
  EXPECT_EQ(type.substitute({{n, m}, {m, n}}).text(), "(f32[m, n], @r<m>?)");
  EXPECT_EQ(type.substitute({{n, 3}}).text(), "(f32[3, m], @r<3>?)");
}

TEST(Type, AsksForTheRightKind) {
  EXPECT_THROW((void)Type::tuple({}).dtype(), TypeError);
  EXPECT_THROW((void)Type::scalar(DType::f32).element(), TypeError);
  EXPECT_THROW((void)Type().shape(), TypeError);
  EXPECT_THROW(Type::optional({}), TypeError);
  EXPECT_THROW(Type::array(DType::f32, {n, m}, {}, {{{"data"}}, {}}), ShapeError);
}

TEST(Type, VaryingReachesEveryArrayInside) {
  Type type = Type::tuple({Type::scalar(DType::f32), Type::optional(Type::scalar(DType::i64))});
  Type varying = type.with_varying({"data"});
  EXPECT_EQ(varying.text(), "(f32[]^{data}, i64[]^{data}?)");
  EXPECT_EQ(varying.all_varying(), AxisSet{"data"});
  EXPECT_EQ(type.all_varying(), AxisSet{});
}

TEST(RecordType, GivesItsFieldsForArgumentsAndHeldSizes) {
  RecordType tape{"tape",
                  {n},
                  {k},
                  {Type::array(DType::f32, {n, k}), Type::optional(Type::record("tape", {n}))}};
  EXPECT_EQ(tape.text(), "type @tape<n> = <k> {f32[n, k], @tape<n>?}");
  std::vector<Type> fields = tape.fields_of(std::vector<Dim>{m}, std::vector<Dim>{n});
  EXPECT_EQ(fields[0].text(), "f32[m, n]");
  EXPECT_EQ(fields[1].text(), "@tape<m>?");
  EXPECT_THROW(tape.fields_of({}, {}), TypeError);
}

TEST(AxisSet, IsASortedSet) {
  AxisSet axes{"model", "data", "model"};
  EXPECT_EQ(axes.text(), "{data, model}");
  EXPECT_TRUE(axes.contains(AxisSet{"data"}));
  EXPECT_FALSE(AxisSet{"data"}.contains(axes));
  EXPECT_TRUE(axes.intersects(AxisSet{"x", "data"}));
  EXPECT_FALSE(axes.intersects({}));
  axes.erase("data");
  axes.erase("absent");
  EXPECT_EQ(axes, AxisSet{"model"});
}

}  // namespace
}  // namespace plait::ir
