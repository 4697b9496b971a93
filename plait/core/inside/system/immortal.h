// A value that is never destroyed, for tables that must outlive every static object.
#pragma once

#include <memory>
#include <utility>

namespace plait {

// Usage: static Immortal<Table> table; It is in static storage, so a leak checker sees what it
// owns, and code that runs while the process exits may still use it.
template <class T>
class Immortal {
 public:
  template <class... Arguments>
  explicit Immortal(Arguments&&... arguments) {
    std::construct_at(&value_, std::forward<Arguments>(arguments)...);
  }
  ~Immortal() {}
  Immortal(const Immortal&) = delete;
  Immortal& operator=(const Immortal&) = delete;

  T& operator*() { return value_; }
  T* operator->() { return &value_; }

 private:
  union {
    T value_;  // NOLINT(readability-identifier-naming): private, in a union
  };
};

}  // namespace plait
