// Reads expressions.
#include <charconv>

#include "plait/core/dim.h"
#include "plait/core/dim_node.h"
#include "plait/core/dim_polynomial.h"
#include "plait/core/error.h"

namespace plait {

namespace {

constexpr int kMaxNesting = 200;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return '0' <= c && c <= '9'; }

// sum     := product (("+" | "-") product)*
// product := unary (("*" | "//" | "%") unary)*
// unary   := "-"* (number | name | "(" sum ")" | ("max" | "min") "(" sum ("," sum)* ")")
class DimParser {
 public:
  DimParser(std::string_view text, size_t position) : text_(text), next_(position) {}

  Dim sum() {
    const size_t begin = next_;
    if (++nesting_ > kMaxNesting) fail(next_, "more than 200 levels of nesting");
    Polynomial total(product());
    bool minus = false;
    while ((minus = accept("-")) || accept("+")) {
      const size_t place = next_;
      if (!total.add(Polynomial(product()), minus ? -1 : 1)) {
        fail(place, "a number in this sum is beyond ±2^62");
      }
    }
    --nesting_;
    return at(begin, [&] { return total.dim(); });
  }

  size_t end() const { return end_; }

 private:
  Dim product() {
    Dim result = unary();
    while (true) {
      if (accept("*"))
        combine(result, [](Dim a, Dim b) { return a * b; });
      else if (accept("//"))
        combine(result, [](Dim a, Dim b) { return floor_div(a, b); });
      else if (accept("%"))
        combine(result, [](Dim a, Dim b) { return mod(a, b); });
      else
        return result;
    }
  }

  void combine(Dim& left, Dim (*operation)(Dim, Dim)) {
    const size_t place = next_;
    const Dim right = unary();
    left = at(place, [&] { return operation(left, right); });
  }

  Dim unary() {
    bool negative = false;
    while (accept("-")) negative = !negative;
    skip_space();
    if (next_ < text_.size() && is_digit(text_[next_])) return number(negative);
    const size_t place = next_;
    const Dim result = primary();
    return negative ? at(place, [&] { return -result; }) : result;
  }

  // Takes its sign along, since -2^62 is a size and 2^62 is not.
  Dim number(bool negative) {
    const size_t place = next_;
    uint64_t magnitude = 0;
    const char* const first = text_.data() + next_;
    const auto [last, problem] = std::from_chars(first, text_.data() + text_.size(), magnitude);
    if (problem != std::errc() || magnitude > uint64_t{1} << 62) {
      fail(place, "a number beyond ±2^62");
    }
    end_ = next_ = next_ + static_cast<size_t>(last - first);
    const auto value = static_cast<int64_t>(magnitude);
    return at(place, [&] { return Dim(negative ? -value : value); });
  }

  Dim primary() {
    if (accept("(")) return closed(sum());
    if (next_ == text_.size() || !begins_name(text_[next_])) fail(next_, "expected a size");
    const std::string_view name = this->name();
    if (name == "max" && accept("(")) return call([](Dim a, Dim b) { return max(a, b); });
    if (name == "min" && accept("(")) return call([](Dim a, Dim b) { return min(a, b); });
    return Dim::symbol(name);
  }

  std::string_view name() {
    const size_t begin = next_;
    while (next_ < text_.size() && continues_name(text_[next_])) ++next_;
    end_ = next_;
    return text_.substr(begin, end_ - begin);
  }

  Dim call(Dim (*combine)(Dim, Dim)) {
    Dim result = sum();
    while (accept(",")) {
      const size_t place = next_;
      const Dim other = sum();
      result = at(place, [&] { return combine(result, other); });
    }
    return closed(result);
  }

  Dim closed(Dim inner) {
    if (!accept(")")) fail(next_, "expected )");
    return inner;
  }

  void skip_space() {
    while (next_ < text_.size() && is_space(text_[next_])) ++next_;
  }

  bool accept(std::string_view sign) {
    skip_space();
    if (text_.substr(next_, sign.size()) != sign) return false;
    end_ = next_ += sign.size();
    return true;
  }

  // What is wrong with a value, such as a division by zero, is wrong with the text.
  template <class Make>
  Dim at(size_t place, Make make) const {
    try {
      return make();
    } catch (const ValueError& error) {
      fail(place, error.message());
    }
  }

  [[noreturn]] void fail(size_t place, std::string_view problem) const {
    const std::string_view rest = text_.substr(place, 20);
    throw ParseError("column {}: {}, found {}", place + 1, problem,
                     rest.empty() ? "the end" : fmt::format("\"{}\"", rest));
  }

  std::string_view text_;
  size_t next_;     // what is read next
  size_t end_ = 0;  // past the last character that was read
  int nesting_ = 0;
};

}  // namespace

Dim parse_dim(std::string_view text, size_t& position) {
  if (position > text.size()) {
    throw ParseError("column {}: past the end of a text of {} characters", position + 1,
                     text.size());
  }
  DimParser parser(text, position);
  const Dim result = parser.sum();
  position = parser.end();
  return result;
}

}  // namespace plait
