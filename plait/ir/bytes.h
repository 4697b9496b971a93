// The encoding of the binary form: variable-length integers; strings, sizes and types are written
// once and then referred to by number.
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
  void real(double value);            // eight bytes, little-endian
  void string(std::string_view value);
  void dim(Dim value);
  void type(const Type& value);
  void axes(const AxisSet& value);
  void literal(const Literal& value);

  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

  // For content hashes: renames sizes, so that their names do not count; literals of more than a
  // few bytes count by their buffer, not by content.
  std::function<Dim(Dim)> rename_size;
  bool literals_by_identity = false;

 private:
  void array_type(const Type& value);

  std::string bytes_;
  std::unordered_map<std::string, uint64_t> strings_;
  std::unordered_map<Dim, uint64_t> dims_;
  std::unordered_map<Type, uint64_t> types_;
};

// Input is not trusted: every count is checked against the bytes that are left, every reference
// against what has been read. Malformed input is a ParseError that names the offset.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  uint8_t byte();
  uint64_t number();
  int64_t signed_number();
  double real();
  std::string_view string();  // valid as long as the bytes
  std::string_view name();    // a valid name of the text form: letters, digits, `_` and `.`
  Dim dim();
  Dim size();  // a dim that is not negative
  std::vector<Dim> sizes();
  Type type();
  Literal literal();
  bool flag();
  DType dtype();
  AxisSet axes();
  size_t position() const { return position_; }
  // A number of items of at least `least_bytes` each.
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
