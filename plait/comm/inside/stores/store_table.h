// The keys and values of a store, in the memory of one process. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace plait::dist {

// Keys that begin with it are those of the stores themselves; they are not counted.
inline constexpr char kOwnKey = '\0';

class StoreTable {
 public:
  void set(const std::string& key, std::string value) { values_[key] = std::move(value); }
  const std::string* find(const std::string& key) const;  // null if it is not set
  // ValueError if the value is not an integer, or the sum has more than 64 bits.
  int64_t add(const std::string& key, int64_t amount);
  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired);
  void append(const std::string& key, const std::string& value) { values_[key] += value; }
  bool erase(const std::string& key) { return values_.erase(key) != 0; }
  int64_t count() const;
  // Those of the keys that are not set.
  std::vector<std::string> missing_of(const std::vector<std::string>& keys) const;

 private:
  std::unordered_map<std::string, std::string> values_;
};

// ValueError unless there is a value for each key.
void check_counts(size_t keys, size_t values);
// DistError: the keys were not set within the timeout.
[[noreturn]] void refuse_late(const std::vector<std::string>& missing, int64_t milliseconds);

}  // namespace plait::dist
