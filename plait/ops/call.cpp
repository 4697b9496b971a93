#include "plait/ops/call.h"

#include <cmath>

#include "plait/core/error.h"

namespace plait {

void ArgumentTexts::add(const Tensor& tensor) {
  const bool is_omitted = !tensor;
  if (is_omitted) return;
  const bool is_donated = !tensor.is_traced() && tensor.is_array() && !tensor.array();
  if (is_donated) return;
  const std::string text = tensor.type().text();
  texts.push_back(with_places ? text + " on " + text_of(tensor.device()) : text);
}

void ArgumentTexts::add(const Operand& operand) {
  if (operand.is_tensor()) add(operand.tensor());
}

void ArgumentTexts::add(const Shape& shape) { texts.push_back(shape.text()); }

void ArgumentTexts::add(std::span<const Tensor> tensors) {
  for (const Tensor& tensor : tensors) add(tensor);
}

void ArgumentDevice::add(const Tensor& tensor) {
  if (!tensor || !tensor.is_array() || tensor.dtype() == DType::key) return;
  if (!tensor.is_traced() && !tensor.array()) return;  // donated to the operation
  const Device here = tensor.device();
  if (tensor.is_unplaced()) {
    if (!device && !here.is_cpu()) device = here;
  } else if (!is_placed || device->is_cpu()) {
    device = here;
    is_placed = true;
  }
}

void ArgumentDevice::add(const Operand& operand) {
  if (operand.is_tensor()) add(operand.tensor());
}

void ArgumentDevice::add(std::span<const Tensor> tensors) {
  for (const Tensor& tensor : tensors) add(tensor);
}

void expect_number(std::string_view name, double value) {
  if (std::isnan(value)) throw ValueError("the {} is nan", name).at(Location::of_caller());
}

void expect_not_negative(std::string_view name, double value) {
  if (value >= 0) return;
  throw ValueError("the {} is {}, expected 0 or more", name, value).at(Location::of_caller());
}

}  // namespace plait
