// Loop instructions: while, scan, unwind.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "plait/ir/inside/evaluation/evaluation.h"
#include "plait/ir/structure.h"

namespace plait::ir {

namespace {

[[noreturn]] void fail_unverified(std::string message) {
  throw CompileError("{}", message).hint("verify the program before it is evaluated");
}

void append(std::vector<Value>& to, std::span<Value> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

size_t checked_count(int64_t count, size_t most, std::string_view what) {
  if (count >= 0 && static_cast<size_t>(count) <= most) return static_cast<size_t>(count);
  fail_unverified(fmt::format("{} = {} with {} operands", what, count, most));
}

void expect_given(const Evaluation& evaluation, std::string_view body, size_t values,
                  size_t sizes) {
  if (evaluation.results.size() == values && evaluation.size_results.size() == sizes) return;
  fail_unverified(fmt::format("{} returned {} values and {} sizes, not {} and {}", body,
                              evaluation.results.size(), evaluation.size_results.size(), values,
                              sizes));
}

// Alternates between the test, which receives copies, and the body, which takes the carried values.
class WhileLoop : public Loop {
 public:
  explicit WhileLoop(const LoopStart& start)
      : test_(start.callees[0]),
        body_(start.callees[1]),
        constants_(checked_count(start.instruction.attributes_as<WhileAttributes>().constants,
                                 start.operands.size(), "while: constants")),
        carried_sizes_(start.instruction.size_results().size()),
        sizes_(start.sizes) {
    append(values_, start.operands);
    if (carried_sizes_ > sizes_.size()) fail_unverified("while: more sizes carried than given");
  }

  bool advance(Evaluation& evaluation) override {
    switch (state_) {
      case State::beginning: break;
      case State::in_test:
        expect_given(evaluation, "while: the test", 1, 0);
        if (!evaluation.machine().to_boolean(evaluation.results[0])) return finish(evaluation);
        enter_body(evaluation);
        return false;
      case State::in_body: take_carried(evaluation); break;
    }
    state_ = State::in_test;
    std::vector<Value> arguments = values_;
    evaluation.enter(test_, sizes_, arguments);
    return false;
  }

 private:
  enum class State : uint8_t { beginning, in_test, in_body };

  std::span<Value> carried() { return std::span(values_).subspan(constants_); }

  bool finish(Evaluation& evaluation) {
    evaluation.results.clear();
    append(evaluation.results, carried());
    sizes_.resize(carried_sizes_);
    evaluation.size_results = std::move(sizes_);
    return true;
  }

  void enter_body(Evaluation& evaluation) {
    state_ = State::in_body;
    std::vector<Value> arguments(values_.begin(), values_.end() - std::ssize(carried()));
    append(arguments, carried());
    evaluation.enter(body_, sizes_, arguments);
  }

  void take_carried(Evaluation& evaluation) {
    expect_given(evaluation, "while: the body", carried().size(), carried_sizes_);
    std::ranges::copy(evaluation.size_results, sizes_.begin());
    std::ranges::move(evaluation.results, carried().begin());
  }

  uint32_t test_, body_;
  size_t constants_, carried_sizes_;
  std::vector<int64_t> sizes_;
  std::vector<Value> values_;  // constants, then carried values
  State state_ = State::beginning;
};

// Processes one slice of each stacked operand in each step.
class ScanLoop : public Loop {
 public:
  ScanLoop(const LoopStart& start, Evaluation& evaluation)
      : body_(start.callees[0]), sizes_(start.sizes) {
    const auto& attributes = start.instruction.attributes_as<ScanAttributes>();
    length_ = evaluation.size(attributes.length);
    reverse_ = attributes.reverse;
    if (length_ < 0) throw ShapeError("scan: length {} is {}", attributes.length.text(), length_);
    std::span<Value> rest = start.operands;
    size_t constants = checked_count(attributes.constants, rest.size(), "scan: constants");
    append(constants_, rest.first(constants));
    rest = rest.subspan(constants);
    size_t carries = checked_count(attributes.carries, rest.size(), "scan: carries");
    append(carries_, rest.first(carries));
    append(stacked_, rest.subspan(carries));
    find_slices(start.instruction, evaluation);
  }

  bool advance(Evaluation& evaluation) override {
    if (begun_) take_step(evaluation);
    begun_ = true;
    if (done_ == length_) return finish(evaluation);
    int64_t index = reverse_ ? length_ - 1 - done_ : done_;
    std::vector<Value> arguments = constants_;
    append(arguments, carries_);
    for (const Value& stacked : stacked_) {
      arguments.push_back(evaluation.machine().slice(stacked, index));
    }
    evaluation.enter(body_, sizes_, arguments);
    return false;
  }

 private:
  void find_slices(const Instruction& instruction, Evaluation& evaluation) {
    for (const Value& stacked : stacked_) {
      std::vector<int64_t> sizes = evaluation.machine().sizes_of(stacked).sizes;
      if (!sizes.empty() && sizes[0] == length_) continue;
      throw ShapeError("scan: a stacked operand is [{}], and the length is {}",
                       fmt::join(sizes, ", "), length_);
    }
    if (instruction.result_count() < carries_.size())
      fail_unverified("scan: more carries than results");
    for (const Type& type : instruction.result_types().subspan(carries_.size())) {
      std::vector<int64_t> sizes = evaluation.sizes({type.shape().begin(), type.shape().end()});
      if (sizes.empty()) fail_unverified("scan: a stacked result is " + type.text());
      sizes.erase(sizes.begin());
      slice_sizes_.push_back({type.dtype(), std::move(sizes)});
    }
    slices_.resize(slice_sizes_.size());
  }

  void take_step(Evaluation& evaluation) {
    expect_given(evaluation, "scan: the body", carries_.size() + slices_.size(), 0);
    std::span<Value> given = evaluation.results;
    std::ranges::move(given.first(carries_.size()), carries_.begin());
    for (size_t i = 0; i < slices_.size(); ++i) {
      slices_[i].push_back(std::move(given[carries_.size() + i]));
    }
    ++done_;
  }

  bool finish(Evaluation& evaluation) {
    evaluation.results = std::move(carries_);
    evaluation.size_results.clear();
    for (size_t i = 0; i < slices_.size(); ++i) {
      if (reverse_) std::ranges::reverse(slices_[i]);
      evaluation.results.push_back(evaluation.machine().stack(slices_[i], slice_sizes_[i]));
      slices_[i].clear();
    }
    return true;
  }

  uint32_t body_;
  std::vector<int64_t> sizes_;
  int64_t length_ = 0, done_ = 0;
  bool reverse_ = false, begun_ = false;
  std::vector<Value> constants_, carries_, stacked_;
  std::vector<ArraySizes> slice_sizes_;     // slice sizes of each stacked result
  std::vector<std::vector<Value>> slices_;  // results so far
};

// Walks along a linked list from its head. A node without other owners is freed when the walk
// leaves it.
class UnwindLoop : public Loop {
 public:
  explicit UnwindLoop(const LoopStart& start) : body_(start.callees[0]), sizes_(start.sizes) {
    if (start.operands.empty()) fail_unverified("unwind: no list is given");
    list_ = std::move(start.operands[0]);
    append(carried_, start.operands.subspan(1));
  }

  bool advance(Evaluation& evaluation) override {
    if (begun_) {
      expect_given(evaluation, "unwind: the body", carried_.size(), 0);
      carried_ = std::move(evaluation.results);
    }
    begun_ = true;
    if (list_.is_absent()) {
      evaluation.results = std::move(carried_);
      evaluation.size_results.clear();
      return true;
    }
    enter_body(evaluation);
    return false;
  }

 private:
  void enter_body(Evaluation& evaluation) {
    Value node = std::move(list_).unwrapped();
    std::vector<int64_t> sizes(node.held_sizes().begin(), node.held_sizes().end());
    sizes.insert(sizes.end(), sizes_.begin(), sizes_.end());
    std::vector<Value> arguments = std::move(node).take_fields();
    if (arguments.empty()) fail_unverified("unwind: the list's records have no fields");
    list_ = std::move(arguments.back());
    arguments.pop_back();
    append(arguments, carried_);
    evaluation.enter(body_, sizes, arguments);
  }

  uint32_t body_;
  std::vector<int64_t> sizes_;  // written at the body: they follow the node's own sizes
  Value list_;
  std::vector<Value> carried_;
  bool begun_ = false;
};

}  // namespace

std::unique_ptr<Loop> make_while_loop(const LoopStart& start) {
  return std::make_unique<WhileLoop>(start);
}

std::unique_ptr<Loop> make_scan_loop(const LoopStart& start, Evaluation& evaluation) {
  return std::make_unique<ScanLoop>(start, evaluation);
}

std::unique_ptr<Loop> make_unwind_loop(const LoopStart& start) {
  return std::make_unique<UnwindLoop>(start);
}

}  // namespace plait::ir
