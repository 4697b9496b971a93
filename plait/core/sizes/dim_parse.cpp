// Parses expressions.
#include <charconv>

#include "plait/core/error.h"
#include "plait/core/inside/sizes/dim_polynomial.h"
#include "plait/core/sizes/dim.h"
#include "plait/core/text.h"

namespace plait {

namespace {

constexpr int kMaxNesting = 200;

// sum     := product (("+" | "-") product)*
// product := unary (("*" | "//" | "%") unary)*
// unary   := "-"* (number | name | "(" sum ")" | ("max" | "min") "(" sum ("," sum)* ")")
class DimParser {
 public:
  explicit DimParser(TextReader& reader) : reader_(reader) {}

  Dim sum() {
    const size_t begin = reader_.position();
    if (++nesting_ > kMaxNesting) reader_.fail("more than {} levels of nesting", kMaxNesting);
    Polynomial total(product());
    bool minus = false;
    while ((minus = reader_.accept("-")) || reader_.accept("+")) {
      const size_t place = reader_.position();
      if (!total.add(Polynomial(product()), minus ? -1 : 1)) {
        reader_.fail_at(place, "a number in this sum is beyond ±2^62");
      }
    }
    --nesting_;
    return at(begin, [&] { return total.dim(); });
  }

 private:
  Dim product() {
    Dim result = unary();
    while (true) {
      if (reader_.accept("*"))
        combine(result, [](Dim a, Dim b) { return a * b; });
      else if (reader_.accept("//"))
        combine(result, [](Dim a, Dim b) { return floor_div(a, b); });
      else if (reader_.accept("%"))
        combine(result, [](Dim a, Dim b) { return mod(a, b); });
      else
        return result;
    }
  }

  void combine(Dim& left, Dim (*operation)(Dim, Dim)) {
    reader_.skip_space();
    const size_t place = reader_.position();
    const Dim right = unary();
    left = at(place, [&] { return operation(left, right); });
  }

  Dim unary() {
    bool negative = false;
    while (reader_.accept("-")) negative = !negative;
    reader_.skip_space();
    if (is_digit(reader_.next())) return number(negative);
    const size_t place = reader_.position();
    const Dim result = primary();
    return negative ? at(place, [&] { return -result; }) : result;
  }

  // Parses the magnitude with its sign, since -2^62 is a size and 2^62 is not.
  Dim number(bool negative) {
    const std::string_view rest = reader_.rest();
    uint64_t magnitude = 0;
    const auto [last, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), magnitude);
    if (problem != std::errc() || magnitude > uint64_t{1} << 62) {
      reader_.fail("a number beyond ±2^62");
    }
    const auto value = static_cast<int64_t>(magnitude);
    const Dim result = at(reader_.position(), [&] { return Dim(negative ? -value : value); });
    reader_.advance(static_cast<size_t>(last - rest.data()));
    return result;
  }

  Dim primary() {
    if (reader_.accept("(")) return closed(sum());
    if (!reader_.next_is_name()) reader_.fail_expecting("a size");
    const std::string_view name = reader_.name();
    if (name == "max" && reader_.accept("(")) {
      return call([](Dim a, Dim b) { return max(a, b); });
    }
    if (name == "min" && reader_.accept("(")) {
      return call([](Dim a, Dim b) { return min(a, b); });
    }
    return Dim::symbol(name);
  }

  Dim call(Dim (*operation)(Dim, Dim)) {
    Dim result = sum();
    while (reader_.accept(",")) {
      const size_t place = reader_.position();
      const Dim other = sum();
      result = at(place, [&] { return operation(result, other); });
    }
    return closed(result);
  }

  Dim closed(Dim inner) {
    reader_.expect(")");
    return inner;
  }

  // An invalid value, such as a division by zero, is reported as an error in the text.
  template <class Make>
  Dim at(size_t place, Make make) {
    try {
      return make();
    } catch (const ValueError& error) {
      reader_.fail_at(place, error.message());
    }
  }

  TextReader& reader_;
  int nesting_ = 0;
};

}  // namespace

Dim parse_dim(TextReader& reader) { return DimParser(reader).sum(); }

}  // namespace plait
