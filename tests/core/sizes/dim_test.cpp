#include "plait/core/sizes/dim.h"

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/core/text.h"

#include "tests/support/errors.h"
#include "tests/support/sizes.h"

namespace plait {
namespace {

constexpr int64_t kGreatest = (int64_t{1} << 62) - 1;
constexpr int64_t kLeast = -(int64_t{1} << 62);

Dim parsed(std::string_view text) { return parse_whole(text, parse_dim); }

const Dim b = Dim::symbol("b");

TEST(Dim, NumbersAreOneWord) {
  static_assert(sizeof(Dim) == 8 && std::is_trivially_copyable_v<Dim>);
  EXPECT_EQ(Dim().number(), 0);
  EXPECT_TRUE(Dim(7).is_number());
  EXPECT_EQ(Dim(-7).number(), -7);
  EXPECT_EQ(Dim(kGreatest).number(), kGreatest);
  EXPECT_EQ(Dim(kLeast).number(), kLeast);
}

TEST(Dim, ArithmeticOnNumbersRoundsDown) {
  EXPECT_EQ(Dim(2) + 3, Dim(5));
  EXPECT_EQ(Dim(2) - 3, Dim(-1));
  EXPECT_EQ(Dim(-4) * 3, Dim(-12));
  EXPECT_EQ(-Dim(4), Dim(-4));
  for (const int64_t x : {-7, -6, -1, 0, 1, 6, 7}) {
    for (const int64_t y : {-3, -1, 1, 3}) {
      const Dim quotient = floor_div(x, y), rest = mod(x, y);
      EXPECT_EQ(quotient * y + rest, Dim(x)) << x << " " << y;
      EXPECT_TRUE(y > 0 ? 0 <= rest.number() && rest.number() < y
                        : y < rest.number() && rest.number() <= 0)
          << x << " " << y;
    }
  }
  EXPECT_EQ(max(Dim(2), 3), Dim(3));
  EXPECT_EQ(min(Dim(2), 3), Dim(2));
}

TEST(Dim, RefusesNumbersBeyondItsRange) {
  EXPECT_THROW(Dim(kGreatest + 1), ValueError);
  EXPECT_THROW(Dim(kLeast - 1), ValueError);
  EXPECT_THROW(Dim(kGreatest) + 1, ValueError);
  EXPECT_THROW(Dim(kLeast) - 1, ValueError);
  EXPECT_THROW(Dim(kGreatest) * 2, ValueError);
  EXPECT_THROW(-Dim(kLeast), ValueError);
  EXPECT_THROW(floor_div(kLeast, -1), ValueError);
  EXPECT_EQ(mod(kLeast, -1), Dim(0));
  EXPECT_NE(message_of<ValueError>([] { (n * kGreatest) * 2; }).find("4611686018427387903*n"),
            std::string::npos);
}

TEST(Dim, RefusesDivisionByALiteralZero) {
  EXPECT_EQ(message_of<ValueError>([] { floor_div(n + 1, 0); }),
            "n + 1 // 0: a size is divided by zero");
  EXPECT_THROW(mod(n, 0), ValueError);
  EXPECT_THROW(floor_div(3, 0), ValueError);
  EXPECT_THROW(mod(3, 0), ValueError);
  EXPECT_THROW(floor_div(n, m - m), ValueError);
}

TEST(Dim, NamesFollowTheRules) {
  EXPECT_EQ(Dim::symbol("batch_2.x").name(), "batch_2.x");
  EXPECT_TRUE(n.is_symbol());
  EXPECT_FALSE((n + 1).is_symbol());
  EXPECT_FALSE(Dim(1).is_symbol());
  for (const std::string name : {"", "2n", "n m", ".n", "n-", "ñ", "n\n"}) {
    EXPECT_THROW(Dim::symbol(name), ValueError) << name;
  }
  EXPECT_THROW(std::ignore = Dim(3).name(), ValueError);
  EXPECT_THROW(std::ignore = (n + 1).name(), ValueError);
}

struct Written {
  Dim dim;
  std::string text;
};

TEST(Dim, IsWrittenInItsCanonicalForm) {
  const Dim squares = n * n;
  const Written cases[] = {
      {n, "n"},
      {n * 2 + 1, "2*n + 1"},
      {n * m - 3, "m*n - 3"},
      {3 - n, "3 - n"},
      {-n, "-n"},
      {-n - 1, "-n - 1"},
      {squares * n + squares, "n*n*n + n*n"},
      {floor_div(n + 3, 4), "(n + 3)//4"},
      {mod(n, 4), "n%4"},
      {mod(n + 1, 4), "(n + 1)%4"},
      {-floor_div(n, 4), "-(n//4)"},
      {m - floor_div(n, 4), "m - n//4"},
      {floor_div(n, 4) * 3 + 1, "3*(n//4) + 1"},
      {floor_div(n, 4) * m, "m*(n//4)"},
      {floor_div(n, floor_div(m, 2)), "n//(m//2)"},
      {max(n, m), "max(m, n)"},
      {min(n, 3), "min(n, 3)"},
      {max(n, m) * 2 + 1, "2*max(m, n) + 1"},
      {mod(floor_div(n, 4), 4), "(n//4)%4"},
      {mod(n, 4) * mod(m, 4), "(m%4)*(n%4)"},
      {mod(n, m), "n%m"},
      {floor_div(-5, m), "(-5)//m"},
      {floor_div(n - k, 2) + 1, "(n - k)//2 + 1"},
      {n - 8 * floor_div(n, 4), "n%4 - 4*(n//4)"},
      {n + mod(n, 4), "n + n%4"},
      {Dim(-5), "-5"},
  };
  for (const auto& [dim, text] : cases) {
    EXPECT_EQ(dim.text(), text);
    EXPECT_EQ(parsed(text), dim) << text << " reads back as " << parsed(text).text();
  }
}

TEST(Dim, SumsAndProductsDoNotDependOnTheirOrder) {
  EXPECT_EQ(n + m + 1, 1 + m + n);
  EXPECT_EQ((n + 1) * (m + 1), m * n + n + m + 1);
  EXPECT_EQ((n + m) * (n - m), n * n - m * m);
  EXPECT_EQ(n - n, Dim(0));
  EXPECT_EQ(n * 0, Dim(0));
}

TEST(Dim, QuotientsBecomeSimpler) {
  EXPECT_EQ(floor_div(4 * m * n + k, 4), m * n + floor_div(k, 4));
  EXPECT_EQ(floor_div(n + 7, 4), floor_div(n + 3, 4) + 1);
  EXPECT_EQ(floor_div(floor_div(n, 2), 3), floor_div(n, 6));
  EXPECT_EQ(floor_div(floor_div(n, 2) + m, 3), floor_div(n + 2 * m, 6));
  EXPECT_EQ(floor_div(4 * n + 3, 8), floor_div(n, 2));
  EXPECT_EQ(floor_div(6 * n, 4 * m), floor_div(3 * n, 2 * m));
  EXPECT_EQ(floor_div(n, 1), n);
  EXPECT_EQ(floor_div(n, -4), floor_div(-n, 4));
  EXPECT_EQ(floor_div(-n, 4), -floor_div(n + 3, 4));
  EXPECT_EQ(floor_div(mod(n, 4), 4), Dim(0));
  EXPECT_EQ(floor_div(mod(n, 4), 8), Dim(0));
  EXPECT_EQ(floor_div(n, n + 1), Dim(0));
  EXPECT_EQ(floor_div((n + 1) * m, n + 1), m);
  EXPECT_EQ(floor_div(m * n + k, m), n + floor_div(k, m));
}

TEST(Dim, AQuotientWithoutRestIsAWholeExpression) {
  EXPECT_EQ(floor_div(n, n), Dim(1));
  EXPECT_EQ(floor_div(2 * n, n), Dim(2));
  EXPECT_EQ(floor_div(12 * n * m, n * m), Dim(12));
  EXPECT_EQ(floor_div(n * m, m), n);
  EXPECT_EQ(floor_div(n * m + 3 * m, n + 3), m);
  EXPECT_EQ(floor_div(n + 1, n + 1), Dim(1));
  EXPECT_EQ(mod(6 * n, 2 * n), Dim(0));
  EXPECT_EQ(floor_div(2 * n + 1, n), 2 + floor_div(1, n));
}

TEST(Dim, RemaindersBecomeSimpler) {
  EXPECT_EQ(mod(4 * m + k, 4), mod(k, 4));
  EXPECT_EQ(mod(n, 1), Dim(0));
  EXPECT_EQ(mod(mod(n, 4), 8), mod(n, 4));
  EXPECT_EQ(mod(mod(n, 8), 4), mod(n, 4));
  EXPECT_EQ(mod(mod(n, 4) + 1, 4), mod(n + 1, 4));
  EXPECT_EQ(mod(2 * n + 1, 4), 2 * mod(n, 2) + 1);
  EXPECT_EQ(mod(mod(n, m), m), mod(n, m));
}

TEST(Dim, AQuotientAndItsRemainderMakeTheWhole) {
  EXPECT_EQ(4 * floor_div(n, 4) + mod(n, 4), n);
  EXPECT_EQ(m * floor_div(n, m) + mod(n, m), n);
  const Dim low = mod(n, 4), middle = mod(floor_div(n, 4), 8), high = floor_div(n, 32);
  EXPECT_EQ(low + 4 * middle + 32 * high, n);
  EXPECT_EQ((low + floor_div(n, 4)) - floor_div(n, 4), low);
}

TEST(Dim, MaximaAndMinimaBecomeSimpler) {
  EXPECT_EQ(max(n, n + 1), n + 1);
  EXPECT_EQ(max(n, 0), n);
  EXPECT_EQ(min(n, 0), Dim(0));
  EXPECT_EQ(max(n, n), n);
  EXPECT_EQ(max(max(n, m), k), max(n, max(k, m)));
  EXPECT_EQ(max(max(n, 3), 5), max(n, 5));
  EXPECT_EQ(max(n + 1, m + 1), max(n, m) + 1);
  EXPECT_EQ(max(max(n + 2, m + 1), k), max(n + 2, max(m + 1, k)));
  EXPECT_EQ(min(mod(n, 4), 3), mod(n, 4));
  EXPECT_EQ(max(n - 1, 0).text(), "max(n - 1, 0)");
  EXPECT_EQ(min(n, n * n + n), n);
}

TEST(Dim, ReadsOrdinaryArithmetic) {
  EXPECT_EQ(parsed("  ( n+1 ) * 2"), 2 * n + 2);
  EXPECT_EQ(parsed("-n//4"), floor_div(-n, 4));
  EXPECT_EQ(parsed("--n - -1"), n + 1);
  EXPECT_EQ(parsed("3*n%4"), mod(3 * n, 4));
  EXPECT_EQ(parsed("n//4//2*3"), 3 * floor_div(n, 8));
  EXPECT_EQ(parsed("max(n, m, 3) + min( k )"), max(n, max(m, 3)) + k);
  EXPECT_EQ(parsed("max + min.x"), Dim::symbol("max") + Dim::symbol("min.x"));
  EXPECT_EQ(parsed("-4611686018427387904"), Dim(kLeast));
  EXPECT_EQ(parsed("(((n)))"), n);
}

TEST(Dim, ReadsTheLongestExpression) {
  const auto stops_at = [](std::string_view text, Dim wanted, size_t begin = 0) {
    TextReader reader(text, begin);
    EXPECT_EQ(parse_dim(reader), wanted) << text;
    return reader.position();
  };
  EXPECT_EQ(stops_at("n, m", n), 1u);
  EXPECT_EQ(stops_at("n @data", n), 1u);
  EXPECT_EQ(stops_at("n / 2", n), 1u);
  EXPECT_EQ(stops_at("2n", 2), 1u);
  EXPECT_EQ(stops_at("n == m", n), 1u);
  EXPECT_EQ(stops_at("f32[n + 1]", n + 1, 4), 9u);
}

TEST(Dim, MalformedTextIsAParseErrorWithItsColumn) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "column 1: expected a size, found the end of the text"},
      {"n + ", "column 5: expected a size, found the end of the text"},
      {"n + ]", "column 5: expected a size, found ']'"},
      {"(n", "column 3: expected ')', found the end of the text"},
      {"max(n ;", "column 8: expected ')', found the end of the text"},
      {"max()", "column 5: expected a size, found ')'"},
      {"99999999999999999999", "column 1: a number beyond ±2^62"},
      {"1 + 4611686018427387904", "column 5: 4611686018427387904 is beyond ±2^62"},
      {"4611686018427387903 + 1", "column 22: a number in this sum is beyond ±2^62"},
      {"n // 0", "column 6: n // 0: a size is divided by zero"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(message_of<ParseError>([&] { parsed(text); }), "line 1, " + message);
  }
}

