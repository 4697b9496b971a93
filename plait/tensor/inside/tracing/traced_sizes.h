// The sizes of a function that is recorded: its size parameters, what was decided about sizes, and
// their numbers in this run if it is executed meanwhile.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "plait/core/sizes/size_facts.h"
#include "plait/ir/type.h"
#include "plait/tensor/tensor.h"

namespace plait {

class SizeReader;

class TracedSizes {
 public:
  TracedSizes();
  ~TracedSizes();
  TracedSizes(const TracedSizes&) = delete;
  TracedSizes& operator=(const TracedSizes&) = delete;

  // ---- Size parameters.

  void add_parameter(Dim symbol) { parameters_.push_back(symbol); }
  std::span<const Dim> parameters() const { return parameters_; }
  void clear_parameters() { parameters_.clear(); }

  // ---- Decisions.

  SizeContext& decisions() { return decisions_; }
  // The facts that were assumed and can be checked on entry. Those about data-dependent sizes are
  // checked where they are used (`refine`), or guarded.
  std::vector<SizeFact> facts_on_entry() const;
  // The first fact about data-dependent sizes that was not returned before.
  std::optional<SizeFact> next_to_guard();

  // ---- Numbers.

  // From now on sizes have numbers in this run, at first those of the enclosing trace, if any. Host
  // code that reads a size is answered until `stop_reading`.
  void begin_reading(const TracedSizes* outer);
  void stop_reading();
  const SymbolMap<int64_t>& numbers() const { return numbers_; }
  void set_number(Dim symbol, int64_t number) { numbers_.set(symbol, number); }
  // From the actual values of these types.
  void learn(std::span<const ir::Type> types, std::span<const Tensor> actual);

 private:
  bool is_about_parameters(const SizeFact& fact) const;

  std::vector<Dim> parameters_;
  SizeContext decisions_;
  size_t handled_ = 0;  // facts that next_to_guard has seen
  SymbolMap<int64_t> numbers_;
  std::unique_ptr<SizeReader> reader_;
};

}  // namespace plait
