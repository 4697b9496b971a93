// The labels of a function's values. Built for functions with a million labels: all text is in one
// string, and a lookup by text needs no copy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace plait::ir {

// A value: the parameters first, then the results of each instruction in order.
using ValueId = uint32_t;

class Labels {
 public:
  bool empty() const { return entries_.empty(); }
  std::string_view of(ValueId value) const;  // "" if it has none

  // Calls visit(value, label) for each value with a label, in order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Entry& entry : entries_) visit(entry.value, text_of(entry.text));
  }

 private:
  friend class LabelIndex;
  struct Text {
    uint32_t begin, size;
  };
  struct Entry {
    ValueId value;
    Text text;
  };

  std::string_view text_of(Text text) const {
    return std::string_view(all_text_).substr(text.begin, text.size);
  }

  std::vector<Entry> entries_;  // sorted by value
  std::string all_text_;
};

// Assigns labels while a function is built, and finds values by label. Labels are unique.
class LabelIndex {
 public:
  explicit LabelIndex(Labels& labels) : labels_(labels) {}

  std::optional<ValueId> find(std::string_view label) const;
  // Assigns `wanted`, or wanted.1, wanted.2, … if that is taken. The value's former label stays
  // taken.
  void set(ValueId value, std::string_view wanted);

 private:
  struct Slot {
    Labels::Text text;
    ValueId value;
    uint32_t hash;  // 0 if the slot is free
  };

  static uint32_t hash_of(std::string_view label);
  size_t slot_of(std::string_view label, uint32_t hash) const;  // its slot, or the free one for it
  void insert(ValueId value, std::string_view label);
  void grow();

  Labels& labels_;
  std::vector<Slot> slots_;  // the size is a power of two; at most half full
  size_t used_ = 0;
  std::unordered_map<std::string, uint64_t>
      next_suffix_;  // next suffix of labels requested repeatedly
};

}  // namespace plait::ir
