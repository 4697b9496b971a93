#include "plait/ops/call.h"

namespace plait {

void add_text(std::vector<std::string>& texts, const Tensor& tensor) {
  // Nothing was given where it is empty, be it by right or not.
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

}  // namespace plait
