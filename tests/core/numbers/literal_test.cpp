#include "plait/core/numbers/literal.h"

#include <complex>
#include <limits>
#include <memory>
#include <type_traits>

#include <gtest/gtest.h>

#include "plait/core/error.h"

#include "tests/support/errors.h"

namespace plait {
namespace {

template <class T>
Literal literal_of(DType dtype, std::vector<int64_t> sizes, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return Literal::of_bytes(dtype, std::move(sizes), {bytes.begin(), bytes.end()});
}

TEST(Literal, IsZeroAtFirst) {
  const Literal literal;
  EXPECT_EQ(literal.dtype(), DType::f64);
  EXPECT_TRUE(literal.sizes().empty());
  EXPECT_EQ(literal.element_count(), 1);
  EXPECT_EQ(literal.as_double(0), 0);
  EXPECT_EQ(literal.text(), "f64[](0)");
  EXPECT_EQ(literal, Literal::scalar(DType::f64, 0));
}

TEST(Literal, ScalarsAreRoundedAsACastWould) {
  EXPECT_EQ(Literal::scalar(DType::f32, 0.1).as_double(0), double{0.1f});
  EXPECT_EQ(Literal::scalar(DType::i8, 300.7).as_double(0), 127);
  EXPECT_EQ(Literal::scalar(DType::boolean, 0.5).as_double(0), 1);
  EXPECT_EQ(Literal::scalar(DType::c64, 2.5).text(), "c64[]((2.5+0j))");
  EXPECT_EQ(Literal::scalar(DType::f8e4m3, 448).as_double(0), 448);
  EXPECT_THROW(Literal::scalar(DType::key, 0), TypeError);
}

TEST(Literal, CountsItsBytes) {
  const Literal literal = literal_of<float>(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(literal.element_count(), 6);
  EXPECT_EQ(literal.bytes().size(), 24u);
  EXPECT_EQ(literal.as_double(5), 6);
  EXPECT_EQ(message_of([] { Literal::of_bytes(DType::f32, {2, 3}, std::vector<std::byte>(23)); }),
            "literal f32[2, 3]: 23 bytes given, 24 needed");
  EXPECT_EQ(message_of([] { Literal::of_bytes(DType::f32, {}, {}); }),
            "literal f32[]: 0 bytes given, 4 needed");
  EXPECT_EQ(message_of([] { Literal::of_bytes(DType::f32, {4, -1}, {}); }),
            "literal f32[4, -1]: a size is -1, below 0");
  EXPECT_THROW(Literal::of_bytes(static_cast<DType>(50), {}, {}), TypeError);
}

TEST(Literal, RefusesSizesThatNoMemoryHolds) {
  const int64_t large = int64_t{1} << 61;
  EXPECT_THROW(Literal::of_bytes(DType::f32, {large}, {}), ValueError);
  EXPECT_THROW(Literal::of_bytes(DType::i8, {large, 4}, {}), ValueError);
  EXPECT_THROW(Literal::of_bytes(DType::i8, {0, large, large}, {}), ValueError);
  EXPECT_THROW(Literal::splat({large, large}, Literal()), ValueError);
  EXPECT_EQ(Literal::of_bytes(DType::i8, {0, large}, {}).element_count(), 0);
}

TEST(Literal, RefusesBytesThatAreNoBools) {
  EXPECT_EQ(message_of([] {
              Literal::of_bytes(DType::boolean, {3}, {std::byte{1}, std::byte{0}, std::byte{2}});
            }),
            "literal bool: element 2 is the byte 2; a bool is 0 or 1");
}

TEST(Literal, CopiesShareTheBuffer) {
  const Literal literal = literal_of<int32_t>(DType::i32, {2}, {1, 2});
  const Literal copy = literal;  // NOLINT: the copy is the subject
  EXPECT_EQ(copy.identity(), literal.identity());
  EXPECT_NE(literal_of<int32_t>(DType::i32, {2}, {1, 2}).identity(), literal.identity());
}

TEST(Literal, BorrowedBytesKeepTheirOwner) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2});
  const std::weak_ptr<const void> watched = owner;
  Literal copy;
  {
    const Literal literal =
        Literal::borrow(DType::f32, {2}, std::as_bytes(std::span(*owner)), owner);
    EXPECT_EQ(literal.identity(), owner->data());
    copy = literal;
    owner.reset();
  }
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(copy.as_double(1), 2);
  copy = Literal();
  EXPECT_TRUE(watched.expired());
}

TEST(Literal, AMovedFromLiteralIsZero) {
  static_assert(std::is_nothrow_move_constructible_v<Literal>);
  Literal literal = literal_of<int32_t>(DType::i32, {2}, {1, 2});
  Literal taken = std::move(literal);
  EXPECT_EQ(taken.text(), "i32[2](1, 2)");
  EXPECT_EQ(literal.text(), "f64[](0)");  // NOLINT: the state after the move is the subject
  literal = std::move(taken);
  EXPECT_EQ(literal.text(), "i32[2](1, 2)");
  Literal& same = literal;
  literal = std::move(same);
  EXPECT_EQ(literal.text(), "i32[2](1, 2)");
}

