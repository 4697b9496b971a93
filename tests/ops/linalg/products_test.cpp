#include "plait/ops/products/products.h"

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <string>

#include "plait/core/error.h"
#include "plait/ops/inside/products/contraction_order.h"
#include "plait/ops/products/linear.h"

#include "tests/ops/layer_support.h"

namespace plait {
namespace {

// Σ over all values of all letters, product by product. `equation` has an arrow and no dots, and
// all sizes are concrete.
Tensor summed_up(const std::string& equation, const std::vector<Tensor>& operands) {
  const size_t arrow = equation.find("->");
  std::vector<std::string> letters{""};
  for (const char c : equation.substr(0, arrow)) {
    if (c == ',')
      letters.emplace_back();
    else
      letters.back() += c;
  }
  const std::string out = equation.substr(arrow + 2);
  std::map<char, int64_t> sizes, index;
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t axis = 0; axis < letters[i].size(); ++axis) {
      int64_t& size = sizes[letters[i][axis]];
      size = std::max(size, operands[i].shape(static_cast<int64_t>(axis)).number());
    }
  }
  const auto place_in = [&](const std::string& of, const Tensor* x) {
    int64_t place = 0;
    for (size_t axis = 0; axis < of.size(); ++axis) {
      const int64_t size =
          x == nullptr ? sizes[of[axis]] : x->shape(static_cast<int64_t>(axis)).number();
      place = place * size + (size == 1 ? 0 : index[of[axis]]);
    }
    return static_cast<size_t>(place);
  };
  int64_t points = 1;
  for (const auto& [letter, size] : sizes) points *= size;
  Sizes result;
  for (const char letter : out) result.push_back(sizes[letter]);
  std::vector<std::vector<double>> values;
  for (const Tensor& operand : operands) values.push_back(values_of(operand));
  std::vector<double> sums(static_cast<size_t>(element_count_of(result)));
  for (int64_t point = 0; point < points; ++point) {
    int64_t rest = point;
    for (const auto& [letter, size] : sizes) {
      index[letter] = rest % size;
      rest /= size;
    }
    double product = 1;
    for (size_t i = 0; i < operands.size(); ++i) {
      product *= values[i][place_in(letters[i], &operands[i])];
    }
    sums[place_in(out, nullptr)] += product;
  }
  return tensor(sums, result);
}

struct Sum {
  std::string equation;
  std::vector<Sizes> sizes;
};

std::vector<Tensor> operands_of(const Sum& sum) {
  std::vector<Tensor> operands;
  for (const Sizes& sizes : sum.sizes) {
    operands.push_back(wave(sizes, 0.7 + 0.2 * static_cast<double>(operands.size())));
  }
  return operands;
}

TEST(Einsum, IsTheSumOfItsProducts) {
  const std::vector<Sum> sums = {{"ij,jk->ik", {{2, 3}, {3, 4}}},
                                 {"ij,jk->ki", {{2, 3}, {3, 4}}},
                                 {"bij,bjk->bik", {{2, 2, 3}, {2, 3, 4}}},
                                 {"ij->", {{2, 3}}},
                                 {"ij->ji", {{2, 3}}},
                                 {"ij->j", {{2, 3}}},
                                 {"ii->", {{3, 3}}},
                                 {"ii->i", {{3, 3}}},
                                 {"iji->j", {{3, 2, 3}}},
                                 {"iii->i", {{3, 3, 3}}},
                                 {"ijij->ij", {{2, 3, 2, 3}}},
                                 {"i,j->ij", {{2}, {3}}},
                                 {"i,i->", {{4}, {4}}},
                                 {"i,i->i", {{4}, {4}}},
                                 {",i->i", {{}, {3}}},
                                 {"ij,ij->", {{2, 3}, {2, 3}}},
                                 {"ij,kj->ikj", {{2, 3}, {4, 3}}},
                                 {"abc,cd,de->abe", {{2, 3, 4}, {4, 5}, {5, 2}}},
                                 {"ab,bc,cd,da->", {{2, 3}, {3, 4}, {4, 5}, {5, 2}}},
                                 {"ab,ac,ad->bcd", {{2, 3}, {2, 4}, {2, 2}}},
                                 {"ab,b,a,->ab", {{2, 3}, {3}, {2}, {}}},
                                 {"bhqd,bhkd->bhqk", {{2, 2, 3, 4}, {2, 2, 5, 4}}},
                                 {"ij,jk->ik", {{2, 1}, {3, 4}}},  // 1 is broadcast
                                 {"ii,i->i", {{1, 3}, {3}}},
                                 {"ij,jk->ik", {{2, 0}, {0, 4}}},
                                 {"ij,k->jk", {{3, 2}, {4}}}};
  for (const Sum& each : sums) {
    const std::vector<Tensor> operands = operands_of(each);
    SCOPED_TRACE(each.equation);
    expect_same(einsum(each.equation, operands), summed_up(each.equation, operands), 1e-12);
  }
}

