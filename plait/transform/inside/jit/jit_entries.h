// Records of a jitted function for one kind of arguments: equal keys, dtypes, ranks and devices.
// Which sizes are symbols is decided here, and nothing is run.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plait/core/sizes/size_facts.h"
#include "plait/core/trees/tree_key.h"
#include "plait/transform/inside/jit/jit_recording.h"

namespace plait::jits {

// A tree of paths by the outcomes of their guards. A path is listed at each node that it passes.
struct RecordTree {
  std::deque<std::shared_ptr<const Record>> records;  // the latest first
  std::unique_ptr<RecordTree> next[2];

  void add(const std::shared_ptr<const Record>& record) {
    RecordTree* tree = this;
    tree->records.push_front(record);
    for (const bool outcome : record->outcomes) {
      std::unique_ptr<RecordTree>& further = tree->next[outcome ? 1 : 0];
      if (!further) further = std::make_unique<RecordTree>();
      tree = further.get();
      tree->records.push_front(record);
    }
  }
  const RecordTree* after(const std::vector<bool>& outcomes) const {
    const RecordTree* tree = this;
    for (const bool outcome : outcomes) {
      tree = tree->next[outcome ? 1 : 0].get();
      if (tree == nullptr) return nullptr;
    }
    return tree;
  }
};

// The sizes of all leaves, one after the other: a number, or ~(index of a symbol).
struct Pattern {
  std::vector<int64_t> sizes;
  std::vector<Dim> symbols;

  // Binds the symbols to the given sizes; false if the sizes do not fit.
  bool fits(std::span<const int64_t> given, std::vector<int64_t>& numbers) const {
    numbers.assign(symbols.size(), -1);
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] >= 0) {
        if (sizes[i] != given[i]) return false;
        continue;
      }
      int64_t& number = numbers[static_cast<size_t>(~sizes[i])];
      if (number >= 0 && number != given[i]) return false;
      number = given[i];
    }
    return true;
  }
};

struct Variant {
  Pattern pattern;
  std::vector<SizeFact> promised;
  RecordTree records = {};
};

// The type of a leaf without its sizes, and where it is.
struct LeafKind {
  DType dtype = DType::boolean;
  Device device = {};
  // Unplaced or not: this decides where results are only if the leaves are on several devices.
  std::optional<bool> is_unplaced = {};
  size_t rank = 0;
  ir::Type record = {};   // if it is not an array
  bool is_empty = false;  // an empty tensor, which the record has no parameter for
  friend bool operator==(const LeafKind&, const LeafKind&) = default;
};

struct Entry {
  TreeKey key;
  std::string why;  // reason for a new entry
  std::vector<LeafKind> kinds;
  Device default_device;
  std::vector<std::string> paths;
  std::vector<std::vector<int64_t>> seen;  // the sizes of each call that needed a new variant
  std::vector<Dim> symbols;                // the symbol of each size
  std::vector<bool> is_dynamic;
  // True if recording fails with symbolic sizes, but not with numbers.
  bool has_only_numbers = false;
  bool keeps_numbers = false;  // sizes that differ do not become symbols
  std::vector<SizeFact> promised;
  std::deque<Variant> variants;  // the latest first
  size_t records = 0;
  bool is_run_by_host = false;
  bool uses_outer_tape = false;  // then it is not run in pieces either
  std::mutex recording;          // held by the thread that records
};

std::vector<int64_t> sizes_of(const JitArguments& leaves);
bool is_kind(const LeafKind& kind, const Tensor* leaf);
// True if the facts hold for these values of the pattern's symbols.
bool all_hold(const std::vector<SizeFact>& facts, const Pattern& pattern,
              const std::vector<int64_t>& numbers, const SizeFact** first_that_fails = nullptr);

// An entry for arguments like those of the call. ValueError if the options name sizes that they do
// not have.
std::shared_ptr<Entry> new_entry(const JitOptions& options, const Call& call,
                                 std::span<const int64_t> sizes);
bool has_kinds_of(const Entry& entry, const Call& call);
// Says why a call with the same key has another entry.
std::string explain_difference(const Entry& earlier, const Call& call);

// Adds a variant that fits these sizes. Sizes that have differed, and sizes declared dynamic, are
// symbols in it. If a size differs for the first time, and there is no reason yet, that is `why`.
Variant& new_variant(Entry& entry, std::span<const int64_t> sizes, std::string& why);
// The types of the leaves.
std::vector<ir::Type> types_of(const Entry& entry, const Pattern& pattern);
// ShapeError unless the promised facts hold for these sizes.
void check_promised(const JitOptions& options, const Variant& variant,
                    std::span<const int64_t> sizes);

}  // namespace plait::jits
