#include "plait/core/sizes/shape.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/core/sizes/size_facts.h"

#include "tests/support/errors.h"
#include "tests/support/sizes.h"

namespace plait {
namespace {

Shape of_rank(size_t rank) {
  Shape shape;
  for (size_t i = 0; i < rank; ++i) shape.append(static_cast<int64_t>(i) + 2);
  return shape;
}

TEST(Shape, AScalarHasRankZero) {
  EXPECT_EQ(Shape().rank(), 0u);
  EXPECT_TRUE(Shape().empty());
  EXPECT_EQ(Shape().text(), "[]");
  EXPECT_EQ(Shape().element_count(), Dim(1));
}

TEST(Shape, CopiesAndMovesInAndOutOfTheHeap) {
  for (const size_t rank : {0, 1, 6, 7, 13}) {
    const Shape shape = of_rank(rank);
    Shape copy = shape;
    EXPECT_EQ(copy, shape);
    if (rank > 0) {
      copy.set(-1, n);
      EXPECT_NE(copy, shape);
      EXPECT_EQ(shape.at(-1), Dim(static_cast<int64_t>(rank) + 1));
    }
    for (const size_t other_rank : {0, 6, 7}) {
      Shape target = of_rank(other_rank);
      target = shape;
      EXPECT_EQ(target, shape);
      Shape source = of_rank(rank), moved = of_rank(other_rank);
      moved = std::move(source);
      EXPECT_EQ(moved, shape);
      source = of_rank(3);  // assignment to a moved-from shape
      source.append(9);
      EXPECT_EQ(source.text(), "[2, 3, 4, 9]");
    }
    Shape& self = copy;
    copy = self;
    EXPECT_EQ(copy.rank(), rank);
  }
}

TEST(Shape, IndicesCountFromEitherEnd) {
  const Shape shape{n, 3, 4};
  EXPECT_EQ(shape[0], n);
  EXPECT_EQ(shape.at(-3), n);
  EXPECT_EQ(shape.at(2), Dim(4));
  EXPECT_EQ(message_of<IndexError>([&] { shape.at(3); }),
            "axis 3 is out of range for [n, 3, 4], whose axes are -3 to 2");
  EXPECT_THROW(shape.at(-4), IndexError);
  EXPECT_THROW(shape[3], IndexError);
  EXPECT_THROW(Shape(shape).set(3, 1), IndexError);
  EXPECT_EQ(message_of<IndexError>([] { Shape().at(0); }),
            "axis 0 is out of range for a scalar, which has no axes");
  EXPECT_THROW(of_rank(9).at(std::numeric_limits<int64_t>::min()), IndexError);
}

TEST(Shape, KnowsItsSizes) {
  const Shape fixed{2, 3}, open{n, 3};
  EXPECT_TRUE(fixed.is_static());
  EXPECT_FALSE(open.is_static());
  EXPECT_EQ(fixed.to_sizes(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(message_of<ValueError>([&] { open.to_sizes(); }),
            "[n, 3]: some of its sizes are symbols");
  EXPECT_EQ(open.element_count(), 3 * n);
  EXPECT_EQ(open.substitute({{n, m + 1}}), (Shape{m + 1, 3}));
  EXPECT_EQ(open.evaluate({{n, 5}}), (std::vector<int64_t>{5, 3}));
  EXPECT_THROW(open.evaluate({}), KeyError);
  EXPECT_EQ(Shape::of_sizes(std::vector<int64_t>{2, 3}), fixed);
}

TEST(Shape, WritesAndHashesByItsText) {
  EXPECT_EQ((Shape{n, 784}).text(), "[n, 784]");
  EXPECT_EQ(fmt::format("{}", Shape{n + 1, 2}), "[n + 1, 2]");
  EXPECT_EQ((Shape{n, 2}).hash(), (Shape{n, 2}).hash());
  EXPECT_NE((Shape{n, 2}).hash(), (Shape{2, n}).hash());
  EXPECT_NE((Shape{}).hash(), (Shape{0}).hash());
  EXPECT_EQ(std::hash<Shape>()(Shape{n, 2}), std::hash<Shape>()(Shape{n, 2}));
  EXPECT_NE(std::hash<Shape>()(Shape{n, 2}), std::hash<Shape>()(Shape{2, n}));
}

TEST(Shape, StridesOfADenseArray) {
  EXPECT_EQ(contiguous_strides(Shape{n, m, 4}), (std::vector<Dim>{4 * m, 4, 1}));
  EXPECT_EQ(contiguous_strides(std::vector<int64_t>{2, 3, 4}), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_EQ(contiguous_strides(std::vector<int64_t>{2, 0, 4}), (std::vector<int64_t>{0, 4, 1}));
  EXPECT_TRUE(contiguous_strides(Shape()).empty());
  EXPECT_THROW(contiguous_strides(std::vector<int64_t>{2, int64_t{1} << 40, int64_t{1} << 40}),
               ValueError);
}

TEST(Broadcast, StretchesLiteralOnes) {
  SizeContext context;
  EXPECT_EQ(broadcast({n, 1, 3}, {4, 1}, context), (Shape{n, 4, 3}));
  EXPECT_EQ(broadcast({}, {n}, context), Shape{n});
  EXPECT_EQ(broadcast({1}, {0}, context), Shape{0});
  EXPECT_EQ(broadcast({n + 1}, {1 + n}, context), Shape{n + 1});
  EXPECT_TRUE(context.guards().empty());
}

TEST(Broadcast, NumbersThatDifferDoNotFit) {
  SizeContext context;
  EXPECT_EQ(message_of<ShapeError>([&] { broadcast({n, 3}, {4}, context); }),
            "[n, 3] and [4] do not broadcast: 3 ≠ 4, and neither is 1");
  EXPECT_THROW(broadcast({0}, {2}, context), ShapeError);
}

TEST(Broadcast, WithoutActualSizesExpressionsMustBeEqual) {
  SizeContext context;
  EXPECT_EQ(broadcast({n, m}, {m, 1}, context), (Shape{n, m}));
  EXPECT_EQ(context.guards(), (std::vector<SizeFact>{{n, SizeFact::equal, m}}));
  EXPECT_EQ(broadcast({n}, {m}, context), Shape{n});  // known now
  EXPECT_EQ(context.guards().size(), 1u);
  EXPECT_EQ(broadcast({n}, {7}, context), Shape{7});
  EXPECT_EQ(context.guards().size(), 2u);
  EXPECT_THROW(broadcast({Dim::symbol("k")}, {Dim::symbol("k") + 2}, context), ShapeError);
}

TEST(Broadcast, ActualSizesDecideAndLeaveGuards) {
  const SymbolMap<int64_t> sizes{{n, 1}, {m, 5}};
  SizeContext context({}, &sizes);
  EXPECT_EQ(broadcast({n}, {m}, context), Shape{m});
  EXPECT_EQ(context.guards(), (std::vector<SizeFact>{{n, SizeFact::equal, 1}}));
  EXPECT_EQ(broadcast({m}, {5}, context), Shape{5});
  EXPECT_EQ(broadcast({m + 2}, {n}, context), Shape{m + 2});
  EXPECT_EQ(context.guards().size(), 2u);
  EXPECT_EQ(message_of<ShapeError>([&] { broadcast({n + 1}, {m}, context); }),
            "[n + 1] and [m] do not broadcast: n + 1 = 2 ≠ m = 5, and neither is 1");
}

TEST(Broadcast, AFailureLeavesTheContextAsItWas) {
  SizeContext context;
  EXPECT_THROW(broadcast({n, 3}, {m, 4}, context), ShapeError);
  EXPECT_TRUE(context.guards().empty());
  EXPECT_TRUE(context.facts().facts().empty());
}

}  // namespace
}  // namespace plait
