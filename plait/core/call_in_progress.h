// The function that the user called, while it runs. Errors raised on this thread meanwhile name it
// and the user's source line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/ambient.h"

namespace plait {

struct Device;

class CallInProgress {
 public:
  // Inlined, so that the recorded return address is that of the called function.
  [[gnu::always_inline]] explicit CallInProgress(std::string_view function)
      : function_(function), outer_(ambient.call) {
    if (outer_ != nullptr) return;
    ambient.call = this;
    returns_to_ = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  }
  CallInProgress(const CallInProgress&) = delete;
  CallInProgress& operator=(const CallInProgress&) = delete;

  // Null if there is none. Calls nested inside are not recorded.
  static const CallInProgress* outermost() { return ambient.call; }
  uintptr_t returns_to() const { return returns_to_; }  // return address of the outermost one
  // The message after "sum of f32[3]: ", without the operands if the message lists them all.
  std::string message_with_call(std::string message) const;
  // Its tensors: "f32[3]", or with their places "f32[3] on cuda:0".
  virtual std::vector<std::string> operands(bool with_places) const = 0;
  // Sets where its operands are: what it makes without operands of its own is made there too. False
  // if there is no tensor among its operands.
  virtual bool find_device(Device& device) const = 0;

 protected:
  ~CallInProgress() {
    if (outer_ == nullptr) ambient.call = nullptr;
  }

 private:
  std::string_view function_;
  const CallInProgress* outer_;
  uintptr_t returns_to_ = 0;
};

}  // namespace plait
