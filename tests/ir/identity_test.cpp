#include "plait/ir/analysis/identity.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ir/builder.h"

#include "tests/support/scalar_ops.h"

namespace plait::ir {
namespace {

class IdentityOf : public testing::Test {
 protected:
  void SetUp() override { register_scalar_ops(); }
};

Identity first(std::string_view text) { return identity_of(Program::parse(text), 0); }

constexpr std::string_view kOriginal = R"(
type @list<n> = <k> {f32[n, k], @list<n>?}
func @main<n>(%x: f32[n], %c: i64[], %l: @list<n>?) -> <m> (f32[n], f32[m]) where 1 <= n {
  <k> = as_size %c
  %z = refine %x : f32[k]
  %y = call @twice<n>(%x)
  %d = subtract %y, %x
  return <k> %d, %z
}
func @twice<n>(%x: f32[n]) -> (f32[n]) {
  %y = call @deep<n>(%x)
  return %y
}
func @deep<n>(%x: f32[n]) -> (f32[n]) {
  %y = add %x, %x
  return %y
}
)";

// The original with one replacement, which must be found.
std::string changed(std::string_view from, std::string_view to) {
  std::string text(kOriginal);
  size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  if (place != std::string::npos) text.replace(place, from.size(), to);
  return text;
}

TEST_F(IdentityOf, NamesAndPlacesDoNotCount) {
  constexpr std::string_view renamed = R"(
type @list<rows> = <columns> {f32[rows, columns], @list<rows>?}
func @start<size>(%first: f32[size], %second: i64[], %third: @list<size>?) -> <w> (f32[size], f32[w]) where 1 <= size {
  <a> = as_size %second            ; elsewhere.py:7
  %4 = refine %first : f32[a]
  %5 = call @double<size>(%first)
  %6 = subtract %5, %first
  return <a> %6, %4
}
func @deeper<zz>(%x: f32[zz]) -> (f32[zz]) {
  %y = add %x, %x
  return %y
}
func @double<n>(%x: f32[n]) -> (f32[n]) {
  %y = call @deeper<n>(%x)
  return %y
}
)";
  EXPECT_EQ(first(kOriginal), first(renamed));
  Program a = Program::parse(kOriginal), b = Program::parse(renamed);
  EXPECT_TRUE(same(a, 1, b, 2));
  EXPECT_FALSE(same(a, 1, b, 1));
}

TEST_F(IdentityOf, ChangesWithTheBodyAndTheSignature) {
  std::vector<std::string> others = {
      changed("subtract %y, %x", "subtract %x, %y"),
      changed("subtract %y, %x", "subtract %y, %y"),
      changed("subtract %y, %x", "maximum %y, %x"),
      changed("add %x, %x", "subtract %x, %x"),  // in a callee of a callee
      changed("return <k> %d, %z", "return <k> %y, %z"),
      changed("where 1 <= n", "where 2 <= n"),
      changed(" where 1 <= n", ""),
      changed("f32[n, k], @list", "f64[n, k], @list"),
      changed("%l: @list<n>?", "%l: @list<2*n>?"),
      changed("<k> = as_size", "<j> = as_size %c\n  <k> = as_size"),
      changed("func @main<n>", "func @main<n, extra>"),
  };
  std::set<Identity> seen{first(kOriginal)};
  for (const std::string& other : others) EXPECT_TRUE(seen.insert(first(other)).second) << other;
}

// Two different texts of the same value, for each kind of attribute value.
struct TwoWays {
  std::string a, b;
};

TEST_F(IdentityOf, EachKindOfAttributeCounts) {
  const TwoWays instructions[] = {
      {"%r = literal {value = f32[](1)}", "%r = literal {value = f32[](2)}"},
      {"%r = literal {value = f32[](0)}", "%r = literal {value = f32[](-0)}"},
      {"%r = literal {value = f32[1](1)}", "%r = literal {value = f32[1, 1](1)}"},
      {"%r = size {value = n}", "%r = size {value = n + 1}"},
      {"%r = size {value = n}", "%r = size {value = n, dtype = i32}"},
      {"size_guard {fact = n == 1}", "size_guard {fact = n <= 1}"},
      {"guard %p {expect = true}", "guard %p {expect = false}"},
      {"%r = vary %x {axes = {a}}", "%r = vary %x {axes = {b}}"},
      {"%t = tuple %x, %x\n%r = element %t {index = 0}",
       "%t = tuple %x, %x\n%r = element %t {index = 1}"},
      {"%r = remat @same(%x)", "%r = remat @same(%x) {policy = \"dots\"}"},
      {"%r = remat @same(%x) {policy = \"names\", names = [\"u\"]}",
       "%r = remat @same(%x) {policy = \"names\", names = [\"v\"]}"},
      {"%r = convert %x {dtype = f64}", "%r = convert %x {dtype = bf16}"},
  };
  for (const auto& [a, b] : instructions) {
    auto identity = [](const std::string& body) {
      return first("func @main<n>(%x: f32[], %p: bool[]) -> () over {a: 2, b: 2} {\n" + body +
                   "\nreturn\n}\nfunc @same(%x: f32[]) -> (f32[]) { return %x }\n");
    };
    EXPECT_NE(identity(a), identity(b)) << a << "\n" << b;
    EXPECT_EQ(identity(a), identity(a)) << a;
  }
}

