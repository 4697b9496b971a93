#include "plait/core/sizes/size_facts.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/core/text.h"

#include "tests/support/errors.h"
#include "tests/support/sizes.h"

namespace plait {
namespace {

SizeFact fact(std::string_view text) { return parse_whole(text, SizeFact::parse); }

SizeFacts facts(std::initializer_list<std::string_view> texts) {
  SizeFacts result;
  for (const std::string_view text : texts) result.add(fact(text));
  return result;
}

TEST(SizeFact, IsReadAndWritten) {
  for (const std::string text : {"n == m", "n%8 == 0", "1 <= n", "n != 1", "n < 2*m + 1"}) {
    EXPECT_EQ(fact(text).text(), text);
  }
  EXPECT_EQ(fact("n >= m").text(), "m <= n");
  EXPECT_EQ(fact("n>m").text(), "m < n");
  EXPECT_EQ(fmt::format("{}", fact("n==m")), "n == m");
  TextReader reader("where n == m, k", 6);
  SizeFact::parse(reader);
  EXPECT_EQ(reader.position(), 12u);
}

TEST(SizeFact, IsWhatComparingSizesGives) {
  EXPECT_EQ((n < m).text(), "n < m");
  EXPECT_EQ((n <= 2).text(), "n <= 2");
  EXPECT_EQ((n > 1).text(), "1 < n");
  EXPECT_EQ((n >= m + 1).text(), "m + 1 <= n");
}

TEST(SizeFact, MalformedTextIsAParseError) {
  EXPECT_EQ(message_of<ParseError>([] { fact("n = m"); }),
            "line 1, column 3: expected ==, !=, <=, <, >= or >, found '='");
  EXPECT_THROW(fact("n =="), ParseError);
  EXPECT_THROW(fact("== n"), ParseError);
}

TEST(SizeFact, NegatesAndEvaluates) {
  for (const std::string text : {"n == m", "n != m", "n <= m", "n < m"}) {
    const SizeFact one = fact(text), other = one.negated();
    EXPECT_EQ(other.negated(), one);
    for (int64_t i = 0; i < 3; ++i) {
      const SymbolMap<int64_t> sizes{{n, i}, {m, 1}};
      EXPECT_NE(one.evaluate(sizes), other.evaluate(sizes)) << text << i;
    }
  }
  EXPECT_TRUE(fact("n < m").evaluate({{n, 0}, {m, 1}}));
  EXPECT_FALSE(fact("n < m").evaluate({{n, 1}, {m, 1}}));
  EXPECT_TRUE(fact("n <= m").evaluate({{n, 1}, {m, 1}}));
  EXPECT_EQ(fact("n < m").substitute({{n, k + 1}}).text(), "k + 1 < m");
}

struct Question {
  std::vector<std::string_view> known;
  std::string_view asked;
  std::optional<bool> answer;
};

void expect_answers(const std::vector<Question>& questions) {
  for (const Question& question : questions) {
    SizeFacts known;
    for (const std::string_view text : question.known) known.add(fact(text));
    EXPECT_EQ(known.prove(fact(question.asked)), question.answer)
        << question.asked << " given " << fmt::format("{}", fmt::join(question.known, ", "));
    if (!question.answer) continue;
    EXPECT_EQ(known.prove(fact(question.asked).negated()), !*question.answer) << question.asked;
  }
}

constexpr std::nullopt_t unknown = std::nullopt;

TEST(SizeFacts, ProveFromStructure) {
  expect_answers({{{}, "n + m == m + n", true},
                  {{}, "n == n + 1", false},
                  {{}, "n == m", unknown},
                  {{}, "0 <= n", true},
                  {{}, "n < 0", false},
                  {{}, "1 <= n", unknown},
                  {{}, "n%8 < 8", true},
                  {{}, "n%8 <= 6", unknown},
                  {{}, "4*(n//4) <= n", true},
                  {{}, "2*n == 2*m + 1", false},
                  {{}, "max(n, m) < n", false},
                  {{}, "min(n, 3) <= 3", true}});
}

TEST(SizeFacts, ProveFromBounds) {
  expect_answers({{{"3 <= n"}, "2 <= n", true},
                  {{"3 <= n"}, "n == 2", false},
                  {{"3 <= n"}, "n == 4", unknown},
                  {{"3 <= n", "n <= 3"}, "n == 3", true},
                  {{"3 <= n"}, "1 <= n//3", true},
                  {{"n < 8"}, "n%8 == n", true},
                  {{"n < 8"}, "n//8 == 0", true},
                  {{"1 <= n", "1 <= m"}, "1 <= n*m", true},
                  {{"n <= 4", "m <= 5"}, "n*m <= 20", true},
                  {{"n <= 4", "m <= 5"}, "n*m <= 19", unknown},
                  {{"2 <= n"}, "max(n, m) != 1", true}});
}

TEST(SizeFacts, ProveFromOtherExpressions) {
  expect_answers({{{"n <= m"}, "n <= m + 1", true},
                  {{"n <= m"}, "m < n", false},
                  {{"n < m"}, "n != m", true},
                  {{"n <= m", "m <= k"}, "n <= k", true},
                  {{"n <= m", "m < k"}, "k <= n", false},
                  {{"n <= m"}, "2*n <= 2*m", true},
                  {{"2*n <= 2*m + 1"}, "n <= m", true},
                  {{"n <= m"}, "m <= n", unknown},
                  {{"n <= m", "m <= n"}, "n == m", true}});
}

TEST(SizeFacts, ProveFromMembersAndQuotients) {
  expect_answers({{{}, "n//2 <= n", true},
                  {{}, "n <= 2*(n//2)", unknown},
                  {{}, "n <= 2*(n//2) + 1", true},
                  {{}, "n < 2*(n//2)", false},
                  {{"k <= n"}, "(n - k)//2 <= n", true},
                  {{"1 <= n"}, "n//2 < n", true},
                  {{"1 <= n"}, "n <= (n + 1)//2", unknown},
                  {{"2*m <= n"}, "m <= n//2", true},
                  {{}, "min(n, m) <= max(n, k)", true},
                  {{}, "max(n, m) <= n + m", true},
                  {{}, "n + m <= max(n, m)", unknown},
                  {{"n <= k", "m <= k"}, "max(n, m) <= k", true},
                  {{"n <= k"}, "max(n, m) <= k", unknown}});
}

TEST(SizeFacts, ProveFromEqualities) {
  expect_answers({{{"n == m"}, "n*k == k*m", true},
                  {{"n == m", "m == k"}, "n == k", true},
                  {{"n == 2*m"}, "n%2 == 0", true},
                  {{"n == 2*m"}, "n//2 == m", true},
                  {{"n == m + 3"}, "3 <= n", true},
                  {{"n + 3 == m"}, "3 <= m", true},
                  {{"n == 4"}, "n*n == 16", true},
                  {{"m*n == k", "m == 4", "n == 3"}, "k == 12", true},
                  {{"n*n == k*k"}, "n*n == k*k", true},
                  {{"n == 4", "4 == m"}, "n == m", true}});
}

TEST(SizeFacts, ProveFromDivisibility) {
  expect_answers({{{"n%8 == 0"}, "n%4 == 0", true},
                  {{"n%8 == 0"}, "n%16 == 0", unknown},
                  {{"n%8 == 0"}, "8*(n//8) == n", true},
                  {{"n%8 == 0"}, "(n + 8*m)%8 == 0", true},
                  {{"n%8 == 0"}, "n != 12", true},
                  {{"n%8 == 3"}, "(n + 5)%8 == 0", true},
                  {{"n%8 == 3"}, "n%8 == 3", true},
                  {{"n%8 == 3"}, "n%8 == 2", false},
                  {{"n%8 == 0"}, "(n//4)%2 == 0", true},
                  {{"(n + m)%4 == 0"}, "(2*n + 2*m)%8 == 0", true},
                  {{"n%4 == 0", "n%6 == 0"}, "n%12 == 0", true}});
}

TEST(SizeFacts, FactsThatLeadBackToThemselvesEnd) {
  expect_answers({{{"(n + n//2)%4 == 0"}, "(n//2)%2 == 0", unknown},
                  {{"(n + n//2)%4 == 0"}, "(n + n//2)%2 == 0", true},
                  {{"n == m + n//2", "n <= m//2 + 3"}, "n <= 3", unknown}});
}

TEST(SizeFacts, ProveFromDifference) {
  expect_answers({{{"n != 1"}, "n == 1", false},
                  {{"n != 0"}, "1 <= n", true},
                  {{"n != 1"}, "2*n == 2", false},
                  {{"n != m"}, "m == n", false},
                  {{"n <= m", "n != m"}, "n < m", true},
                  {{"n != 1"}, "n == 2", unknown}});
}

TEST(SizeFacts, BoundsAndDivisors) {
  const SizeFacts known = facts({"2 <= n", "n <= 9", "m%6 == 0"});
  EXPECT_EQ(known.bounds(n), (Interval{2, 9}));
  EXPECT_EQ(known.bounds(2 * n - 1), (Interval{3, 17}));
  EXPECT_EQ(known.bounds(n - m), (Interval{std::nullopt, 9}));
  EXPECT_EQ(known.bounds(floor_div(n, 2)), (Interval{1, 4}));
  EXPECT_EQ(known.bounds(mod(k, n)), (Interval{0, 8}));
  EXPECT_EQ(known.bounds(5), (Interval{5, 5}));
  EXPECT_TRUE(known.divisible_by(m, 3));
  EXPECT_TRUE(known.divisible_by(m * n, 6));
  EXPECT_TRUE(known.divisible_by(2 * m, 12));
  EXPECT_TRUE(known.divisible_by(0, 7));
  EXPECT_FALSE(known.divisible_by(m, 4));
  EXPECT_FALSE(known.divisible_by(n, 2));
  EXPECT_THROW(known.divisible_by(n, 0), ValueError);
}

TEST(SizeFacts, AContradictionIsRefusedAndChangesNothing) {
  SizeFacts known = facts({"n <= 3"});
  EXPECT_EQ(message_of<ValueError>([&] { known.add(fact("4 <= n")); }),
            "4 <= n contradicts what is known: n <= 3");
  EXPECT_EQ(known.facts().size(), 1u);
  EXPECT_EQ(known.prove(fact("n <= 4")), true);
  known.add(fact("n <= 3"));
  EXPECT_EQ(known.facts().size(), 1u);
}

TEST(SizeFacts, DoNotProveDivisionByZero) {
  const SizeFacts known = facts({"m == 0"});
  EXPECT_EQ(known.prove(fact("n//m == 3")), std::nullopt);
  EXPECT_EQ(known.bounds(floor_div(n, m)), Interval{});
  EXPECT_FALSE(known.divisible_by(floor_div(n, m), 2));
}

TEST(SizeFacts, ManyFactsAnswerInTime) {
  SizeFacts known;
  for (int i = 0; i < 60; ++i) {
    known.add({Dim::symbol("a" + std::to_string(i)), SizeFact::less_equal,
               Dim::symbol("a" + std::to_string(i + 1))});
  }
  EXPECT_EQ(known.prove(fact("a5 <= a8")), true);
  EXPECT_EQ(known.prove(fact("a0 + a1 + a2 + a3 <= a60")), std::nullopt);
}

TEST(SizeContext, NeedsNoGuardForProvedFacts) {
  SizeContext context(facts({"n == m"}));
  EXPECT_TRUE(context.decide(fact("n <= m")));
  EXPECT_FALSE(context.decide(fact("n < m")));
  EXPECT_TRUE(context.guards().empty());
}

TEST(SizeContext, ActualSizesDecideOnce) {
  const SymbolMap<int64_t> sizes{{n, 3}, {m, 4}};
  SizeContext context({}, &sizes);
  EXPECT_FALSE(context.decide(fact("n == m")));
  EXPECT_TRUE(context.decide(fact("n < m")));
  EXPECT_TRUE(context.decide(fact("n != m")));
  EXPECT_EQ(context.guards(), (std::vector<SizeFact>{fact("n != m"), fact("n < m")}));
  EXPECT_EQ(context.actual(n + m), 7);
  EXPECT_EQ(context.actual(k), std::nullopt);
}

TEST(SizeContext, WithoutActualSizesAnEqualityIsChecked) {
  SizeContext context;
  EXPECT_TRUE(context.decide(fact("n == m")));
  EXPECT_EQ(context.guards(), (std::vector<SizeFact>{fact("n == m")}));
  EXPECT_EQ(message_of<ShapeError>([&] { context.decide(fact("n <= k")); }),
            "cannot decide whether n <= k: there are no actual sizes");
  EXPECT_EQ(context.guards().size(), 1u);
}

}  // namespace
}  // namespace plait