TEST(Einsum, ReadsDotsAndImplicitResults) {
  const Tensor a = wave({2, 3, 4}), b = wave({5, 1, 4, 6}, 1.1), m = wave({3, 3});
  expect_same(einsum("...ij,...jk->...ik", {a, b}), matmul(a, b), 1e-12);
  expect_same(einsum("...ij,...jk", {a, b}), matmul(a, b), 1e-12);
  expect_same(einsum("i...->...i", {a}), moveaxis(a, 0, -1), 0);
  expect_same(einsum("...i->...", {a}), sum(a, -1), 1e-12);
  expect_same(einsum("... -> ...", {a}), a, 0);
  expect_same(einsum("ij,jk", {m, m}), matmul(m, m), 1e-12);
  expect_same(einsum("ba", {m}), matrix_transpose(m), 0);
  expect_values(einsum("ii", {m}), {std::sin(0) + std::sin(0.7 * 4) + std::sin(0.7 * 8)});
  expect_same(einsum("i...j->", {a}), sum(a), 1e-12);
  const Tensor i = reshape(arange(6), {2, 3});
  EXPECT_EQ(einsum("ij,kj->ik", {i, i}).text(), "[[ 5 14]\n [14 50]] : i64[2, 2]");
  EXPECT_EQ(einsum("ij->i", {astype(i, DType::i8)}).dtype(), DType::i8);
}

TEST(Einsum, LeavesWhatIsNotOnTheDiagonalAlone) {
  const Tensor m = reshape(doubles({1, NAN, INFINITY, 4}), {2, 2});
  expect_values(einsum("ii->i", {m}), {1, 4});
  expect_values(einsum("ii", {m}), {5});
}

TEST(Einsum, TracedAndWithSymbolicSizes) {
  const Tensor a = wave({4, 4, 3}), b = wave({3, 5});
  const auto f = [](const Tensor& a, const Tensor& b) { return einsum("iij,jk->ki", {a, b}); };
  expect_traced_alike(f, a, b);
  const auto square = [](const Tensor& a) { return einsum("ij,kj,kl->il", {a, a, a}); };
  expect_symbolic_alike(square, {0, 1}, wave({4, 3}));
}

TEST(Einsum, RefusesInvalidEquation) {
  const Tensor m = wave({2, 3});
  EXPECT_THROW(einsum("ij,jk->ik", {m, m}), ShapeError);
  EXPECT_THROW(einsum("ij,jk", {m}), ValueError);
  EXPECT_THROW(einsum("ijk", {m}), ShapeError);
  EXPECT_THROW(einsum("i", {m}), ShapeError);
  EXPECT_THROW(einsum("ij->ijk", {m}), ValueError);
  EXPECT_THROW(einsum("ij->ii", {m}), ValueError);
  EXPECT_THROW(einsum("i.j->ij", {m}), ValueError);
  EXPECT_THROW(einsum("......", {m}), ValueError);
  EXPECT_THROW(einsum("ij->i->j", {m}), ValueError);
  EXPECT_THROW(einsum("i1", {m}), ValueError);
  EXPECT_THROW(einsum("", std::vector<Tensor>{}), ValueError);
}

TEST(ContractionOrder, TakesTheCheaperWay) {
  // Matrix chain [1000, 2] [2, 1000] [1000, 2]: multiplying from the right is best.
  const std::vector<double> sizes{1000, 2, 1000, 2};
  const std::vector<LabelSet> chain{0b0011, 0b0110, 0b1100};
  const auto steps = contraction_order(chain, 0b1001, sizes);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0], (std::pair<size_t, size_t>{1, 2}));
  std::vector<LabelSet> many;
  for (size_t i = 0; i < 12; ++i) many.push_back(LabelSet{3} << i);
  EXPECT_EQ(contraction_order(many, 1, std::vector<double>(16, 2)).size(), 11u);
}

// The list after multiplying two of its entries, with the product at its end; and the number of
// points of the product.
struct Product {
  std::vector<LabelSet> left;
  double points = 1;
};
Product product_of(std::vector<LabelSet> list, size_t a, size_t b, LabelSet result,
                   const std::vector<double>& sizes) {
  const LabelSet both = list[a] | list[b];
  list.erase(list.begin() + static_cast<ptrdiff_t>(std::max(a, b)));
  list.erase(list.begin() + static_cast<ptrdiff_t>(std::min(a, b)));
  for (const LabelSet labels : list) result |= labels;
  list.push_back(both & result);
  Product product{std::move(list)};
  for (size_t i = 0; i < sizes.size(); ++i) product.points *= (both >> i & 1) != 0 ? sizes[i] : 1;
  return product;
}

