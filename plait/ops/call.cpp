#include "plait/ops/call.h"

#include <cmath>

#include "plait/core/error.h"

namespace plait {

void add_text(std::vector<std::string>& texts, const Tensor& tensor) {
  // An empty tensor is an omitted argument.
  if (tensor) texts.push_back(tensor.type().text());
}

void add_text(std::vector<std::string>& texts, const Operand& operand) {
  if (operand.is_tensor()) add_text(texts, operand.tensor());
}

void add_text(std::vector<std::string>& texts, const Shape& shape) {
  texts.push_back(shape.text());
}

void add_text(std::vector<std::string>& texts, std::span<const Tensor> tensors) {
  for (const Tensor& tensor : tensors) add_text(texts, tensor);
}

void note_device(std::optional<Device>& device, const Tensor& tensor) {
  if (!tensor || (device && !device->is_cpu())) return;
  if (!tensor.is_array() || tensor.dtype() == DType::key) return;
  if (!tensor.is_traced() && !tensor.array()) return;  // donated to the operation
  const Device here = tensor.device();
  if (!here.is_cpu() || tensor.rank() > 0) device = here;
}

void note_device(std::optional<Device>& device, const Operand& operand) {
  if (operand.is_tensor()) note_device(device, operand.tensor());
}

void note_device(std::optional<Device>& device, std::span<const Tensor> tensors) {
  for (const Tensor& tensor : tensors) note_device(device, tensor);
}

void expect_number(std::string_view name, double value) {
  if (std::isnan(value)) throw ValueError("the {} is nan", name).at(Location::of_caller());
}

void expect_not_negative(std::string_view name, double value) {
  if (value >= 0) return;
  throw ValueError("the {} is {}, expected 0 or more", name, value).at(Location::of_caller());
}

}  // namespace plait
