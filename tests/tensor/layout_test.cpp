#include "plait/tensor/memory/layout.h"

#include <gtest/gtest.h>

#include "plait/core/error.h"

namespace plait {
namespace {

// The offsets of all indices, in row-major order.
std::vector<int64_t> places_of(const Layout& layout) {
  std::vector<int64_t> places{layout.offset};
  for (size_t axis = 0; axis < layout.rank(); ++axis) {
    std::vector<int64_t> next;
    for (const int64_t place : places) {
      for (int64_t i = 0; i < layout.sizes[axis]; ++i) {
        next.push_back(place + i * layout.strides[axis]);
      }
    }
    places = std::move(next);
  }
  return places;
}

using Places = std::vector<int64_t>;
const Layout kMatrix = Layout::contiguous({2, 3});

TEST(Sizes, GrowBeyondTheInlineOnes) {
  Sizes sizes;
  for (int64_t i = 0; i < 20; ++i) sizes.push_back(i);
  sizes.insert(0, -1);
  sizes.erase(20);
  EXPECT_EQ(sizes.size(), 20u);
  for (int64_t i = 0; i < 20; ++i) EXPECT_EQ(sizes[static_cast<size_t>(i)], i - 1);
  Sizes copy = sizes;
  EXPECT_EQ(copy, sizes);
  copy = Sizes{1, 2};
  EXPECT_EQ(copy, (Sizes{1, 2}));
  copy = std::move(sizes);
  EXPECT_EQ(copy.size(), 20u);
}

TEST(Slice, IsCutOffAtTheEndsAsInPython) {
  const auto range = [](Slice slice, int64_t size) {
    const Slice::Range r = slice.within(size);
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < r.count; ++i) indices.push_back(r.start + i * r.step);
    return indices;
  };
  EXPECT_EQ(range({}, 3), (Places{0, 1, 2}));
  EXPECT_EQ(range({.start = 1, .stop = -1}, 4), (Places{1, 2}));
  EXPECT_EQ(range({.start = -100, .stop = 100}, 2), (Places{0, 1}));
  EXPECT_EQ(range({.step = -1}, 3), (Places{2, 1, 0}));
  EXPECT_EQ(range({.start = 5, .stop = 1, .step = -2}, 5), (Places{4, 2}));
  EXPECT_EQ(range({.step = 2}, 5), (Places{0, 2, 4}));
  EXPECT_EQ(range({.start = 2, .stop = 2}, 5), Places{});
  EXPECT_EQ(range({.start = 3, .stop = 1}, 5), Places{});
  EXPECT_EQ(range({}, 0), Places{});
  const int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(range({.step = least}, 5), Places{4});
  EXPECT_EQ(range({.start = least, .stop = std::numeric_limits<int64_t>::max()}, 2),
            (Places{0, 1}));
  EXPECT_THROW(Slice{.step = 0}.within(3), ValueError);
}

TEST(Layout, ViewsMeanTheSameElements) {
  EXPECT_EQ(places_of(kMatrix), (Places{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(places_of(kMatrix.permuted(std::vector<int64_t>{1, 0})), (Places{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(kMatrix.transposed(), kMatrix.permuted(std::vector<int64_t>{1, 0}));
  EXPECT_THROW(Layout::contiguous({3}).transposed(), ShapeError);
  EXPECT_EQ(places_of(kMatrix.sliced(-1, {.start = 1})), (Places{1, 2, 4, 5}));
  EXPECT_EQ(places_of(kMatrix.sliced(1, {.step = -2})), (Places{2, 0, 5, 3}));
  EXPECT_EQ(places_of(kMatrix.picked(0, -1)), (Places{3, 4, 5}));
  EXPECT_EQ(places_of(kMatrix.picked(1, 2)), (Places{2, 5}));
  EXPECT_EQ(places_of(kMatrix.reversed(0)), (Places{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(kMatrix.expanded(1).sizes, (Sizes{2, 1, 3}));
  EXPECT_EQ(kMatrix.expanded(-1).sizes, (Sizes{2, 3, 1}));
  EXPECT_EQ(kMatrix.expanded(1).picked(1, 0), kMatrix);
  EXPECT_EQ(places_of(kMatrix.broadcast_to(Sizes{2, 2, 3})),
            (Places{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(kMatrix.broadcast_to(Sizes{2, 2, 3}).repeats());
  EXPECT_FALSE(kMatrix.repeats());
}

TEST(Layout, ReshapesWithoutMovingWherePossible) {
  EXPECT_EQ(kMatrix.reshaped({3, 2}), Layout::contiguous({3, 2}));
  EXPECT_EQ(kMatrix.reshaped({1, 6, 1, 1})->sizes, (Sizes{1, 6, 1, 1}));
  const Layout cube = Layout::contiguous({4, 6, 2});
  const Layout cut = cube.sliced(0, {.start = 1, .step = 2});  // [2, 6, 2], gaps after each 12
  EXPECT_EQ(places_of(*cut.reshaped({2, 3, 4})), places_of(cut));
  EXPECT_EQ(places_of(*cut.reshaped({2, 2, 2, 3})), places_of(cut));
  EXPECT_EQ(cut.reshaped({24}), std::nullopt);
  EXPECT_EQ(kMatrix.permuted(std::vector<int64_t>{1, 0}).reshaped({6}), std::nullopt);
  EXPECT_EQ(Layout::contiguous({}).reshaped({1, 1})->sizes, (Sizes{1, 1}));
  EXPECT_EQ(Layout::contiguous({0, 3}).reshaped({7, 0})->sizes, (Sizes{7, 0}));
  EXPECT_THROW(kMatrix.reshaped({4}), ShapeError);
  EXPECT_THROW(kMatrix.reshaped({-2, -3}), ShapeError);
}

TEST(Layout, RefusesWhatDoesNotFit) {
  EXPECT_THROW(kMatrix.sliced(2, {}), IndexError);
  EXPECT_THROW(kMatrix.picked(0, 2), IndexError);
  EXPECT_THROW(kMatrix.picked(0, -3), IndexError);
  EXPECT_THROW(kMatrix.permuted(std::vector<int64_t>{0}), ShapeError);
  EXPECT_THROW(kMatrix.permuted(std::vector<int64_t>{0, 0}), ValueError);
  EXPECT_THROW(kMatrix.broadcast_to(Sizes{2}), ShapeError);
  EXPECT_THROW(kMatrix.broadcast_to(Sizes{4, 3}), ShapeError);
  EXPECT_THROW(Layout::contiguous({int64_t{1} << 40, int64_t{1} << 40}), MemoryError);
  EXPECT_THROW(Layout::contiguous({-1}), ShapeError);
  EXPECT_EQ(Layout::contiguous({0, int64_t{1} << 62, 8}).element_count(), 0);
}

TEST(Layout, KnowsWhetherItLiesInARow) {
  EXPECT_TRUE(kMatrix.is_contiguous());
  EXPECT_TRUE(kMatrix.picked(0, 1).is_contiguous());
  EXPECT_FALSE(kMatrix.picked(1, 1).is_contiguous());
  EXPECT_FALSE(kMatrix.permuted(std::vector<int64_t>{1, 0}).is_contiguous());
  EXPECT_TRUE(kMatrix.sliced(1, {.stop = 0}).is_contiguous());
  EXPECT_TRUE(Layout::contiguous({3, 1}).permuted(std::vector<int64_t>{1, 0}).is_contiguous());
}

TEST(JointLayout, JoinsWhatLiesAlike) {
  const Layout a = Layout::contiguous({4, 1, 3, 2});
  const Layout b = a.broadcast_to(Sizes{4, 1, 3, 2});
  const Layout* same[] = {&a, &b};
  const JointLayout joined(same);
  EXPECT_EQ(joined.sizes, (Sizes{24}));
  EXPECT_EQ(joined.strides[0], (Sizes{1}));
  const Layout row = Layout::contiguous({3, 2}).broadcast_to(Sizes{4, 1, 3, 2});
  const Layout* different[] = {&a, &row};
  const JointLayout two(different);
  EXPECT_EQ(two.sizes, (Sizes{4, 6}));
  EXPECT_EQ(two.strides[1], (Sizes{0, 1}));
}

}  // namespace
}  // namespace plait