TEST_F(IdentityOf, SizesCountByWhatTheyAre) {
  auto identity = [](std::string_view sizes, std::string_view types) {
    return first(fmt::format("func @f<{}>({}) -> () {{ return }}", sizes, types));
  };
  EXPECT_EQ(identity("n, m", "%x: f32[n, m + 1]"), identity("m, n", "%x: f32[m, n + 1]"));
  EXPECT_NE(identity("n, m", "%x: f32[n, m]"), identity("n, m", "%x: f32[m, n]"));
  EXPECT_NE(identity("n, m", "%x: f32[n, m]"), identity("n, m", "%x: f32[n, n]"));
}

// f calls itself; the others are unrolled versions of it.
constexpr std::string_view kSelf = "func @f(%x: f32[]) -> (f32[]) { %0 = call @f(%x) return %0 }\n";

std::string ring(std::vector<std::string> names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += fmt::format("func @{}(%x: f32[]) -> (f32[]) {{ %0 = call @{}(%x) return %0 }}\n",
                        names[i], names[(i + 1) % names.size()]);
  return text;
}

TEST_F(IdentityOf, RepeatedFunctionsAreTheSame) {
  Identity self = first(kSelf);
  for (const std::string& text :
       {ring({"f", "g"}), ring({"a", "b", "c", "d", "e"}),
        "func @g(%x: f32[]) -> (f32[]) { %0 = call @f(%x) return %0 }\n" + std::string(kSelf),
        "func @g(%x: f32[]) -> (f32[]) { %0 = call @h(%x) return %0 }\n"
        "func @h(%x: f32[]) -> (f32[]) { %0 = call @f(%x) return %0 }\n" +
            ring({"f", "k"})}) {
    Program program = Program::parse(text);
    for (const Identity& identity : identities(program)) EXPECT_EQ(identity, self) << text;
  }
  EXPECT_NE(first("func @f(%x: f32[]) -> (f32[]) { return %x }"), self);
}

constexpr std::string_view kEvenOdd = R"(
func @even(%n: i64[], %p: bool[]) -> (bool[]) {
  %0 = cond @yes, @odd(%p, %n, %p)
  return %0
}
func @odd(%n: i64[], %p: bool[]) -> (bool[]) {
  %0 = cond @no, @even(%p, %n, %p)
  return %0
}
func @yes(%n: i64[], %p: bool[]) -> (bool[]) { return %p }
func @no(%n: i64[], %p: bool[]) -> (bool[]) {
  %0 = equal %p, %p
  return %0
}
)";

TEST_F(IdentityOf, MutualRecursionInAnyOrder) {
  Program program = Program::parse(kEvenOdd);
  std::vector<std::shared_ptr<const Function>> functions(program.functions().begin(),
                                                         program.functions().end());
  std::vector<Identity> known = identities(program);
  EXPECT_EQ(std::set<Identity>(known.begin(), known.end()).size(), 4u);
  std::vector<size_t> order{0, 1, 2, 3};
  do {
    std::vector<std::shared_ptr<const Function>> moved;
    for (size_t i : order) moved.push_back(functions[i]);
    std::vector<Identity> found = identities(Program::of(moved));
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(found[i], known[order[i]]);
  } while (std::next_permutation(order.begin(), order.end()));
}

// All functions are equal except for what the last one does: they differ in their distance from it.
TEST_F(IdentityOf, DifferencesTravelRoundTheRing) {
  std::string text = ring({"a", "b", "c", "d"});
  text.replace(text.rfind("call @a"), 7, "remat @a");
  std::vector<Identity> found = identities(Program::parse(text));
  EXPECT_EQ(std::set<Identity>(found.begin(), found.end()).size(), 4u);
}

