#include "plait/tensor/rules.h"

#include <mutex>
#include <unordered_map>

#include "plait/core/immortal.h"

namespace plait {
namespace {

struct Table {
  std::mutex mutex;
  std::unordered_map<const ir::Primitive*, Rules> rules;
};
Table& table() {
  static Immortal<Table> table;
  return *table;
}

}  // namespace

OperandType::OperandType(const Tensor& tensor) {
  if (tensor.is_traced()) {
    traced_ = tensor.type();
  } else {
    dtype_ = tensor.array().dtype();
    sizes_ = tensor.array().sizes();
  }
}

void register_rules(const ir::Primitive& primitive, Rules rules) {
  const std::lock_guard lock(table().mutex);
  table().rules.insert_or_assign(&primitive, std::move(rules));
}

const Rules* find_rules(const ir::Primitive& primitive) {
  const std::lock_guard lock(table().mutex);
  const auto place = table().rules.find(&primitive);
  return place == table().rules.end() ? nullptr : &place->second;
}

}  // namespace plait
