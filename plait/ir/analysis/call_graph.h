// The call graph of a program, and its strongly connected components.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/ir/program.h"

namespace plait::ir {

// Calls visit(instruction, i, callee) for the i-th callee of each instruction of a function, in
// order; `callee` is an index into program.functions().
template <class Visit>
void for_each_callee(const Program& program, size_t function, Visit&& visit) {
  for (Instruction instruction : program.function(function).instructions()) {
    if (instruction.callees().empty()) continue;
    std::span<const uint32_t> callees = program.callees_of(function, instruction);
    for (size_t i = 0; i < callees.size(); ++i) visit(instruction, i, callees[i]);
  }
}

// A list of lists of numbers, stored contiguously: the successors of each node of a graph, the
// members of each component.
class NumberLists {
 public:
  size_t size() const { return ends_.size(); }
  std::span<const uint32_t> operator[](size_t list) const {
    size_t first = list == 0 ? 0 : ends_[list - 1];
    return {numbers_.data() + first, ends_[list] - first};
  }
  void append(uint32_t number) { numbers_.push_back(number); }  // to the last list
  void end_list() { ends_.push_back(numbers_.size()); }

 private:
  std::vector<uint32_t> numbers_;
  std::vector<size_t> ends_;
};

// The strongly connected components of the graph in which node i points to successors[i], in
// reverse topological order: each component comes after those that it points to. Linear time, no
// recursion.
NumberLists strongly_connected_components(const NumberLists& successors);

class CallGraph {
 public:
  explicit CallGraph(const Program& program);

  // The functions called by this one, each once, in the order of first use.
  std::span<const uint32_t> callees(size_t function) const { return callees_[function]; }
  // The functions that call this one, each once, ascending.
  std::span<const uint32_t> callers(size_t function) const { return callers_[function]; }

  // Components are numbered callees first; their members are ascending.
  size_t component_count() const { return components_.size(); }
  std::span<const uint32_t> component(size_t i) const { return components_[i]; }
  uint32_t component_of(size_t function) const { return component_of_[function]; }
  // True if its functions call one another, or themselves.
  bool is_recursive(size_t component) const;

  // The functions reachable from `first`, including itself, ascending.
  std::vector<uint32_t> reachable_from(size_t first) const;

 private:
  NumberLists callees_, callers_, components_;
  std::vector<uint32_t> component_of_;
};

}  // namespace plait::ir