TEST(Dim, NestingIsBounded) {
  const auto nested = [](int levels) {
    return std::string(levels, '(') + "n" + std::string(levels, ')');
  };
  EXPECT_EQ(parsed(nested(199)), n);
  EXPECT_THROW(parsed(nested(200)), ParseError);
  EXPECT_THROW(parsed(nested(1000000)), ParseError);
  EXPECT_EQ(parsed(std::string(1000000, '-') + "n"), n);
}

TEST(Dim, DepthIsBoundedAndWhatIsAllowedReadsBack) {
  const auto nest = [](int levels) {
    Dim dim = n;
    for (int i = 0; i < levels; ++i) dim = floor_div(k - dim * 2, m + i) * 3;
    return dim;
  };
  const Dim deep = nest(9);
  EXPECT_EQ(parsed(deep.text()), deep);
  EXPECT_THROW(nest(120), ValueError);
}

TEST(Dim, SizeIsBounded) {
  Dim sum = 1, product = 1, tower = n;
  EXPECT_THROW(
      for (int i = 0; i < 1500; ++i) sum = sum + Dim::symbol("s" + std::to_string(i % 1400)),
      ValueError);
  EXPECT_THROW(
      for (int i = 0; i < 40; ++i) product = product * (n + Dim::symbol("p" + std::to_string(i))),
      ValueError);
  EXPECT_THROW(for (int i = 0; i < 40; ++i) tower = tower * tower, ValueError);
}