// A copy of even and odd that calls the original after one round; and one that differs slightly.
TEST_F(IdentityOf, ComponentsThatRepeatOneThatTheyCall) {
  std::string copy = R"(
func @even1(%n: i64[], %p: bool[]) -> (bool[]) {
  %0 = cond @yes, @odd1(%p, %n, %p)
  return %0
}
func @odd1(%n: i64[], %p: bool[]) -> (bool[]) {
  %0 = cond @no, @even2(%p, %n, %p)
  return %0
}
func @even2(%n: i64[], %p: bool[]) -> (bool[]) {
  %0 = cond @yes, @odd(%p, %n, %p)
  return %0
}
func @twice(%n: i64[], %p: bool[]) -> (bool[], bool[]) {
  %0, %1 = cond @twice, @both(%p, %n, %p)
  return %0, %1
}
func @both(%n: i64[], %p: bool[]) -> (bool[], bool[]) { return %p, %p }
func @twice2(%n: i64[], %p: bool[]) -> (bool[], bool[]) {
  %0, %1 = cond @twice3, @both(%p, %n, %p)
  return %0, %1
}
func @twice3(%n: i64[], %p: bool[]) -> (bool[], bool[]) {
  %0, %1 = cond @twice2, @both(%p, %n, %p)
  return %0, %1
}
)";
  Program program = Program::parse(std::string(kEvenOdd) + copy);
  std::vector<Identity> found = identities(program);
  auto of = [&](std::string_view name) { return found[program.index_of(name)]; };
  EXPECT_EQ(of("even1"), of("even"));
  EXPECT_EQ(of("odd1"), of("odd"));
  EXPECT_EQ(of("even2"), of("even"));
  EXPECT_EQ(of("twice2"), of("twice"));
  EXPECT_EQ(of("twice3"), of("twice"));
  EXPECT_NE(of("even"), of("odd"));
}

// g and h call one another and f: they are unrolled copies of f, or one has another operand.
TEST_F(IdentityOf, ARecursiveComponentMayCallWhatItRepeats) {
  auto text = [](std::string_view g, std::string_view h) {
    return fmt::format(R"(
func @f(%x: f32[]) -> (f32[]) {{
  %0 = call @f(%x)
  %1 = call @f(%0)
  return %1
}}
func @g(%x: f32[]) -> (f32[]) {{
  {}
  return %1
}}
func @h(%x: f32[]) -> (f32[]) {{
  {}
  return %1
}}
)",
                       g, h);
  };
  constexpr std::string_view good = "%0 = call @h(%x) %1 = call @f(%0)";
  constexpr std::string_view back = "%0 = call @f(%x) %1 = call @g(%0)";
  constexpr std::string_view other = "%0 = call @f(%x) %1 = call @g(%x)";
  std::vector<Identity> alike = identities(Program::parse(text(good, back)));
  EXPECT_EQ(alike[1], alike[0]);
  EXPECT_EQ(alike[2], alike[0]);
  std::vector<Identity> unlike = identities(Program::parse(text(good, other)));
  EXPECT_EQ(unlike[0], alike[0]);
  EXPECT_NE(unlike[1], alike[0]);
  EXPECT_NE(unlike[2], alike[0]);
  EXPECT_NE(unlike[1], unlike[2]);
}

TEST_F(IdentityOf, LiteralsCountByContentOrByBuffer) {
  auto program = [](const Literal& literal) {
    ProgramBuilder builder;
    FunctionBuilder f = builder.function("main");
    ValueId value = f.literal(literal);
    builder.add(f.finish({value}));
    return builder.finish();
  };
  auto fresh = [] {
    return Literal::of_bytes(DType::u8, {4096}, std::vector<std::byte>(4096, std::byte{7}));
  };
  Literal one = fresh(), two = fresh();
  IdentityOptions by_buffer{.literals_by_buffer = true};
  EXPECT_TRUE(same(program(one), 0, program(two), 0));
  EXPECT_TRUE(same(program(one), 0, program(Literal(one)), 0, by_buffer));
  EXPECT_FALSE(same(program(one), 0, program(two), 0, by_buffer));
}

TEST_F(IdentityOf, RefusesAFunctionThatIsNotThere) {
  EXPECT_THROW(identity_of(Program::parse(kSelf), 1), IndexError);
  EXPECT_THROW(identity_of(Program(), 0), IndexError);
}

}  // namespace
}  // namespace plait::ir
