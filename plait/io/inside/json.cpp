#include "plait/io/inside/json.h"

#include <unordered_set>
#include <utility>

#include <nlohmann/json.hpp>

#include "plait/core/error.h"
#include "plait/core/text.h"

namespace plait {
namespace {

constexpr size_t kDeepest = 128;

// Builds a value from the events of the parser, which is not recursive.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  // -0 is a float: there is no such integer.
  bool number_integer(int64_t value) override { return value == 0 ? add(-0.) : add(value); }
  bool number_unsigned(uint64_t value) override {
    if (value > INT64_MAX) return add(static_cast<double>(value));
    return add(static_cast<int64_t>(value));
  }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(nlohmann::json::binary_t&) override { return false; }  // not part of text

  bool start_object(size_t) override { return open(Json::Object()); }
  bool start_array(size_t) override { return open(Json::List()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    if (!open_.back().names.insert(name).second) {
      throw ParseError("an object has two members named {}", in_quotes(name));
    }
    open_.back().name = std::move(name);
    return true;
  }
  bool parse_error(size_t position, const std::string& token,
                   const nlohmann::json::exception& error) override {
    std::string_view reason = error.what();  // "[json.exception…] parse error at …: <reason>"
    if (const size_t colon = reason.find(": "); colon != std::string_view::npos) {
      reason.remove_prefix(colon + 2);
    }
    throw ParseError("byte {}: {}", position == 0 ? 0 : position - 1,
                     token.size() > 1000 ? "this is not JSON" : reason);
  }

  Json result() { return std::move(result_); }

 private:
  struct Open {
    Json::Value value;
    std::string name;  // of the member that comes next
    std::unordered_set<std::string> names;
  };

  bool open(Json::Value value) {
    if (open_.size() == kDeepest) throw ParseError("more than {} levels of nesting", kDeepest);
    open_.push_back({.value = std::move(value), .name = {}, .names = {}});
    return true;
  }
  bool close() {
    Json::Value value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }
  bool add(Json::Value value) {
    if (open_.empty()) {
      result_ = std::move(value);
    } else if (auto* list = std::get_if<Json::List>(&open_.back().value)) {
      list->emplace_back(std::move(value));
    } else {
      std::get<Json::Object>(open_.back().value)
          .emplace_back(std::move(open_.back().name), std::move(value));
    }
    return true;
  }

  std::vector<Open> open_;
  Json result_;
};

template <class T>
constexpr std::string_view kTypeName;
template <>
constexpr std::string_view kTypeName<std::nullptr_t> = "null";
template <>
constexpr std::string_view kTypeName<bool> = "true or false";
template <>
constexpr std::string_view kTypeName<int64_t> = "an integer";
template <>
constexpr std::string_view kTypeName<double> = "a number";
template <>
constexpr std::string_view kTypeName<std::string> = "a string";
template <>
constexpr std::string_view kTypeName<Json::List> = "a list";
template <>
constexpr std::string_view kTypeName<Json::Object> = "an object";

std::string_view type_of(const Json::Value& value) {
  return std::visit([]<class T>(const T&) { return kTypeName<T>; }, value);
}

struct Printer {
  std::string& out;

  void operator()(std::nullptr_t) const { out += "null"; }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(int64_t value) const { print_number(out, value); }
  void operator()(double value) const { out += fmt::format("{}", value); }
  void operator()(const std::string& value) const { out += json_string(value); }
  void operator()(const Json::List& list) const {
    char before = '[';
    for (const Json& each : list) {
      out += std::exchange(before, ',');
      out += each.text();
    }
    out += list.empty() ? "[]" : "]";
  }
  void operator()(const Json::Object& object) const {
    char before = '{';
    for (const auto& [name, each] : object) {
      out += std::exchange(before, ',');
      out += json_string(name) + ":" + each.text();
    }
    out += object.empty() ? "{}" : "}";
  }
};

}  // namespace

Json Json::parse(std::string_view text) {
  // The parser would skip this mark, and end at this byte as if the text did.
  if (text.starts_with("\xef\xbb\xbf")) throw ParseError("byte 0: a byte order mark is not JSON");
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    throw ParseError("byte {}: a zero byte is not JSON", zero);
  }
  Builder builder;
  nlohmann::json::sax_parse(text, &builder);
  return builder.result();
}

std::string Json::text() const {
  std::string out;
  std::visit(Printer{out}, value_);
  return out;
}

template <class T>
const T& Json::as(std::string_view what) const {
  if (const T* value = std::get_if<T>(&value_)) return *value;
  throw ParseError("{} is {}, expected {}", what, type_of(value_), kTypeName<T>);
}
template const bool& Json::as<bool>(std::string_view) const;
template const int64_t& Json::as<int64_t>(std::string_view) const;
template const std::string& Json::as<std::string>(std::string_view) const;
template const Json::List& Json::as<Json::List>(std::string_view) const;
template const Json::Object& Json::as<Json::Object>(std::string_view) const;

double Json::number(std::string_view what) const {
  if (const int64_t* whole = std::get_if<int64_t>(&value_)) return static_cast<double>(*whole);
  if (const double* value = std::get_if<double>(&value_)) return *value;
  throw ParseError("{} is {}, expected a number", what, type_of(value_));
}

const Json* Json::find(std::string_view name) const {
  for (const auto& [each, value] : as<Object>(name)) {
    if (each == name) return &value;
  }
  return nullptr;
}

const Json& Json::at(std::string_view name) const {
  if (const Json* found = find(name)) return *found;
  throw ParseError("{} is missing", in_quotes(name));
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<int>(c));
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

}  // namespace plait
