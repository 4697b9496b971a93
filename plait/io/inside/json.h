// JSON values. Objects keep their order; their names are distinct.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace plait {

class Json {
 public:
  using List = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;
  // An integer of more than 64 bits, which f64 would round.
  struct BigInteger {
    std::string digits;

    friend bool operator==(const BigInteger&, const BigInteger&) = default;
  };
  using Value =
      std::variant<std::nullptr_t, bool, int64_t, double, std::string, List, Object, BigInteger>;

  Json(Value value = nullptr) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)

  // ParseError names the byte of what is malformed: text that is not JSON or not UTF-8, a name
  // twice in an object, more than 128 levels of nesting.
  static Json parse(std::string_view text);
  std::string text() const;  // without spaces; characters beyond ASCII are not escaped

  bool is_null() const { return holds<std::nullptr_t>(); }
  template <class T>
  bool holds() const {
    return std::holds_alternative<T>(value_);
  }

  // The value of this type: bool, int64_t, BigInteger, std::string, List or Object. The ParseError
  // otherwise says that `what`, "vocab_size" for example, is something else.
  template <class T>
  const T& as(std::string_view what) const;
  double number(std::string_view what) const;  // also of an integer

  // A member of an object; nullptr if it has none of this name. ParseError if it is not an object.
  const Json* find(std::string_view name) const;
  const Json& at(std::string_view name) const;  // ParseError if there is none

  friend bool operator==(const Json&, const Json&) = default;

 private:
  Value value_;
};

// The text as a JSON string, with its quotes.
std::string json_string(std::string_view text);

}  // namespace plait
