#include "plait/text/inside/files/json_writer.h"

#include <charconv>
#include <cmath>

#include "plait/core/error.h"
#include "plait/io/inside/json.h"
#include "plait/text/inside/code_points.h"

namespace plait::text {
namespace {

// The shortest digits that read back as the value, and the power of ten of the first one.
struct Digits {
  std::string digits;
  int exponent;
};
Digits shortest_digits(double magnitude) {
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, magnitude, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<size_t>(end - buffer));
  const size_t e = text.find('e');
  Digits result{.digits = std::string(text.substr(0, 1)), .exponent = 0};
  if (e > 2) result.digits += text.substr(2, e - 2);
  const char* exponent = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(exponent, end, result.exponent);
  return result;
}

}  // namespace

void JsonWriter::begin_value() {
  if (is_after_key_) {
    is_after_key_ = false;
    return;
  }
  if (!is_first_) out_ += ',';
  is_first_ = false;
  new_line();
}

void JsonWriter::new_line() {
  if (!is_pretty_) return;
  out_ += '\n';
  out_.append(2 * static_cast<size_t>(depth_), ' ');
}

void JsonWriter::open(char bracket) {
  begin_value();
  out_ += bracket;
  is_first_ = true;
  ++depth_;
}

void JsonWriter::close(char bracket) {
  --depth_;
  if (!is_first_) new_line();
  out_ += bracket;
  is_first_ = false;
}

void JsonWriter::key(std::string_view name) {
  begin_value();
  out_ += json_string(name);
  out_ += is_pretty_ ? ": " : ":";
  is_after_key_ = true;
}

void JsonWriter::null() { begin_value(), out_ += "null"; }
void JsonWriter::boolean(bool value) { begin_value(), out_ += value ? "true" : "false"; }
void JsonWriter::number(uint64_t value) { begin_value(), out_ += std::to_string(value); }
void JsonWriter::string(std::string_view value) { begin_value(), out_ += json_string(value); }

void JsonWriter::character(char32_t c) {
  std::string text;
  append_utf8(text, c);
  string(text);
}

// Decimals for powers of ten from -5 to 16, else with an exponent.
void JsonWriter::real(double value) {
  begin_value();
  if (!std::isfinite(value)) {
    out_ += "null";
    return;
  }
  if (std::signbit(value)) out_ += '-';
  if (value == 0) {
    out_ += "0.0";
    return;
  }
  const auto [digits, exponent] = shortest_digits(std::abs(value));
  const int count = static_cast<int>(digits.size());
  if (exponent >= 0 && exponent < 16) {
    const auto whole = static_cast<size_t>(exponent + 1);
    if (count <= exponent + 1) {
      out_ += digits + std::string(whole - digits.size(), '0') + ".0";
    } else {
      out_ += digits.substr(0, whole) + '.' + digits.substr(whole);
    }
  } else if (exponent < 0 && exponent >= -5) {
    out_ += "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  } else {
    out_ += digits.substr(0, 1);
    if (count > 1) out_ += '.' + digits.substr(1);
    out_ += 'e' + std::to_string(exponent);
  }
}

void JsonWriter::member(std::string_view name, const std::optional<std::string>& value) {
  key(name);
  value ? string(*value) : null();
}
void JsonWriter::member(std::string_view name, std::optional<uint32_t> value) {
  key(name);
  value ? number(*value) : null();
}
void JsonWriter::member(std::string_view name, std::optional<bool> value) {
  key(name);
  value ? boolean(*value) : null();
}

void JsonWriter::begin_typed(std::string_view type) {
  begin_object();
  member("type", type);
}

}  // namespace plait::text
