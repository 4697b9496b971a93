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

// Describes arguments for error messages. A plain number adds nothing; the message names it where
// it matters.
struct ArgumentTexts {
  bool with_places;
  std::vector<std::string> texts = {};

  void add(const Tensor& tensor);
  void add(const Operand& operand);
  void add(const Shape& shape);
  void add(std::span<const Tensor> tensors);
};

// Where arguments are, as device_of finds it.
struct ArgumentDevice {
  std::optional<Device> device = {};
  bool is_placed = false;

  void add(const Tensor& tensor);
  void add(const Operand& operand);
  void add(const Shape&) {}
  void add(std::span<const Tensor> tensors);
};

template <class... Given>
class Call final : public CallInProgress {
 public:
  [[gnu::always_inline]] explicit Call(std::string_view function, const Given&... given)
      : CallInProgress(function), given_(given...) {}

 private:
  std::vector<std::string> operands(bool with_places) const override {
    ArgumentTexts found{with_places};
    std::apply([&](const Given&... each) { (found.add(each), ...); }, given_);
    return std::move(found.texts);
  }
  bool find_device(Device& device) const override {
    ArgumentDevice found;
    std::apply([&](const Given&... each) { (found.add(each), ...); }, given_);
    if (found.device) device = *found.device;
    return found.device.has_value();
  }

  std::tuple<const Given&...> given_;
};

// A table that a function has computed of constants, which is unplaced.
Tensor constants(std::span<const double> numbers);

// A tensor that a function has made of constants, sizes and keys alone, on a device, where it stays
// unplaced. Traces make it on the CPU, where their programs compute what has no operands.
Tensor made_on(Device device, const Tensor& made);
Tensor on_default_device(const Tensor& made);

// Indices or lengths on the host, as lists and NumPy's arrays are, on the device of x; others as
// they are.
Tensor indices_beside(const Tensor& x, const Tensor& indices);

// Checks of attributes: ValueError if the value is NaN, and for the second one also if it is
// negative.
void expect_number(std::string_view name, double value);
void expect_not_negative(std::string_view name, double value);

}  // namespace plait
