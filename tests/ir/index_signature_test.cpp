#include "plait/ir/index_signature.h"

#include <gtest/gtest.h>

#include "plait/core/error.h"

#include "tests/support/sizes.h"

namespace plait::ir {
namespace {

struct Case {
  std::string_view text;
  std::vector<Shape> operands;
  std::vector<std::string> results;
  std::string points;
  std::map<std::string, Dim> numbers = {}, known = {};
};

IndexSignature read(const Case& c) {
  std::vector<int64_t> ranks;
  for (const Shape& shape : c.operands) ranks.push_back(static_cast<int64_t>(shape.rank()));
  return IndexSignature::parse(c.text, ranks, c.numbers);
}

IndexSpace solve(const Case& c) { return solve(read(c), c.operands, "test", c.known); }

class Solved : public testing::TestWithParam<Case> {};

TEST_P(Solved, GivesShapesAndPoints) {
  IndexSpace space = solve(GetParam());
  std::vector<std::string> shapes;
  for (const Shape& shape : space.result_shapes) shapes.push_back(shape.text());
  EXPECT_EQ(shapes, GetParam().results);
  EXPECT_EQ(space.points().text(), GetParam().points);
}

TEST_P(Solved, ReadsBackWhatItPrints) {
  IndexSignature signature = read(GetParam());
  std::vector<int64_t> ranks;
  for (const Shape& shape : GetParam().operands)
    ranks.push_back(static_cast<int64_t>(shape.rank()));
  std::map<std::string, Dim> symbols{{"n", n}, {"m", m}};
  EXPECT_EQ(IndexSignature::parse(signature.text(), ranks, symbols).text(), signature.text());
}

INSTANTIATE_TEST_SUITE_P(
    IndexSignature, Solved,
    testing::Values(
        Case{"b i k, b k j -> b i j | sum", {{8, n, 3}, {8, 3, 5}}, {"[8, n, 5]"}, "120*n"},
        Case{"... i -> ... | maximum", {{n, m, 4}}, {"[n, m]"}, "4*m*n"},
        Case{"... i -> ... | maximum", {{4}}, {"[]"}, "4"},
        Case{"..., ... -> ...", {{n, 2}, {n, 2}}, {"[n, 2]"}, "2*n"},
        Case{"... -> ..., ...", {{}}, {"[]", "[]"}, "1"},
        Case{"i j -> j i", {{n, m}}, {"[m, n]"}, "m*n"}, Case{"i i -> i", {{n, n}}, {"[n]"}, "n"},
        Case{"i -> 1 i", {{n}}, {"[1, n]"}, "n"}, Case{"1 i -> i", {{1, n}}, {"[n]"}, "n"},
        Case{"(a b) -> a b", {{12}}, {"[3, 4]"}, "12", {}, {{"b", 4}}},
        Case{"(a b) -> a b", {{4 * n}}, {"[n, 4]"}, "4*n", {}, {{"b", 4}}},
        Case{"a b -> (a b)", {{n, 4}}, {"[4*n]"}, "4*n"},
        Case{"n (s*h+i) c, i c o -> n h o | sum",
             {{8, 11, 3}, {3, 3, 16}},
             {"[8, 5, 16]"},
             "5760",
             {{"s", 2}}},
        Case{"x (h+i), i -> x h | sum", {{m, n}, {3}}, {"[m, n - 2]"}, "3*m*n - 6*m"},
        Case{"(i-2)? -> i", {{5}}, {"[9]"}, "9", {}, {{"i", 9}}},
        Case{"(2*i+1) -> i", {{10}}, {"[5]"}, "5"}));

TEST(IndexSignature, ErrorsNameOperationShapesAndSizes) {
  Case inner{"i k, k j -> i j | sum", {{32, 768}, {512, 10}}, {}, ""};
  try {
    solve(inner);
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.message(), "test: sizes of `k` differ: [32, 768] · [512, 10] (768 ≠ 512)");
  }
  EXPECT_THROW(solve({"i i -> i", {{3, n}}, {}, ""}), ShapeError);
  EXPECT_THROW(solve({"1 i -> i", {{2, 3}}, {}, ""}), ShapeError);
  EXPECT_THROW(solve({"(a b) -> a b", {{10}}, {}, "", {}, {{"b", 4}}}), ShapeError);
  EXPECT_THROW(solve({"(a b) -> a b", {{10}}, {}, ""}), ValueError);
  EXPECT_THROW(read({"i j -> i j", {{3}}, {}, ""}), ShapeError);
  EXPECT_THROW(read({"i, j -> i j", {{3}}, {}, ""}), ShapeError);
  EXPECT_THROW(read({"..., ... -> ...", {{3}, {3, 3}}, {}, ""}), ShapeError);
}

TEST(IndexSignature, MalformedTextIsAParseError) {
  for (std::string_view text :
       {"i", "i ->  %", "(i -> i", "i - j -> i", "(i*j) -> i", "i -> i | plenty", "i k -> i",
        "i -> ...", "(3*) -> i", "i -> i | sum extra", "(+) -> i"}) {
    std::vector<int64_t> ranks{text == "i k -> i" ? 2 : 1};
    EXPECT_THROW(IndexSignature::parse(text, ranks), ParseError) << text;
  }
}

TEST(IndexSignature, BatchesChosenOperandsAndAllResults) {
  Case matmul{"i k, k j -> i j | sum", {{2, 3}, {3, 4}}, {}, ""};
  IndexSignature batched = read(matmul).batched({true, false});
  EXPECT_EQ(batched.text(), "batch i k, k j -> batch i j | sum");
  EXPECT_EQ(read(matmul).reduced(), (std::vector<bool>{false, true, false}));
}

}  // namespace
}  // namespace plait::ir
