// The first line of a function that users call: errors inside name it and what it was given.
//
//   Tensor stddev(const Tensor& x, const Axes& axes) {
//     const Call call("stddev", x);
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "plait/core/call_in_progress.h"
#include "plait/ops/operand.h"

namespace plait {

// What a function was given, as its errors tell it. Of a plain number: nothing, since that is for
// the message to tell, where it matters.
void add_text(std::vector<std::string>& texts, const Tensor& tensor);
void add_text(std::vector<std::string>& texts, const Operand& operand);
void add_text(std::vector<std::string>& texts, const Shape& shape);
void add_text(std::vector<std::string>& texts, std::span<const Tensor> tensors);

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

  std::tuple<const Given&...> given_;
};

// For attributes: ValueError where one is NaN, or also below 0.
void expect_number(std::string_view name, double value);
void expect_not_negative(std::string_view name, double value);

}  // namespace plait
