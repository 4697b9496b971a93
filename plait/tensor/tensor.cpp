#include "plait/tensor/tensor.h"

#include "plait/core/error.h"

namespace plait {

Element Scalar::element() const {
  if (is_symbolic()) throw ValueError("the size {} has no value while it is traced", size_.text());
  switch (kind_) {
    case ScalarKind::boolean: return Element::of(integer_ != 0);
    case ScalarKind::integer: return Element::of_signed(is_size_ ? size_.number() : integer_);
    case ScalarKind::floating: return Element::of(number_.real());
    case ScalarKind::complex: return Element::of(number_);
  }
  return {};
}

Tensor::Tensor(TracedValue value) : node_(new Node(std::move(value))) {}

Tensor::Tensor(RecordValue value) : node_(new Node(std::move(value))) {}

Tensor Tensor::with_derivation(std::shared_ptr<const Derivation> derivation) const {
  const Node& node = resolved();
  Tensor tensor = node.traced   ? Tensor(*node.traced)
                  : node.record ? Tensor(*node.record)
                                : Tensor(node.array);
  tensor.node_->derivation = std::move(derivation);
  return tensor;
}

void Tensor::refuse_empty() {
  throw ValueError("this tensor was never given a value, or has been moved or donated")
      .at(Location::of_caller())
      .hint("assign a tensor to it first; a field that may be absent is a std::optional<Tensor>");
}

bool Tensor::is_resolved(const TracedValue& traced) {
  return traced.actual && *traced.actual && traced.scope->trace == nullptr;
}

// The value that a trace computed may itself be that of an earlier trace: a parameter of one that
// ended before.
const Tensor::Node& Tensor::resolved() const {
  const Node* found = &node();
  while (found->traced && is_resolved(*found->traced)) found = &found->traced->actual->node();
  return *found;
}

bool Tensor::is_array_slow() const {
  const Node& node = resolved();
  return node.traced ? node.traced->type.is_array() : node.record == nullptr;
}

DType Tensor::dtype() const { return is_traced() ? traced().type.dtype() : array().dtype(); }

Shape Tensor::shape() const {
  return is_traced() ? traced().type.shape() : Shape::of_sizes(array().sizes());
}

Dim Tensor::shape(int64_t axis) const {
  if (is_traced()) return traced().type.shape().at(axis);
  const Sizes& sizes = array().sizes();
  return sizes[axis_of(axis, sizes.size())];
}

size_t Tensor::rank() const { return is_traced() ? traced().type.shape().rank() : array().rank(); }

ir::Type Tensor::type() const {
  const Node& node = resolved();
  if (node.traced) return node.traced->type;
  return node.record ? node.record->type : ir::Type::array(dtype(), shape());
}

Device Tensor::device() const {
  const Node& node = resolved();
  if (node.traced) return node.traced->device;
  return node.record ? Device() : node.array.device();
}

bool Tensor::is_unplaced() const {
  const Node& node = resolved();
  if (node.traced) return node.traced->is_unplaced;
  return !node.record && node.array.is_unplaced();
}

Device device_of(std::span<const Tensor> tensors) {
  Device found;
  bool is_placed = false;
  for (const Tensor& tensor : tensors) {
    if (!tensor || !tensor.is_array() || tensor.dtype() == DType::key) continue;
    if (is_placed && (tensor.is_unplaced() || !found.is_cpu())) continue;
    if (!tensor.is_unplaced() || found.is_cpu()) found = tensor.device();
    is_placed = is_placed || !tensor.is_unplaced();
  }
  return found;
}

const ir::Value& Tensor::record() const {
  const Node& node = resolved();
  if (node.record) return node.record->value;
  throw ValueError("a {} is not a record with known fields", type().text())
      .at(Location::of_caller());
}

const Array& Tensor::array_slow() const {
  const Node& node = resolved();
  if (node.traced) return array_at_present();
  if (!node.record) return node.array;
  throw TypeError("a {} is a record, not an array", node.record->type.text())
      .at(Location::of_caller())
      .hint("compute with its fields");
}

Array Tensor::take_array() && {
  if (node().traced || node_->record) return array();
  if (node_->owners.load(std::memory_order_acquire) == 1) return std::move(node_->array);
  return node_->array;
}

std::string Tensor::text() const {
  if (resolved().record) return fmt::format("record : {}", type().text());
  return is_traced() ? fmt::format("traced : {}", traced().type.text()) : text_of(array());
}

}  // namespace plait
