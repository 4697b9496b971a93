// Writes JSON as the `tokenizers` library does, to the byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plait::text {

class JsonWriter {
 public:
  explicit JsonWriter(bool is_pretty) : is_pretty_(is_pretty) {}

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_list() { open('['); }
  void end_list() { close(']'); }
  void key(std::string_view name);

  void null();
  void boolean(bool value);
  void number(uint64_t value);
  void real(double value);
  void short_real(float value);  // finite
  void string(std::string_view value);
  void character(char32_t c);

  // Members of an object.
  void member(std::string_view name, bool value) { key(name), boolean(value); }
  void member(std::string_view name, uint32_t value) { key(name), number(value); }
  void member(std::string_view name, std::string_view value) { key(name), string(value); }
  void member(std::string_view name, const char* value) { key(name), string(value); }
  void member(std::string_view name, const std::string& value) { key(name), string(value); }
  void member(std::string_view name, const std::optional<std::string>& value);
  void member(std::string_view name, std::optional<uint32_t> value);
  void member(std::string_view name, std::optional<bool> value);
  // An object with its member "type" first.
  void begin_typed(std::string_view type);

  std::string finish() { return std::move(out_); }

 private:
  void open(char bracket);
  void close(char bracket);
  void begin_value();
  void new_line();

  std::string out_;
  bool is_pretty_;
  bool is_first_ = true;      // for the list or object
  bool is_after_key_ = true;  // or at the beginning
  int depth_ = 0;
};

}  // namespace plait::text
