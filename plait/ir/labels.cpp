#include "plait/ir/labels.h"

#include <algorithm>
#include <functional>
#include <limits>

#include <fmt/core.h>

#include "plait/core/error.h"

namespace plait::ir {

std::string_view Labels::of(ValueId value) const {
  const auto place = std::ranges::lower_bound(entries_, value, {}, &Entry::value);
  return place != entries_.end() && place->value == value ? text_of(place->text) : "";
}

uint32_t LabelIndex::hash_of(std::string_view label) {
  return static_cast<uint32_t>(std::hash<std::string_view>()(label)) | 1;
}

size_t LabelIndex::slot_of(std::string_view label, uint32_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t i = (hash >> 1) & mask;
  for (; slots_[i].hash != 0; i = (i + 1) & mask) {
    if (slots_[i].hash == hash && labels_.text_of(slots_[i].text) == label) break;
  }
  return i;
}

std::optional<ValueId> LabelIndex::find(std::string_view label) const {
  if (slots_.empty()) return std::nullopt;
  const Slot& slot = slots_[slot_of(label, hash_of(label))];
  return slot.hash != 0 ? std::optional(slot.value) : std::nullopt;
}

void LabelIndex::set(ValueId value, std::string_view wanted) {
  if (!find(wanted)) return insert(value, wanted);
  uint64_t& suffix = next_suffix_.try_emplace(std::string(wanted), 1).first->second;
  std::string label;
  do label = fmt::format("{}.{}", wanted, suffix++);
  while (find(label));
  insert(value, label);
}

void LabelIndex::insert(ValueId value, std::string_view label) {
  std::string& text = labels_.all_text_;
  if (label.size() > std::numeric_limits<uint32_t>::max() - text.size()) {
    throw MemoryError("the labels of one function are longer than 4 GiB together");
  }
  const Labels::Text place{static_cast<uint32_t>(text.size()), static_cast<uint32_t>(label.size())};
  if (2 * (used_ + 1) > slots_.size()) grow();
  const uint32_t hash = hash_of(label);
  slots_[slot_of(label, hash)] = {place, value, hash};
  ++used_;
  text += label;

  auto& entries = labels_.entries_;
  const auto entry = std::ranges::lower_bound(entries, value, {}, &Labels::Entry::value);
  if (entry != entries.end() && entry->value == value)
    entry->text = place;
  else
    entries.insert(entry, {value, place});
}

void LabelIndex::grow() {
  constexpr size_t kLeast = 16;
  std::vector<Slot> old(std::max(kLeast, 2 * slots_.size()));
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.hash == 0) continue;
    size_t i = (slot.hash >> 1) & mask;
    while (slots_[i].hash != 0) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

}  // namespace plait::ir
