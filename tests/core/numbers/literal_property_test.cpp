#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "plait/core/error.h"
#include "plait/core/numbers/literal.h"
#include "plait/core/text.h"

namespace plait {
namespace {

DType any_dtype() { return static_cast<DType>(*rc::gen::inRange(0, kDTypeCount)); }

// Random bytes, including all kinds of NaN and subnormal numbers; often the same element
// everywhere.
Literal any_literal() {
  const DType dtype = any_dtype();
  auto sizes =
      *rc::gen::resize(3, rc::gen::container<std::vector<int64_t>>(rc::gen::inRange(0, 10)));
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  const bool splat = *rc::gen::weightedElement<bool>({{3, false}, {1, true}});
  const auto byte_count = static_cast<size_t>((splat ? 1 : count) * size_of(dtype));
  const int highest = is_boolean(dtype) ? 2 : 256;
  const auto numbers =
      *rc::gen::container<std::vector<int>>(byte_count, rc::gen::inRange(0, highest));
  std::vector<std::byte> bytes;
  for (const int number : numbers) bytes.push_back(static_cast<std::byte>(number));
  if (!splat) return Literal::of_bytes(dtype, std::move(sizes), std::move(bytes));
  return Literal::splat(std::move(sizes), Literal::of_bytes(dtype, {}, std::move(bytes)));
}

TEST(LiteralProperty, TextReadsBack) {
  EXPECT_TRUE(rc::check([] {
    const Literal literal = any_literal();
    const std::string text = literal.text();
    const Literal back = parse_whole(text, parse_literal);
    RC_ASSERT(back == literal);
    RC_ASSERT(back.text() == text);
    RC_ASSERT(back.content_hash() == literal.content_hash());
  }));
}

TEST(LiteralProperty, EqualWhenTheElementsAre) {
  EXPECT_TRUE(rc::check([] {
    const Literal literal = any_literal();
    std::vector<std::byte> bytes;
    for (int64_t i = 0; i < literal.element_count(); ++i) {
      const auto element = literal.element_bytes(i);
      bytes.insert(bytes.end(), element.begin(), element.end());
    }
    const Literal dense = Literal::of_bytes(literal.dtype(), literal.sizes(), bytes);
    RC_ASSERT(dense == literal);
    RC_ASSERT(dense.content_hash() == literal.content_hash());
    if (bytes.empty()) return;
    const auto changed = *rc::gen::inRange<size_t>(0, bytes.size());
    bytes[changed] ^= std::byte{1};
    const Literal other = Literal::of_bytes(literal.dtype(), literal.sizes(), bytes);
    RC_ASSERT(!(other == literal));
    RC_ASSERT(other.content_hash() != literal.content_hash());
  }));
}

TEST(LiteralProperty, DamagedTextIsReadOrRefused) {
  EXPECT_TRUE(rc::check([] {
    std::string text = any_literal().text();
    const auto edits = *rc::gen::inRange(1, 4);
    for (int i = 0; i < edits; ++i) {
      const auto at = *rc::gen::inRange<size_t>(0, text.size());
      const auto with = *rc::gen::oneOf(rc::gen::arbitrary<char>(),
                                        rc::gen::elementOf(std::string("0129.-+:jxe[](), ")));
      text[at] = with;
    }
    Literal literal;
    try {
      TextReader reader(text);
      literal = parse_literal(reader);
      RC_ASSERT(reader.position() <= text.size());
    } catch (const ParseError&) {
      return;
    }
    RC_ASSERT(parse_whole(literal.text(), parse_literal) == literal);
  }));
}

}  // namespace
}  // namespace plait
