#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "plait/core/error.h"
#include "plait/core/sizes/dim.h"
#include "plait/core/sizes/size_facts.h"
#include "plait/core/text.h"

#include "tests/core/sizes/size_program.h"

namespace plait {
namespace {

ThreeSizes any_small_sizes() {
  const auto size = rc::gen::element<int64_t>(0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 23);
  return {*size, *size, *size};
}

ThreeSizes any_large_sizes() {
  const auto size =
      rc::gen::element<int64_t>(0, 1, 6, 1000003, int64_t{1} << 31, (int64_t{1} << 40) + 7);
  return {*size, *size, *size};
}

// Empty if the expression is refused: it divides by zero for all sizes, or it or one of its numbers
// is too large.
std::optional<Dim> dim_of(const SizeProgram& program) {
  try {
    return program.dim();
  } catch (const ValueError& error) {
    if (error.message().ends_with("divided by zero")) {
      for (int64_t size = 0; size < 5; ++size) RC_ASSERT(!program.value({size, 2 * size, 9}));
    }
    return std::nullopt;
  }
}

Dim any_dim() {
  while (true) {
    if (const auto dim = dim_of(any_program())) return *dim;
  }
}

std::optional<int64_t> evaluated(Dim dim, const ThreeSizes& sizes) {
  try {
    return dim.evaluate(size_map(sizes));
  } catch (const ValueError&) {
    return std::nullopt;
  }
}

// True if the values are equal, or one is unknown: canonical forms may drop a division by zero.
bool agree(std::optional<int64_t> a, std::optional<int64_t> b) { return !a || !b || *a == *b; }

// Checks many rounds in each of the hundred cases of a property.
template <class Property>
void check_rounds(Property property) {
  EXPECT_TRUE(rc::check([&] {
    for (int round = 0; round < 20; ++round) property();
  }));
}

TEST(DimProperty, SmallSizesEvaluateAsPlainIntegersDo) {
  check_rounds([] {
    const SizeProgram program = any_program();
    const auto dim = dim_of(program);
    if (!dim) return;
    for (int i = 0; i < 10; ++i) {
      const ThreeSizes sizes = any_small_sizes();
      const auto value = program.value(sizes, int64_t{1} << 40);
      if (!value) continue;
      RC_LOG() << dim->text() << " for " << rc::toString(sizes) << '\n';
      RC_ASSERT(dim->evaluate(size_map(sizes)) == *value);
    }
  });
}

TEST(DimProperty, LargeSizesEvaluateExactlyOrNotAtAll) {
  check_rounds([] {
    const SizeProgram program = any_program();
    const auto dim = dim_of(program);
    if (!dim) return;
    const ThreeSizes sizes = any_large_sizes();
    RC_LOG() << dim->text() << " for " << rc::toString(sizes) << '\n';
    RC_ASSERT(agree(program.value(sizes), evaluated(*dim, sizes)));
  });
}

TEST(DimProperty, TextReadsBackToTheSameWord) {
  check_rounds([] {
    const Dim dim = any_dim();
    const std::string text = dim.text();
    RC_LOG() << text << '\n';
    RC_ASSERT(parse_whole(text, parse_dim) == dim);
  });
}

TEST(DimProperty, SubstitutionIsComposition) {
  check_rounds([] {
    const SizeProgram outer = any_program();
    const std::vector<SizeProgram> inner = {any_program(), any_program(), any_program()};
    const auto dim = dim_of(outer);
    const ThreeSizes sizes = any_small_sizes();
    ThreeSizes values;
    SymbolMap<Dim> replacements;
    for (size_t i = 0; i < inner.size(); ++i) {
      const auto replacement = dim_of(inner[i]);
      const auto value = inner[i].value(sizes);
      if (!dim || !replacement || value.value_or(-1) < 0) return;
      replacements.set(size_symbol(i), *replacement);
      values[i] = *value;
    }
    try {
      const Dim substituted = dim->substitute(replacements);
      RC_LOG() << dim->text() << " becomes " << substituted.text() << '\n';
      RC_ASSERT(agree(outer.value(values), evaluated(substituted, sizes)));
    } catch (const ValueError& error) {
      if (error.message().ends_with("divided by zero")) RC_ASSERT(!outer.value(values));
    }
  });
}

TEST(DimProperty, SumsAndProductsAreARing) {
  check_rounds([] {
    const Dim a = any_dim(), b = any_dim(), c = any_dim();
    try {
      RC_ASSERT(a + b == b + a);
      RC_ASSERT((a + b) + c == a + (b + c));
      RC_ASSERT(a - b == -(b - a));
      RC_ASSERT(a - a == Dim(0));
      RC_ASSERT(a * b == b * a);
      RC_ASSERT((a * b) * c == a * (b * c));
      RC_ASSERT(a * (b + c) == a * b + a * c);
    } catch (const ValueError&) {  // too large
    }
  });
}

TEST(DimProperty, MultiplesOfANumberLeaveItsQuotients) {
  check_rounds([] {
    const Dim b = *rc::gen::inRange(1, 9);
    const Dim x = size_symbol(*rc::gen::inRange<size_t>(0, 3)) * *rc::gen::inRange(0, 5);
    const Dim r = size_symbol(*rc::gen::inRange<size_t>(0, 3)) * *rc::gen::inRange(0, 5) +
                  *rc::gen::inRange(-9, 9);
    RC_ASSERT(floor_div(b * x + r, b) == x + floor_div(r, b));
    RC_ASSERT(mod(b * x + r, b) == mod(r, b));
    const Dim c = *rc::gen::inRange(1, 9);
    RC_ASSERT(floor_div(floor_div(r, b), c) == floor_div(r, b * c));
    RC_ASSERT(b * floor_div(x, b) + mod(x, b) == x);
    RC_ASSERT(mod(r, b) + b * mod(floor_div(r, b), c) == mod(r, b * c));
  });
}

TEST(DimProperty, AQuotientAndItsRemainderMakeTheWhole) {
  check_rounds([] {
    const Dim a = any_dim(), b = any_dim();
    if (b == Dim(0)) return;
    try {
      RC_ASSERT(b * floor_div(a, b) + mod(a, b) == a);
    } catch (const ValueError&) {  // too large
    }
  });
}

TEST(DimProperty, MaximaAndMinimaTakeTheirMembersInAnyOrder) {
  check_rounds([] {
    const auto member = [] {
      return size_symbol(*rc::gen::inRange<size_t>(0, 3)) * *rc::gen::inRange(0, 3) +
             *rc::gen::inRange(-3, 4);
    };
    const Dim a = member(), b = member(), c = member();
    RC_ASSERT(max(a, b) == max(b, a));
    RC_ASSERT(min(a, b) == min(b, a));
    RC_ASSERT(max(max(a, b), c) == max(a, max(b, c)));
    RC_ASSERT(min(min(a, b), c) == min(a, min(b, c)));
    RC_ASSERT(max(max(a, b), a) == max(a, b));
  });
}

TEST(DimProperty, BoundsContainTheValue) {
  check_rounds([] {
    const SizeProgram program = any_program();
    const auto dim = dim_of(program);
    if (!dim) return;
    const Interval bounds = SizeFacts().bounds(*dim);
    const ThreeSizes sizes = *rc::gen::arbitrary<bool>() ? any_small_sizes() : any_large_sizes();
    const auto value = program.value(sizes);
    RC_LOG() << dim->text() << " for " << rc::toString(sizes) << '\n';
    RC_ASSERT((!value || bounds.contains(*value)));
  });
}

TEST(DimProperty, AnyTextIsReadOrRefused) {
  EXPECT_TRUE(rc::check([] {
    const auto piece = rc::gen::element<std::string>("n", "m1", "(", ")", "max(", "min(", ",", "+",
                                                     "-", "*", "//", "%", " ", "7", "0", "/", "@");
    std::string text;
    for (const std::string& next : *rc::gen::container<std::vector<std::string>>(piece))
      text += next;
    TextReader reader(text);
    Dim dim = 0;
    try {
      dim = parse_dim(reader);
    } catch (const ParseError&) {
      return;
    }
    RC_ASSERT(reader.position() > 0u);
    RC_ASSERT(parse_whole(text.substr(0, reader.position()), parse_dim) == dim);
  }));
}

}  // namespace
}  // namespace plait
