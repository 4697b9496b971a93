// What the user called, for as long as it runs: errors made on this thread meanwhile name it, and
// the user's line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

class CallInProgress {
 public:
  // Inlined, so that what it returns to is what called the function.
  [[gnu::always_inline]] explicit CallInProgress(std::string_view function)
      : function_(function), outer_(outermost_) {
    if (outer_ != nullptr) return;
    outermost_ = this;
    returns_to_ = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  }
  CallInProgress(const CallInProgress&) = delete;
  CallInProgress& operator=(const CallInProgress&) = delete;

  // Null where there is none. What a function calls inside is its own affair.
  static const CallInProgress* outermost() { return outermost_; }
  uintptr_t returns_to() const { return returns_to_; }  // of the outermost
  // "sum of f32[3]: " and the message, or without the operands where that tells them all.
  std::string told_with(std::string message) const;

 protected:
  ~CallInProgress() {
    if (outer_ == nullptr) outermost_ = nullptr;
  }

 private:
  virtual std::vector<std::string> operands() const = 0;

  static inline constinit thread_local const CallInProgress* outermost_ = nullptr;

  std::string_view function_;
  const CallInProgress* outer_;
  uintptr_t returns_to_ = 0;
};

}  // namespace plait
