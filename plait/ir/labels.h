// What the values of a function are called. A million labels are ordinary: their text lies in one
// string, and finding one by its text needs no copy of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace plait::ir {

// A value: the parameters first, then each instruction's results in order.
using ValueId = uint32_t;

class Labels {
 public:
  bool empty() const { return entries_.empty(); }
  std::string_view of(ValueId value) const;  // "" when it has none

  // (value, label) of each that has one, in order.
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

// Gives values their labels while a function is built, and finds values by label. No two values
// have the same.
class LabelIndex {
 public:
  explicit LabelIndex(Labels& labels) : labels_(labels) {}

  std::optional<ValueId> find(std::string_view label) const;
  // `wanted`, or wanted.1, wanted.2, … if that is taken. The value's former label stays taken.
  void set(ValueId value, std::string_view wanted);

 private:
  struct Slot {
    Labels::Text text;
    ValueId value;
    uint32_t hash;  // 0 where the slot is free
  };

  static uint32_t hash_of(std::string_view label);
  size_t slot_of(std::string_view label, uint32_t hash) const;  // its own, or the free one for it
  void insert(ValueId value, std::string_view label);
  void grow();

  Labels& labels_;
  std::vector<Slot> slots_;  // a power of two, at most half full
  size_t used_ = 0;
  std::unordered_map<std::string, uint64_t> next_suffix_;  // of labels that were wanted again
};

}  // namespace plait::ir
