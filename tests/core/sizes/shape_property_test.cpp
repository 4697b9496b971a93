#include <algorithm>
#include <optional>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "plait/core/error.h"
#include "plait/core/sizes/shape.h"
#include "plait/core/sizes/size_facts.h"

#include "tests/core/sizes/size_program.h"

namespace plait {
namespace {

Dim any_size() {
  switch (*rc::gen::inRange(0, 4)) {
    case 0: return *rc::gen::inRange(0, 4);
    case 1: return 1;
    default: return size_symbol(*rc::gen::inRange<size_t>(0, 3)) + *rc::gen::inRange(0, 2);
  }
}

Shape any_shape() {
  Shape shape;
  for (int rank = *rc::gen::inRange(0, 9); rank > 0; --rank) shape.append(any_size());
  return shape;
}

std::optional<std::vector<int64_t>> numpy_broadcast(std::vector<int64_t> a,
                                                    std::vector<int64_t> b) {
  const size_t rank = std::max(a.size(), b.size());
  a.insert(a.begin(), rank - a.size(), 1);
  b.insert(b.begin(), rank - b.size(), 1);
  for (size_t i = 0; i < rank; ++i) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1) return std::nullopt;
    if (a[i] == 1) a[i] = b[i];
  }
  return a;
}

TEST(ShapeProperty, BroadcastAgreesWithNumPyOnTheActualSizes) {
  EXPECT_TRUE(rc::check([] {
    for (int round = 0; round < 30; ++round) {
      const auto size = rc::gen::inRange<int64_t>(0, 3);
      const auto sizes = size_map({*size, *size, *size});
      const Shape a = any_shape(), b = any_shape();
      SizeContext context({}, &sizes);
      const auto wanted = numpy_broadcast(a.evaluate(sizes), b.evaluate(sizes));
      RC_LOG() << a.text() << " and " << b.text() << '\n';
      try {
        const Shape result = broadcast(a, b, context);
        RC_ASSERT((wanted && result.evaluate(sizes) == *wanted));
      } catch (const ShapeError&) {
        RC_ASSERT(!wanted);
      }
      for (const SizeFact& guard : context.guards()) RC_ASSERT(guard.evaluate(sizes));
    }
  }));
}

TEST(ShapeProperty, BehavesAsAVectorOfDims) {
  EXPECT_TRUE(rc::check([] {
    Shape shape;
    std::vector<Dim> model;
    for (int i = *rc::gen::inRange(0, 40); i > 0; --i) {
      const Dim dim = any_size();
      switch (*rc::gen::inRange(0, 4)) {
        case 0: {
          const Shape copy = shape;
          shape = copy;
          break;
        }
        case 1: {
          Shape moved = std::move(shape);
          shape = std::move(moved);
          break;
        }
        case 2:
          if (model.empty()) break;
          shape.set(-1, dim);
          model.back() = dim;
          break;
        default: shape.append(dim); model.push_back(dim);
      }
      RC_ASSERT(std::ranges::equal(shape, model));
    }
  }));
}

}  // namespace
}  // namespace plait
