#include "plait/tensor/rules.h"

#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>

#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"

namespace plait {
namespace {

// Indexed by the primitive's number, so that a lookup takes one load.
struct RuleTable {
  static constexpr size_t kMost = 1 << 14;  // primitives

  std::mutex mutex;
  std::unordered_map<const ir::Primitive*, Rules> rules;
  std::array<std::atomic<const Rules*>, kMost> by_number{};
};
RuleTable& rule_table() {
  static Immortal<RuleTable> table;
  return *table;
}

}  // namespace

OperandType::OperandType(const Tensor& tensor)
    : knows_device_(!tensor.is_traced() || tensor.traced().knows_device),
      is_unplaced_(tensor.is_unplaced()),
      device_(tensor.device()) {
  if (tensor.is_traced() || !tensor.is_array()) {
    traced_ = tensor.type();
  } else {
    dtype_ = tensor.array().dtype();
    sizes_ = tensor.array().sizes();
  }
}

void register_rules(const ir::Primitive& primitive, Rules rules) {
  const std::lock_guard lock(rule_table().mutex);
  const auto [place, is_new] = rule_table().rules.insert_or_assign(&primitive, std::move(rules));
  if (primitive.number >= RuleTable::kMost) {
    throw ValueError("{}: more than {} primitives", primitive.name, RuleTable::kMost);
  }
  rule_table().by_number[primitive.number].store(&place->second, std::memory_order_release);
}

const Rules* find_rules(const ir::Primitive& primitive) {
  return primitive.number < RuleTable::kMost
             ? rule_table().by_number[primitive.number].load(std::memory_order_acquire)
             : nullptr;
}

}  // namespace plait
