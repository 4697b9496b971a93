#include <optional>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "plait/core/error.h"
#include "plait/core/sizes/size_facts.h"

#include "tests/core/sizes/size_program.h"

namespace plait {
namespace {

// An expression and its value, if it has one.
struct Valued {
  Dim dim;
  int64_t value;
};

std::optional<Valued> any_valued(const ThreeSizes& sizes, int steps) {
  const SizeProgram program = any_program(steps);
  const auto value = program.value(sizes, int64_t{1} << 40);
  if (!value) return std::nullopt;
  try {
    return Valued{program.dim(), *value};
  } catch (const ValueError&) {  // too large
    return std::nullopt;
  }
}

// A random true fact about two values.
SizeFact true_fact(const Valued& a, const Valued& b) {
  const bool strict = *rc::gen::arbitrary<bool>(), apart = *rc::gen::arbitrary<bool>();
  if (a.value == b.value) {
    return {a.dim, strict ? SizeFact::equal : SizeFact::less_equal, b.dim};
  }
  if (apart) return {a.dim, SizeFact::not_equal, b.dim};
  const auto relation = strict ? SizeFact::less : SizeFact::less_equal;
  return a.value < b.value ? SizeFact{a.dim, relation, b.dim} : SizeFact{b.dim, relation, a.dim};
}

std::optional<SizeFact> any_true_fact(const ThreeSizes& sizes) {
  const auto i = *rc::gen::inRange<size_t>(0, 3);
  const Valued symbol{size_symbol(i), sizes[i]};
  const auto step = *rc::gen::inRange<int64_t>(1, 9);
  switch (*rc::gen::inRange(0, 4)) {
    case 0: return SizeFact{mod(symbol.dim, step), SizeFact::equal, symbol.value % step};
    case 1: return true_fact(symbol, {step, step});
    default: break;
  }
  const auto left = any_valued(sizes, 6), right = any_valued(sizes, 6);
  if (!left || !right) return std::nullopt;
  if (*rc::gen::arbitrary<bool>()) {
    return true_fact(*left, {right->dim + (left->value - right->value), left->value});
  }
  return true_fact(*left, *right);
}

SizeFacts any_true_facts(const ThreeSizes& sizes) {
  SizeFacts facts;
  for (int count = *rc::gen::inRange(0, 6); count > 0; --count) {
    const auto fact = any_true_fact(sizes);
    if (!fact) continue;
    RC_LOG() << "known: " << fact->text() << '\n';
    facts.add(*fact);
  }
  return facts;
}

ThreeSizes any_sizes() {
  const auto size = rc::gen::inRange<int64_t>(0, 13);
  return {*size, *size, *size};
}

constexpr int kRounds = 30;  // in each of the hundred cases of a property

TEST(SizeFactsProperty, ProvesOnlyTrueFacts) {
  int proved_count = 0, unknown_count = 0;
  EXPECT_TRUE(rc::check([&] {
    for (int round = 0; round < kRounds; ++round) {
      const ThreeSizes sizes = any_sizes();
      RC_LOG() << "sizes " << rc::toString(sizes) << '\n';
      const SizeFacts facts = any_true_facts(sizes);
      for (int question = 0; question < 4; ++question) {
        const auto left = any_valued(sizes, 6), right = any_valued(sizes, 6);
        if (!left || !right) continue;
        const auto relation = static_cast<SizeFact::Relation>(*rc::gen::inRange(0, 4));
        const SizeFact asked{left->dim, relation, right->dim};
        const auto proved = facts.prove(asked);
        ++(proved ? proved_count : unknown_count);
        RC_LOG() << "asked: " << asked.text() << '\n';
        RC_ASSERT((!proved || *proved == asked.evaluate(size_map(sizes))));
      }
    }
  }));
  // Both answers must be frequent, or the property tests little.
  EXPECT_GT(proved_count, 1000);
  EXPECT_GT(unknown_count, 1000);
}

TEST(SizeFactsProperty, ProvesKnownFacts) {
  EXPECT_TRUE(rc::check([] {
    for (int round = 0; round < kRounds; ++round) {
      const ThreeSizes sizes = any_sizes();
      const auto fact = any_true_fact(sizes);
      if (!fact) continue;
      RC_LOG() << fact->text() << '\n';
      SizeFacts facts;
      facts.add(*fact);
      RC_ASSERT(facts.prove(*fact) == true);
    }
  }));
}

TEST(SizeFactsProperty, BoundsContainTheValueAndDivisorsDivideIt) {
  EXPECT_TRUE(rc::check([] {
    for (int round = 0; round < kRounds; ++round) {
      const ThreeSizes sizes = any_sizes();
      RC_LOG() << "sizes " << rc::toString(sizes) << '\n';
      const SizeFacts facts = any_true_facts(sizes);
      const auto asked = any_valued(sizes, 10);
      if (!asked) continue;
      RC_LOG() << "asked: " << asked->dim.text() << '\n';
      RC_ASSERT(facts.bounds(asked->dim).contains(asked->value));
      const auto divisor = *rc::gen::inRange<int64_t>(1, 13);
      RC_ASSERT(!facts.divisible_by(asked->dim, divisor) || asked->value % divisor == 0);
    }
  }));
}

TEST(SizeFactsProperty, DecisionsFollowTheActualSizes) {
  EXPECT_TRUE(rc::check([] {
    for (int round = 0; round < kRounds; ++round) {
      const ThreeSizes sizes = any_sizes();
      const auto actual = size_map(sizes);
      SizeContext context(any_true_facts(sizes), &actual);
      for (int question = 0; question < 4; ++question) {
        const auto left = any_valued(sizes, 6), right = any_valued(sizes, 6);
        if (!left || !right) continue;
        const auto relation = static_cast<SizeFact::Relation>(*rc::gen::inRange(0, 4));
        const SizeFact asked{left->dim, relation, right->dim};
        RC_ASSERT(context.decide(asked) == asked.evaluate(actual));
        RC_ASSERT(context.facts().prove(asked).has_value());
      }
      for (const SizeFact& guard : context.guards()) RC_ASSERT(guard.evaluate(actual));
    }
  }));
}

}  // namespace
}  // namespace plait
