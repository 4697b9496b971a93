#include "plait/tensor/memory/array.h"

#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "plait/core/error.h"

namespace plait {
namespace {

template <class T>
Array counted(Sizes sizes) {
  Array array = Array::empty(kDTypeOf<T>, std::move(sizes));
  const auto elements = array.writable_elements<T>();
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<T>(static_cast<float>(i));
  return array;
}

template <class T>
std::vector<T> values(const Array& array) {
  const Array dense = array.contiguous();
  const auto elements = dense.elements<T>();
  return {elements.begin(), elements.end()};
}

TEST(Array, HoldsWhatItIsMadeOf) {
  const std::vector<float> numbers{1, 2, 3, 4, 5, 6};
  const Array array = Array::of(std::span<const float>(numbers), {2, 3});
  EXPECT_EQ(array.dtype(), DType::f32);
  EXPECT_EQ(array.sizes(), (Sizes{2, 3}));
  EXPECT_EQ(values<float>(array), numbers);
  EXPECT_EQ(Array::of(2.5).element().number.real(), 2.5);
  EXPECT_THROW(Array::of(std::span<const float>(numbers), {7}), ShapeError);
  EXPECT_THROW(array.element(), ValueError);
  EXPECT_THROW(array.elements<double>(), TypeError);
  EXPECT_THROW(array.view(array.layout().reversed(0)).elements<float>(), ValueError);
}

TEST(Array, FilledHoldsTheSameEverywhere) {
  for (const Sizes& sizes : {Sizes{}, Sizes{0}, Sizes{1}, Sizes{3, 5}, Sizes{1000, 1001}}) {
    const Array array = Array::filled(DType::i16, sizes, Element::of_signed(-3));
    for (const int16_t value : array.elements<int16_t>()) ASSERT_EQ(value, -3);
  }
}

TEST(Array, LiteralsGoThereAndBack) {
  const Literal scalar = Literal::scalar(DType::bf16, 1.5);
  EXPECT_EQ(Array::of(scalar).literal(), scalar);
  const Literal splat = Literal::splat({2, 3}, scalar);
  EXPECT_EQ(Array::of(splat).literal(), splat);
  const Array array = counted<int32_t>({2, 3});
  EXPECT_EQ(Array::of(array.literal()).literal(), array.literal());
}

TEST(Array, ViewsShareAndCopiesDoNot) {
  Array array = counted<int32_t>({2, 3});
  EXPECT_TRUE(array.is_writable());
  const Array turned = array.view(array.layout().permuted(std::vector<int64_t>{1, 0}));
  EXPECT_FALSE(array.is_writable());
  EXPECT_EQ(turned.buffer(), array.buffer());
  EXPECT_EQ(values<int32_t>(turned), (std::vector<int32_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_FALSE(turned.copy().buffer() == array.buffer());
  EXPECT_EQ(array.reshaped({6}).buffer(), array.buffer());
  EXPECT_FALSE(turned.reshaped({6}).buffer() == array.buffer());
  EXPECT_EQ(values<int32_t>(turned.reshaped({6})), values<int32_t>(turned));
}

// Every kind of view is copied as its indices say, for elements of each size.
template <class T>
void check_copies() {
  const auto at = [](const Array& array, const std::vector<int64_t>& index) {
    int64_t place = array.layout().offset;
    for (size_t i = 0; i < index.size(); ++i) place += index[i] * array.layout().strides[i];
    T value;
    std::memcpy(&value, array.buffer().data() + place * array.element_size(), sizeof value);
    return value;
  };
  const Array cube = counted<T>({7, 41, 70});
  const Layout& layout = cube.layout();
  for (const Layout& each :
       {layout.permuted(std::vector<int64_t>{2, 0, 1}),
        layout.permuted(std::vector<int64_t>{0, 2, 1}),
        layout.permuted(std::vector<int64_t>{1, 2, 0}), layout.reversed(0).reversed(2),
        layout.sliced(1, {.step = 3}).sliced(2, {.start = 5, .step = -2}),
        layout.picked(1, 3).broadcast_to(Sizes{4, 7, 70}),
        layout.picked(2, 3).expanded(2).broadcast_to(Sizes{7, 41, 9})}) {
    const Array view = cube.view(each);
    const Array copy = view.copy();
    ASSERT_TRUE(copy.is_contiguous());
    for (int64_t i = 0; i < each.sizes[0]; ++i) {
      for (int64_t j = 0; j < each.sizes[1]; ++j) {
        for (int64_t k = 0; k < each.sizes[2]; ++k) {
          ASSERT_EQ(at(copy, {i, j, k}), at(view, {i, j, k})) << i << ' ' << j << ' ' << k;
        }
      }
    }
  }
}

TEST(Array, AnyLayoutIsCopiedAsItsIndicesSay) {
  check_copies<uint8_t>();
  check_copies<int16_t>();
  check_copies<float>();
  check_copies<double>();
  check_copies<std::complex<double>>();
}

TEST(Array, LargeCopiesAreWhole) {
  const Array square = counted<float>({1500, 1100});
  const Array turned = square.view(square.layout().permuted(std::vector<int64_t>{1, 0})).copy();
  const auto from = square.elements<float>(), to = turned.elements<float>();
  for (size_t i = 0; i < 1500; ++i) {
    for (size_t j = 0; j < 1100; ++j) ASSERT_EQ(to[j * 1500 + i], from[i * 1100 + j]);
  }
  EXPECT_EQ(values<float>(square.copy()), values<float>(square));
}

TEST(Array, Converts) {
  const Array array = counted<float>({300, 500});
  const Array integers = array.view(array.layout().reversed(1)).converted(DType::i64);
  EXPECT_EQ(integers.elements<int64_t>()[0], 499);
  EXPECT_EQ(integers.elements<int64_t>()[149'999], 149'500);
  EXPECT_EQ(array.converted(DType::f32).buffer(), array.buffer());
}

TEST(Array, BorrowsWithinWhatIsLent) {
  const int32_t numbers[] = {1, 2, 3, 4};
  int released = 0;
  {
    const Array array = Array::borrow(DType::i32, Layout::contiguous({2, 2}), numbers,
                                      sizeof numbers, [&] { ++released; });
    EXPECT_EQ(values<int32_t>(array), (std::vector<int32_t>{1, 2, 3, 4}));
    EXPECT_FALSE(array.is_writable());
  }
  EXPECT_EQ(released, 1);
  const auto borrow = [&](const Layout& layout) {
    Array::borrow(DType::i32, layout, numbers, sizeof numbers, [] {});
  };
  EXPECT_THROW(borrow(Layout::contiguous({5})), ShapeError);
  EXPECT_THROW(borrow({.sizes = {2}, .strides = {-1}, .offset = 0}), ShapeError);
  EXPECT_NO_THROW(borrow({.sizes = {2}, .strides = {-3}, .offset = 3}));
  EXPECT_NO_THROW(borrow({.sizes = {0}, .strides = {100}, .offset = 0}));
}

TEST(ArrayText, LooksLikeNumPyWithTheType) {
  const auto text = [](const std::vector<double>& numbers, Sizes sizes) {
    return text_of(Array::of(std::span<const double>(numbers), std::move(sizes)));
  };
  EXPECT_EQ(text({1, 2, 3, 4}, {2, 2}), "[[1. 2.]\n [3. 4.]] : f64[2, 2]");
  EXPECT_EQ(text({0.5}, {}), "0.5 : f64[]");
  EXPECT_EQ(text({}, {0}), "[] : f64[0]");
  EXPECT_EQ(text({-1.25, 10}, {2}), "[-1.25 10.  ] : f64[2]");
  EXPECT_EQ(text({1e-7, 1}, {2}), "[1.e-07 1.e+00] : f64[2]");
  EXPECT_EQ(text({1.0 / 3, 2}, {2}), "[0.33333333 2.        ] : f64[2]");
  EXPECT_EQ(text({NAN, -INFINITY, 1}, {3}), "[ nan -inf   1.] : f64[3]");
  EXPECT_EQ(text_of(Array::of(0.1F)), "0.1 : f32[]");
  EXPECT_EQ(text_of(counted<int32_t>({11})), "[ 0  1  2  3  4  5  6  7  8  9 10] : i32[11]");
  EXPECT_EQ(text_of(counted<float>({2, 1, 2})), "[[[0. 1.]]\n\n [[2. 3.]]] : f32[2, 1, 2]");
  const bool truths[] = {true, false};
  EXPECT_EQ(text_of(Array::of(std::span<const bool>(truths), {2})), "[ True False] : bool[2]");
  EXPECT_EQ(text_of(Array::of(std::span<const bool>(truths).first(1), {1})), "[ True] : bool[1]");
  EXPECT_EQ(text_of(Array::of(-std::numeric_limits<float>::quiet_NaN())), "nan : f32[]");
  EXPECT_EQ(text_of(Array::of(std::complex<float>(1, -2.5F))), "1.-2.5j : c64[]");
}

TEST(ArrayText, LargeArraysAreCutAndLongRowsWrapped) {
  EXPECT_EQ(text_of(counted<int32_t>({2000})), "[   0    1    2 ... 1997 1998 1999] : i32[2000]");
  const std::string text = text_of(counted<int32_t>({100, 100}));
  EXPECT_EQ(text.substr(0, text.find('\n')), "[[   0    1    2 ...   97   98   99]");
  EXPECT_NE(text.find("\n ...\n"), std::string::npos) << text;
  const std::string row = text_of(counted<int32_t>({40}));
  EXPECT_EQ(row.find('\n'), 72u) << row;
}

}  // namespace
}  // namespace plait
