#include "plait/transform/inside/jit/jit_entries.h"

namespace plait::jits {

std::vector<int64_t> sizes_of(const JitArguments& leaves) {
  std::vector<int64_t> sizes;
  sizes.reserve(2 * leaves.size());
  for (const Tensor* const leaf : leaves.all()) {
    if (!leaf->is_array()) continue;
    for (const int64_t size : leaf->array().sizes()) sizes.push_back(size);
  }
  return sizes;
}

bool is_kind(const LeafKind& kind, const Tensor* leaf) {
  if (!leaf->is_array()) return kind.record == leaf->type();
  const Array& array = leaf->array();
  return array.dtype() == kind.dtype && array.sizes().size() == kind.rank &&
         !kind.record.is_record();
}

bool all_hold(const std::vector<SizeFact>& facts, const Pattern& pattern,
              const std::vector<int64_t>& numbers, const SizeFact** first_that_fails) {
  if (facts.empty()) return true;
  SymbolMap<int64_t> sizes;
  for (size_t i = 0; i < numbers.size(); ++i) sizes.set(pattern.symbols[i], numbers[i]);
  for (const SizeFact& fact : facts) {
    if (fact.evaluate(sizes)) continue;
    if (first_that_fails != nullptr) *first_that_fails = &fact;
    return false;
  }
  return true;
}

}  // namespace plait::jits