TEST(Dim, ManyMembersOfAMaximumAreRefused) {
  Dim greatest = n;
  EXPECT_THROW(
      for (int i = 0; i < 100; ++i) greatest = max(greatest, Dim::symbol("x" + std::to_string(i))),
      ValueError);
}

TEST(Dim, ListsItsSymbolsByName) {
  std::vector<Dim> seen;
  (max(n, 4) * k - floor_div(b + n, 3)).for_each_symbol([&](Dim symbol) {
    seen.push_back(symbol);
  });
  EXPECT_EQ(seen, (std::vector<Dim>{b, k, n}));
  Dim(3).for_each_symbol([](Dim) { FAIL(); });
}

TEST(Dim, SubstitutesAllTogether) {
  EXPECT_EQ((n + 2 * m).substitute({{n, m}, {m, n}}), m + 2 * n);
  EXPECT_EQ(floor_div(n, 4).substitute({{n, 8 * k + 3}}), 2 * k);
  EXPECT_EQ(max(n, m).substitute({{m, n + 1}}), n + 1);
  EXPECT_EQ((n + m).substitute({{k, 3}}), n + m);
  EXPECT_EQ(mod(n, m).substitute({{m, 4}}), mod(n, 4));
  EXPECT_THROW(floor_div(n, m).substitute({{m, 0}}), ValueError);
  EXPECT_THROW((n * n * n).substitute({{n, kGreatest}}), ValueError);
}

