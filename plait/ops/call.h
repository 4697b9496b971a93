// The first line of a public function: errors thrown inside name the function and the types of its
// arguments.
//
//   Tensor stddev(const Tensor& x, const Axes& axes) {
//     const Call call("stddev", x);
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "plait/core/call_in_progress.h"
#include "plait/core/device.h"
#include "plait/ops/operand.h"

namespace plait {

// Appends the description of an argument for error messages. A plain number adds nothing; the
// message names it where it matters.
void add_text(std::vector<std::string>& texts, const Tensor& tensor);
void add_text(std::vector<std::string>& texts, const Operand& operand);
void add_text(std::vector<std::string>& texts, const Shape& shape);
void add_text(std::vector<std::string>& texts, std::span<const Tensor> tensors);

// Sets `device` if the argument is on another device than the CPU, or if none is known yet. Scalars
// on the host meet any device.
void note_device(std::optional<Device>& device, const Tensor& tensor);
void note_device(std::optional<Device>& device, const Operand& operand);
inline void note_device(std::optional<Device>&, const Shape&) {}
void note_device(std::optional<Device>& device, std::span<const Tensor> tensors);

template <class... Given>
class Call final : public CallInProgress {
 public:
  [[gnu::always_inline]] explicit Call(std::string_view function, const Given&... given)
      : CallInProgress(function), given_(given...) {}

 private:
  std::vector<std::string> operands() const override {
    std::vector<std::string> texts;
    std::apply([&](const Given&... each) { (add_text(texts, each), ...); }, given_);
    return texts;
  }
  bool find_device(Device& device) const override {
    std::optional<Device> found;
    std::apply([&](const Given&... each) { (note_device(found, each), ...); }, given_);
    if (found) device = *found;
    return found.has_value();
  }

  std::tuple<const Given&...> given_;
};

// A tensor that a function has made without others, on the default device. Traces make it on the
// CPU, where their programs compute what has no operands.
Tensor on_default_device(Tensor made);

// Checks of attributes: ValueError if the value is NaN, and for the second one also if it is
// negative.
void expect_number(std::string_view name, double value);
void expect_not_negative(std::string_view name, double value);

}  // namespace plait
