#include "plait/ir/attributes.h"

#include <bit>
#include <cmath>

#include <gtest/gtest.h>

#include "plait/core/error.h"

#include "tests/support/errors.h"
#include "tests/support/sizes.h"

namespace plait::ir {
namespace {

enum class Padding { zero, edge, wrap };
std::span<const std::string_view> enumerator_names(Padding) {
  static constexpr std::string_view kNames[] = {"zero", "edge", "wrap"};
  return kNames;
}

struct Everything {
  bool flag = false;
  int64_t count = 0;
  double rate = 0;
  std::string name = {};
  DType dtype = DType::f32;
  Dim size = 0;
  Type type = Type::scalar(DType::f32);
  Literal value = {};
  SizeFact fact{0, SizeFact::equal, 0};
  AxisSet axes = {};
  Padding padding = Padding::zero;
  std::vector<int64_t> counts = {};
  std::vector<bool> flags = {};
  std::vector<std::string> names = {};
  std::vector<std::vector<Dim>> groups = {};
  std::vector<std::optional<double>> rates = {};
  std::optional<std::vector<Dim>> shape = {};
  std::optional<std::string> note = {};
};

struct Nothing {};
struct Other {
  int64_t count = 0;
};

// Each has one field that differs from the default.
std::vector<std::pair<Everything, std::string>> one_field_each() {
  const double odd_nan = std::bit_cast<double>(uint64_t{0x7ff8000000000007});
  const Type pair = Type::tuple({Type::array(DType::f32, {n, 3}), Type::scalar(DType::i64)});
  return {
      {{.flag = true}, "flag = true"},
      {{.count = -7}, "count = -7"},
      {{.rate = 0.1}, "rate = 0.1"},
      {{.rate = -0.0}, "rate = -0"},
      {{.rate = odd_nan}, "rate = nan:0x7ff8000000000007"},
      {{.name = "a \"b\"\n"}, R"(name = "a \"b\"\n")"},
      {{.dtype = DType::bf16}, "dtype = bf16"},
      {{.size = n + 1}, "size = n + 1"},
      {{.type = pair}, "type = (f32[n, 3], i64[])"},
      {{.value = Literal::scalar(DType::i32, 5)}, "value = i32[](5)"},
      {{.fact = {n, SizeFact::less_equal, 8}}, "fact = n <= 8"},
      {{.axes = {"model", "data"}}, "axes = {data, model}"},
      {{.padding = Padding::wrap}, "padding = wrap"},
      {{.counts = {1, -2, 3}}, "counts = [1, -2, 3]"},
      {{.flags = {true, false}}, "flags = [true, false]"},
      {{.names = {"a", ""}}, R"(names = ["a", ""])"},
      {{.groups = {{n}, {}, {2, 3}}}, "groups = [[n], [], [2, 3]]"},
      {{.rates = {std::nullopt, 2.5}}, "rates = [none, 2.5]"},
      {{.shape = {{n, 4}}}, "shape = [n, 4]"},
      {{.note = "x"}, R"(note = "x")"},
  };
}

Attributes parse(const AttributeSchema& schema, std::string_view text) {
  TextReader reader(text);
  return Attributes::parse(&schema, reader);
}

std::string parse_error(std::string_view text) {
  return message_of<ParseError>([&] { parse(schema_of<Everything>(), text); });
}

TEST(Attributes, PrintAndParseEveryKind) {
  for (const auto& [value, text] : one_field_each()) {
    const Attributes attributes = Attributes::of(value);
    EXPECT_EQ(attributes.text(), text);
    const Attributes again = parse(schema_of<Everything>(), text + "}");
    EXPECT_EQ(again, attributes) << text;
    EXPECT_EQ(again.text(), text);
  }
}

TEST(Attributes, WriteAndReadEveryKind) {
  ByteWriter writer;
  for (const auto& [value, text] : one_field_each()) Attributes::of(value).write(writer);
  Attributes().write(writer);
  ByteReader reader(writer.bytes());
  for (const auto& [value, text] : one_field_each()) {
    EXPECT_EQ(Attributes::read(&schema_of<Everything>(), reader), Attributes::of(value)) << text;
  }
  EXPECT_EQ(Attributes::read(nullptr, reader), Attributes());
  EXPECT_TRUE(reader.at_end());
}

TEST(Attributes, DifferByEachField) {
  const auto each = one_field_each();
  for (size_t i = 0; i < each.size(); ++i) {
    EXPECT_NE(Attributes::of(each[i].first), Attributes::of(Everything{})) << each[i].second;
    for (size_t k = 0; k < each.size(); ++k) {
      EXPECT_EQ(Attributes::of(each[i].first) == Attributes::of(each[k].first), i == k);
    }
  }
}

TEST(Attributes, LeaveDefaultsOut) {
  EXPECT_EQ(Attributes::of(Everything{}).text(), "");
  EXPECT_EQ(Attributes::of(Everything{.flag = true, .count = 2}).text(), "flag = true, count = 2");
  EXPECT_EQ(parse(schema_of<Everything>(), "}"), Attributes::of(Everything{}));
  EXPECT_EQ(parse(schema_of<Nothing>(), "}").text(), "");
  EXPECT_EQ(Attributes::defaults(nullptr), Attributes());
}

struct Needed {
  int64_t index = 0;
  bool flag = false;
  static constexpr std::string_view kRequired[] = {"index"};
};

TEST(Attributes, RequiredOnesAreAlwaysStated) {
  const AttributeSchema& schema = schema_of<Needed>();
  EXPECT_EQ(Attributes::of(Needed{}).text(), "index = 0");
  EXPECT_EQ(schema.missing()->name, "index");
  EXPECT_EQ(schema.missing({true, false}), nullptr);
  EXPECT_EQ(parse(schema, "flag = true, index = 0}"), Attributes::of(Needed{.flag = true}));
  for (const char* text : {"}", "flag = true}"}) {
    try {
      parse(schema, text);
      FAIL() << text;
    } catch (const ParseError& error) {
      EXPECT_EQ(error.message(), "line 1, column 1: the attribute index is missing");
    }
  }
  ByteWriter writer;
  writer.number(0);
  ByteReader reader(writer.bytes());
  EXPECT_THROW(Attributes::read(&schema, reader), ParseError);
}

TEST(Attributes, AreReadAsTheStructTheyAre) {
  EXPECT_EQ(Attributes::of(Other{3}).as<Other>().count, 3);
  EXPECT_THROW(Attributes::of(Other{3}).as<Everything>(), TypeError);
  EXPECT_THROW(Attributes().as<Other>(), TypeError);
  EXPECT_NE(Attributes::of(Other{}), Attributes());
}

TEST(Attributes, VisitAndMapTheirSizes) {
  const Attributes attributes = Attributes::of(Everything{.size = n + 1,
                                                          .type = Type::array(DType::f32, {n, 3}),
                                                          .fact = {n, SizeFact::less, 8},
                                                          .groups = {{n}, {2}},
                                                          .shape = {{n}}});
  std::string seen;
  attributes.for_each_dim([&](Dim size) { seen += size.text() + " "; });
  EXPECT_EQ(seen, "n + 1 n 3 n 8 n 2 n ");
  const auto rename = [&](Dim size) { return size.substitute({{n, m}}); };
  EXPECT_EQ(attributes.map_sizes(rename).text(),
            "size = m + 1, type = f32[m, 3], fact = m < 8, groups = [[m], [2]], shape = [m]");
  EXPECT_EQ(attributes.text().find('m'), std::string::npos);
  const Attributes same = attributes.map_sizes([](Dim size) { return size; });
  EXPECT_EQ(&same.as<Everything>(), &attributes.as<Everything>());
}

TEST(Attributes, RefuseMalformedText) {
  EXPECT_EQ(parse_error("flag = maybe}"),
            "line 1, column 8: expected true or false, found 'maybe'");
  EXPECT_EQ(parse_error("flag = true, flag = true}"),
            "line 1, column 14: the attribute flag appears twice");
  EXPECT_TRUE(
      parse_error("flog = true}")
          .starts_with(
              "line 1, column 1: unknown attribute flog; the attributes are: flag, count,"));
  EXPECT_EQ(parse_error("count = 1.5}"), "line 1, column 10: expected '}', found '.5'");
  EXPECT_EQ(parse_error("count 1}"), "line 1, column 7: expected '=', found '1'");
  EXPECT_EQ(parse_error("count = 1"), "line 1, column 10: expected '}', found the end of the text");
  EXPECT_EQ(parse_error("dtype = f33}"), "line 1, column 9: f33 is not a dtype");
  EXPECT_EQ(parse_error("padding = hole}"),
            "line 1, column 11: hole is not one of zero, edge, wrap");
  EXPECT_EQ(parse_error("fact = n 2}"),
            "line 1, column 10: expected ==, !=, <=, <, >= or >, found '2'");
  EXPECT_EQ(parse_error("counts = 1}"), "line 1, column 10: expected '[', found '1'");
  EXPECT_EQ(parse_error("axes = {1}}"), "line 1, column 9: expected a name, found '1'");
}

TEST(Attributes, RefuseMalformedBytes) {
  ByteWriter writer;
  Attributes::of(Everything{.flag = true, .padding = Padding::wrap}).write(writer);
  const std::string good = writer.bytes();
  for (size_t length = 0; length < good.size(); ++length) {
    ByteReader reader(std::string_view(good).substr(0, length));
    EXPECT_THROW(Attributes::read(&schema_of<Everything>(), reader), ParseError) << length;
  }
  ByteReader other(good);
  EXPECT_THROW(Attributes::read(&schema_of<Other>(), other), ParseError);
  std::string beyond = good;
  beyond.back() = 3;
  ByteReader reader(beyond);
  EXPECT_THROW(Attributes::read(&schema_of<Everything>(), reader), ParseError);
}

}  // namespace
}  // namespace plait::ir
