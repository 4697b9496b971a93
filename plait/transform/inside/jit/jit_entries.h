// What jit keeps of a function (jit.cpp): for each kind of arguments the ways that were recorded.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "plait/core/sizes/size_facts.h"
#include "plait/core/trees/tree_key.h"
#include "plait/transform/inside/jit/jit_recording.h"

namespace plait::jits {

// Ways that begin alike, by how the guards came out. A way is listed wherever it passes.
struct Fork {
  std::deque<std::shared_ptr<const Way>> ways;  // the latest first
  std::unique_ptr<Fork> next[2];

  void add(const std::shared_ptr<const Way>& way) {
    Fork* fork = this;
    fork->ways.push_front(way);
    for (const bool outcome : way->outcomes) {
      std::unique_ptr<Fork>& further = fork->next[outcome ? 1 : 0];
      if (!further) further = std::make_unique<Fork>();
      fork = further.get();
      fork->ways.push_front(way);
    }
  }
  const Fork* after(const std::vector<bool>& outcomes) const {
    const Fork* fork = this;
    for (const bool outcome : outcomes) {
      fork = fork->next[outcome ? 1 : 0].get();
      if (fork == nullptr) return nullptr;
    }
    return fork;
  }
};

// The sizes of all leaves, one after the other: numbers, and symbols as ~(their place).
struct Pattern {
  std::vector<int64_t> sizes;
  std::vector<Dim> symbols;

  // What the symbols are; nothing where the sizes do not fit.
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
  Fork ways = {};
};

// What leaves are, but for their sizes.
struct LeafKind {
  DType dtype = DType::boolean;
  size_t rank = 0;
  ir::Type record = {};  // where it is no array
  friend bool operator==(const LeafKind&, const LeafKind&) = default;
};

struct Entry {
  TreeKey key;
  std::string why;  // it is another one than those before
  std::vector<LeafKind> kinds;
  std::vector<std::string> paths;
  std::vector<std::vector<int64_t>> seen;  // sizes, whenever they needed another variant
  std::vector<Dim> symbols;                // for each size: what it is called
  std::vector<bool> is_dynamic;
  // Where what it computes is refused for symbols, but not for numbers.
  bool has_only_numbers = false;
  std::vector<SizeFact> promised;
  std::deque<Variant> variants;  // the latest first
  size_t ways = 0;
  bool is_run_by_host = false;
  bool uses_outer_tape = false;  // then it is not run in pieces, either
  std::mutex recording;          // held by the thread that records
};

std::vector<int64_t> sizes_of(const JitArguments& leaves);
bool is_kind(const LeafKind& kind, const Tensor* leaf);
// Where the symbols of the pattern are these numbers.
bool all_hold(const std::vector<SizeFact>& facts, const Pattern& pattern,
              const std::vector<int64_t>& numbers, const SizeFact** first_that_fails = nullptr);

}  // namespace plait::jits