TEST(Dim, EvaluatesExactly) {
  EXPECT_EQ((2 * n * m - 3).evaluate({{n, 5}, {m, 7}}), 67);
  EXPECT_EQ(floor_div(n - 10, 4).evaluate({{n, 3}}), -2);
  EXPECT_EQ(mod(n - 10, 4).evaluate({{n, 3}}), 1);
  EXPECT_EQ(mod(n, m - 10).evaluate({{n, 8}, {m, 7}}), -1);
  EXPECT_EQ(max(n, m).evaluate({{n, 3}, {m, 4}}), 4);
  EXPECT_EQ(min(n, m).evaluate({{n, 3}, {m, 4}}), 3);
  EXPECT_EQ((n * n - m * m).evaluate({{n, int64_t{1} << 50}, {m, int64_t{1} << 50}}), 0);
  EXPECT_EQ(Dim(5).evaluate({}), 5);
}

TEST(Dim, EvaluationSaysWhatIsWrong) {
  EXPECT_EQ(message_of<KeyError>([] { (n + m).evaluate({{n, 1}}); }),
            "m + n: the size m is not known");
  EXPECT_EQ(message_of<ValueError>([] { floor_div(n, m).evaluate({{n, 1}, {m, 0}}); }),
            "n//m: n is divided by zero for m = 0, n = 1");
  EXPECT_EQ(message_of<ValueError>([] { (n * n).evaluate({{n, int64_t{1} << 40}}); }),
            "n*n: its value is beyond ±2^62 for n = 1099511627776");
  EXPECT_EQ(message_of<ValueError>([] { n.evaluate({{n, -1}}); }),
            "n = -1: a size is a number from 0 to 2^62 - 1");
  EXPECT_THROW((n * n * n * n).evaluate({{n, kGreatest}}), ValueError);
}