double least_cost(const std::vector<LabelSet>& list, LabelSet result,
                  const std::vector<double>& sizes) {
  if (list.size() == 1) return 0;
  double least = std::numeric_limits<double>::infinity();
  for (size_t a = 0; a < list.size(); ++a) {
    for (size_t b = a + 1; b < list.size(); ++b) {
      const Product product = product_of(list, a, b, result, sizes);
      least = std::min(least, product.points + least_cost(product.left, result, sizes));
    }
  }
  return least;
}

TEST(ContractionOrder, IsTheCheapestOfAll) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const size_t operands = 3 + random() % 4, labels = 3 + random() % 5;
    std::vector<double> sizes;
    for (size_t i = 0; i < labels; ++i) sizes.push_back(1 + random() % 9);
    std::vector<LabelSet> list;
    for (size_t i = 0; i < operands; ++i) list.push_back(random() % (1U << labels));
    const LabelSet result = random() & random() & ((1U << labels) - 1);
    double cost = 0;
    std::vector<LabelSet> left = list;
    for (const auto& [a, b] : contraction_order(list, result, sizes)) {
      Product product = product_of(std::move(left), a, b, result, sizes);
      cost += product.points;
      left = std::move(product.left);
    }
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(cost, least_cost(list, result, sizes)) << "round " << round;
  }
}

TEST(Products, OfNamedDimensions) {
  const Tensor a = wave({2, 3, 4}), b = wave({3, 4, 5}, 1.1), c = wave({4, 3, 2}, 1.3);
  expect_same(tensordot(a, b), einsum("ijk,jkl->il", {a, b}), 1e-12);
  expect_same(tensordot(a, c, {0, 2}, {2, 0}), einsum("ijk,kli->jl", {a, c}), 1e-12);
  expect_same(tensordot(a, c, {-1}, {0}), einsum("ijk,kml->ijml", {a, c}), 1e-12);
  EXPECT_EQ(tensordot(a, b, 0).shape(), (Shape{2, 3, 4, 3, 4, 5}));
  expect_same(dot(a, wave({4})), matmul(a, wave({4})), 1e-12);
  expect_same(dot(a, wave({5, 4, 2})), einsum("ijk,lkm->ijlm", {a, wave({5, 4, 2})}), 1e-12);
  expect_same(inner(a, wave({5, 4})), einsum("ijk,lk->ijl", {a, wave({5, 4})}), 1e-12);
  expect_same(dot(doubles({1, 2}), doubles({3, 4})), tensor(std::vector<double>{11}, {}), 0);
  expect_same(vecdot(a, wave({1, 4})), sum(a * wave({1, 4}), -1), 1e-12);
  EXPECT_THROW(vecdot(a, wave({3, 1})), ShapeError);  // the contracted dimension is not broadcast
  expect_same(vecdot(a, a, 1), sum(a * a, 1), 1e-12);
  const std::vector<std::complex<double>> i{{0, 1}, {2, 0}};
  EXPECT_EQ(vecdot(tensor(i, {2}), tensor(i, {2})).text(), "5.+0.j : c128[]");
  EXPECT_THROW(tensordot(a, b, {0}, {0}), ShapeError);
  EXPECT_THROW(tensordot(a, b, {0, 0}, {0, 1}), ValueError);
  EXPECT_THROW(tensordot(a, b, 4), ValueError);
  EXPECT_THROW(vecdot(wave({3}), wave({4})), ShapeError);
}

TEST(Products, OfMatrices) {
  const Tensor a = wave({2, 3}), b = wave({3, 4}), nan = full({2, 4}, NAN, DType::f64);
  const Tensor product = matmul(a, b);
  expect_same(addmm(wave({4}), a, b), product + wave({4}), 1e-12);
  expect_same(addmm(wave({4}), a, b, {2, 0.5}), product * 0.5 + wave({4}) * 2, 1e-12);
  expect_same(addmm(nan, a, b, {.beta = 0}), product, 1e-12);
  expect_same(addmm(nan, a, b, {.beta = 0.0}), product, 1e-12);
  EXPECT_EQ(bmm(wave({5, 2, 3}), wave({5, 3, 4})).shape(), (Shape{5, 2, 4}));
  EXPECT_EQ(baddbmm(wave({2, 4}), wave({5, 2, 3}), wave({5, 3, 4})).shape(), (Shape{5, 2, 4}));
  EXPECT_THROW(bmm(wave({1, 2, 3}), wave({5, 3, 4})), ShapeError);
  EXPECT_THROW(bmm(a, b), ShapeError);
  EXPECT_THROW(addmm(wave({3, 2, 4}), a, b), ShapeError);
}

}  // namespace
}  // namespace plait
