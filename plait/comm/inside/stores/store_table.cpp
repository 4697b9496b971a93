#include "plait/comm/inside/stores/store_table.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "plait/core/error.h"

namespace plait::dist {
namespace {

constexpr size_t kMostNamed = 8;

std::string quoted(const std::string& key) {
  std::string text = "\"";
  for (const char c : key) {
    const bool is_plain = c >= ' ' && c != '\x7f';
    text += is_plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text + '"';
}

}  // namespace

const std::string* StoreTable::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

int64_t StoreTable::add(const std::string& key, int64_t amount) {
  int64_t number = 0;
  if (const std::string* text = find(key)) {
    const char* const end = text->data() + text->size();
    const auto [read, error] = std::from_chars(text->data(), end, number);
    if (error != std::errc() || read != end) {
      throw ValueError("Store.add: the value of {} is not an integer", quoted(key));
    }
  }
  int64_t sum = 0;
  if (__builtin_add_overflow(number, amount, &sum)) {
    throw ValueError("Store.add: {} + {} of {} has more than 64 bits", number, amount, quoted(key));
  }
  set(key, std::to_string(sum));
  return sum;
}

std::string StoreTable::compare_set(const std::string& key, const std::string& expected,
                                    const std::string& desired) {
  const std::string* const value = find(key);
  if (value == nullptr ? !expected.empty() : *value != expected) {
    return value == nullptr ? expected : *value;
  }
  set(key, desired);
  return desired;
}

int64_t StoreTable::count() const {
  return std::ranges::count_if(
      values_, [](const auto& entry) { return entry.first.empty() || entry.first[0] != kOwnKey; });
}

std::vector<std::string> StoreTable::missing_of(const std::vector<std::string>& keys) const {
  std::vector<std::string> missing;
  std::ranges::copy_if(keys, std::back_inserter(missing),
                       [&](const std::string& key) { return find(key) == nullptr; });
  return missing;
}

void check_counts(size_t keys, size_t values) {
  if (keys == values) return;
  throw ValueError("Store.multi_set: {} keys but {} values", keys, values);
}

void refuse_late(const std::vector<std::string>& missing, int64_t milliseconds) {
  std::string names;
  for (size_t i = 0; i < std::min(missing.size(), kMostNamed); ++i) {
    names += (i == 0 ? "" : ", ") + quoted(missing[i]);
  }
  if (missing.size() > kMostNamed)
    names += fmt::format(" and {} more", missing.size() - kMostNamed);
  throw DistError("Store: {} {} not set within {} s", names, missing.size() == 1 ? "was" : "were",
                  static_cast<double>(milliseconds) / 1000)
      .hint("see whether the process that sets it has started, and has not failed");
}

}  // namespace plait::dist
