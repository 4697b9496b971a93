#include "plait/text/inside/files/json_writer.h"

#include <cmath>

#include "plait/core/error.h"
#include "plait/io/inside/json.h"
#include "plait/text/inside/code_points.h"
#include "plait/text/inside/files/decimals.h"

namespace plait::text {

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

void JsonWriter::real(double value) {
  begin_value();
  out_ += std::isfinite(value) ? decimal_text(value) : "null";
}

void JsonWriter::short_real(float value) { begin_value(), out_ += short_decimal_text(value); }

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
