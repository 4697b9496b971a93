// Outlining parts of functions.
#include "plait/ir/rewriting/outline.h"

#include <gtest/gtest.h>

#include "plait/ir/analysis/verify.h"

#include "tests/ir/evaluator_fixture.h"
#include "tests/support/programs/outlined.h"

namespace plait::ir {
namespace {

class Outlining : public testing::Test {
 protected:
  void SetUp() override { register_scalar_ops(); }
  static std::string outlined_text(std::string_view text, const std::vector<Part>& parts) {
    const Program program = outlined(Program::parse(text), parts);
    verify(program);
    EXPECT_EQ(Program::parse(program.text()).text(), program.text());
    return program.text();
  }
};

TEST_F(Outlining, TakesWhatItUsesAndGivesWhatIsUsed) {
  EXPECT_EQ(outlined_text(R"(plait 1

func @main(%x: f64[], %y: f64[]) -> (f64[], f64[]) {
  %a = add %x, %y : f64[]
  %b = multiply %a, %x : f64[]
  %c = negate %b : f64[]
  %d = add %c, %a : f64[]
  return %d, %c
}
)",
                          {{1, 3, "part"}}),
            R"(plait 1

func @main(%x: f64[], %y: f64[]) -> (f64[], f64[]) {
  %a = add %x, %y : f64[]
  %c = call @part(%a, %x) : f64[]
  %d = add %c, %a : f64[]
  return %d, %c
}

func @part(%p0: f64[], %p1: f64[]) -> (f64[]) {
  %b = multiply %p0, %p1 : f64[]
  %c = negate %b : f64[]
  return %c
}
)");
}

TEST_F(Outlining, AlikePartsAreOneFunction) {
  EXPECT_EQ(outlined_text(R"(plait 1

func @main(%x: f64[]) -> (f64[]) {
  %0 = negate %x : f64[]
  %1 = add %0, %0 : f64[]
  %2 = negate %1 : f64[]
  %3 = add %2, %2 : f64[]
  %4 = negate %3 : f64[]
  %5 = add %4, %4 : f64[]
  %6 = add %5, %0 : f64[]
  return %6
}
)",
                          {{0, 2, "part"}, {2, 4, "part"}, {4, 6, "part"}}),
            R"(plait 1

func @main(%x: f64[]) -> (f64[]) {
  %0, %1 = call @part(%x) : f64[], f64[]
  %2 = call @part.1(%1) : f64[]
  %3 = call @part.1(%2) : f64[]
  %4 = add %3, %0 : f64[]
  return %4
}

func @part(%p0: f64[]) -> (f64[], f64[]) {
  %0 = negate %p0 : f64[]
  %1 = add %0, %0 : f64[]
  return %0, %1
}

func @part.1(%p0: f64[]) -> (f64[]) {
  %0 = negate %p0 : f64[]
  %1 = add %0, %0 : f64[]
  return %1
}
)");
}

TEST_F(Outlining, PartsLieWithinParts) {
  const std::string text = outlined_text(R"(plait 1

func @main(%x: f64[]) -> (f64[]) {
  %0 = negate %x : f64[]
  %1 = add %0, %x : f64[]
  %2 = multiply %1, %x : f64[]
  return %2
}
)",
                                         {{1, 2, "inner"}, {1, 3, "middle"}, {1, 3, "outer"}});
  EXPECT_NE(text.find("  %1 = call @outer(%0, %x)"), std::string::npos) << text;
  EXPECT_NE(text.find("  %0 = call @middle(%p0, %p1)"), std::string::npos) << text;
  EXPECT_NE(text.find("  %0 = call @inner(%p0, %p1)"), std::string::npos) << text;
}

TEST_F(Outlining, SizesGoInAndOut) {
  const std::string text = outlined_text(R"(plait 1

func @main<n, m>(%x: f64[n], %y: f64[m], %c: i64[]) -> <k> (f64[k], i64[]) where m <= n {
  <k> = as_size %c
  %s = size {value = k + n} : i64[]
  %z = refine %x : f64[k]
  %t = size {value = m + 1} : i64[]
  return <k> %z, %t
}
)",
                                         {{0, 3, "first"}, {3, 4, "second"}});
  EXPECT_NE(text.find("<k> %z = call @first<n>(%c, %x) : f64[k]"), std::string::npos) << text;
  // A tensor is passed only because it has the size as a dimension.
  EXPECT_NE(text.find("%t = call @second<m>(%y) : i64[]"), std::string::npos) << text;
}

TEST_F(Outlining, KeepsPartsWhoseSizesCannotBeInferred) {
  const std::string text = outlined_text(R"(plait 1

func @main<n>(%x: f64[2*n]) -> (i64[]) {
  %t = size {value = n + 1} : i64[]
  return %t
}
)",
                                         {{0, 1, "part"}});
  EXPECT_EQ(text.find("call"), std::string::npos) << text;
}

}  // namespace
}  // namespace plait::ir
