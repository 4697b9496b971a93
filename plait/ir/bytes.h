// The bytes of the binary form: variable-length integers, and strings, sizes and types that are
// written once and referred to by number afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plait/core/numbers/literal.h"
#include "plait/core/sizes/dim.h"
#include "plait/ir/type.h"

namespace plait::ir {

class ByteWriter {
 public:
  void byte(uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void number(uint64_t value);        // LEB128
  void signed_number(int64_t value);  // zigzag
  void real(double value);            // eight bytes, little endian
  void string(std::string_view value);
  void dim(Dim value);
  void type(const Type& value);
  void literal(const Literal& value);

  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

  // For content hashes: sizes pass through here, so that their names do not count; and a literal of
  // more than a few bytes counts by its buffer, not by its content.
  std::function<Dim(Dim)> rename_size;
  bool literals_by_identity = false;

 private:
  void array_type(const Type& value);

  std::string bytes_;
  std::unordered_map<std::string, uint64_t> strings_;
  std::unordered_map<Dim, uint64_t> dims_;
  std::unordered_map<Type, uint64_t> types_;
};

// Trusts nothing: every count is checked against the bytes that are left, every reference against
// what has been read. Malformed input is a ParseError that names the offset.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  uint8_t byte();
  uint64_t number();
  int64_t signed_number();
  double real();
  std::string_view string();  // valid while the bytes are
  std::string_view name();  // a string that the text form could read: letters, digits, `_` and `.`
  Dim dim();
  Dim size();  // one that is not below 0
  std::vector<Dim> sizes();
  Type type();
  Literal literal();
  size_t position() const { return position_; }
  // A count of things that take at least `least_bytes` each.
  size_t count(size_t least_bytes = 1);

  bool at_end() const { return position_ == bytes_.size(); }
  [[noreturn]] void fail(std::string_view message) const;

 private:
  template <class T, class ReadNew>
  T entry(std::vector<T>& known, ReadNew read_new);
  Type new_type();
  Type array_type();
  Type part_of_type();
  std::string_view raw(size_t count);

  std::string_view bytes_;
  size_t position_ = 0;
  int depth_ = 0;
  std::vector<std::string_view> strings_;
  std::vector<Dim> dims_;
  std::vector<Type> types_;
};

}  // namespace plait::ir
