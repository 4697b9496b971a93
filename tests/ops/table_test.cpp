// Requirements for every primitive of the table, and how the table is read. tests/conformance
// (run.py table) checks the oracles.
#include "plait/ops/table.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/ops/inside/primitive_keys.h"

#include "tests/support/errors.h"

namespace plait {
namespace {

Op named(std::string_view name) {
  const std::vector<Op> all = ops();
  const auto found = std::ranges::find(all, name, &Op::name);
  EXPECT_NE(found, all.end()) << name;
  return found == all.end() ? Op{} : *found;
}

bool has(const Op& op, std::string_view rule) {
  return std::ranges::find(op.rules, rule) != op.rules.end();
}

TEST(Table, EveryPrimitiveIsDocumented) {
  const std::vector<Op> all = ops();
  EXPECT_GT(all.size(), 140U);
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &Op::name));
  for (const Op& op : all) {
    EXPECT_FALSE(op.summary.empty()) << op.name;
    EXPECT_FALSE(op.oracle.empty())
        << op.name << ": name in its declaration, after the summary, what it is checked against";
  }
}

TEST(Table, EveryPrimitiveHasADerivativeOrSaysWhyNot) {
  for (const Op& op : ops()) {
    const bool has_derivative = has(op, "partials") || has(op, "transposes") || has(op, "tangents");
    EXPECT_TRUE(has_derivative || !op.not_differentiable.empty()) << op.name;
  }
}

TEST(Table, EveryPrimitiveWithOperandsCanBeBatched) {
  for (const Op& op : ops()) {
    if (op.operands.most == 0) continue;
    EXPECT_TRUE(op.has_signature || has(op, "batching")) << op.name;
  }
}

TEST(Table, LeavesOutInstructionsOfTheIrAndStandIns) {
  const std::vector<Op> all = ops();
  for (const std::string_view name : {"while", "tuple", "capture"}) {
    EXPECT_EQ(std::ranges::find(all, name, &Op::name), all.end()) << name;
  }
}

// A table of a backend.
TEST(PrimitiveKeys, OfEveryRowAreNamesOfPrimitives) {
  using Row = std::pair<std::string_view, int>;
  const std::vector<Row> right = {{"add", 1}, {"log1p", 2}, {"scatter_add", 3}};
  EXPECT_EQ(&with_primitive_keys(right, &Row::first, "a table"), &right);
  const std::vector<std::string_view> misspelt = {"add", "log_1p"};
  expect_contains(what_of<CompileError>([&] {
                    with_primitive_keys(misspelt, std::identity(), "the loops of a test");
                  }),
                  {"the loops of a test: unknown primitive `log_1p`", "a mistake in Plait"});
}

TEST(Table, SaysAllOfAnElementwiseOne) {
  EXPECT_EQ(named("exp").text(),
            "name        exp\n"
            "summary     e to the power of x.\n"
            "operands    1\n"
            "dtypes      floating, complex\n"
            "elementwise same\n"
            "accuracy    function\n"
            "domain      -3 to 3\n"
            "precision   wide\n"
            "loops       signature and body\n"
            "rules       partials\n"
            "oracle      numpy.exp\n");
}

TEST(Table, SaysWhichAttributesMustBeGiven) {
  const Op sort = named("sort");
  ASSERT_EQ(sort.attributes.size(), 3U);
  EXPECT_EQ(sort.attributes[0].name, "axis");
  EXPECT_FALSE(sort.attributes[0].default_value);
  EXPECT_EQ(sort.attributes[1].default_value, "false");
  EXPECT_EQ(named("concat").text().substr(0, 12), "name        ");
  EXPECT_NE(named("concat").text().find("operands    1 or more\n"), std::string::npos);
}

TEST(Table, SaysWhyThereIsNoDerivativeAndWhatHasEffects) {
  EXPECT_EQ(named("argmax").not_differentiable, "returns indices");
  EXPECT_TRUE(named("print").has_effects);
  EXPECT_TRUE(named("all_gather").communicates);
  EXPECT_FALSE(named("exp").has_effects);
  EXPECT_NE(named("argmax").text().find("derivative  none: returns indices\n"), std::string::npos);
}

}  // namespace
}  // namespace plait