TEST(Dim, HashesDependOnTheTextOnly) {
  EXPECT_EQ((n + 1).hash(), (1 + n).hash());
  EXPECT_NE((n + 1).hash(), (n + 2).hash());
  EXPECT_NE(Dim(1).hash(), Dim(2).hash());
  // Users of hash() store it on disk: it must not change between processes.
  EXPECT_EQ(n.hash(), 14206030553881694822u);
  EXPECT_EQ((2 * n + 1).hash(), 5988435064895716335u);
  EXPECT_EQ(Dim(3).hash(), 2185194620014831856u);
}

TEST(Dim, FormatsItself) { EXPECT_EQ(fmt::format("[{:>7}]", n + 1), "[  n + 1]"); }

TEST(Dim, ThreadsAgreeOnTheWords) {
  constexpr int kThreads = 8, kExpressions = 200;
  std::vector<std::vector<Dim>> made(kThreads);
  std::vector<std::jthread> threads;
  for (std::vector<Dim>& mine : made) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < kExpressions; ++i) {
        const Dim x = Dim::symbol("thread" + std::to_string(i)), y = Dim::symbol("other");
        mine.push_back(max(floor_div(x * y + i, 7) + mod(x, 5), y));
      }
    });
  }
  threads.clear();
  for (const auto& words : made) EXPECT_EQ(words, made[0]);
}

TEST(SymbolMap, FindsFewAndMany) {
  SymbolMap<int> map;
  const auto symbol = [](int i) { return Dim::symbol("s" + std::to_string(i)); };
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(map.find(symbol(i)), nullptr);
    map.set(symbol(i), i);
    for (int j = 0; j <= i; j += 1 + i / 20) {
      ASSERT_NE(map.find(symbol(j)), nullptr);
      EXPECT_EQ(*map.find(symbol(j)), j);
    }
  }
  map.set(symbol(7), 70);
  EXPECT_EQ(*map.find(symbol(7)), 70);
  EXPECT_EQ(map.size(), 300u);
  int next = 0;
  for (const auto& [key, value] : map) EXPECT_EQ(key, symbol(next++));
}

TEST(SymbolMap, TakesSymbolsOnly) {
  SymbolMap<int> map;
  EXPECT_EQ(message_of<ValueError>([&] { map.set(n + 1, 3); }), "n + 1 is not the name of a size");
  EXPECT_THROW(map.set(4, 3), ValueError);
  EXPECT_TRUE(map.empty());
}

}  // namespace
}  // namespace plait