TEST(Literal, SplatsStoreOneElement) {
  const Literal splat = Literal::splat({int64_t{1} << 40}, Literal::scalar(DType::i16, 7));
  EXPECT_TRUE(splat.is_splat());
  EXPECT_EQ(splat.bytes().size(), 2u);
  EXPECT_EQ(splat.element_count(), int64_t{1} << 40);
  EXPECT_EQ(splat.as_double((int64_t{1} << 40) - 1), 7);
  EXPECT_THROW((void)splat.as_double(int64_t{1} << 40), IndexError);
  EXPECT_EQ(splat.text(), "i16[1099511627776](7 ...)");
}

TEST(Literal, SplatsOfOneOrNoElementAreNone) {
  const Literal one = Literal::splat({1, 1}, Literal::scalar(DType::f32, 7));
  EXPECT_FALSE(one.is_splat());
  EXPECT_EQ(one.text(), "f32[1, 1](7)");
  const Literal none = Literal::splat({3, 0}, Literal::scalar(DType::f32, 7));
  EXPECT_FALSE(none.is_splat());
  EXPECT_TRUE(none.bytes().empty());
  EXPECT_EQ(none.text(), "f32[3, 0]()");
}

TEST(Literal, SplatsTakeOneScalar) {
  const Literal two = literal_of<float>(DType::f32, {2}, {1, 1});
  EXPECT_EQ(message_of([&] { Literal::splat({4}, two); }),
            "splat: expected one element, not f32[2] of 2 elements");
  EXPECT_THROW(Literal::splat({-4}, Literal()), ValueError);
  EXPECT_EQ(Literal::splat({2}, Literal::splat({1}, Literal())).sizes(), std::vector<int64_t>{2});
}

TEST(Literal, ElementsOutsideAreIndexErrors) {
  const Literal literal = literal_of<float>(DType::f32, {2}, {1, 2});
  EXPECT_EQ(message_of([&] { (void)literal.as_double(2); }),
            "literal f32[2]: element 2 is out of range");
  EXPECT_THROW((void)literal.as_double(-1), IndexError);
  EXPECT_THROW((void)literal.element_bytes(std::numeric_limits<int64_t>::max()), IndexError);
  const Literal key = Literal::of_bytes(DType::key, {}, std::vector<std::byte>(16));
  EXPECT_THROW((void)key.as_double(0), ValueError);
  EXPECT_EQ(literal_of<std::complex<float>>(DType::c64, {1}, {{3, 4}}).as_double(0), 3);
}

TEST(Literal, EqualityIsOfContentBitByBit) {
  const auto of = [](std::vector<int64_t> sizes, const std::vector<float>& values) {
    return literal_of<float>(DType::f32, std::move(sizes), values);
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(of({2}, {1, nan}), of({2}, {1, nan}));
  EXPECT_NE(of({2}, {1, 0.f}), of({2}, {1, -0.f}));
  EXPECT_NE(of({2}, {1, 2}), of({2, 1}, {1, 2}));
  EXPECT_NE(of({1}, {0}), literal_of<int32_t>(DType::i32, {1}, {0}));
  EXPECT_EQ(of({0}, {}), of({0}, {}));
  EXPECT_NE(of({0}, {}), of({0, 2}, {}));
}

TEST(Literal, ASplatEqualsItsElementsWrittenOut) {
  const Literal splat = Literal::splat({3}, Literal::scalar(DType::f32, 2));
  const Literal dense = literal_of<float>(DType::f32, {3}, {2, 2, 2});
  const Literal other = literal_of<float>(DType::f32, {3}, {2, 2, 3});
  EXPECT_EQ(splat, dense);
  EXPECT_EQ(dense, splat);
  EXPECT_NE(splat, other);
  EXPECT_NE(other, splat);
  EXPECT_NE(splat, Literal::splat({3}, Literal::scalar(DType::f32, 3)));
  EXPECT_EQ(splat.content_hash(), dense.content_hash());
  EXPECT_NE(splat.content_hash(), other.content_hash());
}

TEST(Literal, HashesTellContentsApart) {
  std::vector<Literal> all = {Literal()};
  for (const DType dtype : {DType::i32, DType::u32, DType::f32}) {
    all.push_back(literal_of<int32_t>(dtype, {2}, {0, 0}));
    all.push_back(literal_of<int32_t>(dtype, {2}, {0, 1}));
    all.push_back(literal_of<int32_t>(dtype, {2}, {1, 0}));
    all.push_back(literal_of<int32_t>(dtype, {1, 2}, {1, 0}));
    all.push_back(literal_of<int32_t>(dtype, {2, 1}, {1, 0}));
    all.push_back(literal_of<int32_t>(dtype, {}, {0}));
    all.push_back(literal_of<int32_t>(dtype, {0}, {}));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      EXPECT_NE(all[i].content_hash(), all[j].content_hash()) << all[i].text() << all[j].text();
    }
  }
}

// Files contain these hashes, so they must not change.
TEST(Literal, HashesAreFixed) {
  EXPECT_EQ(Literal::scalar(DType::f32, 3.5).content_hash(), 10580563129891177280u);
  EXPECT_EQ(literal_of<int16_t>(DType::i16, {3}, {1, 2, 3}).content_hash(), 12965928762275433346u);
}

}  // namespace
}  // namespace plait
